"""Files that are written whole or not at all: tables as CSV or Parquet, text as UTF-8."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError
from majorant.votes import IntArray, Votes

Columns = Mapping[str, Any]
Content = str | bytes | Columns | Iterator[Columns]  # text, bytes, a table, or a table some rows at a time


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name beside `path`, moved to it when the block ends well and removed when it does not.

    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as name:
    ...     _ = name.write_text("all of it")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('all of it', 1)
    """
    target = Path(path)
    if target.is_dir():
        raise ConfigError(f"Cannot write {target}: it is a folder. Name a file in it.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", suffix=".part", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise cannot_write(target, error) from error
    part = Path(name)
    try:
        yield part
        _give_usual_permissions(part)
        part.replace(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        part.unlink(missing_ok=True)


def write_files(contents: Mapping[Path, Content]) -> list[Path]:
    """Write several files, all of them or, if one cannot be written, none."""
    with contextlib.ExitStack() as parts:
        for path, content in contents.items():
            part = parts.enter_context(whole_file(path))
            if isinstance(content, str):
                part.write_text(content, encoding="utf-8")
            elif isinstance(content, bytes):
                part.write_bytes(content)
            elif isinstance(content, Mapping):
                _fill_table(part, path, content)
            else:
                _fill_in_turn(part, path, content)
    return list(contents)


def write_table(path: str | os.PathLike[str], columns: Columns | Iterator[Columns]) -> Path:
    """Write columns of equal length as CSV, or as Parquet where the name ends so; None and NaN become empty.

    A table that does not fit into memory comes as an iterator, some rows at a time.
    """
    return write_files({Path(path): columns})[0]


def _fill_in_turn(part: Path, path: Path, tables: Iterator[Columns]) -> None:
    """Rows after rows: those of CSV files follow each other, Parquet gets a row group for each."""
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
        some = open_files.enter_context(_rows_file(part))
        out = open_files.enter_context(part.open("wb"))
        for number, columns in enumerate(tables):
            _fill_table(some, path, columns, header=number == 0)
            with some.open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)


@contextlib.contextmanager
def _rows_file(beside: Path) -> Iterator[Path]:
    """A temporary name beside a temporary file, removed in the end."""
    some = beside.with_name(f"{beside.name.removesuffix('.part')}.rows.part")
    try:
        yield some
    finally:
        some.unlink(missing_ok=True)


def _fill_table(part: Path, path: Path, columns: Columns, *, header: bool = True) -> None:
    import duckdb

    csv = f"FORMAT csv, HEADER {str(header).lower()}, DELIMITER ','"
    how = "FORMAT parquet" if path.suffix == ".parquet" else csv
    with duckdb.connect() as connection:
        connection.register("output_table", _arrow_table(columns))
        name = str(part).replace("'", "''")
        try:
            connection.execute(f"COPY output_table TO '{name}' ({how})")
        except duckdb.Error as error:
            raise cannot_write(path, OSError(str(error).splitlines()[0])) from error


def print_table(columns: Columns | Iterator[Columns]) -> None:
    """Print columns of equal length as CSV on standard output, once the table is complete."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder) / "table.csv", columns)
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


def votes_table(votes: Votes) -> dict[str, Any]:
    """Votes as columns item, worker and label, and gold where it is known, a row for each vote."""
    import pyarrow as pa

    def named(code_n: IntArray, names: tuple[Any, ...]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(code_n, mask=code_n < 0), _arrow_column(names))

    columns = {
        "item": named(votes.item_n, votes.items),
        "worker": named(votes.worker_n, votes.workers),
        "label": named(votes.label_n, votes.labels),
    }
    if votes.gold_i is not None:
        columns["gold"] = named(votes.gold_i[votes.item_n], votes.labels)
    return columns


def _arrow_table(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.table({name: _arrow_column(values) for name, values in columns.items()})


def _arrow_column(values: Any) -> Any:
    """An Arrow column; values of mixed or unusual types are written as their text."""
    import numpy as np
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)  # NaN is missing
    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) <= 1:
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            column = pa.array(values)
            if not pa.types.is_nested(column.type):
                return column
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder for output, created with its parents where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def cannot_write(target: Path, error: OSError) -> ConfigError:
    """The error for a file or folder that cannot be written, with the system's reason."""
    reason = error.strerror or str(error)
    return ConfigError(f"Cannot write {target}: {reason}. Nothing was left behind; choose another place with --out.")


def _give_usual_permissions(path: Path) -> None:
    """Temporary files are private; the finished file gets what the user's umask would have given it."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)
