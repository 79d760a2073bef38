"""Buckets to votes sorted by item: each is resolved in memory by the rules of encoding and becomes row groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.backend.names import PER_GROUP
from majorant.backend.records import Records, items_of
from majorant.backend.resolving import ResolvedItems, Resolver
from majorant.backend.spill import Report, Spilled, silent
from majorant.io.labels import Labelled
from majorant.io.notes import LISTED, Coverage
from majorant.io.options import ReadOptions
from majorant.threads import in_order, thread_count

BYTES_PER_ROW = 120  # of a bucket while it is resolved
MOST_ROWS = 1 << 24  # of a row group
ARRAYS = ("votes", "gold", "abstained", "slice")  # one number per item, a file each


@dataclass(slots=True)
class Sorted:
    """What the sorted file turned out to hold."""

    item_g: list[int] = field(default_factory=lambda: [0])  # where each row group starts among the items, and the end
    vote_g: list[int] = field(default_factory=lambda: [0])  # ... among the votes
    merged: int = 0
    dropped: int = 0
    slices: tuple[Any, ...] = ()
    arrays: set[str] = field(default_factory=set)
    coverage: Coverage | None = None


class _Piece(NamedTuple):
    """Some items of a bucket whose rows fit into memory together."""

    bucket: int
    start: int
    stop: int
    whole: bool  # all of the bucket
    last: bool


def sort_votes(
    spilled: Spilled, named: Labelled, folder: Path, options: ReadOptions, *, memory: int, report: Report = silent
) -> Sorted:
    """Write votes.parquet, a row group for some whole items each, and one file for each number that items have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_threads = thread_count(options.threads)
    limit = min(memory // 2 // (n_threads + 1) // BYTES_PER_ROW, MOST_ROWS)
    resolver, found, coverage = Resolver(spilled, named, options), Sorted(), _Coverage(spilled, named)
    columns = {"item": pa.int32(), "worker": pa.int32(), "label": pa.int32()}
    packed = dict.fromkeys(columns, "DELTA_BINARY_PACKED")  # smaller and faster than a dictionary, or than no packing
    if "seconds" in (spilled.dtype.names or ()):
        columns["seconds"] = pa.float64()

    def resolved(piece: _Piece) -> ResolvedItems:
        return resolver.resolve(piece.start, piece.stop, _rows(spilled, piece), piece.bucket * PER_GROUP)

    pieces = list(_pieces(spilled, limit))
    with pq.ParquetWriter(
        folder / "votes.parquet", pa.schema(columns), compression="none", use_dictionary=False, column_encoding=packed,
        write_page_checksum=True, write_statistics=False,
    ) as file:  # fmt: skip
        for piece, part in zip(pieces, in_order(resolved, pieces, n_threads), strict=True):
            _write(file, folder, part, found)
            coverage.add(part)
            report("sorting", found.vote_g[-1], int(spilled.uses.sum()))
            if piece.last:
                spilled.bucket(piece.bucket).unlink(missing_ok=True)
    found.item_g[-1] = spilled.n_ids["item"]
    found.coverage = coverage.found(resolver)
    return found


class _Coverage:
    """Which labels, items and workers the votes reach, counted as they pass by."""

    def __init__(self, spilled: Spilled, named: Labelled) -> None:
        self.named = named
        self.votes_l = np.zeros(len(named.labels), dtype=np.int64)
        self.heard_j = np.zeros(spilled.n_ids["worker"], dtype=bool)
        self.gold_k = np.zeros(len(named.labels), dtype=bool)
        self.bare: list[int] = []
        self.n_bare = 0

    def add(self, part: ResolvedItems) -> None:
        """Count some votes."""
        self.votes_l += np.bincount(part.ballots.label_n, minlength=len(self.votes_l))
        self.heard_j[part.ballots.worker_n] = True
        bare = np.flatnonzero(part.arrays["votes"] == 0)
        self.n_bare += len(bare)
        self.bare += [part.start + int(i) for i in bare[: LISTED - len(self.bare)]]
        if "gold" in part.arrays:
            self.gold_k[part.arrays["gold"][part.arrays["gold"] >= 0]] = True

    def found(self, resolver: Resolver) -> Coverage:
        """What the account needs."""
        silent_j = np.flatnonzero(~self.heard_j)
        has_gold = self.named.gold_map is not None or self.named.gold_i is not None
        return Coverage(
            labels=self.named.labels,
            votes_l=self.votes_l,
            bare=resolver.items.take(np.array(self.bare, dtype=np.int64)),
            n_bare=self.n_bare,
            silent=[resolver.workers[j] for j in silent_j[:LISTED]],
            n_silent=len(silent_j),
            gold_k=self.gold_k if has_gold else None,
        )


def _pieces(spilled: Spilled, limit: int) -> Iterator[_Piece]:
    """The buckets, each in as many ranges of whole items as it takes for one to fit into memory."""
    for number in range(spilled.n_buckets):
        start = number * PER_GROUP
        stop = min(start + PER_GROUP, spilled.n_ids["item"])
        path = spilled.bucket(number)
        n_rows = path.stat().st_size // spilled.dtype.itemsize if path.exists() else 0
        if n_rows <= limit:
            yield _Piece(number, start, stop, True, True)
            continue
        rows_i = sum(np.bincount(items_of(chunk["key"]), minlength=stop - start) for chunk in _chunks(spilled, number))
        end_i = np.concatenate([[0], np.cumsum(rows_i)])
        first = 0
        while first < stop - start:
            last = max(first + 1, int(np.searchsorted(end_i, end_i[first] + limit, side="right")) - 1)
            yield _Piece(number, start + first, start + last, False, last == stop - start)
            first = last


def _rows(spilled: Spilled, piece: _Piece) -> Records:
    """The rows of the items of a piece, in their order."""
    if piece.whole:
        path = spilled.bucket(piece.bucket)
        return np.fromfile(path, spilled.dtype) if path.exists() else np.empty(0, spilled.dtype)
    low, high = piece.start - piece.bucket * PER_GROUP, piece.stop - piece.bucket * PER_GROUP
    found = []
    for chunk in _chunks(spilled, piece.bucket):
        item_n = items_of(chunk["key"])
        found.append(chunk[(item_n >= low) & (item_n < high)])
    return np.concatenate(found)


def _chunks(spilled: Spilled, bucket: int) -> Iterator[Records]:
    step = spilled.dtype.itemsize * (1 << 18)
    with spilled.bucket(bucket).open("rb") as file:
        while content := file.read(step):
            yield np.frombuffer(content, spilled.dtype)


def _write(file: Any, folder: Path, part: ResolvedItems, found: Sorted) -> None:
    import pyarrow as pa

    ballots = part.ballots
    columns: list[NDArray[Any]] = [ballots.item_n + np.int32(part.start), ballots.worker_n, ballots.label_n]
    if ballots.seconds_n is not None:
        columns.append(ballots.seconds_n)
    n_votes = len(ballots.item_n)
    if n_votes:
        table = pa.Table.from_arrays([pa.array(array_n) for array_n in columns], schema=file.schema)
        file.write_table(table, row_group_size=n_votes)
    for name, value_i in part.arrays.items():
        with (folder / f"{name}_i").open("ab") as out:
            out.write(value_i.astype(np.int32).tobytes())
    if n_votes:  # items without votes have no row group of their own: they belong to the one that follows
        found.item_g.append(part.stop)
        found.vote_g.append(found.vote_g[-1] + n_votes)
    found.merged += part.resolved.merged
    found.dropped += part.resolved.dropped
    found.slices = part.slices
    found.arrays |= part.arrays.keys() - (set() if part.abstaining else {"abstained"})
