"""Who is good: each worker's accuracy with its interval, agreement, confusion, and what stands out, with evidence.

Every flag is a test, and its p-values are made good for the number of workers tested (Holm), so that in a crowd
without such a worker the flag is raised on anybody at all with a probability of at most 1 - level: docs/workers.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.backend import as_backend, fit_of_items, of_fit
from majorant.defaults import LEVEL
from majorant.evidence.certificate.claims import votes_of_items
from majorant.kernels import shares, vote_columns
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit
from majorant.results.calibrate import Refit
from majorant.tabular import Tabular
from majorant.tally import counts, pair_counts, partner_votes, votes_by_worker
from majorant.values import FloatArray, binomial_bounds, lock
from majorant.votes import IntArray, Votes
from majorant.wording import (
    HARMLESS,
    accuracy_evidence,
    few_votes_evidence,
    one_label_evidence,
    redundant_evidence,
    speed_evidence,
)

MOST_CONFUSION_COLUMNS = 100
MOST_CERTAIN = 1e-12  # a probability below this counts for no more
GOOD_ACCURACY = 0.75
GROUNDS = ("adversarial", "near chance", "one label", "too fast", "redundant")  # flags that speak for removal
FEW_VOTES = 10  # below this an interval says next to nothing
NEAR_CHANCE = 0.1  # points above guessing that still count as near it, where the interval holds guessing
FAST = 1 / 3  # of the usual time on the item
FEW_TIMES = 3  # timed votes that an item needs for a usual time of its own
COMMON_ITEMS = 20  # that a pair must share
REPEATED = 0.5  # share of the agreement beyond chance, given the truth, from which a worker mostly repeats the other
MOST_PARTNERS = 50_000_000  # pairs of votes; beyond, pairs of workers are not looked at
MOST_CLOSE_PAIRS = 1_000  # of workers looked at closely: those that agree most beyond what their accuracy explains


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
        return (self.low_j > self.chance_j) & (self.accuracy_j >= GOOD_ACCURACY)


def assess_workers(
    votes: Any, fit: Fit, some: Votes | None = None, item_p: IntArray | None = None, *, level: float = LEVEL
) -> Workers:
    """Accuracy, agreement and flags of each worker under a fit to all votes, wherever they lie.

    Habits, speed and twins are seen in `some` of the items, taken into memory: those with the codes `item_p`, by
    default all.
    """
    backend = as_backend(votes)
    if some is None:
        some = votes_of_items(backend, item_p)
    of_some = fit
    if item_p is not None or backend.whole is not some:
        of_some = fit_of_items(backend, fit, np.arange(backend.votes.shape[0]) if item_p is None else item_p)
    return workers_from(backend.sum(of_fit(worker_sums, fit), doing="judging"), some, of_some, level=level)


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
    low_j, high_j = binomial_bounds(np.nan_to_num(known_j * accuracy_j), known_j, (1 - level) / 2)
    chance_j = label_share_jl @ fit.prior
    flags_j = find_flags(votes, fit, WorkerRecord(votes_jl, known_j, accuracy_j, low_j, high_j, chance_j), level)
    flags_j = [own + more for own, more in zip(flags_j, redundancy_flags(votes, fit, accuracy_j, level), strict=True)]
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
        flags=tuple(tuple(flag.flag for flag in raised) for raised in flags_j),
        evidence=tuple(tuple(flag.evidence for flag in raised) for raised in flags_j),
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
    >>> panel = np.array([[[.8, .2], [.2, .8]], [[.5, .5], [.5, .5]]])
    >>> from majorant.methods.known_workers import GivenMap
    >>> fit = GivenMap(prior=[.5, .5], confusion=panel).fit(votes)
    >>> [round(w, 3) for w in vote_weights(votes, fit)[0].tolist()]
    [1.386, 0.0]
    """
    _, n_workers, n_classes = votes.shape
    if fit.confusion is None and fit.skill is None:
        return np.ones(n_workers), "votes"
    if fit.confusion is None or (fit.confusion.ndim == 2 and fit.skill is not None):
        skill_j = np.asarray(fit.skill, dtype=float)
        above = fit.method in ESTIMATORS and ESTIMATORS[fit.method].traits.weight_above_chance
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


class Flag(NamedTuple):
    """What stands out, and the numbers that say so."""

    flag: str
    evidence: str


class WorkerRecord(NamedTuple):
    """What the flags are judged by; axis j."""

    votes_jl: IntArray
    known_j: FloatArray  # votes that the doubt about the labels leaves
    accuracy_j: FloatArray
    low_j: FloatArray
    high_j: FloatArray
    chance_j: FloatArray


def find_flags(votes: Votes, fit: Fit, record: WorkerRecord, level: float) -> list[list[Flag]]:
    """The flags of each worker, those about accuracy first."""
    flags: list[list[Flag]] = [[] for _ in votes.workers]
    votes_j = record.votes_jl.sum(axis=1)
    for j in np.flatnonzero(votes_j < FEW_VOTES):
        flags[j].append(Flag(HARMLESS, few_votes_evidence(votes_j[j], FEW_VOTES)))
    enough_j = votes_j >= FEW_VOTES
    _accuracy_flags(flags, record, enough_j, level)
    _one_label_flags(flags, votes, fit, record, enough_j, level)
    if votes.seconds_n is not None:
        _speed_flags(flags, votes, votes.seconds_n, enough_j, level)
    return flags


def holm(p_value: FloatArray, tested: NDArray[np.bool_]) -> FloatArray:
    """p-values made good for the number of tests (Holm 1979); 1 where nothing was tested.

    >>> holm(np.array([.01, .04, .5, .03]), np.array([True, True, False, True])).round(3).tolist()
    [0.03, 0.06, 1.0, 0.06]
    """
    adjusted = np.ones(len(p_value))
    rows = np.flatnonzero(tested)
    order = rows[np.argsort(p_value[rows], kind="stable")]
    times = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_value[order] * times), 1.0) if len(order) else []
    return adjusted


def _accuracy_flags(flags: list[list[Flag]], record: WorkerRecord, enough_j: NDArray[np.bool_], level: float) -> None:
    """Worse than guessing; or not told from guessing, and less than half as far above it as the middle worker."""
    accuracy_j, chance_j = np.nan_to_num(record.accuracy_j), np.nan_to_num(record.chance_j)
    votes_j = record.votes_jl.sum(axis=1)
    crowd = float(np.median(accuracy_j[enough_j])) if enough_j.any() else 0.0  # spammers do not pull it down
    worse_j = holm(_fewer(accuracy_j, record.known_j, chance_j), enough_j) <= 1 - level
    half_j = (chance_j + np.maximum(crowd, chance_j)) / 2
    weak_j = holm(_fewer(accuracy_j, record.known_j, half_j), enough_j) <= 1 - level
    near_j = (record.low_j <= chance_j) & (chance_j <= record.high_j) & (accuracy_j < chance_j + NEAR_CHANCE)
    for j in np.flatnonzero(enough_j):
        text = accuracy_evidence(accuracy_j[j], votes_j[j], chance_j[j], crowd)
        if worse_j[j]:
            flags[j].append(Flag("adversarial", text))
        elif near_j[j] and weak_j[j]:
            flags[j].append(Flag("near chance", text))


def _fewer(accuracy_j: FloatArray, known_j: FloatArray, expected_j: FloatArray) -> FloatArray:
    """The probability of at most so many right votes if each is right with the probability expected."""
    from scipy.special import betainc

    right_j = known_j * accuracy_j
    wrong_j = np.maximum(known_j - right_j, 0.0)
    inside_j = wrong_j > 1e-12
    tail_j = betainc(np.where(inside_j, wrong_j, 1.0), right_j + 1, 1 - expected_j)  # P(binomial <= right)
    return np.where(inside_j, tail_j, 1.0)


def _one_label_flags(
    flags: list[list[Flag]], votes: Votes, fit: Fit, record: WorkerRecord, enough_j: NDArray[np.bool_], level: float
) -> None:
    """One label throughout, where a worker like the rest of the crowd would not have given it on all these items."""
    votes_j = record.votes_jl.sum(axis=1)
    single_j = enough_j & (record.votes_jl.max(axis=1, initial=0) == votes_j)
    if not single_j.any():
        return
    chance_n = _crowd_chance(votes, fit)
    log_chance_j = np.bincount(votes.worker_n, weights=np.log(chance_n), minlength=len(votes_j))
    found_j = single_j & (holm(np.exp(np.where(single_j, log_chance_j, 0.0)), enough_j) <= 1 - level)
    for j in np.flatnonzero(found_j):
        label = votes.labels[int(record.votes_jl[j].argmax())]
        flags[j].append(Flag("one label", one_label_evidence(label, votes_j[j], np.exp(-log_chance_j[j]))))


def _crowd_chance(votes: Votes, fit: Fit) -> FloatArray:
    """For each vote the probability that the crowd would have given this label to this item."""
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
    flags: list[list[Flag]], votes: Votes, seconds_n: FloatArray, enough_j: NDArray[np.bool_], level: float
) -> None:
    """Most votes in less than a third of the usual time on the item, far more than the others' votes are."""
    from scipy.special import bdtrc

    timed = np.flatnonzero(np.isfinite(seconds_n))
    n_workers = len(votes.workers)
    worker_t = votes.worker_n[timed]
    timed_j = np.bincount(worker_t, minlength=n_workers)
    ratio_t = seconds_n[timed] / np.maximum(_usual_time(votes, seconds_n)[votes.item_n[timed]], 1e-9)
    fast_t = ratio_t < FAST
    fast_j = np.bincount(worker_t, weights=fast_t, minlength=n_workers)
    others_j = (fast_t.sum() - fast_j + 1) / (len(timed) - timed_j + 2)
    tested_j = enough_j & (timed_j >= FEW_VOTES)
    p_value_j = np.where(fast_j > 0, bdtrc(np.maximum(fast_j - 1, 0), timed_j, np.minimum(others_j, 1.0)), 1.0)
    found_j = tested_j & (fast_j > timed_j / 2) & (holm(p_value_j, tested_j) <= 1 - level)
    for j in np.flatnonzero(found_j):
        middle = float(np.median(seconds_n[timed][worker_t == j]))
        text = speed_evidence(fast_j[j] / timed_j[j], timed_j[j], others_j[j], middle)
        flags[j].append(Flag("too fast", text))


def _usual_time(votes: Votes, seconds_n: FloatArray) -> FloatArray:
    """The median time of each item's votes; that of all votes where an item has too few."""
    timed = np.flatnonzero(np.isfinite(seconds_n))
    item_t, order_t = votes.item_n[timed], np.lexsort((seconds_n[timed], votes.item_n[timed]))
    sorted_t = seconds_n[timed][order_t]
    count_i = np.bincount(item_t, minlength=len(votes.items))
    start_i = np.concatenate([[0], np.cumsum(count_i)[:-1]])
    usual_i = np.full(len(votes.items), float(np.median(sorted_t)) if len(timed) else np.nan)
    known = np.flatnonzero(count_i >= FEW_TIMES)
    low, high = start_i[known] + (count_i[known] - 1) // 2, start_i[known] + count_i[known] // 2
    usual_i[known] = (sorted_t[low] + sorted_t[high]) / 2
    return usual_i


class Pairs(NamedTuple):
    """Pairs of workers with enough items in common, and how often they agree; axis p."""

    a_p: IntArray
    b_p: IntArray
    items_p: IntArray
    agreed_p: IntArray


class _ByWorker(NamedTuple):
    """The votes sorted by worker, then by item."""

    item_n: IntArray
    label_n: IntArray
    offsets_j: IntArray

    def of(self, j: int) -> tuple[IntArray, IntArray]:
        """The items and labels of one worker."""
        span = slice(self.offsets_j[j], self.offsets_j[j + 1])
        return self.item_n[span], self.label_n[span]


def redundancy_flags(votes: Votes, fit: Fit, accuracy_j: FloatArray, level: float) -> list[list[Flag]]:
    """A flag for the weaker worker of each pair that mostly repeats itself.

    Given the truth, two workers agree by chance as often as their matrices say.  The truth of a common item is judged
    without their two votes; all pairs with enough common items share the level (Bonferroni).
    """
    flags: list[list[Flag]] = [[] for _ in votes.workers]
    if len(votes.labels) < 2 or int(partner_votes(votes).sum()) > MOST_PARTNERS:
        return flags
    pairs, n_tested = _pairs(votes, accuracy_j)
    if not len(pairs.a_p):
        return flags
    confusion_jkl, sorted_votes = _confusions(votes, fit), _by_worker(votes)
    for a, b, items, agreed in zip(*(part.tolist() for part in pairs), strict=True):
        expected_i = _expected(sorted_votes, fit, confusion_jkl, a, b)
        excess = agreed - float(expected_i.sum())
        if excess < REPEATED * (items - expected_i.sum()) or _tail(excess, expected_i) * n_tested > 1 - level:
            continue
        weak, good = (a, b) if accuracy_j[a] < accuracy_j[b] else (b, a)
        text = redundant_evidence(votes.workers[good], agreed, items, expected_i.mean())
        flags[weak].append(Flag("redundant", text))
    return flags


def _pairs(votes: Votes, accuracy_j: FloatArray) -> tuple[Pairs, int]:
    """The pairs worth a close look, and how many have enough common items."""
    parts, n_tested = [np.empty((4, 0), dtype=np.int64)], 0
    others = len(votes.labels) - 1
    for pairs in pair_counts(votes, min_items=COMMON_ITEMS):
        n_tested += len(pairs.items_p)
        right_a, right_b = accuracy_j[pairs.worker_a_p], accuracy_j[pairs.worker_b_p]
        chance_p = right_a * right_b + (1 - right_a) * (1 - right_b) / others
        near = pairs.agreed_p / pairs.items_p > chance_p + REPEATED / 2 * (1 - chance_p)
        columns = (pairs.worker_a_p, pairs.worker_b_p, pairs.items_p, pairs.agreed_p)
        parts.append(np.stack([column[near].astype(np.int64) for column in columns]))
    table = np.concatenate(parts, axis=1)
    order = np.argsort(-table[3] / np.maximum(table[2], 1), kind="stable")[:MOST_CLOSE_PAIRS]
    return Pairs(*table[:, order]), n_tested


def _by_worker(votes: Votes) -> _ByWorker:
    order_n = np.argsort(votes.worker_n, kind="stable")
    offsets_j = np.concatenate([[0], np.cumsum(np.bincount(votes.worker_n, minlength=len(votes.workers)))])
    return _ByWorker(votes.item_n[order_n], votes.label_n[order_n], offsets_j)


def _confusions(votes: Votes, fit: Fit) -> FloatArray:
    """Each worker's matrix against the labels as believed, with a vote of the crowd's added to each row."""
    _, n_workers, n_classes = votes.shape
    column_n, counts_jkl = vote_columns(votes), np.zeros((n_workers, n_classes, n_classes))
    for k in range(n_classes):
        weight_n = fit.posterior[votes.item_n, k]
        counts_jkl[:, k] = np.bincount(column_n, weight_n, n_workers * n_classes).reshape(n_workers, n_classes)
    return shares(counts_jkl + shares(counts_jkl.sum(axis=0) + 1.0))


def _expected(sorted_votes: _ByWorker, fit: Fit, confusion_jkl: FloatArray, a: int, b: int) -> FloatArray:
    """For each common item the probability that the two agree, the truth judged by the other votes."""
    (item_a, label_a), (item_b, label_b) = sorted_votes.of(a), sorted_votes.of(b)
    common_i, at_a, at_b = np.intersect1d(item_a, item_b, return_indices=True)
    both_ik = confusion_jkl[a][:, label_a[at_a]].T * confusion_jkl[b][:, label_b[at_b]].T
    without_ik = shares(fit.posterior[common_i] / both_ik)
    agree_k = np.einsum("kl,kl->k", confusion_jkl[a], confusion_jkl[b])
    return np.asarray(without_ik @ agree_k)


def _tail(excess: float, expected_i: FloatArray) -> float:
    """A bound on the probability of so much agreement by chance: Bernstein's inequality."""
    variance = float((expected_i * (1 - expected_i)).sum())
    return float(np.exp(-(excess**2) / (2 * (variance + excess / 3)))) if excess > 0 else 1.0
