"""Real crowds: what the tests of workers say about them."""

import os

import pytest

from majorant.datasets import load
from majorant.evidence.certificate.assumption_tests import check_exchangeable
from majorant.evidence.certificate.bootstrap import bootstrap
from majorant.evidence.certificate.bootstrap_claims import named_claim
from majorant.evidence.certificate.design import design
from majorant.methods.dawid_skene import DawidSkene
from needs import NO_DATA
from panels import case_of

pytestmark = pytest.mark.skipif("MAJORANT_DATA" not in os.environ, reason=NO_DATA)


@pytest.mark.parametrize("name", ["SP", "SP_amt", "D-Product"])
def test_real_crowds_are_crowds_of_unlike_workers(name):
    votes = load(name)
    assert design(votes).kind == "crowd"
    assert check_exchangeable(votes, rng=0).p_value == 0.005


def test_knowing_who_voted_gains_on_sp():
    votes = load("SP")
    case = case_of(votes, DawidSkene(smoothing=0.01, min_rise=None).fit(votes))
    claim = named_claim(case, bootstrap(case, rng=0), level=0.95)
    assert claim.verdict == "not optimal"
    assert 0 < claim.loss.low < claim.loss.value < claim.loss.high < 0.035
