"""Write files: tables as CSV or Parquet, text as UTF-8."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from majorant.atomic import cannot_write, extra_file, whole_files
from majorant.database import connect
from majorant.ownership import digest_of, sealed
from majorant.tabular import arrow_column
from majorant.votes import Votes

Columns = Mapping[str, Any]
PlainContent = str | bytes | Columns | Iterator[Columns]  # text, bytes, a table, or a table in pieces
Content = PlainContent | Callable[[Mapping[str, str]], str]


def write_files(
    contents: Mapping[Path, Content],
    *,
    overwrite: bool = False,
    update: Collection[Path] = (),
    tables: bool = False,
) -> list[Path]:
    """Write several files in this order, replacing older ones; if one cannot be written, none is.

    Content may be a function, which gets the SHA-256 of the files before it, by name, and returns the text. Files that
    majorant did not write are replaced only with `overwrite`, or with `tables` if their content stays the same;
    `update` lists files whose new content is derived from the current one.
    """
    digests: dict[str, str] = {}
    with whole_files(contents, overwrite=overwrite, update=update, tables=tables) as parts:
        for (path, content), part in zip(contents.items(), parts, strict=True):
            try:
                _fill(part, path, content(digests) if callable(content) else content)
                digests[path.name] = digest_of(part)
            except OSError as error:
                raise cannot_write(path, error) from error
    return list(contents)


def _fill(part: Path, path: Path, content: PlainContent) -> None:
    if isinstance(content, str):
        part.write_bytes(as_utf8(content))
    elif isinstance(content, bytes):
        part.write_bytes(content)
    elif isinstance(content, Mapping):
        _fill_table(part, path, content)
    else:
        _fill_in_parts(part, path, content)


def as_utf8(text: str) -> bytes:
    r"""Encode text as UTF-8, escaping the bytes of file names that are not UTF-8 so that JSON can read them.

    >>> as_utf8("a\udce9")
    b'a\\udce9'
    """
    return text.encode("utf-8", "backslashreplace")


def write_table(path: str | os.PathLike[str], columns: Columns | Iterator[Columns]) -> Path:
    """Write columns of equal length as CSV, or as Parquet if the name says so; None and NaN become empty cells.

    A table that does not fit into memory can be given as an iterator over parts of its rows.
    """
    return write_files({Path(path): columns})[0]


def _fill_in_parts(part: Path, path: Path, tables: Iterator[Columns]) -> None:
    """Write a table that comes in parts: one after another in CSV, one row group each in Parquet."""
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as open_files:
        if path.suffix == ".parquet":
            writer: Any = None
            for columns in tables:
                table = _arrow_table(columns)
                if writer is None:
                    writer = open_files.enter_context(pq.ParquetWriter(part, table.schema))
                writer.write_table(table.cast(writer.schema))
            return
        rows = open_files.enter_context(extra_file(part))
        out = open_files.enter_context(part.open("wb"))
        for number, columns in enumerate(tables):
            _fill_table(rows, path, columns, header=number == 0)
            with rows.open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)


def _fill_table(part: Path, path: Path, columns: Columns, *, header: bool = True) -> None:
    import duckdb

    arrays = {name: arrow_column(values) for name, values in columns.items()}
    csv = f"FORMAT csv, HEADER {str(header).lower()}, DELIMITER ','"
    how = "FORMAT parquet" if path.suffix == ".parquet" else csv
    with connect() as connection:
        connection.register("output_table", _arrow_table(arrays))
        name = str(part).replace("'", "''")
        try:
            connection.execute(f"COPY output_table TO '{name}' ({how}, USE_TMP_FILE false)")
        except duckdb.Error as error:
            raise cannot_write(path, OSError(_reason(str(error)))) from error


def _reason(message: str) -> str:
    """The system's reason in a DuckDB error message, which may be wrapped in JSON that names a temporary file.

    >>> _reason('IO Error: {"exception_message":"Could not write file \\"/tmp/x\\": No space left on device"}')
    'No space left on device'
    """
    codes = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)
    reasons = [os.strerror(code) for code in codes]
    return next((reason for reason in reasons if reason in message), message.splitlines()[0])


def write_or_print(contents: Mapping[Path, Content], *, update: Collection[Path] = ()) -> None:
    """Write files like `write_files`, and then print the one named "-" on standard output."""
    printed = Path("-")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "table.csv"
        if printed in contents:
            write_files({copy: contents[printed]})
        write_files(
            {path: content for path, content in contents.items() if path != printed}, update=update, tables=True
        )
        if printed in contents:
            with copy.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)


def is_job_summary(path: str | os.PathLike[str]) -> bool:
    """Whether a file is the summary of a CI job, to which several commands append."""
    return os.environ.get("GITHUB_STEP_SUMMARY") == str(path)


def write_summary(text: str, path: str | os.PathLike[str]) -> Path:
    """Write Markdown to a file, or append it to a job summary, which other commands write to as well."""
    target = Path(path)
    if not is_job_summary(path):
        return write_files({target: sealed(text)})[0]
    try:
        with target.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise cannot_write(target, error) from error
    return target


def votes_table(votes: Votes) -> dict[str, Any]:
    """One row per vote, as Arrow columns item, worker, label and, if there is gold, gold."""
    return {name: arrow_column(column) for name, column in votes.table().items()}


def _arrow_table(columns: Columns) -> Any:
    """The columns as a table; dictionary columns are decoded because some Parquet readers treat them differently."""
    import pyarrow as pa

    arrays = {name: arrow_column(values) for name, values in columns.items()}
    return pa.table({n: a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for n, a in arrays.items()})
