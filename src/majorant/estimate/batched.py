"""One EM step of Dawid and Skene's model for many weightings of the same items at once.

Weightings are columns: a table of log-odds with a column each is gathered over the votes of the items, block of items
by block, so that a block's arrays stay in the cache.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from majorant.blocks import vote_columns
from majorant.kernels import FloatArray
from majorant.votes import Votes

T = TypeVar("T", bound=tuple[Any, ...])
ITEMS_PER_BLOCK = 1_024
VOTES_PER_COLUMN = 4  # of a block, at least: the sums by (worker, label) of a block are dense
MANY = 300_000  # items x weightings from which single precision is used; see `VoteMatrix`
NO_ODDS = 80.0  # log-odds beyond which nothing changes, and short of which exp does not overflow


class Params(NamedTuple):
    """Confusions (J, L, K, B) and class probabilities (K, B) of every weighting b, or of all of them (B = 1)."""

    confusion: FloatArray
    prior: FloatArray


class VoteMatrix(NamedTuple):
    """Who said what, items x (worker, label), as a whole and in blocks, each with its transpose.

    Blocks of very many items and weightings are in single precision: a rounding of 1e-7 in each posterior moves a sum
    of n votes by 1e-7 n at most, which is nothing against the chance deviation of root n that weightings stand for.
    """

    whole: Any
    blocks: tuple[tuple[Any, Any], ...]

    @property
    def single(self) -> bool:
        """Whether the blocks are in single precision."""
        return any(block.dtype == np.float32 for block, _ in self.blocks)


class Weighting(NamedTuple):
    """How often each item counts, (items of the block, B) for each block, and what follows for votes and items."""

    weights: tuple[NDArray[Any], ...]  # in the precision of the blocks
    votes_cb: FloatArray  # by (worker, label)
    items_b: FloatArray


def vote_matrix(votes: Votes, n_weightings: int, *, shared: bool) -> VoteMatrix:
    """The votes as sparse matrices; one worker stands for all if they share a confusion."""
    from scipy.sparse import csr_array

    n_items, n_workers, n_classes = votes.shape
    column_n = votes.label_n if shared else vote_columns(votes)
    n_columns = n_classes if shared else n_workers * n_classes
    dtype = np.float32 if n_items * n_weightings > MANY else np.float64

    def matrix(start: int, stop: int, dtype: Any) -> Any:
        first, last = votes.offsets_i[start], votes.offsets_i[stop]
        offsets_i = (votes.offsets_i[start : stop + 1] - first).astype(column_n.dtype)
        entries = (np.ones(last - first, dtype), column_n[first:last], offsets_i)
        return csr_array(entries, shape=(stop - start, n_columns))

    enough = int(VOTES_PER_COLUMN * n_columns * n_items / max(1, votes.n_votes))
    edges = [*range(0, n_items, max(ITEMS_PER_BLOCK, enough)), n_items]
    blocks = [matrix(start, stop, dtype) for start, stop in pairwise(edges)]
    return VoteMatrix(matrix(0, n_items, float), tuple((block, block.T) for block in blocks))


def weighting(matrix: VoteMatrix, weight_bi: NDArray[Any]) -> Weighting:
    """Rows of weights, (B, items), as the columns that an EM step needs."""
    weights, votes_cb, start = [], np.zeros((matrix.whole.shape[1], len(weight_bi))), 0
    for block, transpose in matrix.blocks:
        stop = start + block.shape[0]
        weight_ib = np.ascontiguousarray(weight_bi[:, start:stop].T, dtype=block.dtype)
        votes_cb += transpose @ weight_ib
        weights.append(weight_ib)
        start = stop
    return Weighting(tuple(weights), votes_cb, weight_bi.sum(axis=1, dtype=float))


def some(weighting: Weighting, kept_b: NDArray[np.bool_]) -> Weighting:
    """Some of the weightings."""
    weights = tuple(weight_ib[:, kept_b] for weight_ib in weighting.weights)
    return Weighting(weights, weighting.votes_cb[:, kept_b], weighting.items_b[kept_b])


def columns(arrays: T, kept_b: NDArray[np.bool_]) -> T:
    """Some of the weightings, the last axis of each array of a (named) tuple."""
    return type(arrays)(*(part[..., kept_b] for part in arrays))


def em_step(matrix: VoteMatrix, weighting: Weighting, params: Params, smoothing: float) -> Params:
    """The next parameters of every weighting, with `smoothing` imaginary votes in each cell and items in each class.

    All classes but the first, whose sums follow from the totals, go through a block side by side.
    """
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    n_others, n_weightings, dtype = n_classes - 1, len(weighting.items_b), matrix.blocks[0][0].dtype
    log_ckb = np.log(params.confusion, dtype=dtype).reshape(n_workers * n_labels, n_classes, -1)
    odds_cx = (log_ckb[:, 1:] - log_ckb[:, :1]).reshape(len(log_ckb), -1)  # x: classes and weightings
    start_kb = (np.log(params.prior[1:]) - np.log(params.prior[0])).astype(dtype)
    others_cx = np.zeros((len(log_ckb), n_others * n_weightings), dtype)
    items_kb = np.zeros((n_classes, n_weightings))
    for (block, transpose), weight_ib in zip(matrix.blocks, weighting.weights, strict=True):
        score_ikb = (block @ odds_cx).reshape(-1, *start_kb.shape) + start_kb
        part_ikb = _weighted_posterior(score_ikb, weight_ib)
        others_cx += transpose @ part_ikb.reshape(len(part_ikb), -1)
        items_kb[1:] += np.einsum("ikb->kb", part_ikb)
    count_ckb = np.empty((len(log_ckb), n_classes, n_weightings))
    count_ckb[:, 1:] = others_cx.reshape(-1, n_others, n_weightings)
    count_ckb[:, 0] = np.maximum(weighting.votes_cb - np.einsum("ckb->cb", count_ckb[:, 1:]), 0.0)
    items_kb[0] = np.maximum(weighting.items_b - items_kb[1:].sum(axis=0), 0.0)
    count_ckb += smoothing
    items_kb += smoothing
    count = count_ckb.reshape(n_workers, n_labels, n_classes, n_weightings)
    count /= np.einsum("jlkb->jkb", count)[:, None]
    return Params(count, items_kb / items_kb.sum(axis=0))


def _weighted_posterior(score_ikb: FloatArray, weight_ib: FloatArray) -> FloatArray:
    """Weight times P(class k), for all classes but the first, from log-odds against the first, which are used up."""
    if score_ikb.shape[1] == 1:
        np.negative(score_ikb, out=score_ikb)
        np.minimum(score_ikb, NO_ODDS, out=score_ikb)
        np.exp(score_ikb, out=score_ikb)
        score_ikb += 1
        return np.asarray(weight_ib[:, None] / score_ikb)
    top_ib = np.maximum(np.maximum.reduce(score_ikb, axis=1), 0)
    score_ikb -= top_ib[:, None]
    np.exp(score_ikb, out=score_ikb)
    share_ib = weight_ib / (np.exp(-top_ib) + np.einsum("ikb->ib", score_ikb))
    return np.asarray(score_ikb * share_ib[:, None])
