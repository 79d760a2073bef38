"""Fits under many weightings at once are the fits that the estimator gives one by one."""

from dataclasses import replace

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.resampled import refit_dawid_skene
from majorant.simulate.crews import one_coin_crew
from majorant.simulate.crowd import simulate
from majorant.votes import Votes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_fit_is_the_estimators(n_classes, monkeypatch):
    monkeypatch.setattr("majorant.estimate.resampled.PRECISION", 1e-6)
    monkeypatch.setattr("majorant.estimate.resampled.MAX_ITER", 3_000)
    crew = one_coin_crew([0.6, 0.7, 0.8, 0.75, 0.9, 0.65], n_classes)
    votes = simulate(np.full(n_classes, 1 / n_classes), crew, 400, ([3, 5], [0.5, 0.5]), rng=3).votes
    fit = DawidSkene(tol=1e-9).fit(votes)
    weight_bi = np.random.default_rng(0).multinomial(400, np.full(400, 1 / 400), size=6).astype(float)
    for weight_i, found in zip(weight_bi, refit_dawid_skene(votes, weight_bi, fit), strict=True):
        wanted = DawidSkene(tol=1e-9, max_iter=20_000).fit(votes, weights=weight_i, start=fit)
        np.testing.assert_allclose(found.confusion, wanted.confusion, atol=1e-5)
        np.testing.assert_allclose(found.prior, wanted.prior, atol=1e-5)
        np.testing.assert_allclose(found.posterior, wanted.posterior, atol=1e-4)
        assert found.converged


def test_a_shared_matrix_is_that_of_one_worker_who_gave_all_votes():
    votes = simulate([0.3, 0.7], [[0.8, 0.2], [0.3, 0.7]], 300, 5, rng=1).votes
    alone = Votes.from_codes(
        votes.item_n, np.zeros(votes.n_votes, int), votes.label_n, items=votes.items, workers=["all"], labels=(0, 1)
    )
    fit = DawidSkene(tol=1e-9).fit(alone)
    weights = np.random.default_rng(0).integers(0, 3, size=(2, 300))
    one = refit_dawid_skene(alone, weights, fit)
    shared = replace(fit, confusion=fit.confusion[0])
    for a, b in zip(one, refit_dawid_skene(votes, weights, shared), strict=True):
        np.testing.assert_allclose(a.confusion[0], b.confusion, atol=1e-12)
        np.testing.assert_allclose(a.posterior, b.posterior, atol=1e-12)


def test_chunks_of_weightings_change_nothing(monkeypatch):
    votes = random_votes(np.random.default_rng(5))
    fit = DawidSkene().fit(votes)
    weights = np.random.default_rng(0).integers(0, 3, size=(5, len(votes.items)))
    together = refit_dawid_skene(votes, weights, fit)
    monkeypatch.setattr("majorant.estimate.resampled.ENTRIES_AT_ONCE", 1)
    for a, b in zip(together, refit_dawid_skene(votes, weights, fit), strict=True):
        np.testing.assert_allclose(a.confusion, b.confusion, atol=1e-12)


def test_weights_of_the_wrong_shape_are_refused():
    votes = random_votes(np.random.default_rng(5))
    with pytest.raises(ConfigError, match="weights"):
        refit_dawid_skene(votes, np.ones(3), DawidSkene().fit(votes))
