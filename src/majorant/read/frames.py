"""Tables in memory: pandas, polars, pyarrow and DuckDB frames, dicts, lists and matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.read.options import VOTE_ROLES, Choice
from majorant.read.roles import means
from majorant.read.table import (
    Column,
    RowSource,
    Table,
    TableRows,
    coded,
    in_batches,
    is_empty,
    open_columns,
    take_rows,
)


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
        return open_columns(f"{module} {type(source).__name__}", list(source.columns), source)
    if hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source, module)
    if isinstance(source, Mapping):
        return _open_mapping(source)
    if isinstance(source, np.ndarray):
        return open_columns("NumPy array", list(source.dtype.names or ()), source)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _open_records(list(source), choice)
    raise ConfigError(
        f"cannot read votes from {type(source).__name__}. Give a file name, a pandas, polars, pyarrow or DuckDB table, "
        "a dict of columns, or a list of (item, worker, label)."
    )


def _module(source: Any) -> str:
    return type(source).__module__.split(".")[0]


def _with_index(frame: Any, choice: Choice) -> Any:
    """Turn index levels into columns if the caller named them or they fill a role that no column has."""
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


def _open_mapping(source: Mapping[Any, Any]) -> RowSource:
    """A dict of columns, or of items: {item: {worker: label}}."""
    if not source or not all(isinstance(value, Mapping) for value in source.values()):
        return open_columns("dict of columns", list(source), source)
    if all(any(means(str(key), role) for key in source) for role in VOTE_ROLES):  # pandas: frame.to_dict()
        return open_columns(
            "dict of columns", list(source), {key: list(cells.values()) for key, cells in source.items()}
        )
    votes = [(item, worker, label) for item, given in source.items() for worker, label in given.items()]
    columns = dict(zip(VOTE_ROLES, map(list, zip(*votes, strict=True)), strict=True)) if votes else {}
    return open_columns("dict of items", list(columns), columns)


def _open_stream(source: Any, module: str) -> RowSource:
    import pyarrow as pa

    name = f"{module.lstrip('_')} {type(source).__name__}"
    once = not isinstance(source, (pa.Table, pa.RecordBatch))  # other objects may be iterable only once
    reader = pa.RecordBatchReader.from_stream(source)

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        for batch in reader if once else pa.RecordBatchReader.from_stream(source):
            yield from in_batches([batch.column(p) for p in positions])

    names = tuple(reader.schema.names)
    return RowSource(source=name, names=names, kind="typed", format=name, stream=stream, first_row=0, again=not once)


def _open_records(records: list[Any], choice: Choice) -> RowSource:
    if records and all(isinstance(record, Mapping) for record in records):
        names = list(dict.fromkeys(key for record in records for key in record))
        return open_columns("list of dicts", names, {key: [record.get(key) for record in records] for key in names})
    roles = choice.columns or VOTE_ROLES
    for row, record in enumerate(records):
        if isinstance(record, (str, bytes)) or not isinstance(record, Sequence) or len(record) != len(roles):
            raise DataError(f"list of votes, row {row}: {record!r} is not ({', '.join(roles)}).")
    columns = [[record[p] for record in records] for p in range(len(roles))]
    rows = open_columns("list of votes", list(roles), dict(zip(roles, columns, strict=True)))
    return replace(rows, named=choice.columns is None)


def open_matrix(matrix: Any, items: Sequence[Any] | None, workers: Sequence[Any] | None) -> Table:
    """A table from a matrix of items x workers; NaN, None, -1 and "" are not votes."""
    cells, items, workers = _cells(matrix, items, workers)
    n_items, n_workers = cells.shape
    if not cells.size:
        raise DataError(f"matrix: has shape {cells.shape}; at least one item and one worker are needed.")
    for what, names, n in (("items", items, n_items), ("workers", workers, n_workers)):
        if len(names) != n:
            raise ConfigError(f"{what}: {len(names)} names for {n} {what} of the matrix.")
        if len(set(names)) < n:
            raise DataError(f"{what}: {next(x for x in names if list(names).count(x) > 1)!r} is there twice.")
    item_names, worker_names = coded(items, "matrix", "item"), coded(workers, "matrix", "worker")
    filled = np.flatnonzero(_voted(cells).ravel())
    row_n, column_n = np.divmod(filled, n_workers)
    part = TableRows(
        source="matrix", unit="row", first_row=0, n_rows=len(filled), row_n=row_n,
        columns={
            "item": take_rows(item_names, row_n),
            "worker": take_rows(worker_names, column_n),
            "label": _label_values(cells.ravel()[filled]),
        },
        declared={"item": item_names, "worker": worker_names},
    )  # fmt: skip
    return Table(
        source="matrix", kind="typed", format=f"matrix, {n_items} items x {n_workers} workers",
        columns={"item": "rows", "worker": "columns", "label": "entries"}, ignored=(), parts=iter([part]),
    )  # fmt: skip


def _cells(
    matrix: Any, items: Sequence[Any] | None, workers: Sequence[Any] | None
) -> tuple[NDArray[Any], Sequence[Any], Sequence[Any]]:
    if type(matrix).__module__.split(".")[0] == "pandas" and hasattr(matrix, "columns"):
        items = list(matrix.index) if items is None else items
        workers = list(matrix.columns) if workers is None else workers
    elif type(matrix).__module__.split(".")[0] == "polars":
        workers = list(matrix.columns) if workers is None else workers
    if isinstance(matrix, (list, tuple)) and all(hasattr(row, "__len__") for row in matrix):
        widths = {len(row) for row in matrix}
        if len(widths) > 1:
            raise DataError(f"matrix: rows have {min(widths)} to {max(widths)} entries. Fill missing votes with None.")
        cells = np.empty((len(matrix), widths.pop() if widths else 0), dtype=object)
        for row, values in enumerate(matrix):
            cells[row] = list(values)  # through np.array, [1, "a"] would become text
    else:
        cells = np.asarray(matrix)
    if cells.ndim != 2:
        raise ConfigError(f"matrix: must have two axes, items x workers, not shape {cells.shape}.")
    return (
        cells,
        list(range(cells.shape[0])) if items is None else list(items),
        list(range(cells.shape[1])) if workers is None else list(workers),
    )


def _voted(cells: NDArray[Any]) -> NDArray[np.bool_]:
    if cells.dtype.kind in "f":
        return np.asarray(~np.isnan(cells) & (cells != -1))
    if cells.dtype.kind in "i":
        return np.asarray(cells != -1)
    if cells.dtype.kind in "ub":
        return np.ones(cells.shape, dtype=bool)
    return np.array([[_is_vote(cell) for cell in row] for row in cells.tolist()], dtype=bool).reshape(cells.shape)


def _is_vote(cell: Any) -> bool:
    return not is_empty(cell) and (isinstance(cell, (bool, str)) or cell != -1)


def _label_values(labels: NDArray[Any]) -> Column:
    """Labels as the user's values; whole numbers that became floats beside a NaN are integers again."""
    import pyarrow as pa

    if labels.dtype.kind == "f" and (labels == np.floor(labels)).all() and (np.abs(labels) < 2**53).all():
        labels = labels.astype(np.int64)
    if labels.dtype.kind in "OUS":
        values = labels.tolist()
        whole = all(isinstance(v, float) and v.is_integer() for v in values)
        return coded([int(v) for v in values] if whole else values, "matrix", "label")
    return pa.array(labels)
