"""DuckDB as a reader: one connection per scan, batches in the order of the file, nothing fetched from the network."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from majorant.database import connect
from majorant.io.table import Column, Hashed, numpy_view

BATCH_ROWS = 1 << 18


def batches(sql: str, threads: int | None) -> Iterator[Any]:
    """The result of a query as Arrow record batches, streamed."""
    connection = connect(threads)
    try:
        relation = _query(connection, sql)
        reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # before DuckDB 1.5
        yield from reader(BATCH_ROWS)
    finally:
        connection.close()


def _query(connection: Any, sql: str) -> Any:
    """The query; a path that is no Unicode is DuckDB's own error, as it is from DuckDB 1.5 on."""
    import duckdb

    try:
        return connection.sql(sql)
    except UnicodeEncodeError as error:
        raise duckdb.InvalidInputException(str(error)) from error


def literal(text: str) -> str:
    """A text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """A path as an SQL literal in which no sign is a wildcard."""
    return literal(glob.escape(str(path)))


def wanted(names: Sequence[str], hashed: int) -> str:
    """The select list of some columns, the first `hashed` of which are text that comes with its hashes."""
    hashes = (f"hash({name}), (hash({name} || '#') >> 32)::UINTEGER" for name in names[:hashed])
    return ", ".join([*names, *hashes])


def hashed_columns(arrays: Sequence[Any], n_columns: int) -> list[Column]:
    """The columns of a batch that was asked for with `wanted`."""
    columns: list[Column] = list(arrays[:n_columns])
    for position, start in enumerate(range(n_columns, len(arrays), 2)):
        key_n, check_n = numpy_view(arrays[start], np.uint64), numpy_view(arrays[start + 1], np.uint32)
        columns[position] = Hashed(columns[position], key_n, check_n)
    return columns
