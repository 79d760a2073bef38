"""Parquet: columns with their own types, streamed by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from majorant.errors import DataError
from majorant.load.files import File
from majorant.load.scan import batches, connect, hashed_columns, path_literal, wanted
from majorant.load.table import Column, Rows


def open_parquet(file: File, *, threads: int | None) -> Rows:
    """The rows of a Parquet file."""
    import duckdb

    scan = f"read_parquet({path_literal(file.path)})"
    try:
        connection = connect(threads)
        relation = connection.sql(f"SELECT * FROM {scan}")
        names, types = tuple(relation.columns), [str(kind) for kind in relation.types]
        connection.close()
    except duckdb.Error as error:
        raise _damaged(file, error) from None

    def stream(positions: Sequence[int], hashed: int) -> Iterator[list[Column]]:
        quoted = ['"' + names[p].replace('"', '""') + '"' for p in positions]
        if any(types[p] != "VARCHAR" for p in positions[:hashed]):
            hashed = 0
        try:
            for batch in batches(f"SELECT {wanted(quoted, hashed)} FROM {scan}", threads):
                yield hashed_columns(batch.columns, len(positions))
        except duckdb.Error as error:
            raise _damaged(file, error) from None

    return Rows(source=file.name, names=names, kind="typed", format="Parquet", stream=stream)


def _damaged(file: File, error: Exception) -> DataError:
    return DataError(f"{file.name} is damaged or cut off ({str(error).splitlines()[0]}). Copy or export it again.")
