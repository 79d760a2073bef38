"""Verdicts on pairs of candidates that were shown in both orders.

A judge who was asked in both orders gets one vote: the verdict if both agree, otherwise a tie.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from majorant.errors import ConfigError, DataError, use
from majorant.read.options import VOTE_ROLES, ReadOptions, bare_word, candidate_roles, says_position
from majorant.read.table import RowSource, cell_values, is_empty, open_columns, sort_labels
from majorant.votes import Note, NoteKind

TIE = "tie"
SIDES = (frozenset(["a", "1", "left", "first"]), frozenset(["b", "2", "right", "second"]))
SWAPPED = frozenset(["swapped", "swap", "reversed", "reverse", "true", "yes", "1", "ba", "second"])


def is_tie(label: Any) -> bool:
    """Whether a verdict prefers neither candidate.

    >>> is_tie("Tie"), is_tie("tie (bothbad)"), is_tie("A")
    (True, True, False)
    """
    words = re.sub(r"[\W_]+", " ", str(label)).strip().casefold()
    ties = ("draw", "equal", "same", "both", "neither", "none", "t", "c", "ab", "no preference")
    return words in ties or words.split(" ")[0] in ("tie", "tied")


def agreed_verdict(given: Mapping[bool, Any]) -> Any:
    """The verdict if both orders agree; otherwise a tie."""
    verdicts = set(given.values())
    if len(verdicts) > 1:
        return TIE
    return verdicts.pop() if verdicts else None


def merge_orders(rows: RowSource, how: ReadOptions) -> RowSource:
    """Merge verdicts into one per judge and item, if a column says that pairs were shown in both orders."""
    named = how.choice.named
    shown = [p for p, name in enumerate(rows.names) if says_position(name) and name not in named.values()]
    if len(shown) != 1 or how.choice.needed != VOTE_ROLES or how.choice.columns is not None:
        return rows
    roles = candidate_roles(rows.names, how.choice, rows.source)
    if any(len(roles.get(role, ())) != 1 for role in VOTE_ROLES):
        return rows
    kept = {role: some[0] for role, some in roles.items() if len(some) == 1}
    cells: dict[str, list[Any]] = {role: [] for role in (*kept, "position")}
    for batch in rows.stream([*kept.values(), shown[0]]):
        for role, column in zip(cells, batch, strict=True):
            cells[role] += cell_values(column, rows.kind)
    try:
        first, second = candidates([label for label in cells["label"] if not is_empty(label)])
        in_order = [shown_in_order(value, first, second, rows.source) for value in cells["position"]]
    except (DataError, ConfigError):
        return rows  # not a column with the order of presentation
    keys = list(zip(cells["item"], cells["worker"], strict=True))
    if len(set(zip(keys, in_order, strict=True))) < len(keys) or len(set(keys)) == len(keys):
        return rows
    label_n, places = cells["label"], are_places(keys, cells["label"], cells["position"], (first, second))
    if places:
        label_n = swap_places(label_n, in_order, (first, second))
    seen: dict[tuple[Any, Any], dict[bool, Any]] = {}
    row_of: dict[tuple[Any, Any], int] = {}
    for n, key in enumerate(keys):
        row_of.setdefault(key, n)
        given = seen.setdefault(key, {})
        if not is_empty(label_n[n]):
            given[in_order[n]] = label_n[n]
    table = {rows.names[p]: [cells[role][n] for n in row_of.values()] for role, p in kept.items() if role != "label"}
    table[rows.names[kept["label"]]] = [agreed_verdict(given) for given in seen.values()]
    return as_rows(table, rows, order_notes(list(seen.values()), [str(first), str(second)] if places else []))


def as_rows(table: Mapping[str, list[Any]], rows: RowSource, notes: tuple[Note, ...]) -> RowSource:
    """Replace rows by a table of votes made from them."""
    opened = open_columns(rows.source, list(table), table)
    return replace(opened, format=f"{rows.format}, pairwise judgements", notes=notes)


def order_notes(verdicts: Sequence[Mapping[bool, Any]], places: Sequence[str] = ()) -> tuple[Note, ...]:
    """The note that judges saw both orders, how often verdicts changed, and which labels were read as positions."""
    both = [given for given in verdicts if len(given) == 2]
    facts = {"verdicts": len(both), "changed": sum(given[True] != given[False] for given in both)}
    return (Note(NoteKind.BOTH_ORDERS, {**facts, "places": list(places)}),) if both else ()


def candidates(labels: Sequence[Any]) -> tuple[Any, Any]:
    """The two candidates that verdicts name, apart from ties."""
    named = sort_labels({label for label in labels if not is_tie(label)})
    if len(named) != 2:
        shown = ", ".join(repr(label) for label in named[:6])
        raise DataError(
            f"verdicts on pairs name two candidates and ties, not {shown}. Say which column with {use('label')}."
        )
    return named[0], named[1]


def shown_in_order(value: Any, first: Any, second: Any, source: str) -> bool:
    """Whether a cell in the position column says that the first candidate was shown first."""
    if value in (first, second) and not isinstance(value, bool):
        return bool(value == first)
    as_given = ("original", "normal", "given", "forward", "false", "no", "0", "ab", "first")
    word = str(value).strip().casefold()
    if word in (f"{first}{second}".casefold(), f"{first},{second}".casefold()) or word in as_given:
        return True
    if word in (f"{second}{first}".casefold(), f"{second},{first}".casefold()) or word in SWAPPED:
        return False
    raise ConfigError(
        f"{source}: cannot tell from {value!r} which candidate was shown first. Write its name, {first!r} or "
        f"{second!r}, or AB or BA, or original or swapped."
    )


def are_places(
    keys: Sequence[tuple[Hashable, Hashable]], labels: Sequence[Any], positions: Sequence[Any], pair: tuple[Any, Any]
) -> bool:
    """Whether labels such as A and B are the positions in which candidates were shown, rather than their names.

    `keys` holds the item and judge of each verdict.  Labels are read as positions if `positions` mention swapping and
    each of several judges would otherwise contradict itself on most pairs; a single one may just prefer a position.

    >>> keys = [(q, j) for j in "jk" for q in (1, 1, 2, 2)]
    >>> are_places(keys, list("ABBAABBA"), ["original", "swapped"] * 4, ("A", "B"))
    True
    """
    words = [re.sub("^(assistant|response|model|answer)", "", bare_word(str(one))) for one in pair]
    if not all(word in side for word, side in zip(words, SIDES, strict=True)):
        return False
    if any(str(value).strip().casefold() in ("ab", "ba", *map(str.casefold, map(str, pair))) for value in positions):
        return False
    seen: dict[tuple[Hashable, Hashable], list[Any]] = {}
    for key, label in zip(keys, labels, strict=True):
        seen.setdefault(key, []).append(label)
    differs: dict[Hashable, list[bool]] = {}
    for (_, judge), given in seen.items():
        if len(given) > 1:
            differs.setdefault(judge, []).append(len(set(given)) > 1)
    return len(differs) > 1 and all(sum(some) > len(some) / 2 for some in differs.values())


def swap_places(labels: Sequence[Any], in_order: Sequence[bool], pair: tuple[Any, Any]) -> list[Any]:
    """Turn verdicts that name positions into verdicts that name candidates, A being shown first in the given order.

    >>> swap_places(["A", "B", "tie"], [True, False, False], ("A", "B"))
    ['A', 'A', 'tie']
    """
    other = {pair[0]: pair[1], pair[1]: pair[0]}
    return [x if right or is_empty(x) else other.get(x, x) for x, right in zip(labels, in_order, strict=True)]
