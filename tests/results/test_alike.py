"""The test of whether workers differ: valid at its level, with power against real differences."""

import numpy as np
import pytest

from crowds import coins, votes_of
from majorant.methods.weighted_vote import differ_beyond_noise


def share(confusion, n=200, prior=None, **sizes):
    """How often workers with these matrices are found to differ."""
    rng = np.random.default_rng(0)
    return np.mean([differ_beyond_noise(votes_of(rng, confusion, prior=prior, **sizes)[0]) for _ in range(n)])


@pytest.mark.parametrize(("n_workers", "n_items"), [(5, 60), (30, 60), (200, 300)])
def test_equal_workers_seldom_seem_to_differ(n_workers, n_items):
    alike = np.tile([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6]], (n_workers, 1, 1))
    assert share(alike, n_items=n_items, n_votes=4, prior=[0.6, 0.3, 0.1]) < 0.06


def test_skill_and_habit_differences_are_detected():
    skilled = coins([0.9] * 10 + [0.6] * 10, 2)
    biased = np.array([[[0.9, 0.1], [0.4, 0.6]]] * 10 + [[[0.6, 0.4], [0.1, 0.9]]] * 10)
    for confusion in (skilled, biased):
        assert share(confusion, 20, n_items=300, n_votes=5) == 1


def test_differences_within_noise_are_ignored():
    """A spread of .3 in the log-odds, 20 votes per worker: detectable by a test, but too noisy to rank workers."""
    odds = 4 * np.exp(np.random.default_rng(1).normal(0, 0.3, size=625))
    assert share(coins(odds / (1 + odds), 2), 5, n_items=2_500, n_votes=5) == 0


def test_single_vote_items_are_uninformative():
    votes, _ = votes_of(np.random.default_rng(0), coins([0.9, 0.6], 2), n_items=50, n_votes=1)
    assert not differ_beyond_noise(votes)
