"""A file of items to label with its design, to which the terminal and the local web page write labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from majorant.ask.design import Design
from majorant.ask.journal import label_lock, note_save, read_saves, state_after
from majorant.ask.question import Outcome
from majorant.errors import DataError
from majorant.output import write_files
from majorant.ownership import DESIGN_COLUMN, DRAW_COLUMN
from majorant.read.label_table import LabelTable
from majorant.read.rewritten import may_be
from majorant.read.tasks import LABEL_KEYS, read_answers


@dataclass(frozen=True, slots=True, eq=False)
class LabelFile:
    """The items to label, the labels so far and their outcome.

    A place is the number of an item in the order in which the design drew it, from 1; the rows of the file may be in
    another order.
    """

    path: Path
    design_path: Path
    design: Design
    outcome: Outcome
    table: LabelTable
    row_of: Mapping[int, int]  # place -> row of the table; a row that was deleted has none

    @classmethod
    def read(cls, path: Path, design_path: Path) -> LabelFile:
        """Read the file and its design; a file that was changed so that labels cannot be told apart is refused."""
        design, labelled = Design.read(design_path), read_answers(path)
        if not design.drew(labelled):
            raise DataError(f"{path} was not drawn by {design_path}: its items differ. Give the design that drew it.")
        design.refuse_changed(labelled, str(path))
        table = LabelTable.read(path)
        return cls(path, design_path, design, design.judge(labelled.answers), table, _rows(table, design))

    @staticmethod
    def lock(path: Path, program: str) -> AbstractContextManager[None]:
        """Hold the file's lock: no other command or page writes labels to it meanwhile."""
        return label_lock(path, program)

    @property
    def n_items(self) -> int:
        """The number of items to label."""
        return len(self.design.items)

    @property
    def labelled(self) -> list[int]:
        """The places that have an answer."""
        return [place for place in range(1, self.n_items + 1) if self.label(place).strip()]

    @property
    def next(self) -> int | None:
        """The first place without an answer; None if there is none."""
        labelled = set(self.labelled)
        return next((place for place in range(1, self.n_items + 1) if place not in labelled), None)

    @property
    def keys(self) -> dict[str, str]:
        """The classes that have a key, by key."""
        return dict(zip(LABEL_KEYS, map(str, self.design.labels), strict=False))

    def label(self, place: int) -> str:
        """The label at a place; "" if there is none."""
        row = self.row_of.get(place)
        return "" if row is None else self.table.cell(row, self.table.columns.labels[0])

    def item(self, place: int) -> str:
        """The item at a place."""
        return str(self.design.items[place - 1])

    def own_columns(self, place: int) -> dict[str, str]:
        """The columns that describe an item, such as its text."""
        row, ours = self.row_of.get(place), self.table.columns.ours
        if row is None:
            return {}
        return {
            name: self.table.cell(row, position)
            for position, name in enumerate(self.table.names)
            if name and position not in ours
        }

    def write(self, place: int, label: str) -> LabelFile:
        """Write one label; an empty one removes it.  The journal has it before the file does."""
        with label_lock(self.path, "majorant"):
            now = LabelFile.read(self.path, self.design_path)  # another program may have changed the file meanwhile
            table = now.table
            if place not in now.row_of:
                table = table.with_rows([now._row(place)])
            row = _rows(table, now.design).get(place)
            if row is None:
                raise DataError(f"{self.path} has no row for {DRAW_COLUMN} {place}, and none can be added. Restore it.")
            change = {"place": place, "item": self.item(place), "label": label}
            return now._save(table.with_labels({row: label}).to_bytes(), change)

    def undo(self) -> LabelFile:
        """Remove the label that was given last."""
        labelled = self.labelled
        if not labelled:
            return self
        given = [save.change.get("place") for save in read_saves(self.path) if save.change.get("label")]
        last = next((place for place in reversed(given) if place in labelled), labelled[-1])
        return self.write(int(last), "")

    def longer(self, n: int) -> Design:
        """Return the design with up to n more items, chosen with the help of the labels so far."""
        return self.design.after(n, read_answers(self.path).answers)

    def extend(self, longer: Design, columns: Mapping[str, Sequence[Any]] | None = None) -> LabelFile:
        """Append the new items of a longer design to the file."""
        with label_lock(self.path, "majorant"):
            longer.write_more(self.path, len(self.design.items), design=self.design_path, columns=columns)
            return LabelFile.read(self.path, self.design_path)

    def _row(self, place: int) -> dict[str, Any]:
        return {DRAW_COLUMN: place, "draw": place, "item": self.design.items[place - 1], DESIGN_COLUMN: self.design.id}

    def _save(self, content: bytes, change: dict[str, Any]) -> LabelFile:
        note_save(self.path, content, change)
        write_files({self.path: content}, update=[self.path])
        return LabelFile.read(self.path, self.design_path)


def restore(path: Path, number: int) -> None:
    """Bring back a state of a file of labels from its journal; the state that it replaces stays in the journal."""
    with label_lock(path, "majorant label --restore"):
        content = state_after(path, number)
        note_save(path, content, {"restored": number})
        write_files({path: content}, update=[path])


def _rows(table: LabelTable, design: Design) -> dict[int, int]:
    """The row of each place: by its number, or by the name of the item."""
    items = list(map(str, design.items))
    place_of = {item: place for place, item in enumerate(items, start=1)}
    rows = dict[int, int]()
    for row in range(len(table.rows)):
        draw, item = table.draw(row), table.cell(row, table.columns.item)
        fits = draw is not None and 0 < draw <= len(items) and may_be(items[draw - 1], item)
        place = draw if fits else place_of.get(item)
        if place is not None:
            rows.setdefault(place, row)
    return rows
