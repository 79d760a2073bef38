"""Buckets to votes sorted by item: each is settled in memory by the rules of encoding and becomes row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.encode.build import Ballots, abstained, gold_codes, settle
from majorant.encode.collect import Coded
from majorant.encode.ids import Ids
from majorant.encode.labels import Labelled, vote_mask
from majorant.encode.notes import LISTED, Coverage
from majorant.encode.per_item import slices_of_items
from majorant.encode.repeats import Resolved
from majorant.encode.values import decode
from majorant.engines.names import PER_GROUP, Names
from majorant.engines.spill import Records, Report, Spilled, silent

BYTES_PER_ROW = 120  # of a bucket while it is settled
MOST_ROWS = 1 << 24  # of a row group
NONE = np.empty(0, dtype=np.int32)
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


def sort_votes(
    spilled: Spilled, named: Labelled, folder: Path, *, repeats: str, empty: frozenset[str], memory: int,
    report: Report = silent,
) -> Sorted:  # fmt: skip
    """Write votes.parquet, a row group for some whole items each, and one file for each number that items have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found, work = Sorted(), _Work(spilled, named, repeats, empty)
    columns = {"item": pa.int32(), "worker": pa.int32(), "label": pa.int32()}
    if "seconds" in (spilled.dtype.names or ()):
        columns["seconds"] = pa.float64()
    with pq.ParquetWriter(
        folder / "votes.parquet", pa.schema(columns), compression="none", use_dictionary=["worker", "label"],
        column_encoding={"item": "DELTA_BINARY_PACKED"}, write_page_checksum=True,
    ) as file:  # fmt: skip
        for number in range(spilled.n_buckets):
            for start, stop, records in _pieces(spilled, number, memory):
                _write(file, folder, work.settle(start, stop, records, found), found, stop)
                report("sorting", found.vote_g[-1], int(spilled.uses.sum()))
            spilled.bucket(number).unlink(missing_ok=True)
    found.item_g[-1] = spilled.n_ids["item"]
    found.coverage = work.coverage()
    return found


@dataclass(frozen=True, slots=True)
class _Settled:
    ballots: Ballots
    start: int
    arrays: dict[str, NDArray[np.int32]]


class _Work:
    """What does not change from bucket to bucket, and the counts that the account needs."""

    def __init__(self, spilled: Spilled, named: Labelled, repeats: str, empty: frozenset[str]) -> None:
        self.spilled, self.named, self.repeats, self.empty = spilled, named, repeats, empty
        kind = spilled.coded.table.kind
        self.items = Names(spilled.folder / "items.parquet", spilled.n_ids["item"], kind)
        self.workers = list(Names(spilled.folder / "workers.parquet", spilled.n_ids["worker"], kind))
        self.label_values = decode(spilled.coded.known["label"], kind)
        self.votes_l = np.zeros(len(named.labels), dtype=np.int64)
        self.votes_j = np.zeros(len(self.workers), dtype=np.int64)
        self.gold_k = np.zeros(len(named.labels), dtype=bool)
        self.bare: list[int] = []
        self.n_bare = 0

    def settle(self, start: int, stop: int, records: Records, found: Sorted) -> _Settled:
        """The votes of the items from start to stop, in order, and what is known of these items."""
        coded = self._coded(records)
        items = Ids(code_n=records["item"] - np.int32(start), declared_n=NONE, values=_Some(self.items, start, stop))
        workers = Ids(code_n=np.ascontiguousarray(records["worker"]), declared_n=NONE, values=self.workers)
        vote_n = vote_mask(coded, self.label_values, self.empty)
        ballots, resolved = settle(coded, items, workers, self.named, vote_n, self.repeats)
        votes_i = np.bincount(ballots.item_n, minlength=stop - start)
        arrays: dict[str, Any] = {"votes": votes_i, "abstained": np.zeros(stop - start, dtype=np.int32)}
        if vote_n is not None:
            arrays["abstained"] = abstained(items, workers, vote_n)
            found.arrays.add("abstained")
        if self.named.gold_map is not None:
            arrays["gold"] = gold_codes(coded, items, self.named)
        elif self.named.gold_i is not None:
            arrays["gold"] = self.named.gold_i[start:stop]
        slice_i, found.slices = slices_of_items(coded, items)
        if slice_i is not None:
            arrays["slice"] = slice_i
        found.arrays |= arrays.keys() - {"abstained"}
        self._count(start, ballots, arrays, resolved, found)
        return _Settled(ballots, start, arrays)

    def _coded(self, records: Records) -> Coded:
        names = records.dtype.names or ()
        return replace(
            self.spilled.coded,
            n_rows=len(records),
            codes={role: np.ascontiguousarray(records[role]) for role in self.spilled.coded.codes},
            seconds_n=np.ascontiguousarray(records["seconds"]) if "seconds" in names else None,
            row_n=records["row"],
        )

    def _count(self, start: int, ballots: Ballots, arrays: dict[str, Any], resolved: Resolved, found: Sorted) -> None:
        found.merged += resolved.merged
        found.dropped += resolved.dropped
        self.votes_l += np.bincount(ballots.label_n, minlength=len(self.votes_l))
        self.votes_j += np.bincount(ballots.worker_n, minlength=len(self.votes_j))
        bare = np.flatnonzero(arrays["votes"] == 0)
        self.n_bare += len(bare)
        self.bare += [start + int(i) for i in bare[: LISTED - len(self.bare)]]
        if "gold" in arrays:
            self.gold_k[arrays["gold"][arrays["gold"] >= 0]] = True

    def coverage(self) -> Coverage:
        """Which labels, items and workers the votes reach."""
        silent_j = np.flatnonzero(self.votes_j == 0)
        has_gold = self.named.gold_map is not None or self.named.gold_i is not None
        return Coverage(
            labels=self.named.labels,
            votes_l=self.votes_l,
            bare=self.items.take(np.array(self.bare, dtype=np.int64)),
            n_bare=self.n_bare,
            silent=[self.workers[j] for j in silent_j[:LISTED]],
            n_silent=len(silent_j),
            gold_k=self.gold_k if has_gold else None,
        )


class _Some(Sequence[Any]):
    """The names of some items: how many they are is known, what they are is read only for a message."""

    def __init__(self, names: Names, start: int, stop: int) -> None:
        self.names, self.start, self.stop = names, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index: Any) -> Any:
        return self.names[self.start + int(index)]


def _pieces(spilled: Spilled, number: int, memory: int) -> Iterator[tuple[int, int, Records]]:
    """The rows of a bucket, in as many ranges of whole items as it takes for one to fit into memory."""
    path, start = spilled.bucket(number), number * PER_GROUP
    stop = min(start + PER_GROUP, spilled.n_ids["item"])
    limit = min(memory // 3 // BYTES_PER_ROW, MOST_ROWS)
    n_rows = path.stat().st_size // spilled.dtype.itemsize if path.exists() else 0
    if n_rows <= limit:
        rows = np.fromfile(path, spilled.dtype) if n_rows else np.empty(0, spilled.dtype)
        yield start, stop, rows
        return
    step = spilled.dtype.itemsize * (1 << 18)

    def chunks() -> Iterator[Records]:
        with path.open("rb") as file:
            while content := file.read(step):
                yield np.frombuffer(content, spilled.dtype)

    rows_i = sum(np.bincount(chunk["item"] - start, minlength=stop - start) for chunk in chunks())
    end_i = np.concatenate([[0], np.cumsum(rows_i)])
    first = 0
    while first < stop - start:
        last = max(first + 1, int(np.searchsorted(end_i, end_i[first] + limit, side="right")) - 1)
        low, high = start + first, start + last
        found = [chunk[(chunk["item"] >= low) & (chunk["item"] < high)] for chunk in chunks()]
        yield low, high, np.concatenate(found)
        first = last


def _write(file: Any, folder: Path, settled: _Settled, found: Sorted, stop: int) -> None:
    import pyarrow as pa

    ballots = settled.ballots
    columns = [pa.array(array_n) for array_n in (ballots.item_n + np.int32(settled.start), ballots.worker_n,
                                                 ballots.label_n)]  # fmt: skip
    if ballots.seconds_n is not None:
        columns.append(pa.array(ballots.seconds_n))
    n_votes = len(ballots.item_n)
    if n_votes:
        file.write_table(pa.Table.from_arrays(columns, schema=file.schema), row_group_size=n_votes)
    for name, value_i in settled.arrays.items():
        with (folder / f"{name}_i").open("ab") as out:
            out.write(value_i.astype(np.int32).tobytes())
    if n_votes:  # items without votes have no row group of their own: they belong to the one that follows
        found.item_g.append(stop)
        found.vote_g.append(found.vote_g[-1] + n_votes)
