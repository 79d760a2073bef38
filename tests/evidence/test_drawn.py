"""Accuracy from items drawn with unequal chances: unbiased, with bounds that hold at every draw."""

from itertools import permutations

import numpy as np
import pytest

from majorant.ask.teach import draw_to_teach
from majorant.evidence.betting import SMALL_BETS_F, bounds
from majorant.evidence.drawn import Chances, accuracy_from_draws, drawn_bounds, drawn_mean


def chances_of(size_d, places):
    left = size_d.sum() - np.r_[0, np.cumsum(size_d[places])[:-1]]
    return Chances(size_d[places] / left, size_d.min() / left)


def test_the_estimate_is_unbiased_over_all_samples():
    size, y, control = np.array([0.1, 0.5, 1.1, 0.3, 0.7]), np.array([0, 1, 1, 0, 0.5]), np.array([0.3, 0.9, 0.5, 0, 1])
    mean = 0.0
    for places in permutations(range(5), 3):
        places = np.array(places)
        chances = chances_of(size, places)
        estimate = drawn_mean(y[places], control[places], control.mean(), chances, 5)
        mean += chances.drawn_t.prod() * estimate
    assert mean == pytest.approx(y.mean())


def test_equal_chances_give_the_bounds_of_a_random_sample():
    y = np.array([1, 1, 0, 1, 0.5, 1, 1, 1.0])
    chance_t = 1 / (40 - np.arange(8))
    assert drawn_bounds(y, Chances(chance_t, chance_t), 40, 0.05, 0.01) == pytest.approx(
        bounds(y, 40, 0.05, 0.01, SMALL_BETS_F)
    )


def test_all_items_drawn_leave_no_doubt():
    size, places = np.array([0.1, 2.0, 0.4]), np.array([1, 2, 0])
    assert drawn_bounds(np.array([1, 0, 1.0]), chances_of(size, places), 3, 0.05, 0.05) == pytest.approx([2 / 3, 2 / 3])


def test_skipped_draws_widen_the_bounds():
    size, places = np.linspace(0.1, 1.1, 60), np.arange(0, 60, 3)
    y = np.ones(20)
    full = drawn_bounds(y, chances_of(size, places), 60, 0.05, 0.05)
    y[4] = np.nan
    part = drawn_bounds(y, chances_of(size, places), 60, 0.05, 0.05)
    assert part[0] < full[0]
    assert part[1] >= full[1]


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_bounds_hold_at_every_draw(share):
    """Runs with an error of 20%; a wrong interval at any of 30 draws counts."""
    rng, failed, runs = np.random.default_rng(1), 0, 120
    n_items, doubt = 200, rng.random(200)
    right = (rng.random(n_items) < np.where(doubt > 0.7, 2 * share - 1, share)).astype(float)
    size, control = (0.1 + doubt).round(4), 1 - doubt / 2
    for seed in range(runs):
        drawn = draw_to_teach(size, np.empty(0, np.int64), 30, seed)
        chances, y = Chances(drawn.chance_t, drawn.least_t), right[drawn.place_t]
        wrong = False
        for t in (6, 15, 30):
            first = Chances(chances.drawn_t[:t], chances.least_t[:t])
            at = accuracy_from_draws(y[:t], control[drawn.place_t][:t], control.mean(), first, n_items, level=0.8)
            wrong |= not at.low <= right.mean() <= at.high
        failed += wrong
    assert failed <= 0.2 * runs + 2 * np.sqrt(0.16 * runs)
