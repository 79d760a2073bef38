"""A first look at a table: what it was recognised as, its columns, which was taken for what, and its first rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack

from majorant.errors import MajorantError
from majorant.io.columns import ALIASES, VOTE_ROLES, Choice, find_roles
from majorant.io.faults import named_faults
from majorant.io.item_columns import cell_values
from majorant.io.opening import open_rows, open_table
from majorant.io.options import Reading, ReadOptions
from majorant.io.table import RowSource
from majorant.votes import Note

ROWS, LONGEST = 6, 160  # rows shown, and characters of a cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a table looks like; where it cannot be understood yet, `trouble` says why, and the columns stand anyway."""

    format: str
    names: tuple[str, ...]
    named: bool  # False: the file has no header, and columns are known by their positions
    rows: tuple[tuple[str, ...], ...]
    columns: dict[str, str]  # role -> column, as far as it is understood
    workers: tuple[str, ...]  # the columns of workers, in a wide table
    ignored: tuple[str, ...]
    notes: tuple[Note, ...]
    trouble: str


def preview(source: Any, *, rows: int = ROWS, **reading: Unpack[Reading]) -> Preview:
    """The first rows of a source, and how its columns are understood; `reading` is as for `read`.

    >>> table = {"text": ["a", "b"], "annotator": ["w", "x"], "stars": [1, 0]}
    >>> found = preview(table)
    >>> found.names, found.rows[0], "the item or the label" in found.trouble
    (('text', 'annotator', 'stars'), ('a', 'w', '1'), True)
    >>> preview(table, item="text", label="stars").columns
    {'item': 'text', 'worker': 'annotator', 'label': 'stars'}
    """
    how = ReadOptions.of(reading)
    with named_faults(source), open_rows(source, how) as every:
        first = every[0]
        shown = _first_rows(first, rows)
        form, names, named = first.format, first.names, first.named
    try:
        with open_table(source, how) as table:
            workers = [name for name in names if name not in {*table.columns.values(), *table.ignored}]
            return Preview(
                format=table.format,
                names=names,
                named=named,
                rows=shown,
                columns=dict(table.columns),
                workers=tuple(workers) if table.wide else (),
                ignored=table.ignored,
                notes=table.notes,
                trouble="",
            )
    except MajorantError as error:
        roles = _as_far(names, how.choice)
        return Preview(
            format=form, names=names, named=named, rows=shown, columns=roles, workers=(), ignored=(), notes=(),
            trouble=str(error),
        )  # fmt: skip


def _as_far(names: Sequence[str], choice: Choice) -> dict[str, str]:
    """The roles that can be told, where others cannot."""
    found: dict[str, str] = {}
    for role in () if choice.columns is not None else VOTE_ROLES:
        alone = {other: "" for other in ALIASES if other != role}
        named = {**alone, **({role: choice.named[role]} if role in choice.named else {})}
        with suppress(MajorantError):
            found |= {role: names[p] for role, p in find_roles(names, Choice(named=named, needed=()), "").items()}
    return found


def _first_rows(rows: RowSource, most: int) -> tuple[tuple[str, ...], ...]:
    columns = next(iter(rows.stream(range(len(rows.names)), 0)), None)
    if columns is None:
        return ()
    cells = [[_shown(value) for value in cell_values(column, rows.kind, most)] for column in columns]
    return tuple(zip(*cells, strict=True))


def _shown(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
