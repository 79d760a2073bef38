"""A preview of a table: its format, the role of each column, and its first rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Unpack

from majorant.errors import MajorantError
from majorant.read.opening import open_rows, open_table
from majorant.read.options import ALIASES, VOTE_ROLES, Choice, Reading, ReadOptions, find_roles
from majorant.read.table import named_faults
from majorant.votes import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a table looks like; if it cannot be read as votes, `trouble` says why."""

    format: str
    names: tuple[str, ...]
    named: bool  # False if the file has no header, so columns have only positions
    rows: tuple[tuple[str, ...], ...]
    columns: dict[str, str]  # role -> column, as far as known
    workers: tuple[str, ...] = ()  # the worker columns of a wide table
    ignored: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    trouble: str = ""


def preview(source: Any, *, rows: int = 6, **reading: Unpack[Reading]) -> Preview:
    """The first rows of a source, and the roles of its columns; `reading` is as for `read`.

    >>> table = {"text": ["a", "b"], "annotator": ["w", "x"], "stars": [1, 0]}
    >>> looked = preview(table)
    >>> looked.names, looked.rows[0], "the item or the label" in looked.trouble
    (('text', 'annotator', 'stars'), ('a', 'w', '1'), True)
    >>> preview(table, item="text", label="stars").columns
    {'item': 'text', 'worker': 'annotator', 'label': 'stars'}
    """
    how = ReadOptions.of(reading)
    with named_faults(source), open_rows(source, how) as every:
        first = every[0]
        texts = [
            ["" if value is None else str(value) for value in cells]
            for cells in first.first_cells(range(len(first.names)), rows)
        ]
        cells = [[text if len(text) <= 160 else text[:159] + "…" for text in column] for column in texts]
        shown = tuple(zip(*cells, strict=True))
        seen = Preview(format=first.format, names=first.names, named=first.named, rows=shown, columns={})
    try:
        with open_table(source, how) as table:
            others = {*table.columns.values(), *table.key, *table.ignored}
            return replace(
                seen,
                format=table.format,
                columns=dict(table.columns),
                workers=tuple(name for name in seen.names if name not in others) if table.wide else (),
                ignored=table.ignored,
                notes=table.notes,
            )
    except MajorantError as error:
        columns: dict[str, str] = {}
        for role in () if how.choice.columns is not None else VOTE_ROLES:  # show the roles that are clear
            named = {other: how.choice.named.get(role) if other == role else "" for other in ALIASES}
            alone = Choice(named={role: name for role, name in named.items() if name is not None}, needed=())
            with suppress(MajorantError):
                columns |= {one: seen.names[p] for one, p in find_roles(seen.names, alone, "").items()}
        return replace(seen, columns=columns, trouble=error.message)
