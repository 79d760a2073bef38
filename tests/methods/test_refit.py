"""Refitting under many weightings at once equals fitting them one by one."""

from dataclasses import replace

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.refit import (
    _as_params,
    _as_shares,
    _pack,
    _unpack,
    em_step,
    make_vote_matrix,
    make_weighting,
    plan_newton,
    refit_dawid_skene,
)
from majorant.simulate import one_coin_workers, simulate
from majorant.theory import panel_margin
from majorant.theory.panel import panel_margins
from majorant.votes import Votes
from panels import all_patterns, boundary_pool, fit_panel, pattern_joint, seen


def resampled(votes, copies, n_replicates, seed=7):
    """Weights as a bootstrap draws them."""
    n_items = int(copies.sum())
    return np.random.default_rng(seed).multinomial(n_items, copies / n_items, size=n_replicates)


def crowd(n_classes, n_items=400):
    crew = one_coin_workers([0.6, 0.7, 0.8, 0.75, 0.9, 0.65], n_classes)
    prior = np.arange(2, n_classes + 2) / np.arange(2, n_classes + 2).sum()
    return simulate(prior, crew, n_items, ([3, 5], [0.5, 0.5]), rng=3).votes


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_refit_equals_the_fit_of_the_estimator(n_classes, newton, monkeypatch):
    monkeypatch.setattr("majorant.methods.refit.CLOSE", 1e-6)
    for end in ("FINE", "COARSE"):
        monkeypatch.setattr(f"majorant.methods.refit.{end}", (1e-6, 3_000))
    monkeypatch.setattr("majorant.methods.refit.MOST_INVERTED", 1_000 if newton else 0)
    votes = crowd(n_classes)
    fit = DawidSkene(tol=1e-9).fit(votes)
    weight_bi = resampled(votes, np.ones(400), 6)
    found = refit_dawid_skene(votes, weight_bi, fit)
    assert found.converged_b.all()
    for weight_i, prior_k, confusion_jkl in zip(weight_bi, found.prior_bk, found.confusion, strict=True):
        wanted = DawidSkene(tol=1e-9, max_iter=20_000).fit(votes, weights=weight_i, start=fit)
        np.testing.assert_allclose(confusion_jkl, wanted.confusion, atol=1e-5)
        np.testing.assert_allclose(prior_k, wanted.prior, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_information_is_minus_the_derivative_of_the_em_residual(n_classes):
    votes = crowd(n_classes)
    fit = DawidSkene(tol=1e-11, max_iter=20_000).fit(votes)
    matrices, params, weight_i = make_vote_matrix(votes, 1, shared=False), _as_params(fit), np.ones(400)
    near = plan_newton(matrices, weight_i, fit.posterior, params, 0.01)
    weights = make_weighting(matrices, weight_i[None])

    def residual(share_p):
        plain = em_step(matrices, weights, _unpack(share_p[:, None], params), 0.01)
        return near.count_p * (_pack(plain)[:, 0] - share_p)

    share_p, step = _pack(params)[:, 0], 1e-6
    by_share = [(residual(share_p + d) - residual(share_p - d)) / (2 * step) for d in step * np.eye(len(share_p))]
    by_odds = np.transpose(by_share) @ _as_shares(params, np.eye(len(share_p)))
    np.testing.assert_allclose(near.inverse_pp @ -by_odds, np.eye(len(share_p)), atol=1e-5)


@pytest.mark.parametrize(
    ("n_workers", "n_items"),
    [
        (3, 500),
        pytest.param(3, 10_000, marks=pytest.mark.long),
        pytest.param(5, 500, marks=pytest.mark.long),
        (5, 10_000),
    ],
)
def test_bootstrap_matches_fits_run_to_convergence(n_workers, n_items):
    rng = np.random.default_rng([n_workers, n_items])
    prior, crew = boundary_pool(rng, n_workers)
    votes, copies = seen(all_patterns(n_workers), rng.multinomial(n_items, pattern_joint(prior, crew).sum(axis=1)))
    fit, weight_bi = fit_panel(votes, copies), resampled(votes, copies, 100)
    found = refit_dawid_skene(votes, weight_bi, fit)
    slow = [DawidSkene(tol=1e-9, max_iter=50_000).fit(votes, weights=weight_i, start=fit) for weight_i in weight_bi]
    margin_b = panel_margins(found.prior_bk, found.confusion, np.arange(n_workers)[None])[:, 0]
    wanted_b = np.array([panel_margin(one.prior, one.confusion) for one in slow])
    off_b = np.abs(margin_b - wanted_b) / wanted_b.std()
    print(f"{n_workers} workers, {n_items} items: off by at most {off_b.max():.4f} deviations")
    assert np.quantile(off_b, 0.95) < 0.02
    levels = [0.05, 0.1, 0.5, 0.9, 0.95]
    np.testing.assert_allclose(np.quantile(margin_b, levels), np.quantile(wanted_b, levels), atol=0.02 * wanted_b.std())


def test_single_precision_is_close_enough(monkeypatch):
    votes = simulate([0.4, 0.6], one_coin_workers(np.linspace(0.6, 0.9, 30)), 6_000, 3, rng=1).votes
    fit, weight_bi = DawidSkene().fit(votes), resampled(votes, np.ones(6_000), 40)
    monkeypatch.setattr("majorant.methods.refit.CLOSE", 1e-9)
    exact = refit_dawid_skene(votes, weight_bi, fit)
    monkeypatch.undo()
    monkeypatch.setattr("majorant.methods.refit.SINGLE_FROM", 0)
    found = refit_dawid_skene(votes, weight_bi, fit)
    for a, b in ((found.confusion, exact.confusion), (found.prior_bk, exact.prior_bk)):
        assert not np.array_equal(a, b)
        assert np.sqrt(((a - b) ** 2 / b.var(axis=0)).mean()) < 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fewer_steps_for_many_workers_keep_the_spread(n_classes, monkeypatch):
    crew = one_coin_workers(np.random.default_rng(2).uniform(0.55, 0.95, 40), n_classes)
    votes = simulate(np.full(n_classes, 1 / n_classes), crew, 1_500, 5, rng=1).votes
    fit, weight_bi = DawidSkene().fit(votes), resampled(votes, np.ones(1_500), 60)
    monkeypatch.setattr("majorant.methods.refit.MOST_INVERTED", 0)
    few = refit_dawid_skene(votes, weight_bi, fit).confusion
    monkeypatch.setattr("majorant.methods.refit.COARSE", (1e-5, 3_000))
    end = refit_dawid_skene(votes, weight_bi, fit).confusion
    deviation = end.std(axis=0)
    off = np.sqrt((((few - end) / np.maximum(deviation, 1e-3)) ** 2).mean())
    spread = np.median(few.std(axis=0) / np.maximum(deviation, 1e-9))
    print(f"{n_classes} classes: off by {off:.3f} deviations, spread {spread:.3f} of the full one")
    assert off < 0.15
    assert 0.98 < spread < 1.02


def test_shared_matrix_matches_one_worker_who_gave_all_votes():
    votes = simulate([0.3, 0.7], [[0.8, 0.2], [0.3, 0.7]], 300, 5, rng=1).votes
    alone = Votes.from_codes(
        votes.item_n, np.zeros(votes.n_votes, int), votes.label_n, items=votes.items, workers=["all"], labels=(0, 1)
    )
    fit = DawidSkene(tol=1e-9).fit(alone)
    weights = np.random.default_rng(0).integers(0, 3, size=(2, 300))
    one = refit_dawid_skene(alone, weights, fit)
    shared = refit_dawid_skene(votes, weights, replace(fit, confusion=fit.confusion[0]))
    np.testing.assert_allclose(one.confusion[:, 0], shared.confusion, atol=1e-12)
    np.testing.assert_allclose(one.prior_bk, shared.prior_bk, atol=1e-12)


def test_chunks_of_weightings_change_nothing(monkeypatch):
    votes = crowd(2)
    fit, weights = DawidSkene().fit(votes), resampled(votes, np.ones(400), 5)
    together = refit_dawid_skene(votes, weights, fit)
    monkeypatch.setattr("majorant.methods.refit.WEIGHTINGS_AT_ONCE", 1)
    monkeypatch.setattr("majorant.methods.refit.ITEMS_AT_ONCE", 7)
    apart = refit_dawid_skene(votes, weights, fit)
    np.testing.assert_allclose(together.confusion, apart.confusion, atol=1e-9)


def test_fit_away_from_a_maximum_falls_back_to_em():
    votes = random_votes(np.random.default_rng(5))
    fit = DawidSkene(max_iter=1).fit(votes)
    flat = replace(fit, posterior=np.full_like(fit.posterior, 1 / fit.posterior.shape[1]))
    matrices = make_vote_matrix(votes, 1, shared=False)
    assert plan_newton(matrices, np.ones(len(votes.items)), flat.posterior, _as_params(flat), 0.01) is None
    found = refit_dawid_skene(votes, np.ones((1, len(votes.items))), flat)
    wanted = DawidSkene(tol=1e-9, max_iter=20_000).fit(votes, start=fit)
    np.testing.assert_allclose(found.confusion[0], wanted.confusion, atol=0.02)


def test_weights_of_the_wrong_shape_are_refused():
    votes = random_votes(np.random.default_rng(5))
    with pytest.raises(ConfigError, match="weights"):
        refit_dawid_skene(votes, np.ones(3), DawidSkene().fit(votes))
