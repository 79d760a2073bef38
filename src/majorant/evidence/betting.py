"""Bounds on the mean of n numbers in [0, 1] drawn one by one without replacement, valid at every draw at once.

The n numbers are fixed; the only randomness is their order, uniform over all orders.  If their mean is m then, after
t draws with sum S, the remaining numbers have mean m_t = (n m - S) / (n - t).  Betting a share f of the capital that
the next draw y exceeds it, at the fair price y / m_t, multiplies the capital by 1 - f + f y / m_t, which is 1 on
average.  The mean K+ of eight such capitals is a non-negative martingale that starts at 1, so P(K+ ever reaches 1 / a)
<= a (Ville).  On every path K+ decreases in m and increases in every y.  So the candidates that it refutes are those
below a bound, and an unknown draw can count as 0, no matter why it is unknown.  K- bets on 1 - y against
1 - m.  Proofs: docs/theory/ask.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.values import FloatArray

SHARES_F: FloatArray = (np.arange(8) + 0.5) / 8  # the share of its capital that each of the eight bettors stakes

SMALL_BETS_F: FloatArray = np.exp(-3 * SHARES_F)  # most capital on small bets: for accuracies, which are rarely near .5
SMALL_BETS_F /= SMALL_BETS_F.sum()


def log_capital(y: ArrayLike, n: ArrayLike, mean: ArrayLike, weight_f: FloatArray | None = None) -> FloatArray:
    """Log K+ after each draw: the log capital from betting that the mean of the n numbers is above `mean`.

    `y` (..., T) holds the draws so far, in order; `n` (...) and the candidates `mean` (...) broadcast with the leading
    axes of `y`.  The result is infinite where the draws alone exceed n times the mean.  The only assumption is a
    uniformly random order.  To bet that the mean is below the candidate, use `log_capital(1 - y, n, 1 - mean)`.
    `weight_f` divides the capital among the eight bettors, by default equally; any fixed division is valid.

    >>> log_capital([1, 1, 1, 0], 10, .5).round(2).tolist()
    [0.41, 0.93, 1.64, 0.52]
    """
    return log_mixture(_log_shares(np.asarray(y, dtype=float), np.asarray(n), np.asarray(mean, dtype=float)), weight_f)


def evidence_above(y: ArrayLike, n: ArrayLike, mean: ArrayLike, weight_f: FloatArray | None = None) -> FloatArray:
    """The largest log K+ so far, at least 0; from log(1 / a) on, "the mean is at most `mean`" is refuted at level a.

    A draw of 0 lowers every capital, so rows of different lengths may be padded with zeros, even beyond their n.
    """
    y_t = np.asarray(y, dtype=float)
    shape = np.broadcast_shapes(y_t.shape[:-1], np.shape(n), np.shape(mean))
    return np.max(log_capital(y_t, n, mean, weight_f), axis=-1, initial=0.0) if y_t.shape[-1] else np.zeros(shape)


def bounds(
    y: ArrayLike, n: int, alpha_low: float, alpha_high: float, weight_f: FloatArray | None = None
) -> tuple[float, float]:
    """Lower and upper bounds on the mean of n numbers; the probability that each ever fails is at most its alpha.

    `y` holds the draws so far, in order.  An unknown draw (NaN) counts as 0 for the lower bound and as 1 for the upper
    bound.  The bounds stay within what the draws leave possible, so both equal the mean once all n are drawn.

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
    """The largest refuted candidate, found by bisection: every candidate below a refuted one is refuted too."""
    total = float(y_t.sum())
    refuted, possible = total / n, (total + n - len(y_t)) / n
    if len(y_t) == n or evidence_above(y_t, n, refuted, weight_f) < -np.log(alpha):
        return refuted
    for _ in range(45):  # enough for double precision
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
    # Where the remaining mean is 0, only y = 0 is possible; a larger y rules the candidate out, as marked below.
    y_t, left_mean_t = np.broadcast_arrays(y_t, left_mean_t)
    with np.errstate(over="ignore"):  # the remaining mean is almost 0, so the price of any draw above 0 is huge
        price_t = np.divide(y_t, left_mean_t, out=np.zeros(left_mean_t.shape), where=(y_t > 0) & (left_mean_t > 0))
    share = SHARES_F.reshape(-1, *[1] * price_t.ndim)
    log_ft = np.cumsum(np.log1p(share * (price_t - 1)), axis=-1)
    impossible_t = sum_t > total + 1e-9 * np.maximum(total, 1)  # beyond rounding error
    return np.where(impossible_t, np.inf, log_ft)


def log_mixture(log_ft: FloatArray, weight_f: FloatArray | None = None) -> FloatArray:
    """Log of the (weighted) mean capital of the eight bettors."""
    if weight_f is not None:
        log_ft = log_ft + np.log(len(weight_f) * weight_f).reshape(-1, *[1] * (log_ft.ndim - 1))
    top_t = log_ft.max(axis=0)
    safe_t = np.where(np.isfinite(top_t), top_t, 0.0)
    with np.errstate(over="ignore"):
        mixture_t: FloatArray = safe_t + np.log(np.exp(log_ft - safe_t).mean(axis=0))
    return mixture_t
