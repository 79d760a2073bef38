"""A Table read once, part by part, into codes: what is left of a column is one integer per row and its vocabulary."""

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
from majorant.io.table import Objects, Table, TableRows, column_length
from majorant.io.vocabulary import Coder, Codes, Known, as_list
from majorant.limits import refuse_beyond

Progress = Callable[[int], None]  # told how many rows have been read so far


@dataclass(frozen=True, slots=True)
class Span:
    """Where the entries from `start` on come from."""

    start: int
    source: str
    unit: str
    first_row: int
    row_n: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """The whole table as codes: `codes[role][n]` is -1 where nothing stands, else a position in `known[role]`."""

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
        """The place of entry n in the user's words."""
        return _where(self.spans, n if self.row_n is None else int(self.row_n[n]))

    def where_declared(self, n: int) -> str:
        """The place of the n-th item of a wide table."""
        return _where(self.declared_spans, n)


def _where(spans: Sequence[Span], n: int) -> str:
    span = spans[bisect_right([span.start for span in spans], n) - 1]
    row = span.first_row + n - span.start if span.row_n is None else int(span.row_n[n - span.start])
    return f"{span.source}, {span.unit} {row}"


def collect_codes(table: Table, *, max_classes: int, progress: Progress | None) -> Coded:
    """Read the table; encoding runs beside the reading, in one thread, at most two parts behind."""
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
        _refuse_long(known, table.source, table.columns[role])
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


def _refuse_long(known: Known, source: str, name: str) -> None:
    """Refuse names that are whole documents: each is written many times, in tables and on the page."""
    if isinstance(known, list):
        longest = max((len(value) for value in known if isinstance(value, (str, bytes))), default=0)
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = pa.types.is_string(known.type) or pa.types.is_large_string(known.type)
        longest = (pc.max(pc.binary_length(known)).as_py() or 0) if text else 0
    refuse_beyond("NAME_LENGTH", longest, f"signs in one cell of {source}, column {name!r}", "Name items by an id")


def no_rows(table: Table) -> DataError:
    """The error for a table without rows."""
    what = "has a header but no rows" if table.kind == "text" else "holds no rows"
    return DataError(f"{table.source} {what}. Check that the export that wrote it finished.")


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
                _refuse_many(coder, span, role, names[role], max_classes)


def _refuse_many(coder: Coder, span: Span, role: str, name: str, max_classes: int) -> None:
    values = coder.known if isinstance(coder.known, list) else coder.known.slice(max_classes, 1).to_pylist()
    shown = values[max_classes] if isinstance(coder.known, list) else values[0]
    raise too_many_labels(span.source, role, name, max_classes, shown)


def too_many_labels(source: str, role: str, name: str, most: int, shown: object) -> DataError:
    """The refusal of a column that is hardly one of labels."""
    kind = "labels" if role == "label" else "gold labels"
    return DataError(
        f"{source}, column {name!r}: more than {most:,} different labels, e.g. {str(shown)[:60]!r}; it is probably not "
        f"the column of {kind}. Say which is with {role}='NAME', or allow more with max_classes=."
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
