"""Real crowds: what the tests of workers say about them."""

import os

import pytest

from majorant.datasets import load
from majorant.evidence.certificate.assumption_tests import workers_differ
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
    assert workers_differ(votes, rng=0, n_permutations=99).p_value == 0.01


@pytest.mark.long
def test_knowing_who_voted_gains_on_sp():
    votes = load("SP")
    claim = named_claim(case_of(votes, DawidSkene().fit(votes)), level=0.95, rng=0)
    assert claim.verdict == "refuted"
    assert 0.015 < claim.loss.low < claim.loss.value < claim.loss.high
    assert claim.loss.value - claim.tie_loss.value < 0.035  # apart from ties, which count since a fair draw breaks them
    assert claim.items_certified < 0.05
