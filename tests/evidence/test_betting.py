"""Betting without replacement, checked over all orders of small populations and by simulation."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.evidence.betting import SHARES_F, bounds, evidence_above, log_capital

HALVES = st.sampled_from([0.0, 0.5, 1.0])


def capital_by_definition(y, n, mean):
    """K+ after each draw in exact fractions; None once the candidate is impossible."""
    shares = [Fraction(2 * k + 1, 16) for k in range(8)]
    total, capital_f, path = Fraction(0), [Fraction(1)] * 8, []
    for t, value in enumerate(y):
        left = (n * Fraction(mean) - total) / (n - t)
        total += Fraction(value)
        if total > n * Fraction(mean):
            return path + [None] * (len(y) - t)
        price = Fraction(value) / left if value else Fraction(0)
        capital_f = [capital * (1 - f + f * price) for capital, f in zip(capital_f, shares, strict=True)]
        path.append(sum(capital_f) / 8)
    return path


@given(y=st.lists(HALVES, min_size=1, max_size=8), more=st.integers(0, 8), quarters=st.integers(0, 64))
def test_capital_matches_its_definition(y, more, quarters):
    n, mean = len(y) + more, quarters / 64
    for got, expected in zip(log_capital(y, n, mean), capital_by_definition(y, n, mean), strict=True):
        assert got == (np.inf if expected is None else pytest.approx(np.log(float(expected)), abs=1e-9))


POPULATIONS = (
    [0, 1, 1, 0.5, 0, 1],
    [1, 1, 1, 0, 1, 1],
    [0, 0, 0, 1, 0, 0],
    [0.5, 0.5, 1, 0, 0.5, 0],
    [0, 1, 0, 1, 0, 1],
)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("side", ["above", "below"])
def test_over_all_orders_the_capital_is_fair_and_rarely_large(population, side):
    y_bt = np.array(list(permutations(population)), dtype=float)
    y_bt = y_bt if side == "above" else 1 - y_bt
    capital_bt = np.exp(log_capital(y_bt, 6, y_bt[0].mean()))
    assert (capital_bt.mean(axis=0) <= 1 + 1e-9).all()
    certain_bt = (np.cumsum(y_bt, axis=1) - y_bt) >= y_bt.sum(axis=1, keepdims=True)  # nothing is left to win
    fair_t = ~certain_bt.any(axis=0)
    assert capital_bt.mean(axis=0)[fair_t] == pytest.approx(1, abs=1e-9)
    for alpha in (0.5, 0.3, 0.2, 0.1, 0.05):
        assert (capital_bt.max(axis=1) >= 1 / alpha).mean() <= alpha
    misses = [
        not low - 1e-9 <= y_t.mean() <= high + 1e-9 for y_t in y_bt[::7] for low, high in [bounds(y_t[:4], 6, 0.1, 0.1)]
    ]
    assert np.mean(misses) <= 0.2


@settings(max_examples=40)
@given(y=st.lists(HALVES, min_size=1, max_size=12), more=st.integers(0, 12), at=st.floats(0, 1), step=st.floats(0, 1))
def test_capital_falls_in_the_candidate_and_rises_in_every_draw(y, more, at, step):
    n = len(y) + more
    assert evidence_above(y, n, min(at + step, 1)) <= evidence_above(y, n, at) + 1e-9
    for t in range(len(y)):
        lower = [*y[:t], 0.0, *y[t + 1 :]]
        assert (log_capital(lower, n, at) <= log_capital(y, n, at) + 1e-9).all()


@settings(max_examples=40)
@given(y=st.lists(HALVES, min_size=1, max_size=30), more=st.integers(1, 30), alpha=st.sampled_from([0.3, 0.05, 0.01]))
def test_bounds_are_where_refutation_stops(y, more, alpha):
    n, y = len(y) + more, np.array(y)
    low, high = bounds(y, n, alpha, alpha)
    for bound, y_t in ((low, y), (1 - high, 1 - y)):
        if bound > y_t.sum() / n + 1e-9:
            assert evidence_above(y_t, n, bound - 1e-9) >= -np.log(alpha)
        assert bound >= (y_t.sum() + more) / n - 1e-9 or evidence_above(y_t, n, bound + 1e-6) < -np.log(alpha)


@given(y=st.lists(HALVES | st.none(), min_size=1, max_size=20))
def test_complete_sample_is_exact_up_to_unknown_labels(y):
    known = [value for value in y if value is not None]
    low, high = bounds(y, len(y), 0.05, 0.05)
    assert low == pytest.approx(sum(known) / len(y))
    assert high == pytest.approx((sum(known) + len(y) - len(known)) / len(y))


@settings(max_examples=40)
@given(y=st.lists(HALVES, min_size=2, max_size=20), more=st.integers(0, 20), data=st.data())
def test_unknown_draws_never_narrow_the_bounds(y, more, data):
    n, at = len(y) + more, data.draw(st.integers(0, len(y) - 1))
    low, high = bounds([*y[:at], np.nan, *y[at + 1 :]], n, 0.05, 0.05)
    known_low, known_high = bounds(y, n, 0.05, 0.05)
    assert low <= known_low + 1e-9
    assert high >= known_high - 1e-9


def test_bounds_are_trivial_before_the_first_draw():
    assert bounds([], 7, 0.05, 0.05) == (0.0, 1.0)
    assert evidence_above([], 7, [0.2, 0.5]).tolist() == [0, 0]
    assert len(SHARES_F) == 8


def ever_refuted(population, runs, alpha, rng, chunk=500):
    """Share of random orders in which the true mean is refuted from above at some draw."""
    y_t = np.asarray(population, dtype=float)
    refuted = 0
    for start in range(0, runs, chunk):
        y_bt = rng.permuted(np.tile(y_t, (min(chunk, runs - start), 1)), axis=1)
        refuted += int((evidence_above(y_bt, len(y_t), y_t.mean()) >= -np.log(alpha)).sum())
    return refuted / runs


EDGES = {
    "even": [0] * 60 + [1] * 60,
    "mostly neither": [0] * 8 + [1] * 8 + [0.5] * 90,
    "a few losses": [0] * 6 + [1] * 100,
    "few wins": [0] * 100 + [1] * 6,
    "tiny": [0, 0, 0, 1, 1, 1, 1],
}


@pytest.mark.parametrize("name", EDGES)
def test_the_true_mean_is_refuted_no_more_often_than_promised(name):
    rate, alpha = ever_refuted(EDGES[name], 2000, 0.05, np.random.default_rng(1)), 0.05
    assert rate <= alpha + 2 * np.sqrt(alpha * (1 - alpha) / 2000)


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.025, 0.05, 0.2])
@pytest.mark.parametrize("name", EDGES)
def test_the_level_in_many_runs(name, alpha):
    rate = ever_refuted(EDGES[name], 20_000, alpha, np.random.default_rng(2))
    assert rate <= alpha + 2 * np.sqrt(alpha * (1 - alpha) / 20_000)
