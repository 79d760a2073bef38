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
from majorant.threads import in_order, thread_count
from majorant.votes import Named, Votes

Columns = Mapping[str, Any]
ROWS_AT_A_TIME = 1 << 16
SPECIAL = (b",", b'"', b"#", b"\n", b"\r")  # what DuckDB quotes, beside empty text
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

    arrays = {name: _arrow_column(values) for name, values in columns.items()}
    if path.suffix != ".parquet" and len(arrays) > 1 and _needs_no_quotes(_arrow_column([*arrays]), *arrays.values()):
        _fill_plain(part, arrays, header=header)
        return
    csv = f"FORMAT csv, HEADER {str(header).lower()}, DELIMITER ','"
    how = "FORMAT parquet" if path.suffix == ".parquet" else csv
    with duckdb.connect() as connection:
        connection.register("output_table", _arrow_table(arrays))
        name = str(part).replace("'", "''")
        try:
            connection.execute(f"COPY output_table TO '{name}' ({how})")
        except duckdb.Error as error:
            raise cannot_write(path, OSError(str(error).splitlines()[0])) from error


def _needs_no_quotes(*arrays: Any) -> bool:
    """Whether every cell can be written as it stands: numbers, truth values, and text that no reader takes apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for array in arrays:
        kind, text = array.type, array
        if pa.types.is_dictionary(kind):
            kind, text = kind.value_type, array.dictionary
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            shortest, buffer = pc.min(pc.binary_length(text)).as_py(), text.buffers()[2]
            if shortest == 0 or (buffer is not None and any(sign in buffer.to_pybytes() for sign in SPECIAL)):
                return False
        elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or kind == pa.float64()):
            return False
    return True


def _fill_plain(part: Path, arrays: Mapping[str, Any], *, header: bool) -> None:
    """CSV by Arrow, some rows at a time on threads, byte for byte as DuckDB writes it where nothing needs quotes."""
    import pyarrow as pa
    from pyarrow import csv

    how = csv.WriteOptions(include_header=False, quoting_style="none", batch_size=ROWS_AT_A_TIME)
    n_rows = len(next(iter(arrays.values())))

    def lines(start: int) -> Any:
        cells = [_as_text(array.slice(start, ROWS_AT_A_TIME)) for array in arrays.values()]
        with pa.BufferOutputStream() as out:
            csv.write_csv(pa.table(cells, names=[*arrays]), out, how)
            return out.getvalue()

    with part.open("wb") as file:
        if header:
            file.write((",".join(arrays) + "\n").encode())
        for some in in_order(lines, range(0, n_rows, ROWS_AT_A_TIME), thread_count()):
            file.write(some)


def _as_text(array: Any) -> Any:
    """The cells as text, missing ones null; floats as Python writes them: as short as reads back the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        return _as_text(array.dictionary).take(array.indices)
    if pa.types.is_boolean(kind):
        return pc.if_else(array, "true", "false")
    if not pa.types.is_floating(kind):
        return array if pa.types.is_string(kind) else array.cast(pa.large_string())
    coded = array.dictionary_encode()
    if len(coded.dictionary) < len(array) / 4:
        return pa.array(map(repr, coded.dictionary.to_pylist()), pa.large_string()).take(coded.indices)
    size = pc.abs(array)  # of the numbers that Arrow writes alike
    usual = pc.and_(pc.and_(pc.greater_equal(size, 1e-4), pc.less(size, 1e9)), pc.not_equal(pc.floor(size), size))
    other = pc.fill_null(pc.invert(usual), False)
    texts = pa.array(map(repr, array.filter(other).to_pylist()), pa.large_string())
    return pc.replace_with_mask(array.cast(pa.large_string()), other, texts)


def print_table(columns: Columns | Iterator[Columns]) -> None:
    """Print columns of equal length as CSV on standard output, once the table is complete."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_table(Path(folder) / "table.csv", columns)
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)


def votes_table(votes: Votes) -> dict[str, Any]:
    """Votes as columns item, worker and label, and gold where it is known, a row for each vote."""
    columns = {
        "item": Named(votes.item_n, votes.items),
        "worker": Named(votes.worker_n, votes.workers),
        "label": Named(votes.label_n, votes.labels),
    }
    if votes.gold_i is not None:
        columns["gold"] = Named(votes.gold_i[votes.item_n], votes.labels)
    return {name: _arrow_column(column) for name, column in columns.items()}


def _arrow_table(columns: Columns) -> Any:
    """The columns as a table, without dictionaries, which some readers of Parquet would meet as a type of their own."""
    import pyarrow as pa

    arrays = {name: _arrow_column(values) for name, values in columns.items()}
    return pa.table({n: a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for n, a in arrays.items()})


def _arrow_column(values: Any) -> Any:
    """An Arrow column; values of mixed or unusual types are written as their text."""
    import numpy as np
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    if isinstance(values, Named):
        return pa.DictionaryArray.from_arrays(
            pa.array(values.code_n, mask=values.code_n < 0), _arrow_column(values.values)
        )
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)  # NaN is missing
    kinds = set(map(type, values)) - {type(None)}
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
    return ConfigError(f"Cannot write {target}: {reason}. Nothing was left behind; choose another place.")


def _give_usual_permissions(path: Path) -> None:
    """Temporary files are private; the finished file gets what the user's umask would have given it."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)
