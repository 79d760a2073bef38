"""The public data sets, where their files are at hand."""

from functools import cache

import pytest

from majorant import datasets
from majorant.evidence.certificate.anonymous import certify_counts
from majorant.tally import histograms
from needs import NO_DATA


@cache
def claim_on(name):
    if any(datasets.local_path(file) is None for file in datasets.find(name).files):
        pytest.skip(NO_DATA)
    return certify_counts(histograms(datasets.load(name)), rng=0).anonymous


counts_of_sp = pytest.mark.xdist_group("counts of SP")  # two tests, one core: its claim is made once


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("SP", marks=counts_of_sp),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("SP_amt", "ZenCrowd_in")),
    ],
)
def test_real_crowds_fail_the_gate_of_independent_votes(name):
    claim = claim_on(name)
    assert claim.gates[0].name == "independent votes"
    assert claim.gates[0].passed is False
    assert claim.gates[0].p_value < 0.01
    assert claim.verdict in ("void", "undecided")


@counts_of_sp
def test_sp_passes_with_six_and_seven_votes_alone_but_not_with_five():
    passed = {gate.name: gate.passed for gate in claim_on("SP").gates}
    assert passed["independent votes, 5 votes"] is False
    assert passed["independent votes, 6 votes"]
    assert passed["independent votes, 7 votes"]


def test_product_pairs_are_undecided():
    claim = claim_on("D-Product")
    assert claim.verdict == "undecided"
    assert claim.evidence["likelihood_ratio_against"] == pytest.approx(1.20, abs=0.005)
    assert claim.gates[0].passed is None
