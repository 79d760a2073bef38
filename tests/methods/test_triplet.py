"""Triplets recover skills from exact moments, and say so where they cannot."""

from itertools import product

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError, NotIdentified
from majorant.methods import ESTIMATORS, two_class
from majorant.methods.two_class import Triplet, measure_agreement
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes


def all_patterns(theta, prior):
    """Every ballot of a panel as an item, and its exact probability as its weight (times a large number)."""
    n = len(theta)
    patterns = list(product((0, 1), repeat=n))
    weight = [
        sum(
            prior[k] * np.prod([(1 + t if l == k else 1 - t) / 2 for t, l in zip(theta, pattern, strict=True)])
            for k in (0, 1)
        )
        for pattern in patterns
    ]
    item = np.repeat(np.arange(len(patterns)), n)
    names = {"items": patterns, "workers": range(n), "labels": (0, 1)}
    return Votes.from_codes(item, np.tile(np.arange(n), len(patterns)), np.ravel(patterns), **names), np.array(weight)


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.9, 0.1)])
@pytest.mark.parametrize("theta", [(0.8, 0.5, 0.6), (0.9, 0.5, -0.3, 0.6), (0.2, 0.7, -0.8, 0.9, 0.4)])
def test_exact_moments_give_exact_skills(theta, prior):
    votes, weight = all_patterns(theta, prior)
    answer = Triplet().fit(votes, weights=1e12 * weight)
    np.testing.assert_allclose(answer.skill, theta, atol=1e-9)
    weight_j = np.log((1 + np.array(theta)) / (1 - np.array(theta)))
    score = (2 * np.array(votes.items) - 1) @ weight_j
    np.testing.assert_allclose(answer.posterior[:, 1], 1 / (1 + np.exp(-score)), atol=1e-6)
    np.testing.assert_allclose(answer.confusion[:, 1, 1], (1 + np.array(theta)) / 2, atol=1e-9)


def test_it_recovers_skills_of_a_sparse_crowd():
    rng = np.random.default_rng(0)
    skill = rng.uniform(0.55, 0.95, size=30)
    votes, truth = simulate([0.6, 0.4], one_coin_workers(skill), n_items=8_000, n_votes=6, rng=1)
    right = np.bincount(votes.worker_n, weights=np.array(votes.labels)[votes.label_n] == truth[votes.item_n])
    counted = 2 * right / np.bincount(votes.worker_n) - 1
    answer = Triplet().fit(votes)
    np.testing.assert_allclose(answer.skill, counted, atol=0.15)
    assert np.corrcoef(answer.skill, counted)[0, 1] > 0.97
    majority = np.mean(np.array(ESTIMATORS["majority"]().fit(votes).labels(ties="random", rng=0)) == truth)
    assert np.mean(np.array(answer.labels()) == truth) > majority + 0.02


def test_skills_of_equal_workers_are_right_on_average():
    """With 41 common items for each pair, the pair that happens to agree most would bias every skill by a half."""
    votes = simulate([0.5, 0.5], one_coin_workers(np.full(50, 0.775)), n_items=5_000, n_votes=5, rng=0).votes
    skill = Triplet().fit(votes).skill
    assert np.mean(skill) == pytest.approx(0.55, abs=0.02)
    assert 0.3 < skill.min() < skill.max() < 0.8


def test_agreement_is_the_mean_product_over_common_items():
    votes = random_votes(np.random.default_rng(0), n_classes=2)  # with repeated votes, which count once together
    weight = np.random.default_rng(1).uniform(0.5, 2, size=60)
    found = measure_agreement("triplet", votes, weight)
    sign = np.full((60, 9), np.nan)
    for i in range(60):
        for j in range(9):
            given = 2 * votes.label_n[(votes.item_n == i) & (votes.worker_n == j)] - 1.0
            sign[i, j] = given.mean() if len(given) else np.nan
    for a in range(9):
        for b in range(9):
            both = ~np.isnan(sign[:, a]) & ~np.isnan(sign[:, b])
            if a != b and both.any():
                expected = np.average(sign[both, a] * sign[both, b], weights=weight[both])
                assert found.mean_ab[a, b] == pytest.approx(expected, abs=1e-12)
                assert found.items_ab[a, b] == pytest.approx(weight[both].sum())
            else:
                assert found.items_ab[a, b] == 0


def test_only_the_partners_with_most_common_items_are_used(monkeypatch):
    votes, truth = simulate([0.5, 0.5], one_coin_workers(np.full(40, 0.8)), n_items=600, n_votes=5, rng=0)
    monkeypatch.setattr(two_class, "PARTNERS", 10)
    found = measure_agreement("triplet", votes, np.ones(600), workers_at_once=7)
    assert np.diff(found.items_ab.indptr).min() >= 10
    assert found.items_ab.nnz < 40 * 39
    assert (found.items_ab != found.items_ab.T).nnz == 0
    assert np.mean(np.array(Triplet().fit(votes).labels()) == truth) > 0.85


def test_disconnected_parts_of_a_crowd_are_oriented_separately():
    left, weight = all_patterns((0.8, 0.6, -0.5), (0.5, 0.5))
    n = len(left.items)
    item, worker = np.append(left.item_n, left.item_n + n), np.append(left.worker_n, left.worker_n + 3)
    names = {"items": range(2 * n), "workers": range(6), "labels": (0, 1)}
    votes = Votes.from_codes(item, worker, np.tile(left.label_n, 2), **names)
    answer = Triplet().fit(votes, weights=1e12 * np.tile(weight, 2))
    np.testing.assert_allclose(answer.skill, [0.8, 0.6, -0.5] * 2, atol=1e-9)


def test_votes_that_do_not_identify_skills_are_refused():
    names = {"items": "ab", "workers": "xyz", "labels": "01"}
    with pytest.raises(NotIdentified, match="no two workers have one: use majority"):
        Triplet().fit(Votes.from_codes([0, 1], [0, 1], [0, 1], **names))
    with pytest.raises(NotIdentified, match="three workers who pairwise have items in common"):
        Triplet().fit(Votes.from_codes([0, 0, 1, 1], [0, 1, 1, 2], [0, 0, 1, 1], **names))
    with pytest.raises(ConfigError, match="triplet is for two classes, but these votes have 3"):
        Triplet().fit(random_votes(np.random.default_rng(0)))
    apart = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 3], [1, 1, 1, 0, 1], items="ab", workers="xyzq", labels="01")
    assert Triplet().fit(apart).skill[3] == 0  # shares an item with one worker alone
