"""The error radius of estimates, as Theorem 3.5 takes it: against the spread of fresh samples, and in the theorem."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.evidence.certificate.radius import error_radius, published_radius
from majorant.methods import ESTIMATORS
from majorant.simulate import one_coin_workers, simulate
from majorant.theory import majority_margin
from majorant.theory.paper import theorem_3_5_within

PRIOR, CONFUSION = [0.6, 0.4], [[0.8, 0.2], [0.25, 0.75]]


def fresh(seed, n_items=2_000):
    return simulate(PRIOR, CONFUSION, n_items, 5, n_workers=40, rng=seed).votes


def test_the_radius_is_about_the_95th_percentile_of_the_error():
    radii = [error_radius(fresh(seed), n_draws=60, rng=0).confusion_radius for seed in range(3)]
    errors = []
    for seed in range(40):
        fit = ESTIMATORS["shared"]().fit(fresh(100 + seed))
        errors.append(np.abs(fit.confusion - CONFUSION).max())
    assert 0.6 < np.mean(radii) / np.quantile(errors, 0.95) < 1.7


@pytest.mark.parametrize("method", ["triplet", "iaa", "dawid-skene", "majority"])
def test_every_estimator_has_a_radius_that_shrinks_with_the_items(method):
    crew = one_coin_workers([0.7, 0.75, 0.8, 0.75, 0.7])
    few, many = (error_radius(simulate([0.5, 0.5], crew, n, 5, rng=1).votes, method, n_draws=30) for n in (300, 5_000))
    assert 0 < many.confusion_radius < few.confusion_radius < 1
    assert np.allclose(np.sum(many.confusion, axis=1), 1)


def test_the_theorem_holds_for_every_model_within_reach():
    rng = np.random.default_rng(0)
    found = theorem_3_5_within(PRIOR, CONFUSION, 3, prior_radius=0.03, confusion_radius=0.02)
    least = np.inf
    for nu, a, b in rng.uniform([0.57, 0.78, 0.73], [0.63, 0.82, 0.77], (3_000, 3)):
        least = min(least, majority_margin([nu, 1 - nu], [[a, 1 - a], [1 - b, b]], 3))
    assert found.margin <= least
    assert found.margin == pytest.approx(least, abs=0.05)
    assert found.certified


def test_the_published_formula_is_far_wider_than_the_bootstrap():
    votes = fresh(0)
    shares = np.bincount(votes.label_n) / votes.n_votes
    assert published_radius(CONFUSION, shares, len(votes.items)) > 5 * error_radius(votes, n_draws=40).confusion_radius


def test_unknown_methods_are_refused():
    with pytest.raises(ConfigError, match="no method"):
        error_radius(fresh(0, 50), "magic")
