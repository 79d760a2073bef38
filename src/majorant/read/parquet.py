"""Parquet files, streamed by DuckDB because damaged statistics can crash Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from majorant.database import batches, connect, path_literal
from majorant.errors import DataError
from majorant.read.files import File, refuse_unpacked
from majorant.read.options import ReadOptions
from majorant.read.table import Column, RowSource


def open_parquet(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:  # noqa: ARG001
    """The rows of a Parquet file."""
    import duckdb

    threads = how.threads
    scan = f"read_parquet({path_literal(file.path)}, hive_partitioning = false)"
    try:
        with connect(1) as connection:
            relation = connection.sql(f"SELECT * FROM {scan}")
            names = tuple(relation.columns)
            # Count at least one byte per cell, because run-length encoding can hide millions of cells.
            sizes = f"sum(num_values), sum(total_uncompressed_size) FROM parquet_metadata({path_literal(file.path)})"
            [found] = connection.sql(f"SELECT {sizes}").fetchall()
            unpacked = max(int(size or 0) for size in found)
            refuse_unpacked(file.name, file.path.stat().st_size, unpacked)
    except (duckdb.Error, RuntimeError, UnicodeError) as error:  # RuntimeError, UnicodeError: names that are not UTF-8
        raise _damaged(file, error) from None

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        import pyarrow as pa

        quoted = ['"' + names[p].replace('"', '""') + '"' for p in positions]
        try:
            for batch in batches(f"SELECT {', '.join(quoted)} FROM {scan}", threads):
                yield list(batch.columns)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _damaged(file, error) from None

    return RowSource(source=file.name, names=names, kind="typed", format="Parquet", stream=stream)


def _damaged(file: File, error: Exception) -> DataError:
    if "string size" in str(error):  # Arrow's limit, which cannot be changed
        return DataError(
            f"{file.name}: more than 2,147,483,647 bytes of text in one column of a few rows, the limit COLUMN_TEXT. "
            "Name items, workers and labels by an id."
        )
    return DataError(f"{file.name} is damaged or cut off ({str(error).splitlines()[0]}). Copy or export it again.")
