"""Binomial probabilities and two-class log-odds that keep their digits up to millions of votes."""

from __future__ import annotations

from decimal import Context, Decimal
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from majorant.theory.checks import FloatArray, safe_log

DIRECT_BELOW = 64  # votes; with so few the plain formula is as exact, and faster
SERIES_RATIO = 0.1  # below it eight terms of the deviance series leave an error under 1e-17
SERIES_TERMS = 8
STIRLING_FROM = 16  # from here five terms of Stirling's series leave an error under 1e-15
RELATIVE_ERROR = 1e-11  # of a log-odds, before it is worked out in more digits
EPS = float(np.finfo(float).eps)
DIGITS = Context(prec=40)  # enough to leave 1e-20 nats after a million votes cancel


def log_binomial(n_votes: int, confusion_kl: FloatArray) -> FloatArray:
    """log P(h votes for class 0 | class k), (K, n_votes + 1) for h = 0..n_votes, from rows (hit, miss) that sum to 1.

    A difference of log-gamma functions loses 1e-9 nats at a million votes.  Writing each entry as a saddle point minus
    two deviances and small Stirling corrections (Loader 2000) leaves no large terms to cancel: an entry x is off by
    about 1e-13 + 1e-16 |x|.

    >>> np.exp(log_binomial(3, np.array([[.5, .5], [0, 1]]))).round(3).tolist()
    [[0.125, 0.375, 0.375, 0.125], [1.0, 0.0, 0.0, 0.0]]
    """
    if n_votes < DIRECT_BELOW:
        hits = np.arange(n_votes + 1.0)
        log_ways_h = gammaln(n_votes + 1) - gammaln(hits + 1) - gammaln(n_votes - hits + 1)
        return np.asarray(xlogy(hits, confusion_kl[:, :1]) + xlogy(n_votes - hits, confusion_kl[:, 1:]) + log_ways_h)
    log_kh = np.full((len(confusion_kl), n_votes + 1), -np.inf)
    log_kl = np.where(confusion_kl > 0.5, np.log1p(-np.minimum(confusion_kl[:, ::-1], 0.5)), safe_log(confusion_kl))
    log_kh[:, 0], log_kh[:, -1] = n_votes * log_kl[:, 1], n_votes * log_kl[:, 0]
    inner_k = (confusion_kl > 0).all(axis=1)
    hits = np.arange(1.0, n_votes)
    misses = hits[::-1]
    mean_kl = n_votes * confusion_kl[inner_k]
    error_h = _stirling_error(hits)
    ways_h = _stirling_error(np.array([float(n_votes)])) - error_h - error_h[::-1]
    ways_h -= 0.5 * np.log(2 * np.pi * hits * (misses / n_votes))
    log_kh[inner_k, 1:-1] = ways_h - _deviance(hits, mean_kl[:, :1]) - _deviance(misses, mean_kl[:, 1:])
    return log_kh


def log_odds(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int) -> FloatArray:
    """Log-odds of class 0 given h votes for it, h = 0..n_votes, each to eleven digits however near 0 it is.

    Worked out again in 40 digits where doubles would not do.  Certainty is +-inf; a count that neither class can give
    has log-odds 0.

    >>> log_odds(np.array([.6, .4]), np.array([[.6, .4], [.4, .6]]), 3).round(3).tolist()
    [-0.811, 0.0, 0.811, 1.622]
    """
    table = [[float(entry) for entry in row] for row in (*confusion_kl.T, prior_k)]
    per_hit, per_miss, none = (log(x) - log(y) if x and y else 0.0 for x, y in table)
    log_odds_h: FloatArray = none + n_votes * per_miss + np.arange(n_votes + 1.0) * (per_hit - per_miss)
    rounding = 8 * EPS * (n_votes + 1) * max(-log(entry) for row in table for entry in row if entry)
    if np.abs(log_odds_h).min() * RELATIVE_ERROR < rounding:
        log_odds_h = _decimal_log_odds(prior_k, confusion_kl, n_votes)
    never_0, never_1 = (_never(prior_k[k], confusion_kl[k], n_votes) for k in (0, 1))
    log_odds_h[never_0] = -np.inf
    log_odds_h[never_1] = np.inf
    log_odds_h[never_0 & never_1] = 0
    return log_odds_h


def _decimal_log_odds(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int) -> FloatArray:
    (hit_0, miss_0), (hit_1, miss_1) = ([Decimal(float(entry)) for entry in row] for row in confusion_kl)
    scale = DIGITS.divide(DIGITS.add(hit_1, miss_1), DIGITS.add(hit_0, miss_0))
    per_hit, per_miss = _log_ratio(hit_0, hit_1, scale), _log_ratio(miss_0, miss_1, scale)
    none = _log_ratio(Decimal(float(prior_k[0])), Decimal(float(prior_k[1])), Decimal(1))
    return _line(DIGITS.fma(per_miss, n_votes, none), DIGITS.subtract(per_hit, per_miss), n_votes)


def _never(prior: float, confusion_l: FloatArray, n_votes: int) -> NDArray[np.bool_]:
    """Which numbers of votes for class 0 a class cannot give."""
    never_h = np.full(n_votes + 1, prior == 0)
    never_h[1:] |= confusion_l[0] == 0
    never_h[:-1] |= confusion_l[1] == 0
    return never_h


def _log_ratio(numerator: Decimal, denominator: Decimal, scale: Decimal) -> Decimal:
    """log(scale numerator / denominator); 0 where either is 0, which the caller marks as certainty."""
    if not numerator or not denominator:
        return Decimal(0)
    return DIGITS.ln(DIGITS.divide(DIGITS.multiply(numerator, scale), denominator))


def _line(start: Decimal, step: Decimal, n_votes: int) -> FloatArray:
    """start + h step for h = 0..n_votes, rounded once.

    Both are cut into a part on a coarse binary grid, whose sums are exact, and a small rest.
    """
    hits = np.arange(n_votes + 1.0)
    largest = max(abs(float(start)), abs(float(step)) * n_votes)
    if largest == 0:
        return np.zeros(n_votes + 1)
    grid = 2.0 ** (np.ceil(np.log2(largest)) - 50)
    coarse = [float(np.round(float(part) / grid) * grid) for part in (start, step)]
    fine = [float(DIGITS.subtract(part, Decimal(big))) for part, big in zip((start, step), coarse, strict=True)]
    return np.asarray((coarse[0] + hits * coarse[1]) + (fine[0] + hits * fine[1]))


def _stirling_error(count: FloatArray) -> FloatArray:
    """log n! minus Stirling's approximation, for n >= 1."""
    error = np.empty_like(count)
    small = count < STIRLING_FROM
    n = count[small]
    error[small] = gammaln(n + 1) - (n + 0.5) * np.log(n) + n - 0.5 * np.log(2 * np.pi)
    n = count[~small]
    square = n * n
    error[~small] = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n
    return error


def _deviance(count: FloatArray, mean: FloatArray) -> FloatArray:
    """count log(count / mean) + mean - count for count >= 1, by a series where these nearly cancel."""
    distance = count - mean
    ratio = distance / (count + mean)
    near = np.abs(ratio) < SERIES_RATIO
    far = ~near
    count, mean = np.broadcast_to(count, near.shape), np.broadcast_to(mean, near.shape)
    deviance = np.empty(near.shape)
    deviance[far] = count[far] * np.log(count[far] / mean[far]) - distance[far]
    ratio, square = ratio[near], ratio[near] ** 2
    tail = np.zeros_like(square)
    for term in range(SERIES_TERMS, 0, -1):
        tail = (tail + 1 / (2 * term + 1)) * square
    deviance[near] = ratio * (distance[near] + 2 * count[near] * tail)
    return deviance
