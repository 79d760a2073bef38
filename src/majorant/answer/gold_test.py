"""Labels against majority vote where the truth is known: McNemar's exact test, and an interval on the difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.certify.gold.loss import difference_bounds
from majorant.interval import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTest:
    """How a choice of labels does against majority vote on gold items; each tie was settled by a fair draw."""

    n_items: int  # gold items with votes
    wins: int  # right where majority is wrong
    losses: int  # wrong where majority is right
    p_value: float  # McNemar, exact, two-sided: of wins and losses that differ as much by chance
    difference: Estimate  # accuracy gained over majority, with an interval that is exact at any number of items
    folds: int  # the method for each part was chosen on the others; 1: no choice was made by gold


def mcnemar(right_i: NDArray[np.bool_], by_majority_i: NDArray[np.bool_], *, level: float, folds: int = 1) -> GoldTest:
    """Compare two sets of labels item by item; gold items must be a random sample for the interval to hold.

    >>> test = mcnemar(np.array([1, 1, 1, 1, 1, 1, 0], bool), np.array([0, 0, 0, 0, 0, 0, 0], bool), level=.95)
    >>> test.wins, test.losses, test.p_value
    (6, 0, 0.03125)
    """
    wins, losses = int((right_i & ~by_majority_i).sum()), int((by_majority_i & ~right_i).sum())
    n_items = len(right_i)
    if not n_items:
        nothing = Estimate(None, reason="no item with votes has a gold label")
        return GoldTest(n_items=0, wins=0, losses=0, p_value=1.0, difference=nothing, folds=folds)
    low, high = difference_bounds(np.array([wins]), np.array([losses]), np.array([n_items]), (1 - level) / 2)
    difference = Estimate((wins - losses) / n_items, float(low[0]), float(high[0]))
    p_value = _two_sided(wins, losses)
    return GoldTest(n_items=n_items, wins=wins, losses=losses, p_value=p_value, difference=difference, folds=folds)


def _two_sided(wins: int, losses: int) -> float:
    """Twice the chance of at most so few of the rarer outcome in so many fair tosses, at most 1."""
    from scipy.special import bdtr

    return float(min(1.0, 2 * bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0
