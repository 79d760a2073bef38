"""Exact tests of majority vote against gold labels, cell by cell.  Proofs: docs/theory/gold.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from majorant.certify.gold_cells import GoldCells
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

    Cells are tested at alpha in an order that the votes alone set, by what their gold could show (`reach_c`: unanimous
    cells first, those with little gold last), until one fails; cells of equal reach stand or fall together.
    """
    failed_c = best_p_values(cells) > alpha
    return np.asarray(cells.reach_c > cells.reach_c[failed_c].max(initial=-1.0))


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
