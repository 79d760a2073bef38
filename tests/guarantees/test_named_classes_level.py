"""The named claim and its loss keep their level with three classes, where majority's margin is exactly 0."""

import numpy as np
import pytest

from guarantees.levels import assert_loss_covered, assert_rarely_decided, claims, untied_gap, verdict_counts
from majorant.simulate import one_coin_workers
from majorant.theory import panel_margin
from sizes import many

N_CLASSES = 3


def boundary_pool(rng, n_workers):
    """A crew of three classes and the prior at which majority stops being optimal: a class grows until it does."""
    while True:
        right_hk = rng.uniform(0.65, 0.85, size=(n_workers, N_CLASSES))
        wrong_hkl = rng.dirichlet(np.full(N_CLASSES - 1, 20.0), size=(n_workers, N_CLASSES)) * (1 - right_hk)[..., None]
        crew = np.array([[np.insert(wrong_hkl[h, k], k, right_hk[h, k]) for k in range(3)] for h in range(n_workers)])
        others = rng.dirichlet(np.full(N_CLASSES, 20.0))
        low, high = 0.0, 0.6
        if panel_margin(others, crew) <= 0.1:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if panel_margin(grown(others, middle), crew) > 0 else (low, middle)
        if high < 0.59:
            return grown(others, low), crew


def grown(prior, share):
    """Class 0 takes this share of all others."""
    return (1 - share) * prior + share * np.eye(len(prior))[0]


def assert_level_at_the_boundary(n_workers, n_items, cell, runs):
    rng = np.random.default_rng([n_workers, n_items, cell, N_CLASSES])
    prior, crew = boundary_pool(rng, n_workers)
    assert abs(panel_margin(prior, crew)) < 1e-9
    found = list(claims(rng, prior, crew, n_items, runs))
    name = f"3 classes, {n_workers} workers, {n_items} items, cell {cell}"
    assert_rarely_decided(name, found)
    assert_loss_covered(name, found, truth=untied_gap(prior, crew))


@pytest.mark.parametrize("n_workers", [3, 5])
def test_three_classes_at_the_boundary_are_rarely_certified(n_workers):
    assert_level_at_the_boundary(n_workers, 10_000, 0, runs=many(25, quick=8))


@pytest.mark.long
@pytest.mark.parametrize("cell", range(2))
@pytest.mark.parametrize("n_items", [1_000, 5_000, 20_000])
@pytest.mark.parametrize("n_workers", [3, 5])
def test_three_classes_at_the_boundary_are_certified_no_more_often_than_the_level(n_workers, n_items, cell):
    assert_level_at_the_boundary(n_workers, n_items, cell, runs=300)


def test_clear_panels_of_three_classes_are_decided():
    rng = np.random.default_rng(0)
    equal = verdict_counts(claims(rng, np.full(3, 1 / 3), one_coin_workers([0.75] * 5, 3), 10_000, 6))
    unlike = verdict_counts(claims(rng, np.full(3, 1 / 3), one_coin_workers([0.5, 0.55, 0.6, 0.6, 0.95], 3), 10_000, 6))
    assert equal["optimal"] >= 5
    assert unlike["not optimal"] >= 5


LOSSES = {
    "unlike 5": (np.full(3, 1 / 3), one_coin_workers([0.5, 0.55, 0.65, 0.75, 0.9], 3)),
    "skewed 4": (np.array([0.7, 0.2, 0.1]), one_coin_workers([0.6, 0.65, 0.7, 0.75], 3)),
    "nearly 3": (np.array([0.4, 0.3, 0.3]), one_coin_workers([0.65, 0.7, 0.9], 3)),
}


def assert_loss_is_covered(name, n_items, runs):
    prior, crew = LOSSES[name]
    truth = untied_gap(prior, crew)
    assert truth > 1e-4
    found = list(claims(np.random.default_rng([len(name), n_items]), prior, crew, n_items, runs))
    assert_loss_covered(f"3 classes, {name}, {n_items} items", found, truth)


def test_the_loss_of_three_classes_lies_in_its_interval():
    assert_loss_is_covered("unlike 5", 3_000, runs=many(25, quick=8))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [1_000, 5_000, 20_000])
@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_of_three_classes_lies_in_its_interval_at_the_level(name, n_items):
    assert_loss_is_covered(name, n_items, runs=200)
