"""Each worker's accuracy with its interval, agreement, and flags.

Accuracy comes from gold labels if there are enough.  Otherwise it is estimated from the votes of a crowd, with
intervals widened according to public data.  The votes of a panel do not show the accuracy of a single judge, because
judges may share mistakes.  Flags are statistical tests, corrected for the number of workers: docs/workers.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import LEVEL
from majorant.evidence.copies import Copies, find_copies
from majorant.items import MOST_STUDIED, sample_items, sum_parts, without_workers
from majorant.known import KnownJudges
from majorant.methods.fit import Fit
from majorant.results.calibrate import Refit
from majorant.setting import Setting
from majorant.tabular import Tabular
from majorant.tally import counts, votes_by_worker
from majorant.values import FloatArray, binomial_bounds, lock
from majorant.votes import IntArray, Votes

FEW_VOTES = 10  # with fewer votes, intervals are too wide to be useful


class FlagKind(StrEnum):
    """Why a worker is flagged."""

    ADVERSARIAL = "adversarial"  # worse than guessing
    NEAR_CHANCE = "near chance"  # barely better than guessing
    ONE_LABEL = "one label"
    TOO_FAST = "too fast"
    COPY = "copy"  # repeats another worker
    DISAGREES = "disagrees"  # a judge of a panel who agrees with the others no more than by chance
    FEW_VOTES = "too few votes"  # to assess the worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """Why a worker is flagged, and the evidence; `kind` determines which numbers are given."""

    kind: FlagKind
    votes: int
    accuracy: float | None = None
    chance: float | None = None  # accuracy of guessing with the same label frequencies
    typical: float | None = None  # median accuracy
    label: Hashable = None
    times: float | None = None  # 1 / probability that a typical worker gives this label to all these items
    share: float | None = None  # share of votes in less than a third of the usual time
    others: float | None = None  # the same share among the others
    seconds: float | None = None  # median time of a vote
    other: Hashable = None  # the worker who is copied
    agreed: int | None = None  # common items on which both agree
    shared: int | None = None  # common items
    agreement: float | None = None  # with other votes on the same items; then `chance` is the agreement by chance


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Workers(Tabular):
    """What is known about each worker; axis j.

    Attributes
    ----------
    known_j : array of float
        Effective number of votes, given the uncertainty about the labels.
    accuracy_j, low_j, high_j : array of float
        Share of right votes with its interval: from gold where `by_gold_j`, else estimated from the votes of a crowd;
        NaN without votes, and for panels without gold.
    chance_j : array of float
        Accuracy of guessing with the same label frequencies.
    agreement_j : array of float
        Share of the other votes on the same items that agree.
    gold_votes_j, gold_right_j : array
        Number of votes on items with a gold label, and how many of them are right.
    flags : tuple of tuple of Flag
        Flags of each worker.
    mistakes : tuple of tuple
        For workers near chance or worse, items that they got wrong, which can be used for training.
    panel : bool
        Whether these are judges of a panel.
    judges : KnownJudges or None
        Who the judges of a panel are.
    """

    names: tuple[Hashable, ...]
    votes_j: NDArray[np.int64]
    known_j: FloatArray
    accuracy_j: FloatArray
    low_j: FloatArray
    high_j: FloatArray
    by_gold_j: NDArray[np.bool_]
    chance_j: FloatArray
    agreement_j: FloatArray
    gold_votes_j: NDArray[np.int64]
    gold_right_j: FloatArray
    panel: bool
    level: float
    labels: tuple[Hashable, ...] = ()
    confusion_jkl: FloatArray | None = None  # estimated; None on panels and with many classes
    flags: tuple[tuple[Flag, ...], ...] = ()
    mistakes: tuple[tuple[Hashable, ...], ...] = ()
    judges: KnownJudges | None = None

    def __post_init__(self) -> None:
        lock(self)

    @property
    def good_j(self) -> NDArray[np.bool_]:
        """Workers who are clearly better than guessing, and right on at least 75% of their votes."""
        with np.errstate(invalid="ignore"):
            return (self.low_j > self.chance_j) & (self.accuracy_j >= 0.75)

    @property
    def weak_j(self) -> NDArray[np.bool_]:
        """Workers at or below chance level."""
        weak = (FlagKind.ADVERSARIAL, FlagKind.NEAR_CHANCE)
        return np.array([any(flag.kind in weak for flag in flags) for flags in self.flags], dtype=bool)

    @property
    def worst_first(self) -> IntArray:
        """Codes of the workers, worst first by accuracy (if unknown, by agreement); those with few votes come last."""
        quality_j = self.agreement_j if np.isnan(self.accuracy_j).all() else self.accuracy_j
        return np.lexsort((np.nan_to_num(quality_j, nan=2.0), ~self.weak_j, self.votes_j < FEW_VOTES))

    def table(self) -> dict[str, Any]:
        """One row per worker, worst first.

        `accuracy` is from gold labels, `estimated_accuracy` from votes alone.  Panels without gold have neither.
        """
        order = self.worst_first
        columns: dict[str, Any] = {"worker": [self.names[j] for j in order], "votes": self.votes_j[order]}
        if self.judges is not None and self.judges.n_known:
            known = [self.judges.judges[j] for j in order]
            columns["model"] = [judge.model for judge in known]
            columns["rating"] = np.array([np.nan if judge.rating is None else judge.rating for judge in known])
        ends = {"accuracy": self.accuracy_j, "low": self.low_j, "high": self.high_j}
        if self.gold_votes_j.any():
            columns["gold_votes"] = self.gold_votes_j[order]
            columns |= {name: np.where(self.by_gold_j, value, np.nan)[order].round(6) for name, value in ends.items()}
        if not self.panel:
            columns |= {
                f"estimated_{name}": np.where(self.by_gold_j, np.nan, value)[order].round(6)
                for name, value in ends.items()
            }
        if not self.panel or self.gold_votes_j.any():
            columns["chance"] = self.chance_j[order].round(6)
        columns["agreement"] = self.agreement_j[order].round(6)
        columns["flags"] = ["; ".join(flag.kind for flag in self.flags[j]) for j in order]
        columns["wrong_on"] = ["; ".join(map(str, self.mistakes[j])) for j in order]
        if self.confusion_jkl is not None:
            for k, truth in enumerate(self.labels):
                for l, given in enumerate(self.labels):
                    columns[f"{truth} labelled {given}"] = self.confusion_jkl[order, k, l].round(6)
        return columns


def assess_workers(
    votes: Votes,
    fit: Fit,
    *,
    level: float = LEVEL,
    copies: Copies | None = None,
    setting: Setting | None = None,
) -> Workers:
    """Accuracy, agreement and flags of each worker.

    Parameters
    ----------
    votes : Votes
        The votes.  If there are very many, flags about single labels and speed come from a sample of the items.
    fit : Fit
        A fit to these votes.
    level : float
        Confidence level of intervals and flags.
    copies : Copies, optional
        Workers who copy another; detected by default.
    setting : Setting, optional
        Panel or crowd; detected by default.

    Returns
    -------
    Workers
        One entry per worker, in the order of `votes.workers`.
    """
    some = sample_items(votes)
    of_some: Fit = some.of(fit)
    sums = sum_parts(worker_sums, votes, fit)
    setting = Setting.of(votes) if setting is None else setting
    workers = _rate(votes.workers, sums, fit, panel=setting.panel, level=level)
    flags = _find_flags(some.votes, of_some, workers, sums, find_copies(votes) if copies is None else copies)
    flagged = replace(workers, flags=flags, judges=setting.judges)
    return replace(flagged, mistakes=_mistakes(flagged, some.votes, of_some))


class WorkerSums(NamedTuple):
    """Sums over the votes of each worker; sums of parts of the items can be added."""

    votes_jl: NDArray[np.int64]
    right_j: FloatArray  # probabilities of being right
    doubt_j: FloatArray  # the variances q (1 - q) of these
    same_j: FloatArray  # shares of the other votes on the item that agree
    paired_j: FloatArray  # votes on items with other votes
    gold_jl: NDArray[np.int64]  # votes on items with a gold label
    gold_right_j: FloatArray
    gold_k: NDArray[np.int64]  # gold labels


def worker_sums(votes: Votes, fit: Fit) -> WorkerSums:
    """Sums over these votes, given a fit to the same items."""
    right_n = fit.posterior[votes.item_n, votes.label_n]
    others_n = votes.votes_i[votes.item_n] - 1
    same_n = counts(votes)[votes.item_n, votes.label_n] - 1
    paired_n = others_n > 0
    _, n_workers, n_classes = votes.shape
    gold_i = votes.truth_i
    known = np.flatnonzero(gold_i[votes.item_n] >= 0)
    cell = votes.worker_n[known].astype(np.int64) * n_classes + votes.label_n[known]
    right = (gold_i[votes.item_n[known]] == votes.label_n[known]).astype(float)
    return WorkerSums(
        votes_jl=votes_by_worker(votes),
        right_j=_sum_by_worker(votes, right_n),
        doubt_j=_sum_by_worker(votes, right_n * (1 - right_n)),
        same_j=_sum_by_worker(votes, np.where(paired_n, same_n / np.maximum(others_n, 1), 0.0)),
        paired_j=_sum_by_worker(votes, paired_n.astype(float)),
        gold_jl=np.bincount(cell, minlength=n_workers * n_classes).reshape(n_workers, n_classes),
        gold_right_j=np.bincount(votes.worker_n[known], weights=right, minlength=n_workers).astype(float),
        gold_k=np.bincount(gold_i[(gold_i >= 0) & (votes.votes_i > 0)], minlength=n_classes),
    )


def _rate(names: Sequence[Hashable], sums: WorkerSums, fit: Fit, *, panel: bool, level: float) -> Workers:
    """Accuracy from gold if a worker has enough gold votes (one on a panel), else estimated from a crowd's votes."""
    votes_j, gold_j = sums.votes_jl.sum(axis=1), sums.gold_jl.sum(axis=1)
    by_gold_j = gold_j >= (1 if panel else FEW_VOTES)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimated_j, doubt_j = sums.right_j / votes_j, sums.doubt_j / votes_j
        unknown_j = ~by_gold_j & (panel | (votes_j < FEW_VOTES))
        accuracy_j = np.where(unknown_j, np.nan, np.where(by_gold_j, sums.gold_right_j / gold_j, estimated_j))
        given_jl = np.where(by_gold_j[:, None], sums.gold_jl, sums.votes_jl)
        label_share_jl = given_jl / given_jl.sum(axis=1, keepdims=True)
        prior_k = sums.gold_k / sums.gold_k.sum()
        agreement_j = sums.same_j / sums.paired_j
    known_j = np.where(by_gold_j, gold_j, _known_votes(estimated_j, doubt_j, votes_j))
    # A model's intervals are too short: on 12 public crowds they cover 89% of 1,041 workers.  With half the votes and 5
    # more points at each end they cover 98%, or 96% averaged over crowds (benchmarks/truth.py).
    trusted_j = np.where(by_gold_j, 1.0, 0.5) * known_j
    low_j, high_j = binomial_bounds(np.nan_to_num(trusted_j * accuracy_j), trusted_j, (1 - level) / 2)
    slack_j = np.where(by_gold_j, 0.0, 0.05)
    low_j, high_j = np.maximum(low_j - slack_j, 0.0), np.minimum(high_j + slack_j, 1.0)
    chance_j = np.where(by_gold_j, label_share_jl @ np.nan_to_num(prior_k), label_share_jl @ fit.prior)
    has_matrices = fit.confusion is not None and fit.confusion.ndim == 3 and len(fit.label_values) <= 10
    return Workers(
        names=tuple(names),
        votes_j=votes_j,
        known_j=known_j,
        accuracy_j=accuracy_j,
        low_j=np.where(unknown_j, np.nan, low_j),
        high_j=np.where(unknown_j, np.nan, high_j),
        by_gold_j=by_gold_j,
        chance_j=np.where(unknown_j, np.nan, chance_j),
        agreement_j=agreement_j,
        gold_votes_j=gold_j,
        gold_right_j=sums.gold_right_j,
        panel=panel,
        level=level,
        labels=tuple(fit.label_values),
        confusion_jkl=fit.confusion if has_matrices and not panel else None,
    )


def _known_votes(accuracy_j: FloatArray, doubt_j: FloatArray, votes_j: NDArray[np.int64]) -> FloatArray:
    """Effective number of votes, given the uncertainty about the labels (Louis' missing-information principle).

    A vote that is right with probability q counts as 1 - q (1 - q) / (p (1 - p)) votes on an item with a known label.
    """
    spread_j = np.maximum(accuracy_j * (1 - accuracy_j), 1e-12)
    return np.asarray(np.nan_to_num(votes_j * np.clip(1 - doubt_j / spread_j, 0, 1)))


def _sum_by_worker(votes: Votes, value_n: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(votes.worker_n, weights=value_n, minlength=len(votes.workers)), dtype=float)


def _mistakes(workers: Workers, votes: Votes, fit: Fit) -> tuple[tuple[Hashable, ...], ...]:
    """Up to five items to train each weak worker on: wrong according to gold or to a label that is nearly certain."""
    truth_i = np.where(votes.truth_i >= 0, votes.truth_i, fit.posterior.argmax(axis=1))
    sure_i = np.where(votes.truth_i >= 0, 2.0, 0.0 if workers.panel else fit.posterior.max(axis=1))
    mistaken = np.flatnonzero((truth_i[votes.item_n] != votes.label_n) & (sure_i[votes.item_n] >= 0.95))
    mistaken = mistaken[workers.weak_j[votes.worker_n[mistaken]]]
    surest_first = mistaken[np.argsort(-sure_i[votes.item_n[mistaken]], kind="stable")]
    own: dict[int, dict[int, None]] = {}
    for j, i in zip(votes.worker_n[surest_first].tolist(), votes.item_n[surest_first].tolist(), strict=True):
        own.setdefault(j, {})[i] = None
    return tuple(tuple(votes.items[i] for i in [*own.get(j, ())][:5]) for j in range(len(workers.names)))


@dataclass(frozen=True, slots=True)
class Removal:
    """What changes when the rule is refitted without some workers."""

    workers: int
    votes: int  # number of removed votes
    labels_changed: int  # number of items with another label, or with a new or resolved tie
    items_lost: int  # number of items left without votes


def removal(
    votes: Votes,
    labels: Fit,
    workers: Workers,
    refit: Refit,
    *,
    grounds: Sequence[FlagKind] | None = None,
) -> Removal | None:
    """Refit without the workers flagged for one of these reasons.

    None if there are none, if nobody would remain, or if there are very many votes.
    """
    if votes.n_votes > MOST_STUDIED:
        return None
    if grounds is None:  # if judges share mistakes, the one who disagrees may be right
        grounds = [kind for kind in FlagKind if kind not in (FlagKind.FEW_VOTES, FlagKind.DISAGREES)]
    gone_j = np.array([any(flag.kind in grounds for flag in flags) for flags in workers.flags], dtype=bool)
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


def _find_flags(
    votes: Votes, fit: Fit, workers: Workers, sums: WorkerSums, copies: Copies
) -> tuple[tuple[Flag, ...], ...]:
    """The flags of each worker."""
    enough_j = workers.votes_j >= FEW_VOTES
    found = [
        *(
            (j, Flag(kind=FlagKind.FEW_VOTES, votes=int(workers.votes_j[j])))
            for j in np.flatnonzero(~enough_j).tolist()
        ),
        *_accuracy_flags(workers, enough_j & ~np.isnan(workers.accuracy_j)),
        *_one_label_flags(votes, fit, workers, sums, enough_j),
        *(() if votes.seconds_n is None else _speed_flags(votes, votes.seconds_n, enough_j, workers.level)),
        *_copy_flags(workers, copies),
        *(_disagreement_flags(workers, sums) if workers.panel else ()),
    ]
    flags: list[list[Flag]] = [[] for _ in workers.names]
    for j, flag in found:
        flags[j].append(flag)
    return tuple(map(tuple, flags))


def holm(p_value: FloatArray, tested: NDArray[np.bool_]) -> FloatArray:
    """p-values adjusted for the number of tests (Holm 1979); 1 if not tested.

    >>> holm(np.array([.01, .04, .5, .03]), np.array([True, True, False, True])).round(3).tolist()
    [0.03, 0.06, 1.0, 0.06]
    """
    adjusted = np.ones(len(p_value))
    rows = np.flatnonzero(tested)
    order = rows[np.argsort(p_value[rows], kind="stable")]
    times = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_value[order] * times), 1.0)
    return adjusted


def benjamini_hochberg(p_value: FloatArray, tested: NDArray[np.bool_]) -> FloatArray:
    """p-values adjusted to control the false discovery rate (Benjamini & Hochberg 1995); 1 if not tested.

    >>> benjamini_hochberg(np.array([.01, .04, .5, .03]), np.array([True, True, False, True])).round(3).tolist()
    [0.03, 0.04, 1.0, 0.04]
    """
    adjusted = np.ones(len(p_value))
    rows = np.flatnonzero(tested)
    order = rows[np.argsort(-p_value[rows], kind="stable")]
    ranks = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.minimum.accumulate(p_value[order] * len(order) / ranks), 1.0)
    return adjusted


def _accuracy_flags(workers: Workers, tested_j: NDArray[np.bool_]) -> Iterator[tuple[int, Flag]]:
    """Flag workers who are worse than guessing, or less than 15 points and half the typical lead above it."""
    accuracy_j, chance_j = np.nan_to_num(workers.accuracy_j), np.nan_to_num(workers.chance_j)
    typical = float(np.median(accuracy_j[tested_j])) if tested_j.any() else 0.0  # the median is robust to spammers
    worse_j = holm(_fewer(accuracy_j, workers.known_j, chance_j), tested_j) <= 1 - workers.level
    half_j = (chance_j + np.maximum(typical, chance_j)) / 2
    weak_j = benjamini_hochberg(_fewer(accuracy_j, workers.known_j, half_j), tested_j) <= 1 - workers.level
    near_j = weak_j & (accuracy_j < chance_j + 0.15)
    for j in np.flatnonzero(tested_j & (worse_j | near_j)).tolist():
        yield (
            j,
            Flag(
                kind=FlagKind.ADVERSARIAL if worse_j[j] else FlagKind.NEAR_CHANCE,
                votes=int(workers.votes_j[j]),
                accuracy=float(accuracy_j[j]),
                chance=float(chance_j[j]),
                typical=typical,
            ),
        )


def _fewer(accuracy_j: FloatArray, known_j: FloatArray, expected_j: FloatArray) -> FloatArray:
    """Probability of at most this many right votes if each is right with the expected probability."""
    from scipy.special import betainc

    right_j = known_j * accuracy_j
    wrong_j = np.maximum(known_j - right_j, 0.0)
    inside_j = wrong_j > 1e-12
    tail_j = betainc(np.where(inside_j, wrong_j, 1.0), right_j + 1, 1 - expected_j)  # P(binomial <= right)
    return np.where(inside_j, tail_j, 1.0)


def _one_label_flags(
    votes: Votes, fit: Fit, workers: Workers, sums: WorkerSums, enough_j: NDArray[np.bool_]
) -> Iterator[tuple[int, Flag]]:
    """Flag workers who always gave one label that a typical worker would not have given to all these items."""
    single_j = enough_j & (sums.votes_jl.max(axis=1, initial=0) == workers.votes_j)
    if not single_j.any():
        return
    log_chance_j = _sum_by_worker(votes, np.log(_crowd_chance(votes, fit)))
    p_value_j = np.exp(np.where(single_j, log_chance_j, 0.0))
    for j in np.flatnonzero(single_j & (holm(p_value_j, enough_j) <= 1 - workers.level)).tolist():
        yield (
            j,
            Flag(
                kind=FlagKind.ONE_LABEL,
                votes=int(workers.votes_j[j]),
                label=votes.labels[int(sums.votes_jl[j].argmax())],
                times=float(np.exp(min(-log_chance_j[j], 700.0))),  # larger values overflow
            ),
        )


def _crowd_chance(votes: Votes, fit: Fit) -> FloatArray:
    """Probability that a typical worker gives the label of each vote to its item."""
    n_classes = len(votes.labels)
    crowd_lk = np.empty((n_classes, n_classes))
    for k in range(n_classes):
        crowd_lk[:, k] = np.bincount(votes.label_n, weights=fit.posterior[votes.item_n, k], minlength=n_classes) + 0.5
    crowd_lk /= crowd_lk.sum(axis=0)
    chance_n = np.zeros(votes.n_votes)
    for k in range(n_classes):
        chance_n += fit.posterior[votes.item_n, k] * crowd_lk[votes.label_n, k]
    return np.maximum(chance_n, np.finfo(float).tiny)


def _speed_flags(
    votes: Votes, seconds_n: FloatArray, enough_j: NDArray[np.bool_], level: float
) -> Iterator[tuple[int, Flag]]:
    """Flag workers who gave most votes in under a third of the item's usual time, far more than others did."""
    from scipy.special import bdtrc

    timed = np.flatnonzero(np.isfinite(seconds_n))
    worker_t, second_t, n_workers = votes.worker_n[timed], seconds_n[timed], len(votes.workers)
    timed_j = np.bincount(worker_t, minlength=n_workers)
    fast_t = second_t / np.maximum(_usual_time(votes.item_n[timed], second_t), 1e-9) < 1 / 3
    fast_j = np.bincount(worker_t, weights=fast_t, minlength=n_workers)
    others_j = (fast_t.sum() - fast_j + 1) / (len(timed) - timed_j + 2)
    p_value_j = np.where(fast_j > 0, bdtrc(np.maximum(fast_j - 1, 0), timed_j, np.minimum(others_j, 1.0)), 1.0)
    shown_j = holm(p_value_j, enough_j & (timed_j >= FEW_VOTES)) <= 1 - level
    for j in np.flatnonzero(shown_j & (fast_j > timed_j / 2)).tolist():
        yield (
            j,
            Flag(
                kind=FlagKind.TOO_FAST,
                votes=int(timed_j[j]),
                share=float(fast_j[j] / timed_j[j]),
                others=float(others_j[j]),
                seconds=float(np.median(second_t[worker_t == j])),
            ),
        )


def _usual_time(item_t: IntArray, second_t: FloatArray) -> FloatArray:
    """Median time of the votes on each vote's item, or of all votes if the item has fewer than three."""
    from scipy.ndimage import median

    if not len(item_t):
        return second_t
    items, place_t, count_i = np.unique(item_t, return_inverse=True, return_counts=True)
    usual_i = np.asarray(median(second_t, item_t, items))
    return np.where(count_i >= 3, usual_i, np.median(second_t))[place_t]


def _copy_flags(workers: Workers, copies: Copies) -> Iterator[tuple[int, Flag]]:
    """Flag everyone in a group of copies except the first."""
    code = {name: j for j, name in enumerate(workers.names)}
    for group in copies.groups:
        first, *rest = group.workers
        for name, (agreed, shared) in zip(rest, group.with_first, strict=True):
            votes = int(workers.votes_j[code[name]])
            yield code[name], Flag(kind=FlagKind.COPY, votes=votes, other=first, agreed=agreed, shared=shared)


def _disagreement_flags(workers: Workers, sums: WorkerSums) -> Iterator[tuple[int, Flag]]:
    """Flag judges without gold who agree with the others no more than by chance, unlike the typical judge."""
    votes_jl = sums.votes_jl.astype(float)
    others_jl = votes_jl.sum(axis=0) - votes_jl
    with np.errstate(invalid="ignore", divide="ignore"):
        share_jl, rest_jl = (x / x.sum(axis=1, keepdims=True) for x in (votes_jl, others_jl))
        chance_j = (share_jl * rest_jl).sum(axis=1)
        excess_j, error_j = workers.agreement_j - chance_j, 0.5 / np.sqrt(sums.paired_j)
        tested_j = (workers.votes_j >= FEW_VOTES) & ~workers.by_gold_j & np.isfinite(excess_j)
        typical = float(np.median(excess_j[tested_j])) if tested_j.any() else 0.0
        out_j = tested_j & (excess_j < 2 * error_j) & (excess_j + 3 * error_j < typical)
    for j in np.flatnonzero(out_j).tolist():
        yield (
            j,
            Flag(
                kind=FlagKind.DISAGREES,
                votes=int(workers.votes_j[j]),
                agreement=float(workers.agreement_j[j]),
                chance=float(chance_j[j]),
            ),
        )
