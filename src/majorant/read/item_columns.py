"""Columns that describe items, to show to an expert: text, a link, a picture.

The text is looked up in the source for the few items shown, and not stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from majorant.errors import ConfigError, DataError, MajorantError
from majorant.read.formats.base import DATA
from majorant.read.opening import find_layout, is_rereadable, open_rows
from majorant.read.options import ReadOptions
from majorant.read.reshape import JOINED_BY, join_columns
from majorant.read.table import Objects, RowSource, cell_values, is_text
from majorant.votes import Account

ITEMS_ALONE: dict[str, Any] = {
    **dict.fromkeys(("worker", "label", "gold", "status", "seconds"), ""),
    "needed": ("item",),
}  # options for a table that only describes items
LONGEST_CELL = 100_000  # characters


def item_columns(source: Any, items: Sequence[Any], how: ReadOptions) -> dict[str, list[Any]]:
    """The columns with the same value in all rows of an item, with that value (or None) for each of `items`.

    Vote columns and columns that could bias an expert are left out; with text=, only that column is kept.

    >>> table = {"item": ["a", "a", "b"], "worker": ["w", "x", "w"], "label": [1, 0, 1], "text": ["A!", "A!", "B."]}
    >>> item_columns(table, ["b", "a"], ReadOptions())
    {'text': ['B.', 'A!']}
    """
    wanted: dict[str, dict[str, Any]] = {str(item): {} for item in items}
    dropped: set[str] = set()
    with open_rows(source, how) as every:
        for one in every:
            try:
                rows, layout = find_layout(one, how, n_files=len(every))
            except DataError:  # votes are inside cells, but there is at least an item column
                rows, layout = find_layout(one, replace(how, **ITEMS_ALONE))
            own = {
                name: p
                for p, name in enumerate(one.names)
                if p not in layout.positions and not _may_lead(name) and how.text in (None, name.removeprefix(DATA))
            }
            for item, *values in (
                _rows_of(rows, [layout.roles["item"], *own.values()], wanted) if own and rows.named else ()
            ):
                for column, value in zip(own, values, strict=True):
                    known = wanted[item]
                    nested = isinstance(value, (list, dict))  # may contain judges' verdicts
                    if nested or (value not in (None, "") and known.setdefault(column, value) != value):
                        dropped.add(column)
    names = dict.fromkeys(name for cells in wanted.values() for name in cells if name not in dropped)
    return {name.removeprefix(DATA): [wanted[str(item)].get(name) for item in items] for name in names}


def _may_lead(name: str) -> bool:
    """Whether a column name suggests that it could bias the expert with others' opinions."""
    parts = (
        "label", "answer", "vote", "predict", "gold", "truth", "majority", "confidence", "score", "prob", "expected",
        "target", "worker", "annotator", "rater", "judge", "coder", "rating", "response", "correct", "agree", "status",
        "second",
    )  # fmt: skip
    return any(part in name.casefold() for part in parts)


def _rows_of(rows: RowSource, positions: Sequence[int], wanted: Collection[str]) -> Iterator[list[Any]]:
    """The rows of the wanted items, whose column comes first: the item as text, then the other cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spelt = [*wanted]
    if rows.kind == "json":
        spelt = [form for name in wanted for form in (name, json.dumps(name), json.dumps(name, ensure_ascii=False))]
    for columns in rows.stream(positions):
        arrays = [column for column in columns if not isinstance(column, Objects)]
        if len(arrays) == len(columns) and is_text(arrays[0].type):  # filtering with Arrow is faster
            chosen = pc.is_in(arrays[0], value_set=pa.array(spelt, arrays[0].type))
            columns = [array.filter(chosen) for array in arrays]
        for item, *values in zip(*(cell_values(column, rows.kind) for column in columns), strict=True):
            if str(item) in wanted:
                yield [str(item), *(value[:LONGEST_CELL] if isinstance(value, str) else value for value in values)]


@dataclass(frozen=True, slots=True)
class ItemText:
    """A function that looks up the text of some items; None for an item without text."""

    source: Any = field(compare=False)
    options: ReadOptions
    item: str  # the item column, or several separated by commas
    column: str

    def __call__(self, items: Sequence[Any]) -> list[str | None]:
        """The text of each item; all None if the source is gone or has changed."""
        wanted = {str(item) for item in items}
        wanted |= {name.rsplit(JOINED_BY, 1)[0] for name in wanted if JOINED_BY in name}  # without the model
        text_of: dict[str, str] = {}
        try:
            with open_rows(self.source, self.options) as every:
                for rows in every:
                    key = [self.item] if self.item in rows.names else self.item.split(",")
                    if self.column not in rows.names or not set(key) <= set(rows.names):
                        continue
                    if len(key) > 1:
                        rows = join_columns(rows, [rows.names.index(name) for name in key], self.item)
                    places = [rows.names.index(name) for name in (key[0] if len(key) == 1 else self.item, self.column)]
                    for name, text in _rows_of(rows, places, wanted):
                        if text not in (None, ""):
                            plain = text if isinstance(text, str) else json.dumps(text, default=str)[:LONGEST_CELL]
                            text_of.setdefault(name, plain)
        except (MajorantError, OSError):
            return [None] * len(items)
        return [text_of.get(str(item)) or text_of.get(str(item).rsplit(JOINED_BY, 1)[0]) for item in items]


def item_text(source: Any, options: ReadOptions, account: Account) -> ItemText | None:
    """How to look up the text of items: in the column given by text=, or one with a common name.

    None if there is no such column, text= is "", or the source can be read only once.
    """
    text, columns, ignored = options.text, account.columns, account.ignored
    if text == "" or not is_rereadable(source):
        return None
    column = text if text is not None else _likeliest(ignored)
    if column is None:
        return None
    known = [*ignored, *columns.values()]
    if column not in known:
        if DATA + column not in known:
            shown = ", ".join(map(repr, known[:12]))
            raise ConfigError(f"there is no column {column!r} to take for the text of items. There are {shown}.")
        column = DATA + column
    return ItemText(source, replace(options, threads=None, progress=None), columns["item"], column)


def _likeliest(names: Sequence[str]) -> str | None:
    """The column that probably contains the text of the items."""
    usual = (
        "text", "content", "prompt", "question", "userinput", "sentence", "document", "utterance", "message", "body",
        "input", "query", "headline", "title", "tweet", "post", "review", "statement", "claim", "description",
        "rowdata",
    )  # fmt: skip
    words = {re.sub(r"^(data\.|input[.:])|[\W_]+", "", name.casefold()): name for name in reversed(names)}
    return next((words[word] for word in usual if word in words), None)
