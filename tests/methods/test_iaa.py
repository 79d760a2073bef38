"""IAA: the projection against a convex solver, the shared matrix against exact moments."""

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError, NotIdentified
from majorant.methods.iaa import IAA, correct_prior, project_simplex, project_symmetric, shared_confusion
from majorant.simulate import simulate
from majorant.votes import Votes

# Nearest symmetric stochastic matrices with a diagonal of at least 1/2, by scipy.optimize.minimize (SLSQP, ftol 1e-15).
SOLVED = [
    (
        [[0.45, 0.075], [-0.069, 0.227]],
        [[0.66775, 0.33225], [0.33225, 0.66775]],
    ),
    (
        [[0.336, -0.248, 0.015], [0.335, 0.327, -0.155], [0.122, 0.089, 0.476]],
        [[0.5147778, 0.2591111, 0.2261111], [0.2591111, 0.5794444, 0.1614444], [0.2261111, 0.1614444, 0.6124444]],
    ),
    (
        [
            [0.217, -0.007, 0.174, -0.336],
            [-0.114, -0.025, -0.322, -0.46],
            [-0.059, -0.317, 0.518, 0.039],
            [-0.047, -0.629, -0.135, 0.438],
        ],
        [
            [0.5, 0.314358, 0.1531591, 0.032483],
            [0.314358, 0.6296705, 0.0559716, 0.0],
            [0.1531591, 0.0559716, 0.6142727, 0.1765966],
            [0.032483, 0.0, 0.1765966, 0.7909205],
        ],
    ),
    (
        [
            [0.478, -0.383, -0.119, -0.245, -0.202],
            [0.265, 0.248, -0.008, 0.221, -0.146],
            [-0.028, 0.028, 0.466, -0.306, 0.019],
            [0.34, -0.387, 0.215, 0.48, -0.16],
            [0.5, 0.191, -0.3, 0.019, 0.594],
        ],
        [
            [0.5370222, 0.0701963, 0.0443296, 0.1492222, 0.1992296],
            [0.0701963, 0.5, 0.1980037, 0.0888963, 0.1429037],
            [0.0443296, 0.1980037, 0.642637, 0.1150296, 0.0],
            [0.1492222, 0.0888963, 0.1150296, 0.6244222, 0.0224296],
            [0.1992296, 0.1429037, 0.0, 0.0224296, 0.635437],
        ],
    ),
]


@pytest.mark.parametrize(("matrix", "solved"), SOLVED, ids=lambda m: len(m))
def test_projection_matches_a_convex_solver(matrix, solved):
    np.testing.assert_allclose(project_symmetric(np.array(matrix), least=0.5), solved, atol=2e-6)


def test_the_projection_is_nearer_than_any_other_candidate():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(4, 4))
    nearest = project_symmetric(matrix, least=0.5)
    np.testing.assert_allclose(nearest, nearest.T, atol=1e-9)
    np.testing.assert_allclose(nearest.sum(axis=1), 1, atol=1e-12)
    for _ in range(200):
        other = project_symmetric(nearest + rng.normal(scale=0.05, size=(4, 4)), least=0.5)
        assert ((other - matrix) ** 2).sum() >= ((nearest - matrix) ** 2).sum() - 1e-9


def test_the_simplex_projection_meets_its_optimality_conditions():
    value = np.random.default_rng(1).normal(size=6)
    nearest = project_simplex(value)
    assert nearest.sum() == pytest.approx(1)
    shift = value - nearest  # the same where the entry stays above 0, no larger where it is cut off
    assert np.ptp(shift[nearest > 0]) < 1e-12
    assert (shift[nearest == 0] <= shift[nearest > 0].min() + 1e-12).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_exact_pairs_give_the_exact_matrix(n_classes):
    rng = np.random.default_rng(0)
    truth = project_symmetric(0.7 * np.eye(n_classes) + rng.uniform(0, 0.2, size=(n_classes, n_classes)), least=0.5)
    pairs = truth @ truth / n_classes
    np.testing.assert_allclose(shared_confusion(pairs, pairs.sum(axis=0)), truth, atol=1e-8)


def test_pairs_are_counted_and_normalised_over_all_items():
    votes = random_votes(np.random.default_rng(0))
    table = np.zeros((3, 3))
    for i in range(len(votes.items)):
        ballot = votes.label_n[votes.item_n == i]
        own = np.zeros((3, 3))
        for a in range(len(ballot)):
            for b in range(len(ballot)):
                if a != b:
                    own[ballot[a], ballot[b]] += 1
        if own.any():
            table += own / own.sum()
    share = np.bincount(votes.label_n) / votes.n_votes
    expected = shared_confusion(table / table.sum(), share)
    np.testing.assert_allclose(IAA().fit(votes).confusion, expected, atol=1e-9)


def test_many_votes_on_the_last_item_do_not_change_the_scale():
    truth = np.array([[0.8, 0.2], [0.2, 0.8]])
    votes, _ = simulate([0.5, 0.5], truth, n_items=5_000, n_votes=3, rng=0)
    n_votes, last = votes.n_votes, 5_000
    item = np.append(votes.item_n, np.full(60, last))
    worker = np.append(votes.worker_n, np.arange(60) % len(votes.workers))
    label = np.append(votes.label_n, np.arange(60) % 2)
    names = {"items": range(last + 1), "workers": votes.workers, "labels": votes.labels}
    longer = Votes.from_codes(item, worker, label, **names)
    assert longer.n_votes == n_votes + 60
    np.testing.assert_allclose(IAA().fit(votes).confusion, truth, atol=0.02)
    np.testing.assert_allclose(IAA().fit(longer).confusion, IAA().fit(votes).confusion, atol=0.002)


def test_the_correct_prior_undoes_the_confusion():
    confusion, prior = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([0.9, 0.1])
    np.testing.assert_allclose(correct_prior(prior @ confusion, confusion), prior, atol=1e-12)
    np.testing.assert_allclose(correct_prior(np.array([0.9, 0.1]), confusion), [1, 0])  # as near as it gets
    votes, _ = simulate([0.6, 0.4], confusion, n_items=50_000, n_votes=5, rng=0)
    assert IAA().fit(votes).prior[0] == pytest.approx(0.56, abs=0.005)
    assert IAA(prior="corrected").fit(votes).prior[0] == pytest.approx(0.6, abs=0.015)


def test_iaa_mistakes_unequal_classes_for_noise():
    # The paper's square root holds for even classes; a known limit, shown here so that nobody relies on it.
    votes, _ = simulate([0.9, 0.1], [[0.8, 0.2], [0.2, 0.8]], n_items=20_000, n_votes=5, rng=0)
    assert IAA().fit(votes).confusion[0, 0] < 0.75


def test_iaa_rejects_votes_without_pairs_and_invalid_settings():
    single = Votes.from_codes([0, 1], [0, 1], [0, 1], items="ab", workers="xy", labels="01")
    with pytest.raises(NotIdentified, match="no item has two: use majority"):
        IAA().fit(single)
    with pytest.raises(ConfigError, match="'uniform'"):
        IAA(prior="uniform")


def test_unused_labels_do_not_change_the_result():
    votes = Votes.from_codes([0, 0, 1, 1], [0, 1] * 2, [0, 0, 1, 1], items="ab", workers="xy", labels="012")
    answer = IAA().fit(votes)
    assert np.isfinite(answer.posterior).all()
    assert answer.labels() == ["0", "1"]
