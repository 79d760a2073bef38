"""The anonymous claim for three classes keeps its level where majority's margin is exactly 0."""

from dataclasses import replace
from math import factorial

import numpy as np
import pytest

from guarantees.levels import lowest_rate
from majorant.evidence.certificate.bootstrap import supported_together
from majorant.evidence.certificate.bootstrap_claims import multiclass_claim
from majorant.methods.dawid_skene import DawidSkene
from majorant.theory import majority_margin
from majorant.votes import Votes
from oracles.margins import count_patterns
from panels import case_of, seen
from sizes import many

ALPHA = 0.05
NOISE = np.array([[0.7, 0.2, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]])


def boundary_prior(n_votes, low=0.34, high=0.98):
    """The share of class 0, the others equal, at which majority stops being optimal."""
    for _ in range(60):
        middle = (low + high) / 2
        optimal = majority_margin([middle, (1 - middle) / 2, (1 - middle) / 2], NOISE, n_votes) > 0
        low, high = (middle, high) if optimal else (low, middle)
    return np.array([low, (1 - low) / 2, (1 - low) / 2])


def all_counts(n_votes):
    """One item for every way the votes can fall, all from one worker, and the probability of each given the class."""
    count_pl = count_patterns(3, n_votes)
    votes = Votes.from_codes(
        np.repeat(np.arange(len(count_pl)), n_votes), np.zeros(n_votes * len(count_pl), int),
        np.concatenate([np.repeat([0, 1, 2], count_l) for count_l in count_pl]),
        items=range(len(count_pl)), workers=["all"], labels=(0, 1, 2),
    )  # fmt: skip
    ways_p = [factorial(n_votes) / np.prod([factorial(n) for n in count_l]) for count_l in count_pl]
    return votes, np.prod(NOISE[None] ** count_pl[:, None, :], axis=2) * np.array(ways_p)[:, None]


def assert_level(n_votes, n_items, runs):
    rng = np.random.default_rng([n_votes, n_items])
    patterns, given_pk = all_counts(n_votes)
    prior = boundary_prior(n_votes)
    assert abs(majority_margin(prior, NOISE, n_votes)) < 1e-9
    count_pl, joint_pk = count_patterns(3, n_votes), given_pk * prior
    top_pl = count_pl == count_pl.max(axis=1, keepdims=True)
    lost = float((joint_pk.max(axis=1) - (joint_pk * top_pl).sum(axis=1) / top_pl.sum(axis=1)).sum())  # ties alone
    verdicts, missed = [], 0
    for _ in range(runs):
        votes, copies = seen(patterns, rng.multinomial(n_items, given_pk @ prior))
        fit = DawidSkene(max_iter=5_000).fit(votes, weights=copies)
        shared = replace(fit, confusion=fit.confusion[0])
        claim = multiclass_claim(case_of(votes, shared, copies), level=1 - ALPHA, rng=rng)
        verdicts.append(claim.untied)
        missed += not claim.loss.low - 1e-9 <= lost <= claim.loss.high
    counts = {name: verdicts.count(name) for name in ("supported", "refuted")}
    print(f"{n_votes} votes, {n_items} items: {counts}, loss missed {missed}, of {runs}")
    assert all(lowest_rate(count, runs) <= ALPHA for count in (*counts.values(), missed))


def test_three_classes_at_the_boundary_are_rarely_certified():
    assert_level(5, 5_000, runs=many(25, quick=10))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [1_000, 5_000, 20_000])
@pytest.mark.parametrize("n_votes", [3, 4, 5])
def test_three_classes_at_the_boundary_are_certified_at_most_at_the_level(n_votes, n_items):
    assert_level(n_votes, n_items, runs=300)


@pytest.mark.parametrize("together", [0.0, 1.0, -1.0])
def test_margins_of_several_sizes_hold_together(together):
    """Six estimates, four of them truly at 0: how often any of these passes, apart, in step or against each other."""
    rng, runs, wrong = np.random.default_rng(int(10 + together)), 600, 0
    truth_p = np.array([0.0, 0.0, 0.0, 0.0, 5.0, 2.0])
    side_p = np.array([1, together or 1, 1, together or 1, 1, 1])
    for _ in range(runs):
        apart_bp, common_b = rng.normal(size=(201, 6)), rng.normal(size=201)
        noise_bp = apart_bp if together == 0 else common_b[:, None] * side_p
        value_p = truth_p + noise_bp[0]
        wrong += bool(supported_together(value_p, value_p + noise_bp[1:], 1 - ALPHA)[:4].any())
    assert lowest_rate(wrong, runs) <= ALPHA
