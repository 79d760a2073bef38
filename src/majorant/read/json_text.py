"""JSON and JSON Lines; cells are kept as JSON text, so that 1, "1" and true remain different."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from majorant.database import batches, connect, literal, path_literal
from majorant.errors import DataError, use
from majorant.read.files import File, as_utf8, temporary
from majorant.read.formats import recognise
from majorant.read.formats.base import Context, Format, Record, write_votes
from majorant.read.options import ReadOptions
from majorant.read.table import Column, RowSource, loads, too_deep

EXAMPLE = '{"item": "q1", "worker": "ana", "label": "yes"}'


def open_json(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:
    """The objects in a JSON array or JSON Lines; a key that an object lacks is null.

    The votes in the records of another tool are written to a temporary file first, one per line.
    """
    import duckdb

    try:
        path = as_utf8(file, stack)
    except UnicodeDecodeError:
        _refuse_bytes(file)
        raise DataError(
            f"{file.name} is not {file.encoding.upper()} text, or is cut off. Copy it again, or say how it is encoded, "
            f"e.g. {use('encoding', 'latin-1')}."
        ) from None
    except (OSError, EOFError):
        raise _cut_off(file) from None
    shape = _shape(file)
    text = _Text(path, file.packing if path == file.path else "", shape, how.threads)
    try:
        with connect(how.threads) as connection:  # keys in order of first use; some, such as `status`, may be rare
            keys = connection.sql(
                f"""SELECT key, min(row * 1000000 + place) AS first FROM (
                SELECT unnest(keys) AS key, generate_subscripts(keys, 1) AS place, row
                FROM (SELECT json_keys(json) AS keys, row_number() OVER () AS row FROM {text.scan("read_json_objects")})
                ) GROUP BY key ORDER BY first"""
            ).fetchall()
    except duckdb.Error:
        raise _diagnose(file, shape) from None
    if shape == "array" and not _is_closed(file):  # DuckDB accepts an array that is cut off after an object
        raise DataError(
            f"{file.name}: the array is never closed; the file is cut off after an object. Export it again."
        )
    names = tuple(key for key, _ in keys)
    if not names:
        raise DataError(f"{file.name} holds no objects with keys. Give each vote as an object, {EXAMPLE}.")

    first, *more = islice(_records(file, text), 2)
    if format := recognise(names, first, file.name):
        return _open_format(file, format, _records(file, text), how, stack)
    if not more and _holds_items(first):
        from majorant.read.opening import open_frame  # imports this module

        return replace(open_frame(first, how.choice), source=file.name)
    return _rows(file, text, names)


def _holds_items(record: Any) -> bool:
    """Whether one object holds all votes: {item: {worker: label}}."""
    return all(
        isinstance(given, dict) and not any(isinstance(label, dict | list) for label in given.values())
        for given in record.values()
    )


def open_votes(file: File, records: Sequence[Record], how: ReadOptions, stack: ExitStack) -> RowSource:
    """The votes in records that another file type's reader has extracted."""
    format = recognise(records[0], records[0], file.name)
    if format is None:
        raise DataError(f"{file.name} does not hold what {file.type.description} holds. Export it again.")
    return _open_format(file, format, records, how, stack)


def _open_format(
    file: File, format: Format, records: Iterable[Record], how: ReadOptions, stack: ExitStack
) -> RowSource:
    """Write the votes in the records of a recognised format to a temporary file, and open it."""
    path = temporary(stack)
    lines = write_votes(
        path, records, format, Context(source=file.name), how.choice,
        split=how.several, item_prefix=file.item_prefix, worker_suffix=file.worker_suffix,
    )  # fmt: skip
    rows = _rows(file, _Text(path, "", "newline_delimited", how.threads), lines.names, lines.described)
    return replace(rows, judges=format.judges, notes=lines.notes)


class _Text(NamedTuple):
    """JSON text in UTF-8: its path, compression and structure, and the number of threads to read it."""

    path: Path
    packing: str
    shape: str
    threads: int | None

    def scan(self, function: str, *more: str) -> str:
        """The SQL call of a DuckDB function that reads the text."""
        settings = {"format": self.shape, "compression": self.packing or "uncompressed"}
        spelt = [f"{name} = {literal(value)}" for name, value in settings.items()]
        largest = f"maximum_object_size = {1 << 28}"
        return f"{function}({', '.join([path_literal(self.path), *spelt, largest, *more])})"


def _rows(file: File, text: _Text, names: tuple[str, ...], described: str = "") -> RowSource:
    import duckdb

    def sql(positions: Sequence[int]) -> str:
        keys = [names[p] for p in positions]
        if len({name.casefold() for name in names}) < len(names):  # DuckDB's column names are case-insensitive
            pointers = ("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
            values = ", ".join(f"json_extract(json, {literal(one)}) AS c{n}" for n, one in enumerate(pointers))
            return f"SELECT {values} FROM {text.scan('read_json_objects')}"
        quoted = ", ".join('"' + key.replace('"', '""') + '"' for key in keys)
        columns = ", ".join(f"{literal(key)}: 'JSON'" for key in keys)
        scan = text.scan("read_json", "records = 'true'", f"columns = {{{columns}}}")
        return f"SELECT {quoted} FROM {scan}"

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        n_rows = 0
        try:
            for batch in batches(sql(positions), text.threads):
                n_rows += batch.num_rows
                file.refuse_beyond(2 * n_rows)
                yield list(batch.columns)
        except duckdb.Error:
            raise _diagnose(file, text.shape) from None

    spelt = described or ("JSON" if text.shape == "array" else "JSON Lines")
    packed = f", {file.packing}" if file.packing else ""
    unit = "vote" if described else "record"  # the name of a row in messages
    return RowSource(source=file.name, names=names, kind="json", format=spelt + packed, stream=stream, unit=unit)


def _shape(file: File) -> str:
    text = file.head.decode(file.encoding, errors="replace").lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        return "array"
    try:
        loads(text.splitlines()[0])
    except (ValueError, RecursionError):
        return "unstructured" if text.startswith(("{\n", "{\r")) else "newline_delimited"
    return "newline_delimited"


def _is_closed(file: File) -> bool:
    tail_bytes = 1 << 12
    tail = b""
    with file.open() as raw:
        if not file.packing:
            raw.seek(max(file.path.stat().st_size - tail_bytes, 0))
        while block := raw.read(1 << 20):
            tail = (tail + block)[-tail_bytes:]
    return tail.replace(b"\0", b"").rstrip().endswith(b"]")  # UTF-16 has zero bytes


def _records(file: File, text: _Text) -> Iterator[dict[str, Any]]:
    """Stream the objects. DuckDB accepts a trailing comma, which Python and the standard do not."""
    try:
        for batch in batches(f"SELECT json FROM {text.scan('read_json_objects')}", text.threads):
            yield from map(loads, batch.columns[0].to_pylist())
    except json.JSONDecodeError:
        raise _diagnose(file, text.shape) from None


def _diagnose(file: File, shape: str) -> DataError:
    """Locate a JSON error with Python's parser, which reports line and column."""
    diagnosed_bytes = 1 << 28  # larger broken arrays are not parsed again to locate the error
    _refuse_bytes(file)
    try:
        with file.open() as raw:
            if shape == "newline_delimited":
                for number, line in enumerate(raw, start=1):
                    problem = _problem(file, line.decode(file.encoding.replace("-sig", "")).lstrip("\ufeff"), number)
                    if problem:
                        return problem
            elif shape == "array":
                text = raw.read(diagnosed_bytes)
                if len(text) < diagnosed_bytes:
                    problem = _problem(file, text.decode(file.encoding), None)
                    if problem:
                        return problem
    except (EOFError, OSError):
        return _cut_off(file)
    except UnicodeError:
        return DataError(
            f"{file.name} is not {file.encoding.upper()} text. Say how it is encoded, e.g. "
            f"{use('encoding', 'latin-1')}."
        )
    except RecursionError as error:
        return too_deep(file.name, error, f"Give each vote as {EXAMPLE}")
    return DataError(f"{file.name} cannot be read as JSON. Give one object per line, such as {EXAMPLE}, or one array.")


def _problem(file: File, text: str, line: int | None) -> DataError | None:
    if not text.strip():
        return None
    try:
        value = loads(text)
    except json.JSONDecodeError as error:
        end = " The file is cut off there." if not text[error.pos :].strip() or "Unterminated" in error.msg else ""
        where = f"line {line or error.lineno}, column {error.colno}"
        return DataError(f"{file.name}, {where}: {error.msg}.{end} Export it again, or correct the line.")
    records = [(line, value)] if line else list(enumerate(value if isinstance(value, list) else [value], start=1))
    for number, record in records:
        if not isinstance(record, dict):
            unit = "line" if line else "record"
            return DataError(f"{file.name}, {unit} {number}: {record!r} is not an object. Give each vote as {EXAMPLE}.")
        text_keys = [key for key, _ in loads(text, object_pairs_hook=list)] if line else []
        twice = [key for key, n in Counter(text_keys).items() if n > 1]
        if twice:
            return DataError(f"{file.name}, line {number}: the key {twice[0]!r} occurs twice. Keep one.")
    return None


def _refuse_bytes(file: File) -> None:
    if file.encoding not in ("utf-8", "utf-8-sig", "ascii"):
        return
    with file.open() as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                shown = line[max(error.start - 10, 0) : error.start + 10]
                raise DataError(
                    f"{file.name}, line {number}: {shown!r} is not UTF-8 text. "
                    f"Say how the file is encoded, e.g. {use('encoding', 'latin-1')}."
                ) from None


def _cut_off(file: File) -> DataError:
    return DataError(f"{file.name}: its {file.packing} data end too early. Copy the file again.")
