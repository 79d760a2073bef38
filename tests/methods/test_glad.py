"""GLAD climbs its log-posterior to a maximum, and recovers its own model."""

import numpy as np
import pytest

import oracles.glad as oracle
from crowds import random_votes
from majorant.methods.glad import GLAD, raise_ease
from majorant.votes import Votes


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_objective_is_the_log_posterior(n_classes):
    rng = np.random.default_rng(n_classes)
    votes = random_votes(rng, n_items=20, n_classes=n_classes, n_votes=80)
    weights = rng.integers(1, 4, size=20)
    start = GLAD(max_iter=1, accelerate=False).fit(votes, weights=weights)
    J, I = len(votes.workers), len(votes.items)
    np.testing.assert_allclose(start.trace[0], oracle.log_posterior(votes, np.ones(J), np.ones(I), 1.0, weights))
    later = GLAD(max_iter=1, accelerate=False).fit(votes, weights=weights, start=start)
    expected = oracle.log_posterior(votes, start.skill, start.learned["ease"], 1.0, weights)
    np.testing.assert_allclose(later.trace[0], expected, rtol=1e-12)
    assert later.trace[0] > start.trace[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_fit_maximises_the_log_posterior(n_classes):
    votes = random_votes(np.random.default_rng(7), n_items=15, n_classes=n_classes, n_votes=60)
    answer = GLAD(min_rise=None, tol=1e-10).fit(votes)
    ability, ease = answer.skill, answer.learned["ease"]
    assert answer.converged
    step = 1e-5
    for j in range(len(ability)):
        shift = step * np.eye(len(ability))[j]
        up, down = (oracle.log_posterior(votes, ability + sign * shift, ease) for sign in (1, -1))
        assert abs(up - down) / (2 * step) < 1e-4
    for i in range(len(ease)):
        shift = step * np.eye(len(ease))[i]
        up, down = (oracle.log_posterior(votes, ability, ease + sign * shift) for sign in (1, -1))
        assert abs(up - down) / (2 * step) < 1e-4


def test_eases_never_step_down():
    rng = np.random.default_rng(0)
    gain, cost, ease = rng.normal(scale=20, size=5_000), rng.exponential(5, size=5_000), rng.normal(1, 2, size=5_000)

    def value(b):
        return gain * np.exp(b) - cost * np.exp(2 * b) - (b - 1) ** 2 / 2

    better = raise_ease(ease, gain, cost, 1.0)
    assert (value(better) >= value(ease)).all()
    for _ in range(30):
        better = raise_ease(better, gain, cost, 1.0)
    slope = gain * np.exp(better) - 2 * cost * np.exp(2 * better) - (better - 1)
    assert np.abs(slope).max() < 1e-3


def own_model(rng, n_items, n_workers, n_votes, n_classes):
    ability, ease = rng.normal(1, 1, size=n_workers), rng.normal(1, 1, size=n_items)
    truth, item = rng.integers(n_classes, size=n_items), np.repeat(np.arange(n_items), n_votes)
    worker = np.concatenate([rng.permutation(n_workers)[:n_votes] for _ in range(n_items)])
    right = rng.random(len(item)) < 1 / (1 + np.exp(-ability[worker] * np.exp(ease[item])))
    other = (truth[item] + rng.integers(1, n_classes, size=len(item))) % n_classes
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(n_classes)}
    votes = Votes.from_codes(item, worker, np.where(right, truth[item], other), **names)
    return votes, truth, ability, ease


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_recovers_its_own_model(n_classes):
    votes, truth, ability, ease = own_model(np.random.default_rng(8), 3_000, 30, 12, n_classes)
    answer = GLAD(min_rise=None).fit(votes)
    assert np.corrcoef(answer.skill, ability)[0, 1] > 0.97
    assert np.corrcoef(answer.learned["ease"], ease)[0, 1] > 0.5
    assert (answer.codes("first") == truth).mean() > 0.95


def test_merging_equal_items_changes_nothing():
    votes, _, _, _ = own_model(np.random.default_rng(9), 5_000, 5, 5, 2)
    from majorant.kernels import in_memory

    merged, plain = (
        GLAD(min_rise=None, tol=1e-9).fit(votes),
        GLAD(min_rise=None, tol=1e-9).fit(votes, engine=in_memory(votes)),
    )
    np.testing.assert_allclose(merged.posterior, plain.posterior, atol=1e-6)
    np.testing.assert_allclose(merged.learned["ease"], plain.learned["ease"], atol=1e-5)
