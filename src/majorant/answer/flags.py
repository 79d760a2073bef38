"""What stands out about a worker, each flag with its evidence; a crowd of honest workers is rarely flagged.

Every flag is a test, and its p-values are made good for the number of workers tested (Holm), so that in a crowd
without such a worker the flag is raised on anybody at all with a probability of at most 1 - level: docs/workers.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.blocks import vote_columns
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray, shares
from majorant.tally import pair_counts, partner_votes
from majorant.votes import IntArray, Votes

FEW_VOTES = 10  # below this an interval says next to nothing
NEAR_CHANCE = 0.1  # points above guessing that still count as near it, where the interval holds guessing
FAST = 1 / 3  # of the usual time on the item
MILLION = 1e6
FEW_TIMES = 3  # timed votes that an item needs for a usual time of its own
COMMON_ITEMS = 20  # that a pair must share
REPEATED = 0.5  # share of the agreement beyond chance, given the truth, from which a worker mostly repeats the other
MOST_PARTNERS = 50_000_000  # pairs of votes; beyond, pairs of workers are not looked at
MOST_PAIRS = 1_000  # pairs of workers looked at closely, those that agree most beyond what their accuracy explains


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
        flags[j].append(Flag("too few votes", f"{votes_j[j]} of the {FEW_VOTES} that a judgement takes"))
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
        text = (
            f"right on {accuracy_j[j]:.0%} of {votes_j[j]:,} votes; guessing {chance_j[j]:.0%}, the others {crowd:.0%}"
        )
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
        odds = np.exp(-log_chance_j[j])
        rare = f"1 in {odds:,.0f}" if odds < MILLION else "less than 1 in a million"
        text = f"{label} on all {votes_j[j]:,} votes; by the crowd's habits {rare}"
        flags[j].append(Flag("one label", text))


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
        text = (
            f"{fast_j[j] / timed_j[j]:.0%} of {timed_j[j]:,} votes in under a third of the usual time on the item, "
            f"{others_j[j]:.0%} of the others'; median {middle:.3g} s"
        )
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
        text = (
            f"same label as {votes.workers[good]} on {agreed:,} of {items:,} common items, "
            f"where {expected_i.mean():.0%} would be expected"
        )
        flags[weak].append(Flag("redundant", text))
    return flags


def _pairs(votes: Votes, accuracy_j: FloatArray) -> tuple[Pairs, int]:
    """The pairs worth a close look, and how many have enough common items."""
    parts, n_tested = [np.empty((4, 0), dtype=np.int64)], 0
    others = len(votes.labels) - 1
    for found in pair_counts(votes, min_items=COMMON_ITEMS):
        n_tested += len(found.items_p)
        right_a, right_b = accuracy_j[found.worker_a_p], accuracy_j[found.worker_b_p]
        chance_p = right_a * right_b + (1 - right_a) * (1 - right_b) / others
        near = found.agreed_p / found.items_p > chance_p + REPEATED / 2 * (1 - chance_p)
        columns = (found.worker_a_p, found.worker_b_p, found.items_p, found.agreed_p)
        parts.append(np.stack([column[near].astype(np.int64) for column in columns]))
    table = np.concatenate(parts, axis=1)
    order = np.argsort(-table[3] / np.maximum(table[2], 1), kind="stable")[:MOST_PAIRS]
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
