"""Labelling in the page: the file of items is the state, so that a download at any time is what a reader needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError
from majorant.gold.design import Design
from majorant.gold.question import Outcome
from majorant.io.tasks import CANNOT_TELL_WORDS, LABEL_KEYS, read_answers, relabelled_file, table_rows
from majorant.output import write_files
from majorant.web.job import DESIGN, ITEMS, TO_LABEL

MORE = 10  # items that are added when those asked are labelled and the question is open


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Labelling:
    """Where the labelling of a design stands."""

    design: Design
    outcome: Outcome
    rows: tuple[Mapping[str, str], ...]  # of the file to label
    at: int | None  # the draw to label now; None where it is decided or nothing is left
    own: Mapping[str, Any]  # what the table says of that item
    votes: tuple[tuple[str, str], ...]  # who gave it which label

    @property
    def item(self) -> str:
        """The item to label now."""
        return "" if self.at is None else self.rows[self.at - 1]["item"]

    @property
    def classes(self) -> list[tuple[str, str]]:
        """Each class with its key; no key where there are more classes than keys."""
        keys = LABEL_KEYS.ljust(len(self.design.labels))
        return [(key.strip(), str(label)) for key, label in zip(keys, self.design.labels, strict=False)]

    @property
    def draws(self) -> list[int]:
        """The draws that have an answer."""
        return [draw for draw, row in enumerate(self.rows, 1) if _label(row)]

    @property
    def given(self) -> int:
        """How many items have an answer."""
        return len(self.draws)


def labelling(folder: Path) -> Labelling | None:
    """Where it stands; None where no items were drawn."""
    if not (folder / DESIGN).exists():
        return None
    design = Design.read(folder / DESIGN)
    outcome = design.judge(read_answers(folder / TO_LABEL).answers)
    rows = tuple(table_rows(folder / TO_LABEL))
    at = max((draw for draw, row in enumerate(rows, 1) if _label(row)), default=0) + 1
    if outcome.decided or at > len(rows):
        return Labelling(design=design, outcome=outcome, rows=rows, at=None, own={}, votes=())
    items = json.loads((folder / ITEMS).read_text(encoding="utf-8"))
    place = design.asked[at - 1]
    known = items[place] if place < len(items) else {"own": {}, "votes": []}
    votes = tuple((worker, label) for worker, label in known["votes"])
    return Labelling(design=design, outcome=outcome, rows=rows, at=at, own=known["own"], votes=votes)


def give(folder: Path, draw: int, label: str) -> Labelling:
    """Write a label, or CANNOT_TELL_WORDS, and ask about further items where the question stays open."""
    now = labelling(folder)
    assert now is not None
    if not 0 < draw <= len(now.rows):
        raise ConfigError(f"There is no item {draw} to label.")
    if label != CANNOT_TELL_WORDS[0] and label not in map(str, now.design.labels):
        raise ConfigError(f"{label!r} is no class of these votes.")
    _write(folder, draw, label)
    return _continued(folder)


def undo(folder: Path) -> Labelling:
    """Take the last label back."""
    now = labelling(folder)
    assert now is not None
    if now.draws:
        _write(folder, now.draws[-1], "")
    return _continued(folder)


def _continued(folder: Path) -> Labelling:
    now = labelling(folder)
    assert now is not None
    if now.at is not None or now.outcome.decided:
        return now
    longer = now.design.after(MORE, read_answers(folder / TO_LABEL).answers)
    start = len(now.design.items)
    if len(longer.items) == start:
        return now
    items = json.loads((folder / ITEMS).read_text(encoding="utf-8"))
    new = [items[place]["own"] if place < len(items) else {} for place in longer.asked[start:]]
    columns = {name: [own.get(name) for own in new] for name in {name: None for own in new for name in own}}
    longer.write_more(folder / TO_LABEL, start, design=folder / DESIGN, columns=columns)
    continued = labelling(folder)
    assert continued is not None
    return continued


def _write(folder: Path, draw: int, label: str) -> None:
    path = folder / TO_LABEL
    write_files({path: relabelled_file(path, {draw: label})})


def _label(row: Mapping[str, str]) -> str:
    return (row.get("label") or "").strip()
