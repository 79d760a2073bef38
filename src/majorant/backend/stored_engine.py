"""Blocks of stored votes: row groups read as they are needed, as many of them kept as the memory allows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from majorant.backend.budget import BASE, require
from majorant.backend.spill import Report, silent
from majorant.backend.store import StoredVotes, no_room
from majorant.blocks import add_up
from majorant.kernels import Block, FloatArray
from majorant.threads import in_order, thread_count
from majorant.votes import IntArray

T = TypeVar("T")
TABLES = 16  # arrays of the size of all workers' confusion matrices that a fit holds at once
BYTES_PER_VOTE, BYTES_PER_ITEM = 28, 16  # of a block while it is worked on, beside the rows of its items


@dataclass(frozen=True, slots=True, eq=False)
class StoredEngine:
    """The engine of votes that lie in a folder: it gives the numbers of the same blocks in memory."""

    stored: StoredVotes
    bounds: tuple[tuple[int, int], ...]  # the row groups of each block
    threads: int
    room: int  # bytes for blocks that stay in memory
    ones_n: FloatArray  # one buffer serves every block
    report: Report = silent
    kept: dict[int, Block] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return self.stored.shape

    def map_sum(self, fn: Callable[[Block], T]) -> T:
        """The sum over blocks of what `fn` returns."""
        return add_up(self.map_blocks(fn))

    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        """What `fn` returns for each block, in the order of the items."""
        numbers = range(len(self.bounds))
        for number, part in enumerate(in_order(lambda number: fn(self.block(number)), numbers, self.threads)):
            self.report("passing", int(self.stored.vote_g[self.bounds[number][1]]), self.stored.n_votes)
            yield part

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of each item, as an array in a file of the folder, which goes when the array is closed."""
        path, shape = _unused(self.stored.folder), (0,)
        try:
            with path.open("wb") as file:
                for part in self.map_blocks(fn):
                    file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
                    shape = part.shape[1:]
        except OSError as error:
            path.unlink(missing_ok=True)
            raise no_room(path.parent, error) from error
        found: FloatArray = np.memmap(path, np.float64, mode="r", shape=(self.shape[0], *shape))
        with contextlib.suppress(OSError):  # where an open file cannot be removed, it goes with the folder
            path.unlink()
        return found

    def block(self, number: int) -> Block:
        """Block `number`, read from the file unless it is at hand."""
        if number in self.kept:
            return self.kept[number]
        block = self._read(number)
        size = block.matrix.indices.nbytes + block.matrix.indptr.nbytes
        if sum(self.sizes.values()) + size <= self.room:
            self.kept[number], self.sizes[number] = block, size
        return block

    def _read(self, number: int) -> Block:
        from scipy.sparse import csr_array

        stored, (first, last) = self.stored, self.bounds[number]
        _, n_workers, n_classes = self.shape
        start, stop = int(stored.item_g[first]), int(stored.item_g[last])
        worker_n, label_n = stored.columns(first, last, "worker", "label")
        column_n: IntArray = worker_n * np.int32(n_classes)
        column_n += label_n
        offsets_i = np.zeros(stop - start + 1, dtype=np.int32)
        np.cumsum(stored.votes_i[start:stop], out=offsets_i[1:])
        entries = (self.ones_n[: len(column_n)], column_n, offsets_i)
        matrix = csr_array(entries, shape=(stop - start, n_workers * n_classes))
        return Block(index=number, start=start, stop=stop, n_classes=n_classes, matrix=matrix, transpose=matrix.T)


def stored_engine(
    stored: StoredVotes, *, memory: int, threads: int | None = None, report: Report = silent
) -> StoredEngine:
    """An engine that works within `memory` bytes; a limit that cannot be kept is refused, with the smallest that can.

    A block holds several times as many votes as there are sums by (worker, label), or all the votes.
    """
    _, n_workers, n_classes = stored.shape
    n_threads = thread_count(threads)
    wanted = 4 * n_workers * n_classes
    edges = [0]
    for group in range(1, stored.n_groups + 1):
        if stored.vote_g[group] - stored.vote_g[edges[-1]] >= wanted:
            edges.append(group)
    edges[-1:] = [stored.n_groups] if len(edges) > 1 else [0, stored.n_groups]
    bounds = tuple(pairwise(edges))
    most_votes = max(int(stored.vote_g[b] - stored.vote_g[a]) for a, b in bounds)
    most_items = max(int(stored.item_g[b] - stored.item_g[a]) for a, b in bounds)
    tables = TABLES * 8 * n_workers * n_classes**2
    block = BYTES_PER_VOTE * most_votes + (BYTES_PER_ITEM + 24 * n_classes) * most_items
    needed = BASE + tables + (n_threads + 1) * (block + tables // TABLES)
    require(needed, memory, f"for {n_workers:,} workers and {n_classes} classes on {n_threads} threads")
    return StoredEngine(stored, bounds, n_threads, memory - needed, np.ones(most_votes), report)


def _unused(folder: Path) -> Path:
    taken = [int(path.name.removeprefix("rows-")) for path in folder.glob("rows-*")]
    return folder / f"rows-{max(taken, default=0) + 1}"
