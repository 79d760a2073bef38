"""A file of items to label with its design, to which the terminal and the local web page write labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from majorant.ask.design import Design
from majorant.ask.question import Outcome
from majorant.output import write_files
from majorant.read.tasks import LABEL_KEYS, read_answers, relabelled_file, table_rows


@dataclass(frozen=True, slots=True, eq=False)
class LabelFile:
    """The items to label, the labels so far and their outcome.  Places count from 1."""

    path: Path
    design_path: Path
    design: Design
    outcome: Outcome
    rows: tuple[Mapping[str, str], ...]

    @classmethod
    def read(cls, path: Path, design_path: Path) -> LabelFile:
        """Read the file and its design."""
        design = Design.read(design_path)
        return cls(path, design_path, design, design.judge(read_answers(path).answers), tuple(table_rows(path)))

    @property
    def labelled(self) -> list[int]:
        """The places that have an answer."""
        return [place for place, row in enumerate(self.rows, 1) if (_cell(row, "label") or "").strip()]

    @property
    def next(self) -> int | None:
        """The place after the last answer; None at the end of the file."""
        place = max(self.labelled, default=0) + 1
        return place if place <= len(self.rows) else None

    @property
    def keys(self) -> dict[str, str]:
        """The classes that have a key, by key."""
        return dict(zip(LABEL_KEYS, map(str, self.design.labels), strict=False))

    def item(self, place: int) -> str:
        """The item at a place."""
        return _cell(self.rows[place - 1], "item") or ""

    def own_columns(self, place: int) -> dict[str, str]:
        """The columns that describe an item, such as its text."""
        row = self.rows[place - 1]
        return {name: value for name, value in row.items() if name and _plain(name) not in ("draw", "item", "label")}

    def write(self, place: int, label: str) -> LabelFile:
        """Write one label; an empty one removes it."""
        text = relabelled_file(self.path, {int(_cell(self.rows[place - 1], "draw") or place): label})
        write_files({self.path: text}, update=[self.path])
        return LabelFile.read(self.path, self.design_path)

    def undo(self) -> LabelFile:
        """Remove the last label."""
        return self.write(self.labelled[-1], "") if self.labelled else self

    def longer(self, n: int) -> Design:
        """Return the design with up to n more items, chosen with the help of the labels so far."""
        return self.design.after(n, read_answers(self.path).answers)

    def extend(self, longer: Design, columns: Mapping[str, Sequence[Any]] | None = None) -> LabelFile:
        """Append the new items of a longer design to the file."""
        longer.write_more(self.path, len(self.design.items), design=self.design_path, columns=columns)
        return LabelFile.read(self.path, self.design_path)


def _cell(row: Mapping[str, str], column: str) -> str | None:
    return next((value for name, value in row.items() if name and _plain(name) == column), None)


def _plain(name: str) -> str:
    return name.strip().casefold()
