"""Gold labels from a column of the votes or from a separate table; at most one per item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from majorant.errors import ConfigError, DataError, use
from majorant.read.build import Gold, collect_codes, distinct, find_items, first_per_item
from majorant.read.files import NamedFile
from majorant.read.opening import open_table
from majorant.read.options import ReadOptions
from majorant.read.table import Table, decode, is_empty, is_vote, numbers_if_all
from majorant.tabular import unguard_cell
from majorant.votes import Note, NoteKind


def one_gold(options: ReadOptions, table: Table) -> ReadOptions:
    """Refuse a gold file in addition to a gold column, unless it was drawn by `ask`; remember how items are named."""
    if options.gold_file is None:
        return options
    options = replace(options, gold_key=table.key)
    if "gold" not in table.columns:
        return options
    from majorant.read.tasks import sample_design

    if sample_design(options.gold_file) is None:
        raise ConfigError(
            f"gold labels are both in column {table.columns['gold']!r} and in the gold file. Leave one "
            f"out: {use('gold', '')} "
            "ignores the column."
        )
    return replace(options, gold_file=None)  # use the column; labels from `ask` come with a design


def gold_of_file(options: ReadOptions, items: Sequence[Any]) -> Gold | None:
    """Read the gold labels in the gold file of the votes; None if there is no file."""
    return None if options.gold_file is None else read_gold(options.gold_file, options.for_gold(), items)


def read_gold(source: Any, how: ReadOptions, items: Sequence[Any], *, what: str = "gold label") -> Gold:
    """Read gold labels from a separate file and match them to the items; messages call them `what`."""
    return match_gold(load_gold(source, how, what), items)


@dataclass(frozen=True, slots=True)
class GoldFile:
    """Items and their gold labels, as written in the file."""

    source: str
    items: list[Any]
    values: list[Any]
    notes: tuple[Note, ...] = ()


def load_gold(source: Any, how: ReadOptions, what: str = "gold label") -> GoldFile:
    """Load the gold labels in a file, at most one per item."""
    from majorant.read.tasks import is_file, may_be_drawn, sample_design

    if (design := sample_design(source)) is not None:
        return _sample(source, design)
    if is_file(source) and may_be_drawn(source):
        return _without_design(source)
    with open_table(_as_table(source), how) as table:
        if "gold" not in table.columns:  # for example a matrix of votes
            raise DataError(
                f"{table.source} has no column of true labels. Give a table with the columns item and gold, or a dict "
                "of labels by item."
            )
        coded = collect_codes(table, how.most_labels)
    item_n, gold_n = coded.codes["item"], coded.codes["gold"]
    own_items = decode(coded.known["item"], table.kind)
    values = [v if is_vote(v, how.no_vote) else None for v in decode(coded.known["gold"], table.kind)]
    if table.kind == "text":
        numbers = numbers_if_all([v for v in values if v is not None])
        values = [v if v is None else numbers.get(v, v) for v in values]
    for role, cells in (("item", own_items), ("gold", values)):
        distinct(coded, role, cells)  # refuses cells that are not single values
    gold_n = np.append([-1 if is_empty(v) else code for code, v in enumerate(values)], -1).astype(np.int32)[gold_n]

    def refuse(earlier: int, later: int) -> None:
        raise DataError(
            f"{coded.where(later)}: item {own_items[item_n[later]]!r} has {what} {values[gold_n[later]]!r}, but "
            f"{values[gold_n[earlier]]!r} in {coded.where(earlier)}. Keep one."
        )

    known = item_n >= 0
    gold_i = first_per_item(item_n[known], gold_n[known], len(own_items), refuse)
    given = np.flatnonzero(gold_i >= 0)
    return GoldFile(table.source, [own_items[own] for own in given], [values[gold_i[own]] for own in given])


def _as_table(source: Any) -> Any:
    """Turn gold given as a dict or Series by item into a table; return any other source unchanged."""
    if hasattr(source, "index") and hasattr(source, "items") and not hasattr(source, "columns"):
        source = dict(source.items())  # a Series
    if isinstance(source, Mapping) and not any(_is_column(values) for values in source.values()):
        return {"item": list(source), "gold": list(source.values())}
    plain_list = isinstance(source, (list, tuple)) and not any(
        _is_column(one) or isinstance(one, Path) or (isinstance(one, str) and Path(one).suffix != "") for one in source
    )
    if (plain_list and source) or isinstance(source, (bool, int, float)):
        raise ConfigError(
            f"{use('gold')} is a {type(source).__name__}, which does not say which item each label "
            "belongs to. Give a dict "
            "{item: label}, a Series indexed by item, a frame, the name of a column, or a file."
        )
    return source


def _is_column(values: Any) -> bool:
    return hasattr(values, "__len__") and not isinstance(values, (str, bytes))


def _sample(source: Any, design: Mapping[str, Any]) -> GoldFile:
    """The labels of items that `majorant ask` drew at random, with experts and skipped items as its design says."""
    from majorant.read.tasks import SKIPPED, count_answers, read_answers, refuse_changed_rows, sample_size

    answers, order = read_answers(_file(source)).answers, design["order"]
    refuse_changed_rows(answers, order, design["labels"], asked=design["asked"], source=str(source))
    counted = count_answers(answers, order, design["labels"], asked=design["asked"], experts=design["experts"])
    answer_d = counted.answer_d[: sample_size(design)]
    given, skipped = np.flatnonzero(answer_d >= 0), int((answer_d == SKIPPED).sum())
    notes = [Note(NoteKind.GOLD_SAMPLE, {"source": str(source), "labels": len(given)})]
    if skipped:
        notes.append(Note(NoteKind.GOLD_SKIPPED, {"items": skipped}))
    labels = [design["labels"][answer_d[position]] for position in given]
    return GoldFile(str(source), [order[position] for position in given], labels, tuple(notes))


def _without_design(source: Any) -> GoldFile:
    """The labels of a file to label whose design is gone: nobody knows how its items were picked."""
    from majorant.read.tasks import CANNOT_TELL_WORDS, read_answers

    labels_of: dict[Any, dict[str, Any]] = {}
    for answer in read_answers(_file(source)).answers:
        said = answer.label is not None and not answer.cannot_tell
        if said and str(answer.label).strip().casefold() not in CANNOT_TELL_WORDS:
            labels_of.setdefault(answer.item, {})[answer.expert] = answer.label
    agreed = {item: next(iter(said.values())) for item, said in labels_of.items() if len(set(said.values())) == 1}
    number_of = numbers_if_all([label for label in agreed.values() if isinstance(label, str)])
    facts = {"source": str(source), "labels": len(agreed), "disagreed": len(labels_of) - len(agreed)}
    labels = [number_of.get(label, label) if isinstance(label, str) else label for label in agreed.values()]
    return GoldFile(str(source), [*agreed], labels, (Note(NoteKind.GOLD_WITHOUT_DESIGN, facts),))


def _file(source: Any) -> Path | NamedFile:
    return source if isinstance(source, NamedFile) else Path(source)


def match_gold(file: GoldFile, items: Sequence[Any]) -> Gold:
    """The gold labels of the items, matched by value, or by text if types differ."""
    place_of = find_items(file.items, items)
    unknown = [item for item, at in zip(file.items, place_of, strict=True) if at is None]
    if place_of and len(unknown) == len(place_of):
        known = f", e.g. {items[0]!r}" if len(items) else ""
        raise DataError(
            f"{file.source}: none of its {len(place_of)} items, e.g. {unknown[0]!r}, is an item of the votes{known}. "
            f"Check that both files use the same item names, or name the column with {use('item')}."
        )
    notes = list(file.notes)
    if unknown:
        facts = {"source": file.source, "items": list(map(str, unknown[:3])), "count": len(unknown)}
        notes.append(Note(NoteKind.GOLD_UNKNOWN_ITEMS, facts))
    pairs = zip(place_of, file.values, strict=True)
    return Gold({at: value for at, value in pairs if at is not None}, tuple(notes))


def spellings(items: Iterable[Any]) -> set[str]:
    """The ways in which the items of a gold file may be written."""
    texts = {str(item) for item in items}
    return texts | {unguard_cell(text) for text in texts}
