"""Delimited text without a quote, as most of it is: slices of whole lines, parsed and coded by Arrow on threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from majorant.io.table import Column, NotCodedError
from majorant.threads import in_order, thread_count

SLICE_BYTES = 1 << 22
LONGEST_PIECE = 1 << 24  # of a line, at a time
LARGE = 1 << 26  # bytes of a file from which on coding slices must pay: ids must come again within a slice


@dataclass(frozen=True, slots=True)
class Layout:
    """How the file is laid out, and which of its columns are wanted."""

    delimiter: str
    quote: str
    n_columns: int
    positions: tuple[int, ...]
    header: bool


def coded_slices(path: Path, layout: Layout, threads: int | None) -> Iterator[list[Column]]:
    """The wanted columns as dictionary arrays, slice by slice in the order of the file.

    It ends with NotCodedError before the first slice that holds a quote, or a line with too few or too many fields,
    and at the start of a large file whose first two columns hold few values twice: there, hashes are quicker.
    """
    import pyarrow as pa

    size = path.stat().st_size
    starts = range(0, size, SLICE_BYTES)

    def parse(start: int) -> list[Column] | None:
        lines = _lines(path, start, header=layout.header and start == 0)
        if layout.quote.encode() in lines:
            raise NotCodedError
        try:
            return _parse(lines, layout) if len(lines) else None
        except pa.ArrowInvalid:
            raise NotCodedError from None

    if size > LARGE and not _pays(parse(0)):
        raise NotCodedError
    for columns in in_order(parse, starts, thread_count(threads)):
        if columns is not None:
            yield columns


def _lines(path: Path, start: int, *, header: bool) -> bytes:
    """The lines that begin in the slice at `start`, without the header."""
    before = 1 if start else 0  # the byte before tells whether a line begins with the slice
    with path.open("rb") as file:
        file.seek(start - before)
        data = file.read(before + SLICE_BYTES)
        more = data
        while more and not data.endswith(b"\n"):  # the last line may reach beyond the slice
            more = file.readline(LONGEST_PIECE)
            data += more
    begin = data.find(b"\n") + 1 if before else _after_header(data) if header else 0
    return data[begin:] if begin or not before else b""


def _after_header(data: bytes) -> int:
    """Where the first line that is not blank ends."""
    at = len(data) - len(data.lstrip(b"\r\n"))
    end = (data.find(b"\n", at) + 1) or len(data)
    if at == len(data) or b"\r" in data[at:end].rstrip(b"\r\n"):
        raise NotCodedError  # a slice of blank lines, or a line that ends in another way than the rest
    return end


def _parse(lines: bytes, layout: Layout) -> list[Column] | None:
    import pyarrow as pa
    from pyarrow import csv

    names = [f"c{p}" for p in range(layout.n_columns)]
    wanted = [names[p] for p in layout.positions]
    checked = wanted if lines.isascii() else names  # text of any column must be UTF-8
    kind = pa.dictionary(pa.int32(), pa.string())
    table = csv.read_csv(
        pa.BufferReader(lines),
        csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=names),
        csv.ParseOptions(delimiter=layout.delimiter, quote_char=False, double_quote=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, kind), include_columns=list(dict.fromkeys(checked)),
            null_values=[""], strings_can_be_null=True,
        ),
    )  # fmt: skip
    return [_whole(table[name]) for name in wanted] if table.num_rows else None


def _whole(column: Any) -> Column:
    return column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()


def _pays(columns: Sequence[Any] | None) -> bool:
    return columns is None or all(2 * len(column.dictionary) <= len(column) for column in columns[:2])
