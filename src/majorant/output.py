"""What goes into files: tables as CSV or Parquet, text as UTF-8."""

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

from majorant.atomic import beside, cannot_write, whole_files
from majorant.database import connect
from majorant.limits import in_order, thread_count
from majorant.ownership import digest_of
from majorant.tabular import arrow_column
from majorant.votes import Votes

Columns = Mapping[str, Any]
ROWS_AT_A_TIME = 1 << 16
Filled = str | bytes | Columns | Iterator[Columns]  # text, bytes, a table, or a table some rows at a time
Content = Filled | Callable[[Mapping[str, str]], str]


def write_files(
    contents: Mapping[Path, Content], *, overwrite: bool = False, update: Collection[Path] = ()
) -> list[Path]:
    """Write several files, which replace older ones in this order and as a set: all of them or, if one cannot, none.

    A function among the contents is given the SHA-256 of the files before it, by name, and returns its text. Files
    that majorant did not write are replaced with `overwrite` alone; `update` lists files whose content is made from
    the present one.
    """
    digests: dict[str, str] = {}
    with whole_files(contents, overwrite=overwrite, update=update) as parts:
        for (path, content), part in zip(contents.items(), parts, strict=True):
            try:
                _fill(part, path, content(digests) if callable(content) else content)
                digests[path.name] = digest_of(part)
            except OSError as error:
                raise cannot_write(path, error) from error
    return list(contents)


def _fill(part: Path, path: Path, content: Filled) -> None:
    if isinstance(content, str):
        part.write_bytes(as_utf8(content))
    elif isinstance(content, bytes):
        part.write_bytes(content)
    elif isinstance(content, Mapping):
        _fill_table(part, path, content)
    else:
        _fill_in_turn(part, path, content)


def as_utf8(text: str) -> bytes:
    r"""Text as bytes; the bytes of a file name that is not UTF-8 as their code, which JSON reads back.

    >>> as_utf8("a\udce9")
    b'a\\udce9'
    """
    return text.encode("utf-8", "backslashreplace")


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
        some = open_files.enter_context(beside(part))
        out = open_files.enter_context(part.open("wb"))
        for number, columns in enumerate(tables):
            _fill_table(some, path, columns, header=number == 0)
            with some.open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)


def _fill_table(part: Path, path: Path, columns: Columns, *, header: bool = True) -> None:
    import duckdb

    arrays = {name: arrow_column(values) for name, values in columns.items()}
    if path.suffix != ".parquet" and len(arrays) > 1 and _needs_no_quotes(arrow_column([*arrays]), *arrays.values()):
        _fill_plain(part, arrays, header=header)
        return
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
    """The system's reason in a message of DuckDB, which may come wrapped in JSON with the name of a temporary file.

    >>> _reason('IO Error: {"exception_message":"Could not write file \\"/tmp/x\\": No space left on device"}')
    'No space left on device'
    """
    codes = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)
    reasons = [os.strerror(code) for code in codes]
    return next((reason for reason in reasons if reason in message), message.splitlines()[0])


def _needs_no_quotes(*arrays: Any) -> bool:
    """Whether every cell can be written as it stands: numbers, truth values, and text that no reader takes apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    quoted_signs = (b",", b'"', b"#", b"\n", b"\r")  # what DuckDB quotes, beside empty text
    for array in arrays:
        kind, text = array.type, array
        if pa.types.is_dictionary(kind):
            kind, text = kind.value_type, array.dictionary
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            shortest, buffer = pc.min(pc.binary_length(text)).as_py(), text.buffers()[2]
            if shortest == 0 or (buffer is not None and any(sign in buffer.to_pybytes() for sign in quoted_signs)):
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


def write_or_print(contents: Mapping[Path, Content], *, update: Collection[Path] = ()) -> None:
    """Write files like `write_files`; the one named - is then printed on standard output."""
    printed = Path("-")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "table.csv"
        if printed in contents:
            write_files({copy: contents[printed]})
        write_files({path: content for path, content in contents.items() if path != printed}, update=update)
        if printed in contents:
            with copy.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)


def votes_table(votes: Votes) -> dict[str, Any]:
    """Votes as Arrow columns item, worker and label, and gold where it is known, a row for each vote."""
    return {name: arrow_column(column) for name, column in votes.table().items()}


def _arrow_table(columns: Columns) -> Any:
    """The columns as a table, without dictionaries, which some readers of Parquet would meet as a type of their own."""
    import pyarrow as pa

    arrays = {name: arrow_column(values) for name, values in columns.items()}
    return pa.table({n: a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for n, a in arrays.items()})
