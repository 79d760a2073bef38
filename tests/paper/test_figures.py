"""The figures: simulated against exact, exact against golden numbers and brute force, and what the pictures show."""

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import real
from majorant.errors import DataError
from oracles import accuracy, golden
from paper import figure3abc, figure3e, two_coin_maps
from paper.item import NOISE, Context, Outcome
from paper.panel import Model
from paper.printed import printed
from paper.registry import FIGURES, items

LIGHT = ("figure1", "figure2", "figure3a", "figure3d", "figure3e", "figure3f", "two-coin-maps")
HEAVY = ("figure3b", "figure3c", "figure4", "figure4-appendix", "confusions", "beyond-verdicts")
EVERY = [  # each is drawn once, for all its tests
    pytest.param(
        name, marks=[pytest.mark.xdist_group(f"figure {name}"), *([pytest.mark.long] if name in HEAVY else [])]
    )
    for name in (*LIGHT, *HEAVY)
]
LABELS = {  # words that a reader must find in the picture
    "figure1": ("Theorem 3.4", "How many classes?", "proved or supported"),
    "figure2": ("accuracy on class 0", "accuracy on class 1", "majority vote is optimal"),
    "figure3a": ("noise", "prior of class 0"),
    "figure3b": ("noise", "prior of class 0", "100 items"),
    "figure3c": ("noise", "prior of class 0", "100 items"),
    "figure3d": ("noise", "prior of class 0", "accuracy given away"),
    "figure3e": ("votes on an item", "accuracy given away", "accuracy 0.7, prior 0.9"),
    "figure3f": ("share of items", "the same label", "alpha", "delta"),
    "figure4": ("items", "true positive rate", "Theorem 3.5 as printed", "proved"),
    "figure4-appendix": ("items", "true positive rate", "Theorem 3.5 as printed", "proved"),
    "confusions": ("truth: optimal?", "verdict: optimal?", "EBCC"),
    "two-coin-maps": ("accuracy given away",),
    "beyond-verdicts": ("true margin, nats", "says 'optimal'", "proved"),
}


@cache
def outcome(name: str) -> Outcome:
    return items()[name].run(Context(quick=True))


def test_every_figure_is_tested():
    named = {item.name for item in items().values() if item.run.__module__.rpartition(".")[2] in FIGURES}
    assert named == {*LIGHT, *HEAVY} == set(LABELS)


@pytest.mark.parametrize("name", EVERY)
def test_every_difference_is_explained(name):
    cells = outcome(name).cells
    assert [cell.key for cell in cells if cell.mark == "unexplained"] == []
    assert len({cell.key for cell in cells}) == len(cells)
    titles = printed("errata")
    assert all(str(number) in titles for cell in cells for number in cell.errata)


@pytest.mark.parametrize("name", EVERY)
def test_simulated_cells_lie_within_four_standard_errors_of_the_exact_ones(name):
    for cell in outcome(name).cells:
        if cell.error is not None and cell.exact is not None:
            assert abs(cell.ours - cell.exact) <= NOISE * cell.error + 1e-12, cell.key


@pytest.mark.parametrize("name", EVERY)
def test_pictures_are_labelled(name):
    (picture,) = outcome(name).pictures
    text = "".join("".join(ElementTree.fromstring(picture.svg).itertext()).split())  # formulas come letter by letter
    for label in LABELS[name]:
        assert label.replace(" ", "") in text, label
    assert len(picture.caption) > 60
    assert "<dc:date>" not in picture.svg


def test_same_seed_same_bytes_and_another_seed_other_draws():
    first, again, other = (items()["figure3e"].run(Context(quick=True, seed=seed)) for seed in (0, 0, 1))
    assert first == again
    assert first.cells != other.cells


def test_gaps_of_the_synthetic_sets_are_the_golden_ones():
    cells = {cell.key: cell for cell in outcome("two-coin-maps").cells}
    for known in golden.theory()["synthetic_table"].values():
        key = f"gap at nu0 = {known['nu0']:g}, T00 = {known['T00']:g}, T11 = {known['T11']:g}"
        assert cells[key].exact == pytest.approx(known["gap"], abs=1e-9)


def test_shares_of_equal_labels_match_brute_force():
    cells = {cell.key: cell for cell in outcome("figure3f").cells}
    for name, known in golden.theory()["synthetic_table"].items():
        prior, confusion = golden.two_class(known["nu0"], known["T00"], known["T11"])
        same = 0.0
        for pattern in np.ndindex(2, 2, 2):
            joint = [p * np.prod([row[label] for label in pattern]) for p, row in zip(prior, confusion, strict=True)]
            same += sum(joint) * ((joint[1] > joint[0]) == (sum(pattern) > 1))
        assert cells[f"{name}: same label"].exact == pytest.approx(same, abs=1e-9)


def test_curves_against_votes_match_brute_force():
    cells = {cell.key: cell for cell in outcome("figure3e").cells}
    for one in figure3e.SETTINGS:
        for n_votes in (3, 11):
            known = accuracy.shared_answer(one.prior, one.confusion, n_votes)
            got = cells[f"{one.name}: gap with {n_votes} votes"].exact
            assert got == pytest.approx(float(known.gap), abs=1e-9)


def test_heat_maps_of_mirrored_priors_are_mirror_images():
    for model in two_coin_maps.POINTS:
        mirrored = Model(1 - model.nu0, model.t11, model.t00)
        assert two_coin_maps._gap(model) == pytest.approx(two_coin_maps._gap(mirrored), abs=1e-12)


def test_iaa_and_iwmv_wrongly_call_models_optimal_at_any_number_of_items():
    points = [Model(0.85, 0.7, 0.7), Model(0.7, 0.6, 0.6)]
    assert not figure3abc.truly_optimal(points).any()
    assert figure3abc.plug_in_verdicts(Context(), "IWMV", points[1:], None).all()
    assert figure3abc.plug_in_verdicts(Context(), "IAA", points, None).all()


def test_real_sets_agree_as_theory_says():
    """No untied label differs where the condition holds; 295 do on ZenCrowd_in."""
    done = items()["figure3f"].run(Context(quick=True, data=real.load))
    cells = {cell.key: cell.ours for cell in done.cells}
    differ = [
        cells[f"{name}: untied items with another label"] for name in ("SP", "SP_amt", "ZenCrowd_in", "D-Product")
    ]
    assert differ == [0, 0, 295, 0]
    assert done.missing == ()
    assert not [cell.key for cell in done.cells if cell.mark == "unexplained"]


def test_without_data_the_synthetic_part_still_runs(monkeypatch, tmp_path):
    from paper import run

    def absent(name):
        raise DataError("no network")

    monkeypatch.setattr(run.datasets, "get", absent)
    (done,) = run.reproduce(["figure3f"], tmp_path, quick=True, rng=0)
    assert done.outcome.missing == ("SP", "SP_amt", "ZenCrowd_in", "D-Product")
    assert {cell.key for cell in done.outcome.cells} == {
        f"{name}: same label" for name in ("alpha", "beta", "gamma", "delta")
    }


def test_errata_are_called_as_in_the_documentation():
    text = (Path(__file__).parents[2] / "paper" / "errata.md").read_text(encoding="utf-8")
    found = {number: title.replace("`", "") for number, title in re.findall(r"^### (\d+)\. (.+)$", text, re.M)}
    assert printed("errata") == found


def test_documentation_covers_and_explains_every_item():
    page = (Path(__file__).parents[2] / "paper" / "reproduction.md").read_text(encoding="utf-8")
    assert [name for name in items() if f"| `{name}` |" not in page] == []
    assert "| unexplained | 0 |" in page
    assert "quick run" not in page
    named = {number for cell in re.findall(r"\| ([\d, ]+) \|$", page, re.M) for number in cell.split(", ")}
    assert named <= set(printed("errata"))
    assert len(named) > 20
