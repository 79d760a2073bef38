"""Names in figures: what the user wrote is what stands there, and the picture is well-formed whatever it is."""

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.pipeline import check
from majorant.render.figures import FIGURES, panels_of
from majorant.render.figures.canvas import LIGHT, Panel, clipped, svg_of
from majorant.render.summary import result_summary
from majorant.simulate import one_coin_crew, simulate
from majorant.votes import Votes

NAMES = (
    "gpt-4.1234", "gpt-4.1235", "font: 1px", 'a id="b', "url(#x)", 'href="#y', "<style>", "<!-- -->",
    "<metadata>", "]]>", "&amp;", "a > b", "$x_1$", LIGHT["ink"], "'\"", "{}", "\\frac", "é\u4e2d\U0001f600",
)  # fmt: skip


def texts(svg):
    """The text of every element that shows some; fails where the picture is ill-formed."""
    return [
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter() if element.tag in ("text", "desc")
    ]


def drawn(*names):
    def draw(axes):
        for n, name in enumerate(names):
            axes.text(0.1, n / len(names), name)

    return texts(svg_of(Panel("key", "title", " ".join(names), (300, 300), draw)))


def test_names_survive():
    shown = drawn(*NAMES)
    assert shown[0] == " ".join(NAMES)
    assert set(NAMES) <= set(shown)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=8))
def test_any_names_survive(names):
    safe = [clipped(name) for name in names]
    assert {name for name in safe if name} <= set(drawn(*safe))


def test_ids_are_those_of_the_panel_and_nothing_is_styled_from_within():
    def draw(axes):
        axes.plot([0, 1], [0, 1.23456789], marker="o")
        axes.set_xlim(0, 0.5)

    svg = svg_of(Panel("key", "t", "d", (300, 200), draw))
    root = ElementTree.fromstring(svg)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) > 3
    assert all(name.startswith("key-") for name in ids)
    used = [value for element in root.iter() for value in element.attrib.values() if "(#" in value or value[0] == "#"]
    assert used
    assert all(any(f"#{name}" in value for name in ids) for value in used)
    assert not {element.tag for element in root.iter()} & {"style", "metadata"}
    assert "var(--" in svg


def test_workers_keep_their_names_in_the_figures_of_a_result():
    names = ("gpt-4.1234", "gpt-4.1235", "font: 1px", 'a id="b', "<style>")
    skills = [0.9, 0.8, 0.75, 0.7, 0.6]
    votes = simulate([0.5, 0.5], one_coin_crew(skills, n_classes=2), n_items=40, n_votes=5, rng=0).votes
    named = Votes.from_codes(
        votes.item_n, votes.worker_n, votes.label_n, items=votes.items, workers=names, labels=("0.12345", "0.12346")
    )
    facts = result_summary(check(named, rng=0))
    shown = {text for name in FIGURES for panel in panels_of(facts, name) for text in texts(svg_of(panel))}
    assert set(names) <= shown
    assert any("0.12345" in text for text in shown)
    assert any("0.12346" in text for text in shown)
