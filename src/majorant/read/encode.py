"""Encode a Table in one streaming pass: each column becomes integer codes and a vocabulary.

A full text column is never held in memory.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.limits import refuse_beyond
from majorant.read.table import (
    ArrowArray,
    Column,
    Known,
    Objects,
    Table,
    TableRows,
    as_list,
    column_length,
    dictionary_codes,
    is_plain,
    kind_key,
    numpy_view,
)

Codes = NDArray[np.int32]
MERGE_AT = 1 << 20  # values
Progress = Callable[[int], None]  # called with the number of rows read so far


class Coder:
    """Encodes one column. `finish` returns codes (-1 for empty cells) and values in order of appearance.

    Parts are encoded one by one.  New values are merged once they outnumber the known ones, so that each is merged a
    bounded number of times.
    """

    def __init__(self, source: str, column: str) -> None:
        self.source, self.column = source, column
        self.known: Known = None
        self.waiting: list[tuple[int, Known]] = []  # (number of the part, its values)
        self.n_waiting = 0
        self.part_codes: list[Codes] = []
        self.declared: set[int] = set()  # parts whose values are listed although no row holds them
        self.repeats = True  # whether values come again within a part, by the last one

    def add(self, column: Column) -> None:
        """Encode one part."""
        code_n, values = self._encode(column)
        self.repeats = 2 * len(values) <= len(code_n)
        self.waiting.append((len(self.part_codes), values))
        self.part_codes.append(code_n)
        self.n_waiting += len(values)
        if self.n_waiting > max(MERGE_AT, len(self)):
            self.merge()

    def declare(self, column: Column) -> None:
        """Add values that need not occur in any vote; their codes are kept apart."""
        self.declared.add(len(self.part_codes))
        self.add(column)

    def __len__(self) -> int:
        return 0 if self.known is None else len(self.known)

    def _encode(self, column: Column) -> tuple[Codes, Known]:
        import pyarrow as pa

        if isinstance(column, Objects):
            used = np.unique(column.code_n[column.code_n >= 0], return_index=True)
            order = used[0][np.argsort(used[1])]  # by appearance; a slice may use few of the values
            remap = np.full(len(column.values) + 1, -1, dtype=np.int32)
            remap[order] = np.arange(len(order), dtype=np.int32)
            return remap[column.code_n], [column.values[code] for code in order]
        if pa.types.is_dictionary(column.type):
            return dictionary_codes(column), plain_text(column.dictionary)
        column = plain_text(column)
        if not self.repeats and not column.null_count and is_plain(column):  # encoding it twice gains nothing
            return np.arange(len(column), dtype=np.int32), column
        try:
            encoded = column.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise DataError(
                f"{self.source}: column {self.column!r} holds {column.type}, not single values. Give one row per vote."
            ) from None
        return dictionary_codes(encoded), encoded.dictionary

    def merge(self) -> None:
        """Merge the waiting values into the known ones and replace the codes of their parts by final ones."""
        if not self.waiting:
            return
        pieces = [values for _, values in self.waiting]
        codes = self._merge_arrow(pieces) if self._one_type(pieces) else self._merge_python(pieces)
        start = 0
        for (part, values), end in zip(self.waiting, np.cumsum([len(v) for v in pieces]), strict=True):
            remap = np.append(codes[start:end], np.int32(-1)).astype(np.int32, copy=False)
            start = end
            unchanged = np.array_equal(remap[:-1], np.arange(len(values)))
            if len(self.part_codes[part]) and not unchanged:
                self.part_codes[part] = remap[self.part_codes[part]]
        self.waiting, self.n_waiting = [], 0

    def _one_type(self, pieces: list[Known]) -> bool:
        every = pieces if self.known is None else [self.known, *pieces]
        return not any(isinstance(piece, list) for piece in every) and len({piece.type for piece in every}) == 1

    def _merge_arrow(self, pieces: list[ArrowArray]) -> Codes:
        import pyarrow as pa

        n_known = len(self)
        encoded = pa.concat_arrays(pieces if self.known is None else [self.known, *pieces]).dictionary_encode()
        self.known = encoded.dictionary
        codes: Codes = numpy_view(encoded.indices, np.int32)[n_known:]
        return codes

    def _merge_python(self, pieces: list[Known]) -> Codes:
        known = as_list(self.known)
        codes = {kind_key(value): code for code, value in enumerate(known)}
        merged = []
        for value in (value for piece in pieces for value in as_list(piece)):
            code = codes.setdefault(kind_key(value), len(known))
            if code == len(known):
                known.append(value)
            merged.append(code)
        self.known = known
        return np.array(merged, dtype=np.int32)

    def finish(self) -> tuple[Codes, Codes, Known]:
        """All codes, one per row; the codes of what was declared; the values."""
        self.merge()
        parts, self.part_codes = self.part_codes, []
        declared_n = _join([part for number, part in enumerate(parts) if number in self.declared])
        parts = [part for number, part in enumerate(parts) if number not in self.declared]
        return _join(parts), declared_n, [] if self.known is None else self.known


def _join(parts: list[Codes]) -> Codes:
    """Concatenate the parts, freeing each once it is copied, so that memory does not double."""
    code_n = np.empty(sum(map(len, parts)), dtype=np.int32)
    start = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        code_n[start : start + len(part)] = part
        start += len(part)
    return code_n


def plain_text(array: ArrowArray) -> ArrowArray:
    """The array with one type for text, whichever of Arrow's text types it has."""
    import pyarrow as pa

    if pa.types.is_string(array.type) or pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array


@dataclass(frozen=True, slots=True)
class Span:
    """Origin of the entries from `start` on."""

    start: int
    source: str
    unit: str
    first_row: int
    row_n: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """The whole table as codes: `codes[role][n]` is a position in `known[role]`, or -1 for an empty cell."""

    table: Table
    n_rows: int
    codes: dict[str, Codes]
    declared: dict[str, Codes]  # the same for what a wide table says of its items, voted on or not
    known: dict[str, Known]
    seconds_n: NDArray[np.float64] | None
    spans: Sequence[Span]
    declared_spans: Sequence[Span]
    row_n: NDArray[np.int64] | None = None  # which entry of the table each one is; None: all, in order

    def where(self, n: int) -> str:
        """Location of entry n, for messages."""
        return _where(self.spans, n if self.row_n is None else int(self.row_n[n]))

    def where_declared(self, n: int) -> str:
        """The place of the n-th item of a wide table."""
        return _where(self.declared_spans, n)


def _where(spans: Sequence[Span], n: int) -> str:
    span = spans[bisect_right([span.start for span in spans], n) - 1]
    row = span.first_row + n - span.start if span.row_n is None else int(span.row_n[n - span.start])
    return f"{span.source}, {span.unit} {row}"


def collect_codes(table: Table, max_classes: int, progress: Progress | None = None) -> Coded:
    """Read the table; a second thread encodes parts while the next ones are read, at most two behind."""
    coders = {role: Coder(table.source, name) for role, name in table.columns.items() if role != "seconds"}
    spans: list[Span] = []
    declared_spans: list[Span] = []
    seconds: list[NDArray[np.float64]] = []
    n_rows = n_declared = 0
    behind: deque[Future[None]] = deque()
    with ThreadPoolExecutor(max_workers=1) as pool:
        for part in table.parts:
            span = Span(n_rows, part.source, part.unit, part.first_row, part.row_n)
            spans.append(span)
            declared_spans.append(Span(n_declared, part.source, part.unit, part.first_row, None))
            n_rows += part.n_rows
            n_declared += column_length(part.declared["item"]) if part.declared else 0
            if "seconds" in part.columns:
                seconds.append(part_seconds(part, span, table))
            behind.append(pool.submit(encode_part, part, span, coders, table.columns, max_classes))
            if len(behind) > 2:
                behind.popleft().result()
            if progress is not None:
                progress(n_rows)
        for job in behind:
            job.result()
    if not n_rows and not n_declared:
        raise no_rows(table)
    finished = {role: coder.finish() for role, coder in coders.items()}
    for role, (_, _, known) in finished.items():
        refuse_long(known, table.source, table.columns[role])
    return Coded(
        table=table,
        n_rows=n_rows,
        codes={role: code_n for role, (code_n, _, _) in finished.items()},
        declared={role: declared_n for role, (_, declared_n, _) in finished.items()},
        known={role: known for role, (_, _, known) in finished.items()},
        seconds_n=np.concatenate(seconds) if seconds else None,
        spans=spans,
        declared_spans=declared_spans,
    )


def refuse_long(known: Known, source: str, name: str) -> None:
    """Reject names as long as documents, because names are repeated in tables and on the page."""
    if isinstance(known, list):
        longest = max((len(value) for value in known if isinstance(value, (str, bytes))), default=0)
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = pa.types.is_string(known.type) or pa.types.is_large_string(known.type)
        longest = (pc.max(pc.binary_length(known)).as_py() or 0) if text else 0
    refuse_beyond("NAME_LENGTH", longest, f"characters in one cell of {source}, column {name!r}", "Name items by an id")


def no_rows(table: Table) -> DataError:
    """The error for a table without rows."""
    what = "has a header but no rows" if table.kind == "text" else "holds no rows"
    return DataError(f"{table.source} {what}. Check that the export completed.")


def encode_part(
    part: TableRows, span: Span, coders: Mapping[str, Coder], names: Mapping[str, str], max_classes: int
) -> None:
    """Add a part to the coders of its columns; more labels than `max_classes` are refused."""
    for role, column in part.declared.items():
        coders[role].declare(column)
    for role, coder in coders.items():
        if role not in part.columns and role in part.declared:
            continue
        if role not in part.columns:  # this file lacks a column that another one has
            coder.add(Objects(np.full(part.n_rows, -1, dtype=np.int32), ()))
            continue
        coder.add(part.columns[role])
        if role in ("label", "gold"):
            coder.merge()
            if len(coder) > max_classes:
                [shown] = as_list(coder.known[max_classes : max_classes + 1])
                raise too_many_labels(span.source, role, names[role], max_classes, shown)


def too_many_labels(source: str, role: str, name: str, most: int, shown: object) -> DataError:
    """Error for a column with too many distinct values to be labels."""
    kind = "labels" if role == "label" else "gold labels"
    return DataError(
        f"{source}, column {name!r}: more than {most:,} different labels, e.g. {str(shown)[:60]!r}; it is probably not "
        f"the column of {kind}. Specify the right one with {role}='NAME', or allow more with max_classes=."
    )


def part_seconds(part: TableRows, span: Span, table: Table) -> NDArray[np.float64]:
    """The seconds column as floats, NaN where empty."""
    coder = Coder(span.source, table.columns["seconds"])
    coder.add(part.columns["seconds"])
    code_n, _, known = coder.finish()
    seconds = [math.nan]
    for code, value in enumerate(as_list(known)):
        try:
            text = str(value).strip(' \t"')  # JSON may hold a number as text
            seconds.insert(code, float(text) if text else math.nan)
        except ValueError:
            n = int(np.argmax(code_n == code))
            raise DataError(
                f"{_where([replace(span, start=0)], n)}, column {table.columns['seconds']!r}: {text!r} is not a number "
                "of seconds. Correct it, or leave the column out with seconds=''."
            ) from None
    return np.array(seconds)[code_n]
