"""Tables in memory: pandas, polars, pyarrow and DuckDB frames, a dict of columns, lists of triples or dicts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from majorant.database import BATCH_ROWS
from majorant.errors import ConfigError, DataError
from majorant.read.columns import VOTE_ROLES, Choice, means
from majorant.read.table import Column, Objects, RowSource, column_length, plain
from majorant.read.values import kind_key


def open_frame(source: Any, choice: Choice) -> RowSource:
    """The rows of a table in memory, counted from 0."""
    if isinstance(source, np.ndarray) and source.dtype.names is None:
        raise ConfigError(
            f"an array of shape {source.shape} may be a matrix or a list of votes. majorant.from_matrix(array) reads "
            "items x workers; a list of (item, worker, label) is read as votes."
        )
    module = _module(source)
    if module == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if module == "pandas":
        source = _with_index(source, choice)
    if module in ("pandas", "polars"):
        return _open_columns(f"{module} {type(source).__name__}", list(source.columns), source)
    if hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source, module)
    if isinstance(source, Mapping):
        return _open_mapping(source)
    if isinstance(source, np.ndarray):
        return _open_columns("NumPy array", list(source.dtype.names or ()), source)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _open_records(list(source), choice)
    raise ConfigError(
        f"cannot read votes from {type(source).__name__}. Give a file name, a pandas, polars, pyarrow or DuckDB table, "
        "a dict of columns, or a list of (item, worker, label)."
    )


def _module(source: Any) -> str:
    return type(source).__module__.split(".")[0]


def _with_index(frame: Any, choice: Choice) -> Any:
    """A pandas frame whose index levels are columns, where they are named or take a role that no column has."""
    if not hasattr(frame, "columns"):  # a Series of labels, indexed by item and worker
        frame = frame.to_frame(name="label" if frame.name is None else frame.name)
    taken = list(map(str, frame.columns))
    wanted = {}
    for level, name in enumerate(frame.index.names):
        missing = [role for role in VOTE_ROLES if role not in choice.named and not any(means(c, role) for c in taken)]
        if name is not None and str(name) not in taken:
            if str(name) in choice.named.values() or any(means(str(name), role) for role in missing):
                wanted[level] = str(name)
        elif name is None and "item" in missing and frame.index.get_level_values(level).dtype.kind not in "iuf":
            wanted[level] = "item"
    frame = frame.copy(deep=False)
    for level, name in reversed(wanted.items()):
        frame.insert(0, name, frame.index.get_level_values(level))
    return frame


def label_type(source: Any, column: str) -> Any:
    """The type of the labels in a pandas or polars frame; None for the usual types."""
    if _module(source) not in ("pandas", "polars") or not hasattr(type(source), "columns"):
        return None
    types = source.dtypes if _module(source) == "pandas" else source.collect_schema()
    kind = types.get(column)
    usual = ("object", "str", "int64", "float64", "bool", "Int64", "Float64", "Boolean", "String")
    return None if kind is None or str(kind) in usual else kind


def _open_columns(name: str, names: Sequence[Any], source: Any) -> RowSource:
    single = [key for key in names if not hasattr(source[key], "__len__") or isinstance(source[key], str)]
    if single:
        raise ConfigError(f"{name}: {single[0]!r} holds {source[single[0]]!r}, not a column. Give a list of values.")
    lengths = {key: len(source[key]) for key in names}
    if len(lengths) < len(names):
        twice = next(key for key in names if list(names).count(key) > 1)
        raise DataError(f"{name}: there are two columns {twice!r}. Rename one of them.")
    if len(set(lengths.values())) > 1:
        spelt = ", ".join(f"{key!r} has {length}" for key, length in lengths.items())
        raise DataError(f"{name}: columns differ in length: {spelt}. Every row needs all its fields.")
    return open_positions(name, list(map(str, names)), [source[key] for key in names], format=name, first_row=0)


def open_positions(
    source: str, names: Sequence[str], columns: Sequence[Any], *, format: str, first_row: int
) -> RowSource:
    """Columns by position: names may repeat, or be empty."""

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        yield from _batched([_column(columns[p], source, names[p]) for p in positions])

    return RowSource(source=source, names=tuple(names), kind="typed", format=format, stream=stream, first_row=first_row)


def _open_mapping(source: Mapping[Any, Any]) -> RowSource:
    """A dict of columns, or of items: {item: {worker: label}}."""
    if not source or not all(isinstance(value, Mapping) for value in source.values()):
        return _open_columns("dict of columns", list(source), source)
    if all(any(means(str(key), role) for key in source) for role in VOTE_ROLES):  # pandas: frame.to_dict()
        return _open_columns(
            "dict of columns", list(source), {key: list(cells.values()) for key, cells in source.items()}
        )
    votes = [(item, worker, label) for item, given in source.items() for worker, label in given.items()]
    columns = dict(zip(VOTE_ROLES, map(list, zip(*votes, strict=True)), strict=True)) if votes else {}
    return _open_columns("dict of items", list(columns), columns)


def _open_stream(source: Any, module: str) -> RowSource:
    import pyarrow as pa

    name = f"{module.lstrip('_')} {type(source).__name__}"
    once = not isinstance(source, (pa.Table, pa.RecordBatch))  # others may lend their rows once
    reader = pa.RecordBatchReader.from_stream(source)

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        for batch in reader if once else pa.RecordBatchReader.from_stream(source):
            yield from _batched([batch.column(p) for p in positions])

    names = tuple(reader.schema.names)
    return RowSource(source=name, names=names, kind="typed", format=name, stream=stream, first_row=0, again=not once)


def _open_records(records: list[Any], choice: Choice) -> RowSource:
    if records and all(isinstance(record, Mapping) for record in records):
        names = list(dict.fromkeys(key for record in records for key in record))
        return _open_columns("list of dicts", names, {key: [record.get(key) for record in records] for key in names})
    roles = choice.columns or VOTE_ROLES
    for row, record in enumerate(records):
        if isinstance(record, (str, bytes)) or not isinstance(record, Sequence) or len(record) != len(roles):
            raise DataError(f"list of votes, row {row}: {record!r} is not ({', '.join(roles)}).")
    columns = [[record[p] for record in records] for p in range(len(roles))]
    rows = _open_columns("list of votes", list(roles), dict(zip(roles, columns, strict=True)))
    return replace(rows, named=choice.columns is None)


def _column(values: Any, source: str, name: str) -> Column:
    """A column as Arrow if its values share one plain type, else as coded Python values."""
    import pyarrow as pa

    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    dtype = getattr(values, "dtype", None)
    if dtype is not None and not str(dtype).startswith(("object", "Object", "period", "interval")):  # not as numbers
        with contextlib.suppress(pa.ArrowException, UnicodeEncodeError):  # such as categories of several types
            if isinstance(values, np.ndarray):
                return pa.array(values.tolist() if dtype.kind in "US" else values, from_pandas=True)
            return values.to_arrow() if hasattr(values, "to_arrow") else pa.array(values, from_pandas=True)
    cells = values.to_list() if hasattr(values, "to_list") else list(values)
    kinds = {kind for kind in set(map(type, cells)) if kind is not type(None)}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        try:
            return pa.array(cells, from_pandas=True)
        except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
            pass  # integers beyond 64 bits, or text that is not Unicode
    return coded(cells, source, name)


def coded(cells: Iterable[Any], source: str, name: str) -> Objects:
    """Codes of Python values by kind: 1 and 1.0 are one value, "1" and True others.

    >>> coded([1, "1", 1.0, True, None], "dict of columns", "label").code_n.tolist()
    [0, 1, 0, 2, -1]
    """
    codes: dict[Any, int] = {}
    values: list[Any] = []
    code_n = []
    for row, cell in enumerate(cells):
        value = cell.item() if isinstance(cell, np.generic) else cell
        if value is None:
            code_n.append(-1)
            continue
        if isinstance(value, str) and not _is_unicode(value):
            raise DataError(
                f"{source}, row {row}, column {name!r}: {value!r} holds half a character (a lone surrogate) and cannot "
                "be encoded. Decode the text with the encoding it was written in."
            )
        try:
            code = codes.setdefault(kind_key(value), len(values))
        except TypeError:
            raise DataError(
                f"{source}, row {row}, column {name!r}: {value!r} is a {type(value).__name__}, not a single value. "
                "Give one row per vote."
            ) from None
        if code == len(values):
            values.append(value)
        code_n.append(code)
    return Objects(np.array(code_n, dtype=np.int32), tuple(values))


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def _batched(columns: list[Column]) -> Iterator[list[Column]]:
    """Columns of equal length, in batches of plain arrays."""
    for start in range(0, column_length(columns[0]), BATCH_ROWS):
        yield [_slice(column, start) for column in columns]


def _slice(column: Column, start: int) -> Column:
    if isinstance(column, Objects):
        return Objects(column.code_n[start : start + BATCH_ROWS], column.values)
    return plain(column.slice(start, BATCH_ROWS))
