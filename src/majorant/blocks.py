"""Item blocks, and the one engine interface: map a function over the blocks and add up what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.kernels import Block
from majorant.resources import T, in_order, thread_count
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

ITEMS_PER_BLOCK = 1 << 16  # fewer, and the calls of a block cost as much as its work; more, and it leaves the cache


class Engine(Protocol):
    """Where the blocks live: in memory here, elsewhere in files or on a cluster."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""

    def map_sum(self, fn: Callable[[Block], T]) -> T:
        """The sum over blocks of what `fn` returns: a number, an array, or a (named) tuple of these."""

    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        """What `fn` returns for each block, in the order of the items."""

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of the items of each block, (items of the block, ...), for all items in a row."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What a function says of each item, not yet computed: it stays where the items are."""

    of_block: Callable[[Block], FloatArray]


def rows_in(rows: FloatArray | Rows, block: Block) -> FloatArray:
    """The rows of a block's items, from those of all items."""
    return rows.of_block(block) if isinstance(rows, Rows) else np.asarray(rows[block.items])


@dataclass(frozen=True, slots=True, eq=False)
class MemoryEngine:
    """Blocks of votes held in memory, worked on by threads.

    Results are added in the order of the blocks, so the number of threads changes nothing, not even the last digit.
    """

    shape: tuple[int, int, int]
    blocks: tuple[Block, ...]
    threads: int

    def map_sum(self, fn: Callable[[Block], T]) -> T:
        """The sum over blocks of what `fn` returns."""
        return add_up(self.map_blocks(fn))

    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        """What `fn` returns for each block, in the order of the items; few blocks are under way at a time."""
        return in_order(fn, self.blocks, self.threads, ahead=self.threads)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of each item."""
        return np.concatenate(list(self.map_blocks(fn)))


def in_memory(
    votes: Votes,
    *,
    weights: ArrayLike | None = None,
    clamp_gold: bool = False,
    block_items: int | None = None,
    usual_items: int = ITEMS_PER_BLOCK,
    threads: int | None = None,
) -> MemoryEngine:
    """Blocks over `votes`, where item i counts `weights[i]` times (once by default).

    A block holds `block_items`, by default `usual_items` or as many more as the tables of workers ask for.

    With `clamp_gold` the blocks carry the gold labels, and models take the class of these items as known.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
    >>> in_memory(votes, block_items=1).map_sum(lambda block: block.matrix.sum(axis=0)).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    weight_i = None if weights is None else as_weights(weights, len(votes.items))
    column_n = vote_columns(votes)
    bounds = _block_bounds(votes, block_items, usual_items)
    longest = max((int(votes.offsets_i[b] - votes.offsets_i[a]) for a, b in bounds), default=0)
    ones_n = np.ones(longest)  # one buffer serves every block
    gold_i = votes.gold_i if clamp_gold else None
    blocks = tuple(
        _block(index, slice(start, stop), votes, column_n, ones_n, weight_i, gold_i)
        for index, (start, stop) in enumerate(bounds)
    )
    return MemoryEngine(votes.shape, blocks, thread_count(threads))


def vote_columns(votes: Votes) -> IntArray:
    """For each vote its (worker, label) as one number, worker * classes + label."""
    _, n_workers, n_classes = votes.shape
    dtype = np.dtype(np.int32 if n_workers * n_classes <= np.iinfo(np.int32).max else np.int64)
    column_n: IntArray = np.multiply(votes.worker_n, n_classes, dtype=dtype)
    column_n += votes.label_n
    return column_n


def add_up(parts: Iterable[T]) -> T:
    """The sum of numbers, arrays or (named) tuples of these, part by part, in order."""
    total: T | None = None
    owned = False  # the first part belongs to whoever made it; only our own copy is added to in place
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


def _block_bounds(votes: Votes, block_items: int | None, usual_items: int) -> list[tuple[int, int]]:
    n_items, n_workers, n_classes = votes.shape
    if block_items is None:
        # The per-block sums have a row for each (worker, label): a block must hold several times as many votes.
        votes_per_item = max(votes.n_votes / max(n_items, 1), 1e-9)
        block_items = max(usual_items, int(4 * n_workers * n_classes / votes_per_item))
    if block_items < 1:
        raise ConfigError(f"block_items must be at least 1, not {block_items}.")
    n_blocks = max(1, -(-n_items // block_items))
    edges = np.linspace(0, n_items, n_blocks + 1).astype(int).tolist()
    return list(pairwise(edges))


def _block(
    index: int,
    items: slice,
    votes: Votes,
    column_n: IntArray,
    ones_n: FloatArray,
    weight_i: FloatArray | None,
    gold_i: IntArray | None,
) -> Block:
    from scipy.sparse import csr_array

    _, n_workers, n_classes = votes.shape
    first, last = votes.offsets_i[items.start], votes.offsets_i[items.stop]
    offsets_i = (votes.offsets_i[items.start : items.stop + 1] - first).astype(column_n.dtype)
    entries = (ones_n[: last - first], column_n[first:last], offsets_i)
    matrix = csr_array(entries, shape=(items.stop - items.start, n_workers * n_classes))
    return Block(
        index=index,
        start=items.start,
        stop=items.stop,
        n_classes=n_classes,
        matrix=matrix,
        transpose=matrix.T,
        weight_i=None if weight_i is None else weight_i[items],
        gold_i=None if gold_i is None else gold_i[items],
    )


def as_weights(weights: ArrayLike, n_items: int) -> FloatArray:
    """How often each item counts, as an array (I,), refused where a number is negative or not finite."""
    weight_i = np.asarray(weights, dtype=float)
    if weight_i.shape != (n_items,):
        raise ConfigError(f"weights must have shape ({n_items},), one per item, not {weight_i.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weight_i) & (weight_i >= 0)))
    if len(bad):
        raise ConfigError(f"weights[{bad[0]}] is {weight_i[bad[0]]}: a weight must be finite and not negative.")
    return weight_i
