"""Exact tests of majority vote against gold labels, cell by cell.  Proofs: docs/theory/gold.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from majorant.certify.gold.cells import GoldCells
from majorant.interval import FloatArray


def best_p_values(cells: GoldCells) -> FloatArray:
    """For each cell the p-value against "some other class is at least as likely as majority's".

    Given how many of its gold items belong to one of two classes, the number that belongs to the first is binomial; so
    each other class is tested exactly.  All must be beaten, hence the largest p-value, that of the commonest rival.

    >>> best_p_values(GoldCells(np.array([[3, 0]]), np.array([9]), np.array([[5, 0]]))).tolist()
    [0.03125]
    """
    return _more_than_fair(cells.right_c, cells.rival_c)


def worse_p_values(cells: GoldCells) -> FloatArray:
    """For each cell the p-value against "no other class is more likely than majority's"; one of K - 1 may be.

    >>> worse_p_values(GoldCells(np.array([[2, 1, 0]]), np.array([9]), np.array([[0, 5, 0]]))).tolist()
    [0.0625]
    """
    return np.minimum(1.0, (cells.n_classes - 1) * _more_than_fair(cells.rival_c, cells.right_c))


def certified(cells: GoldCells, alpha: float) -> NDArray[np.bool_]:
    """The cells in which majority's class is proved the likeliest, all of them at once with error at most alpha.

    Hommel's procedure, the closure of the test of Simes, on the cells that hold enough gold to be proved at alpha at
    all: which these are says nothing of the truth.  If each of them passes alone at alpha, all are certified.

    >>> cells = GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[30, 1], [14, 10]]))
    >>> certified(cells, .05).tolist()
    [True, False]
    """
    p_value_c = best_p_values(cells)
    telling_c = cells.gold_c >= np.log2(1 / alpha)
    ordered = np.sort(p_value_c[telling_c])[::-1]
    n_left = 1  # the largest number of cells that Simes does not reject together
    for i in range(2, len(ordered) + 1):
        if (ordered[:i] > alpha * np.arange(i, 0, -1) / i).all():
            n_left = i
    return np.asarray(telling_c & (p_value_c <= alpha / n_left))


def not_optimal_p_value(cells: GoldCells, alpha: float) -> float:
    """One p-value against "majority's class is the likeliest in every cell", from the cells that can speak at alpha."""
    telling_c = cells.gold_c >= np.log2((cells.n_classes - 1) / alpha)
    return simes(worse_p_values(cells)[telling_c])


def simes(p_value_c: FloatArray) -> float:
    """One p-value from independent ones, against "all hypotheses hold" (Simes 1986).

    >>> simes(np.array([.04, .03, .9]))
    0.06
    """
    ordered_c = np.sort(p_value_c)
    return float((ordered_c * len(ordered_c) / np.arange(1, len(ordered_c) + 1)).min(initial=1.0))


def _more_than_fair(wins_c: NDArray[np.int64], losses_c: NDArray[np.int64]) -> FloatArray:
    """P(at least so many wins in so many fair tosses)."""
    from scipy.special import betainc

    return np.where(wins_c > 0, betainc(np.maximum(wins_c, 1), losses_c + 1.0, 0.5), 1.0)
