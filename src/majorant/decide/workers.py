"""Who is good: each worker's accuracy with its interval, agreement, confusion, and what stands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.estimate.fit import Fit
from majorant.frozen import lock
from majorant.kernels import FloatArray
from majorant.tally import counts, votes_by_worker
from majorant.votes import Votes

FEW_VOTES = 10  # below this an interval says next to nothing
ONE_LABEL_CHANCE = 1e-3  # a single label throughout, less likely than this for someone who labels like the crowd
NEAR_CHANCE = 0.1  # points above guessing that still count as near it, where the interval holds guessing
MOST_CONFUSION_COLUMNS = 100


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Workers:
    """What is known of each worker; axis j throughout.

    `accuracy` is the expected share of right votes under the fit; `chance` is what the same labels would get right
    if they were given blindly.  The interval allows for the number of votes and for the doubt about each label, not
    for an error of the model.
    """

    votes_j: NDArray[np.int64]
    accuracy_j: FloatArray  # NaN without votes
    low_j: FloatArray
    high_j: FloatArray
    chance_j: FloatArray
    agreement_j: FloatArray  # share of the other votes on the same items that say the same; NaN where there are none
    label_share_jl: FloatArray
    flags: tuple[tuple[str, ...], ...]
    level: float

    def __post_init__(self) -> None:
        lock(self)


def assess_workers(votes: Votes, fit: Fit, *, level: float = 0.95) -> Workers:
    """Accuracy, agreement and flags of each worker under a fit."""
    votes_jl = votes_by_worker(votes)
    votes_j = votes_jl.sum(axis=1)
    right_n = fit.posterior[votes.item_n, votes.label_n]
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy_j = _sum_by_worker(votes, right_n) / votes_j
        doubt_j = _sum_by_worker(votes, right_n * (1 - right_n)) / votes_j
        label_share_jl = votes_jl / votes_j[:, None]
    low_j, high_j = _interval(accuracy_j, doubt_j, votes_j, level)
    chance_j = label_share_jl @ fit.prior
    return Workers(
        votes_j=votes_j,
        accuracy_j=accuracy_j,
        low_j=low_j,
        high_j=high_j,
        chance_j=chance_j,
        agreement_j=_agreement(votes),
        label_share_jl=label_share_jl,
        flags=_flags(votes_jl, accuracy_j, low_j, high_j, chance_j),
        level=level,
    )


def worker_table(votes: Votes, fit: Fit, workers: Workers) -> dict[str, Any]:
    """A row for each worker; with few classes also its confusion matrix, a column for each class and label."""
    table: dict[str, Any] = {
        "worker": list(votes.workers),
        "votes": workers.votes_j,
        "accuracy": workers.accuracy_j.round(6),
        "low": workers.low_j.round(6),
        "high": workers.high_j.round(6),
        "chance": workers.chance_j.round(6),
        "agreement": workers.agreement_j.round(6),
        "flags": ["; ".join(flags) for flags in workers.flags],
    }
    n_classes = len(votes.labels)
    if fit.confusion is not None and fit.confusion.ndim == 3 and n_classes**2 <= MOST_CONFUSION_COLUMNS:
        for k in range(n_classes):
            for l in range(n_classes):
                table[f"{votes.labels[k]} labelled {votes.labels[l]}"] = fit.confusion[:, k, l].round(6)
    return table


def _interval(
    accuracy_j: FloatArray, doubt_j: FloatArray, votes_j: NDArray[np.int64], level: float
) -> tuple[FloatArray, FloatArray]:
    """Clopper-Pearson with the votes that the doubt about the labels leaves: Louis' missing-information principle.

    A vote known to be right with probability q tells 1 - q (1 - q) / (p (1 - p)) as much as one with a known label.
    """
    from scipy.special import betaincinv

    spread_j = np.maximum(accuracy_j * (1 - accuracy_j), 1e-12)
    known_j = np.nan_to_num(votes_j * np.clip(1 - doubt_j / spread_j, 0, 1))
    right_j, tail = np.nan_to_num(known_j * accuracy_j), (1 - level) / 2
    wrong_j = known_j - right_j
    tiny = 1e-12  # the ends are 0 and 1 where nothing was right, nothing wrong
    low_j = np.where(right_j > tiny, betaincinv(np.maximum(right_j, tiny), wrong_j + 1, tail), 0.0)
    high_j = np.where(wrong_j > tiny, betaincinv(right_j + 1, np.maximum(wrong_j, tiny), 1 - tail), 1.0)
    return low_j, high_j


def _sum_by_worker(votes: Votes, value_n: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(votes.worker_n, weights=value_n, minlength=len(votes.workers)), dtype=float)


def _agreement(votes: Votes) -> FloatArray:
    """For each worker the mean share of the other votes on the item that say the same."""
    count_ik, others_n = counts(votes), votes.votes_i[votes.item_n] - 1
    same_n = count_ik[votes.item_n, votes.label_n] - 1
    seen = others_n > 0
    share_n = np.where(seen, same_n / np.maximum(others_n, 1), 0.0)
    with np.errstate(invalid="ignore"):
        return _sum_by_worker(votes, share_n) / _sum_by_worker(votes, seen.astype(float))


def _flags(
    votes_jl: NDArray[np.int64], accuracy_j: FloatArray, low_j: FloatArray, high_j: FloatArray, chance_j: FloatArray
) -> tuple[tuple[str, ...], ...]:
    """What stands out about each worker, in words; nothing is said of accuracy where there are too few votes."""
    votes_j = votes_jl.sum(axis=1)
    enough_j = votes_j >= FEW_VOTES
    share_l = votes_jl.sum(axis=0) / max(votes_j.sum(), 1)
    blind_j = np.max(np.where(votes_jl == votes_j[:, None], share_l, 0.0), axis=1) ** votes_j
    found = {
        "too few votes": ~enough_j,
        "adversarial": enough_j & (high_j < chance_j),
        "near chance": enough_j & (low_j <= chance_j) & (chance_j <= high_j) & (accuracy_j < chance_j + NEAR_CHANCE),
        "one label": enough_j & (votes_jl.max(axis=1) == votes_j) & (blind_j < ONE_LABEL_CHANCE),
    }
    return tuple(tuple(name for name, here_j in found.items() if here_j[j]) for j in range(len(votes_j)))
