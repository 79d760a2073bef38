"""Suprema of the likelihood against searches that share no code with them."""

from math import exp, log

import numpy as np
import pytest
from scipy.optimize import differential_evolution

from majorant.evidence.certificate.count_models import (
    climb,
    flatten,
    log_cells,
    log_likelihood,
    log_odds,
    sides,
    suprema,
    theta_derivatives,
)
from oracles.histograms import Crowd


def plain_log_likelihood(histograms, a, r, nu):
    """As one would write it down, without the orders of votes."""
    return sum(
        n * log(nu * a**k * (1 - a) ** (h - k) + (1 - nu) * r**k * (1 - r) ** (h - k))
        for h, row in histograms.items()
        for k, n in enumerate(row)
        if n
    )


def brute_supremum(histograms, votes=0, zeros=0, sign=0):
    """A global search that knows the null only as a condition on (a, r, nu)."""

    def cost(point):
        a, r, nu = 1 / (1 + np.exp(-point))
        if a < r:
            return 1e9
        odds = log(nu / (1 - nu)) + zeros * log(a / r) + (votes - zeros) * log((1 - a) / (1 - r))
        if sign * odds < 0:  # onto the boundary, which is where a supremum outside lies
            nu = 1 / (1 + exp(odds - log(nu / (1 - nu))))
        return -plain_log_likelihood(histograms, a, r, min(max(nu, 1e-12), 1 - 1e-12))

    return -differential_evolution(cost, [(-7, 7)] * 3, seed=1, maxiter=200, tol=1e-10, popsize=12).fun


CASES = {
    "even": {3: [260, 240, 240, 260]},
    "asymmetric": {5: [30, 50, 200, 200, 200, 100]},
    "mixed": {2: [20, 30, 60], 4: [5, 6, 9, 30, 40]},
    "nearly one class": {3: [1, 1, 13, 15], 2: [4, 15, 11]},
    "no mixture at all": {7: [10, 0, 60, 0, 5, 60, 0, 10]},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if n > 1 else []) for n, name in enumerate(CASES)]
)
def test_suprema_match_brute_force_search(name):
    histograms = CASES[name]
    h = max(histograms)
    rows = [(0, 0, 0), (h, h // 2 + 1, -1), (h, h - h // 2 - 1, 1), (h, h, -1)]
    cells, items_c = flatten(histograms)
    value, theta = suprema(cells, items_c[None], sides(rows))
    for s, row in enumerate(rows):
        brute = brute_supremum(histograms, *row)
        assert value[0, s] >= brute - 1e-4
        a, r, nu = 1 / (1 + np.exp(-theta[0, s]))
        if max(abs(theta[0, s])) < 30:  # the value is attained, by a model within the side
            assert plain_log_likelihood(histograms, a, r, nu) == pytest.approx(value[0, s], abs=1e-6)
        assert row[2] * log_odds(theta[0, s], row[0], row[1]) >= -1e-6


def test_random_restarts_find_no_higher_likelihood():
    rng = np.random.default_rng(3)
    for _ in range(8):
        crowd = Crowd("", rng.uniform(0.02, 0.98), rng.uniform(0.5, 0.99), rng.uniform(0.01, 0.5), {4: 300, 5: 3000})
        cells, items_c = flatten({h: table[0] for h, table in crowd.draw(1, rng).items()})
        asked = sides([(0, 0, 0), (5, 3, -1), (4, 1, 1)])
        value, _ = suprema(cells, items_c[None], asked)
        start = np.stack([rng.normal(1, 3, 200), rng.normal(-1, 3, 200), rng.normal(0, 3, 200)], axis=1)
        start[:, :2] = np.sort(start[:, :2])[:, ::-1]
        for s in range(3):
            _, found = climb(cells, np.tile(items_c, (200, 1)), asked.take(np.full(200, s)), start)
            assert found.max() <= value[0, s] + 1e-6


def test_unanimous_data_lie_close_to_models_in_which_majority_is_not_optimal():
    """A tight clip of the logits would certify patterns that never occurred."""
    cells, items_c = flatten({3: [2500, 0, 0, 2500]})
    value, _ = suprema(cells, items_c[None], sides([(0, 0, 0), (3, 2, -1)]))
    assert value[0, 0] - value[0, 1] < 1e-3
    top = 5000 * log(0.5)
    for logit_a, short in ((9, 84), (14, 6.8), (20, 0.34), (28, 0.006)):
        best = top - _on_boundary(logit_a, np.linspace(-logit_a, 0, 4001)).max()
        assert best == pytest.approx(short, rel=0.05)


def _on_boundary(x, y):
    """Log-likelihood of 2500 items with no and 2500 with three votes for class 0 where two votes are an even bet."""
    theta = np.stack([np.full_like(y, x), y, np.zeros_like(y)], axis=1)
    theta[:, 2] = -log_odds(theta, 3, 2)
    cells, items_c = flatten({3: [2500, 0, 0, 2500]})
    return log_likelihood(cells, items_c, theta)


def test_derivatives_match_finite_differences():
    cells, items_c = flatten({3: [5, 2, 4, 9], 6: [1, 0, 2, 8, 4, 3, 2]})
    theta = np.array([0.9, -1.3, 0.4])
    slope, bend = theta_derivatives(cells, items_c[None], theta[None])
    step = 1e-5 * np.eye(3)

    def value(at):
        return float(log_likelihood(cells, items_c, at))

    assert slope[0] == pytest.approx([(value(theta + e) - value(theta - e)) / 2e-5 for e in step], rel=1e-6)
    slopes = [
        (theta_derivatives(cells, items_c[None], (theta + e)[None])[0] - slope)[0] / 1e-5 for e in step
    ]  # one-sided: good to five digits
    assert bend[0] == pytest.approx(np.array(slopes), rel=1e-3, abs=1e-3)


def test_cells_sum_to_one_and_stay_finite_at_the_ends_of_the_scale():
    cells, _ = flatten({7: np.zeros(8)})
    for theta in ([1.0, -2.0, 0.3], [38.0, -38.0, 25.0], [700.0, -700.0, -700.0], [0.0, 0.0, 0.0]):
        log_c = log_cells(cells, np.array(theta)) + cells.log_orders_c
        assert np.exp(log_c).sum() == pytest.approx(1, abs=1e-12)
        assert not np.isnan(log_c).any()
