"""What majority gives away against the best rule on counts, from gold labels alone.  Proof: docs/theory/gold.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from majorant.certify.gold.cells import GoldCells
from majorant.interval import Estimate, FloatArray, binomial_bounds


def gold_loss(cells: GoldCells, level: float) -> Estimate:
    """Loss on the untied items, as a share of them, with a simultaneous interval over cells.

    It holds with probability at least `level` whatever the sample size and however votes depend on each other.  A cell
    with too few gold items to tell is estimated at no loss; the upper end then allows for all of majority's errors in
    such cells, and for anything in cells without gold.

    >>> cells = GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[60, 0], [10, 30]]))
    >>> loss = gold_loss(cells, .95)
    >>> loss.value, round(loss.low, 3), round(loss.high, 3)
    (0.2, 0.043, 0.314)
    """
    return Estimate(*loss_interval(cells, level))


def loss_interval(cells: GoldCells, level: float) -> tuple[float, float, float]:
    """Estimate, lower and upper end of `gold_loss`."""
    tail, enough_c = _error_shares(cells, 1 - level)
    told, share_c = cells.select(enough_c), cells.share_c[enough_c]
    low_c, high_c = _cell_bounds(told, tail)
    scant_c = ~enough_c & (cells.gold_c > 0)
    unknown = float(cells.share_c[cells.gold_c == 0].sum())
    high = float(share_c @ high_c) + _errors_bound(cells.select(scant_c), cells.share_c[scant_c], tail) + unknown
    return float(share_c @ _excess(told)), float(share_c @ low_c), min(1.0, high)


def difference_bounds(
    more: NDArray[np.int64], less: NDArray[np.int64], trials: NDArray[np.int64], tail: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds on P(more) - P(less), events that exclude each other; each bound fails with probability at most `tail`.

    The difference is pi (2 theta - 1): pi the probability of either, theta that of `more` given either.  Both have
    exact binomial bounds, at half the tail each.

    >>> low, high = difference_bounds(np.array([30]), np.array([10]), np.array([100]), .025)
    >>> round(low.item(), 3), round(high.item(), 3)
    (0.038, 0.399)
    """
    either_low, either_high = binomial_bounds(more + less, trials, tail / 2)
    first_low, first_high = (2 * bound - 1 for bound in binomial_bounds(more, more + less, tail / 2))
    low = np.where(first_low > 0, either_low, either_high) * first_low
    high = np.where(first_high > 0, either_high, either_low) * first_high
    return low, high


def _error_shares(cells: GoldCells, alpha: float) -> tuple[float, NDArray[np.bool_]]:
    """What each bound may fail with, and which cells hold enough gold for bounds of their own.

    Enough: were all of it right, majority would be certified in that cell.  Both follow from the votes and from which
    items are gold, not from their labels.  The cells that lack gold share one bound.
    """
    rivals = max(cells.n_classes - 1, 1)
    ordered_c = -np.sort(-cells.gold_c)
    tail_m = alpha / 2 / (rivals * np.arange(len(ordered_c) + 2) + 1)  # with m cells that have bounds of their own
    least_m = np.log2(1 / tail_m) + (cells.n_classes > 2)
    m = int((ordered_c > least_m[1:-1]).sum())
    return float(tail_m[m]), cells.gold_c > least_m[m + 1]


def _excess(cells: GoldCells) -> FloatArray:
    return np.asarray(np.maximum(cells.rival_c - cells.right_c, 0) / np.maximum(cells.gold_c, 1))


def _cell_bounds(cells: GoldCells, tail: float) -> tuple[FloatArray, FloatArray]:
    """Bounds on the loss in each cell: the largest lead of another class, if any."""
    if cells.n_classes == 2:  # either class is the truth: one bound, at the whole tail
        low_c, high_c = (1 - 2 * bound_c for bound_c in binomial_bounds(cells.right_c, cells.gold_c, tail)[::-1])
        return np.maximum(low_c, 0), np.maximum(high_c, 0)
    other_ck = cells.others_ck
    right_ck, gold_ck = (np.broadcast_to(n_c[:, None], other_ck.shape) for n_c in (cells.right_c, cells.gold_c))
    low_ck, high_ck = difference_bounds(np.maximum(other_ck, 0), right_ck, gold_ck, tail)
    own_ck = other_ck < 0
    return tuple(np.where(own_ck, 0.0, bound_ck).max(axis=1, initial=0.0) for bound_ck in (low_ck, high_ck))


def _errors_bound(cells: GoldCells, share_c: FloatArray, tail: float) -> float:
    """Upper bound on majority's share of errors in these cells together, which is at least what it gives away there.

    A gold item stands for share / gold items of its cell; scaled by the largest such weight, errors are independent
    numbers in 0..1, to whose mean Hoeffding's inequality in its relative-entropy form applies.
    """
    if not len(share_c):
        return 0.0
    weight_c = share_c / cells.gold_c
    n_gold, heaviest = int(cells.gold_c.sum()), float(weight_c.max())
    errors = float(weight_c @ (cells.gold_c - cells.right_c)) / heaviest
    bound = heaviest * n_gold * _entropy_bound(errors / n_gold, np.log(1 / tail) / n_gold)
    return min(bound, float(share_c.sum()))


def _entropy_bound(mean: float, budget: float) -> float:
    """The largest q >= mean whose relative entropy kl(mean, q) is at most `budget`."""
    from scipy.optimize import brentq
    from scipy.special import kl_div

    def excess(q: float) -> float:
        return float(kl_div(mean, q) + kl_div(1 - mean, 1 - q)) - budget

    largest = 1 - 1e-15
    return 1.0 if mean >= largest or excess(largest) <= 0 else float(brentq(excess, mean, largest, xtol=1e-12))
