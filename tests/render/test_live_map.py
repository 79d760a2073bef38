"""The live map matches the theory, and is shown only if its assumptions passed."""

import copy
import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from majorant import theory
from majorant.render.html import MAP_SCRIPT, live_map, render
from render.samples import summary

pytestmark = pytest.mark.xdist_group("samples of pages")  # each is checked once

CLOSE = 1e-9


def models():
    """A grid of models: two and three classes, few and many votes, voters who mislead among them."""
    grid = [
        {"prior": [nu, 1 - nu], "confusion": [[a, 1 - a], [1 - b, b]], "votes": votes}
        for nu, a, b, votes in product((0.05, 0.4, 0.9), (0.3, 0.55, 0.97), (0.2, 0.6, 0.8), (1, 2, 3, 6, 21, 51))
    ]
    uneven = [[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.25, 0.45]]
    even = [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]
    for prior, confusion, votes in product(([0.2, 0.3, 0.5], [0.8, 0.15, 0.05]), (uneven, even), (1, 2, 3, 5, 8)):
        grid.append({"prior": prior, "confusion": confusion, "votes": votes})
    return grid


def by_theory(model):
    """The same numbers by majorant.theory."""
    given = model["prior"], model["confusion"], model["votes"]
    return {
        "margin": theory.majority_margin(*given),
        "majority": theory.majority_accuracy(*given),
        "best": theory.map_accuracy(*given),
        "loss": theory.gap(*given),
        "handicap": theory.handicap(*given) if len(model["prior"]) == 2 else None,
    }


def same(found, model):
    """Whether what the script found is what the theory says."""
    return all(
        found[name] == pytest.approx(value, abs=CLOSE) for name, value in by_theory(model).items() if name in found
    )


def test_numbers_match_the_theory():
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    done = subprocess.run(
        ["node", Path(__file__).parent / "live_map.mjs", MAP_SCRIPT],
        input=json.dumps(models()),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wrong = [(one, model, by_theory(model)) for one, model in zip(found, models(), strict=True) if not same(one, model)]
    assert not wrong, wrong[0]


def test_votes_are_where_the_map_of_the_result_puts_them():
    facts = summary("crowd")
    settings = json.loads(live_map(facts))
    assert settings["labels"] == ["ham", "spam"]
    assert by_theory(settings["point"])["margin"] == pytest.approx(facts["map"][0]["point_margin"], abs=CLOSE)
    assert settings["regions"]["balance"] == facts["map"][0]["region"]


def test_it_is_under_theory_where_its_assumptions_passed():
    html = render(summary("crowd"))
    assert html.index('id="theory"') < html.index("data-majorant-map") < html.index('id="input"')


@pytest.mark.parametrize(
    "name", ["spam", "two_items", "ties", "panel"], ids=["failed", "cannot be tested", "no map", "panel"]
)
def test_section_is_absent_elsewhere(name):
    facts = summary(name)
    assert facts["map"] == []
    assert live_map(facts) is None
    assert "<div data-majorant-map" not in render(facts)


def test_sliders_show_three_classes_at_most():
    many = copy.deepcopy(summary("crowd"))
    many["votes"]["label_votes"] = [{"label": str(k), "votes": 1} for k in range(4)]
    assert live_map(many) is None
