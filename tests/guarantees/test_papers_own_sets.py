"""`certify` on the paper's own four simulated sets: its marks with three votes, supported or proved with five."""

import json
from pathlib import Path

import pytest

from majorant.evidence.certificate.claims import certify
from majorant.render.optimality import answer_sentence
from majorant.simulate import one_coin_workers, simulate

SETS = json.loads((Path(__file__).parents[2] / "paper" / "expected" / "table1.json").read_text())["synthetic"]
MARKS = {"alpha": False, "beta": True, "gamma": True, "delta": False}


def drawn(name, n_votes, **crowd):
    row = SETS[name]
    confusion = [[row["T00"], 1 - row["T00"]], [1 - row["T11"], row["T11"]]]
    return simulate([share / 100 for share in row["nu"]], confusion, 10_000, n_votes, rng=7, **crowd).votes


@pytest.mark.parametrize(("name", "mark"), MARKS.items())
@pytest.mark.parametrize("n_workers", [3, 60])
def test_three_votes_give_the_papers_marks_if_votes_are_independent(name, mark, n_workers):
    certificate = certify(drawn(name, 3, n_workers=n_workers))
    found = certificate.optimality
    assert found.optimal is mark
    assert found.certainty == ("unknown" if n_workers == 3 else "likely")  # three workers are a panel
    assert answer_sentence(found).startswith("If these votes are independent given the truth, majority vote is")
    assert ("not optimal" in answer_sentence(found)) is not mark
    assert certificate.anonymous.verdict == "open"


@pytest.mark.parametrize(("name", "optimal"), {"alpha": False, "beta": True, "gamma": True, "delta": False}.items())
def test_with_five_votes_the_certificate_supports_the_answer(name, optimal):
    found = certify(drawn(name, 5, n_workers=60)).optimality
    assert found.optimal is optimal
    assert found.certainty in ("supported", "proved")


def test_seven_equal_independent_judges_are_supported():
    votes = simulate([0.5, 0.5], one_coin_workers([0.75] * 7), 5_000, 7, rng=0).votes
    found = certify(votes).optimality
    assert (found.optimal, found.certainty) == (True, "supported")
