"""A table read once, batch by batch: each row goes, as codes, into the bucket of its item on disk.

Rows on disk: a vote is one number, and rows are moved to their group by a counting sort.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.backend.budget import BASE, require
from majorant.backend.id_encoder import IdEncoder
from majorant.backend.store import PER_GROUP
from majorant.io.collect import Coded, Span, encode_part, no_rows, part_seconds
from majorant.io.options import ReadOptions
from majorant.io.table import Table, TableRows
from majorant.io.values import decode, is_vote, voted
from majorant.io.vocabulary import Coder, Codes

LABEL_BITS, WORKER_BITS = 16, 31  # of 63: what is left is for the items of a bucket
LABEL_MASK, WORKER_MASK = (1 << LABEL_BITS) - 1, (1 << WORKER_BITS) - 1
MOST_LABELS = LABEL_MASK - 1
MOST_SHIFTS = 16  # beyond, sorting is faster than comparing each number with those that follow
Keys = NDArray[np.int64]
Records = NDArray[np.void]  # a key, and what else a row says: gold, status, slice, seconds, its number


def pack(item_n: Codes, worker_n: Codes, label_n: Codes) -> Keys:
    """A vote as one number: which item of its bucket, which worker, which raw label (-1 for none)."""
    key_n = item_n.astype(np.int64)
    key_n <<= WORKER_BITS
    key_n |= worker_n
    key_n <<= LABEL_BITS
    key_n |= label_n + np.int32(1)
    return key_n


def items_of(key_n: Keys) -> Codes:
    """The item of each vote, counted from the first of its bucket."""
    return (key_n >> (WORKER_BITS + LABEL_BITS)).astype(np.int32)


def unpack(key_n: Keys) -> tuple[Codes, Codes, Codes]:
    """Item, counted from the first of its bucket, worker and raw label of each vote.

    >>> [code_n.tolist() for code_n in unpack(pack(*np.array([[3, 65535], [7, 2**31 - 1], [-1, 65533]], np.int32)))]
    [[3, 65535], [7, 2147483647], [-1, 65533]]
    """
    worker_n = (key_n >> LABEL_BITS & WORKER_MASK).astype(np.int32)
    label_n = (key_n & LABEL_MASK).astype(np.int32)
    label_n -= 1
    return items_of(key_n), worker_n, label_n


def grouped(records: Records, group_n: Codes, n_groups: int) -> tuple[Records, NDArray[np.integer[Any]]]:
    """The records group by group, in their order within each, and where each group begins, and the end.

    Transposing a sparse matrix is a stable counting sort; records that are one number are moved by it as they are.
    """
    from scipy.sparse import csr_array

    if (group_n[1:] >= group_n[:-1]).all():
        return records, np.concatenate([[0], np.cumsum(np.bincount(group_n, minlength=n_groups))])
    alone = records.dtype.names == ("key",)
    moved_n = records["key"] if alone else np.arange(len(records), dtype=np.int32)
    by_group = csr_array((moved_n, group_n, np.array([0, len(records)], np.int32)), shape=(1, n_groups)).tocsc()
    return by_group.data.view(records.dtype) if alone else records.take(by_group.data), by_group.indptr


def any_repeat(pair_n: Keys, most: int) -> bool:
    """Whether a number occurs twice, where equal numbers are less than `most` places apart, or numbers rise by groups.

    >>> any_repeat(np.array([3, 1, 3, 7]), most=3), any_repeat(np.array([3, 1, 2, 7]), most=3)
    (True, False)
    """
    if most > MOST_SHIFTS:
        pair_n = np.sort(pair_n)
        most = 2
    return any(bool((pair_n[apart:] == pair_n[:-apart]).any()) for apart in range(1, min(most, len(pair_n))))


IDS = ("item", "worker")
ROWS_AT_ONCE = 1 << 21  # rows that are sorted into buckets together
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
    waiting: list[tuple[Records, Codes]] = field(default_factory=list)
    n_waiting: int = 0

    def add(self, records: Records, item_n: Codes) -> None:
        self.waiting.append((records, item_n))
        self.n_waiting += len(records)
        if self.n_waiting >= ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if not self.waiting:
            return
        records = np.concatenate([part for part, _ in self.waiting])
        bucket_n = np.concatenate([item_n for _, item_n in self.waiting]) // np.int32(PER_GROUP)
        self.waiting, self.n_waiting = [], 0
        first, last = int(bucket_n.min()), int(bucket_n.max())
        records, begin_b = grouped(records, bucket_n - np.int32(first), last - first + 1)
        for bucket in np.flatnonzero(np.diff(begin_b)):
            with (self.folder / f"bucket-{first + bucket:06}").open("ab") as file:
                file.write(records[begin_b[bucket] : begin_b[bucket + 1]].data)


def spill(
    table: Table, folder: Path, options: ReadOptions, *, memory: int, rows: bool, report: Report = silent
) -> Spilled:
    """Read the table into buckets; beside a few batches, memory holds the tables of items and workers.

    With `rows`, each record says in which row it stood, which only messages about bad rows need.
    """
    coders = {role: Coder(table.source, name) for role, name in table.columns.items() if role != "seconds"}
    ids = {role: coders.pop(role) for role in IDS}
    encoders = {
        role: IdEncoder(role, coder, table.kind, folder / f"{role}s.parquet", memory // 8)
        for role, coder in ids.items()
    }
    dtype = _record(table, rows)
    spiller, uses = _Spiller(folder), _Uses()
    spans: list[Span] = []
    n_rows = 0
    for part in table.parts:
        span = Span(n_rows, part.source, part.unit, part.first_row, part.row_n)
        spans.append(span)
        taken = sum(encoder.make_ready(part.columns[role]) for role, encoder in encoders.items())
        require(BASE + taken, memory, f"for the ids of the first {n_rows + part.n_rows:,} rows")
        codes = _codes(part, span, table, coders, encoders, min(options.most_labels, MOST_LABELS))
        uses.add(codes)
        spiller.add(_records(codes, part, span, table, dtype), codes["item"])
        n_rows += part.n_rows
        report("reading", n_rows, None)
    spiller.flush()
    if not n_rows:
        raise no_rows(table)
    n_ids = {role: encoder.close() for role, encoder in encoders.items()}
    known = {role: coder.finish()[2] for role, coder in coders.items()}
    nothing = dict.fromkeys(table.columns.keys() - {"seconds"}, np.empty(0, dtype=np.int32))
    coded = Coded(
        table=table, n_rows=n_rows, codes=nothing, declared=nothing, known=known, seconds_n=None, spans=spans,
        declared_spans=(),
    )  # fmt: skip
    return Spilled(folder=folder, coded=coded, dtype=dtype, n_ids=n_ids, uses=uses.votes(coded, options.no_vote))


def _record(table: Table, rows: bool) -> np.dtype[np.void]:
    fields: list[tuple[str, Any]] = [("key", np.int64)]
    fields += [(role, np.int32) for role in table.columns if role not in (*IDS, "label", "seconds")]
    if "seconds" in table.columns:
        fields.append(("seconds", np.float64))
    return np.dtype([*fields, ("row", np.int64)] if rows else fields)


def _codes(
    part: TableRows,
    span: Span,
    table: Table,
    coders: Mapping[str, Coder],
    encoders: Mapping[str, IdEncoder],
    max_classes: int,
) -> dict[str, Codes]:
    """The codes of some rows, by role."""
    encode_part(part, span, coders, table.columns, max_classes)
    codes = {}
    for role, encoder in encoders.items():
        codes[role], empty = encoder.encode(part.columns[role])
        if empty is not None:
            row = part.first_row + int(np.argmax(codes[role] == empty))
            raise encoder.refuse_empty(f"{part.source}, {part.unit} {row}")
    for role, coder in coders.items():
        coder.merge()
        codes[role] = coder.part_codes.pop()
    return codes


def _records(
    codes: Mapping[str, Codes], part: TableRows, span: Span, table: Table, dtype: np.dtype[np.void]
) -> Records:
    key_n = pack(codes["item"] & np.int32(PER_GROUP - 1), codes["worker"], codes["label"])
    names = dtype.names or ()
    if names == ("key",):
        return key_n.view(dtype)
    records = np.empty(len(key_n), dtype=dtype)
    records["key"] = key_n
    for role in codes.keys() & set(names):
        records[role] = codes[role]
    if "seconds" in names:
        given = "seconds" in part.columns
        records["seconds"] = part_seconds(part, span, table) if given else np.nan
    if "row" in names:
        records["row"] = np.arange(span.start, span.start + len(records))
    return records


class _Uses:
    """How many rows have each raw label with each status: which labels are in use is known when the table is read."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], int] = {}

    def add(self, codes: Mapping[str, Codes]) -> None:
        label_n = codes["label"] + np.int32(1)
        n_status = 1
        if "status" in codes:
            n_status = int(codes["status"].max(initial=-1)) + 2
            label_n = label_n.astype(np.int64) * n_status + codes["status"] + 1
        rows_k = np.bincount(label_n)
        for key in np.flatnonzero(rows_k):
            pair = int(key // n_status) - 1, int(key % n_status) - 1
            self.rows[pair] = self.rows.get(pair, 0) + int(rows_k[key])

    def votes(self, coded: Coded, no_vote: frozenset[str]) -> NDArray[np.int64]:
        """The votes for each raw label: rows whose label is not empty and whose status does not say otherwise."""
        labels = decode(coded.known["label"], coded.table.kind)
        statuses = decode(coded.known["status"], coded.table.kind) if "status" in coded.known else []
        uses = np.zeros(len(labels), dtype=np.int64)
        for (label, status), n in self.rows.items():
            if label >= 0 and is_vote(labels[label], no_vote) and (status < 0 or voted(statuses[status])):
                uses[label] += n
        return uses
