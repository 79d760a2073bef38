"""Delimited text: the dialect is detected from the first rows, DuckDB reads the data, and errors name the bad row."""

from __future__ import annotations

import csv
import io
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from majorant.database import BATCH_ROWS, batches, literal, path_literal
from majorant.errors import ConfigError, DataError, use
from majorant.read.files import File, as_utf8
from majorant.read.guess import ROW_NAMES
from majorant.read.options import Choice, ReadOptions, find_roles, means
from majorant.read.table import ArrowArray, Column, RowSource, text_array

DELIMITER_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
SNIFFED_ROWS = 100  # for detecting the dialect


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the fields of a file are separated and quoted."""

    delimiter: str
    quote: str = '"'
    escape: str = '"'

    def reader(self, lines: Iterator[str] | io.TextIOBase | Sequence[str], *, strict: bool) -> Iterator[list[str]]:
        """Read the records in some lines with Python's csv, skipping blank lines."""
        doubled = self.escape == self.quote
        records = csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            doublequote=doubled,
            escapechar=None if doubled else self.escape,
            strict=strict,
        )
        return (record for record in records if record)


def open_delimited(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:
    """The rows of a delimited text file."""
    lines, choice, threads = _head_lines(file), how.choice, how.threads
    sign = separator_line(lines)
    lines = lines[1:] if sign else lines
    dialect = find_dialect(lines, how.delimiter or ("\t" if how.format == "tsv" else sign), choice)
    first = next(dialect.reader(lines, strict=False), None)
    if first is None:
        raise DataError(f"{file.name} contains only blank lines. Check that the export completed.")
    header = choice.columns is None
    if header:
        names = tuple(cell.strip() for cell in first)
        while len(names) > 1 and not names[-1]:  # a delimiter at the end of the line
            names = names[:-1]
        if not names[0] and len(names) > 1:
            names = (ROW_NAMES, *names[1:])
    else:
        names = _positions(file, first, choice)

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        if sign:
            return _slow_stream(file, dialect, len(names), positions, skip=1 + header)
        return _stream(file, dialect, len(names), positions, header=header, stack=stack, threads=threads)

    packed = f", {file.packing}" if file.packing else ""
    spelt = next((word for word, sign in DELIMITER_WORDS.items() if sign == dialect.delimiter), repr(dialect.delimiter))
    code = file.encoding.upper().replace("UTF-8-SIG", "UTF-8 with a byte-order mark")
    return RowSource(
        source=file.name,
        names=names,
        kind="text",
        format=f"CSV, {spelt}-separated, {'header' if header else 'no header'}, {code}{packed}",
        stream=stream,
        first_row=1 + header + bool(sign),
        named=header,
    )


def _head_lines(file: File) -> list[str]:
    """The first lines; a first line longer than the head, such as a header with many workers, is read completely."""
    try:
        with file.open() as stream:
            rest = len(stream.read(len(file.head) + 1)) > len(file.head)
    except (OSError, EOFError):
        rest = True  # damaged; the scan will say where
    lines = list(io.StringIO(file.head.decode(file.encoding, errors="replace"), newline=""))  # mixed line endings
    if rest and len(lines) > 1:
        return lines[:-1]
    if not rest:
        return lines
    longest = 1 << 26  # characters
    with io.TextIOWrapper(file.open(), encoding=file.encoding, errors="replace", newline="") as text:
        line = text.readline(longest)
    if len(line) == longest:
        raise DataError(f"{file.name}: its first line has more than {longest:,} characters. Check its line breaks.")
    return [line]


def separator_line(lines: Sequence[str]) -> str | None:
    """The delimiter in a first line such as sep=; which is meant for Excel."""
    sign = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    return None if sign is None else sign[1]


def find_dialect(lines: Sequence[str], delimiter: str | None, choice: Choice) -> Dialect:
    """The dialect that fits the first lines best, with this delimiter if it is not None."""
    if delimiter is not None:
        sign = DELIMITER_WORDS.get(delimiter, "\t" if delimiter == "\\t" else delimiter)
        if len(sign) != 1 or sign in '"\r\n':
            raise ConfigError(f"{use('delimiter', delimiter)}: give a single character, or tab.")
        return _with_quotes(sign, lines)

    def fit(dialect: Dialect) -> tuple[int, float, int]:
        """How well a dialect fits the first rows: recognised column names, equal row lengths, number of columns."""
        rows = _sample(dialect, lines)
        if not rows or len(rows[0]) < 2:
            return 0, 0.0, 0
        roles = 0
        if choice.columns is None:
            with suppress(DataError, ConfigError):
                roles = len(find_roles(rows[0], choice, ""))
        return roles, round(sum(len(row) == len(rows[0]) for row in rows) / len(rows), 1), len(rows[0])

    return max((_with_quotes(sign, lines) for sign in ",;\t|"), key=fit)


def _sample(dialect: Dialect, lines: Sequence[str]) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in dialect.reader(lines, strict=False):
            rows.append(row)
            if len(rows) == SNIFFED_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _with_quotes(delimiter: str, lines: Sequence[str]) -> Dialect:
    text = "".join(lines[:SNIFFED_ROWS])
    if '\\"' in text and '""' not in text and not _is_even(Dialect(delimiter), lines):
        return Dialect(delimiter, escape="\\")
    if '"' not in text and "'" in text:
        rows = _sample(Dialect(delimiter), lines)[1:]
        wrapped = [all(len(c) > 1 and c[0] == c[-1] == "'" for c in cells) for cells in zip(*rows, strict=False)]
        if rows and any(wrapped):
            return Dialect(delimiter, quote="'", escape="'")
    return Dialect(delimiter)


def _is_even(dialect: Dialect, lines: Sequence[str]) -> bool:
    """Whether the first rows parse strictly, with equal numbers of fields; if so, a backslash is plain text."""
    try:
        rows = list(itertools.islice(dialect.reader(lines, strict=True), SNIFFED_ROWS))
    except csv.Error:
        return False
    return len({len(row) for row in rows}) == 1


def _positions(file: File, first: Sequence[str], choice: Choice) -> tuple[str, ...]:
    roles = choice.columns or ()
    if sum(role != "_" and means(cell, role) for cell, role in zip(first, roles, strict=False)) >= 2:
        raise DataError(
            f"{file.name}, row 1: {', '.join(first)!r} is a header, but {use('columns')} is for files without one. "
            f"Leave {use('columns')} out, or name the columns with {use('item')}, {use('worker')} and {use('label')}."
        )
    if len(first) != len(roles):
        raise DataError(
            f"{file.name}, row 1: has {len(first)} fields, but {use('columns', ','.join(roles))} names {len(roles)}. "
            "Name every column; _ skips one."
        )
    return tuple(f"column {p + 1}" for p in range(len(roles)))


def _stream(
    file: File, dialect: Dialect, n_columns: int, positions: Sequence[int], *,
    header: bool, stack: ExitStack, threads: int | None,
) -> Iterator[list[Column]]:  # fmt: skip
    """Stream the chosen columns. If DuckDB rejects a row, Python's csv takes over and names the row if it is invalid.

    Small files go straight to Python's csv, which is faster than loading DuckDB.
    """
    if _is_small(file):
        yield from _slow_stream(file, dialect, n_columns, positions, skip=int(header))
        return
    import duckdb

    done, refused = 0, False
    try:
        path = as_utf8(file, stack)
        packing = file.packing if path == file.path else ""
        columns = ", ".join(f"'c{p}': 'VARCHAR'" for p in range(n_columns))
        sql = (
            f"SELECT {', '.join(f'c{p}' for p in positions)} FROM read_csv({path_literal(path)}, auto_detect = false, "
            f"header = false, delim = {literal(dialect.delimiter)}, quote = {literal(dialect.quote)}, "
            f"escape = {literal(dialect.escape)}, compression = {literal(packing or 'none')}, "
            f"columns = {{{columns}}}, strict_mode = true, null_padding = false)"
        )
        for batch in batches(sql, threads):
            skip = 1 if header and done == 0 else 0  # DuckDB's header option fails if blank lines come first
            done += batch.num_rows
            file.refuse_beyond(done * n_columns)
            if batch.num_rows > skip:
                yield [column.slice(skip) for column in batch.columns]
    except (duckdb.Error, UnicodeDecodeError, EOFError, OSError):
        refused = True  # act outside the except block, so that DuckDB's error is not chained
    if refused:
        yield from _slow_stream(file, dialect, n_columns, positions, skip=max(done, int(header)))


def _is_small(file: File) -> bool:
    return not file.packing and file.path.stat().st_size <= 200_000


def _slow_stream(
    file: File, dialect: Dialect, n_columns: int, positions: Sequence[int], *, skip: int
) -> Iterator[list[Column]]:
    """Read the records after the first `skip` with Python's csv, which accepts mixed line endings and huge fields."""
    with ExitStack() as stack:
        stack.callback(csv.field_size_limit, csv.field_size_limit(sys.maxsize))
        raw = stack.enter_context(file.open())
        text = io.TextIOWrapper(raw, encoding=file.encoding, errors="surrogateescape", newline="")
        rows: list[list[str]] = []
        number = 0
        try:
            for record in dialect.reader(text, strict=True):
                number += 1
                if number <= skip and is_decoded(record):
                    continue
                _refuse_bad(file, record, number, n_columns)
                rows.append(record)
                if len(rows) == BATCH_ROWS:
                    yield _arrays(rows, positions)
                    rows = []
        except csv.Error as error:
            raise cannot_split(file.name, number + 1, error) from None
        except UnicodeError:
            raise DataError(
                f"{file.name}, after row {number}: the bytes are not {file.encoding.upper()} text, or are cut off. "
                f"Copy the file again, or say how it is encoded, e.g. {use('encoding', 'latin-1')}."
            ) from None
        except (EOFError, OSError):
            raise DataError(
                f"{file.name}: its {file.packing} data end too early, after row {number}. Copy the file again."
            ) from None
        if rows:
            yield _arrays(rows, positions)


def cannot_split(name: str, row: int, error: csv.Error) -> DataError:
    """The error for a row that cannot be split into fields."""
    remedy = "Put fields in double quotes and double the quotes inside them."
    trouble = f"cannot be split into fields ({error}). {remedy}"
    if "unexpected end" in str(error):
        trouble = "a quote is opened and never closed. Close it, or double a quote that is part of the text."
    return DataError(f"{name}, row {row}: {trouble}")


def is_decoded(record: Sequence[str]) -> bool:
    """Whether all bytes of a record, decoded with surrogateescape, are text in the encoding of its file."""
    return all(cell.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in cell) for cell in record)


def _refuse_bad(file: File, record: list[str], number: int, n_columns: int) -> None:
    if not is_decoded(record):
        position = next(p for p, cell in enumerate(record) if not is_decoded([cell]))
        cell = record[position].encode("utf-8", errors="surrogateescape")
        raise DataError(
            f"{file.name}, row {number}, column {position + 1}: {cell!r} is not {file.encoding.upper()} text. "
            f"Say how the file is encoded, e.g. {use('encoding', 'latin-1')}."
        )
    while len(record) > n_columns and not record[-1]:
        record.pop()
    if len(record) != n_columns:
        shown = repr(",".join(record))
        shown = shown if len(shown) <= 80 else shown[:79] + "…'"
        raise DataError(
            f"{file.name}, row {number}: has {len(record)} field{'s' * (len(record) != 1)} where {n_columns} are "
            f"expected: {shown}. Complete or remove the row"
            + ("; quote a field that holds the delimiter." if len(record) > n_columns else ".")
        )


def _arrays(rows: Sequence[Sequence[str]], positions: Sequence[int]) -> list[ArrowArray]:
    return [text_array([row[p] for row in rows]) for p in positions]
