"""Results as tables: columns as lists, Arrow, pandas or polars, and cells that are safe in spreadsheets.

Spreadsheets run cells that begin with =, +, -, @, a tab or a return as formulas, so such text is prefixed with an
apostrophe. If it already has one, it gets another, so that removing one restores every name. Numbers are not changed.
"""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError

FIRST_ROWS = 5  # of a table, shown when it is printed
LABEL_COLUMNS = ("label", "runner_up", "gold")  # columns that hold the user's own labels
FORMULA = r"^'*[=+\-@\t\r]"
PLAIN_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, slots=True, eq=False)
class Named(Sequence[Any]):
    """A column of codes, with the value of each code; -1 stands for None.

    >>> list(Named(np.array([1, -1, 0]), ("no", "yes")))
    ['yes', None, 'no']
    """

    code_n: NDArray[np.integer[Any]]
    values: Sequence[Any]

    def __len__(self) -> int:
        return len(self.code_n)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return Named(self.code_n[n], self.values)
        code = int(self.code_n[n])
        return None if code < 0 else self.values[code]


class Names(NamedTuple):
    """The user's own names of items, workers and labels; `label_type` is the type of the labels in the user's frame."""

    items: Sequence[Hashable]
    workers: Sequence[Hashable]
    labels: Sequence[Hashable]
    label_type: Any = None


class Tabular:
    """A value that is also a table: `table` returns its columns, and `to_pandas` and the others convert them."""

    __slots__ = ()

    def table(self) -> dict[str, Any]:
        """The columns by name, all of the same length."""
        raise NotImplementedError

    @property
    def _label_type(self) -> Any:
        return None

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as plain lists of Python values; None marks missing values."""
        return {name: _plain(column) for name, column in self.table().items()}

    def to_arrow(self) -> Any:
        """The columns as a pyarrow Table."""
        import pyarrow as pa

        arrays = {name: arrow_column(column) for name, column in self.table().items()}
        return pa.table({n: a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for n, a in arrays.items()})

    def to_pandas(self) -> Any:
        """The columns as a pandas DataFrame; labels have the same type as in the frame that was read."""
        pandas = _library("pandas")
        kind = self._label_type
        columns = self.table()
        known = {n: kind for n in columns if n in LABEL_COLUMNS and _is_of("pandas", kind)}
        return pandas.DataFrame({n: _series(pandas, c, known.get(n)) for n, c in columns.items()})

    def to_polars(self) -> Any:
        """The columns as a polars DataFrame; labels have the same type as in the frame that was read."""
        polars = _library("polars")
        kind, frame = self._label_type, polars.from_arrow(self.to_arrow())
        if _is_of("polars", kind):
            frame = frame.with_columns(polars.col(n).cast(kind) for n in frame.columns if n in LABEL_COLUMNS)
        return frame

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows as dicts."""
        columns = self.to_dict()
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The columns, for libraries that read Arrow: polars.DataFrame(labels), pyarrow.table(labels), DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = self.table()
        n_rows = len(next(iter(columns.values()), ()))
        head = f"{type(self).__name__}: {n_rows:,} row{'s' * (n_rows != 1)}"
        more = [f"... {n_rows - FIRST_ROWS:,} more"] if n_rows > FIRST_ROWS else []
        return "\n".join([head, *_text_rows(columns), *more, "to_pandas() gives a frame"])

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        first = {name: _plain(column[:FIRST_ROWS]) for name, column in self.table().items()}
        head = "".join(f"<th>{html.escape(name)}</th>" for name in first)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>"
            for row in zip(*first.values(), strict=True)
        )
        title = html.escape(repr(self).split("\n", 1)[0])
        return f"<pre>{title}</pre><table><tr>{head}</tr>{rows}</table><pre>to_pandas() gives a frame</pre>"


class Record(Protocol):
    """One row of `Records`."""

    def row(self) -> Mapping[str, Any]:
        """The fields by name, as plain values."""


R = TypeVar("R", bound=Record)


class Records(Tabular, tuple[R, ...]):
    """A tuple of records, which form the rows of a table."""

    __slots__ = ()

    def __iter__(self) -> Iterator[R]:  # type: ignore[override]  # yields records, not dicts
        return tuple.__iter__(self)

    def table(self) -> dict[str, Any]:
        """The columns, with one row per record."""
        rows = [record.row() for record in self]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def some_names(names: Sequence[Any] | Mapping[str, Any], most: int = 6) -> str:
    """List the first few names and the number of others.

    >>> some_names(["no", "yes"]), some_names(list(range(9)), most=2)
    ('no, yes', '0, 1 and 7 more')
    """
    listed = ", ".join(str(name) for name in list(names)[:most])
    return listed + (f" and {len(names) - most:,} more" if len(names) > most else "")


def arrow_column(values: Any) -> Any:
    """Convert to an Arrow column; values of mixed or unusual types become text."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        return values
    if isinstance(values, Named):
        return pa.DictionaryArray.from_arrays(
            pa.array(values.code_n, mask=values.code_n < 0), arrow_column(values.values)
        )
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)  # NaN becomes null
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) <= 1:
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            column = pa.array(values)
            if not pa.types.is_nested(column.type):
                return column
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _library(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigError(
            f"to_{name}() needs {name}, which is not installed: pip install {name}. "
            "to_arrow() and to_dict() work without it."
        ) from None


def _is_of(library: str, kind: Any) -> bool:
    """Whether a type belongs to a library; for pandas, NumPy types count too."""
    home = type(kind).__module__.split(".")[0] if not isinstance(kind, type) else kind.__module__.split(".")[0]
    return kind is not None and (home == library or (library == "pandas" and home == "numpy"))


def _plain(column: Any) -> list[Any]:
    """Plain Python values, None for missing ones."""
    if isinstance(column, np.ndarray):
        return [None if value != value else value for value in column.tolist()]
    return [value.item() if isinstance(value, np.generic) else value for value in column]


def _series(pandas: Any, column: Any, kind: Any) -> Any:
    """A pandas column; integers and booleans keep their type even if some are missing."""
    if isinstance(column, np.ndarray):
        return pandas.Series(np.array(column))
    values = _plain(column)
    missing = any(value is None for value in values)
    if kind is not None and not (missing and isinstance(kind, np.dtype)):
        return pandas.Series(values, dtype=kind)
    kinds = {type(value) for value in values if value is not None}
    if kind is not None and kinds <= {int}:
        return pandas.Series(values, dtype=kind.name.replace("i", "I", 1).replace("u", "U", 1))
    if missing and kinds in ({int}, {bool}):
        return pandas.Series(values, dtype="Int64" if kinds == {int} else "boolean")
    if len(kinds) > 1:
        return pandas.Series(values, dtype=object)
    return pandas.Series(values)


def _text_rows(columns: Mapping[str, Any], width: int = 100) -> list[str]:
    """The header and the first rows as lines of text, with as many columns as fit."""
    cells = {name: [name, *map(_cell, _plain(column[:FIRST_ROWS]))] for name, column in columns.items()}
    wide = {name: min(30, max(map(len, some))) for name, some in cells.items()}
    fits: list[str] = []
    used = 0
    for name in cells:
        used += wide[name] + 2
        if used > width and fits:
            fits.append(f"... {len(cells) - len(fits)} more columns")
            break
        fits.append(name)
    shown = [name for name in fits if name in cells]
    lines = [
        "  ".join(_clip(row, wide[name]) for name, row in zip(shown, some, strict=True))
        for some in zip(*(cells[name] for name in shown), strict=True)
    ]
    if len(fits) > len(shown):
        lines[0] += f"  {fits[-1]}"
    return [line.rstrip() for line in lines]


def _clip(text: str, width: int) -> str:
    text = " ".join(text.split())
    return f"{text if len(text) <= width else text[: width - 1] + '…':{width}}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def guard_cell(text: Any) -> Any:
    """Make a cell safe in a spreadsheet.

    >>> guard_cell("=1+1"), guard_cell("'=1"), guard_cell("-1.5"), guard_cell("a=b"), guard_cell(7)
    ("'=1+1", "''=1", '-1.5', 'a=b', 7)
    """
    runs = isinstance(text, str) and re.match(FORMULA, text) and not re.match(PLAIN_NUMBER, text)
    return f"'{text}" if runs else text


def unguard_cell(text: str) -> str:
    """Undo `guard_cell`.

    >>> unguard_cell("'=1+1"), unguard_cell("''=1"), unguard_cell("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return text[1:] if re.match(r"'+[=+\-@\t\r]", text) else text


def guard_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Make all text in a table safe in a spreadsheet, including the header.

    >>> guard_columns({"@item": ["=1", "b"], "n": [-1, 2]})["'@item"].to_pylist()
    ["'=1", 'b']
    """
    return {guard_cell(name): _guard_column(arrow_column(values)) for name, values in columns.items()}


def _guard_column(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _guard_column(array.dictionary))
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    runs = pc.and_(pc.match_substring_regex(array, FORMULA), pc.invert(pc.match_substring_regex(array, PLAIN_NUMBER)))
    after = pc.binary_join_element_wise(pa.scalar("'", array.type), array, pa.scalar("", array.type))
    return pc.if_else(pc.fill_null(runs, False), after, array)
