"""How often labels are right, where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.estimate.fit import TIE_TOLERANCE, Fit
from majorant.values import FloatArray, clopper_pearson
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True)
class GoldAccuracy:
    """The share of gold items that are labelled right, a tie counting as a fair draw among the tied classes."""

    value: float
    low: float
    high: float
    n_items: int  # items with a gold label and at least one vote


def gold_accuracy(votes: Votes, fit: Fit, *, level: float) -> GoldAccuracy | None:
    """Accuracy on the items with gold, with its exact binomial (Clopper-Pearson) interval; None without gold.

    The interval is about all items, of which the gold ones are taken for a random sample; where all have gold, it is a
    point.

    >>> from majorant.estimate.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> gold_accuracy(votes, Majority().fit(votes), level=.95).value
    0.75
    """
    if votes.gold_i is None:
        return None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    if not len(known):
        return None
    right = float(right_share(fit.posterior[known], votes.gold_i[known]).sum())
    whole = len(known) == int((votes.votes_i > 0).sum())  # then there is nothing left to guess
    low, high = (right / len(known),) * 2 if whole else clopper_pearson(right, len(known), level)
    return GoldAccuracy(right / len(known), low, high, len(known))


def right_share(posterior_gk: FloatArray, gold_g: IntArray) -> FloatArray:
    """For each item 1 if its label is right, 0 if not; a tie counts as a fair draw among the tied classes.

    >>> right_share(np.array([[.9, .1], [.5, .5]]), np.array([1, 1])).tolist()
    [0.0, 0.5]
    """
    best_gk = posterior_gk >= posterior_gk.max(axis=1, keepdims=True, initial=0.0) - TIE_TOLERANCE
    return np.asarray(best_gk[np.arange(len(gold_g)), gold_g] / best_gk.sum(axis=1))
