"""Charts: names are shown as the user wrote them, and every kind of chart can be drawn with matplotlib."""

import re
from html import unescape
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.pipeline import check
from majorant.render.figures.canvas import LIGHT, figure_of
from majorant.render.figures.charts import Axis, Bars, Flow, Grid, Layer, Plot, clipped, round_ticks
from majorant.render.html import render
from majorant.render.summary import result_summary
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

NAMES = (
    "gpt-4.1234", "gpt-4.1235", "font: 1px", 'a id="b', "url(#x)", 'href="#y', "<style>", "<!-- -->",
    "<metadata>", "]]>", "&amp;", "a > b", "$x_1$", LIGHT["ink"], "'\"", "{}", "\\frac", "é\u4e2d\U0001f600",
)  # fmt: skip


def texts(figure):
    """The text that a matplotlib Figure shows."""
    from matplotlib.text import Text

    return {text.get_text() for text in figure.findobj(Text)}


def test_names_survive_in_matplotlib():
    figure = figure_of([Grid("t", NAMES, NAMES, [[("1", 0.5, True)] * len(NAMES)] * len(NAMES))], "confusion")
    assert set(NAMES) <= texts(figure)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=8, unique_by=clipped))
def test_any_names_survive_in_matplotlib(names):
    shown = [clipped(name) for name in names]
    figure = figure_of([Bars("t", shown, range(len(shown)))], "votes")
    assert set(shown) <= texts(figure) | {""}


def test_plots_and_flows_can_be_drawn():
    axis = Axis("x", 0, 1, [(0.5, "half")])
    layers = [Layer(shape, "best", [0, 1], [0, 0.5], high=[1, 1], radii=[1, 2]) for shape in ("area", "line", "points")]
    flow = Flow("t", "w", ("a", "b"), [("yes: 1", 0, 1)], [("no: 1", 0, 1)], [(0, 0, 1, True)])
    figure = figure_of([Plot("t", "w", axis, axis, layers), flow], "map")
    figure.draw_without_rendering()
    assert {"half", "yes: 1", "no: 1", "a", "b"} <= texts(figure)


@given(st.floats(-100, 100), st.floats(1e-3, 1e4))
def test_ticks_are_few_and_within_the_axis(low, width):
    ticks = round_ticks(low, low + width)
    assert 2 <= len(ticks) <= 6
    assert low - 1e-6 * width <= ticks[0]
    assert ticks[-1] <= low + width * (1 + 1e-6)


def test_workers_keep_their_names_on_the_page():
    names = ("gpt-4.1234", "gpt-4.1235", "font: 1px", 'a id="b', "<style>")
    skills = [0.9, 0.8, 0.75, 0.7, 0.6]
    votes = simulate([0.5, 0.5], one_coin_workers(skills, n_classes=2), n_items=40, n_votes=5, rng=0).votes
    named = Votes.from_codes(
        votes.item_n, votes.worker_n, votes.label_n, items=votes.items, workers=names, labels=("0.12345", "0.12346")
    )
    page = render(result_summary(check(named, rng=0)))
    shown = {unescape(name) for name in re.findall("<bdi>(.*?)</bdi>", page)}
    pictures = [ElementTree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", page, re.DOTALL)]
    shown |= {text.text.partition(":")[0] for picture in pictures for text in picture.iter("text")}
    assert {*names, "0.12345", "0.12346"} <= shown
