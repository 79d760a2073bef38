"""Workers who repeat each other: pairs that agree on their common items far more than their accuracy explains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.answer.flags import Flag
from majorant.blocks import vote_columns
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray, shares
from majorant.tally import pair_counts, partner_votes
from majorant.votes import IntArray, Votes

COMMON_ITEMS = 20  # that a pair must share
REPEATED = 0.5  # share of the agreement beyond chance, given the truth, from which a worker mostly repeats the other
MOST_PARTNERS = 50_000_000  # pairs of votes; beyond, pairs of workers are not looked at
MOST_PAIRS = 1_000  # pairs of workers looked at closely, those that agree most beyond what their accuracy explains


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
