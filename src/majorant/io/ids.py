"""Items and workers: their values in order of appearance; an empty one is an error.

What a table says of items rather than of votes: a value for each, the same in every row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.io.collect import Coded
from majorant.io.frames import kind_key
from majorant.io.values import decode, empty_codes, is_empty, is_plain, numbers_if_all, sort_labels
from majorant.io.vocabulary import Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """Items or workers: a code per row, and their values."""

    code_n: Codes
    declared_n: Codes  # of the items of a wide table
    values: Sequence[Hashable]


def identify(coded: Coded, role: str) -> Ids:
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


MEANING = {"gold": "gold label", "slice": "value"}


def first_per_item(
    item_n: Codes, value_n: Codes, n_items: int, refuse: Callable[[int, int], None]
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
