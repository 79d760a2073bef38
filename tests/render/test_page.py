"""The report is valid HTML, matches result.json, escapes names, and makes no network requests."""

import copy
import json
import re
from functools import cache
from html.parser import HTMLParser

import pytest

import majorant as mj
from majorant.errors import ConfigError
from majorant.render.figures import FIGURES, charts_of
from majorant.render.html import NUMBER_FORMS, lookup, render
from majorant.render.plain import to_json
from render.samples import HOSTILE, SAMPLES, result, summary

pytestmark = pytest.mark.xdist_group("samples of pages")  # each is checked once

VOID = {"meta", "br", "img", "link", "input", "hr"}
LIMIT = 1_500_000


class Reader(HTMLParser):
    """Checks that elements close in order, and collects them with their text."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.facts, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.elements.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        if tag not in VOID:
            self.open.append((tag, found, []))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.open:
            self.open[-1][2].append(data)

    def handle_endtag(self, tag):
        name, attrs, text = self.open.pop()
        assert name == tag, f"</{tag}> closes <{name}>"
        if tag == "data":
            self.facts.append((attrs["data-at"], attrs["value"], "".join(text)))
        if tag == "script" and attrs.get("id") == "result":
            self.embedded = json.loads("".join(text))


@pytest.fixture(scope="module", params=SAMPLES)
def page(request):
    return request.param, *drawn(request.param)


@cache
def drawn(name):
    """The page of a sample, and the same as it was read."""
    html = render(summary(name))
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return html, reader


def test_every_number_matches_the_result(page):
    name, _, reader = page
    saved = json.loads(to_json(summary(name)))
    assert len(reader.facts) > 20
    for path, value, text in reader.facts:
        number = float(lookup(saved, path))
        assert float(value) == number, path
        shown = {
            form(kind(number)) for form in NUMBER_FORMS.values() for kind in (float, int) if kind(number) == number
        }
        assert text.replace("\u00a0", " ") in shown, path


def test_the_parts_are_in_order(page):
    name, html, reader = page
    facts = summary(name)
    sections = [attrs["id"] for tag, attrs in reader.elements if tag == "section"]
    absent = {"slices"}
    absent |= {"change"} if facts["answer"]["other"] == "majority" else set()
    absent |= {part for part in ("rate", "plan") if facts[part] is None}
    order = ("change", "rate", "slices", "workers", "review", "plan", "confidence", "agreement", "votes", "theory")
    assert sections == [*(part for part in order if part not in absent), "input", "cite"]
    assert len(reader.ids) == len(set(reader.ids))
    assert len(html.encode()) < LIMIT
    assert {attrs["href"][1:] for tag, attrs in reader.elements if tag == "a"} <= set(reader.ids)


def test_every_figure_is_there_and_says_what_it_shows(page):
    name, html, reader = page
    charts = [chart for figure in FIGURES if figure != "workers" for chart in charts_of(summary(name), figure)]
    assert sum(tag == "figure" for tag, _ in reader.elements) == len(charts)
    assert html.count('<table class="grid') == sum(chart.kind == "grid" for chart in charts)
    assert html.count('<table class="bars') == sum(chart.kind in ("bars", "dots") for chart in charts)
    pictures = [attrs for tag, attrs in reader.elements if tag == "svg"]
    assert len(pictures) == sum(chart.kind in ("plot", "flow") for chart in charts)
    for attrs in pictures:
        assert attrs["role"] == "img"
        for part in attrs["aria-labelledby"].split():
            assert len(re.search(rf'id="{part}">([^<]*)<', html)[1].strip()) > 5
    assert "#1c2530" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL), "colours come from the scheme"


def test_nothing_is_loaded_and_only_the_one_script_may_run(page):
    _, html, reader = page
    for tag, attrs in reader.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "form", "base", "use-external")
        assert not any(name.startswith("on") for name in attrs), attrs
        for name in ("src", "href", "xlink:href", "action"):
            assert attrs.get(name, "#").startswith("#"), attrs
    assert "@import" not in html
    assert "url(http" not in html
    policy = next(
        attrs["content"] for tag, attrs in reader.elements if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert [attrs for tag, attrs in reader.elements if tag == "script"] == [
        {"type": "application/json", "id": "result"},
        {},
    ]


@pytest.mark.parametrize("page", [pytest.param("hostile", marks=pytest.mark.long), "two_items"], indirect=True)
def test_report_can_be_rebuilt_from_itself_and_from_json(page):
    name, html, reader = page
    assert render(reader.embedded) == html
    assert render(json.loads(to_json(summary(name)))) == html


@pytest.mark.parametrize("page", ["hostile"], indirect=True)
def test_hostile_names_are_escaped_and_clipped(page):
    _, html, _ = page
    outside = re.sub(r"<script.*?</script>|<style>.*?</style>", "", html, flags=re.DOTALL)
    assert "&lt;script&gt;" in outside
    assert html.count("<script") == 2
    assert "<img" not in html
    assert not set("\u202e\u2066\x00\x1b") & set(outside)
    assert "{{ 7 * 7 }}" in outside
    assert "long " * 200 not in html
    assert all(name[:120] not in outside for name in HOSTILE if len(name) > 200)


@pytest.mark.long
def test_a_million_votes_make_a_page_of_the_same_size():
    grown = copy.deepcopy(summary("crowd"))
    one = grown["workers"]["rows"][0]
    grown["workers"]["rows"] = [
        {**one, "worker": f"worker number {j:,} {'x' * 200}", "votes": 9000 - j} for j in range(500)
    ]
    labels = [f"class {k} of twelve" for k in range(12)]
    matrix = [[0.45 if k == l else 0.05 for l in range(12)] for k in range(12)]
    grown["votes"] |= {"votes": 1_000_000, "label_votes": [{"label": label, "votes": 80_000} for label in labels]}
    for fit in ("majority", "labels"):
        grown[fit]["by_label"] = [{"label": label, "items": 20_000} for label in labels]
    grown["workers"]["confusions"] = [{"worker": j, "matrix": matrix} for j in range(12)]
    grown["flow"] = {"from": [*labels, "tie"], "to": [*labels, "tie"], "items": [[100] * 13 for _ in range(13)]}
    assert len(render(grown).encode()) < LIMIT


def test_page_shows_one_accuracy_and_one_gain(page):
    name, _, reader = page
    accuracies = {path for path, _, _ in reader.facts if path.startswith("accuracy.")}
    assert accuracies <= {
        f"accuracy.{which}" for which in ("written.value", "written.low", "written.high", "majority.value")
    }
    facts = summary(name)
    known = facts["answer"]["source"] == "labels" and facts["gold"] and facts["answer"]["gain"]["value"] is not None
    if known:
        gain = facts["accuracy"]["other"]["value"] - facts["accuracy"]["majority"]["value"]
        assert facts["answer"]["gain"]["value"] == pytest.approx(gain, abs=0.02)
    assert not any(
        "loss" in path and facts["certificate"][path.split(".")[1]]["verdict"] == "open" for path, _, _ in reader.facts
    )


def test_no_rule_is_called_recommended(page):
    assert "recommended" not in re.sub(r"<script.*?</script>", "", page[1], flags=re.DOTALL)


def test_class_share_is_shown_with_each_rules_rate():
    html = render(summary("crowd"))
    rate = summary("crowd")["rate"]
    assert rate["overall"]["low"] < rate["overall"]["value"] < rate["overall"]["high"]
    assert "Share of spam" in html
    assert {one["name"] for one in rate["overall"]["reported"] if not one["judge"]} == {"majority", "weighted-vote"}
    assert summary("panel")["rate"] is None, "three classes"


def test_slices_and_samples_are_shown():
    grown = copy.deepcopy(summary("two_items"))
    gain = {"value": 0.01, "low": 0.0, "high": 0.02, "reason": ""}
    one = {
        "value": "<fr>",
        "items": 40,
        "votes": 200,
        "differ": 3,
        "action": "keep",
        "certainty": "likely",
        "gain": gain,
    }
    html = render({**grown, "slices": [one], "sample": {"items": 7, "of": 9}})
    assert '<section id="slices">' in html
    assert "&lt;fr&gt;" in html
    assert "a random sample of" in html


@pytest.mark.parametrize("name", FIGURES)
def test_a_notebook_gets_every_figure(name):
    sample = "panel" if name == "dependence" else "crowd"
    figure = mj.figure(result(sample), name)
    assert len(figure.axes) == len(charts_of(summary(sample), name))
    figure.draw_without_rendering()


def test_a_figure_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match="Choose one of: flow, workers"):
        mj.figure(result("crowd"), "pie")
    with pytest.raises(ConfigError, match="nothing to plot"):
        mj.figure(result("crowd"), "dependence")


def test_a_notebook_shows_results_and_certificates():
    for shown in (result("hostile"), result("crowd")):
        html = shown._repr_html_()
        reader = Reader()
        reader.feed(html)
        assert not reader.open
        assert "<script" not in html
    assert "w24" in html
    text = result("crowd").certificate._repr_html_()
    assert "Rules that ignore who voted" in text
    assert "<svg" not in text


def test_a_report_is_written_whole(tmp_path):
    path = mj.report(result("crowd"), tmp_path / "page.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(ConfigError, match="Cannot write"):
        mj.report(result("crowd"), tmp_path / "none" / "page.html")
    assert [one.name for one in tmp_path.iterdir() if one.name[0] != "."] == ["page.html"]
