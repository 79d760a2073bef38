"""The public data sets, if their files are available."""

from functools import cache

import pytest

from majorant import datasets
from majorant.evidence.certificate.anonymous import certify_counts
from majorant.evidence.evidence import Assumption, Status
from majorant.tally import histograms
from needs import NO_DATA


@cache
def claim_on(name):
    if any(datasets.local_path(file) is None for file in datasets.find(name).files):
        pytest.skip(NO_DATA)
    return certify_counts(histograms(datasets.load(name)), rng=0).anonymous


@pytest.mark.parametrize("name", ["SP", "SP_amt"])
def test_real_crowds_fail_the_test_of_independent_votes(name):
    claim = claim_on(name)
    tested = next(one for one in claim.assumptions if one.assumption == Assumption.INDEPENDENT_VOTES)
    assert tested.status == Status.FAILED
    assert tested.p_value < 0.01
    assert claim.verdict == "open"


def test_three_votes_on_product_pairs_leave_it_open():
    claim = claim_on("D-Product")
    assert (claim.verdict, claim.reason) == ("open", "cannot be tested")
    assert claim.loss.high > 0
