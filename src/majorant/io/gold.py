"""Gold labels: a column beside the votes, or a file of its own; one per item, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from majorant.account import Note
from majorant.errors import DataError
from majorant.io.answers import SKIPPED, count_answers
from majorant.io.collect import Coded, collect_codes
from majorant.io.frames import kind_key
from majorant.io.ids import distinct
from majorant.io.opening import Opening, open_table
from majorant.io.per_item import first_per_item
from majorant.io.tasks import read_answers, sample_design
from majorant.io.values import decode, is_empty, numbers_if_all
from majorant.spreadsheet import unguarded


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold value of each item that has one, by position in `items`, and where it came from."""

    value_by_item: Mapping[int, Any]
    notes: tuple[Note, ...] = ()


def read_gold(
    source: Any,
    how: Opening,
    items: Sequence[Any],
    *,
    empty: frozenset[str],
    max_classes: int,
    what: str = "gold label",
) -> Gold:
    """Gold labels from a file of their own, matched to the items by value, and by text where the types differ.

    `what` is the word for them in messages.
    """
    if (design := sample_design(source)) is not None:
        return _sample(source, design, items)
    with open_table(source, how) as table:
        coded = collect_codes(table, max_classes=max_classes, progress=None)
    item_n, gold_n = coded.codes["item"], coded.codes["gold"]
    own_items = decode(coded.known["item"], table.kind)
    values = _gold_values(coded, empty)
    for role, cells in (("item", own_items), ("gold", values)):
        distinct(coded, role, cells)  # refuses what is not a single value
    gold_n = np.append([-1 if is_empty(v) else code for code, v in enumerate(values)], -1).astype(np.int32)[gold_n]

    def refuse(earlier: int, later: int) -> None:
        raise DataError(
            f"{coded.where(later)}: item {own_items[item_n[later]]!r} has {what} {values[gold_n[later]]!r}, but "
            f"{values[gold_n[earlier]]!r} in {coded.where(earlier)}. Keep one."
        )

    known = item_n >= 0
    gold_i = first_per_item(item_n[known], gold_n[known], len(own_items), refuse)
    given = [own for own in range(len(own_items)) if gold_i[own] >= 0]
    found = dict(zip(given, _found_again([own_items[own] for own in given], items), strict=True))
    unknown = [own_items[own] for own, at in found.items() if at is None]
    if found and len(unknown) == len(found):
        raise DataError(
            f"{table.source}: none of its {len(found)} items, e.g. {unknown[0]!r}, is an item of the votes, "
            f"e.g. {items[0]!r}. Check that both files name items alike, or say which column with item=."
        )
    notes = []
    if unknown:
        shown = ", ".join(repr(value) for value in unknown[:3])
        notes.append(Note("gold-unknown-items", f"{len(unknown)} items of {table.source} have no votes: {shown}."))
    return Gold({at: values[gold_i[own]] for own, at in found.items() if at is not None}, tuple(notes))


def _sample(source: Any, design: Mapping[str, Any], items: Sequence[Any]) -> Gold:
    """The labels of items that `majorant ask` drew uniformly: experts and skipped items count as its design says."""
    answers, order = read_answers(Path(source)).answers, design["order"]
    counted = count_answers(answers, order, design["labels"], asked=design["asked"], experts=design["experts"])
    given = np.flatnonzero(counted.answer_d >= 0)
    at = _positions([order[position] for position in given], items)
    skipped = int((counted.answer_d == SKIPPED).sum())
    notes = [Note("gold-sample", f"The {len(given)} gold labels of {source} are a random sample: ask drew the items.")]
    if skipped:
        notes.append(Note("gold-skipped", f"{skipped} items of the sample have no label: gold says nothing of them."))
    label = design["labels"]
    values = {
        row: label[counted.answer_d[position]] for row, position in zip(at, given, strict=True) if row is not None
    }
    return Gold(values, tuple(notes))


def _gold_values(coded: Coded, empty: frozenset[str]) -> list[Any]:
    values = [None if is_empty(v) or str(v) in empty else v for v in decode(coded.known["gold"], coded.table.kind)]
    if coded.table.kind == "text":
        numbers = numbers_if_all([v for v in values if v is not None])
        values = [v if v is None else numbers.get(v, v) for v in values]
    return values


def _positions(wanted: Sequence[Any], values: Iterable[Any]) -> list[int | None]:
    """Where each wanted value stands among others: by kind and value, else by its text, the first that reads alike.

    The others are looked at one by one, so that they need not fit into memory.

    >>> _positions([1, "b", "2", None], ["1", "b", 2, 1])
    [3, 1, 2, None]
    """
    exact: dict[Any, int | None] = dict.fromkeys(map(kind_key, wanted))
    alike: dict[str, int | None] = dict.fromkeys(map(str, wanted))
    for at, value in enumerate(values):
        if kind_key(value) in exact:
            exact[kind_key(value)] = at
        text = str(value)
        if text in alike and alike[text] is None:
            alike[text] = at
    found = (exact[kind_key(value)] for value in wanted)
    return [alike[str(value)] if at is None else at for at, value in zip(found, wanted, strict=True)]


def _found_again(wanted: Sequence[Any], values: Sequence[Any]) -> list[int | None]:
    """The same; what is not there is looked for as it was before it was made safe for a spreadsheet.

    >>> _found_again(["'=1", "'b"], ["=1", "b"])
    [0, None]
    """
    found = _positions(wanted, values)
    before = {n: unguarded(str(value)) for n, value in enumerate(wanted) if found[n] is None}
    changed = [n for n, text in before.items() if text != str(wanted[n])]
    if changed:
        for n, at in zip(changed, _positions([before[n] for n in changed], values), strict=True):
            found[n] = at
    return found


def match_labels(values: Sequence[Any], labels: Sequence[Any]) -> list[Any]:
    """Each gold value as the label that it means: itself, or the label that is written alike."""
    matched = _found_again(values, labels)
    return [value if at is None else labels[at] for value, at in zip(values, matched, strict=True)]
