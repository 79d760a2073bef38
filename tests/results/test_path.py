"""The path to the verdict ends where the certificate does."""

import pytest

from majorant.evidence.certificate.certificate import Certificate, Claim, Family, Model, Reason, Verdict
from majorant.evidence.evidence import Certainty
from majorant.results.answer import decision_path


def claim(verdict, *, kind="anonymous", margin=0.5, reason=None, more_items=None, model=Model.INDEPENDENT_VOTES):
    certainty = None if verdict == "open" else Certainty.SUPPORTED
    return Claim(
        family=Family(kind),
        verdict=Verdict(verdict),
        certainty=certainty,
        reason=reason,
        margin=margin,
        more_items=more_items,
        model=model,
    )


def ending(anonymous, named=None, gold=None):
    return decision_path(Certificate(level=0.95, anonymous=anonymous, named=named, gold=gold))


@pytest.mark.parametrize(
    ("anonymous", "named", "end"),
    [
        (claim("optimal"), claim("optimal", kind="named"), "The best rule of all"),
        (claim("optimal"), claim("not optimal", kind="named"), "gains more"),
        (claim("optimal"), None, "may gain more"),
        (claim("not optimal", margin=-0.2), None, "Not the best rule"),
        (claim("open", reason=Reason.TOO_FEW_ITEMS, more_items=700), None, "about 700 fresh items"),
        (claim("open", reason=Reason.TOO_FEW_ITEMS, margin=-0.1), None, "Outside at the estimate"),
        (claim("open", reason=Reason.ASSUMPTION_FAILED), None, "The model fails"),
        (claim("open", reason=Reason.NOT_IDENTIFIED, margin=None), None, "Inconclusive"),
        (claim("optimal", model=Model.ITEM_DIFFICULTY), claim("optimal", kind="named"), "The best rule of all"),
    ],
)
def test_each_verdict_has_its_end(anonymous, named, end):
    path = ending(anonymous, named)
    assert end in path.outcome
    answers = [step.answer for step in path.steps]
    reached = answers.index(None) if None in answers else len(answers)
    assert set(answers[reached:]) <= {None}, "nothing is answered after the end"


@pytest.mark.parametrize(("verdict", "end"), [("optimal", "By gold"), ("not optimal", "Not the best rule")])
def test_gold_speaks_first_where_the_model_leaves_it_open(verdict, end):
    path = ending(claim("open", reason=Reason.ASSUMPTION_FAILED), gold=claim(verdict, kind="gold"))
    assert path.steps[0].answer == "yes"
    assert end in path.outcome


def test_gold_that_agrees_takes_no_step():
    path = ending(claim("optimal"), gold=claim("optimal", kind="gold"))
    assert "gold" not in path.steps[0].question
