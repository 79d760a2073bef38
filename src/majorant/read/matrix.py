"""Votes from a matrix of items x workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.read.table import Column, Table, TableRows, coded, is_empty, take_rows


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
    given = [not is_empty(cell) and (isinstance(cell, (bool, str)) or cell != -1) for cell in cells.ravel().tolist()]
    return np.array(given, dtype=bool).reshape(cells.shape)


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
