"""Turn two layouts into a row per vote before columns are looked for: votes inside a cell, and a row per worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from majorant.read.columns import (
    ALIASES,
    VOTE_ROLES,
    Choice,
    candidate_roles,
    find_roles,
    name_words,
)
from majorant.read.frames import open_frame
from majorant.read.layout import WORKER_WORDS, find_other_columns, sample_columns, table_tool
from majorant.read.options import ReadOptions
from majorant.read.table import RowSource
from majorant.read.values import cell_values, is_empty
from majorant.votes import Note, NoteKind

RATERS = frozenset().union(*ALIASES["worker"][:2], ["email", "participant", "respondent"]) - {"user", "username"}


def lay_out_votes(rows: RowSource, how: ReadOptions) -> RowSource:
    """The rows of a table with nested votes, or with a row per worker, as votes; any other table as it is."""
    if (
        not rows.named
        or not rows.names
        or not rows.again
        or how.choice.needed != VOTE_ROLES
        or how.choice.columns is not None
    ):
        return rows
    if how.wide or how.workers is not None or how.several or table_tool(rows) is not None:
        return rows
    by_name = candidate_roles(rows.names, Choice.of(), rows.source)
    if rows.kind == "text":
        return _lay_out_raters(rows, how) if not by_name.get("item") and not by_name.get("label") else rows
    return _lay_out_nested(rows, how) if not by_name.get("worker") else rows


def _lay_out_nested(rows: RowSource, how: ReadOptions) -> RowSource:
    """Votes inside a cell: {"gpt-4o": "pass", ...}, or [{"judge": "gpt-4o", "verdict": "pass"}, ...]."""
    named = how.choice.named
    first = next(iter(rows.stream(range(len(rows.names)))), None)
    if first is None:
        return rows
    samples = [[x for x in cell_values(column, rows.kind, 50) if x is not None] for column in first]
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
    """A form: a row per worker, a column per item."""
    if {"item", "label"} & {role for role, word in how.choice.named.items() if word}:
        return rows
    words = [set(name_words(name)) for name in rows.names]
    raters = [p for p, some in enumerate(words) if some & RATERS]
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
    if any(words[p] & WORKER_WORDS for p in items):  # a column per worker after all
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
    opened = open_frame(table, Choice.of())
    kind = "text" if rows.kind == "text" else opened.kind
    notes = (*rows.notes, note)
    return replace(opened, source=rows.source, format=rows.format, kind=kind, judges=rows.judges, notes=notes)
