"""Count groups of workers as one worker; votes outside memory are merged part by part as they are read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from majorant.backend.base import Backend, MemoryBackend, Part
from majorant.kernels import Block, Engine, Rows
from majorant.limits import T
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


class Groups(NamedTuple):
    """Groups of workers who count as one, by worker code."""

    first_j: IntArray  # the worker who stands for the group; workers outside groups stand for themselves
    rank_j: IntArray  # position in the group from 1 on, 0 for workers outside groups


def groups_of(workers: Sequence[Hashable], groups: Sequence[Sequence[Hashable]]) -> Groups:
    """Convert groups of worker names to codes."""
    code = {name: j for j, name in enumerate(workers)}
    first_j, rank_j = np.arange(len(workers)), np.zeros(len(workers), dtype=np.int64)
    for group in groups:
        member = [code[name] for name in group]
        first_j[member], rank_j[member] = member[0], np.arange(1, len(member) + 1)
    return Groups(first_j, rank_j)


def merge_workers(votes: Votes, groups: Groups) -> Votes:
    """Keep one vote per group and item: the most common label or, if tied, that of the first worker in the group.

    Workers keep their codes; all but the first of each group end up without votes.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="wxy", labels="01")
    >>> merge_workers(votes, groups_of("wxy", ["wx"])).worker_n.tolist()
    [0, 2]
    """
    kept = _votes_kept(votes.item_n, votes.worker_n, votes.label_n, groups)
    return take_votes(votes, kept, groups.first_j[votes.worker_n[kept]])


def take_votes(votes: Votes, kept: IntArray, worker_n: IntArray | None = None) -> Votes:
    """Some of the votes, optionally reassigned to other workers."""
    counts_i = np.bincount(votes.item_n[kept], minlength=len(votes.items))
    return replace(
        votes,
        item_n=votes.item_n[kept],
        worker_n=votes.worker_n[kept] if worker_n is None else worker_n.astype(votes.worker_n.dtype),
        label_n=votes.label_n[kept],
        offsets_i=np.concatenate([[0], np.cumsum(counts_i)]),
        seconds_n=None if votes.seconds_n is None else votes.seconds_n[kept],
    )


def _votes_kept(item_n: IntArray, worker_n: IntArray, label_n: IntArray, groups: Groups) -> IntArray:
    """The positions of the votes to keep."""
    grouped_n = groups.rank_j[worker_n] > 0
    at = np.flatnonzero(grouped_n)
    label, rank = label_n[at].astype(np.int64), groups.rank_j[worker_n[at]]
    group = item_n[at].astype(np.int64) * len(groups.first_j) + groups.first_j[worker_n[at]]
    _, place, count = np.unique(group * (label.max(initial=0) + 1) + label, return_inverse=True, return_counts=True)
    order = np.lexsort((rank, -count[place], group))
    chosen = at[order[np.diff(group[order], prepend=-1) != 0]]
    return np.sort(np.concatenate([np.flatnonzero(~grouped_n), chosen]))


def _merge_block(groups: Groups, block: Block) -> Block:
    from scipy.sparse import csr_array

    matrix = block.matrix
    item_n = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    worker_n, label_n = np.divmod(matrix.indices, block.n_classes)
    kept = _votes_kept(item_n, worker_n, label_n, groups)
    column_n = (groups.first_j[worker_n[kept]] * block.n_classes + label_n[kept]).astype(matrix.indices.dtype)
    votes_i = np.bincount(item_n[kept], minlength=matrix.shape[0])
    offsets_i = np.concatenate([[0], np.cumsum(votes_i)]).astype(matrix.indptr.dtype)
    merged: Any = csr_array((matrix.data[: len(kept)], column_n, offsets_i), shape=matrix.shape)
    return replace(block, matrix=merged, transpose=merged.T)


def _on_merged_block(groups: Groups, fn: Callable[[Block], T]) -> Callable[[Block], T]:
    return lambda block: fn(_merge_block(groups, block))


def _on_merged_part(groups: Groups, fn: Callable[[Part], T]) -> Callable[[Part], T]:
    return lambda part: fn(replace(part, votes=merge_workers(part.votes, groups)))


@dataclass(frozen=True, slots=True, eq=False)
class _MergedEngine(Engine):
    """Blocks of merged votes; rows computed on demand can also be computed from the original votes."""

    given: Engine
    groups: Groups

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.given.shape

    def map_sum(self, fn: Callable[[Block], T]) -> T:
        return self.given.map_sum(_on_merged_block(self.groups, fn))

    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        return self.given.map_blocks(_on_merged_block(self.groups, fn))

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        return self.given.rows(_on_merged_block(self.groups, fn))


class _MergedVotes:
    """Facts about merged votes; only the numbers of votes differ from the original."""

    def __init__(self, given: Any, n_votes: int, votes_i: Any) -> None:
        self.given, self.n_votes, self.votes_i = given, n_votes, votes_i

    def __getattr__(self, name: str) -> Any:
        return getattr(self.given, name)


@dataclass(frozen=True, slots=True, eq=False)
class MergedBackend(Backend):
    """Votes outside memory with groups of workers counted as one.

    `given` has the original votes on the same items.
    """

    given: Backend
    groups: Groups
    votes: Any

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.given.has_gold

    @property
    def engine(self) -> Engine:
        """Blocks of merged votes."""
        return _MergedEngine(self.given.engine, self.groups)

    @property
    def methods(self) -> Sequence[str]:
        """The methods that can be fitted to the original votes."""
        return self.given.methods

    def refuse(self, method: str) -> None:
        """Raise an error if a method cannot be fitted to the original votes."""
        self.given.refuse(method)

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """The results of `fn` for each part."""
        return self.given.map(_on_merged_part(self.groups, fn), doing=doing)

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:
        """The sum of the results of `fn` over all parts."""
        return self.given.sum(_on_merged_part(self.groups, fn), doing=doing)

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return merge_workers(self.given.take(item_p), self.groups)

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of a random sample of items."""
        return self.given.draw(share, seed)


def with_merged(backend: Backend, groups: Sequence[Sequence[Hashable]]) -> Backend:
    """The votes with each group of workers (given by name) counted as one worker."""
    if not groups:
        return backend
    codes = groups_of(backend.votes.workers, groups)
    if backend.whole is not None:
        return MemoryBackend(merge_workers(backend.whole, codes))
    n_votes = backend.sum(_on_merged_part(codes, lambda part: part.votes.n_votes), doing="counting")
    votes_i: Any = _MergedEngine(backend.engine, codes).rows(lambda block: np.diff(block.matrix.indptr))
    if not isinstance(votes_i, Rows):
        votes_i = votes_i.astype(np.int32)
    return MergedBackend(backend, codes, _MergedVotes(backend.votes, n_votes, votes_i))
