"""The backend for sorted votes in a folder: its parts are row groups, and the rows of a fit are stored in files."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from majorant import __version__
from majorant.atomic import make_folder, whole_file
from majorant.backend.base import Backend, LabelTable, Part
from majorant.backend.prepare import no_room
from majorant.backend.stage import Report, silent
from majorant.backend.store import VOTES_FILE, StoredVotes
from majorant.backend.workfolder import WorkFolder
from majorant.database import connect, path_literal
from majorant.errors import ConfigError, DataError
from majorant.kernels import Block, add_up
from majorant.methods.em import Progress, Solution
from majorant.methods.fit import Fit
from majorant.output import Columns
from majorant.resources import BASE, T, in_order, require, spell, thread_count
from majorant.tally import Patterns, counts, distinct_counts, label_counts, merged_patterns
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

EVERY_SECONDS = 20.0  # between checkpoints of a fit


@dataclass(frozen=True, slots=True, eq=False)
class FileBackend(Backend):
    """Votes in a folder.

    Parameters
    ----------
    votes
        What `prepare` returned.
    memory
        The most bytes of memory to use.
    report
        Called with what is being done, and for how many votes.
    steps
        Called at each step of a fit.
    """

    votes: StoredVotes
    memory: int
    report: Report = silent
    steps: Progress | None = None
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
        """What `fn` returns for each row group; a few of them are in memory at a time."""
        stored = self.votes

        def of_group(group: int) -> T:
            return fn(Part(stored.group(group, group + 1), int(stored.item_g[group])))

        return self._groups(of_group, doing=doing)

    def _groups(self, fn: Callable[[int], T], *, doing: str) -> Iterator[T]:
        """What `fn` returns for the number of each row group."""
        stored = self.votes
        for group, result in enumerate(in_order(fn, range(stored.n_groups), thread_count())):
            self.report(doing, int(stored.vote_g[group + 1]), stored.n_votes)
            yield result

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items; votes by class are counted without reading the workers."""
        if rows is not counts:
            return Backend.patterns(self, rows)

        def of_group(group: int) -> Patterns:
            return distinct_counts(_votes_by_class(self.votes, group))

        return merged_patterns(self._groups(of_group, doing="counting"))

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l; by SQL, because an array for each row group could be large."""
        votes_jl = np.zeros(self.votes.shape[1:], dtype=np.int64)
        sql = "SELECT worker, label, count(*) FROM votes GROUP BY worker, label"
        worker, label, n_votes = query(self.votes, sql, memory=self.memory)
        votes_jl[worker, label] = n_votes
        return votes_jl

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return self.votes.take_items(item_p)

    def progress(self, method: str) -> Progress:
        """A checkpoint in the folder, from which the same fit to the same votes continues after an interruption."""
        key = f"{self.votes.fingerprint} {method}"
        folder = self.votes.folder

        def claim(name: str) -> Path:
            return WorkFolder(folder).claim(f"steps/{method}/{name}")

        return Checkpoint(folder / "steps" / method, key, claim=claim, progress=self.steps)

    def labelled(self, fits: Sequence[Fit], table: LabelTable) -> Iterator[Columns]:
        """The table of labels, some items at a time; random draws are those of a single table."""
        stored = self.votes
        for group in range(stored.n_groups):
            votes = stored.group(group, group + 1)
            start, stop = int(stored.item_g[group]), int(stored.item_g[group + 1])
            named = replace(votes, items=tuple(stored.items[start:stop]))
            yield table(named, *(Part(votes, start).of(fit) for fit in fits))
            self.report("writing", stop, len(stored.items))


class Checkpoint:
    """The progress callback of a fit that saves the state of each loop to a file.

    `key` identifies the method and the votes; the state of another fit is ignored.
    """

    def __init__(
        self,
        folder: Path,
        key: str,
        *,
        claim: Callable[[str], Path] | None = None,
        every_seconds: float | None = None,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        self.folder, self.key, self.claim, self.progress = folder, key, claim, progress
        self.every_seconds = EVERY_SECONDS if every_seconds is None else every_seconds
        self.loop = 0
        self.saved = time.monotonic()

    def __call__(self, step: int, objective: float) -> None:
        if self.progress is not None:
            self.progress(step, objective)

    def recall(self, begin: Solution[Any]) -> Solution[Any]:
        """The saved state of the next loop, or its beginning."""
        self.loop += 1
        path = self._path()
        return load_loop(path, self.key, begin) if path.exists() else begin

    def keep(self, state: Solution[Any]) -> None:
        """Save the state if the last save was long ago, or if the loop has ended."""
        now = time.monotonic()
        if state.converged or now - self.saved >= self.every_seconds:
            path = self._path() if self.claim is None else self.claim(self._path().name)
            make_folder(path.parent)
            save_loop(path, self.key, state)
            self.saved = time.monotonic()

    def _path(self) -> Path:
        return self.folder / f"loop-{self.loop}.npz"


def save_loop(path: Path, key: str, state: Solution[Any]) -> None:
    """Save a state as a digest and an archive of arrays; nothing in it can run as code."""
    facts = {"version": __version__, "key": key, "n_iter": state.n_iter, "converged": state.converged,
            "history": len(state.history), "fallback": state.fallback is not None}  # fmt: skip
    points = {"params": state.params, **{f"history{n}": point for n, point in enumerate(state.history)}}
    if state.fallback is not None:
        points["fallback"] = state.fallback
    arrays = {f"{name}.{n}": array for name, point in points.items() for n, array in enumerate(point)}
    content = io.BytesIO()
    np.savez(content, facts=np.array(json.dumps(facts)), trace=np.array(state.trace, dtype=float), **arrays)
    with whole_file(path, guard=False) as part, part.open("wb") as file:
        file.write(hashlib.sha256(content.getbuffer()).digest())
        file.write(content.getbuffer())


def load_loop(path: Path, key: str, begin: Solution[Any]) -> Solution[Any]:
    """Load a state; return `begin` instead of the state of another fit.  A damaged file is an error."""
    try:
        with path.open("rb") as file:
            digest, saved = file.read(hashlib.sha256().digest_size), file.read()
        if hashlib.sha256(saved).digest() != digest:
            raise ValueError("its digest does not match")
        with np.load(io.BytesIO(saved), allow_pickle=False) as content:
            facts = json.loads(str(content["facts"]))
            if facts["version"] != __version__ or facts["key"] != key:
                return begin

            def point(name: str) -> Any:
                arrays = [content[f"{name}.{n}"] for n in range(len(begin.params))]
                if any(a.shape != np.shape(b) for a, b in zip(arrays, begin.params, strict=True)):
                    raise ValueError("parameters of another shape")
                kind = type(begin.params)
                return kind(*arrays) if hasattr(kind, "_fields") else kind(arrays)

            return Solution(
                n_iter=int(facts["n_iter"]),
                params=point("params"),
                trace=tuple(content["trace"].tolist()),
                history=tuple(point(f"history{n}") for n in range(facts["history"])),
                fallback=point("fallback") if facts["fallback"] else None,
                converged=bool(facts["converged"]),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is damaged ({error}). Remove it, or run again without resume=True.") from None


@dataclass(frozen=True, slots=True, eq=False)
class StoredEngine:
    """Blocks of votes in a folder."""

    stored: StoredVotes
    bounds: tuple[tuple[int, int], ...]  # the row groups of each block
    threads: int
    room: int  # bytes for blocks that stay in memory
    ones_n: FloatArray  # shared by all blocks
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
        """What `fn` returns for each item, as an array in a file that is removed with the array."""
        path, shape = _unused(self.stored.folder), (0,)
        try:
            with path.open("wb") as file:
                for part in self.map_blocks(fn):
                    file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
                    shape = part.shape[1:]
        except OSError as error:
            path.unlink(missing_ok=True)
            raise no_room(path.parent, error.strerror or str(error)) from error
        mapped: FloatArray = np.memmap(path, np.float64, mode="r", shape=(self.shape[0], *shape))
        with contextlib.suppress(OSError):  # Windows cannot remove an open file; it is removed with the folder
            path.unlink()
        return mapped

    def block(self, number: int) -> Block:
        """Block `number`, read from the file unless it is in memory."""
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
    """An engine that works within `memory` bytes.

    A block holds several times as many votes as there are sums by (worker, label), or all the votes.

    Raises
    ------
    ConfigError
        If the memory does not suffice; the message says how much would.
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
    table = 8 * n_workers * n_classes**2  # the confusion matrices of all workers, of which a fit holds 16
    block = 28 * most_votes + (16 + 24 * n_classes) * most_items  # measured, while it is worked on
    needed = BASE + 16 * table + (n_threads + 1) * (block + table)
    require(needed, memory, f"for {n_workers:,} workers and {n_classes} classes on {n_threads} threads")
    return StoredEngine(stored, bounds, n_threads, memory - needed, np.ones(most_votes), report)


def _unused(folder: Path) -> Path:
    taken = [int(path.name.removeprefix("rows-")) for path in folder.glob("rows-*")]
    return WorkFolder(folder).claim(f"rows-{max(taken, default=0) + 1}")


def _votes_by_class(stored: StoredVotes, group: int) -> IntArray:
    """The votes by class of the items of a row group."""
    [label_n] = stored.columns(group, group + 1, "label")
    votes_i = stored.votes_i[stored.item_g[group] : stored.item_g[group + 1]]
    return label_counts(label_n, np.concatenate([[0], np.cumsum(votes_i, dtype=np.int64)]), stored.shape[2])


def query(stored: StoredVotes, sql: str, *, memory: int) -> list[NDArray[Any]]:
    """The columns of a query on the table `votes` (codes of item, worker, label), which may spill to the folder."""
    import duckdb

    settings: dict[str, Any] = {
        "memory_limit": f"{memory // 2}B",
        "temp_directory": str(WorkFolder(stored.folder).claim("spill/")),
    }
    try:
        with connect(**settings) as connection:
            path = path_literal(stored.folder / VOTES_FILE)
            connection.execute(f"CREATE VIEW votes AS SELECT item, worker, label FROM read_parquet({path})")
            return [np.ma.getdata(column) for column in connection.sql(sql).fetchnumpy().values()]
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        raise ConfigError(
            f"memory='{spell(memory)}' is too little to count the votes: {str(error).splitlines()[0]} Give more memory "
            f"or more room on the disk of {stored.folder}."
        ) from None
