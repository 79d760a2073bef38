"""Exact tests of majority vote against gold labels, cell by cell.  Proofs: docs/theory/gold.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.certify.gold.cells import GoldCells
from majorant.interval import FloatArray


def best_p_values(cells: GoldCells) -> FloatArray:
    """For each untied cell the p-value against "some other class is at least as likely as majority's".

    Given how many of its gold items belong to one of two classes, the number that belongs to the first is binomial; so
    each other class is tested exactly.  All must be beaten, hence the largest p-value, that of the commonest rival.
    No data can prove that a draw between tied classes is best: 1 there.

    >>> best_p_values(GoldCells(np.array([[3, 0], [1, 1]]), np.array([9, 9]), np.array([[5, 0], [5, 0]]))).tolist()
    [0.03125, 1.0]
    """
    return np.where(cells.tied_c, 1.0, _at_least(cells.right_c, cells.right_c + cells.rival_c, 0.5))


def worse_p_values(cells: GoldCells) -> FloatArray:
    """For each cell the p-value against "no class is more likely than those with the most votes, and these alike".

    If that holds, class k among T tied ones is the truth of at most every T-th gold item whose truth is one of them,
    and another class of at most every (T + 1)-th whose truth is one of them or itself.  One of the classes may be the
    one (Bonferroni).

    >>> worse_p_values(GoldCells(np.array([[2, 1, 0]]), np.array([9]), np.array([[0, 5, 0]]))).tolist()
    [0.0625]
    >>> worse_p_values(GoldCells(np.array([[2, 2]]), np.array([9]), np.array([[0, 6]]))).tolist()
    [0.03125]
    """
    top_c = (cells.gold_ck * cells.top_ck).sum(axis=1)[:, None]
    pool_ck = np.where(cells.top_ck, top_c, top_c + cells.gold_ck)
    fair_ck = 1 / (cells.n_top_c[:, None] + ~cells.top_ck)
    p_value_ck = np.where(fair_ck < 1, _at_least(cells.gold_ck, pool_ck, np.minimum(fair_ck, 0.5)), 1.0)
    return np.asarray(np.minimum(1.0, n_rivals(cells) * p_value_ck.min(axis=1, initial=1.0)))


def n_rivals(cells: GoldCells) -> NDArray[np.int64]:
    """How many classes could be better than majority's draw in each cell: all others, or if votes are tied all."""
    return np.asarray(cells.n_classes - 1 + cells.tied_c, dtype=np.int64)


def certified(cells: GoldCells, alpha: float) -> NDArray[np.bool_]:
    """The cells in which majority's class is proved the likeliest, all of them at once with error at most alpha.

    Hommel's procedure, the closure of the test of Simes, on the cells that hold enough gold to be proved at alpha at
    all: which these are says nothing of the truth.  If each of them passes alone at alpha, all are certified.

    >>> cells = GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[30, 1], [14, 10]]))
    >>> certified(cells, .05).tolist()
    [True, False]
    """
    p_value_c = best_p_values(cells)
    telling_c = ~cells.tied_c & (cells.gold_c >= np.log2(1 / alpha))
    ordered = np.sort(p_value_c[telling_c])[::-1]
    n_left = 1  # the largest number of cells that Simes does not reject together
    for i in range(2, len(ordered) + 1):
        if (ordered[:i] > alpha * np.arange(i, 0, -1) / i).all():
            n_left = i
    return np.asarray(telling_c & (p_value_c <= alpha / n_left))


def not_optimal_p_value(cells: GoldCells, alpha: float) -> float:
    """One p-value against "majority loses nothing in any cell", from the cells that can speak at alpha."""
    telling_c = cells.gold_c >= np.log2(n_rivals(cells) / alpha)
    return simes(worse_p_values(cells)[telling_c])


def simes(p_value_c: FloatArray) -> float:
    """One p-value from independent ones, against "all hypotheses hold" (Simes 1986).

    >>> simes(np.array([.04, .03, .9]))
    0.06
    """
    ordered_c = np.sort(p_value_c)
    return float((ordered_c * len(ordered_c) / np.arange(1, len(ordered_c) + 1)).min(initial=1.0))


def _at_least(wins: NDArray[Any], trials: NDArray[Any], chance: FloatArray | float) -> FloatArray:
    """P(at least so many wins in so many trials)."""
    from scipy.special import betainc

    return np.where(wins > 0, betainc(np.maximum(wins, 1), np.maximum(trials - wins, 0) + 1.0, chance), 1.0)
