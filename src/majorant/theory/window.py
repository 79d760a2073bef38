"""The paper's window: majority vote is optimal if and only if the odds of the classes lie between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_prior, as_vote_count
from majorant.theory.margin import log_odds_terms


@dataclass(frozen=True, slots=True)
class Window:
    """A condition of the form lower < value < upper.

    >>> Window(0.5, 1.0, 2.0).holds
    True
    """

    lower: float
    value: float
    upper: float

    @property
    def holds(self) -> bool:
        """Whether the value lies strictly inside."""
        return self.lower < self.value < self.upper


def window(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> Window:
    """Theorem 3.4 of the paper, f < g < h, for any number of votes.

    Parameters
    ----------
    prior : array_like of shape (2,)
        Probability of each class.
    confusion : array_like of shape (2, 2)
        `confusion[k, l]` is the probability of a vote for label l on an item of class k, the same for all voters; no
        entry may be 0.
    n_votes : int
        Independent votes on an item. The paper's theorem is for odd numbers; for even ones, tied votes are left out.

    Returns
    -------
    Window
        f, g = prior[1] / prior[0], and h. Majority vote is optimal if and only if f < g < h.

    Notes
    -----
    With c, beta and the margin of docs/theory/majority.md, log f and log h are log g + c -+ (m - H/2) beta, so the
    distance of log g from the nearer of them is the margin.

    Examples
    --------
    >>> found = window([.3, .7], [[.6, .4], [.25, .75]], 3)
    >>> round(found.lower, 3), round(found.value, 3), round(found.upper, 3), found.holds
    (0.683, 2.333, 3.072, True)
    """
    prior_k = as_prior(prior)
    if len(prior_k) != 2:
        raise ConfigError(f"window is for two classes; prior lists {len(prior_k)}.")
    confusion_kl = as_confusion(confusion, 2)
    if not confusion_kl.all():
        raise ConfigError("window divides by the error rates, so no entry of confusion may be 0: use majority_margin.")
    votes = as_vote_count(n_votes)
    _, skew, beta = (float(term) for term in log_odds_terms(prior_k, confusion_kl))
    center, half = votes / 2 * skew, (votes // 2 + 1 - votes / 2) * beta
    with np.errstate(over="ignore", divide="ignore"):
        ends = np.exp([center - half, center + half])
        return Window(float(ends[0]), float(prior_k[1] / prior_k[0]), float(ends[1]))
