"""IAA (Bucarelli et al. 2023): one shared confusion matrix from how often two votes on an item agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError, NotIdentified
from majorant.kernels import Block, Engine, gather, shares, weighted_sum
from majorant.methods.base import map_fit
from majorant.methods.em import Prepared, prepare
from majorant.methods.fit import Estimator, Fit
from majorant.values import FloatArray
from majorant.votes import Votes


class PairSums(NamedTuple):
    """Pairs of votes on one item by their labels, (K, K), and all votes by label, (K,)."""

    pairs_lm: FloatArray
    votes_l: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class IAA(Estimator):
    """All workers share one symmetric confusion matrix, learned from pairs of votes; then MAP with it.

    If T is symmetric and classes are even, two votes on an item have labels (l, m) with probability (T T)[l, m] / K:
    so T is the square root of the table of pairs, scaled by the label shares, brought to the nearest symmetric
    stochastic matrix with a diagonal of at least 1/2.  Each item's pairs count as one (`pairs="items"`), or each pair
    does (`"votes"`).  `prior="labels"` takes the label shares for class shares, as the paper does; `"corrected"`
    undoes the confusion first.

    >>> votes = Votes.from_codes([0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 0, 1, 1, 0, 1], items="abc", workers="xy",
    ...                          labels=("no", "yes"))
    >>> IAA().fit(votes).confusion.round(3).tolist()
    [[0.789, 0.211], [0.211, 0.789]]
    """

    name: ClassVar[str] = "iaa"
    distributed: ClassVar[bool] = True
    needs: ClassVar[str] = "overlap"

    pairs: Literal["items", "votes"] = "items"
    prior: Literal["labels", "corrected"] = "labels"

    def __post_init__(self) -> None:
        if self.pairs not in ("items", "votes"):
            raise ConfigError(f"pairs must be items or votes, not {self.pairs!r}.")
        if self.prior not in ("labels", "corrected"):
            raise ConfigError(f"prior must be labels or corrected, not {self.prior!r}.")

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """The shared confusion matrix, the prior, and the posterior of each item."""
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        sums = self._pair_sums(prepared)
        if not sums.pairs_lm.any():
            raise NotIdentified("iaa compares the votes on one item, and no item has two: use majority.")
        share_l = shares(sums.votes_l)
        confusion_kl = shared_confusion(sums.pairs_lm / sums.pairs_lm.sum(), share_l)
        prior_k = share_l if self.prior == "labels" else corrected_prior(share_l, confusion_kl)
        return map_fit(self.name, votes, prepared, confusion_kl, prior_k)

    def _pair_sums(self, prepared: Prepared) -> PairSums:
        totals = prepared.totals
        one_hot = np.tile(np.eye(totals.n_labels), (totals.n_workers, 1))

        def step(block: Block) -> PairSums:
            count_il = gather(block, one_hot)
            votes_i = count_il @ np.ones(totals.n_labels)
            pairs_i = votes_i * (votes_i - 1)
            share = np.divide(1.0, pairs_i, out=np.zeros_like(pairs_i), where=pairs_i > 0)
            # A vote is not its own pair: an item with n votes has n (n - 1) ordered pairs.
            scale_i = share if self.pairs == "items" else (pairs_i > 0).astype(float)
            if block.weight_i is not None:
                scale_i = scale_i * block.weight_i
            pairs_lm = count_il.T @ (scale_i[:, None] * count_il) - np.diag(scale_i @ count_il)
            return PairSums(pairs_lm, weighted_sum(block, count_il))

        return prepared.engine.map_sum(step)


def shared_confusion(pairs_lm: FloatArray, share_l: FloatArray) -> FloatArray:
    """The symmetric confusion matrix behind a table of pairs that sums to 1; a label never given has no say."""
    root_l = np.divide(1.0, np.sqrt(share_l), out=np.zeros_like(share_l), where=share_l > 0)
    value_g, vector_lg = np.linalg.eigh(root_l[:, None] * pairs_lm * root_l)
    root_lm = (vector_lg * np.sqrt(np.maximum(value_g, 0.0))) @ vector_lg.T  # below 0 by chance alone
    return project_symmetric(root_lm, least=0.5)


def corrected_prior(share_l: FloatArray, confusion_kl: FloatArray) -> FloatArray:
    """The class shares that lead to these label shares, as nearly as probabilities can."""
    solved_k = np.asarray(np.linalg.lstsq(confusion_kl.T, share_l, rcond=1e-6)[0], dtype=np.float64)
    return project_simplex(solved_k)


def project_simplex(value_k: FloatArray) -> FloatArray:
    """The nearest probabilities: all entries lowered by the same amount, those below 0 cut off.

    >>> project_simplex(np.array([.9, .4, -.2])).tolist()
    [0.75, 0.25, 0.0]
    """
    falling_k = np.sort(value_k)[::-1]
    excess_k = (np.cumsum(falling_k) - 1) / np.arange(1, len(value_k) + 1)
    kept = np.flatnonzero(falling_k > excess_k)[-1]
    return np.asarray(np.maximum(value_k - excess_k[kept], 0.0))


def project_symmetric(matrix: FloatArray, *, least: float, tol: float = 1e-12, max_iter: int = 10_000) -> FloatArray:
    """The nearest symmetric matrix with rows that sum to 1, entries of at least 0 and a diagonal of at least `least`.

    Dykstra's alternating projections between the matrices with the right sums, an affine set with a closed form, and
    those with the right bounds.

    >>> project_symmetric(np.array([[.9, .3], [.1, .2]]), least=.5).round(6).tolist()
    [[0.675, 0.325], [0.325, 0.675]]
    """
    n = len(matrix)
    floor = least * np.eye(n)
    bounded, correction = (matrix + matrix.T) / 2, np.zeros((n, n))
    for _ in range(max_iter):
        summed = _right_sums(bounded)  # affine: needs no correction
        free = summed + correction
        bounded_next = np.maximum(free, floor)
        correction = free - bounded_next
        moved = max(np.abs(bounded_next - bounded).max(), np.abs(bounded_next - summed).max())
        bounded = bounded_next
        if moved <= tol:
            break
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))


def _right_sums(matrix: FloatArray) -> FloatArray:
    """The nearest symmetric matrix whose rows sum to 1, for a symmetric one: add u to each row and to each column."""
    n = len(matrix)
    lack = 1 - matrix.sum(axis=1)
    added = (lack - lack.sum() / (2 * n)) / n
    return np.asarray(matrix + added[:, None] + added)
