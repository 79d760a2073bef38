"""Verdicts on pairs that were shown in two orders: which candidate stood first in each vote."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from majorant.errors import ConfigError, DataError, MajorantError
from majorant.io.columns import says_position
from majorant.io.opening import again, open_rows, open_table
from majorant.io.options import ReadOptions
from majorant.io.values import cell_values, is_empty, sort_labels

TIE_WORDS = frozenset(
    ["tie", "tied", "draw", "equal", "same", "both", "neither", "none", "t", "c", "ab", "no preference"]
)
SWAPPED = frozenset(["swapped", "swap", "reversed", "reverse", "true", "yes", "1", "ba", "second"])
AS_GIVEN = frozenset(["original", "normal", "given", "forward", "false", "no", "0", "ab", "first"])


@dataclass(frozen=True, slots=True)
class Shown:
    """A verdict, and whether the first of the two candidates stood first."""

    item: Any
    worker: Any
    label: Any
    in_order: bool


def read_shown(source: Any, position: str, **named: Any) -> tuple[list[Shown], tuple[Any, Any]]:
    """The verdicts of a table whose column `position` says which candidate stood first, and the two candidates.

    It holds the first candidate's name, AB or BA, or whether the pair was swapped; rows without a verdict do not count.
    """
    columns: dict[str, list[Any]] = {}
    with open_table(source, ReadOptions(**named, by=position, seconds="", status="")) as table:
        for part in table.parts:
            for role in ("item", "worker", "label", "slice"):
                columns.setdefault(role, []).extend(cell_values(part.columns[role], table.kind))
    rows = list(zip(*(columns[role] for role in ("item", "worker", "label", "slice")), strict=True))
    rows = [row for row in rows if not is_empty(row[2])]
    first, second = candidates([row[2] for row in rows])
    return [Shown(i, w, x, _in_order(p, first, second, table.source)) for i, w, x, p in rows], (first, second)


def find_position(source: Any, reading: Mapping[str, Any]) -> str | None:
    """The column that says which candidate stood first, where judges looked at pairs in both orders; else None."""
    if not again(source):
        return None
    named: dict[str, Any] = {role: reading.get(role) for role in ("item", "worker", "label")}
    try:
        with open_rows(source, ReadOptions(**named)) as every:
            names = [name for name in every[0].names if says_position(name) and name not in named.values()]
        if len(names) != 1:
            return None
        shown, _ = read_shown(source, names[0], **named)
    except MajorantError:  # whoever reads the votes says what is wrong with them
        return None
    orders: dict[tuple[Any, Any], set[bool]] = {}
    for verdict in shown:
        orders.setdefault((verdict.item, verdict.worker), set()).add(verdict.in_order)
    return names[0] if any(len(both) == 2 for both in orders.values()) else None


def is_tie(label: Any) -> bool:
    """Whether a verdict prefers neither candidate.

    >>> is_tie("Tie"), is_tie("A")
    (True, False)
    """
    return re.sub(r"[\W_]+", " ", str(label)).strip().casefold() in TIE_WORDS


def candidates(labels: Sequence[Any]) -> tuple[Any, Any]:
    """The two candidates that verdicts name, ties apart."""
    named = sort_labels({label for label in labels if not is_tie(label)})
    if len(named) != 2:
        shown = ", ".join(repr(label) for label in named[:6])
        raise DataError(f"verdicts on pairs name two candidates and ties, not {shown}. Say which column with label=.")
    return named[0], named[1]


def _in_order(value: Any, first: Any, second: Any, source: str) -> bool:
    if value in (first, second) and not isinstance(value, bool):
        return bool(value == first)
    word = str(value).strip().casefold()
    if word in (f"{first}{second}".casefold(), f"{first},{second}".casefold()) or word in AS_GIVEN:
        return True
    if word in (f"{second}{first}".casefold(), f"{second},{first}".casefold()) or word in SWAPPED:
        return False
    raise ConfigError(
        f"{source}: cannot tell from {value!r} which candidate stood first. Write its name, {first!r} or "
        f"{second!r}, or AB or BA, or original or swapped."
    )
