"""What tailored linear inversion proves about a number of votes: from which majority on the best rule agrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.certify.anonymous.likelihood import Histograms, held_cells, log_cells, log_odds, sides
from majorant.certify.anonymous.search import suprema
from majorant.certify.anonymous.tailored.invert import MOST_WORK, invert, some_stands
from majorant.certify.anonymous.tailored.null import mirrored, null_side
from majorant.certify.anonymous.tailored.rejection import Levels
from majorant.theory.checks import FloatArray

SHARE_OF_WORK = 4  # the part of the most work that may go into a majority other than the narrowest: one in so many


@dataclass(frozen=True, slots=True)
class Proof:
    """Majorities of at least so many votes are decided as the best rule would; n_votes + 1: none is proved."""

    n_votes: int
    zeros: int
    ones: int

    @property
    def complete(self) -> bool:
        """Whether every majority is."""
        return max(self.zeros, self.ones) <= self.n_votes // 2 + 1

    def items(self, items_k: FloatArray) -> float:
        """How many of the items are proved, `items_k` of them with k votes for class 0."""
        return float(items_k[self.zeros :].sum() + items_k[: self.n_votes - self.ones + 1].sum())


def prove(
    histograms: Histograms, n_votes: int, theta_3: FloatArray, error: float, nearest_23: FloatArray | None = None
) -> Proof:
    """Which majorities of `n_votes` votes are proved, all of them together, at this error.

    `theta_3` is the likeliest model.  If even that diverges from the histograms by more than a true model would, the
    model is wrong, its null would be rejected for that alone, and nothing is proved.  `nearest_23`, where known, are
    the likeliest models that decide the narrowest majority for either class wrongly.

    >>> theta_3 = np.array([1.386, -1.386, 0.0])
    >>> prove({3: np.array([260.0, 240.0, 240.0, 260.0])}, 3, theta_3, .05)
    Proof(n_votes=3, zeros=2, ones=2)
    """
    if not fits(histograms, theta_3, error):
        return Proof(n_votes, n_votes + 1, n_votes + 1)
    zeros, ones = (_first(one, n_votes, error, near_3) for one, near_3 in _both(histograms, n_votes, nearest_23))
    return Proof(n_votes, zeros, ones)


def is_proved(
    histograms: Histograms, n_votes: int, theta_3: FloatArray, error: float, nearest_23: FloatArray | None = None
) -> bool:
    """Whether every majority of `n_votes` votes is proved: `prove` without the rest."""
    narrowest = n_votes // 2 + 1
    lead = np.array([log_odds(theta_3, n_votes, narrowest), -log_odds(theta_3, n_votes, n_votes - narrowest)])
    # Where the likeliest model is itself one in which majority is not optimal, no test is needed.
    if lead.min() <= 0 or not fits(histograms, theta_3, error):
        return False
    tasks = _both(histograms, n_votes, nearest_23)[:: 1 if lead[0] <= lead[1] else -1]  # the doubtful side first
    nulls = [null_side(one, n_votes, narrowest) for one, _ in tasks]
    if any(some_stands(null, error, near_3) for null, (_, near_3) in zip(nulls, tasks, strict=True)):
        return False
    return all(invert(null, error).rejected for null in nulls)


def fits(histograms: Histograms, theta_3: FloatArray, error: float) -> bool:
    """Whether the model diverges from the histograms by no more than a true one may."""
    null = null_side(histograms, 1, 1)
    log_cell_c = log_cells(null.cells, theta_3) + null.log_orders_c
    return bool(null.saturated - null.items_c @ log_cell_c <= Levels.of(null, error).cut)


def _both(histograms: Histograms, n_votes: int, nearest_23: FloatArray | None) -> list[tuple[Histograms, FloatArray]]:
    """The histograms and their mirror image, each with the likeliest model that is wrong on the narrowest majority."""
    narrowest = n_votes // 2 + 1
    if nearest_23 is None:
        held, held_c = held_cells(histograms)
        rows = sides([(n_votes, narrowest, -1), (n_votes, n_votes - narrowest, 1)])
        nearest_23 = suprema(held, held_c[None], rows)[1][0]
    a, r, nu = nearest_23[1]
    return [(histograms, nearest_23[0]), (mirrored(histograms), np.array([-r, -a, -nu]))]


def _first(histograms: Histograms, n_votes: int, error: float, nearest_3: FloatArray) -> int:
    """The smallest majority for class 0 that is proved.

    Every model is tested in one way, whatever the majority, so any of them may be tried: outwards from the narrowest.
    For the others only a share of items is at stake, so less work is spent.
    """
    narrowest = n_votes // 2 + 1
    theta, work = [nearest_3], MOST_WORK
    for majority in range(narrowest, n_votes + 1):
        null = null_side(histograms, n_votes, narrowest, majority - narrowest)
        if majority == narrowest + 1:
            theta += _suspects(histograms, n_votes, range(majority, n_votes + 1))
            work = MOST_WORK // SHARE_OF_WORK
        if some_stands(null, error, theta[majority - narrowest]):
            continue
        if invert(null, error, work).rejected:
            return majority
    return n_votes + 1


def _suspects(histograms: Histograms, n_votes: int, majorities: range) -> list[FloatArray]:
    """The likeliest model that decides so many zeros for class 1, for each."""
    held, held_c = held_cells(histograms)
    return list(suprema(held, held_c[None], sides([(n_votes, k, -1) for k in majorities]))[1][0])
