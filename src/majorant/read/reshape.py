"""Tables that are not a row per vote, made so: a column per worker, items of two columns, several labels a cell.

What the folders of a file say of all its rows becomes columns as well.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.read.columns import ALIASES, JUDGES, ROW_NAMES, Choice, bare_word, find_roles, means
from majorant.read.formats.base import TableFormat
from majorant.read.frames import coded
from majorant.read.options import MAX_CLASSES
from majorant.read.table import (
    Column,
    Objects,
    Plain,
    RowSource,
    Table,
    TableRows,
    column_length,
    numpy_view,
    plain,
)
from majorant.read.values import cell_values, is_empty, loads, sort_labels
from majorant.votes import Note

SAMPLED_ROWS = 2_000
FEW_LABELS = 20  # more different values than that, half as many as rows, are no labels
COVARIATES = frozenset((
    "age", "sex", "gender", "race", "ethnicity", "site", "center", "centre", "group", "arm", "treatment", "condition",
    "date", "time", "timestamp", "year", "month", "day", "batch", "split", "language", "lang", "country", "city",
    "weight", "height", "bmi", "length", "tokens", "cost", "latency", "comment", "comments", "note", "notes", "text",
    "prompt", "response", "input", "output", "url", "source", "category", "topic", "difficulty", "seed", "index",
))  # fmt: skip
JOINED_BY = " | "
SUBJECT = frozenset(["model", "modelname", "system", "candidate", "provider"])
LABEL_SIGNS = ("|", ";", ",")  # between the labels of a cell
YES, NO = "yes", "no"
LABEL_SLICE = "label"  # what the column of labels is called among the slices


@dataclass(frozen=True, slots=True)
class Wide:
    """How a wide table is read: where the item, gold and slice stand, and the columns of the workers."""

    roles: dict[str, int]
    workers: tuple[int, ...]
    notes: tuple[Note, ...] = ()


def read_wide(rows: RowSource, choice: Choice, workers: Sequence[str] | None) -> Wide:
    """The columns of the workers: those that match a name or pattern, else all; what looks like no votes is refused."""
    if not rows.named:
        raise ConfigError("wide=True needs a header with the names of the workers; columns= does not go with it.")
    if choice.named.get("worker") or choice.named.get("label"):
        raise ConfigError("worker= and label= are for a row per vote. Of a wide table, name the columns: workers=.")
    roles = _roles(rows, choice)
    free = [p for p in range(len(rows.names)) if p not in roles.values()]
    if workers is not None:
        return Wide(roles, tuple(_matching(rows, free, workers)))
    free = [p for p in free if p or rows.names[p] != ROW_NAMES]
    if rows.again:
        odd = _odd_columns(rows, free)
        if odd:
            raise DataError(f"{rows.source}: {_listed(rows, odd)}. {_flag(rows, [p for p in free if p not in odd])}")
    return Wide(roles, tuple(free))


def detect_wide(rows: RowSource, choice: Choice) -> Wide | None:
    """A wide table that nobody called one: two columns or more share a few labels, and a row is an item.

    Where other columns stand beside them, the error says which ones to name; None where nothing looks like workers.
    """
    if not rows.named or not rows.again or choice.named.get("worker") or choice.named.get("label"):
        return None
    roles = _roles(rows, choice)
    free = [p for p in range(len(rows.names)) if p not in roles.values() and (p or rows.names[p] != ROW_NAMES)]
    if len(free) < 2:
        return None
    odd = _odd_columns(rows, free)
    left = [p for p in free if p not in odd]
    if len(left) < 2 or _repeats(_sampled(rows, [roles["item"]])[0]):
        return None
    if odd:
        raise DataError(
            f"{rows.source} looks like a wide table, a column per worker, but {_listed(rows, odd)}. {_flag(rows, left)}"
        )
    shown = ", ".join(repr(rows.names[p]) for p in left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
    text = f"Read as a wide table, a row per item and a column per worker: {shown}. Otherwise say worker= and label=."
    return Wide(roles, tuple(left), (Note("wide", text),))


def _roles(rows: RowSource, choice: Choice) -> dict[str, int]:
    """The item column (named, found by its name, or the first), the gold column (by name) and that of slices."""
    named = {role: word for role, word in choice.named.items() if role in ("item", "gold", "slice")}
    if "item" not in named:
        called = [name for name in rows.names if means(name, "item")]
        named["item"] = called[0] if len(called) == 1 else rows.names[0] if rows.names else ""
    for role in ALIASES:
        if role not in named and role != "gold":
            named[role] = ""
    return find_roles(rows.names, Choice(named=named, needed=("item",)), rows.source)


def _matching(rows: RowSource, free: Sequence[int], patterns: Sequence[str]) -> list[int]:
    positions: dict[int, None] = {}
    for pattern in patterns:
        hits = [p for p in free if fnmatchcase(rows.names[p], pattern)]
        if not hits:
            listed = ", ".join(repr(name) for name in rows.names[:12])
            raise ConfigError(f"{rows.source}: workers={pattern!r} matches no column. Its columns are {listed}.")
        positions.update(dict.fromkeys(hits))
    return sorted(positions)


def _sampled(rows: RowSource, positions: Sequence[int]) -> list[list[Any]]:
    """The first values of some columns, nothing where a cell is empty."""
    columns = next(iter(rows.stream(positions, 0)), None)
    if columns is None:
        return [[] for _ in positions]
    sampled = (cell_values(column, rows.kind, SAMPLED_ROWS) for column in columns)
    return [[None if _is_blank(value) else value for value in values] for values in sampled]


def _is_blank(value: Any) -> bool:
    """Empty, or a text that stands for nothing."""
    return is_empty(value) or (isinstance(value, str) and value.strip() in ("NA", "NaN", "."))


def _odd_columns(rows: RowSource, free: Sequence[int]) -> dict[int, str]:
    """The columns that do not look like a worker's votes, and why."""
    if not free:
        return {}
    columns = dict(zip(free, _sampled(rows, free), strict=True))
    odd: dict[int, str] = {}
    labels: dict[int, set[str]] = {}
    for p, values in columns.items():
        given = [value for value in values if value is not None]
        if any(isinstance(value, (list, dict)) for value in given):
            odd[p] = "holds lists"
            continue
        labels[p] = {str(value) for value in given}
        n_labels, name = len(labels[p]), re.sub(r"[\W_]+", "", rows.names[p]).casefold()
        if name in COVARIATES:
            odd[p] = "is about the item, by its name"
        elif n_labels > FEW_LABELS and n_labels > len(given) / 2:
            odd[p] = f"has {n_labels:,} different values in {len(given):,} rows"
    for p in [p for p in labels if p not in odd and labels[p]]:
        others: set[str] = set().union(*(labels[q] for q in labels if q != p and q not in odd))
        if not labels[p] & others and len(labels) > 1:
            odd[p] = "has no value in common with the other columns"
    return odd


def _repeats(values: Sequence[Any]) -> bool:
    given = [str(value) for value in values if value is not None]
    return len(set(given)) < len(given)


def _listed(rows: RowSource, odd: Mapping[int, str], most: int = 4) -> str:
    shown = [f"{rows.names[p]!r} {why}" for p, why in list(odd.items())[:most]]
    more = f", and {len(odd) - most} more columns do not look like votes" if len(odd) > most else ""
    return ", ".join(shown) + more


def _flag(rows: RowSource, left: Sequence[int]) -> str:
    names = ",".join(rows.names[p] for p in left)
    shown = names if left and len(names) <= 120 and "," not in "".join(rows.names[p] for p in left) else "Dr_*"
    return f"Say which columns are the workers': workers={shown!r}; workers='*' takes them all."


def wide_parts(rows: RowSource, wide: Wide) -> Iterator[TableRows]:
    """One part per batch; an empty cell is no vote and no declared voter, an item without votes is still declared."""
    import pyarrow as pa

    roles, workers = wide.roles, wide.workers
    _refuse_workers(rows, [rows.names[p] for p in workers])
    names = pa.array([rows.names[p] for p in workers], pa.large_string())
    if rows.kind == "json":
        names = pa.array(['"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names.to_pylist()])
    first = rows.first_row
    for columns in rows.stream([*roles.values(), *workers], 0):
        head, cells = columns[: len(roles)], columns[len(roles) :]
        part = _part(rows, dict(zip(roles, head, strict=True)), cells, names, first)
        first += column_length(cells[0])
        yield part


def _refuse_workers(rows: RowSource, names: Sequence[str]) -> None:
    if not names:
        raise DataError(f"{rows.source}: a wide table needs a column per worker beside the item.")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise DataError(f"{rows.source}: two columns are named {twice[0]!r}. Give each worker one column.")
    if "" in names:
        raise DataError(f"{rows.source}: a column without a name. Name every worker's column.")


def _part(rows: RowSource, head: dict[str, Plain], cells: list[Plain], names: Any, first: int) -> TableRows:
    labels = _interleave(cells, rows)
    filled = np.flatnonzero(_filled(labels, json=rows.kind == "json"))
    row_n, worker_n = np.divmod(filled, len(cells))
    columns: dict[str, Plain] = {"item": _take(head["item"], row_n)}
    columns["worker"] = _take(names, worker_n)
    columns["label"] = _take(labels, filled)
    declared: dict[str, Plain] = {**head, "worker": names}
    return TableRows(
        source=rows.source, unit=rows.unit, first_row=first, n_rows=len(filled), columns=columns,
        row_n=row_n + first, declared=declared,
    )  # fmt: skip


def _interleave(cells: list[Plain], rows: RowSource) -> Plain:
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


def _filled(labels: Plain, *, json: bool) -> NDArray[np.bool_]:
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


def _take(column: Plain, index_n: NDArray[np.intp]) -> Plain:
    import pyarrow as pa

    if isinstance(column, Objects):
        return Objects(column.code_n[index_n], column.values)
    return plain(column).take(pa.array(index_n))


def open_matrix(matrix: Any, items: Sequence[Any] | None, workers: Sequence[Any] | None) -> Table:
    """A table from an array or frame of items x workers; NaN, None, -1 and "" are no votes."""
    cells, items, workers = _cells(matrix, items, workers)
    n_items, n_workers = cells.shape
    if not cells.size:
        raise DataError(f"matrix: has shape {cells.shape}; at least one item and one worker are needed.")
    for what, names, n in (("items", items, n_items), ("workers", workers, n_workers)):
        if len(names) != n:
            raise ConfigError(f"{what}: {len(names)} names for {n} {what} of the matrix.")
        if len(set(names)) < n:
            raise DataError(f"{what}: {next(x for x in names if list(names).count(x) > 1)!r} stands there twice.")
    item_names, worker_names = coded(items, "matrix", "item"), coded(workers, "matrix", "worker")
    filled = np.flatnonzero(_voted(cells).ravel())
    row_n, column_n = np.divmod(filled, n_workers)
    part = TableRows(
        source="matrix", unit="row", first_row=0, n_rows=len(filled), row_n=row_n,
        columns={
            "item": _take(item_names, row_n),
            "worker": _take(worker_names, column_n),
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
    if type(matrix).__module__.split(".")[0] == "pandas":
        items = list(matrix.index) if items is None else items
        workers = list(matrix.columns) if workers is None else workers
    elif type(matrix).__module__.split(".")[0] == "polars":
        workers = list(matrix.columns) if workers is None else workers
    if isinstance(matrix, (list, tuple)):
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


def _label_values(labels: NDArray[Any]) -> Plain:
    """Labels as the user's values; whole numbers that only a NaN elsewhere made floats are integers again."""
    import pyarrow as pa

    if labels.dtype.kind == "f" and (labels == np.floor(labels)).all() and (np.abs(labels) < 2**53).all():
        labels = labels.astype(np.int64)
    if labels.dtype.kind in "OUS":
        values = labels.tolist()
        whole = all(isinstance(v, float) and v.is_integer() for v in values)
        return coded([int(v) for v in values] if whole else values, "matrix", "label")
    return pa.array(labels)


def judged_subject(rows: RowSource, roles: dict[str, int], choice: Choice) -> int | None:
    """The column of the model that is judged, where a judge labels an item once for each of several models.

    It is looked for in the first rows, and only where neither the item nor the worker was named by the caller.
    """
    if (
        {"item", "worker"} & choice.named.keys()
        or not rows.again
        or bare_word(rows.names[roles["worker"]]) not in JUDGES
    ):
        return None
    free = [p for p in range(len(rows.names)) if p not in roles.values() and bare_word(rows.names[p]) in SUBJECT]
    if len(free) != 1:
        return None
    seen: dict[tuple[Any, Any], Any] = {}
    columns = next(iter(rows.stream([roles["item"], roles["worker"], free[0]], 0)), None)
    for item, worker, subject in zip(*map(cell_values, columns), strict=True) if columns is not None else ():
        if seen.setdefault((item, worker), subject) != subject:
            return free[0]
    return None


def join_items(rows: RowSource, positions: Sequence[int]) -> tuple[RowSource, int]:
    """The rows with one more column, in which some columns are joined, and its position."""
    name = " and ".join(rows.names[p] for p in positions)

    def stream(wanted: Sequence[int], _: int) -> Iterator[list[Column]]:
        own = [p for p in wanted if p < len(rows.names)]
        for columns in rows.stream([*own, *positions], 0):
            given = dict(zip(own, columns, strict=False))
            joined = _join([cell_values(column) for column in columns[len(own) :]], rows.kind)
            yield [given.get(p, joined) for p in wanted]

    return replace(rows, names=(*rows.names, name), stream=stream, coded=None), len(rows.names)


def with_answers(rows: RowSource, label: int, tool: TableFormat) -> RowSource:
    """The rows of a table whose cells of labels may hold JSON, with the answer in each."""

    def said(cell: Any) -> Any:
        if cell is None or tool.answer is None:
            return cell
        try:
            answer = tool.answer(cell)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise DataError(
                f"{rows.source}, column {rows.names[label]!r}: {cell[:60]!r} is no single answer ({error}). Export the "
                "project as JSON, or give a table with a column per question."
            ) from None
        return answer if isinstance(answer, str) else json.dumps(answer)

    def stream(wanted: Sequence[int], hashed: int) -> Iterator[list[Column]]:
        import pyarrow as pa

        for columns in rows.stream(wanted, hashed):
            yield [
                pa.array([said(cell) for cell in cell_values(column)], pa.large_string()) if place == label else column
                for place, column in zip(wanted, columns, strict=True)
            ]

    return replace(rows, stream=stream, coded=None)


def joined_note(rows: RowSource, subject: int) -> Note:
    """What was done, and how to undo it."""
    name = rows.names[subject]
    return Note(
        "joined-items",
        f"Judges label an item once per {name}, so an item is a question with its {name}. Otherwise say item='NAME'.",
    )


def _join(columns: Sequence[list[Any]], kind: str) -> Any:
    import pyarrow as pa

    def text(value: Any) -> str:
        return str(loads(value)) if kind == "json" else str(value)

    rows = zip(*columns, strict=True)
    joined = [None if None in row else JOINED_BY.join(map(text, row)) for row in rows]
    if kind == "json":
        joined = [None if name is None else json.dumps(name) for name in joined]
    return pa.array(joined, pa.large_string())


def with_partitions(rows: RowSource, values: Mapping[str, str | None]) -> RowSource:
    """The rows with a column for each partition that is not a column already."""
    own = {name: value for name, value in values.items() if name not in rows.names}
    if not own or not rows.named:
        return rows
    n_own = len(rows.names)
    cells = [json.dumps(v) if rows.kind == "json" and v is not None else v for v in own.values()]

    def stream(positions: Sequence[int], hashed: int) -> Iterator[list[Column]]:
        import pyarrow as pa

        inner = [p for p in positions if p < n_own] or [0]
        as_before = hashed if all(p < n_own for p in positions) else 0
        for columns in rows.stream(inner, as_before):
            given = dict(zip(inner, columns, strict=True))
            n_rows = column_length(columns[0])
            yield [
                given[p] if p < n_own else pa.array([cells[p - n_own]] * n_rows, pa.large_string()) for p in positions
            ]

    return replace(rows, names=(*rows.names, *own), stream=stream, coded=None)


def labels_in(cell: Any) -> list[Any] | None:
    """The labels in a cell, none where nothing stands: a list, a list written as JSON, or text with signs between.

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
    sign = next((sign for sign in LABEL_SIGNS if sign in cell), None)
    return [cell.strip()] if sign is None else [part.strip() for part in cell.split(sign) if part.strip()]


def written_list(text: str) -> list[Any] | None:
    """A list written as JSON or as Python writes lists of text; None for any other text.

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
    """The rows with one row for each label that anybody gave: item and label, worker, yes or no, and the label."""
    if not rows.again:
        raise ConfigError("several=True looks at the votes twice. Give a table, or write the votes to a file first.")
    if "slice" in roles:
        raise ConfigError("several=True gives a verdict for each label, so by= has no place. Leave it out.")
    vocabulary = _vocabulary(rows, roles)
    kept = [role for role in roles if role not in ("label", "gold")]
    names = (*(rows.names[roles[role]] for role in kept), rows.names[roles["label"]], LABEL_SLICE, "gold")
    split_roles = {role: place for place, role in enumerate([*kept, "label", "slice"])}
    if "gold" in roles:
        split_roles["gold"] = len(names) - 1
    order = [roles[role] for role in kept] + [roles["label"]] + ([roles["gold"]] if "gold" in roles else [])

    def stream(positions: Sequence[int], _: int) -> Iterator[list[Column]]:
        for columns in rows.stream(order, 0):
            cells = [cell_values(column, rows.kind) for column in columns]
            gold = [labels_in(cell) for cell in cells[-1]] if "gold" in roles else None
            chosen = [labels_in(cell) for cell in cells[len(kept)]]
            yield _expanded(dict(zip(kept, cells, strict=False)), chosen, gold, vocabulary, positions)

    spelt = f"{rows.format}, {len(vocabulary)} labels each yes or no"
    return replace(rows, names=names, stream=stream, coded=None, format=spelt, kind="typed", unit="answer"), split_roles


def _vocabulary(rows: RowSource, roles: dict[str, int]) -> list[Any]:
    labels_seen: dict[Any, None] = {}
    for (column,) in rows.stream([roles["label"]], 0):
        for cell in set(cell_values(column)) if rows.kind != "typed" else cell_values(column):
            labels = labels_in(loads(cell) if rows.kind == "json" and cell is not None else cell) or ()
            if odd := [label for label in labels if isinstance(label, (dict, list))]:
                raise DataError(
                    f"{rows.source}: {str(odd[0])[:60]} among the labels of an item is no label. Give text or numbers."
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
