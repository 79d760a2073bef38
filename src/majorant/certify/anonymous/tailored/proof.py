"""What tailored linear inversion proves about a number of votes: from which majority on the best rule agrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.certify.anonymous.likelihood import Cells, Histograms, flatten, log_cells, sides, vote_log_odds
from majorant.certify.anonymous.search import suprema
from majorant.certify.anonymous.tailored.invert import invert, suspect_stands
from majorant.certify.anonymous.tailored.null import mirrored, null_side
from majorant.certify.anonymous.tailored.rejection import Levels
from majorant.theory.checks import FloatArray


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


def prove(histograms: Histograms, n_votes: int, theta_3: FloatArray, error: float) -> Proof:
    """Which majorities of `n_votes` votes are proved, all of them together, at this error.

    `theta_3` is the likeliest model.  If even that diverges from the histograms by more than a true model would, the
    model is wrong, its null would be rejected for that alone, and nothing is proved.

    >>> theta_3 = np.array([1.386, -1.386, 0.0])
    >>> prove({3: np.array([260.0, 240.0, 240.0, 260.0])}, 3, theta_3, .05)
    Proof(n_votes=3, zeros=2, ones=2)
    """
    if not fits(histograms, theta_3, error):
        return Proof(n_votes, n_votes + 1, n_votes + 1)
    zeros = _first(histograms, n_votes, error)
    return Proof(n_votes, zeros, _first(mirrored(histograms), n_votes, error))


def is_proved(histograms: Histograms, n_votes: int, theta_3: FloatArray, error: float) -> bool:
    """Whether every majority of `n_votes` votes is proved: `prove` without the rest."""
    if not fits(histograms, theta_3, error):
        return False
    narrowest = n_votes // 2 + 1
    tasks = [
        (null_side(one, n_votes, narrowest), _suspect(one, n_votes, narrowest))
        for one in (histograms, mirrored(histograms))
    ]
    if any(suspect_stands(null, error, suspect_i) for null, suspect_i in tasks):
        return False
    return all(invert(null, error, suspect_i).rejected for null, suspect_i in tasks)


def fits(histograms: Histograms, theta_3: FloatArray, error: float) -> bool:
    """Whether the model diverges from the histograms by no more than a true one may."""
    null = null_side(histograms, 1, 1)
    log_cell_c = log_cells(null.cells, theta_3) + null.log_orders_c
    return bool(null.saturated - null.items_c @ log_cell_c <= Levels.of(null, error).cut)


def _first(histograms: Histograms, n_votes: int, error: float) -> int:
    """The smallest majority for class 0 that is proved.

    Every model is tested in one way, whatever the majority, so any of them may be tried: first the narrowest.
    """
    narrowest = n_votes // 2 + 1
    low, high, middle = narrowest, n_votes + 1, narrowest
    while low < high:
        null = null_side(histograms, n_votes, narrowest, middle - narrowest)
        if invert(null, error, _suspect(histograms, n_votes, middle)).rejected:
            high = middle
        else:
            low = middle + 1
        middle = (low + high) // 2
    return high


def _suspect(histograms: Histograms, n_votes: int, n_zeros: int) -> FloatArray:
    """The likeliest model that decides `n_zeros` zeros for class 1, as logits and depth."""
    cells, items_c = flatten(histograms)
    held = Cells(cells.votes_c[items_c > 0], cells.zeros_c[items_c > 0])
    _, theta = suprema(held, items_c[None, items_c > 0], sides([(n_votes, n_zeros, -1)]))
    x, y, logit_nu = theta[0, 0]
    depth = -vote_log_odds(theta[0, 0], n_votes, n_votes // 2 + 1) - logit_nu
    return np.array([x, y, max(float(depth), 0.0)])
