"""The anonymous claim for three classes keeps its level where majority's margin is exactly 0."""

from dataclasses import replace
from math import factorial

import numpy as np
import pytest

from guarantees.levels import lowest_rate
from majorant.evidence.certificate.bootstrap import bootstrap
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
    verdicts, missed = [], 0
    for _ in range(runs):
        votes, copies = seen(patterns, rng.multinomial(n_items, given_pk @ prior))
        fit = DawidSkene(smoothing=0.01, min_rise=None, max_iter=5_000).fit(votes, weights=copies)
        shared = replace(fit, confusion=fit.confusion[0])
        case = case_of(votes, shared, copies)
        claim = multiclass_claim(case, bootstrap(case, rng=rng), level=1 - ALPHA)
        verdicts.append(claim.verdict)
        missed += claim.loss.low > 0  # majority loses nothing on untied votes
    counts = {name: verdicts.count(name) for name in ("optimal", "not optimal")}
    print(f"{n_votes} votes, {n_items} items: {counts}, loss missed {missed}, of {runs}")
    assert all(lowest_rate(count, runs) <= ALPHA for count in (*counts.values(), missed))


def test_three_classes_at_the_boundary_are_rarely_certified():
    assert_level(5, 5_000, runs=many(25, quick=10))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [1_000, 5_000, 20_000])
@pytest.mark.parametrize("n_votes", [3, 4, 5])
def test_three_classes_at_the_boundary_are_certified_no_more_often_than_the_level(n_votes, n_items):
    assert_level(n_votes, n_items, runs=300)
