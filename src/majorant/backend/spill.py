"""A table read once, batch by batch: each row goes, as codes, into the bucket of its item on disk.

Ids become codes while the table streams by: the names go to a file, a hash of each stays in memory.  A vote on disk is
one number, and rows are moved to their bucket by a counting sort.

DuckDB sorts files larger than memory as well.  Measured (benchmarks/README.md, votes larger than memory), its ORDER BY
alone takes as long as all that is done here and in `prepare`, and thrice as long with codes in order of appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.backend.store import PER_GROUP, NameWriter, StoredNames
from majorant.backend.workfolder import WorkFolder
from majorant.database import connect
from majorant.errors import DataError
from majorant.read.encode import FULLEST, Coded, Coder, Codes, DenseTable, Span, encode_part, no_rows, part_seconds
from majorant.read.names import empty_id
from majorant.read.options import ReadOptions
from majorant.read.table import (
    Column,
    Hashed,
    Objects,
    Table,
    TableRows,
    arrow_view,
    column_length,
    dictionary_codes,
    hashes,
    numpy_view,
)
from majorant.read.values import decode, is_empty, is_vote, kind_key, voted
from majorant.resources import BASE, require

LABEL_BITS, WORKER_BITS = 16, 31  # of 63: what is left is for the items of a bucket
LABEL_MASK, WORKER_MASK = (1 << LABEL_BITS) - 1, (1 << WORKER_BITS) - 1
MOST_RAW_LABELS = LABEL_MASK - 1
MOST_SHIFTS = 16  # beyond, sorting is faster than comparing each number with those that follow
VoteKeys = NDArray[np.int64]
Records = NDArray[np.void]  # a key, and what else a row says: gold, status, slice, seconds, its number
IDS = ("item", "worker")
ROWS_PER_FLUSH = 1 << 21  # rows that are sorted into buckets together
Report = Callable[[str, int, int | None], None]  # what is done, how much of it, out of how much (None: not known)
ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by an odd number loses nothing: different integers, different keys
JSON_TEXT, JSON_WHOLE = r'^"[^\\]*"$', r"^(0|-?[1-9][0-9]{0,17})$"  # as JSON writes them, each value in one way only


def pack_keys(item_n: Codes, worker_n: Codes, label_n: Codes) -> VoteKeys:
    """A vote as one number: which item of its bucket, which worker, which raw label (-1 for none)."""
    key_n = item_n.astype(np.int64)
    key_n <<= WORKER_BITS
    key_n |= worker_n
    key_n <<= LABEL_BITS
    key_n |= label_n + np.int32(1)
    return key_n


def items_of(key_n: VoteKeys) -> Codes:
    """The item of each vote, counted from the first of its bucket."""
    return (key_n >> (WORKER_BITS + LABEL_BITS)).astype(np.int32)


def unpack_keys(key_n: VoteKeys) -> tuple[Codes, Codes, Codes]:
    """Item, counted from the first of its bucket, worker and raw label of each vote.

    >>> codes = np.array([[3, 65535], [7, 2**31 - 1], [-1, 65533]], np.int32)
    >>> [code_n.tolist() for code_n in unpack_keys(pack_keys(*codes))]
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


def any_repeat(pair_n: VoteKeys, most: int) -> bool:
    """Whether a number occurs twice, where equal numbers are less than `most` places apart, or numbers rise by groups.

    >>> any_repeat(np.array([3, 1, 3, 7]), most=3), any_repeat(np.array([3, 1, 2, 7]), most=3)
    (True, False)
    """
    if most > MOST_SHIFTS:
        pair_n = np.sort(pair_n)
        most = 2
    return any(bool((pair_n[apart:] == pair_n[:-apart]).any()) for apart in range(1, min(most, len(pair_n))))


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

    work: WorkFolder
    waiting: list[tuple[Records, Codes]] = field(default_factory=list)
    n_waiting: int = 0

    def add(self, records: Records, item_n: Codes) -> None:
        self.waiting.append((records, item_n))
        self.n_waiting += len(records)
        if self.n_waiting >= ROWS_PER_FLUSH:
            self.flush()

    def flush(self) -> None:
        if not self.waiting:
            return
        records = np.concatenate([part for part, _ in self.waiting])
        bucket_n = np.concatenate([item_n for _, item_n in self.waiting]) // np.int32(PER_GROUP)
        self.waiting, self.n_waiting = [], 0
        first, last = int(bucket_n.min()), int(bucket_n.max())
        records, begin_b = grouped(records, bucket_n - np.int32(first), last - first + 1)
        for bucket in np.flatnonzero(np.diff(begin_b)).tolist():
            with self.work.claim(f"bucket-{first + bucket:06}").open("ab") as file:
                file.write(records[begin_b[bucket] : begin_b[bucket + 1]].data)


def spill(
    table: Table, work: WorkFolder, options: ReadOptions, *, memory: int, rows: bool, report: Report = silent
) -> Spilled:
    """Read the table into buckets; beside a few batches, memory holds the tables of items and workers.

    With `rows`, each record says in which row it stood, which only messages about bad rows need.
    """
    coders = {role: Coder(table.source, name) for role, name in table.columns.items() if role != "seconds"}
    ids = {role: coders.pop(role) for role in IDS}
    encoders = {
        role: IdEncoder(role, coder, table.kind, work.claim(f"{role}s.parquet"), memory // 8)
        for role, coder in ids.items()
    }
    dtype = _record(table, rows)
    spiller, uses = _Spiller(work), _Uses()
    spans: list[Span] = []
    n_rows = 0
    for part in table.parts:
        span = Span(n_rows, part.source, part.unit, part.first_row, part.row_n)
        spans.append(span)
        taken = sum(encoder.make_ready(part.columns[role]) for role, encoder in encoders.items())
        require(BASE + taken, memory, f"for the ids of the first {n_rows + part.n_rows:,} rows")
        codes = _codes(part, span, table, coders, encoders, min(options.most_labels, MOST_RAW_LABELS))
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
    return Spilled(folder=work.path, coded=coded, dtype=dtype, n_ids=n_ids, uses=uses.votes(coded, options.no_vote))


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
            raise empty_id(f"{part.source}, {part.unit} {row}", table.columns[role], role)
    for role, coder in coders.items():
        coder.merge()
        codes[role] = coder.part_codes.pop()
    return codes


def _records(
    codes: Mapping[str, Codes], part: TableRows, span: Span, table: Table, dtype: np.dtype[np.void]
) -> Records:
    key_n = pack_keys(codes["item"] & np.int32(PER_GROUP - 1), codes["worker"], codes["label"])
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


class IdEncoder:
    """The items, or the workers, in order of appearance.

    Whole numbers that lie close together find their codes in a table of all numbers between them (DenseTable), text and
    other numbers by their hashes (Coder).  `room` is what the first of the two may take, however few the ids are.
    """

    def __init__(self, role: str, coder: Coder, kind: str, path: Path, room: int) -> None:
        self.role, self.coder, self.kind = role, coder, kind
        self.writer = NameWriter(path)
        self.dense: DenseTable | None = DenseTable(room)
        self.form = ""  # of JSON: how the first name is written
        self.alike = False  # whether two names that differ might be one value
        self.connection: Any = None  # to DuckDB, where it must hash text

    def encode(self, column: Column) -> tuple[Codes, int | None]:
        """The codes of the next rows, and the first code that names nothing, if there is one."""
        import pyarrow as pa

        number_n = self._numbers(column)
        if number_n is not None and self.dense is not None:
            return self._encode_numbers(column, number_n, self.dense)
        if not isinstance(column, (Hashed, Objects)):
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                return self._encode_text(column)
            if pa.types.is_integer(column.type):
                column = _hashed_integers(column)
        self.coder.add(column)
        return self._take()

    def _encode_numbers(self, column: Any, number_n: NDArray[np.int64], dense: DenseTable) -> tuple[Codes, int | None]:
        if column.null_count:
            return np.where(numpy_view(column.is_valid(), np.bool_), np.int32(0), np.int32(-1)), -1
        code_n, new = dense.encode(number_n)
        if len(new):
            self._write(column.take(arrow_view(new)))
        return code_n, None

    def _encode_text(self, column: Any) -> tuple[Codes, int | None]:
        """Text that comes without hashes gets those that DuckDB would have given, each text once."""
        import pyarrow as pa

        encoded = column.dictionary_encode()
        if self.connection is None:
            self.connection = connect(1)
        self.connection.register("part", pa.table({"c": encoded.dictionary}))
        hashed = self.connection.sql(f"SELECT {hashes('c')} FROM part").fetchnumpy()
        key_v, check_v = (np.ma.getdata(values) for values in hashed.values())
        self.coder.add(Hashed(encoded.dictionary, key_v.astype(np.uint64), check_v.astype(np.uint32)))
        code_v, empty = self._take()
        code_n = np.append(code_v, np.int32(-1))[dictionary_codes(encoded)]
        return code_n, -1 if encoded.null_count else empty

    def make_ready(self, column: Column) -> int:
        """Choose the table by which the next rows are encoded, and say how much memory that may take."""
        number_n = self._numbers(column)
        if self.dense is not None and number_n is not None:
            taken = self.dense.bytes_with(number_n)
            if taken is not None:
                return taken
        self._leave_dense()
        table = self.coder.table
        if table is None:
            return 200 * len(self.coder)
        n_bytes, n_more = table.slots.nbytes, column_length(column)
        return 4 * n_bytes if table.n_keys + n_more > FULLEST * len(table.slots) else n_bytes

    def _numbers(self, column: Column) -> NDArray[np.int64] | None:
        import pyarrow as pa

        if self.dense is None or isinstance(column, (Hashed, Objects)):
            return None
        if not pa.types.is_integer(column.type) or column.type == pa.uint64():
            return None
        return numpy_view(column.cast(pa.int64()), np.int64)

    def _leave_dense(self) -> None:
        """From here on by hashes, with the codes that are given already."""
        if self.dense is not None and self.dense.n_keys:
            import pyarrow as pa

            self.coder.add(_hashed_integers(pa.array(self.dense.numbers())))
            self.coder.part_codes.clear()
            self.coder.texts.clear()  # their names are written
        self.dense = None

    def _take(self) -> tuple[Codes, int | None]:
        """The codes of the part added last, and the first code that names nothing, if there is one."""
        table = self.coder.table
        self.coder.merge()
        code_n = self.coder.part_codes.pop()
        if table is None:
            if self.writer.n_names:
                raise self._several_types()
            return code_n, -1 if (code_n < 0).any() else None
        first, empty = self.writer.n_names, None
        for names in self.coder.texts:
            empty = self._learn(names, first) if empty is None else empty
            first += len(names)
        self.coder.texts.clear()
        return code_n, -1 if (code_n < 0).any() else empty

    def _learn(self, names: Any, first: int) -> int | None:
        """Write new names; the code of one that is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._write(names)
        if pa.types.is_integer(names.type):
            return None
        if self.kind == "json":
            if not self.form:
                whole = pc.match_substring_regex(names.slice(0, 1), JSON_WHOLE)[0].as_py()
                self.form = JSON_WHOLE if whole else JSON_TEXT
            self.alike |= not pc.all(pc.match_substring_regex(names, self.form)).as_py()
        shortest = pc.min(pc.binary_length(pc.utf8_trim_whitespace(names))).as_py()
        if self.kind != "json" and shortest > 0:
            return None
        return next((first + n for n, value in enumerate(decode(names, self.kind)) if is_empty(value)), None)

    def _write(self, names: Any) -> None:
        try:
            self.writer.add(names)
        except TypeError:
            raise self._several_types() from None

    def _several_types(self) -> DataError:
        return DataError(
            f"{self.coder.source}, column {self.coder.column!r}: ids of several types. With a limit on memory, write "
            f"every {self.role} as text, or every one as a whole number."
        )

    def close(self) -> int:
        """End the file of names; the number of names."""
        if self.coder.table is None and self.coder.known is not None:
            self.alike = True
            self.writer.add(self.coder.known)
        self.writer.close()
        if self.connection is not None:
            self.connection.close()
        if self.alike:
            self._refuse_alike(StoredNames(self.writer.path, self.writer.n_names, self.kind))
        return self.writer.n_names

    def _refuse_alike(self, values: StoredNames) -> None:
        seen: dict[Any, Any] = {}
        for value in values:
            other = seen.setdefault(kind_key(value), value)
            if other is not value:
                raise DataError(
                    f"{self.coder.source}, column {self.coder.column!r}: {other!r} and {value!r} are one {self.role}, "
                    "written in two ways. With a limit on memory, write it in one way."
                )


def _hashed_integers(column: Any) -> Hashed:
    import pyarrow as pa

    width = pa.uint64() if column.type == pa.uint64() else pa.int64()
    values = column.cast(width)
    key_n = numpy_view(values, np.uint64) * ODD
    return Hashed(values, key_n ^ (key_n >> np.uint64(32)), np.zeros(len(values), dtype=np.uint32))
