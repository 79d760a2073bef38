"""An assumption that fails, or cannot be tested, leaves the verdict of every claim open, for panels as for crowds."""

from dataclasses import replace

import numpy as np
import pytest

import real
from crowds import coins
from majorant.evidence.certificate.assumption_tests import check_sizes
from majorant.evidence.certificate.certificate import Claim, Family, Reason, Verdict, assume
from majorant.evidence.certificate.claims import certify
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.simulate import simulate
from majorant.votes import Votes
from oracles.histograms import HardItems, boundary_nu

OPTIMAL = Claim(family=Family.NAMED, verdict=Verdict.OPTIMAL, certainty=Certainty.SUPPORTED, margin=0.5, more_items=0)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(Status.FAILED, Reason.ASSUMPTION_FAILED), (Status.UNTESTABLE, Reason.CANNOT_BE_TESTED)],
)
def test_a_claim_is_open_if_an_assumption_failed_or_cannot_be_tested(status, reason):
    claim = assume(OPTIMAL, Tested(Assumption.NO_COPIES, Status.PASSED), Tested(Assumption.INDEPENDENT_WORKERS, status))
    assert (claim.verdict, claim.certainty, claim.reason, claim.margin) == ("open", None, reason, 0.5)


@pytest.mark.parametrize("status", [Status.PASSED, Status.UNTESTED])
def test_a_claim_holds_if_its_assumptions_passed_or_are_untested(status):
    claim = assume(OPTIMAL, Tested(Assumption.INDEPENDENT_ITEMS, status))
    assert replace(claim, assumptions=()) == OPTIMAL


def test_three_judge_panel_is_open_because_independence_is_untestable():
    """A model of three judges and two classes fits any votes, so a copy cannot be detected."""
    votes, _ = simulate([0.5, 0.5], coins([0.8, 0.8, 0.8], 2), 2_000, 3, rng=0)
    certificate = certify(votes, rng=0)
    for claim in (certificate.anonymous, certificate.named):
        assert (claim.verdict, claim.certainty, claim.reason) == ("open", None, "cannot be tested")
        assert claim.status(Assumption.INDEPENDENT_WORKERS) == Status.UNTESTABLE
        assert claim.loss.high is not None
    assert all(one.with_status(Status.UNTESTABLE) for one in certificate.evidence())


@pytest.mark.parametrize("concentration", [4.0, 1e6])
def test_uninformative_vote_counts_pass_at_the_level(concentration):
    """Also where votes on an item depend on each other: 1 % of 600 runs is 6."""
    crowd = HardItems("", 0.6, 0.8, 0.3, {3: 400, 5: 600, 6: 500}, concentration)
    tables = crowd.draw(600, np.random.default_rng(8))
    found = [check_sizes({h: table[b].astype(float) for h, table in tables.items()}).status for b in range(600)]
    assert found.count(Status.FAILED) <= 14


def test_one_number_of_votes_needs_no_test_and_few_items_allow_none():
    assert check_sizes({5: np.full(6, 100.0)}) is None
    assert check_sizes({4: np.full(5, 8.0), 5: np.full(6, 8.0)}).status == Status.UNTESTED


def groups_that_share_workers(seed, n_groups=40, group_size=250, n_votes=5, n_workers=60):
    """Each group of items is voted on by the same few of unequal workers; on average at the boundary (review S6)."""
    rng = np.random.default_rng(seed)
    skill_j = rng.uniform(0.55, 0.95, n_workers)
    mean = float(skill_j.mean())
    nu = boundary_nu(mean, 1 - mean, n_votes, 0.9)
    n_items = n_groups * group_size
    truth_i = (rng.random(n_items) >= nu).astype(int)
    worker_gh = np.array([rng.choice(n_workers, n_votes, replace=False) for _ in range(n_groups)])
    worker_n = np.repeat(worker_gh, group_size, axis=0).ravel()
    right_n = rng.random(len(worker_n)) < skill_j[worker_n]
    truth_n = np.repeat(truth_i, n_votes)
    item_n = np.repeat(np.arange(n_items), n_votes)
    names = {"items": range(n_items), "workers": range(n_workers), "labels": ("n", "y")}
    return Votes.from_codes(item_n, worker_n, np.where(right_n, truth_n, 1 - truth_n), **names)


def test_items_that_share_unequal_workers_are_open():
    claim = certify(groups_that_share_workers(3, group_size=50), rng=0).anonymous
    assert claim.verdict == "open"
    assert claim.status(Assumption.EXCHANGEABLE_WORKERS) == Status.FAILED


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("ZenCrowd_us", Assumption.EXCHANGEABLE_WORKERS),
        ("SP", Assumption.VOTES_PER_ITEM),
        ("CF_amt", Assumption.EXCHANGEABLE_WORKERS),
        ("MS", Assumption.EXCHANGEABLE_WORKERS),
    ],
)
def test_real_crowds_fail_an_assumption_by_name(name, failed):
    claim = certify(replace(real.load(name), gold_i=None), rng=0).anonymous
    assert claim.status(failed) == Status.FAILED
    assert (claim.verdict, claim.reason) == ("open", "assumption failed")
