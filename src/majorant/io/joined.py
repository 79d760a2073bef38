"""Items that take two columns to name: a judge who looks at the answers of several models judges question and model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from majorant.errors import DataError
from majorant.io.columns import JUDGES, Choice, bare_word
from majorant.io.formats.base import TableFormat
from majorant.io.frames import plain
from majorant.io.json_values import loads
from majorant.io.table import Column, Hashed, Objects, RowSource
from majorant.votes import Note

BETWEEN = " | "
SUBJECT = frozenset(["model", "modelname", "system", "candidate", "provider"])


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
    for item, worker, subject in zip(*map(values_of, columns), strict=True) if columns is not None else ():
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
            joined = _join([values_of(column) for column in columns[len(own) :]], rows.kind)
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
                pa.array([said(cell) for cell in values_of(column)], pa.large_string()) if place == label else column
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


def values_of(column: Column) -> list[Any]:
    """The values of a column."""
    if isinstance(column, Objects):
        return [None if code < 0 else column.values[code] for code in column.code_n.tolist()]
    array = column.values if isinstance(column, Hashed) else column
    values: list[Any] = plain(array).to_pylist()
    return values


def _join(columns: Sequence[list[Any]], kind: str) -> Any:
    import pyarrow as pa

    def text(value: Any) -> str:
        return str(loads(value)) if kind == "json" else str(value)

    rows = zip(*columns, strict=True)
    joined = [None if None in row else BETWEEN.join(map(text, row)) for row in rows]
    if kind == "json":
        joined = [None if one is None else json.dumps(one) for one in joined]
    return pa.array(joined, pa.large_string())
