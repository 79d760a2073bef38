"""Parquet: columns with their own types, streamed by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from majorant.errors import DataError
from majorant.load.files import File
from majorant.load.scan import batches, connect, path_literal
from majorant.load.table import Column, Rows


def open_parquet(file: File, *, threads: int | None) -> Rows:
    """The rows of a Parquet file."""
    import duckdb

    scan = f"read_parquet({path_literal(file.path)})"
    try:
        connection = connect(threads)
        names = tuple(connection.sql(f"SELECT * FROM {scan}").columns)
        connection.close()
    except duckdb.Error as error:
        raise _damaged(file, error) from None

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        wanted = ", ".join('"' + names[p].replace('"', '""') + '"' for p in positions)
        try:
            for batch in batches(f"SELECT {wanted} FROM {scan}", threads):
                yield list(batch.columns)
        except duckdb.Error as error:
            raise _damaged(file, error) from None

    return Rows(source=file.name, names=names, kind="typed", format="Parquet", stream=stream)


def _damaged(file: File, error: Exception) -> DataError:
    return DataError(f"{file.name} is damaged or cut off: {str(error).splitlines()[0]} Copy or export it again.")
