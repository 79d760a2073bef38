"""Items and workers: their values in order of appearance; an empty one is an error."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from majorant.errors import DataError
from majorant.io.collect import Coded
from majorant.io.frames import kind_key
from majorant.io.values import decode, empty_codes, is_plain
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
