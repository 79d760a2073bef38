"""The path to the verdict ends where the certificate does."""

import pytest

from majorant.evidence.certificate.certificate import AssumptionTest, Certificate, Claim
from majorant.results.answer import decision_path


def claim(verdict, *, kind="anonymous", margin=0.5, passed=True, more_items=None):
    gate = AssumptionTest(name="independent votes", passed=passed, p_value=0.4, text="independence")
    return Claim(kind=kind, verdict=verdict, why="why", margin=margin, gates=(gate,), more_items=more_items)


def ending(anonymous, named=None, gold=None):
    return decision_path(Certificate(level=0.95, why="", anonymous=anonymous, named=named, gold=gold))


@pytest.mark.parametrize(
    ("anonymous", "named", "end"),
    [
        (claim("proved"), claim("supported", kind="named"), "The best rule of all"),
        (claim("proved"), claim("refuted", kind="named"), "gains more"),
        (claim("supported"), None, "may gain more"),
        (claim("refuted", margin=-0.2), None, "Not the best rule"),
        (claim("undecided", more_items=700), None, "about 700 fresh items"),
        (claim("undecided", margin=-0.1), None, "Outside at the estimate"),
        (claim("void", passed=False), None, "The model fails"),
        (claim("unidentified", margin=None), None, "Inconclusive"),
        (claim("supported", passed=False), claim("supported", kind="named"), "The best rule of all"),
    ],
)
def test_each_verdict_has_its_end(anonymous, named, end):
    path = ending(anonymous, named)
    assert end in path.outcome
    answers = [step.answer for step in path.steps]
    reached = answers.index(None) if None in answers else len(answers)
    assert set(answers[reached:]) <= {None}, "nothing is answered after the end"


@pytest.mark.parametrize(("verdict", "end"), [("proved", "By gold"), ("refuted", "Not the best rule")])
def test_gold_speaks_first_where_the_model_leaves_it_open(verdict, end):
    path = ending(claim("void", passed=False), gold=claim(verdict, kind="gold"))
    assert path.steps[0].answer == "yes"
    assert end in path.outcome


def test_gold_that_agrees_takes_no_step():
    path = ending(claim("proved"), gold=claim("proved", kind="gold"))
    assert "gold" not in path.steps[0].question
