"""Every possible vote pattern on an item with its probability, to sum exact accuracies over."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from majorant.errors import ConfigError
from majorant.theory.checks import Ties
from majorant.values import FloatArray, safe_log

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer[Any]]
MAX_ENTRIES = 2**22  # most patterns times classes to enumerate: about a second and 200 MB
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class VotePatterns:
    """All vote patterns b (vote counts, or who voted what), without overlap.

    `log_given_kb` is log P(pattern b | class k); `deficit_kb` is by how many nats class k is less likely, given b, than
    the most likely class; `top_kb` is whether class k has the most votes.
    """

    log_given_kb: FloatArray
    deficit_kb: FloatArray
    top_kb: BoolArray
    rounding: float  # the largest error of a deficit, in nats, from rounding of inputs and sums


def can_enumerate(n_votes: int, n_classes: int) -> bool:
    """Whether there are few enough vote counts to enumerate; always True for two classes."""
    return n_classes == 2 or n_patterns([n_votes], n_classes) * n_classes <= MAX_ENTRIES


def shared_patterns(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int) -> VotePatterns:
    """The vote counts of `n_votes` voters with one confusion matrix."""
    n_classes = len(prior_k)
    if n_classes == 2:
        # b votes for class 0, b = 0..n_votes, in full precision for any number of votes
        log_odds_b, twice_b = log_odds(prior_k, confusion_kl, n_votes), 2 * np.arange(n_votes + 1)
        deficit_kb = np.maximum([-log_odds_b, log_odds_b], 0)
        top_kb = np.array([twice_b >= n_votes, twice_b <= n_votes])
        return VotePatterns(log_binomial(n_votes, confusion_kl), deficit_kb, top_kb, rounding=8 * EPS * (n_votes + 1))
    if not can_enumerate(n_votes, n_classes):
        raise ConfigError(
            f"{n_votes} votes over {n_classes} classes can fall in {n_patterns([n_votes], n_classes):,} ways, too many "
            f"to enumerate (limit {MAX_ENTRIES // n_classes:,})."
        )
    return group_patterns(prior_k, confusion_kl[None], [n_votes])


def group_patterns(prior_k: FloatArray, confusion_gkl: FloatArray, sizes: list[int]) -> VotePatterns:
    """All combinations of vote counts of several groups of voters; group g has `sizes[g]` identical voters."""
    n_classes = len(prior_k)
    log_ways_b, log_kernel_kb = np.zeros(1), np.zeros((n_classes, 1))
    count_lb = np.zeros((n_classes, 1), dtype=np.int32)
    for confusion_kl, size in zip(confusion_gkl, sizes, strict=True):
        count_lc = compositions(size, n_classes)
        log_ways_c = gammaln(size + 1) - gammaln(count_lc + 1).sum(axis=0)
        log_ways_b = np.add.outer(log_ways_b, log_ways_c).ravel()
        log_kernel_kc = log_kernel(count_lc, confusion_kl)
        log_kernel_kb = (log_kernel_kb[:, :, None] + log_kernel_kc[:, None]).reshape(n_classes, -1)
        count_lb = (count_lb[:, :, None] + count_lc[:, None]).reshape(n_classes, -1)
    deficit_kb = deficits(safe_log(prior_k)[:, None] + log_kernel_kb)
    largest = np.abs(log_kernel_kb[np.isfinite(log_kernel_kb)]).max(initial=0)
    rounding = 8 * EPS * (sum(sizes) + 1 + float(largest))
    return VotePatterns(log_ways_b + log_kernel_kb, deficit_kb, most_votes(count_lb), rounding)


def n_patterns(sizes: list[int], n_classes: int) -> int:
    """The number of combinations of the groups' vote counts."""
    return prod(comb(size + n_classes - 1, n_classes - 1) for size in sizes)


def compositions(total: int, n_classes: int) -> IntArray:
    """All vote counts (K, C) that add up to `total`.

    >>> compositions(2, 2).tolist()
    [[0, 1, 2], [2, 1, 0]]
    """
    if total == 1:
        return np.eye(n_classes, dtype=np.int32)
    count_lc = np.zeros((0, 1), dtype=np.int32)
    rest_c = np.array([total], dtype=np.int32)
    for _ in range(n_classes - 1):
        parent_c = np.repeat(np.arange(len(rest_c)), rest_c + 1)
        first_c = np.repeat(np.cumsum(rest_c + 1) - (rest_c + 1), rest_c + 1)
        votes_c = (np.arange(len(parent_c)) - first_c).astype(np.int32)
        count_lc = np.vstack([count_lc[:, parent_c], votes_c])
        rest_c = rest_c[parent_c] - votes_c
    return np.vstack([count_lc, rest_c])


def log_kernel(count_lc: IntArray, confusion_kl: FloatArray) -> FloatArray:
    """Sum over labels of count times log probability, (K, C); a label without votes adds 0."""
    never_kl = confusion_kl == 0
    kernel_kc = np.log(confusion_kl + never_kl) @ count_lc
    for k, l in zip(*never_kl.nonzero(), strict=True):
        kernel_kc[k, count_lc[l] > 0] = -np.inf
    return np.asarray(kernel_kc)


def deficits(log_joint_kb: FloatArray) -> FloatArray:
    """Log-odds of the most likely class against each class; 0 if no class is possible."""
    best_b = log_joint_kb.max(axis=0)
    possible_b = np.isfinite(best_b)
    return np.where(possible_b, np.where(possible_b, best_b, 0) - log_joint_kb, 0)


def most_votes(count_lb: IntArray) -> BoolArray:
    """Which classes have the most votes; several if there is a tie."""
    return np.asarray(count_lb == count_lb.max(axis=0))


def shares(top_kb: BoolArray, ties: Ties, prior_k: FloatArray) -> FloatArray:
    """Each class's share of pattern b: all for a single top class, or divided as `ties` says.

    random: equal shares; first: all to the class listed first; prior: all to the tied class with the largest prior,
    or equal shares if priors tie too; exclude: nothing to any class.

    >>> tie = np.array([[True], [True]])
    >>> [shares(tie, ties, np.array([.3, .7])).ravel().tolist() for ties in ("random", "first", "prior", "exclude")]
    [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    if ties == "prior":
        prior_kb = np.where(top_kb, prior_k[:, None], -1.0)
        top_kb = prior_kb == prior_kb.max(axis=0)
    elif ties == "first":
        top_kb = top_kb & (np.cumsum(top_kb, axis=0) == 1)
    n_top_b = top_kb.sum(axis=0)
    if ties == "exclude":
        return np.where(n_top_b == 1, top_kb, 0.0)
    return np.asarray(top_kb / n_top_b)


def majority_share_right(patterns: VotePatterns, prior_k: FloatArray, ties: Ties) -> float:
    """The probability that the majority label is right; under `exclude`, among the patterns without a tie."""
    return _share_right(patterns, prior_k, shares(patterns.top_kb, ties, prior_k))


def map_share_right(patterns: VotePatterns, prior_k: FloatArray, ties: Ties) -> float:
    """The probability that the most likely class is right; among equally likely classes, any will do."""
    share_kb = shares(patterns.deficit_kb == 0, "first", prior_k)
    return _share_right(patterns, prior_k, share_kb * ~_left_out(patterns, ties))


def share_lost(patterns: VotePatterns, prior_k: FloatArray, ties: Ties) -> float:
    """The gap, summed over the patterns where the rules differ, so that tiny gaps keep their digits."""
    lost_b = -(shares(patterns.top_kb, ties, prior_k) * np.expm1(-patterns.deficit_kb)).sum(axis=0)
    differ_b = lost_b > 0
    log_best_b = (patterns.log_given_kb[:, differ_b] + safe_log(prior_k)[:, None]).max(axis=0)
    lost = float(np.exp(log_best_b) @ lost_b[differ_b])
    if ties != "exclude":
        return lost
    kept_k = np.exp(patterns.log_given_kb[:, ~_left_out(patterns, ties)]).sum(axis=1)
    return lost / _refuse_nothing(float(prior_k @ kept_k))


def _left_out(patterns: VotePatterns, ties: Ties) -> BoolArray:
    tied_b = patterns.top_kb.sum(axis=0) > 1
    return np.asarray(tied_b & (ties == "exclude"))


def _share_right(patterns: VotePatterns, prior_k: FloatArray, share_kb: FloatArray) -> float:
    """Right over right plus wrong: near 1, the last digits depend only on the wrong, which is a small sum."""
    joint_kb = np.exp(patterns.log_given_kb + safe_log(prior_k)[:, None])
    right = (joint_kb * share_kb).sum()
    wrong = (joint_kb * (share_kb.any(axis=0) - share_kb)).sum()
    return float(right / _refuse_nothing(float(right + wrong)))


def _refuse_nothing(probability: float) -> float:
    if probability == 0:
        raise ConfigError("every possible vote is a tie, so nothing is left with ties='exclude'.")
    return probability


def log_binomial(n_votes: int, confusion_kl: FloatArray) -> FloatArray:
    """log P(h votes for class 0 | class k), (K, n_votes + 1) for h = 0..n_votes, from rows (hit, miss) that sum to 1.

    >>> np.exp(log_binomial(3, np.array([[.5, .5], [0, 1]]))).round(3).tolist()
    [[0.125, 0.375, 0.375, 0.125], [1.0, 0.0, 0.0, 0.0]]
    """
    hits = np.arange(n_votes + 1.0)
    if n_votes > 1_000:  # log-gamma functions are off by 1e-9 nats at a million votes
        from scipy.stats import binom

        return safe_log(binom.pmf(hits, n_votes, confusion_kl[:, :1]))
    log_ways_h = gammaln(n_votes + 1) - gammaln(hits + 1) - gammaln(n_votes - hits + 1)
    return np.asarray(xlogy(hits, confusion_kl[:, :1]) + xlogy(n_votes - hits, confusion_kl[:, 1:]) + log_ways_h)


def log_odds(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int) -> FloatArray:
    """Log-odds of class 0 given h votes for it, h = 0..n_votes; exactly 0 if they are 0 up to rounding.

    They are +-inf if the class is certain, and 0 for a count that neither class can produce.

    >>> log_odds(np.array([.6, .4]), np.array([[.6, .4], [.4, .6]]), 3).round(3).tolist()
    [-0.811, 0.0, 0.811, 1.622]
    """
    table = [[float(entry) for entry in row] for row in (*confusion_kl.T, prior_k)]
    per_hit, per_miss, none = (log(x) - log(y) if x and y else 0.0 for x, y in table)
    hits = np.arange(n_votes + 1.0)
    log_odds_h: FloatArray = none + hits * per_hit + (n_votes - hits) * per_miss
    rounding = 2 * EPS * (n_votes + 1) * max(-log(entry) for row in table for entry in row if entry)
    log_odds_h[np.abs(log_odds_h) <= rounding] = 0
    never_0, never_1 = (_never(prior_k[k], confusion_kl[k], n_votes) for k in (0, 1))
    log_odds_h[never_0] = -np.inf
    log_odds_h[never_1] = np.inf
    log_odds_h[never_0 & never_1] = 0
    return log_odds_h


def _never(prior: float, confusion_l: FloatArray, n_votes: int) -> NDArray[np.bool_]:
    """The numbers of votes for class 0 that a class cannot produce."""
    never_h = np.full(n_votes + 1, prior == 0)
    never_h[1:] |= confusion_l[0] == 0
    never_h[:-1] |= confusion_l[1] == 0
    return never_h
