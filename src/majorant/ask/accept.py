"""Which items need no expert: the surest ones, as long as labels show that enough of them are right.

Items are ordered by how sure a rule is of their labels.  Of the surest 10%, 20%, ... of the items, the labelled ones
show how many labels are right; a binomial test asks whether the accuracy may be below what is wanted.  The tests go
from the strictest set to the largest and stop at the first that does not pass, so no correction for their number is
needed (Bates et al. 2021).

The rule is learned from the same labels.  Each label is therefore judged by a rule learned without it, and the order
that is used afterwards is that of the rule learned from all.  This is not a theorem: `benchmarks/accept.py` measures
how often the promise is broken.  With `exact`, half of the labels teach, the other half test, and the promise is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.values import FloatArray
from majorant.votes import IntArray

Learn = Callable[[IntArray], FloatArray]  # the posterior of all items, learned from the labels at these places


class Order(NamedTuple):
    """Items by how sure a rule is of them."""

    rank_i: FloatArray  # share of the items of which the rule is at least as sure
    label_i: IntArray
    levels: FloatArray  # the sets to test, as shares of the items


class Level(NamedTuple):
    """A set of items to accept, and what the labels say about it."""

    share: float
    labels: int
    wrong: int
    passed: bool


def order_of(posterior_ik: FloatArray, *, own_levels: bool = False) -> Order:
    """Order items by their largest probability; equally sure items belong together.

    With `own_levels`, every set of equally sure items is a level, if there are few; else each tenth of the items.

    >>> order_of(np.array([[.9, .1], [.5, .5], [.2, .8], [.9, .1]]), own_levels=True).levels.tolist()
    [0.5, 0.75, 1.0]
    """
    most_levels = 40
    sure_i = posterior_ik.max(axis=1).round(9)
    rank_i = 1 - np.searchsorted(np.sort(sure_i), sure_i) / max(len(sure_i), 1)
    levels = np.unique(rank_i)
    if not own_levels or len(levels) > most_levels:
        levels = np.arange(1, 11) / 10
    return Order(rank_i, posterior_ik.argmax(axis=1), levels)


def find_levels(
    rank_n: FloatArray, right_n: NDArray[np.bool_], levels: FloatArray, at: float, alpha: float
) -> list[Level]:
    """Test the levels from the strictest on, until one does not pass; levels with too few labels to pass are skipped.

    >>> rank_n, right_n = np.linspace(0, 1, 100), np.arange(100) < 60
    >>> [level.passed for level in find_levels(rank_n, right_n, np.array([.1, .5, .6, .9]), .9, .05)]
    [True, True, False]
    """
    from scipy.stats import binom

    tested = []
    for share in levels.tolist():
        inside_n = rank_n <= share + 1e-9
        labels, wrong = int(inside_n.sum()), int((inside_n & ~right_n).sum())
        if at**labels > alpha:
            continue
        passed = bool(binom.cdf(wrong, labels, 1 - at) <= alpha)
        tested.append(Level(share, labels, wrong, passed))
        if not passed:
            break
    return tested


def cross_fit(
    learn: Learn, item_n: IntArray, truth_n: IntArray, fold_n: IntArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The rank of each labelled item, and whether its label is right, by a rule learned without its fold."""
    rank_n, right_n = np.ones(len(item_n)), np.zeros(len(item_n), dtype=bool)
    for fold in np.unique(fold_n):
        own = np.flatnonzero(fold_n == fold)
        order = order_of(learn(np.flatnonzero(fold_n != fold)))
        rank_n[own], right_n[own] = order.rank_i[item_n[own]], order.label_i[item_n[own]] == truth_n[own]
    return rank_n, right_n
