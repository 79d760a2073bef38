"""What a table says of items beside the votes, to show to an expert: their text, a link, a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from majorant.io.formats.layout import DATA
from majorant.io.json_values import loads
from majorant.io.opening import layout_of, open_rows
from majorant.io.options import ReadOptions
from majorant.io.table import Column, Hashed, Objects, Rows
from majorant.io.wide import Wide

LEADING = (  # parts of names of columns that could tell the expert what others think
    *(
        "label",
        "answer",
        "vote",
        "predict",
        "gold",
        "truth",
        "majority",
        "confidence",
        "score",
        "prob",
        "expected",
        "target",
    ),
    *("worker", "annotator", "rater", "judge", "coder", "rating", "response", "correct", "agree", "status", "second"),
)
LONGEST = 100_000  # characters of one cell


def item_columns(source: Any, items: Sequence[Any], how: ReadOptions) -> dict[str, list[Any]]:
    """The columns that say the same in every row of an item, a value for each of `items`; None where there is none.

    Columns that take part in the votes, and those whose names say that they could lead an expert, are left out; with
    text=, all but the one of that name.

    >>> table = {"item": ["a", "a", "b"], "worker": ["w", "x", "w"], "label": [1, 0, 1], "text": ["A!", "A!", "B."]}
    >>> item_columns(table, ["b", "a"], ReadOptions())
    {'text': ['B.', 'A!']}
    """
    wanted: dict[str, dict[str, Any]] = {str(item): {} for item in items}
    dropped: set[str] = set()
    with open_rows(source, how) as every:
        for rows in every:
            layout = layout_of(rows, how)
            used = [*layout.roles.values(), *layout.workers] if isinstance(layout, Wide) else [*layout.values()]
            roles = layout.roles if isinstance(layout, Wide) else layout
            own = {
                name: p
                for p, name in enumerate(rows.names)
                if p not in used and not _may_lead(name) and how.text in (None, name.removeprefix(DATA))
            }
            if rows.named and own:
                _collect(rows, roles["item"], own, wanted, dropped)
    names = dict.fromkeys(name for cells in wanted.values() for name in cells if name not in dropped)
    return {name.removeprefix(DATA): [wanted[str(item)].get(name) for item in items] for name in names}


def _may_lead(name: str) -> bool:
    word = name.casefold()
    return any(part in word for part in LEADING)


def _collect(
    rows: Rows, item: int, own: Mapping[str, int], wanted: dict[str, dict[str, Any]], dropped: set[str]
) -> None:
    for columns in rows.stream([item, *own.values()], 0):
        items, *cells = (cell_values(column, rows.kind) for column in columns)
        for n, name in enumerate(items):
            known = wanted.get(str(name))
            if known is not None:
                for column, values in zip(own, cells, strict=True):
                    value = values[n]
                    if value not in (None, "") and known.setdefault(column, value) != value:
                        dropped.add(column)


def cell_values(column: Column, kind: str, most: int | None = None) -> list[Any]:
    """The cells of a column as values, or the first of them."""
    if isinstance(column, Objects):
        return [None if code < 0 else column.values[code] for code in column.code_n[:most]]
    array = column.values if isinstance(column, Hashed) else column
    values = (array if most is None else array.slice(0, most)).to_pylist()
    if kind == "json":
        values = [value if value is None else loads(value) for value in values]
    return [value[:LONGEST] if isinstance(value, str) else value for value in values]


NO_VOTES: dict[str, Any] = {
    **dict.fromkeys(("worker", "label", "gold", "status", "seconds"), ""),
    "needed": ("item",),
}  # of a table that tells of items alone
