"""The backend for sorted votes on disk: its parts are row groups, and the rows of a fit are stored in files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from majorant.backend.base import Backend, LabelTable, Part
from majorant.backend.prepare import no_room
from majorant.backend.stage import Report, silent
from majorant.backend.store import StoredVotes
from majorant.kernels import Block, Engine, make_block
from majorant.limits import BASE, T, in_order, require, thread_count
from majorant.methods.fit import Fit, Progress
from majorant.output import Columns
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True, eq=False)
class FileBackend(Backend):
    """Votes in a folder.

    Parameters
    ----------
    votes
        What `prepare` returned.
    memory
        Limit on memory, in bytes.
    report
        Called with the current step and how many votes it has processed.
    progress
        Called after each step of a fit.
    """

    votes: StoredVotes
    memory: int
    report: Report = silent
    progress: Progress | None = None
    place: ClassVar[str] = "with memory="

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.gold_i is not None

    @property
    def engine(self) -> StoredEngine:
        """Blocks of row groups."""
        return stored_engine(self.votes, memory=self.memory, report=self.report)

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """The results of `fn` for each row group; only a few row groups are in memory at a time."""
        stored = self.votes

        def of_group(group: int) -> T:
            return fn(Part(stored.group(group, group + 1), int(stored.item_g[group])))

        for group, result in enumerate(in_order(of_group, range(stored.n_groups), thread_count())):
            self.report(doing, int(stored.vote_g[group + 1]), stored.n_votes)
            yield result

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return self.votes.take_items(item_p)

    def labelled(self, fits: Sequence[Fit], table: LabelTable) -> Iterator[Columns]:
        """The table of labels in parts; ties are broken at random as in a single table."""
        stored = self.votes
        for group in range(stored.n_groups):
            votes = stored.group(group, group + 1)
            start, stop = int(stored.item_g[group]), int(stored.item_g[group + 1])
            named = replace(votes, items=tuple(stored.items[start:stop]))
            yield table(named, *(Part(votes, start).of(fit) for fit in fits))
            self.report("writing", stop, len(stored.items))


@dataclass(frozen=True, slots=True, eq=False)
class StoredEngine(Engine):
    """Blocks of votes in a folder."""

    stored: StoredVotes
    bounds: tuple[tuple[int, int], ...]  # the row groups of each block
    threads: int
    room: int  # bytes of memory for blocks that are kept
    ones_n: FloatArray  # shared by all blocks
    report: Report = silent
    kept: dict[int, Block] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return self.stored.shape

    def map_blocks(self, fn: Callable[[Block], T]) -> Iterator[T]:
        """The results of `fn` for each block, in the order of the items."""
        numbers = range(len(self.bounds))
        for number, part in enumerate(in_order(lambda number: fn(self.block(number)), numbers, self.threads)):
            self.report("passing", int(self.stored.vote_g[self.bounds[number][1]]), self.stored.n_votes)
            yield part

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """The results of `fn` for all items, as an array in a file that is deleted with the array."""
        folder, shape = self.stored.folder, (0,)
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                for part in self.map_blocks(fn):
                    file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
                    shape = part.shape[1:]
                return np.memmap(file, np.float64, mode="r", shape=(self.shape[0], *shape))
        except OSError as error:
            raise no_room(folder, error.strerror or str(error)) from error

    def block(self, number: int) -> Block:
        """Block `number`, from memory or else from the file."""
        if number in self.kept:
            return self.kept[number]
        block = self._read(number)
        blocks = [*self.kept.values(), block]
        if sum(one.matrix.indices.nbytes + one.matrix.indptr.nbytes for one in blocks) <= self.room:
            self.kept[number] = block
        return block

    def _read(self, number: int) -> Block:
        stored, (first, last) = self.stored, self.bounds[number]
        _, n_workers, n_classes = self.shape
        start, stop = int(stored.item_g[first]), int(stored.item_g[last])
        worker_n, label_n = stored.columns(first, last, "worker", "label")
        column_n: IntArray = worker_n * np.int32(n_classes)
        column_n += label_n
        offsets_i = np.zeros(stop - start + 1, dtype=np.int32)
        np.cumsum(stored.votes_i[start:stop], out=offsets_i[1:])
        entries = self.ones_n[: len(column_n)], column_n, offsets_i
        return make_block(number, start, entries, (n_workers, n_classes))


def stored_engine(
    stored: StoredVotes, *, memory: int, threads: int | None = None, report: Report = silent
) -> StoredEngine:
    """Make an engine that uses at most `memory` bytes.

    A block has several times as many votes as there are (worker, label) pairs, or all votes.

    Raises
    ------
    ConfigError
        If that is too little memory; the message says how much is needed.
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
    table = 8 * n_workers * n_classes**2  # all workers' confusion matrices; a fit holds 16 such tables
    block = 28 * most_votes + (16 + 24 * n_classes) * most_items  # measured peak per block
    needed = BASE + 16 * table + (n_threads + 1) * (block + table)
    require(needed, memory, f"for {n_workers:,} workers and {n_classes} classes on {n_threads} threads")
    return StoredEngine(stored, bounds, n_threads, memory - needed, np.ones(most_votes), report)
