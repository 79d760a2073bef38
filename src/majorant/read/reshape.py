"""Convert other layouts to one row per vote.

These are tables with a column per worker or per item, votes inside cells, items named by several columns, and several
labels in a cell.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import MAX_CLASSES
from majorant.errors import ConfigError, DataError, use
from majorant.read.formats import recognise_table
from majorant.read.guess import WORKER_WORDS, find_other_columns, sample_columns
from majorant.read.options import (
    ALIASES,
    VOTE_ROLES,
    Choice,
    ReadOptions,
    candidate_roles,
    find_roles,
    name_words,
)
from majorant.read.table import (
    Column,
    Objects,
    RowSource,
    TableRows,
    cell_values,
    coded,
    column_length,
    dictionary_codes,
    drop_headers,
    is_empty,
    is_text,
    loads,
    numpy_view,
    open_columns,
    plain,
    sort_labels,
    take_rows,
    written_list,
)
from majorant.votes import Note, NoteKind

JOINED_BY = " | "


def wide_parts(
    rows: RowSource, roles: Mapping[str, int], workers: Sequence[int], skipped: Counter[str]
) -> Iterator[TableRows]:
    """The non-empty cells of a wide table as votes; items without votes are declared."""
    import pyarrow as pa

    called = [rows.names[p] for p in workers]
    if twice := [name for name, n in Counter(called).items() if n > 1]:
        raise DataError(f"{rows.source}: two columns are named {twice[0]!r}. Give each worker one column.")
    if "" in called:
        raise DataError(f"{rows.source}: a column without a name. Name every worker's column.")
    names = pa.array(map(json.dumps, called) if rows.kind == "json" else called, pa.large_string())
    first, positions = rows.first_row, [*roles.values(), *workers]
    for columns in rows.stream(positions):
        n_rows = column_length(columns[0])
        columns, number_m = drop_headers(rows, columns, positions)
        number_m = (np.arange(n_rows) if number_m is None else number_m) + first
        skipped["headers"] += n_rows - len(number_m)
        first += n_rows
        head, cells = dict(zip(roles, columns, strict=False)), columns[len(roles) :]
        labels = _interleave(cells, rows)
        filled = np.flatnonzero(_filled(labels, json=rows.kind == "json"))
        row_n, worker_n = np.divmod(filled, len(cells))
        yield TableRows(
            source=rows.source,
            unit=rows.unit,
            first_row=rows.first_row if not len(number_m) else int(number_m[0]),
            n_rows=len(filled),
            columns={
                "item": take_rows(head["item"], row_n),
                "worker": take_rows(names, worker_n),
                "label": take_rows(labels, filled),
            },
            row_n=number_m[row_n],
            declared={**head, "worker": names},
        )


def _interleave(cells: list[Column], rows: RowSource) -> Column:
    """All cells, row by row."""
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
    elif is_text(labels.type):
        bare = pc.utf8_trim_whitespace(labels)
        filled = pc.and_(pc.not_equal(bare, ""), pc.not_equal(bare, '""' if json else ""))
        filled = pc.fill_null(filled, False)
    return numpy_view(filled, np.bool_)


def join_columns(rows: RowSource, positions: Sequence[int], name: str) -> RowSource:
    """Add a column that joins the text of some columns."""

    return _add_column(rows, name, positions, lambda columns, _: _join(columns, rows.kind))


def add_constants(rows: RowSource, values: Mapping[str, str | None]) -> RowSource:
    """Add constant columns, unless the table already has columns with these names."""
    import pyarrow as pa

    for name, value in values.items() if rows.named else ():
        if name not in rows.names:
            cell = json.dumps(value) if rows.kind == "json" and value is not None else value
            rows = _add_column(rows, name, (), lambda _, n, cell=cell: pa.array([cell] * n, pa.large_string()))  # type: ignore[misc]
    return rows


def _add_column(
    rows: RowSource, name: str, positions: Sequence[int], make: Callable[[list[Column], int], Column]
) -> RowSource:
    """Add a column; `make` computes it from the columns at some positions and the number of rows."""
    own = len(rows.names)

    def stream(wanted: Sequence[int]) -> Iterator[list[Column]]:
        needed = list(dict.fromkeys([*(p for p in wanted if p < own), *positions])) or [0]
        for columns in rows.stream(needed):
            given = dict(zip(needed, columns, strict=True))
            if own in wanted:
                given[own] = make([given[p] for p in positions], column_length(columns[0]))
            yield [given[p] for p in wanted]

    return replace(rows, names=(*rows.names, name), stream=stream)


def join_key(parts: Sequence[Any]) -> str:
    """Join the parts of an item's name; different parts give different names.

    >>> join_key(["q1", "gpt-4o"]), join_key(["a|b", 2])
    ('q1 | gpt-4o', 'a||b | 2')
    """
    return JOINED_BY.join(str(part).replace("|", "||") for part in parts)


def split_key(name: str) -> tuple[str, ...]:
    """Split an item's name into its parts, the inverse of `join_key`.

    >>> split_key("q1 | gpt-4o"), split_key("a||b | 2")
    (('q1', 'gpt-4o'), ('a|b', '2'))
    """
    return tuple(part.replace("||", "|") for part in re.split(r" (?<!\|)\|(?!\|) ", name))


def unwrap_answers(rows: RowSource, label: int, decode: Callable[[str], Any]) -> RowSource:
    """Replace JSON in the label column of a tool's table by the answer inside."""

    def said(cell: Any) -> Any:
        if cell is None:
            return cell
        try:
            answer = decode(cell)
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
    """Join columns as text, row by row; each distinct value is converted to text once."""
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


def labels_in(cell: Any) -> list[Any] | None:
    """The labels in a cell: a list, a list as JSON, or text with separators; None for an empty cell.

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


def split_labels(rows: RowSource, roles: dict[str, int]) -> tuple[RowSource, dict[str, int]]:
    """Make one yes/no vote per item, worker and label."""
    if not rows.again:
        raise ConfigError(
            f"{use('several', True)} has to read the votes twice. Give a table, or write the votes to a file first."
        )
    if "slice" in roles:
        raise ConfigError(
            f"{use('several', True)} gives a verdict for each label, so {use('by')} does not apply. Leave it out."
        )
    vocabulary = _vocabulary(rows, roles)
    kept = [role for role in roles if role not in ("label", "gold")]
    names = (*(rows.names[roles[role]] for role in kept), rows.names[roles["label"]], "label", "gold")
    split_roles = {role: place for place, role in enumerate([*kept, "label", "slice", "gold"])}
    if "gold" not in roles:
        del split_roles["gold"]

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        import pyarrow as pa

        for columns in rows.stream([roles[role] for role in (*kept, "label", "gold") if role in roles]):
            cells: list[list[Any]] = [[] for _ in names]
            for row in zip(*(cell_values(column, rows.kind) for column in columns), strict=True):
                own = dict(zip(kept, row, strict=False))
                chosen, truth = labels_in(row[len(kept)]), labels_in(row[-1]) if "gold" in roles else None
                for label in vocabulary:
                    if own["item"] is not None:
                        own["item"] = f"{row[kept.index('item')]}{JOINED_BY}{label}"
                    said, gold = (
                        None if some is None else "yes" if label in some else "no" for some in (chosen, truth)
                    )
                    for place, cell in enumerate((*own.values(), said, label, gold)):
                        cells[place].append(None if cell is None else str(cell))
            yield [pa.array(cells[p], pa.large_string()) for p in positions]

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
            raise DataError(
                f"{rows.source}: more than {MAX_CLASSES:,} different labels. Say which column with {use('label')}."
            )
    return sort_labels(labels_seen)


def lay_out_votes(rows: RowSource, how: ReadOptions) -> RowSource:
    """Convert a table with nested votes, or with a row per worker, to votes; return any other table unchanged."""
    if not rows.named or not rows.names or not rows.again or how.wide or how.workers is not None or how.several:
        return rows
    if how.choice.needed != VOTE_ROLES or how.choice.columns is not None or recognise_table(rows.names) is not None:
        return rows
    by_name = candidate_roles(rows.names, Choice.of(), rows.source)
    if rows.kind == "text":
        return _lay_out_raters(rows, how) if not by_name.get("item") and not by_name.get("label") else rows
    return _lay_out_nested(rows, how) if not by_name.get("worker") else rows


def _lay_out_nested(rows: RowSource, how: ReadOptions) -> RowSource:
    """Votes inside cells: {"gpt-4o": "pass", ...}, or [{"judge": "gpt-4o", "verdict": "pass"}, ...]."""
    named = how.choice.named
    samples = [[x for x in cells if x is not None] for cells in rows.first_cells(range(len(rows.names)), 50)]
    nested = [p for p, values in enumerate(samples) if values and all(map(_holds_votes, values))]
    if len(nested) != 1:
        return rows
    outer = {**named, "worker": "", "label": ""}
    roles = find_roles(rows.names, replace(how.choice, named=outer, needed=("item",)), rows.source)
    kept = {role: p for role, p in roles.items() if p != nested[0]}
    inner = {role: word for role, word in named.items() if role in ("worker", "label")}
    table: dict[str, list[Any]] = {rows.names[p]: [] for p in kept.values()} | {"worker": [], "label": []}
    for batch in rows.stream([nested[0], *kept.values()]):
        cells, *others = (cell_values(column, rows.kind) for column in batch)
        for cell, *values in zip(cells, *others, strict=True):
            for worker, label in _votes_of(cell, inner, rows.source):
                for name, value in zip(table, (*values, worker, label), strict=True):
                    table[name].append(value)
    note = Note(NoteKind.NESTED, {"column": rows.names[nested[0]]})
    return _opened(table, rows, note)


def _holds_votes(cell: Any) -> bool:
    if isinstance(cell, list):
        return bool(cell) and all(isinstance(one, dict) for one in cell)
    return isinstance(cell, dict) and len(cell) > 1


def _votes_of(cell: Any, named: Mapping[str, Any], source: str) -> Iterator[tuple[Any, Any]]:
    """The worker and the label of each vote in a cell."""
    if isinstance(cell, list):
        names = list(dict.fromkeys(key for one in cell for key in one))
        roles = find_roles(names, Choice(named=named, needed=("worker", "label")), source)
        for one in cell:
            yield one.get(names[roles["worker"]]), one.get(names[roles["label"]])
        return
    for worker, label in (cell or {}).items():
        if isinstance(label, dict):  # {"gpt-4o": {"verdict": "pass", "reason": ...}}
            names = list(label)
            choice = Choice(named={**named, "worker": ""}, needed=("label",))
            label = label[names[find_roles(names, choice, source)["label"]]]
        yield worker, label


def _lay_out_raters(rows: RowSource, how: ReadOptions) -> RowSource:
    """The results of a form: one row per worker, one column per item."""
    if {"item", "label"} & {role for role, word in how.choice.named.items() if word}:
        return rows
    words = [set(name_words(name)) for name in rows.names]
    rater_words = set().union(*ALIASES["worker"][:2], ["email", "participant", "respondent"]) - {"user", "username"}
    raters = [p for p, some in enumerate(words) if some & rater_words]
    wanted = how.choice.named.get("worker")
    raters = [rows.names.index(str(wanted))] if wanted in rows.names else raters
    if len(raters) != 1:
        return rows
    free = [p for p in range(len(rows.names)) if p != raters[0]]
    left_out = find_other_columns(rows, free)
    items = [p for p in free if p not in left_out]
    names = sample_columns(rows, raters)[0]
    if len(items) < 3 or len(names) < 2 or len(set(names)) < len(names) or None in names:
        return rows
    if any(words[p] & WORKER_WORDS for p in items):  # the columns are workers after all
        return rows
    table: dict[str, list[Any]] = {"item": [], "worker": [], "label": []}
    for batch in rows.stream([raters[0], *items]):
        workers, *cells = (cell_values(column, rows.kind) for column in batch)
        for p, labels in zip(items, cells, strict=True):
            for worker, label in zip(workers, labels, strict=True):
                if not is_empty(label):
                    for name, value in zip(table, (rows.names[p], worker, label), strict=True):
                        table[name].append(value)
    reasons = {rows.names[p]: why for p, why in left_out.items()}
    facts = {"column": rows.names[raters[0]], "items": [rows.names[p] for p in items], "left_out": reasons}
    return _opened(table, rows, Note(NoteKind.ROW_PER_WORKER, facts))


def _opened(table: Mapping[str, Sequence[Any]], rows: RowSource, note: Note) -> RowSource:
    opened = open_columns(rows.source, list(table), table)
    kind = "text" if rows.kind == "text" else opened.kind
    notes = (*rows.notes, note)
    return replace(opened, format=rows.format, kind=kind, judges=rows.judges, notes=notes)
