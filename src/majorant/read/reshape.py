"""Turn other layouts into a row per vote: a column per worker, items of several columns, several labels per cell."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.read.formats.base import TableFormat
from majorant.read.frames import coded
from majorant.read.options import MAX_CLASSES
from majorant.read.table import (
    Column,
    Objects,
    RowSource,
    Table,
    TableRows,
    column_length,
    dictionary_codes,
    header_rows,
    numpy_view,
    plain,
    take_rows,
)
from majorant.read.values import cell_values, is_empty, loads, sort_labels

JOINED_BY = " | "
YES, NO = "yes", "no"


def wide_parts(
    rows: RowSource, roles: Mapping[str, int], workers: Sequence[int], skipped: Counter[str]
) -> Iterator[TableRows]:
    """The filled cells of a wide table as votes; items without votes are still declared."""
    import pyarrow as pa

    _refuse_workers(rows, [rows.names[p] for p in workers])
    names = pa.array([rows.names[p] for p in workers], pa.large_string())
    if rows.kind == "json":
        names = pa.array(['"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names.to_pylist()])
    first, positions = rows.first_row, [*roles.values(), *workers]
    for columns in rows.stream(positions):
        row_n = np.arange(column_length(columns[0]))
        if rows.kind != "json" and len(headers := header_rows(columns, [rows.names[p] for p in positions])):
            row_n = np.delete(row_n, headers)
            columns = [take_rows(column, row_n) for column in columns]
            skipped["headers"] += len(headers)
        head, cells = columns[: len(roles)], columns[len(roles) :]
        yield _part(rows, dict(zip(roles, head, strict=True)), cells, names, row_n + first)
        first += len(row_n) + (len(headers) if rows.kind != "json" else 0)


def _refuse_workers(rows: RowSource, names: Sequence[str]) -> None:
    if not names:
        raise DataError(f"{rows.source}: a wide table needs a column per worker beside the item.")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise DataError(f"{rows.source}: two columns are named {twice[0]!r}. Give each worker one column.")
    if "" in names:
        raise DataError(f"{rows.source}: a column without a name. Name every worker's column.")


def _part(
    rows: RowSource, head: dict[str, Column], cells: list[Column], names: Any, number_m: NDArray[np.int64]
) -> TableRows:
    labels = _interleave(cells, rows)
    filled = np.flatnonzero(_filled(labels, json=rows.kind == "json"))
    row_n, worker_n = np.divmod(filled, len(cells))
    columns: dict[str, Column] = {"item": take_rows(head["item"], row_n)}
    columns["worker"] = take_rows(names, worker_n)
    columns["label"] = take_rows(labels, filled)
    declared: dict[str, Column] = {**head, "worker": names}
    return TableRows(
        source=rows.source, unit=rows.unit, first_row=rows.first_row if not len(number_m) else int(number_m[0]),
        n_rows=len(filled), columns=columns, row_n=number_m[row_n], declared=declared,
    )  # fmt: skip


def _interleave(cells: list[Column], rows: RowSource) -> Column:
    """All cells row by row."""
    import pyarrow as pa

    arrays = [cell for cell in cells if not isinstance(cell, Objects)]
    if len(arrays) == len(cells):
        arrays = [plain(array) for array in arrays]
        kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
        if len(kinds) <= 1:
            kind = next(iter(kinds), pa.large_string())
            arrays = [array.cast(kind) if array.type != kind else array for array in arrays]
            n_rows = len(arrays[0])
            order = np.arange(n_rows * len(arrays)).reshape(len(arrays), n_rows).T.ravel()
            return pa.concat_arrays(arrays).take(pa.array(order))
    lists = [cell_values(cell) for cell in cells]
    flat = [value for row in zip(*lists, strict=True) for value in row]
    return coded(flat, rows.source, "label")


def _filled(labels: Column, *, json: bool) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(labels, Objects):
        return np.array([*(not is_empty(value) for value in labels.values), False])[labels.code_n]
    filled = pc.is_valid(labels)
    if pa.types.is_floating(labels.type):
        filled = pc.and_(filled, pc.invert(pc.fill_null(pc.is_nan(labels), True)))
    elif pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type):
        bare = pc.utf8_trim_whitespace(labels)
        filled = pc.and_(pc.not_equal(bare, ""), pc.not_equal(bare, '""' if json else ""))
        filled = pc.fill_null(filled, False)
    return numpy_view(filled, np.bool_)


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


def join_columns(rows: RowSource, positions: Sequence[int], name: str) -> RowSource:
    """The rows with one more column, in which the texts of some columns are joined."""

    def stream(wanted: Sequence[int]) -> Iterator[list[Column]]:
        needed = list(dict.fromkeys([*(p for p in wanted if p < len(rows.names)), *positions]))
        for columns in rows.stream(needed):
            given = dict(zip(needed, columns, strict=True))
            joined = _join([given[p] for p in positions], rows.kind) if len(rows.names) in wanted else None
            yield [given.get(p, joined) for p in wanted]

    return replace(rows, names=(*rows.names, name), stream=stream)


def join_key(parts: Sequence[Any]) -> str:
    """The name of an item that several columns name together; different parts give different names.

    >>> join_key(["q1", "gpt-4o"]), join_key(["a|b", 2])
    ('q1 | gpt-4o', 'a||b | 2')
    """
    return JOINED_BY.join(str(part).replace("|", "||") for part in parts)


def split_key(name: str) -> tuple[str, ...]:
    """The parts of an item's name that several columns name together.

    >>> split_key("q1 | gpt-4o"), split_key("a||b | 2")
    (('q1', 'gpt-4o'), ('a|b', '2'))
    """
    return tuple(part.replace("||", "|") for part in re.split(r" (?<!\|)\|(?!\|) ", name))


def unwrap_answers(rows: RowSource, label: int, tool: TableFormat) -> RowSource:
    """Replace JSON in the label column of a tool's table by the answer that it holds."""

    def said(cell: Any) -> Any:
        if cell is None or tool.answer is None:
            return cell
        try:
            answer = tool.answer(cell)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(
                f"{rows.source}, column {rows.names[label]!r}: {cell[:60]!r} is not a single answer ({error}). Export "
                "the project as JSON, or give a table with a column per question."
            ) from None
        return answer if isinstance(answer, str) else json.dumps(answer)

    def stream(wanted: Sequence[int]) -> Iterator[list[Column]]:
        import pyarrow as pa

        for columns in rows.stream(wanted):
            yield [
                pa.array([said(cell) for cell in cell_values(column)], pa.large_string()) if place == label else column
                for place, column in zip(wanted, columns, strict=True)
            ]

    return replace(rows, stream=stream)


def _join(columns: Sequence[Column], kind: str) -> Any:
    """Texts joined row by row; each different value is turned into text once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = []
    for column in columns:
        if isinstance(column, Objects):
            code_n, values = column.code_n, list(column.values)
        else:
            encoded = plain(column).dictionary_encode()
            code_n, values = dictionary_codes(encoded), encoded.dictionary.to_pylist()
        known = [loads(value) if kind == "json" else value for value in values]
        spelt = [None if is_empty(value) else join_key([value]) for value in known]
        if kind == "json":
            spelt = [None if text is None else json.dumps(text)[1:-1] for text in spelt]
        codes = pa.array(np.maximum(code_n, 0), mask=code_n < 0)
        texts.append(pa.array(spelt, pa.large_string()).take(codes))
    between, quote, nothing = (pa.scalar(text, pa.large_string()) for text in (JOINED_BY, '"', ""))
    joined = pc.binary_join_element_wise(*texts, between)
    return pc.binary_join_element_wise(quote, joined, quote, nothing) if kind == "json" else joined


def add_constants(rows: RowSource, values: Mapping[str, str | None]) -> RowSource:
    """The rows with columns that hold one value each, unless there are such columns already."""
    own = {name: value for name, value in values.items() if name not in rows.names}
    if not own or not rows.named:
        return rows
    n_own = len(rows.names)
    cells = [json.dumps(v) if rows.kind == "json" and v is not None else v for v in own.values()]

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        import pyarrow as pa

        inner = [p for p in positions if p < n_own] or [0]
        for columns in rows.stream(inner):
            given = dict(zip(inner, columns, strict=True))
            n_rows = column_length(columns[0])
            yield [
                given[p] if p < n_own else pa.array([cells[p - n_own]] * n_rows, pa.large_string()) for p in positions
            ]

    return replace(rows, names=(*rows.names, *own), stream=stream)


def labels_in(cell: Any) -> list[Any] | None:
    """The labels in a cell: a list, a list written as JSON, or text with separators; None for an empty cell.

    >>> labels_in(["a", "b"]), labels_in('["a"]'), labels_in("a|b"), labels_in(""), labels_in([])
    (['a', 'b'], ['a'], ['a', 'b'], None, [])
    """
    if isinstance(cell, list):
        return cell
    if is_empty(cell):
        return None
    if not isinstance(cell, str):
        return [cell]
    if (found := written_list(cell)) is not None:
        return found
    sign = next((sign for sign in "|;," if sign in cell), None)
    return [cell.strip()] if sign is None else [part.strip() for part in cell.split(sign) if part.strip()]


def written_list(text: str) -> list[Any] | None:
    """A list written as JSON or as Python writes it; None for any other text.

    >>> written_list("['a', 'b']"), written_list("[a]")
    (['a', 'b'], None)
    """
    if not re.fullmatch(r"\s*\[.*\]\s*", text, re.DOTALL):
        return None
    for candidate in (text, text.replace("'", '"')):
        try:
            value = loads(candidate)
        except ValueError:
            continue
        return value if isinstance(value, list) else None
    return None


def split_labels(rows: RowSource, roles: dict[str, int]) -> tuple[RowSource, dict[str, int]]:
    """A row for each label that anybody gave: item and label, worker, yes or no, and the label."""
    if not rows.again:
        raise ConfigError("several=True reads the votes twice. Give a table, or write the votes to a file first.")
    if "slice" in roles:
        raise ConfigError("several=True gives a verdict for each label, so by= does not apply. Leave it out.")
    vocabulary = _vocabulary(rows, roles)
    kept = [role for role in roles if role not in ("label", "gold")]
    names = (*(rows.names[roles[role]] for role in kept), rows.names[roles["label"]], "label", "gold")
    split_roles = {role: place for place, role in enumerate([*kept, "label", "slice"])}
    if "gold" in roles:
        split_roles["gold"] = len(names) - 1
    order = [roles[role] for role in kept] + [roles["label"]] + ([roles["gold"]] if "gold" in roles else [])

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        for columns in rows.stream(order):
            cells = [cell_values(column, rows.kind) for column in columns]
            gold = [labels_in(cell) for cell in cells[-1]] if "gold" in roles else None
            chosen = [labels_in(cell) for cell in cells[len(kept)]]
            yield _expanded(dict(zip(kept, cells, strict=False)), chosen, gold, vocabulary, positions)

    spelt = f"{rows.format}, {len(vocabulary)} labels each yes or no"
    return replace(rows, names=names, stream=stream, format=spelt, kind="typed", unit="answer"), split_roles


def _vocabulary(rows: RowSource, roles: dict[str, int]) -> list[Any]:
    labels_seen: dict[Any, None] = {}
    for (column,) in rows.stream([roles["label"]]):
        for cell in set(cell_values(column)) if rows.kind != "typed" else cell_values(column):
            labels = labels_in(loads(cell) if rows.kind == "json" and cell is not None else cell) or ()
            if odd := [label for label in labels if isinstance(label, (dict, list))]:
                raise DataError(
                    f"{rows.source}: {str(odd[0])[:60]} among the labels of an item is not a label. Give text or "
                    "numbers."
                )
            labels_seen.update(dict.fromkeys(labels))
        if len(labels_seen) > MAX_CLASSES:
            raise DataError(f"{rows.source}: more than {MAX_CLASSES:,} different labels. Say which column with label=.")
    return sort_labels(labels_seen)


def _expanded(
    cells: dict[str, list[Any]], chosen: list[list[Any] | None], gold: list[list[Any] | None] | None,
    vocabulary: Sequence[Any], positions: Sequence[int],
) -> list[Column]:  # fmt: skip
    import pyarrow as pa

    columns: list[list[Any]] = [[] for _ in range(len(cells) + 3)]
    for n, labels in enumerate(chosen):
        truth = None if gold is None else gold[n]
        for label in vocabulary:
            for place, role in enumerate(cells):
                value = cells[role][n]
                columns[place].append(f"{value}{JOINED_BY}{label}" if role == "item" and value is not None else value)
            columns[-3].append(None if labels is None else YES if label in labels else NO)
            columns[-2].append(str(label))
            columns[-1].append(None if truth is None else YES if label in truth else NO)
    texts = ([None if value is None else str(value) for value in columns[p]] for p in positions)
    wanted = [pa.array(column, pa.large_string()) for column in texts]
    assert all(column_length(column) == len(columns[0]) for column in wanted)
    return wanted
