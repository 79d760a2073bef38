"""Bounds on the mean of n units from labels in random order, with the help of a predictor, valid at every label.

The units (items, or questions that two systems answered) have fixed values y in a known range; only the order in which
they are labelled is random.  Before each label, the votes and the labels so far give a prediction f for every unit.  If
the mean is m, then after t labels with sum S

    E[y - f] = (n m - S - sum of f over the rest) / (n - t)

for the next unit, whatever f is.  So a bet on y - f at that price is fair, and the capital K(m) of a bettor who never
risks more than they have is a nonnegative martingale that starts at 1.  Every m for which the capital ever reaches 1/a
is refuted; the true mean is refuted with probability at most a (Ville).  A poor predictor widens the interval but never
makes it wrong.

The bettor has one account per horizon (30, 45, 65, 100, ... labels).  Each account bets as if it hedged an option that
pays the goal if the residuals end above a boundary at its horizon.  All bets keep the capital monotone in m, so the
bound can be found by bisection.
Proofs: docs/theory/rate.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.values import FloatArray, lock

IntArray = NDArray[np.integer[Any]]

INTERCEPT_PENALTY = 0.5  # strength of the prior on the mean, in labels


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Features:
    """Features of each unit for a linear predictor, with the prior of its coefficients."""

    value_id: FloatArray
    prior_d: FloatArray
    penalty_d: FloatArray

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of(
        cls, prediction_ip: ArrayLike, judge_ij: ArrayLike | None = None, slice_i: ArrayLike | None = None
    ) -> Features:
        """Features from the panel's predictions in [0, 1], the judges' votes (NaN: none) and the slice of each item.

        >>> Features.of([[.2], [.8]]).value_id.round(1).tolist()
        [[1.0, -0.3], [1.0, 0.3]]
        """
        prior_slope = 0.5  # of the panel's own predictions, before any label
        prediction = np.asarray(prediction_ip, dtype=float)
        n, n_predictions = prediction.shape
        judge = np.empty((n, 0)) if judge_ij is None else _centred(np.asarray(judge_ij, dtype=float))
        slices = np.empty((n, 0))
        if slice_i is not None:
            code_i = np.asarray(slice_i, dtype=np.int64)
            slices = _centred((code_i[:, None] == np.arange(code_i.max(initial=0) + 1)).astype(float))
        start = prior_slope * float(prediction.mean()) + (1 - prior_slope) * 0.5 if prediction.size else 0.5
        widths = (1, n_predictions, slices.shape[1], judge.shape[1])
        return cls(
            value_id=np.hstack([np.ones((n, 1)), _centred(prediction), slices, judge]),
            prior_d=np.repeat([start, prior_slope / max(n_predictions, 1), 0.0, 0.0], widths),
            penalty_d=np.repeat([INTERCEPT_PENALTY, 1.5, 4.0, 15.0], widths),  # in labels, for every data set
        )

    def learn(self, item_t: ArrayLike, y_t: ArrayLike) -> FloatArray:
        """Coefficients of a ridge regression before the first label and after each, (T + 1, d); NaN labels are ignored.

        After a few hundred labels they are updated less often.
        """
        item, y = np.asarray(item_t, dtype=np.int64), np.asarray(y_t, dtype=float)
        known_t = ~np.isnan(y)
        row_nd, y_n = self.value_id[item[known_t]], y[known_t]
        refits, due = [], 1
        while due <= len(y_n):
            refits.append(due)
            due = max(due + 1, int(np.ceil(1.02 * due - 5)))
        gram, moment, learned = np.diag(self.penalty_d), self.penalty_d * self.prior_d, [self.prior_d[None]]
        for start in range(0, len(y_n), 256):
            row, y_of = row_nd[start : start + 256], y_n[start : start + 256]
            gram_n = gram + np.cumsum(row[:, :, None] * row[:, None, :], axis=0)
            moment_n = moment + np.cumsum(row * y_of[:, None], axis=0)
            due_n = [due - start - 1 for due in refits if start < due <= start + 256]
            learned.append(np.linalg.solve(gram_n[due_n], moment_n[due_n][..., None])[..., 0])
            gram, moment = gram_n[-1], moment_n[-1]
        last_fit_t = np.searchsorted(refits, np.cumsum([0, *known_t]), side="right")
        return np.asarray(np.concatenate(learned)[last_fit_t])

    def predict(self, coefficient_d: FloatArray) -> FloatArray:
        """The prediction of each unit, within [0, 1]."""
        return np.clip(self.value_id @ coefficient_d, 0.0, 1.0)


def _centred(column_ip: FloatArray) -> FloatArray:
    """Centered columns, with 0 for missing values."""
    known = ~np.isnan(column_ip)
    mean_p = np.where(known, column_ip, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, column_ip - mean_p, 0.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bets:
    """One bet per label: its outcome, and what was known before it.

    A missing label (NaN) counts as the lowest possible value for the lower bound and as the highest for the upper
    bound, so some arrays have two rows.
    """

    n: int  # number of units
    drawn: int  # number of labelled units; only the first few thousand are bet on
    residual_st: FloatArray  # y - f
    known_st: FloatArray  # sum of the labels so far, and of f over the rest, before each label
    low_t: FloatArray  # the range of the residual
    high_t: FloatArray
    variance_t: FloatArray  # estimated before each label
    total: tuple[float, float]  # the range of the sum of all n values
    estimate: float | None  # of the mean
    spread: float  # standard deviation of the residuals, for planning

    def __post_init__(self) -> None:
        lock(self)

    @property
    def labels(self) -> int:
        """The number of labels that are bet on."""
        return len(self.low_t)


def offer_bets(
    value_ti: Iterable[FloatArray] | None,
    unit_t: ArrayLike,
    y_t: ArrayLike,
    *,
    n: int,
    low_i: ArrayLike = 0.0,
    high_i: ArrayLike = 1.0,
) -> Bets:
    """Prepare the bets from the predictions of all n units before each label.

    Parameters
    ----------
    value_ti : iterable of T + 1 arrays (n,), or None
        Predictions of all units before each label and after the last; the same object as long as nothing changes.  If
        None, the mean of the labels so far is predicted.
    unit_t : array (T,)
        The units in the order of labelling: the beginning of a uniformly random order of all n.
    y_t : array (T,)
        Their values; NaN if unknown.
    n : int
        The number of units.
    low_i, high_i : float or array (n,)
        The range of the values of each unit.

    Returns
    -------
    Bets
    """
    unit, y = np.asarray(unit_t, dtype=np.int64), np.asarray(y_t, dtype=float)
    # If all values are known there is nothing to bet on; after 5,000 labels, the interval is a point wide.
    n_labels = 0 if len(unit) == n else min(len(unit), 5_000)
    least_i, most_i = (np.broadcast_to(np.asarray(end, dtype=float), n) for end in (low_i, high_i))
    y_st = np.where(np.isnan(y), [least_i[unit], most_i[unit]], y)
    residual_st, known_st = np.zeros((2, n_labels)), np.zeros((2, n_labels))
    low_t, high_t = np.zeros(n_labels), np.zeros(n_labels)
    rest = np.ones(n, dtype=bool)
    total_s, predicted, prediction_i = np.zeros(2), 0.0, None
    predictions = iter(_means(unit, y, (least_i + most_i) / 2) if value_ti is None else value_ti)
    for t in range(n_labels):
        fresh_i = next(predictions)
        if fresh_i is not prediction_i:
            prediction_i = fresh_i
            left = prediction_i[rest]
            predicted, low, high = float(left.sum()), (least_i[rest] - left).min(), (most_i[rest] - left).max()
        low_t[t], high_t[t] = low, high  # over the units left at the last fit, which include those left now
        residual_st[:, t] = y_st[:, t] - prediction_i[unit[t]]
        known_st[:, t] = total_s + predicted
        total_s, predicted = total_s + y_st[:, t], predicted - float(prediction_i[unit[t]])
        rest[unit[t]] = False
    total_s += y_st[:, n_labels:].sum(axis=1)
    rest[unit[n_labels:]] = False
    prediction_i = next(predictions)
    is_known_t = ~np.isnan(y)
    scale = float((most_i - least_i).max(initial=0.0)) ** 2
    square_t = np.where(is_known_t[:n_labels], residual_st[0], 0.0) ** 2
    prior, weight = 0.15 * scale, 4.0  # prior variance, and its weight in labels
    weight_t = weight + np.concatenate([[0.0], np.cumsum(is_known_t[:n_labels])])
    variance_t = (weight * prior + np.concatenate([[0.0], np.cumsum(square_t)])) / weight_t
    variance_t = np.maximum(variance_t, 0.002 * scale)
    return Bets(
        n=n,
        drawn=len(unit),
        residual_st=residual_st,
        known_st=known_st,
        low_t=low_t,
        high_t=high_t,
        variance_t=variance_t[:-1],
        total=(float(total_s[0] + least_i[rest].sum()), float(total_s[1] + most_i[rest].sum())),
        estimate=_estimate(prediction_i, unit[is_known_t], y[is_known_t], n) if is_known_t.any() else None,
        spread=float(np.sqrt(variance_t[-1])),
    )


def _means(unit_t: IntArray, y_t: FloatArray, middle_i: FloatArray) -> Iterator[FloatArray]:
    """Predictions without a predictor: the middle of each range, shifted by the mean deviation of the labels so far."""
    deviation, n_known = 0.0, 0.0
    yield middle_i
    for unit, y in zip(unit_t, y_t, strict=True):
        if not np.isnan(y):
            deviation, n_known = deviation + y - middle_i[unit], n_known + 1
        yield middle_i + deviation / (n_known + INTERCEPT_PENALTY)


def _estimate(prediction_i: FloatArray, unit_t: IntArray, y_t: FloatArray, n: int) -> float:
    """The mean of the labels and of the predictions for the rest, corrected by their mean error on the labels."""
    error = float((y_t - prediction_i[unit_t]).mean())
    rest = float(prediction_i.sum() - prediction_i[unit_t].sum()) + (n - len(y_t)) * error
    return (float(y_t.sum()) + rest) / n


def bounds(bets: Bets, alpha: float, *, whole: bool = False) -> tuple[float, float]:
    """A lower and an upper bound on the mean of all n values; each fails at any label with probability at most `alpha`.

    They stay within what the labels leave possible, so they equal the mean once every unit is labelled.  With `whole`,
    the values are integers, and so is n times each bound.

    >>> y = np.array([1, 1, 0, 1, 1, 1, 1, 1, 0, 1] * 4, dtype=float)
    >>> [round(end, 2) for end in bounds(offer_bets(None, np.arange(40), y, n=400), .025)]
    [0.59, 0.94]
    >>> bounds(offer_bets(None, np.arange(3), [1, 0, .5], n=3), .025)
    (0.5, 0.5)
    """
    least, most = bets.total[0] / bets.n, bets.total[1] / bets.n
    low = _lower(bets, least, most, alpha, whole=whole)
    high = -_lower(mirrored(bets), -most, -least, alpha, whole=whole)
    return min(low, high), max(low, high)  # they can cross, but then one of them is wrong


def mirrored(bets: Bets) -> Bets:
    """The same bets on the negated values."""
    return replace(
        bets,
        residual_st=-bets.residual_st[::-1],
        known_st=-bets.known_st[::-1],
        low_t=-bets.high_t,
        high_t=-bets.low_t,
    )


def _lower(bets: Bets, least: float, most: float, alpha: float, *, whole: bool) -> float:
    """The largest refuted candidate; if one is refuted, so are all below it."""
    refuted, kept = least, most
    for _ in range(4 if most > least else 0):  # to 3e-6 of the range
        candidate_c = np.linspace(refuted, kept, 25)
        open_c = np.flatnonzero(evidence_above(bets, candidate_c, alpha) < -np.log(alpha))
        first = int(open_c[0]) if len(open_c) else len(candidate_c) - 1
        if first == 0:
            break
        refuted, kept = float(candidate_c[first - 1]), float(candidate_c[first])
    if whole and refuted > least:  # the sum is above what is refuted
        refuted = min(float(np.floor(refuted * bets.n + 1e-6) + 1) / bets.n, most)
    return refuted


def evidence_above(bets: Bets, mean: ArrayLike, alpha: float) -> FloatArray:
    """The largest log capital from betting that the mean is above each candidate; log(1 / alpha) refutes a candidate.

    The arrays of `bets` may have a last axis of the same length as `mean`, for simulations that follow many runs at
    once, each at its own true mean.
    """
    return reduce(np.maximum, log_capitals(bets, mean, alpha), np.zeros(np.shape(mean)))


def log_capitals(bets: Bets, mean: ArrayLike, alpha: float) -> Iterator[FloatArray]:
    """The log capital after each label, for each candidate mean; infinite once the labels make it impossible."""
    mean_c, n = np.asarray(mean, dtype=float), bets.n
    aim = float(-np.log(alpha)) + np.log(1.25)  # above the goal, or accounts would only approach it
    horizon_h, weight_h = horizons(n)
    log_hc = np.repeat(np.log(weight_h)[:, None], len(mean_c), axis=1)
    impossible_c = np.zeros(len(mean_c), dtype=bool)
    for t in range(bets.labels):
        price_c = (n * mean_c - bets.known_st[0, t]) / (n - t)
        gain_c = bets.residual_st[0, t] - price_c
        risk_c, chance_c = price_c - bets.low_t[t], bets.high_t[t] - price_c
        live = int(np.searchsorted(horizon_h, t, side="right"))  # accounts whose horizon is still ahead
        if live < len(horizon_h):
            speed = n / (n - t) / np.sqrt(bets.variance_t[t])
            time_h = np.sqrt(_clock(horizon_h[live:], n) - _clock(t, n))[:, None]
            log_hc[live:] += _bet(log_hc[live:] - aim, speed / time_h, gain_c, risk_c, chance_c)
            if horizon_h[live] == t + 1 and live + 1 < len(horizon_h):  # the expiring account passes its capital on
                log_hc[live + 1] = np.logaddexp(log_hc[live], log_hc[live + 1])
                log_hc[live] = -np.inf
        impossible_c |= risk_c < -1e-9 * (bets.high_t[t] - bets.low_t[t])  # no value is that low, beyond rounding
        yield np.where(impossible_c, np.inf, np.logaddexp.reduce(log_hc, axis=0))


def _bet(
    log_share: FloatArray, speed: FloatArray, gain: FloatArray, risk: FloatArray, chance: FloatArray
) -> FloatArray:
    """The growth in log capital from one bet: the hedge of an option with log price `log_share` relative to its payout.

    If x is the normal quantile of that share, the hedge is phi(x) / Phi(x) times `speed`.  It is limited so that no
    outcome can cost more than the account holds or win more than it aims for, which keeps the capital monotone.
    """
    from scipy.special import ndtri_exp

    most_staked = 0.99  # of an account
    least = 1e-6 * (risk + chance)  # at longer odds, rounding would dominate
    log_share = np.minimum(log_share, -1e-9)
    x = ndtri_exp(log_share)
    stake = np.exp(-x * x / 2 - np.log(2 * np.pi) / 2 - log_share) * speed
    stake = np.minimum(stake, np.expm1(np.minimum(-log_share, 600.0)) / np.maximum(chance, least))
    stake = np.minimum(stake, most_staked / np.maximum(risk, least))
    return np.asarray(np.log1p(np.maximum(stake * gain, -most_staked)))


def horizons(n: int) -> tuple[FloatArray, FloatArray]:
    """The horizon of each account in labels, and its initial capital.

    >>> [int(horizon) for horizon in horizons(150)[0]]
    [30, 45, 65, 100, 135]
    """
    near = {30: 2.0, 45: 1.5, 65: 2.0, 100: 6.0, 150: 2.0, 200: 3.0, 300: 1.5, 500: 1.0}
    far = {1000 * 2**k: 0.5 * 0.7**k for k in range(max(n // 1000, 1).bit_length())}
    weight = {horizon: weight for horizon, weight in (near | far).items() if horizon <= 0.75 * n}
    weight[max(round(0.9 * n), 1)] = 0.5  # for small files: nearly all units
    weight_h = np.array(list(weight.values()))
    return np.array(list(weight), dtype=float), weight_h / weight_h.sum()


def _clock(t: Any, n: int) -> Any:
    """The effective number of labels of t out of n drawn without replacement."""
    return t * n / np.maximum(n - t, 0.5)


def labels_for(half_width: float, *, spread: float, n: int, alpha: float, width: float = 1.0) -> int:
    """Approximate total number of labels for an interval of plus or minus `half_width`.

    Fitted to simulated and public panels (benchmarks/rates.py): half the width after k of n labels is about
    .81 sqrt(2 L q) spread + .41 L q width, where q = 1/k - 1/n, L = log(1/alpha), and `width` is the range of a value.

    >>> labels_for(.05, spread=.5, n=10_000, alpha=.025), labels_for(.05, spread=.2, n=10_000, alpha=.025)
    (515, 130)
    """
    log_inverse = float(-np.log(alpha))
    slope, curve = 0.81 * np.sqrt(2 * log_inverse) * spread, 0.41 * log_inverse * width
    root = (-slope + np.sqrt(slope**2 + 4 * curve * half_width)) / (2 * curve)
    return min(int(np.ceil(1 / (root**2 + 1 / n))), n)
