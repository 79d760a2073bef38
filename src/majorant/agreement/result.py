"""What `agreement` returns: numbers with intervals, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.values import Estimate, lock
from majorant.votes import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PairKappas:
    """Cohen's kappa of the pairs of workers with the most items in common (codes into `votes.workers`, a < b).

    `kappa_p` is NaN exactly where `defined_p` is False: both workers gave one and the same label throughout.
    """

    worker_a_p: IntArray
    worker_b_p: IntArray
    items_p: IntArray  # items in common
    agreed_p: NDArray[np.float64]  # share of equal votes on them
    kappa_p: NDArray[np.float64]
    defined_p: NDArray[np.bool_]
    n_pairs: int  # pairs with an item in common, of which the largest are listed
    n_averaged: int  # pairs with a defined kappa and enough common items: Cohen's kappa is their mean

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Agreement:
    """Agreement of workers on items; every coefficient is 1 for perfect agreement, all but `percent` 0 for chance."""

    percent: Estimate  # two random votes on a random item agree
    cohen: Estimate  # mean over pairs of workers, weighted by their common votes
    fleiss: Estimate
    krippendorff: Estimate  # nominal alpha
    krippendorff_ordinal: Estimate
    gwet: Estimate  # AC1
    pairs: PairKappas | None  # None where there are too many pairs of votes: `cohen.reason` says so
    n_items: int  # items with at least one vote
    n_paired: int  # items with at least two: only these show agreement
    n_classes: int  # labels in use
    level: float
    resampling: str  # how the intervals were made, in words

    def __repr__(self) -> str:
        shown = {"alpha": self.krippendorff, "kappa": self.fleiss, "AC1": self.gwet, "percent": self.percent}
        found = ", ".join(f"{name} {one.value:.3f}" for name, one in shown.items() if one.value is not None)
        return (
            f"Agreement of workers on {self.n_paired:,} items with two votes or more\n{found or 'nothing to compare'}"
        )
