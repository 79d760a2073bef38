"""IAA (Bucarelli et al. 2023): one shared confusion matrix, estimated from how often two votes on an item agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.arguments import validated
from majorant.errors import ConfigError, NotIdentified
from majorant.kernels import Block, Engine, gather, shares, weighted_sum
from majorant.methods.fit import Fit, Traits
from majorant.methods.tables import VoteData, confusion_tables, prepare
from majorant.values import FloatArray
from majorant.votes import Votes


class PairSums(NamedTuple):
    """Pairs of votes on the same item by their labels, (K, K), and all votes by label, (K,)."""

    pairs_lm: FloatArray
    votes_l: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class IAA:
    """The most probable class under a symmetric confusion matrix shared by all workers, learned from pairs of votes.

    If the matrix T is symmetric and classes are equally common, two votes on an item have labels (l, m) with
    probability (T T)[l, m] / K. So T is the square root of the table of pairs, scaled by the label shares and then
    projected onto the symmetric stochastic matrices with a diagonal of at least 1/2.

    Parameters
    ----------
    prior : {"labels", "corrected"}
        "labels" uses the label shares as class shares, as the paper does; "corrected" corrects them for the confusion.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 0, 1, 1, 0, 1], items="abc", workers="xy",
    ...                          labels=("no", "yes"))
    >>> IAA().fit(votes).confusion.round(3).tolist()
    [[0.789, 0.211], [0.211, 0.789]]
    """

    name: ClassVar[str] = "iaa"
    traits: ClassVar[Traits] = Traits(needs="overlap", distributed=True, naive_bayes=True)

    prior: Literal["labels", "corrected"] = "labels"

    def __post_init__(self) -> None:
        if self.prior not in ("labels", "corrected"):
            raise ConfigError(f"prior must be labels or corrected, not {self.prior!r}.")

    @validated
    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """The shared confusion matrix, the prior, and the posterior of each item."""
        data = prepare(votes, engine=engine, weights=weights)
        sums = sum_pairs(data)
        if not sums.pairs_lm.any():
            raise NotIdentified("iaa compares votes on the same item, but no item has two: use majority.")
        share_l = shares(sums.votes_l)
        confusion_kl = shared_confusion(sums.pairs_lm / sums.pairs_lm.sum(), share_l)
        prior_k = share_l if self.prior == "labels" else correct_prior(share_l, confusion_kl)
        each_jkl = np.broadcast_to(confusion_kl, (len(data.votes.workers), *confusion_kl.shape))
        posterior_ik = data.posterior(confusion_tables(each_jkl, prior_k))
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, confusion=confusion_kl)


def sum_pairs(data: VoteData) -> PairSums:
    """Count ordered pairs of votes on an item by their labels; all pairs of an item together count once."""
    totals = data.totals
    one_hot = np.tile(np.eye(totals.n_labels), (totals.n_workers, 1))

    def step(block: Block) -> PairSums:
        count_il = gather(block, one_hot)
        votes_i = count_il @ np.ones(totals.n_labels)
        pairs_i = votes_i * (votes_i - 1)  # a vote is not paired with itself
        scale_i = np.divide(1.0, pairs_i, out=np.zeros_like(pairs_i), where=pairs_i > 0)
        if block.weight_i is not None:
            scale_i = scale_i * block.weight_i
        pairs_lm = count_il.T @ (scale_i[:, None] * count_il) - np.diag(scale_i @ count_il)
        return PairSums(pairs_lm, weighted_sum(block, count_il))

    return data.engine.map_sum(step)


def shared_confusion(pairs_lm: FloatArray, share_l: FloatArray) -> FloatArray:
    """The symmetric confusion matrix that explains a table of pairs summing to 1; unused labels are left out."""
    root_l = np.divide(1.0, np.sqrt(share_l), out=np.zeros_like(share_l), where=share_l > 0)
    value_g, vector_lg = np.linalg.eigh(root_l[:, None] * pairs_lm * root_l)
    root_lm = (vector_lg * np.sqrt(np.maximum(value_g, 0.0))) @ vector_lg.T  # negative only by chance
    return project_symmetric(root_lm, least=0.5)


def correct_prior(share_l: FloatArray, confusion_kl: FloatArray) -> FloatArray:
    """The class shares that come closest to producing these label shares."""
    solved_k = np.asarray(np.linalg.lstsq(confusion_kl.T, share_l, rcond=1e-6)[0], dtype=np.float64)
    return project_simplex(solved_k)


def project_simplex(value_k: FloatArray) -> FloatArray:
    """The nearest probabilities: subtract the same amount from all entries and set negative ones to 0.

    >>> project_simplex(np.array([.9, .4, -.2])).tolist()
    [0.75, 0.25, 0.0]
    """
    falling_k = np.sort(value_k)[::-1]
    excess_k = (np.cumsum(falling_k) - 1) / np.arange(1, len(value_k) + 1)
    kept = np.flatnonzero(falling_k > excess_k)[-1]
    return np.asarray(np.maximum(value_k - excess_k[kept], 0.0))


def project_symmetric(matrix: FloatArray, *, least: float, tol: float = 1e-12, max_iter: int = 10_000) -> FloatArray:
    """The nearest symmetric matrix with rows that sum to 1, no negative entry, and a diagonal of at least `least`.

    Uses Dykstra's alternating projections between the matrices with these row sums, an affine set with a closed-form
    projection, and those within these bounds.

    >>> project_symmetric(np.array([[.9, .3], [.1, .2]]), least=.5).round(6).tolist()
    [[0.675, 0.325], [0.325, 0.675]]
    """
    n = len(matrix)
    floor = least * np.eye(n)
    bounded, correction = (matrix + matrix.T) / 2, np.zeros((n, n))
    for _ in range(max_iter):
        summed = _fix_sums(bounded)  # affine sets need no correction term
        free = summed + correction
        bounded_next = np.maximum(free, floor)
        correction = free - bounded_next
        moved = max(np.abs(bounded_next - bounded).max(), np.abs(bounded_next - summed).max())
        bounded = bounded_next
        if moved <= tol:
            break
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))


def _fix_sums(matrix: FloatArray) -> FloatArray:
    """For a symmetric matrix, the nearest one with rows that sum to 1: add a vector u to every row and column."""
    n = len(matrix)
    lack = 1 - matrix.sum(axis=1)
    added = (lack - lack.sum() / (2 * n)) / n
    return np.asarray(matrix + added[:, None] + added)
