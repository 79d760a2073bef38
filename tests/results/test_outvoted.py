"""A majority is overturned only if the counts clearly show that it is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from majorant.methods.majority import Majority
from majorant.methods.weighted_vote import (
    combination,
    combine,
    count_model,
    keep_majorities,
)
from majorant.simulate import simulate
from majorant.tally import counts, distinct_counts
from sizes import many


def model_of(votes):
    return count_model(distinct_counts(counts(votes)))


def alike(prior, right, n_items, n_votes, seed):
    crowd = [[right, 1 - right], [1 - right, right]]
    return simulate([prior, 1 - prior], crowd, n_items, n_votes, n_workers=n_items * n_votes // 20, rng=seed)


def gain(made, votes, truth):
    """Points over majority vote, a tie a fair draw."""
    rows = np.arange(len(truth))
    best = [
        fit.posterior >= fit.posterior.max(axis=1, keepdims=True) - 1e-9 for fit in (made.fit, Majority().fit(votes))
    ]
    after, before = ((one / one.sum(axis=1, keepdims=True))[rows, truth].mean() for one in best)
    return 100 * (after - before)


def test_two_to_one_majorities_at_even_odds_are_overturned_no_more_often_than_the_level():
    """Prior and accuracy .75: a vote of one to two is exactly even."""
    runs, two_to_one = many(150, quick=50), np.array([[1.0, 2.0]])
    wrong = sum(model_of(alike(0.75, 0.75, 4_000, 3, seed)[0]).shows_wrong(two_to_one)[0] for seed in range(runs))
    assert wrong <= 0.05 * runs + 2 * np.sqrt(0.05 * 0.95 * runs)


def test_a_crowd_of_equal_workers_is_not_harmed():
    """Three votes hardly tell prior and accuracies apart: by the mean alone some of these crowds lose two points."""
    lost = []
    for seed in range(12):
        votes, truth = alike(0.7, 0.75, 400, 3, seed)
        made = combination(votes)
        assert gain(made, votes, truth) >= 0
        lost.append(gain(replace(made, fit=combine(made.fits, votes)), votes, truth))
    assert min(lost) < -1


def test_majority_is_overturned_if_counts_show_it_wrong():
    votes, truth = alike(0.92, 0.8, 6_000, 3, 0)
    made = combination(votes)
    assert set(made.fits) == {"hierarchical", "majority"}
    assert gain(made, votes, truth) > 5


def test_ties_and_supported_majorities_follow_the_mean_and_others_the_shares():
    votes, _ = alike(0.9, 0.7, 6_000, 4, 0)
    model = model_of(votes)
    count_ik = np.array([[2, 2], [1, 3], [0, 4], [3, 1], [0, 0]])
    shares_ik = np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0], [0.75, 0.25], [0.5, 0.5]])
    mean_ik = np.array([[0.6, 0.4], [0.6, 0.4], [0.6, 0.4], [0.4, 0.6], [0.6, 0.4]])
    shown = model.shows_wrong(count_ik[1:4].astype(float))
    assert shown.tolist() == [True, False, False]
    found = keep_majorities(model, mean_ik.copy(), shares_ik, count_ik.sum(axis=1))
    assert found.tolist() == [[0.6, 0.4], [0.6, 0.4], [0.0, 1.0], [0.75, 0.25], [0.6, 0.4]]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_standard_error_matches_refitted_simulations(seed):
    """Of three classes, at a pattern near even odds."""
    prior, crowd = [0.6, 0.25, 0.15], [[0.7, 0.2, 0.1], [0.25, 0.65, 0.1], [0.2, 0.15, 0.65]]
    count_k, pair = np.array([2.0, 3.0, 0.0]), (0, 1)
    odds, z = [], []
    for n in range(40):
        votes, _ = simulate(prior, crowd, 2_000, 5, n_workers=500, rng=1_000 * seed + n)
        model = model_of(votes)
        odds_k = np.log(model.prior_k) + np.log(model.crowd_kl) @ count_k
        turn_a = np.zeros(12)
        for k, sign in zip(pair, (1, -1), strict=True):
            turn_a[k] += sign
            turn_a[3 + 3 * k : 6 + 3 * k] += sign * (count_k - count_k.sum() * model.crowd_kl[k])
        odds.append(odds_k[pair[0]] - odds_k[pair[1]])
        z.append(np.sqrt(turn_a @ np.linalg.solve(model.information_aa, turn_a)))
    assert 0.65 < np.mean(z) / np.std(odds, ddof=1) < 1.5


def test_mean_is_used_for_many_classes():
    n_classes = 13
    votes, _ = simulate(np.full(n_classes, 1 / n_classes), np.eye(n_classes) * 0.35 + 0.05, 60, 3, rng=0)
    assert model_of(votes) is None
