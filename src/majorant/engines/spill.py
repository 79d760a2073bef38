"""A table read once, batch by batch: each row goes, as codes, into the bucket of its item on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.encode.collect import Coded, Span, encode_part, no_rows, part_seconds
from majorant.encode.values import decode, is_empty, voted
from majorant.encode.vocabulary import Coder
from majorant.engines.memory import BASE, require
from majorant.engines.names import PER_GROUP
from majorant.engines.rolls import Roll
from majorant.load.table import Part, Table, column_length

IDS = ("item", "worker")
ROWS_AT_ONCE = 1 << 21  # rows that are sorted into buckets together
Records = NDArray[np.void]
Report = Callable[[str, int, int | None], None]  # what is done, how much of it, out of how much (None: not known)


def silent(what: str, done: int, total: int | None) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spilled:
    """A table on disk: bucket b holds, in their order, the rows of items b * PER_GROUP up to the next bucket's."""

    folder: Path
    coded: Coded  # without codes: the vocabularies of labels, and where each row came from
    dtype: np.dtype[np.void]
    n_ids: Mapping[str, int]
    uses: NDArray[np.int64]  # votes for each raw label

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return -(-self.n_ids["item"] // PER_GROUP)

    def bucket(self, number: int) -> Path:
        """The file of a bucket; there may be none."""
        return self.folder / f"bucket-{number:06}"


@dataclass(slots=True)
class _Spiller:
    """Collects records until there are enough to be worth sorting."""

    folder: Path
    dtype: np.dtype[np.void]
    waiting: list[Records] = field(default_factory=list)
    n_waiting: int = 0

    def add(self, records: Records) -> None:
        self.waiting.append(records)
        self.n_waiting += len(records)
        if self.n_waiting >= ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if not self.waiting:
            return
        records = np.concatenate(self.waiting)
        self.waiting, self.n_waiting = [], 0
        bucket_n = records["item"] // PER_GROUP
        if (bucket_n[1:] < bucket_n[:-1]).any():
            order_n = np.argsort(bucket_n, kind="stable")
            records, bucket_n = records[order_n], bucket_n[order_n]
        starts = np.flatnonzero(np.diff(bucket_n, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(records)], strict=True):
            path = self.folder / f"bucket-{bucket_n[start]:06}"
            with path.open("ab") as file:
                file.write(records[start:stop].tobytes())


def spill(
    table: Table, folder: Path, *, memory: int, max_classes: int, empty: frozenset[str], report: Report = silent
) -> Spilled:
    """Read the table into buckets; beside a few batches, memory holds the hashes of items and workers."""
    coders = {role: Coder(table.source, name) for role, name in table.columns.items() if role != "seconds"}
    rolls = {role: Roll(role, coders[role], table.kind, folder / f"{role}s.parquet") for role in IDS}
    dtype = _record(table)
    spiller, uses = _Spiller(folder, dtype), _Uses()
    spans: list[Span] = []
    n_rows = 0
    for part in table.parts:
        span = Span(n_rows, part.source, part.unit, part.first_row, part.row_n)
        spans.append(span)
        taken = sum(roll.bytes_with(part.n_rows) for roll in rolls.values())
        require(BASE + taken, memory, f"for the ids of the first {n_rows + part.n_rows:,} rows")
        records = _records(part, span, table, dtype, coders, rolls, max_classes)
        uses.add(records)
        spiller.add(records)
        n_rows += part.n_rows
        report("reading", n_rows, None)
    spiller.flush()
    if not n_rows:
        raise no_rows(table)
    n_ids = {role: roll.close() for role, roll in rolls.items()}
    known = {role: coder.finish()[2] for role, coder in coders.items() if role not in IDS}
    nothing = dict.fromkeys(coders, np.empty(0, dtype=np.int32))
    coded = Coded(
        table=table, n_rows=n_rows, codes=nothing, declared=nothing, known=known, seconds_n=None, spans=spans,
        declared_spans=(),
    )  # fmt: skip
    return Spilled(folder=folder, coded=coded, dtype=dtype, n_ids=n_ids, uses=uses.votes(coded, empty))


def _record(table: Table) -> np.dtype[np.void]:
    fields: list[tuple[str, Any]] = [(role, np.int32) for role in table.columns if role != "seconds"]
    if "seconds" in table.columns:
        fields.append(("seconds", np.float64))
    return np.dtype([*fields, ("row", np.int64)])


def _records(
    part: Part, span: Span, table: Table, dtype: np.dtype[np.void], coders: Mapping[str, Coder],
    rolls: Mapping[str, Roll], max_classes: int,
) -> Records:  # fmt: skip
    columns = dict(part.columns)
    for role, roll in rolls.items():
        columns[role] = roll.hashed(columns[role])
    hashed = Part(
        source=part.source, unit=part.unit, first_row=part.first_row, n_rows=part.n_rows, columns=columns,
        row_n=part.row_n,
    )  # fmt: skip
    encode_part(hashed, span, coders, table.columns, max_classes)
    records = np.empty(column_length(columns["item"]), dtype=dtype)
    records["row"] = np.arange(span.start, span.start + len(records))
    for role, coder in coders.items():
        if role in rolls:
            records[role], empty = rolls[role].take()
            if empty is not None:
                row = part.first_row + int(np.argmax(records[role] == empty))
                raise rolls[role].refuse_empty(f"{part.source}, {part.unit} {row}")
        else:
            coder.merge()
            records[role] = coder.part_codes.pop()
    if "seconds" in (dtype.names or ()):
        given = "seconds" in part.columns
        records["seconds"] = part_seconds(part, span, table) if given else np.nan
    return records


class _Uses:
    """How many rows have each raw label with each status: which labels are in use is known when the table is read."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], int] = {}

    def add(self, records: Records) -> None:
        label_n = records["label"].astype(np.int64) + 1
        status_n = records["status"].astype(np.int64) + 1 if "status" in (records.dtype.names or ()) else label_n * 0
        n_status = int(status_n.max(initial=0)) + 1
        rows_k = np.bincount(label_n * n_status + status_n)
        for key in np.flatnonzero(rows_k):
            pair = int(key // n_status) - 1, int(key % n_status) - 1
            self.rows[pair] = self.rows.get(pair, 0) + int(rows_k[key])

    def votes(self, coded: Coded, empty: frozenset[str]) -> NDArray[np.int64]:
        """The votes for each raw label: rows whose label is not empty and whose status does not say otherwise."""
        labels = decode(coded.known["label"], coded.table.kind)
        statuses = decode(coded.known["status"], coded.table.kind) if "status" in coded.known else []
        uses = np.zeros(len(labels), dtype=np.int64)
        for (label, status), n in self.rows.items():
            filled = label >= 0 and not is_empty(labels[label]) and str(labels[label]) not in empty
            said = status < 0 or is_empty(statuses[status]) or voted(statuses[status])
            if filled and said:
                uses[label] += n
        return uses
