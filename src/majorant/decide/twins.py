"""Workers who repeat each other: pairs that agree on their common items far more than their accuracy explains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.decide.flags import Flag
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray
from majorant.tally import pair_counts, partner_votes
from majorant.votes import IntArray, Votes

COMMON_ITEMS = 20  # that a pair must share
REPEATED = 0.5  # share of the agreement beyond chance, given the truth, from which a worker mostly repeats the other
MOST_PARTNERS = 50_000_000  # pairs of votes; beyond, pairs of workers are not looked at
MOST_PAIRS = 2_000  # pairs of workers looked at closely, those that agree most


class Pairs(NamedTuple):
    """Pairs of workers with enough items in common, and how often they agree; axis p."""

    a_p: IntArray
    b_p: IntArray
    items_p: IntArray
    agreed_p: IntArray


def twin_flags(votes: Votes, fit: Fit, accuracy_j: FloatArray, level: float) -> list[list[Flag]]:
    """A flag for the weaker worker of each pair that mostly repeats itself.

    Given the truth, two workers agree by chance as often as their accuracies say.  The truth of a common item is judged
    without the two votes; all pairs with enough common items share the level (Bonferroni).
    """
    flags: list[list[Flag]] = [[] for _ in votes.workers]
    if int(partner_votes(votes).sum()) > MOST_PARTNERS:
        return flags
    pairs, n_tested = _pairs(votes)
    confusion_jkl = _confusions(votes, fit)
    for a, b, items, agreed in zip(*pairs, strict=True):
        expected_i = _expected(votes, fit, confusion_jkl, int(a), int(b))
        excess = agreed - expected_i.sum()
        if excess < REPEATED * (items - expected_i.sum()) or _tail(excess, expected_i) * n_tested > 1 - level:
            continue
        weak, good = (a, b) if accuracy_j[a] < accuracy_j[b] else (b, a)
        text = (
            f"same label as {votes.workers[good]} on {agreed:,} of {items:,} common items; "
            f"{expected_i.mean():.0%} would be expected"
        )
        flags[weak].append(Flag("redundant", text))
    return flags


def _pairs(votes: Votes) -> tuple[Pairs, int]:
    """The pairs that agree most among those with enough common items, and how many there are of these."""
    parts = []
    for found in pair_counts(votes):
        enough = np.flatnonzero(found.items_p >= COMMON_ITEMS)
        parts.append(
            np.stack(
                [found.worker_a_p[enough], found.worker_b_p[enough], found.items_p[enough], found.agreed_p[enough]]
            )
        )
    table = np.concatenate(parts, axis=1) if parts else np.empty((4, 0), dtype=np.int64)
    order = np.argsort(-(table[3] / np.maximum(table[2], 1)), kind="stable")[:MOST_PAIRS]
    return Pairs(*table[:, order]), table.shape[1]


def _confusions(votes: Votes, fit: Fit) -> FloatArray:
    """Each worker's matrix against the labels as believed, with a vote of the crowd's added to each row."""
    _, n_workers, n_classes = votes.shape
    counts_jkl = np.zeros((n_workers, n_classes, n_classes))
    for k in range(n_classes):
        column_n = votes.worker_n.astype(np.int64) * n_classes + votes.label_n
        weight_n = fit.posterior[votes.item_n, k]
        counts_jkl[:, k] = np.bincount(column_n, weight_n, n_workers * n_classes).reshape(n_workers, n_classes)
    crowd_kl = counts_jkl.sum(axis=0) + 1.0
    counts_jkl += crowd_kl / crowd_kl.sum(axis=1, keepdims=True)
    return np.asarray(counts_jkl / counts_jkl.sum(axis=2, keepdims=True))


def _expected(votes: Votes, fit: Fit, confusion_jkl: FloatArray, a: int, b: int) -> FloatArray:
    """For each common item the probability that the two agree, the truth judged by the other votes."""
    first, second = (np.flatnonzero(votes.worker_n == j) for j in (a, b))
    common_i, at_a, at_b = np.intersect1d(votes.item_n[first], votes.item_n[second], return_indices=True)
    label_a, label_b = votes.label_n[first[at_a]], votes.label_n[second[at_b]]
    without_ik = fit.posterior[common_i] / (confusion_jkl[a, :, label_a] * confusion_jkl[b, :, label_b])
    without_ik /= without_ik.sum(axis=1, keepdims=True)
    agree_k = np.einsum("kl,kl->k", confusion_jkl[a], confusion_jkl[b])
    return np.asarray(without_ik @ agree_k)


def _tail(excess: float, expected_i: FloatArray) -> float:
    """A bound on the probability of so much agreement by chance: Bernstein's inequality."""
    variance = float((expected_i * (1 - expected_i)).sum())
    return float(np.exp(-(excess**2) / (2 * (variance + excess / 3)))) if excess > 0 else 1.0
