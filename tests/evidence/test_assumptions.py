"""Assumptions that can be tested are, what fails is named, and the claim then holds on a condition only."""

from dataclasses import replace

import numpy as np
import pytest

import real
from majorant.evidence.certificate.anonymous import certify_counts
from majorant.evidence.certificate.assumption_tests import sizes_gate
from majorant.evidence.certificate.claims import certify
from majorant.votes import Votes
from majorant.wording import ALIKE_TEST
from oracles.histograms import Crowd, HardItems, boundary_nu


def gates(claim):
    return {gate.name: gate.passed for gate in claim.gates}


@pytest.mark.parametrize("concentration", [4.0, 1e6])
def test_numbers_of_votes_that_say_nothing_pass_at_their_level(concentration):
    """Also where votes on an item depend on each other: 1 % of 600 runs is 6."""
    crowd = HardItems("", 0.6, 0.8, 0.3, {3: 400, 5: 600, 6: 500}, concentration)
    tables = crowd.draw(600, np.random.default_rng(8))
    failed = sum(not sizes_gate({h: table[b].astype(float) for h, table in tables.items()}).passed for b in range(600))
    assert failed <= 14


def test_numbers_of_votes_that_go_with_the_item_fail():
    easy, hard = Crowd("", 0.5, 0.9, 0.1, {4: 3000}), Crowd("", 0.5, 0.7, 0.3, {5: 3000})
    rng = np.random.default_rng(9)
    histograms = {h: table[0] for crowd in (easy, hard) for h, table in crowd.draw(1, rng).items()}
    claim = certify_counts(histograms, rng=0).anonymous
    assert gates(claim)["numbers of votes alike"] is False
    assert claim.verdict in ("supported", "undecided", "void")
    assert not claim.tested or claim.verdict == "void"


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


def test_items_that_share_unequal_workers_are_not_proved():
    claim = certify(groups_that_share_workers(3, group_size=50), rng=0).anonymous
    assert claim.verdict != "proved"
    assert gates(claim)[ALIKE_TEST] is False
    assert any(text.startswith("every vote comes from a worker drawn anew") for text in claim.conditions)


@pytest.mark.long
def test_items_that_share_unequal_workers_are_proved_no_more_often_than_the_level():
    proved = [certify(groups_that_share_workers(seed), rng=0).anonymous.verdict == "proved" for seed in range(40)]
    assert sum(proved) <= 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("ZenCrowd_us", ALIKE_TEST),
        ("SP", "numbers of votes alike"),
        ("CF_amt", ALIKE_TEST),
        ("MS", ALIKE_TEST),
    ],
)
def test_real_crowds_fail_an_assumption_by_name_and_keep_no_verdict(name, failed):
    claim = certify(replace(real.load(name), gold_i=None), rng=0).anonymous
    assert gates(claim)[failed] is False
    assert claim.verdict in ("void", "undecided", "supported")
    assert not claim.tested or claim.verdict == "void"
