"""The only hot loops: gather and scatter over the votes of a block, and the sums that go with them.

A block is a run of items as a sparse matrix with one row per item and one column per (worker, label).  Gathering
adds up table rows over the votes of each item, scattering adds up item rows over the votes of each (worker, label).
SciPy's loops are compiled and release the interpreter lock, so blocks run on threads.  With two classes work in
log-odds, with vectors in place of two-column tables: half the memory traffic, one exponential per item.  Sums over a
block go through einsum, not through BLAS, whose own threads would fight ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from majorant.values import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

FEW_CLASSES = 2  # up to so many classes, a pass for each beats one along the short axis


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The votes of items start to stop: `matrix` (items of the block, workers * classes) and its transpose, a view."""

    index: int
    start: int
    stop: int
    n_classes: int
    matrix: csr_array[Any]
    transpose: csc_array[Any]
    weight_i: FloatArray | None = None  # how often each item counts; None: once
    gold_i: NDArray[np.integer[Any]] | None = None  # the known class of each item, -1 where unknown; None: not used

    @property
    def items(self) -> slice:
        """Where this block's items stand among all items."""
        return slice(self.start, self.stop)


def gather(block: Block, table: FloatArray) -> FloatArray:
    """For each item the sum, over its votes, of the table's entry for (worker, label).

    `table` is (workers * classes, K), giving (items, K), or a vector (workers * classes,), giving (items,).
    """
    return block.matrix @ table


def scatter(block: Block, value: FloatArray) -> FloatArray:
    """For each (worker, label) the weighted sum of `value` over the items that got this vote.

    `value` is (items, K), giving (workers * classes, K), or a vector (items,), giving (workers * classes,).
    """
    if block.weight_i is not None:
        value = value * (block.weight_i[:, None] if value.ndim == 2 else block.weight_i)
    return block.transpose @ value


def weighted_sum(block: Block, value: FloatArray) -> FloatArray:
    """The sum of `value` (items,) or (items, K) over the block's items, each as often as it counts."""
    if value.ndim == 1:
        return np.asarray(value.sum() if block.weight_i is None else (block.weight_i * value).sum())
    if block.weight_i is None:
        return np.asarray(np.einsum("ik->k", value))
    return np.asarray(np.einsum("i,ik->k", block.weight_i, value))


def row_maxima(value_ik: FloatArray) -> FloatArray:
    """The largest value of each row, class by class: along a short axis NumPy is slow.

    >>> row_maxima(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [3.0, 2.0]
    """
    top_i = value_ik[:, 0].copy()
    for k in range(1, value_ik.shape[1]):
        np.maximum(top_i, value_ik[:, k], out=top_i)
    return top_i


def softmax_rows(score_ik: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn rows of log scores into probabilities, in place; also the logarithm of each row's total.

    A row of -inf alone (votes that no class could have produced) becomes uniform, with a total of -inf.  Nothing is
    reduced along the short axis, which NumPy does slowly.

    >>> posterior_ik, log_total_i = softmax_rows(np.log([[.1, .3], [.2, .2]]))
    >>> posterior_ik.round(3).tolist(), np.exp(log_total_i).round(3).tolist()
    ([[0.25, 0.75], [0.5, 0.5]], [0.4, 0.4])
    """
    top_i = row_maxima(score_ik)
    impossible_i = np.isneginf(top_i)
    if impossible_i.any():
        score_ik[impossible_i] = 0.0
        top_i[impossible_i] = 0.0
    score_ik -= top_i[:, None]
    np.exp(score_ik, out=score_ik)
    total_i = np.einsum("ik->i", score_ik)
    score_ik /= total_i[:, None]
    log_total_i = top_i + np.log(total_i)
    log_total_i[impossible_i] = -np.inf
    return score_ik, log_total_i


def shares(count: FloatArray) -> FloatArray:
    """Counts as shares along the last axis; where there is none, equal shares.

    >>> shares(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    n_classes = count.shape[-1]
    if n_classes <= FEW_CLASSES and count.flags.c_contiguous:
        return _few_shares(count.reshape(-1, n_classes)).reshape(count.shape)
    total = np.einsum("...k->...", count)
    if not total.all():
        count = np.where((total == 0)[..., None], 1.0, count)
        total = np.where(total == 0, n_classes, total)
    return np.asarray(count / total[..., None])


def _few_shares(count_rk: FloatArray) -> FloatArray:
    """The shares of a row, class by class: along a short axis NumPy is slow."""
    n_classes = count_rk.shape[1]
    total_r = count_rk[:, 0].copy()
    for k in range(1, n_classes):
        total_r += count_rk[:, k]
    none_r = total_r == 0
    total_r[none_r] = 1.0
    share_rk = np.empty(count_rk.shape)
    for k in range(n_classes):
        np.divide(count_rk[:, k], total_r, out=share_rk[:, k])
    share_rk[none_r] = 1 / n_classes
    return share_rk
