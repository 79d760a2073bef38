"""Stage a table as Parquet with one row per vote, so that DuckDB or Spark can sort it.

`majorant.read` interprets every cell, just as for votes in memory.  The staged file holds items by name and all
other columns as codes; their vocabularies stay in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.database import path_literal
from majorant.errors import ConfigError, DataError, use
from majorant.read.build import (
    LISTED,
    Coded,
    Coder,
    Codes,
    Coverage,
    LabelCodes,
    Span,
    count_disputed,
    encode_part,
    ids_of,
    no_rows,
    part_seconds,
    refuse_long,
    unclear_status,
)
from majorant.read.options import ReadOptions
from majorant.read.table import (
    Column,
    Objects,
    Table,
    coded_column,
    decode,
    dictionary_codes,
    is_vote,
    numpy_view,
    plain,
    voted,
)
from majorant.votes import IntArray

Report = Callable[[str, int, int | None], None]  # the step, how much of it is done, and out of how much, if known


def silent(step: str, done: int, total: int | None) -> None:
    """No-op progress callback."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged file, and what was learned while writing it."""

    path: Path  # columns: item, run, codes of worker, label, gold, status and slice (-1: empty), seconds
    coded: Coded  # vocabularies and row locations, without codes
    n_runs: int  # runs of consecutive rows with the same item, which the column `run` counts


def stage_table(table: Table, path: Path, options: ReadOptions, report: Report = silent) -> Staged:
    """Write the rows of a table to a Parquet file.

    Parameters
    ----------
    table
        A table that has been opened, with one row per vote.
    path
        The file to write.
    options
        How the table is read.
    report
        Called with the number of rows read so far.

    Raises
    ------
    DataError
        If items are of several types, or of a type other than text, numbers and booleans.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if table.wide:
        raise wide_table()
    coders = {
        role: Coder(table.source, name) for role, name in table.columns.items() if role not in ("item", "seconds")
    }
    items = _ItemColumn(table)
    spans: list[Span] = []
    n_rows = 0
    with contextlib.ExitStack() as stack:
        writer: Any = None
        for part in table.parts:
            span = Span(n_rows, part.source, part.unit, part.first_row, part.row_n)
            spans.append(span)
            encode_part(part, span, coders, table.columns, options.most_labels)
            item = items.convert(part.columns["item"])
            columns = {"item": item, "run": pa.array(items.count_runs(item))}
            for role, coder in coders.items():
                coder.merge()
                columns[role] = pa.array(coder.part_codes.pop())
            if "seconds" in table.columns:
                given = "seconds" in part.columns
                columns["seconds"] = pa.array(
                    part_seconds(part, span, table) if given else np.full(part.n_rows, np.nan)
                )
            rows = pa.table(columns)
            if writer is None:  # the file is read soon and then removed, so it need not be small
                how = {"compression": "lz4", "use_dictionary": False, "write_statistics": False}
                writer = stack.enter_context(pq.ParquetWriter(path, rows.schema, **how))
            writer.write_table(rows)
            n_rows += part.n_rows
            report("reading", n_rows, None)
    if not n_rows:
        raise no_rows(table)
    known = {role: coder.finish()[2] for role, coder in coders.items()}
    for role, values in known.items():
        refuse_long(values, table.source, table.columns[role])
    nothing = dict.fromkeys(table.columns.keys() - {"seconds"}, np.empty(0, dtype=np.int32))
    coded = Coded(
        table=table, n_rows=n_rows, codes=nothing, declared=nothing, known=known, seconds_n=None, spans=spans,
        declared_spans=(),
    )  # fmt: skip
    return Staged(path, coded, items.n_runs)


def view_rows(connection: Any, staged: Staged) -> None:
    """Make the staged file available to a DuckDB connection as the view `rows`."""
    rows = f"read_parquet({path_literal(staged.path)}, file_row_number = true)"
    connection.execute(f"CREATE VIEW rows AS SELECT * RENAME (file_row_number AS row) FROM {rows}")


def find_workers(connection: Any, coded: Coded) -> tuple[list[Any], Codes]:
    """The names of the workers, and the worker for each raw code."""
    columns = connection.execute("SELECT worker, min(row) FROM rows GROUP BY worker ORDER BY min(row)").fetchnumpy()
    raw_w, first_w = (np.ma.getdata(column) for column in columns.values())
    nothing = np.empty(0, dtype=np.int32)
    seen = replace(coded, codes={"worker": raw_w}, declared={"worker": nothing}, row_n=first_w)
    workers = ids_of(seen, "worker")
    worker_of = np.full(len(coded.known["worker"]), -1, dtype=np.int32)
    worker_of[raw_w] = workers.code_n
    return list(workers.values), worker_of


def locate_labels(connection: Any, coded: Coded) -> Coded:
    """The vocabularies, with the row in which each label and gold label appears first."""
    roles: list[str] = [role for role in ("label", "gold") if role in coded.known]
    found = {
        role: connection.execute(
            f"SELECT {role}, min(row) AS first FROM rows GROUP BY {role} ORDER BY first"
        ).fetchall()
        for role in roles
    }
    entries = [(role, code, row) for role in roles for code, row in found[role]]
    codes = {role: np.array([code if own == role else -1 for own, code, _ in entries], np.int32) for role in roles}
    return replace(coded, codes={**coded.codes, **codes}, row_n=np.array([row for *_, row in entries], np.int64))


def count_labels(connection: Any, coded: Coded, options: ReadOptions) -> NDArray[np.int64]:
    """The number of votes for each raw label, not counting rows whose status means no vote."""
    labels, voted_s = decode(coded.known["label"], coded.table.kind), voted_by_status(connection, coded)
    uses = np.zeros(len(labels), dtype=np.int64)
    status = "-1" if voted_s is None else "status"
    sql = f"SELECT label, {status}, count(*) FROM rows WHERE label >= 0 GROUP BY ALL"
    for label, code, n_rows in connection.execute(sql).fetchall():
        if is_vote(labels[label], options.no_vote) and (voted_s is None or voted_s[code]):
            uses[label] += n_rows
    return uses


def voted_by_status(connection: Any, coded: Coded) -> NDArray[np.bool_] | None:
    """Whether each raw status means a vote (the last entry is for an empty cell); None without a status column."""
    if "status" not in coded.known:
        return None
    statuses = decode(coded.known["status"], coded.table.kind)
    meanings = [voted(status) for status in statuses]
    if None in meanings:
        unclear = [code for code, meaning in enumerate(meanings) if meaning is None]
        sql = f"SELECT status, row FROM rows WHERE status IN ({', '.join(map(str, unclear))}) ORDER BY row LIMIT 1"
        [(code, row)] = connection.execute(sql).fetchall()
        raise unclear_status(coded.where(row), coded.table.columns["status"], statuses[code])
    return np.array([*meanings, True])


def is_empty_name(names: Any) -> NDArray[np.bool_]:
    """Which names in an Arrow array are null, NaN or blank.

    >>> import pyarrow as pa
    >>> is_empty_name(pa.array(["a", " ", None])).tolist(), is_empty_name(pa.array([1.0, float("nan")])).tolist()
    ([False, True, True], [False, True])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.is_null(names, nan_is_null=True)
    if pa.types.is_string(names.type) or pa.types.is_large_string(names.type):
        blank = pc.equal(pc.binary_length(pc.utf8_trim_whitespace(names)), 0)
        empty = pc.or_(empty, pc.fill_null(blank, True))
    return np.asarray(empty.to_numpy(zero_copy_only=False) if isinstance(empty, pa.Array) else empty.to_numpy())


class PartFacts(NamedTuple):
    """Counts that the account needs, for some of the items; those of several parts can be added."""

    items: int
    votes_l: NDArray[np.int64]
    voted_j: NDArray[np.bool_]
    gold_k: NDArray[np.int64]
    bare: int  # items without votes
    bare_names: list[Any]  # the first few of them in each part
    compared: int  # items with several votes
    disputed: int


def count_part(
    item_n: IntArray, worker_n: IntArray, label_n: IntArray, gold_i: IntArray | None, size: tuple[int, int, int],
    names: Callable[[NDArray[np.int64]], list[Any]],
) -> PartFacts:  # fmt: skip
    """Count the votes on some items, sorted by item; `names` returns the names of items given their codes."""
    n_items, n_workers, n_classes = size
    votes_i = np.bincount(item_n, minlength=n_items)
    bare_i = np.flatnonzero(votes_i == 0)
    known = np.empty(0, dtype=np.int64) if gold_i is None else gold_i[gold_i >= 0]
    return PartFacts(
        items=n_items,
        votes_l=np.bincount(label_n, minlength=n_classes),
        voted_j=np.bincount(worker_n, minlength=n_workers) > 0,
        gold_k=np.bincount(known, minlength=n_classes),
        bare=len(bare_i),
        bare_names=names(bare_i[:LISTED]),
        compared=int((votes_i > 1).sum()),
        disputed=count_disputed(item_n, label_n),
    )


def measure_coverage(
    facts: PartFacts, named: LabelCodes, workers: Sequence[Any], items: Sequence[Any] = ()
) -> Coverage:
    """The coverage of all votes, computed from the counts of all parts."""
    silent_j = np.flatnonzero(~facts.voted_j)
    has_gold = named.gold_map is not None or named.gold_i is not None
    return Coverage(
        labels=named.labels,
        votes_l=facts.votes_l,
        bare=facts.bare_names[:LISTED],
        n_bare=facts.bare,
        silent=[workers[j] for j in silent_j[:LISTED]],
        n_silent=len(silent_j),
        gold_k=facts.gold_k > 0 if has_gold else None,
        n_compared=facts.compared,
        n_disputed=facts.disputed,
        items=items,
        workers=list(workers),
    )


def wide_table() -> ConfigError:
    """The error for a wide table, which has one row per item."""
    return ConfigError(
        f"a wide table can only be read in memory. Leave out {use('memory')} and {use('engine')}, or "
        "convert it to one row per vote."
    )


class _ItemColumn:
    """Converts the item column, part by part, to one Arrow type: text, 64-bit integers, floats or booleans."""

    def __init__(self, table: Table) -> None:
        self.source, self.kind, self.name = table.source, table.kind, table.columns["item"]
        self.type: Any = None
        self.last: Any = None  # item of the previous row
        self.n_runs = 0

    def count_runs(self, item: Any) -> NDArray[np.int64]:
        """Number the runs of consecutive rows with the same item, from the start of the table; one number per row."""
        import pyarrow.compute as pc

        starts_n = np.ones(len(item), dtype=bool)
        same = pc.equal(item.slice(1), item.slice(0, max(len(item) - 1, 0))).fill_null(False)
        starts_n[1:] = ~numpy_view(same, np.bool_)
        if len(item):
            starts_n[0] = self.last is None or self.last != item[0]
            self.last = item[-1]
        run_n: NDArray[np.int64] = np.cumsum(starts_n) + (self.n_runs - 1)
        self.n_runs += int(starts_n.sum())
        return run_n

    def convert(self, column: Column) -> Any:
        """Convert the items of some rows, with null for an empty cell."""
        import pyarrow as pa

        if isinstance(column, Objects):
            array = coded_column(column.code_n, self._array(list(column.values))).dictionary_decode()
        elif self.kind == "json":
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            values = self._array(decode(encoded.dictionary, "json"))
            array = coded_column(dictionary_codes(encoded), values).dictionary_decode()
        else:
            array = plain(column)
        if pa.types.is_null(array.type):
            array = pa.nulls(len(array), self.type or pa.large_string())
        array = self._plain(array)
        self.type = self.type or array.type
        if array.type != self.type:
            raise self._wrong_type("several types")
        return array

    def _array(self, values: list[Any]) -> Any:
        import pyarrow as pa

        types = {type(value) for value in values if value is not None}
        other = types - {str, int, float, bool}
        if other:
            raise self._wrong_type(f"type {other.pop().__name__}")
        if len(types) > 1:
            raise self._wrong_type("several types")
        try:
            return pa.array(values)
        except (OverflowError, pa.ArrowInvalid):
            raise self._wrong_type("several types") from None
        except UnicodeEncodeError:
            raise DataError(
                f"{self.source}, column {self.name!r}: an item holds half a character (a lone surrogate) and "
                "cannot be encoded. Decode the text with the encoding it was written in."
            ) from None

    def _plain(self, array: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        types, kind = pa.types, array.type
        if types.is_boolean(kind) or kind == pa.uint64():
            return array
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return array.cast(pa.large_string())
        if types.is_integer(kind):
            return array.cast(pa.int64())
        if types.is_floating(kind):
            return pc.add(array.cast(pa.float64()), 0.0)  # adding 0.0 turns -0 into 0
        raise self._wrong_type(f"type {kind}")

    def _wrong_type(self, kind: str) -> DataError:
        return DataError(
            f"{self.source}, column {self.name!r}: items of {kind} can only be read in memory. Write all items as "
            "text, or all as whole numbers."
        )
