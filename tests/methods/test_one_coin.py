"""The one-coin model equals an independent EM and recovers simulated accuracies."""

import numpy as np
import pytest

import oracles.one_coin as oracle
from crowds import coins, random_votes, votes_of
from majorant.methods.one_coin import OneCoin
from majorant.methods.tables import ExpectedCounts


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("smoothing", [0.01, 1.0])
def test_every_step_equals_an_independent_em(n_classes, smoothing):
    votes = random_votes(np.random.default_rng(n_classes), n_classes=n_classes)
    ours = OneCoin(smoothing=smoothing, max_iter=20, min_rise=None, tol=0, accelerate=False).fit(votes)
    np.testing.assert_allclose(ours.trace, oracle.em(votes, 20, smoothing)[3], rtol=1e-10)
    skill, prior, posterior, _ = oracle.em(votes, 21, smoothing)
    np.testing.assert_allclose(ours.skill, skill, atol=1e-9)
    np.testing.assert_allclose(ours.prior, prior, atol=1e-9)
    np.testing.assert_allclose(ours.posterior, posterior, atol=1e-9)


def test_accelerated_fixed_point_matches_an_independent_em():
    votes, _ = votes_of(np.random.default_rng(0), coins(np.linspace(0.4, 0.9, 8), 3), n_items=150, n_votes=5)
    ours = OneCoin(smoothing=0.01, min_rise=None, tol=1e-10).fit(votes)
    skill, _, posterior, _ = oracle.em(votes, 150, 0.01)
    np.testing.assert_allclose(ours.skill, skill, atol=1e-6)
    np.testing.assert_allclose(ours.posterior, posterior, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_recovers_the_coins_it_was_simulated_with(n_classes):
    skill, prior = np.linspace(0.3, 0.95, 9), np.linspace(1, 2, n_classes) / np.linspace(1, 2, n_classes).sum()
    rng = np.random.default_rng(1)
    votes, truth = votes_of(rng, coins(skill, n_classes), n_items=8_000, n_votes=9, prior=prior)
    answer = OneCoin().fit(votes)
    np.testing.assert_allclose(answer.skill, skill, atol=0.025)
    np.testing.assert_allclose(answer.prior, prior, atol=0.025)
    assert (answer.codes("first") == truth).mean() > 0.9


def test_the_m_step_by_hand():
    votes_jkl = np.array([[[3.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]])
    coin_j2, prior_k = OneCoin(smoothing=1).m_step(ExpectedCounts(votes_jkl, np.array([4.0, 2.0]), 0.0), None)
    np.testing.assert_allclose(coin_j2, [[6 / 8, 2 / 8], [1 / 2, 1 / 2]])
    np.testing.assert_allclose(prior_k, [5 / 8, 3 / 8])


def test_wrong_labels_are_equally_likely():
    votes = random_votes(np.random.default_rng(3), n_classes=4)
    answer = OneCoin().fit(votes)
    np.testing.assert_allclose(answer.confusion, coins(answer.skill, 4), atol=1e-12)
