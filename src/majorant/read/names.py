"""From codes to the user's own values: items, workers, slices and labels, and which rows hold a vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.read.encode import Coded, Codes
from majorant.read.notes import fold
from majorant.read.options import ReadOptions
from majorant.read.reshape import written_list
from majorant.read.values import (
    decode,
    empty_codes,
    is_empty,
    is_plain,
    is_vote,
    kind_key,
    numbers_if_all,
    sort_labels,
    voted,
)
from majorant.tabular import unguarded
from majorant.votes import IntArray, Note, NoteKind

MEANING = {"gold": "gold label", "slice": "value"}
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """Items or workers: a code per row, and their values."""

    code_n: Codes
    declared_n: Codes  # of the items of a wide table
    values: Sequence[Hashable]


def ids_of(coded: Coded, role: str) -> Ids:
    """The ids of a role; an empty one is an error, for no row may lose its item or worker."""
    name = coded.table.columns[role]
    code_n, declared_n = coded.codes[role], coded.declared[role]
    known = coded.known[role]
    values = decode(known, coded.table.kind)
    # JSON texts are plain as JSON, not as values: "" is two quotes there, and 1 equals 1.0.
    plain = is_plain(known) and coded.table.kind != "json"
    bad = empty_codes(known if plain else values, values)
    empty_n = np.isin(code_n, [-1, *bad]) if bad else code_n < 0
    empty_m = np.isin(declared_n, [-1, *bad])
    if empty_m.any() or empty_n.any():
        place = coded.where_declared(int(np.argmax(empty_m))) if empty_m.any() else coded.where(int(np.argmax(empty_n)))
        raise empty_id(place, name, role)
    if plain or (set(map(type, values)) == {str} and len(set(values)) == len(values)):
        return Ids(code_n=code_n, declared_n=declared_n, values=values)
    first, remap = distinct(coded, role, values)
    return Ids(code_n=remap[code_n], declared_n=remap[declared_n], values=first)


def empty_id(place: str, name: str, role: str) -> DataError:
    """The error for a row without an item or worker."""
    return DataError(
        f"{place}, column {name!r}: the {role} is empty. Every row needs one; fill it in or remove the row."
    )


def distinct(coded: Coded, role: str, values: Sequence[Any]) -> tuple[list[Any], Codes]:
    """Values that differ by kind or value, and the position of each among them: 1 and 1.0 are one."""
    positions: dict[Any, int] = {}
    first: list[Any] = []
    remap = np.full(len(values) + 1, -1, dtype=np.int32)
    for code, value in enumerate(values):
        try:
            remap[code] = positions.setdefault(kind_key(value), len(first))
        except TypeError:
            wide = len(coded.declared[role]) > 0
            code_n, where = (coded.declared, coded.where_declared) if wide else (coded.codes, coded.where)
            raise DataError(
                f"{where(int(np.argmax(code_n[role] == code)))}, column {coded.table.columns[role]!r}: {value!r:.60} "
                f"is a {type(value).__name__}, not a single value. Give one row per vote with one label, or say "
                "several=True for a yes or no on each."
            ) from None
        if remap[code] == len(first):
            first.append(value)
    return first, remap


def first_per_item(
    item_n: IntArray, value_n: IntArray, n_items: int, refuse: Callable[[int, int], None]
) -> NDArray[np.int32]:
    """The code of each item, -1 where there is none; `refuse(earlier, later)` on rows that contradict."""
    value_i = np.full(n_items, -1, dtype=np.int32)
    given = np.flatnonzero(value_n >= 0)
    value_i[item_n[given][::-1]] = value_n[given][::-1]  # the last assignment wins, so the first row does
    wrong = given[value_i[item_n[given]] != value_n[given]]
    if len(wrong):
        later = int(wrong[0])
        refuse(int(given[item_n[given] == item_n[later]][0]), later)
    return value_i


def one_per_item(coded: Coded, items: Ids, role: str, code_map: Codes, values: Sequence[Hashable]) -> NDArray[np.int32]:
    """The code of each item in a column that must say the same of an item in every row, -1 where it says nothing."""
    wide = len(coded.declared[role]) > 0
    code_n, where = (coded.declared, coded.where_declared) if wide else (coded.codes, coded.where)
    value_n = code_map[code_n[role]]
    item_n = items.declared_n if wide else items.code_n

    def refuse(earlier: int, later: int) -> None:
        raise DataError(
            f"{where(later)}, column {coded.table.columns[role]!r}: item {items.values[item_n[later]]!r} "
            f"has {MEANING[role]} {values[value_n[later]]!r}, but {values[value_n[earlier]]!r} in "
            f"{where(earlier)}. Give each item one {MEANING[role]}."
        )

    return first_per_item(item_n, value_n, len(items.values), refuse)


def slices_of_items(coded: Coded, items: Ids) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """Which slice each item belongs to, -1 where the cell is empty, and the slices, sorted as labels are."""
    if "slice" not in coded.codes:
        return None, ()
    values = decode(coded.known["slice"], coded.table.kind)
    if coded.table.kind == "text":
        numbers = numbers_if_all([value for value in values if not is_empty(value)])
        values = [numbers.get(value, value) for value in values]
    given, position = distinct(coded, "slice", [None if is_empty(value) else value for value in values])
    slices = sort_labels([value for value in given if value is not None])
    at = {kind_key(value): code for code, value in enumerate(slices)}
    code_map = np.array([*(-1 if given[p] is None else at[kind_key(given[p])] for p in position[:-1]), -1], np.int32)
    return one_per_item(coded, items, "slice", code_map, slices), tuple(slices)


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold value of each item that has one, by position in `items`, and where it came from."""

    value_by_item: Mapping[int, Any]
    notes: tuple[Note, ...] = ()


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
    exactly = (exact[kind_key(value)] for value in wanted)
    return [alike[str(value)] if at is None else at for at, value in zip(exactly, wanted, strict=True)]


def found_again(wanted: Sequence[Any], values: Sequence[Any]) -> list[int | None]:
    """The same; what is not there is looked for as it was before it was made safe for a spreadsheet.

    >>> found_again(["'=1", "'b"], ["=1", "b"])
    [0, None]
    """
    places = _positions(wanted, values)
    before = {n: unguarded(str(value)) for n, value in enumerate(wanted) if places[n] is None}
    changed = [n for n, text in before.items() if text != str(wanted[n])]
    if changed:
        for n, at in zip(changed, _positions([before[n] for n in changed], values), strict=True):
            places[n] = at
    return places


def match_labels(values: Sequence[Any], labels: Sequence[Any]) -> list[Any]:
    """Each gold value as the label that it means: itself, or the label that is written alike."""
    matched = found_again(values, labels)
    return [value if at is None else labels[at] for value, at in zip(values, matched, strict=True)]


def vote_mask(coded: Coded, label_values: Sequence[Any], no_vote: frozenset[str]) -> Mask | None:
    """Which rows hold a vote: a label that is not empty, and a status that does not say otherwise (None: all)."""
    filled = np.array([is_vote(v, no_vote) for v in label_values] + [False])
    code_n = coded.codes["label"]
    vote_n = None if filled[:-1].all() and (not len(code_n) or code_n.min() >= 0) else filled[code_n]
    if "status" not in coded.codes:
        return vote_n
    status_n = coded.codes["status"]
    values = decode(coded.known["status"], coded.table.kind)
    means_vote = [voted(value) for value in values]
    if None in means_vote:
        code = means_vote.index(None)
        raise unclear_status(coded.where(int(np.argmax(status_n == code))), coded.table.columns["status"], values[code])
    ok_n = np.array([*means_vote, True])[status_n]
    if ok_n.all():
        return vote_n
    return np.asarray(ok_n if vote_n is None else ok_n & vote_n)


def unclear_status(place: str, column: str, value: Any) -> DataError:
    """The error for a status of which nobody can tell whether it means a vote."""
    return DataError(
        f"{place}, column {column!r}: cannot tell whether {value!r} means a vote. Use ok, abstain or error, or leave "
        "it out with status=''."
    )


def _refuse_lists(coded: Coded, values: Sequence[Any]) -> None:
    """A list that is written out as text is several labels, and no label of its own."""
    listed = next((v for v in values if isinstance(v, str) and v.lstrip()[:1] == "[" and written_list(v)), None)
    if listed is not None:
        raise DataError(
            f"{coded.table.source}, column {coded.table.columns['label']!r}: {listed!r} is a list of labels. Say "
            "several=True for a yes or no on each label."
        )


def _refuse_infinite(coded: Coded, labels: Sequence[Any]) -> None:
    """An infinite number is no class, and no score either."""
    infinite = next((v for v in labels if isinstance(v, (float, Decimal)) and math.isinf(v)), None)
    if infinite is not None:
        place = f"{coded.table.source}, column {coded.table.columns.get('label', 'label')!r}"
        raise DataError(f"{place}: the label {infinite} is infinite. Say empty='{infinite}' if it means no vote.")


def label_uses(coded: Coded, n_values: int, vote_n: Mask | None) -> NDArray[np.integer[Any]]:
    """How many votes each raw label has."""
    code_n = coded.codes["label"]
    return np.bincount(code_n if vote_n is None else code_n[vote_n], minlength=n_values)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCodes:
    """The label vocabulary, the final code of every raw label and gold code, and how often each label is used."""

    labels: list[Hashable]
    label_map: Codes
    gold_map: Codes | None
    gold_i: Codes | None  # from a file
    n_by_label: dict[Any, int]
    notes: tuple[Note, ...] = ()  # what claims are about, and which labels were merged


def name_labels(
    coded: Coded,
    label_values: Sequence[Any],
    uses: NDArray[np.integer[Any]],
    gold: Gold | None,
    options: ReadOptions,
    n_items: int,
) -> LabelCodes:
    """All labels that a vote (`uses` counts them) or gold uses, sorted; text becomes numbers where every label does."""
    scale = options.scale
    used = [code for code in range(len(label_values)) if uses[code]]
    gold_values = decode(coded.known["gold"], coded.table.kind) if "gold" in coded.codes else []
    gold_used = [code for code, v in enumerate(gold_values) if is_vote(v, options.no_vote)]
    _refuse_lists(coded, [label_values[code] for code in used])
    if coded.table.kind == "text":
        texts = [label_values[code] for code in used] + [gold_values[code] for code in gold_used]
        numbers = numbers_if_all(texts)
        label_values = [numbers.get(v, v) for v in label_values]
        gold_values = [numbers.get(v, v) for v in gold_values]
    source = coded.table.source
    label_values = [scale.cut(v, source) if uses[code] else v for code, v in enumerate(label_values)]
    used_gold = frozenset(gold_used)
    gold_values = [scale.cut(v, source) if code in used_gold else v for code, v in enumerate(gold_values)]
    if gold_used:
        distinct(coded, "gold", gold_values)  # refuses what is not a single value
    notes = [note for note in (scale.note(),) if note is not None]
    spelt: dict[str, Any] = {}
    if options.fold_case:
        spelt, merged = _common_spellings({label_values[code]: int(uses[code]) for code in used})
        label_values = [spelt.get(fold(v), v) for v in label_values]
        notes += merged
    given, remap = distinct(coded, "label", [label_values[code] for code in used])
    file_items = list(gold.value_by_item) if gold else []
    in_file = [scale.cut(gold.value_by_item[at], source) for at in file_items] if gold else []
    file_values = match_labels([spelt.get(fold(v), v) for v in in_file] if spelt else in_file, given)
    in_column = [gold_values[code] for code in gold_used]
    in_column = match_labels([spelt.get(fold(v), v) for v in in_column] if spelt else in_column, given)
    labels, _ = distinct(coded, "label", [*given, *in_column, *file_values])
    _refuse_infinite(coded, labels)
    labels = scale.sorted(labels, source)
    at = {kind_key(label): code for code, label in enumerate(labels)}
    label_map = np.full(len(label_values) + 1, -1, dtype=np.int32)
    label_map[used] = [at[kind_key(given[remap[k]])] for k in range(len(used))]
    gold_map = np.full(len(gold_values) + 1, -1, dtype=np.int32)
    gold_map[gold_used] = [at[kind_key(value)] for value in in_column]
    gold_i = np.full(n_items, -1, dtype=np.int32)
    gold_i[file_items] = [at[kind_key(value)] for value in file_values]
    counts = np.bincount(label_map[used], weights=uses[used], minlength=len(labels)) if used else np.zeros(len(labels))
    return LabelCodes(
        labels=labels,
        label_map=label_map,
        gold_map=gold_map if "gold" in coded.codes else None,
        gold_i=gold_i if gold else None,
        n_by_label={label: int(n) for label, n in zip(labels, counts, strict=True)},
        notes=tuple(notes),
    )


def _common_spellings(votes_by_label: Mapping[Any, int]) -> tuple[dict[str, Any], list[Note]]:
    """The most common of the labels that look alike, by what they share, and a note on what was merged.

    >>> _common_spellings({"yes": 2, "Yes": 1, "no": 1})[0]
    {'yes': 'yes', 'no': 'no'}
    """
    groups: dict[str, list[Any]] = {}
    for label in sorted(votes_by_label, key=lambda label: -votes_by_label[label]):
        groups.setdefault(fold(label), []).append(label)
    merged = [[[str(label), votes_by_label[label]] for label in group] for group in groups.values() if len(group) > 1]
    notes = [Note(NoteKind.FOLDED_LABELS, {"groups": merged})] if merged else []
    return {shared: group[0] for shared, group in groups.items()}, notes
