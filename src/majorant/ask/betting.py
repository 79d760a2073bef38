"""Bounds for the mean of n numbers in [0, 1] that are drawn one by one without replacement, at every draw at once.

The n numbers are fixed; the only randomness is their order, uniform over all orders.  If their mean is m then, after
draws of sum S, what is left has the mean m_t = (n m - S) / (n - t), so betting a share f of one's capital that the next
draw y is above it, at the fair price y / m_t, multiplies the capital by 1 - f + f y / m_t, on average by 1.  The mean
K+ of eight such capitals is a non-negative martingale from 1, and P(K+ ever reaches 1 / a) <= a (Ville).  K+ falls in m
and rises in every y, path by path: the candidates that it refutes lie below a bound, and a draw that is not known
counts as 0, whatever made it unknown.  K- bets on 1 - y against 1 - m.  Proofs: docs/theory/ask.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.values import FloatArray

SHARES_F: FloatArray = (np.arange(8) + 0.5) / 8  # of its capital that each of the eight bettors stakes
ROUNDING = 1e-9  # a sum counts as above a candidate's only beyond this, relative to the larger of it and 1


def log_capital(y: ArrayLike, n: ArrayLike, mean: ArrayLike, weight_f: FloatArray | None = None) -> FloatArray:
    """log K+ after each draw: the capital of betting that the mean of the n numbers is above `mean`.

    `y` (..., T) are the draws so far, in their order; `n` (...) and `mean` (...), the candidates, are of any shape that
    goes with the leading axes of `y`.  Infinite where the draws alone exceed n times the mean.  Nothing is assumed but
    a uniformly random order.  Against a mean below the candidate: `log_capital(1 - y, n, 1 - mean)`.  `weight_f` says
    how the capital is divided among the eight bettors, equally unless it is given; any fixed division is valid.

    >>> log_capital([1, 1, 1, 0], 10, .5).round(2).tolist()
    [0.41, 0.93, 1.64, 0.52]
    """
    return _mixture(_log_shares(np.asarray(y, dtype=float), np.asarray(n), np.asarray(mean, dtype=float)), weight_f)


def evidence_above(y: ArrayLike, n: ArrayLike, mean: ArrayLike, weight_f: FloatArray | None = None) -> FloatArray:
    """The largest log K+ so far, at least 0; at log(1 / a) "the mean is at most `mean`" is refuted at level a.

    A draw of 0 lowers every capital: rows of several lengths may be filled up with zeros, even beyond their n.
    """
    y_t = np.asarray(y, dtype=float)
    shape = np.broadcast_shapes(y_t.shape[:-1], np.shape(n), np.shape(mean))
    return np.max(log_capital(y_t, n, mean, weight_f), axis=-1, initial=0.0) if y_t.shape[-1] else np.zeros(shape)


def bounds(
    y: ArrayLike, n: int, alpha_low: float, alpha_high: float, weight_f: FloatArray | None = None
) -> tuple[float, float]:
    """A lower and an upper bound for the mean of n numbers; each fails, at any draw ever, with at most its alpha.

    `y` are the draws so far, in their order; NaN means that a draw is not known: 0 for the lower bound, 1 for the
    upper.  The bounds never leave what the draws make possible, so they meet in the mean once all n are drawn.

    >>> [round(end, 3) for end in bounds([1] * 12 + [0] * 2, 40, .025, .025)]
    [0.699, 0.95]
    >>> bounds([1, 0, .5], 3, .025, .025)
    (0.5, 0.5)
    """
    y_t = np.asarray(y, dtype=float)
    low = _lower(np.where(np.isnan(y_t), 0.0, y_t), n, alpha_low, weight_f)
    high = 1 - _lower(np.where(np.isnan(y_t), 0.0, 1 - y_t), n, alpha_high, weight_f)
    return low, high


def _lower(y_t: FloatArray, n: int, alpha: float, weight_f: FloatArray | None) -> float:
    """The largest candidate that is refuted from above, by bisection: refutation is monotone in the candidate."""
    total = float(y_t.sum())
    refuted, possible = total / n, (total + n - len(y_t)) / n
    if len(y_t) == n or evidence_above(y_t, n, refuted, weight_f) < -np.log(alpha):
        return refuted
    for _ in range(45):  # to the last digit of a float
        middle = (refuted + possible) / 2
        if evidence_above(y_t, n, middle, weight_f) >= -np.log(alpha):
            refuted = middle
        else:
            possible = middle
    return refuted


def _log_shares(y_t: FloatArray, n: NDArray[Any], mean: FloatArray) -> FloatArray:
    """(8, ..., T): log capital of each share after each draw, infinite once the draws exceed n times the mean."""
    total, steps = (n * mean)[..., None], y_t.shape[-1]
    sum_t = np.cumsum(y_t, axis=-1)
    before_t = sum_t - y_t
    left_mean_t = (total - before_t) / np.maximum(n[..., None] - np.arange(steps), 1)
    # Where nothing can be left, y = 0 is certain; a y above 0 makes the candidate impossible, which is marked below.
    y_t, left_mean_t = np.broadcast_arrays(y_t, left_mean_t)
    with np.errstate(over="ignore"):  # almost nothing is left: any draw above 0 wins without bound
        price_t = np.divide(y_t, left_mean_t, out=np.zeros(left_mean_t.shape), where=(y_t > 0) & (left_mean_t > 0))
    share = SHARES_F.reshape(-1, *[1] * price_t.ndim)
    log_ft = np.cumsum(np.log1p(share * (price_t - 1)), axis=-1)
    impossible_t = sum_t > total + ROUNDING * np.maximum(total, 1)
    return np.where(impossible_t, np.inf, log_ft)


def _mixture(log_ft: FloatArray, weight_f: FloatArray | None) -> FloatArray:
    """log of the mean over the shares."""
    if weight_f is not None:
        log_ft = log_ft + np.log(len(weight_f) * weight_f).reshape(-1, *[1] * (log_ft.ndim - 1))
    top_t = log_ft.max(axis=0)
    safe_t = np.where(np.isfinite(top_t), top_t, 0.0)
    with np.errstate(over="ignore"):
        mixture_t: FloatArray = safe_t + np.log(np.exp(log_ft - safe_t).mean(axis=0))
    return mixture_t
