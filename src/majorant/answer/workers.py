"""Who is good: each worker's accuracy with its interval, agreement, confusion, and what stands out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.answer.calibrate import Refit
from majorant.answer.flags import WorkerRecord, find_flags, redundancy_flags
from majorant.backend import Part, as_backend, fit_of_items, rows_alone
from majorant.estimate import ESTIMATORS
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray
from majorant.tabular import Tabular
from majorant.tally import counts, votes_by_worker
from majorant.values import LEVEL, lock
from majorant.votes import IntArray, Votes

MOST_CONFUSION_COLUMNS = 100
MOST_CERTAIN = 1e-12  # a probability below this counts for no more
GOOD = 0.75  # accuracy
GROUNDS = ("adversarial", "near chance", "one label", "too fast", "redundant")  # flags that speak for removal


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Workers(Tabular):
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
    weight_j: FloatArray  # what a vote counts for in the rule, in `unit`; below 0: it speaks against its label
    unit: str
    flags: tuple[tuple[str, ...], ...]
    evidence: tuple[tuple[str, ...], ...]  # of each flag, in the same places
    level: float
    columns: Mapping[str, Any] = field(default_factory=dict)  # those of `worker_table`

    def __post_init__(self) -> None:
        lock(self)

    def table(self) -> dict[str, Any]:
        """A row for each worker: see `worker_table`."""
        return dict(self.columns)

    @property
    def good_j(self) -> NDArray[np.bool_]:
        """Whose votes are surely better than blind ones, and mostly right."""
        return (self.low_j > self.chance_j) & (self.accuracy_j >= GOOD)


def assess_workers(
    votes: Any, fit: Fit, some: Votes | None = None, item_p: IntArray | None = None, *, level: float = LEVEL
) -> Workers:
    """Accuracy, agreement and flags of each worker under a fit to all votes, wherever they lie.

    Habits, speed and twins are seen in `some` of the items, taken into memory: those with the codes `item_p`, by
    default all.
    """
    backend, told = as_backend(votes), rows_alone(fit)
    if some is None:
        some = backend.take(np.arange(backend.votes.shape[0])) if backend.whole is None else backend.whole
    of_some = (
        fit
        if item_p is None and backend.whole is some
        else fit_of_items(backend, fit, np.arange(backend.votes.shape[0]) if item_p is None else item_p)
    )

    def of_part(part: Part) -> WorkerSums:
        return worker_sums(part.votes, part.of(told))

    return workers_from(backend.sum(of_part, doing="judging"), some, of_some, level=level)


class WorkerSums(NamedTuple):
    """What the votes of each worker add up to; sums over parts of the items add up as well."""

    votes_jl: NDArray[np.int64]
    right_j: FloatArray  # probability of being right
    doubt_j: FloatArray  # its variance
    same_j: FloatArray  # share of the other votes on the item that say the same
    paired_j: FloatArray  # votes on items with other votes


def worker_sums(votes: Votes, fit: Fit) -> WorkerSums:
    """The sums over these votes, under a fit to the same items."""
    right_n = fit.posterior[votes.item_n, votes.label_n]
    others_n = votes.votes_i[votes.item_n] - 1
    same_n = counts(votes)[votes.item_n, votes.label_n] - 1
    paired_n = others_n > 0
    return WorkerSums(
        votes_jl=votes_by_worker(votes),
        right_j=_sum_by_worker(votes, right_n),
        doubt_j=_sum_by_worker(votes, right_n * (1 - right_n)),
        same_j=_sum_by_worker(votes, np.where(paired_n, same_n / np.maximum(others_n, 1), 0.0)),
        paired_j=_sum_by_worker(votes, paired_n.astype(float)),
    )


def workers_from(sums: WorkerSums, votes: Votes, fit: Fit, *, level: float) -> Workers:
    """The same from sums over all votes; flags about single votes and pairs from the votes given, perhaps fewer."""
    votes_jl = sums.votes_jl
    votes_j = votes_jl.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy_j, doubt_j = sums.right_j / votes_j, sums.doubt_j / votes_j
        label_share_jl = votes_jl / votes_j[:, None]
        agreement_j = sums.same_j / sums.paired_j
    known_j = _known_votes(accuracy_j, doubt_j, votes_j)
    low_j, high_j = _interval(accuracy_j, known_j, level)
    chance_j = label_share_jl @ fit.prior
    found = find_flags(votes, fit, WorkerRecord(votes_jl, known_j, accuracy_j, low_j, high_j, chance_j), level)
    found = [one + more for one, more in zip(found, redundancy_flags(votes, fit, accuracy_j, level), strict=True)]
    weight_j, unit = vote_weights(votes, fit)
    assessed = Workers(
        votes_j=votes_j,
        accuracy_j=accuracy_j,
        low_j=low_j,
        high_j=high_j,
        chance_j=chance_j,
        agreement_j=agreement_j,
        label_share_jl=label_share_jl,
        weight_j=weight_j,
        unit=unit,
        flags=tuple(tuple(one.flag for one in flags) for flags in found),
        evidence=tuple(tuple(one.evidence for one in flags) for flags in found),
        level=level,
    )
    return replace(assessed, columns=worker_table(votes.workers, fit, assessed))


def worker_table(names: Sequence[Hashable], fit: Fit, workers: Workers) -> dict[str, Any]:
    """A row for each worker; with few classes also its confusion matrix, a column for each class and label."""
    table: dict[str, Any] = {
        "worker": list(names),
        "votes": workers.votes_j,
        "accuracy": workers.accuracy_j.round(6),
        "low": workers.low_j.round(6),
        "high": workers.high_j.round(6),
        "chance": workers.chance_j.round(6),
        "agreement": workers.agreement_j.round(6),
        "weight": workers.weight_j.round(6),
        "flags": ["; ".join(flags) for flags in workers.flags],
        "evidence": ["; ".join(evidence) for evidence in workers.evidence],
    }
    labels, n_classes = fit.label_values, len(fit.label_values)
    if fit.confusion is not None and fit.confusion.ndim == 3 and n_classes**2 <= MOST_CONFUSION_COLUMNS:
        for k in range(n_classes):
            for l in range(n_classes):
                table[f"{labels[k]} labelled {labels[l]}"] = fit.confusion[:, k, l].round(6)
    return table


def vote_weights(votes: Votes, fit: Fit) -> tuple[FloatArray, str]:
    """What a vote of each worker counts for in the rule, and the unit.

    With a confusion matrix each: the log-odds that a vote adds to the class it names against another, averaged over
    both by the prior; log(p (K - 1) / (1 - p)) for a worker right with probability p.  Linear rules: their own weight.

    >>> votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels="ny")
    >>> crew = np.array([[[.8, .2], [.2, .8]], [[.5, .5], [.5, .5]]])
    >>> from majorant.estimate.known_workers import GivenMap
    >>> fit = GivenMap(prior=[.5, .5], confusion=crew).fit(votes)
    >>> [round(w, 3) for w in vote_weights(votes, fit)[0].tolist()]
    [1.386, 0.0]
    """
    _, n_workers, n_classes = votes.shape
    if fit.confusion is None and fit.skill is None:
        return np.ones(n_workers), "votes"
    if fit.confusion is None or (fit.confusion.ndim == 2 and fit.skill is not None):
        skill_j = np.asarray(fit.skill, dtype=float)
        above = fit.method in ESTIMATORS and ESTIMATORS[fit.method].weight_above_chance
        return (n_classes * skill_j - 1 if above else skill_j), "votes"
    log_jkl = np.log(np.maximum(fit.confusion.reshape(-1, n_classes, n_classes), MOST_CERTAIN))
    pair_kl = np.outer(fit.prior, fit.prior) * (1 - np.eye(n_classes))  # the class named l, the other k
    pair_kl /= max(float(pair_kl.sum()), MOST_CERTAIN)
    right_jl = np.einsum("jll->jl", log_jkl)
    weight_j = right_jl @ pair_kl.sum(axis=0) - np.einsum("kl,jkl->j", pair_kl, log_jkl)
    return np.broadcast_to(weight_j, (n_workers,)).copy(), "nats"


def _known_votes(accuracy_j: FloatArray, doubt_j: FloatArray, votes_j: NDArray[np.int64]) -> FloatArray:
    """The votes that the doubt about the labels leaves: Louis' missing-information principle.

    A vote known to be right with probability q tells 1 - q (1 - q) / (p (1 - p)) as much as one with a known label.
    """
    spread_j = np.maximum(accuracy_j * (1 - accuracy_j), 1e-12)
    return np.asarray(np.nan_to_num(votes_j * np.clip(1 - doubt_j / spread_j, 0, 1)))


def _interval(accuracy_j: FloatArray, known_j: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Clopper-Pearson with the known votes."""
    from scipy.special import betaincinv

    right_j, tail = np.nan_to_num(known_j * accuracy_j), (1 - level) / 2
    wrong_j = known_j - right_j
    tiny = 1e-12  # the ends are 0 and 1 where nothing was right, nothing wrong
    low_j = np.where(right_j > tiny, betaincinv(np.maximum(right_j, tiny), wrong_j + 1, tail), 0.0)
    high_j = np.where(wrong_j > tiny, betaincinv(right_j + 1, np.maximum(wrong_j, tiny), 1 - tail), 1.0)
    return low_j, high_j


def _sum_by_worker(votes: Votes, value_n: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(votes.worker_n, weights=value_n, minlength=len(votes.workers)), dtype=float)


@dataclass(frozen=True, slots=True)
class Removal:
    """The rule fitted again without some workers' votes."""

    workers: int
    votes: int  # votes that go
    labels_changed: int  # items with another label, or with a tie opened or settled
    items_lost: int  # items left without votes


def removal(
    votes: Votes,
    labels: Fit,
    workers: Workers,
    refit: Refit,
    *,
    grounds: Sequence[str] = GROUNDS,
) -> Removal | None:
    """Fit again without the workers flagged for one of the grounds; None where nobody is, or nobody would remain."""
    gone_j = np.array([any(flag in grounds for flag in flags) for flags in workers.flags], dtype=bool)
    if not gone_j.any() or not (workers.votes_j[~gone_j] > 0).any():
        return None
    left = without_workers(votes, gone_j)
    after = refit(left)
    kept_i = left.votes_i > 0
    return Removal(
        workers=int(gone_j.sum()),
        votes=votes.n_votes - left.n_votes,
        labels_changed=int((after.codes() != labels.codes())[kept_i].sum()),
        items_lost=int(((votes.votes_i > 0) & ~kept_i).sum()),
    )


def without_workers(votes: Votes, gone_j: NDArray[np.bool_]) -> Votes:
    """The votes of the other workers; all items and workers keep their places."""
    kept = np.flatnonzero(~gone_j[votes.worker_n])
    return Votes.from_codes(
        votes.item_n[kept],
        votes.worker_n[kept],
        votes.label_n[kept],
        items=votes.items,
        workers=votes.workers,
        labels=votes.labels,
        account=votes.account,
        gold=votes.gold_i,
        abstained=votes.abstained_i,
        seconds=None if votes.seconds_n is None else votes.seconds_n[kept],
    )
