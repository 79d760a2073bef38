"""The simulated accuracy has valid intervals and an unbiased mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from majorant.theory.accuracy import gap, majority_accuracy, map_accuracy, panel_accuracy, panel_gap
from majorant.theory.approximate import estimate_accuracy, estimate_gap, estimate_panel_accuracy, estimate_panel_gap

N_RUNS = 400
LEVEL = 0.8
PRIOR = [0.5, 0.3, 0.2]
CONFUSION = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.0, 0.5, 0.5]]
CREW = [CONFUSION, [[0.4, 0.4, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]], CONFUSION, np.eye(3)[[1, 1, 2]]]
RARE = [0.99, 0.01], [[0.9, 0.1], [0.4, 0.6]], 3  # skewed scores: nearly always the same value

CASES = {
    "majority": (lambda **of: estimate_accuracy(PRIOR, CONFUSION, 4, **of), majority_accuracy(PRIOR, CONFUSION, 4)),
    "map": (lambda **of: estimate_accuracy(PRIOR, CONFUSION, 4, "map", **of), map_accuracy(PRIOR, CONFUSION, 4)),
    "gap": (lambda **of: estimate_gap(PRIOR, CONFUSION, 4, **of), gap(PRIOR, CONFUSION, 4)),
    "prior ties": (
        lambda **of: estimate_accuracy(PRIOR, CONFUSION, 4, ties="prior", **of),
        majority_accuracy(PRIOR, CONFUSION, 4, "prior"),
    ),
    "untied": (
        lambda **of: estimate_gap(PRIOR, CONFUSION, 4, "exclude", **of),
        gap(PRIOR, CONFUSION, 4, "exclude"),
    ),
    "rare gap": (lambda **of: estimate_gap(*RARE, **of), gap(*RARE)),
    "rare majority": (lambda **of: estimate_accuracy(*RARE, **of), majority_accuracy(*RARE)),
    "crew majority": (lambda **of: estimate_panel_accuracy(PRIOR, CREW, **of), panel_accuracy(PRIOR, CREW)),
    "crew map": (lambda **of: estimate_panel_accuracy(PRIOR, CREW, "map", **of), panel_accuracy(PRIOR, CREW, "map")),
    "crew gap": (lambda **of: estimate_panel_gap(PRIOR, CREW, **of), panel_gap(PRIOR, CREW)),
}


@pytest.mark.parametrize("name", CASES)
def test_interval_misses_no_more_often_than_promised(name):
    estimate, exact = CASES[name]
    misses, rng = 0, np.random.default_rng(0)
    for _ in range(N_RUNS):
        _, low, high = estimate(rng=rng, n_draws=200, level=LEVEL)
        misses += not low <= exact <= high
    assert misses <= binom.ppf(0.999, N_RUNS, 1 - LEVEL)


@pytest.mark.parametrize("name", CASES)
def test_mean_is_unbiased_and_interval_narrows(name):
    estimate, exact = CASES[name]
    value, low, high = estimate(rng=1, n_draws=200_000)
    assert high - low < 0.005
    spread = np.std([estimate(rng=seed, n_draws=2_000).value for seed in range(50)])
    assert abs(value - exact) < 4 * spread / 10  # a hundred times the draws, a tenth of the spread


def test_same_seed_same_answer():
    first = estimate_accuracy(PRIOR, CONFUSION, 40, rng=7, n_draws=100)
    assert first == estimate_accuracy(PRIOR, CONFUSION, 40, rng=np.random.default_rng(7), n_draws=100)
    assert first != estimate_accuracy(PRIOR, CONFUSION, 40, rng=8, n_draws=100)
