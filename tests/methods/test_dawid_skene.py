"""Dawid-Skene equals an independent EM step by step, and acceleration does not change the result."""

import numpy as np
import pytest

import oracles.dawid_skene as oracle
from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods import ESTIMATORS
from majorant.methods.dawid_skene import DawidSkene
from majorant.votes import Votes
from sizes import many


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("smoothing", [0.01, 1.0])
def test_every_step_equals_an_independent_em(n_classes, weighted, clamped, smoothing):
    rng = np.random.default_rng(n_classes)
    votes = random_votes(rng, n_classes=n_classes, gold=clamped)
    weights = rng.integers(0, 3, size=len(votes.items)) if weighted else None
    model = DawidSkene(smoothing=smoothing, max_iter=25, min_rise=None, tol=0, accelerate=False, clamp_gold=clamped)
    ours = model.fit(votes, weights=weights)
    _, _, _, objectives = oracle.em(votes, 25, smoothing, weights, votes.gold_i if clamped else None)
    np.testing.assert_allclose(ours.trace, objectives, rtol=1e-10)
    confusion, prior, posterior, _ = oracle.em(votes, 26, smoothing, weights, votes.gold_i if clamped else None)
    np.testing.assert_allclose(ours.confusion, confusion, atol=1e-9)
    np.testing.assert_allclose(ours.prior, prior, atol=1e-9)
    np.testing.assert_allclose(ours.posterior, posterior, atol=1e-9)


def noisy_crowd(rng, n_items, n_workers, n_classes, n_votes):
    truth, skill = rng.integers(n_classes, size=n_items), rng.uniform(0.4, 0.95, size=n_workers)
    item = np.repeat(np.arange(n_items), n_votes)
    worker = rng.integers(n_workers, size=len(item))
    right = rng.random(len(item)) < skill[worker]
    label = np.where(right, truth[item], rng.integers(n_classes, size=len(item)))
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(n_classes)}
    return Votes.from_codes(item, worker, label, **names), truth


@pytest.mark.parametrize("n_classes", [2, 4])
def test_acceleration_reaches_the_same_fixed_point_in_fewer_steps(n_classes):
    votes, _ = noisy_crowd(np.random.default_rng(0), 1_000, 40, n_classes, 4)
    plain = DawidSkene(min_rise=None, accelerate=False, tol=1e-9, max_iter=5_000).fit(votes)
    quick = DawidSkene(min_rise=None, accelerate=True, tol=1e-9, max_iter=5_000).fit(votes)
    assert plain.converged
    assert quick.converged
    assert quick.n_iter < plain.n_iter
    np.testing.assert_allclose(quick.posterior, plain.posterior, atol=1e-5)
    assert (np.diff(quick.trace) >= -1e-9).all()  # rounding


def test_merging_equal_items_changes_nothing():
    votes, truth = noisy_crowd(np.random.default_rng(1), 6_000, 3, 2, 3)
    merged = DawidSkene(min_rise=None, tol=0, max_iter=40, accelerate=False).fit(votes)
    from majorant.kernels import in_memory

    plain = DawidSkene(min_rise=None, tol=0, max_iter=40, accelerate=False).fit(votes, engine=in_memory(votes))
    np.testing.assert_allclose(merged.posterior, plain.posterior, atol=1e-9)
    np.testing.assert_allclose(merged.trace, plain.trace, rtol=1e-10)
    assert (merged.codes("first") == truth).mean() > 0.6


def test_it_recovers_the_confusions_of_its_own_model():
    votes, truth = noisy_crowd(np.random.default_rng(2), 20_000, 5, 3, 7)
    answer = DawidSkene().fit(votes)
    counted = np.zeros((5, 3, 3))
    np.add.at(counted, (votes.worker_n, truth[votes.item_n], votes.label_n), 1)
    np.testing.assert_allclose(answer.confusion, counted / counted.sum(axis=2, keepdims=True), atol=0.05)


def test_it_works_without_smoothing_and_with_certain_workers():
    votes = Votes.from_codes([0, 0, 1, 1], [0, 1] * 2, [0, 0, 1, 1], items="ab", workers="xy", labels="01")
    answer = DawidSkene(smoothing=0).fit(votes)
    assert answer.labels() == ["0", "1"]
    assert answer.confusion.tolist() == [[[1, 0], [0, 1]]] * 2


def test_invalid_starts_are_named():
    votes = random_votes(np.random.default_rng(0))
    with pytest.raises(ConfigError, match="majority fit has no confusion"):
        DawidSkene().fit(votes, start=ESTIMATORS["majority"]().fit(votes))
    other = DawidSkene().fit(random_votes(np.random.default_rng(0), n_workers=4))
    with pytest.raises(ConfigError, match="fitted to 4 workers, these votes have 9"):
        DawidSkene().fit(votes, start=other)
    with pytest.raises(ConfigError, match="clamp_gold needs gold labels"):
        DawidSkene(clamp_gold=True).fit(votes)


def test_parameters_are_valid_after_an_accelerated_last_step():
    """On pure noise the likelihood is flat and acceleration steps are long, so the loop may end on one."""
    for seed in range(many(20, quick=5)):
        votes = random_votes(np.random.default_rng(seed), n_items=10, n_workers=6, n_classes=4, n_votes=16)
        for max_iter in (40, 41, 42, 1_000):
            answer = ESTIMATORS["shared"](max_iter=max_iter).fit(votes)
            np.testing.assert_allclose(answer.prior.sum(), 1, atol=1e-12)
            np.testing.assert_allclose(answer.confusion.sum(axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_stops_at_the_first_step_that_hardly_raises_the_bound(n_classes):
    votes, _ = noisy_crowd(np.random.default_rng(5), 200, 8, n_classes, 5)  # 125 votes per worker
    answer = DawidSkene().fit(votes)
    bounds, posteriors = oracle.bounds(votes, answer.n_iter + 1, pseudo_votes=0.5)
    rises = np.diff([-np.inf, *bounds])
    assert answer.n_iter == 1 + int(np.argmax(rises < 1e-5))
    assert answer.converged
    np.testing.assert_allclose(answer.posterior, posteriors[answer.n_iter - 1], atol=1e-8)
    assert answer.n_iter < DawidSkene(min_rise=None, accelerate=False).fit(votes).n_iter


def test_workers_with_few_votes_get_more_pseudo_votes_of_the_crowd():
    votes, _ = noisy_crowd(np.random.default_rng(6), 50, 40, 2, 3)  # four votes per worker
    answer = DawidSkene(max_iter=1).fit(votes)
    per_worker = votes.n_votes / len(np.unique(votes.worker_n))
    _, posteriors = oracle.bounds(votes, 2, pseudo_votes=5 * 2 / per_worker)
    np.testing.assert_allclose(answer.posterior, posteriors[1], atol=1e-8)


def test_a_matrix_of_pseudo_votes_is_added_to_every_worker():
    votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="x", labels="01")
    pseudo = np.array([[3.0, 1.0], [0.0, 1.0]])
    answer = DawidSkene(smoothing=pseudo, max_iter=1, min_rise=None).fit(votes)
    # The first E step reads item b with P(1 | 0) = 1/5 and P(1 | 1) = 1.
    np.testing.assert_allclose(answer.confusion[0, 0], [4 / (5 + 1 / 6), (1 + 1 / 6) / (5 + 1 / 6)])
    np.testing.assert_allclose(answer.confusion[0, 1], [0, 1])
