"""The interval of a mean from a fixed number of random labels, with the help of a predictor.

Whoever decides beforehand how many labels to collect does not need an interval that holds at any number of them.  The
units (items, or questions) are labelled in a simple random sample.  A predictor learned from the other labels is
subtracted from each label and its mean over all units is added back, so the residuals have the mean that is wanted and
a smaller spread.  The interval is Student's, with one residual of +1 and one of -1 added to the spread: with few labels
the residuals seen so far tell too little about rare large ones.

The interval is not exact.  `benchmarks/rank.py` measures how often it holds (docs/theory/rate.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.ask.rate import Features
from majorant.values import FloatArray, lock

LEAST_UNITS = 20  # with fewer labelled units, the residuals do not show their spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An estimate with its standard error, for Student's intervals; an error of 0 means that every unit is labelled."""

    estimate: float
    error: float
    freedom: int  # degrees of freedom

    def interval(self, tail: float) -> tuple[float, float]:
        """A lower and an upper bound, each of which fails with probability `tail`, if the residuals are near normal."""
        from scipy.stats import t as student

        reach = float(student.ppf(1 - tail, self.freedom)) * self.error if self.error else 0.0
        return self.estimate - reach, self.estimate + reach

    def p_value(self) -> float:
        """Two-sided p-value of a mean of 0."""
        from scipy.stats import t as student

        if not self.error:
            return float(self.estimate == 0)
        return float(2 * student.sf(abs(self.estimate) / self.error, self.freedom))

    def minus(self, other: Measured) -> Measured:
        """The difference of two independent means."""
        return Measured(
            estimate=self.estimate - other.estimate,
            error=float(np.hypot(self.error, other.error)),
            freedom=min(self.freedom, other.freedom),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Residuals:
    """Labels minus predictions of the labelled units, corrected by the predictor's mean, which makes them unbiased."""

    value_u: FloatArray
    n: int  # number of all units
    label_variance: float  # of the labelled units themselves
    one_sided: bool  # all labels lie on the same side of their predictions: their spread is not known

    def __post_init__(self) -> None:
        lock(self)

    @property
    def units(self) -> int:
        """Number of labelled units."""
        return len(self.value_u)

    @property
    def suffices(self) -> bool:
        """Whether there are enough labels for an interval."""
        return self.units == self.n or (self.units >= LEAST_UNITS and not self.one_sided)

    @property
    def variance(self) -> float:
        """The variance of the residuals, with one of +1 and one of -1 added."""
        deviation_u = self.value_u - self.value_u.mean()
        return float(deviation_u @ deviation_u + 2) / (self.units + 2)

    def measured(self, *, beyond: bool = False) -> Measured:
        """The mean over all units, or `beyond` these units: of units like them, of which they are a sample.

        >>> value_u = np.tile([1.0, 0.0, 0.0, 1.0], 10)
        >>> some = Residuals(value_u=value_u, n=80, label_variance=.25, one_sided=False)
        >>> [[round(end, 2) for end in some.measured(beyond=beyond).interval(.025)] for beyond in (False, True)]
        [[0.38, 0.62], [0.33, 0.67]]
        """
        variance = self.variance * (1 / self.units - 1 / self.n)  # sampling without replacement
        if beyond:
            variance += max(self.label_variance, self.variance) / self.n
        return Measured(
            estimate=float(self.value_u.mean()), error=float(np.sqrt(variance)), freedom=max(self.units - 2, 1)
        )

    def units_for(self, reach: float, tail: float) -> int | None:
        """Labelled units for an interval of this reach `beyond` them; None if only labelling nearly all would do."""
        from scipy.stats import norm

        allowed = (reach / float(norm.isf(tail))) ** 2
        needed = (allowed - max(self.label_variance, self.variance) / self.n) / self.variance + 1 / self.n
        return None if needed < 1 / (0.9 * self.n) else max(int(np.ceil(1 / needed)), LEAST_UNITS)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CrossFit:
    """Predictions of all items from labels outside each fold, so that no label helps to predict its own unit."""

    y_t: FloatArray
    item_t: NDArray[np.int64]
    fold_t: NDArray[np.int64]
    value_fi: FloatArray  # prediction of each item without the labels of fold f

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of(cls, features: Features, item_t: ArrayLike, y_t: ArrayLike, unit_t: ArrayLike) -> CrossFit:
        """Learn the predictor once for each fold; labels of one unit share a fold."""
        item, y = np.asarray(item_t, dtype=np.int64), np.asarray(y_t, dtype=float)
        folds = 10
        _, unit = np.unique(np.asarray(unit_t), return_inverse=True)
        first = np.unique(unit, return_index=True)[1]
        fold_u = np.empty(len(first), dtype=np.int64)
        fold_u[np.argsort(first)] = np.arange(len(first)) % folds
        fold_t, row_td = fold_u[unit], features.value_id[item]
        gram, moment = np.diag(features.penalty_d), features.penalty_d * features.prior_d
        gram, moment = gram + row_td.T @ row_td, moment + row_td.T @ y
        predicted = []
        for fold in range(min(folds, len(first))):
            own_td, own_y = row_td[fold_t == fold], y[fold_t == fold]
            coefficient_d = np.linalg.solve(gram - own_td.T @ own_td, moment - own_td.T @ own_y)
            predicted.append(features.predict(coefficient_d))
        return cls(y_t=y, item_t=item, fold_t=fold_t, value_fi=np.array(predicted).reshape(-1, len(features.value_id)))

    def residuals(self, weight_i: FloatArray, unit_i: NDArray[np.integer[Any]]) -> Residuals:
        """Residuals of the sum of weight times y over the items of each unit; all units if every item has a label.

        A unit counts as labelled once all its items with a weight are labelled.
        """
        pool = np.flatnonzero(weight_i)
        _, unit_p = np.unique(unit_i[pool], return_inverse=True)
        n_units, weight_p = int(unit_p.max(initial=-1)) + 1, weight_i[pool]
        mine_t = np.flatnonzero(weight_i[self.item_t] != 0)
        place_t = np.searchsorted(pool, self.item_t[mine_t])
        y_p, fold_p = np.full(len(pool), np.nan), np.zeros(len(pool), dtype=np.int64)
        y_p[place_t], fold_p[place_t] = self.y_t[mine_t], self.fold_t[mine_t]
        y_u = np.bincount(unit_p, weight_p * y_p, n_units)  # NaN until all items of the unit are labelled
        labelled = np.flatnonzero(~np.isnan(y_u))
        fold_u = np.zeros(n_units, dtype=np.int64)
        fold_u[unit_p] = fold_p
        predicted_u, mean_u = np.zeros(n_units), np.zeros(n_units)
        for fold, value_i in enumerate(self.value_fi):
            value_u = np.bincount(unit_p, weight_p * value_i[pool], n_units)
            predicted_u = np.where(fold_u == fold, value_u, predicted_u)
            mean_u = np.where(fold_u == fold, value_u.mean(), mean_u)
        miss_u = (y_u - predicted_u)[labelled]
        whole = len(labelled) == n_units
        return Residuals(
            value_u=np.asarray(y_u[labelled] if whole else miss_u + mean_u[labelled], dtype=float),
            n=n_units,
            label_variance=float(y_u[labelled].var(ddof=1)) if len(labelled) > 1 else 0.0,
            one_sided=bool(len(miss_u) and ((miss_u >= -1e-9).all() or (miss_u <= 1e-9).all())),
        )


def reject(p_value_c: ArrayLike, alpha: float, systems: int | None = None) -> NDArray[np.bool_]:
    """Which hypotheses are rejected such that any is rejected wrongly with probability at most `alpha`.

    This is Holm's procedure.  If the hypotheses say that two of some `systems` are equal, for all pairs, it takes
    Shaffer's steps: once A differs from B, C cannot equal both, so fewer of the others can be true.

    >>> reject([.01, .04, .03], .05).tolist(), reject([.01, .04, .03], .05, systems=3).tolist()
    ([True, False, False], [True, True, True])
    """
    p_c = np.asarray(p_value_c, dtype=float)
    order, left_c = np.argsort(p_c, kind="stable"), np.arange(len(p_c), 0, -1)
    if systems is not None:
        possible = np.array(sorted(_numbers_of_equal_pairs(systems)))
        left_c = np.maximum(possible[np.searchsorted(possible, left_c, side="right") - 1], 1)
    passed = np.logical_and.accumulate(p_c[order] <= alpha / left_c)
    rejected = np.zeros(len(p_c), dtype=bool)
    rejected[order] = passed
    return rejected


@cache
def _numbers_of_equal_pairs(systems: int) -> frozenset[int]:
    """How many pairs can be equal: those within the groups of any partition of the systems."""
    if systems <= 1:
        return frozenset({0})
    return frozenset(
        size * (size - 1) // 2 + rest
        for size in range(1, systems + 1)
        for rest in _numbers_of_equal_pairs(systems - size)
    )
