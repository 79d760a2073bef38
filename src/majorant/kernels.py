"""Blocks of votes, and the only hot loops: gather and scatter over the votes of a block.

A block is a range of items as a sparse matrix with one row per item and one column per (worker, label). Gathering adds
up table rows over the votes of each item; scattering adds up item rows over the votes of each (worker, label). SciPy's
loops are compiled and release the interpreter lock, so blocks run on threads. With two classes, methods work in
log-odds, with vectors instead of two-column tables: half the memory traffic and one exponential per item. Sums over a
block use einsum rather than BLAS, whose own threads would compete with ours.

An engine holds the blocks, here as views of the votes' arrays, elsewhere on a cluster. It maps a function over them and
adds up the results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.limits import BASE, T, in_order, thread_count
from majorant.values import FloatArray
from majorant.votes import IntArray, Scratch, Votes

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

S = TypeVar("S", bound=np.generic)
ITEMS_PER_BLOCK = 1 << 16  # with fewer, calls cost as much as the work; more do not fit in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The votes of the items from start to stop.

    `matrix` is (items of the block, workers * classes); `transpose` is a view of it.
    """

    index: int
    start: int
    stop: int
    n_classes: int
    matrix: csr_array[Any]
    transpose: csc_array[Any]
    weight_i: FloatArray | None = None  # how often each item counts; None means once
    gold_i: NDArray[np.integer[Any]] | None = None  # known class of each item, -1 if unknown

    @property
    def items(self) -> slice:
        """The positions of this block's items among all items."""
        return slice(self.start, self.stop)


class Engine(ABC):
    """Access to blocks of votes, wherever they are stored.

    Sums are added in the order of the blocks, so the number of threads or machines does not change a digit.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""

    @abstractmethod
    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        """What `fn` returns for each block, in the order of the items."""

    def map_sum(self, fn: Callable[[Block], T]) -> T:
        """The sum over blocks of what `fn` returns: a number, an array, or a (named) tuple of these."""
        return add_up(self.map_blocks(fn))

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """The rows that `fn` returns for each block, (items of the block, ...), concatenated."""
        return gather_rows(self.map_blocks(fn), self.shape[0], Scratch())


def gather_rows(parts: Iterable[NDArray[S]], n_items: int, scratch: Scratch) -> NDArray[S]:
    """Concatenate the rows of several ranges of items."""
    whole: NDArray[S] | None = None
    start = 0
    for part in parts:
        if len(part) == n_items:
            return part
        if whole is None:
            whole = scratch.empty((n_items, *part.shape[1:]), part.dtype)
        whole[start : start + len(part)] = part
        start += len(part)
    if whole is None:
        raise ConfigError("Nothing to concatenate: there is no block.")
    return whole


@dataclass(frozen=True, slots=True, eq=False)
class MemoryEngine(Engine):
    """Blocks of arrays, processed by threads."""

    shape: tuple[int, int, int] = field()
    blocks: tuple[Block, ...]
    threads: int
    scratch: Scratch = field(default_factory=Scratch)

    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        """What `fn` returns for each block, in the order of the items; few blocks are in flight at a time."""
        return in_order(fn, self.blocks, self.threads, ahead=self.threads)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """The rows that `fn` returns for each block, concatenated where the votes are."""
        return gather_rows(self.map_blocks(fn), self.shape[0], self.scratch)


def in_memory(
    votes: Votes,
    *,
    weights: ArrayLike | None = None,
    clamp_gold: bool = False,
    block_items: int | None = None,
    usual_items: int = ITEMS_PER_BLOCK,
    threads: int | None = None,
) -> MemoryEngine:
    """Cut votes into blocks.

    Parameters
    ----------
    votes
        The votes.
    weights
        How often each item counts, (items,); once by default.
    clamp_gold
        Whether blocks carry the gold labels, which methods then take as known.
    block_items
        Items per block. By default `usual_items`, or more if there are very many workers.
    threads
        Number of threads; by default all cores that this process may use.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
    >>> in_memory(votes, block_items=1).map_sum(lambda block: block.matrix.sum(axis=0)).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    _, n_workers, n_classes = votes.shape
    tables = 16 * 8 * n_workers * n_classes**2  # a fit holds 16 arrays with a confusion matrix per worker
    votes.scratch.need(BASE + tables, f"for {n_workers:,} workers and {n_classes} classes")
    weight_i = None if weights is None else as_weights(weights, len(votes.items))
    column_n = vote_columns(votes)
    bounds = _block_bounds(votes, block_items, usual_items)
    longest = max((int(votes.offsets_i[b] - votes.offsets_i[a]) for a, b in bounds), default=0)
    ones_n = np.ones(longest)  # all blocks share one buffer
    gold_i = votes.gold_i if clamp_gold else None
    blocks = []
    for index, (start, stop) in enumerate(bounds):
        first, last = votes.offsets_i[start], votes.offsets_i[stop]
        offsets_i = (votes.offsets_i[start : stop + 1] - first).astype(column_n.dtype)
        weight_b = None if weight_i is None else weight_i[start:stop]
        gold_b = None if gold_i is None else gold_i[start:stop]
        entries = ones_n[: last - first], column_n[first:last], offsets_i
        blocks.append(make_block(index, start, entries, votes.shape[1:], weight_b, gold_b))
    return MemoryEngine(votes.shape, tuple(blocks), thread_count(threads), votes.scratch)


def make_block(
    index: int,
    start: int,
    entries: tuple[FloatArray, IntArray, IntArray],
    size: tuple[int, int],
    weight_i: FloatArray | None = None,
    gold_i: IntArray | None = None,
) -> Block:
    """Build a block from ones, the matrix column of each vote (see `vote_columns`) and the offsets of its items.

    `size` is (workers, classes).
    """
    from scipy.sparse import csr_array

    n_items, (n_workers, n_classes) = len(entries[2]) - 1, size
    matrix = csr_array(entries, shape=(n_items, n_workers * n_classes))
    return Block(index, start, start + n_items, n_classes, matrix, matrix.T, weight_i, gold_i)


def _block_bounds(votes: Votes, block_items: int | None, usual_items: int) -> list[tuple[int, int]]:
    n_items, n_workers, n_classes = votes.shape
    if block_items is None:
        # A block's sums have a row for each (worker, label), so a block should have several times as many votes.
        votes_per_item = max(votes.n_votes / max(n_items, 1), 1e-9)
        block_items = max(usual_items, int(4 * n_workers * n_classes / votes_per_item))
    if block_items < 1:
        raise ConfigError(f"block_items must be at least 1, not {block_items}.")
    n_blocks = max(1, -(-n_items // block_items))
    edges = np.linspace(0, n_items, n_blocks + 1).astype(int).tolist()
    return list(pairwise(edges))


def vote_columns(votes: Votes) -> IntArray:
    """The matrix column of each vote: worker * classes + label."""
    _, n_workers, n_classes = votes.shape
    dtype = np.dtype(np.int32 if n_workers * n_classes <= np.iinfo(np.int32).max else np.int64)
    column_n: IntArray = votes.scratch.empty((votes.n_votes,), dtype)
    np.multiply(votes.worker_n, n_classes, out=column_n, dtype=dtype)
    column_n += votes.label_n
    return column_n


def as_weights(weights: ArrayLike, n_items: int) -> FloatArray:
    """Check item weights: one finite, non-negative number per item."""
    weight_i = np.asarray(weights, dtype=float)
    if weight_i.shape != (n_items,):
        raise ConfigError(f"weights must have shape ({n_items},), one per item, not {weight_i.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weight_i) & (weight_i >= 0)))
    if len(bad):
        raise ConfigError(f"weights[{bad[0]}] is {weight_i[bad[0]]}: a weight must be finite and non-negative.")
    return weight_i


def add_up(parts: Iterable[T]) -> T:
    """Add numbers, arrays or (named) tuples of these, element by element and in order."""
    total: T | None = None
    owned = False  # the first part belongs to the caller; only our own sum may be changed in place
    for part in parts:
        if total is None:
            total = part
        else:
            total, owned = _plus(total, part, in_place=owned), True
    if total is None:
        raise ConfigError("Nothing to add up: there is no block.")
    return total


def _plus(total: Any, part: Any, *, in_place: bool) -> Any:
    if isinstance(total, tuple):
        sums = [_plus(a, b, in_place=in_place) for a, b in zip(total, part, strict=True)]
        return type(total)(*sums) if hasattr(total, "_fields") else tuple(sums)
    if in_place and isinstance(total, np.ndarray) and total.ndim:
        total += part
        return total
    return total + part


def gather(block: Block, table: FloatArray) -> FloatArray:
    """For each item, sum the table's entries for the (worker, label) of its votes.

    `table` is (workers * classes, K), giving (items, K), or a vector (workers * classes,), giving (items,).
    """
    return block.matrix @ table


def scatter(block: Block, value: FloatArray) -> FloatArray:
    """For each (worker, label), sum `value` over the items that got this vote, times their weights.

    `value` is (items, K), giving (workers * classes, K), or a vector (items,), giving (workers * classes,).
    """
    if block.weight_i is not None:
        value = value * (block.weight_i[:, None] if value.ndim == 2 else block.weight_i)
    return block.transpose @ value


def weighted_sum(block: Block, value: FloatArray) -> FloatArray:
    """Sum `value`, (items,) or (items, K), over the items of the block, times their weights."""
    if value.ndim == 1:
        return np.asarray(value.sum() if block.weight_i is None else (block.weight_i * value).sum())
    if block.weight_i is None:
        return np.asarray(np.einsum("ik->k", value))
    return np.asarray(np.einsum("i,ik->k", block.weight_i, value))


def row_maxima(value_ik: FloatArray) -> FloatArray:
    """The largest value of each row, computed class by class because NumPy is slow along a short axis.

    >>> row_maxima(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
    [3.0, 2.0]
    """
    top_i = value_ik[:, 0].copy()
    for k in range(1, value_ik.shape[1]):
        np.maximum(top_i, value_ik[:, k], out=top_i)
    return top_i


def softmax_rows(score_ik: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn rows of log scores into probabilities, in place; also return the log of each row's total.

    A row of -inf (votes that no class could have produced) becomes uniform, with a total of -inf. No reduction runs
    along the short axis, where NumPy is slow.

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
    """Normalise counts along the last axis; if they are all 0, the shares are equal.

    >>> shares(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    n_classes = count.shape[-1]
    if n_classes <= 2 and count.flags.c_contiguous:
        return _shares_by_class(count.reshape(-1, n_classes)).reshape(count.shape)
    total = np.einsum("...k->...", count)
    if not total.all():
        count = np.where((total == 0)[..., None], 1.0, count)
        total = np.where(total == 0, n_classes, total)
    return np.asarray(count / total[..., None])


def _shares_by_class(count_rk: FloatArray) -> FloatArray:
    """`shares` for one or two classes, where one pass per class is faster than one along the short axis."""
    n_classes = count_rk.shape[1]
    total_r = count_rk[:, 0].copy()
    for k in range(1, n_classes):
        total_r += count_rk[:, k]
    empty_r = total_r == 0
    total_r[empty_r] = 1.0
    share_rk = np.empty(count_rk.shape)
    for k in range(n_classes):
        np.divide(count_rk[:, k], total_r, out=share_rk[:, k])
    share_rk[empty_r] = 1 / n_classes
    return share_rk
