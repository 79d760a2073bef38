"""How often labels of each confidence are right, where the truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.answer.gold import right_share
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray
from majorant.votes import IntArray, Votes

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """The items whose label has a confidence in (low, high], and how many of those with gold are right."""

    low: float
    high: float
    items: int
    mean_confidence: float | None  # None where there is no item
    gold_items: int
    gold_right: float  # a tie counts as a fair draw among the tied classes


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence beside the share of right labels.

    `ece`, the expected calibration error, is the mean distance of the two over the gold items, bin by bin.
    """

    bins: tuple[Bin, ...]
    ece: float | None  # None without gold
    gold_items: int


def reliability(votes: Votes, fit: Fit, *, bins: int = BINS) -> Reliability:
    """Bins of equal width from 0 to 1; items without votes are left out.

    >>> from majorant.estimate.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> reliability(votes, Majority().fit(votes)).ece
    0.0
    """
    voted = np.flatnonzero(votes.votes_i > 0)
    confidence_v = fit.posterior[voted].max(axis=1) if len(voted) else np.empty(0)
    bin_v = np.clip(np.ceil(confidence_v * bins).astype(int) - 1, 0, bins - 1)
    gold_v = np.full(len(voted), -1) if votes.gold_i is None else votes.gold_i[voted]
    known = np.flatnonzero(gold_v >= 0)
    right_g = right_share(fit.posterior[voted[known]], gold_v[known])

    def sums(bin_: IntArray, value: FloatArray | None = None) -> FloatArray:
        return np.bincount(bin_, weights=value, minlength=bins).astype(float)

    items_b, confidence_b = sums(bin_v), sums(bin_v, confidence_v)
    gold_b, right_b, promised_b = (
        sums(bin_v[known]),
        sums(bin_v[known], right_g),
        sums(bin_v[known], confidence_v[known]),
    )
    found = tuple(
        Bin(
            low=b / bins,
            high=(b + 1) / bins,
            items=int(items_b[b]),
            mean_confidence=float(confidence_b[b] / items_b[b]) if items_b[b] else None,
            gold_items=int(gold_b[b]),
            gold_right=float(right_b[b]),
        )
        for b in range(bins)
    )
    ece = float(np.abs(right_b - promised_b).sum() / len(known)) if len(known) else None
    return Reliability(found, ece, len(known))
