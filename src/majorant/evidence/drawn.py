"""The mean of N numbers in [0, 1] drawn one by one with unequal, recorded chances.

Draw t picks item i out of those left with chance p_t(i), which may depend on everything seen before.  Given the past,
y / p has the mean R_t, the sum of the numbers that are left.  So Des Raj's

    z_t = (sum of the earlier y) + y_t / p_t

has the mean N m at every draw, and the average of the z_t estimates it without bias.  With a control c_i that is known
for all items, the estimate is made for y - c and the sum of c is added, which removes the noise that c explains.

Betting bounds the mean at every draw at once, as in `betting`, whose prices these are if all chances are equal:

    the mean is above m:   price  y / (p_t R_t)
    the mean is below m:   price  (1 - q_t y / p_t) / (1 - q_t R_t)       q_t: the smallest chance of an item at draw t

Each price has the mean 1 if m is the mean, is never negative, and moves with y and m as it does there, so unknown draws
may count as the worst case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.evidence.betting import SHARES_F, SMALL_BETS_F, bounds, log_mixture
from majorant.values import Estimate, FloatArray


class Chances(NamedTuple):
    """The chance of each item that was drawn, and the smallest chance that an item had at that draw."""

    drawn_t: FloatArray
    least_t: FloatArray


class Measured(NamedTuple):
    """The accuracy of a rule or judge, and the width that its interval would have with as many random labels."""

    name: str
    accuracy: Estimate
    width_at_random: float


def drawn_mean(y_t: FloatArray, control_t: FloatArray, control_mean: float, chances: Chances, n_items: int) -> float:
    """Estimate the mean of y without bias; a draw without an answer (NaN) counts as its control.

    >>> chances = Chances(np.array([.5, .5]), np.array([.25, .25]))
    >>> drawn_mean(np.array([1., 0.]), np.array([.8, .6]), .7, chances, 4)
    0.625
    """
    excess_t = np.where(np.isnan(y_t), 0.0, y_t - control_t)
    before_t = np.cumsum(excess_t) - excess_t
    return float(control_mean + (before_t + excess_t / chances.drawn_t).mean() / n_items)


def drawn_bounds(y_t: FloatArray, chances: Chances, n_items: int, alpha_low: float, alpha_high: float) -> FloatArray:
    """Bounds of the mean, each of which ever fails with at most the probability alpha.

    >>> drawn_bounds(np.ones(4), Chances(1 / np.arange(4, 0, -1.), 1 / np.arange(4, 0, -1.)), 4, .025, .025).tolist()
    [1.0, 1.0]
    """
    unknown = np.isnan(y_t)
    low = _last_refuted(np.where(unknown, 0.0, y_t), chances, n_items, alpha_low, above=True)
    high = _last_refuted(np.where(unknown, 1.0, y_t), chances, n_items, alpha_high, above=False)
    return np.array([low, high])


def _last_refuted(y_t: FloatArray, chances: Chances, n_items: int, alpha: float, *, above: bool) -> float:
    """The refuted candidate nearest to the mean, found by bisection."""
    possible_low, possible_high = y_t.sum() / n_items, (y_t.sum() + n_items - len(y_t)) / n_items
    refuted, open_end = (possible_low, possible_high) if above else (possible_high, possible_low)
    for _ in range(45):  # enough for double precision
        middle = (refuted + open_end) / 2
        if _evidence(y_t, chances, n_items, middle, above=above) >= -np.log(alpha):
            refuted = middle
        else:
            open_end = middle
    return float(refuted)


def _evidence(y_t: FloatArray, chances: Chances, n_items: int, mean: float, *, above: bool) -> float:
    """The largest log capital so far from betting that the mean is above (or below) a candidate."""
    left_t = np.maximum(n_items * mean - (np.cumsum(y_t) - y_t), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if above:
            price_t = y_t / (chances.drawn_t * left_t)
        else:
            price_t = (1 - chances.least_t * y_t / chances.drawn_t) / (1 - chances.least_t * left_t)
    price_t = np.where(np.isnan(price_t), 1.0, np.maximum(price_t, 0.0))  # 0 / 0: no other draw was possible
    log_ft = np.cumsum(np.log1p(SHARES_F[:, None] * (np.minimum(price_t, 1e300) - 1)), axis=1)
    return float(log_mixture(log_ft, SMALL_BETS_F).max(initial=0.0))


def accuracy_from_draws(
    right_t: FloatArray,
    control_t: FloatArray,
    control_mean: float,
    chances: Chances,
    n_items: int,
    *,
    level: float,
) -> Estimate:
    """The accuracy of labels from items drawn with unequal chances, with an interval that holds at every draw.

    The interval bounds the errors: they are most frequent where the chances are large, which makes it shorter.
    """
    tail = (1 - level) / 2
    value = float(np.clip(drawn_mean(right_t, control_t, control_mean, chances, n_items), 0.0, 1.0))
    low, high = 1 - drawn_bounds(1 - right_t, chances, n_items, tail, tail)[::-1]
    return Estimate(value, min(float(low), value), max(float(high), value))


def width_at_random(accuracy: float | None, n_labels: int, n_items: int, level: float) -> float:
    """The width of the interval that as many random labels would give.

    >>> round(width_at_random(.8, 30, 500, .95), 2)
    0.42
    """
    share, tail = 0.5 if accuracy is None else accuracy, (1 - level) / 2
    right_t = np.diff(np.floor(share * np.arange(n_labels + 1) + 0.5))  # right answers evenly spread
    low, high = bounds(right_t, n_items, tail, tail, SMALL_BETS_F)
    return high - low
