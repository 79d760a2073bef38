"""Parquet: columns with their own types, streamed by DuckDB; text that the file holds as codes, by Arrow with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from majorant.database import batches, connect, path_literal
from majorant.errors import DataError
from majorant.limits import beyond_fixed
from majorant.read.containers import refuse_unpacked
from majorant.read.files import File
from majorant.read.options import ReadOptions
from majorant.read.table import (
    Column,
    NotCodedError,
    RowSource,
    arrow_view,
    coded_column,
    column_length,
    dictionary_codes,
    hashed_columns,
    select_list,
)
from majorant.resources import in_order, thread_count

PLAIN_TYPES = {"string": "VARCHAR", "int64": "BIGINT", "int32": "INTEGER"}  # Arrow's and DuckDB's names


def open_parquet(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:  # noqa: ARG001
    """The rows of a Parquet file."""
    import duckdb

    threads = how.threads
    scan = f"read_parquet({path_literal(file.path)}, hive_partitioning = false)"
    try:
        with connect(1) as connection:
            relation = connection.sql(f"SELECT * FROM {scan}")
            names, types = tuple(relation.columns), [str(kind) for kind in relation.types]
            dictionaries = _dictionaries(connection, file.path)
            refuse_unpacked(file.name, file.path.stat().st_size, _declared_size(connection, file.path))
    except (duckdb.Error, RuntimeError, UnicodeError) as error:  # the latter two: names that are not UTF-8
        raise _damaged(file, error) from None

    def stream(positions: Sequence[int], hashed: int) -> Iterator[list[Column]]:
        import pyarrow as pa

        quoted = ['"' + names[p].replace('"', '""') + '"' for p in positions]
        if any(types[p] != "VARCHAR" for p in positions[:hashed]):
            hashed = 0
        try:
            for batch in batches(f"SELECT {select_list(quoted, hashed)} FROM {scan}", threads):
                yield hashed_columns(batch.columns, len(positions))
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _damaged(file, error) from None

    def coded(positions: Sequence[int]) -> Iterator[list[Column]]:
        if not dictionaries or any(types[p] == "VARCHAR" and not dictionaries.get(names[p]) for p in positions):
            raise NotCodedError
        return _coded_groups(file, [names[p] for p in positions], [types[p] for p in positions], threads)

    return RowSource(source=file.name, names=names, kind="typed", format="Parquet", stream=stream, coded=coded)


def _coded_groups(file: File, names: list[str], types: list[str], threads: int | None) -> Iterator[list[Column]]:
    """The columns of each row group, whole numbers and text by its codes; NotCodedError for others, or damage."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file.path) as opened:
            facts, n_threads = opened.metadata, thread_count(threads)
            schema = opened.schema_arrow
            if not facts.num_row_groups or any(schema.names.count(name) != 1 for name in names):
                raise NotCodedError
            if [PLAIN_TYPES.get(str(schema.field(name).type)) for name in names] != types:
                raise NotCodedError
        texts = [name for name, kind in zip(names, types, strict=True) if kind == "VARCHAR"]

        def group(number: int) -> list[Column]:
            alone = facts.num_row_groups == 1 and n_threads > 1
            with pq.ParquetFile(file.path, metadata=facts, read_dictionary=texts) as part:
                table = part.read_row_group(number, columns=names, use_threads=alone)
            return [_column(table[name]) for name in names]

        for columns in in_order(group, range(facts.num_row_groups), n_threads):
            if column_length(columns[0]):
                yield columns
    except (pa.ArrowException, OSError):
        raise NotCodedError from None


def _dictionaries(connection: Any, path: Path) -> dict[str, bool]:
    """Which columns of the first row group have a dictionary: by DuckDB, as damaged statistics there kill Arrow.

    Empty where DuckDB cannot tell: Arrow is not asked then.
    """
    import duckdb

    select = "SELECT path_in_schema, dictionary_page_offset IS NOT NULL FROM parquet_metadata"
    try:
        return dict(connection.sql(f"{select}({path_literal(path)}) WHERE row_group_id = 0").fetchall())
    except (duckdb.Error, RuntimeError, UnicodeError):
        return {}


def _declared_size(connection: Any, path: Path) -> int:
    """The bytes that a file says it holds, at least one a cell: runs of one value take no room in the file."""
    sql = f"SELECT sum(num_values), sum(total_uncompressed_size) FROM parquet_metadata({path_literal(path)})"
    ((n_cells, n_bytes),) = connection.sql(sql).fetchall()
    return int(max(n_cells or 0, n_bytes or 0))


def _column(column: Any) -> Column:
    """One array; of a dictionary, those values alone that are used, in the order in which they first appear."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.unify_dictionaries().chunks)
    array.validate(full=True)  # Arrow takes any bytes for UTF-8, and codes beyond the dictionary
    code_n = dictionary_codes(array)
    rise_n = np.diff(np.maximum.accumulate(code_n), prepend=np.int32(-1))
    if rise_n.max(initial=0) <= 1 and rise_n.sum() == len(array.dictionary):
        return array
    used, first = np.unique(code_n[code_n >= 0], return_index=True)
    order = used[np.argsort(first)]
    remap = np.full(len(array.dictionary) + 1, -1, dtype=np.int32)
    remap[order] = np.arange(len(order), dtype=np.int32)
    return coded_column(remap[code_n], array.dictionary.take(arrow_view(order.astype(np.intp))))


def _damaged(file: File, error: Exception) -> DataError:
    if "string size" in str(error):  # of Arrow: 2 GB of text in one column of a batch
        what = "bytes of text in one column of a few rows"
        return beyond_fixed("COLUMN_TEXT", file.name, what, "Name items, workers and labels by an id")
    return DataError(f"{file.name} is damaged or cut off ({str(error).splitlines()[0]}). Copy or export it again.")
