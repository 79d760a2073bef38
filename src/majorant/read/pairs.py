"""Pairwise judgements: tables with two candidates, a winner and a judge, perhaps in both orders.

They are laid out as votes: an item is a question and a pair of candidates, a vote names the winner or says tie.  A
judge asked in both orders has one vote: the verdict if both agree, otherwise a tie.  Without columns for the
candidates, a column such as `order` says which of them was shown first.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.read.options import (
    GOLD_ROLES,
    VOTE_ROLES,
    Choice,
    ReadOptions,
    bare_word,
    candidate_roles,
    find_roles,
    says_position,
)
from majorant.read.reshape import JOINED_BY
from majorant.read.table import RowSource, cell_values, is_empty, open_columns, sort_labels
from majorant.votes import Note, NoteKind, Votes

TIE = "tie"
PAIR = "pair"  # the column that names the two candidates
VERSUS = " vs "
CANDIDATE = re.compile(
    r"(model|system|assistant|candidate|player|generator|modelname|modelid)(a|b|1|2|left|right|first|second)"
)
SIDES = (frozenset(["a", "1", "left", "first"]), frozenset(["b", "2", "right", "second"]))
TIE_WORDS = frozenset(
    ["tie", "tied", "draw", "equal", "same", "both", "neither", "none", "t", "c", "ab", "no preference"]
)
SWAPPED = frozenset(["swapped", "swap", "reversed", "reverse", "true", "yes", "1", "ba", "second"])
AS_GIVEN = frozenset(["original", "normal", "given", "forward", "false", "no", "0", "ab", "first"])


def is_tie(label: Any) -> bool:
    """Whether a verdict prefers neither candidate.

    >>> is_tie("Tie"), is_tie("tie (bothbad)"), is_tie("A")
    (True, True, False)
    """
    words = re.sub(r"[\W_]+", " ", str(label)).strip().casefold()
    return words in TIE_WORDS or words.split(" ")[0] in ("tie", "tied")


@dataclass(frozen=True, slots=True)
class Columns:
    """Column positions in a table of pairwise judgements."""

    item: int | None
    judge: int | None  # None in a table of gold verdicts
    first: int
    second: int
    winner: int
    gold: int | None
    swapped: int | None  # whether the second candidate stood first
    slice: int | None  # a further column by which the caller slices


@dataclass(slots=True)
class Judged:
    """How a judge's verdicts depend on the order of the candidates."""

    judge: Hashable
    both_orders: int = 0
    consistent: int = 0
    first_twice: int = 0
    second_twice: int = 0
    for_first: int = 0  # verdicts in favour of the candidate that stood first
    for_second: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairwise judgements as votes: slices are pairs of candidates, labels their names and tie."""

    votes: Votes
    candidates: tuple[tuple[Hashable, Hashable], ...]  # of each slice
    judged: tuple[Judged, ...]


def find_columns(names: Sequence[str], choice: Choice, source: str) -> Columns | None:
    """The columns of a table of pairwise judgements; None for any other table.

    >>> find_columns(["question_id", "model_a", "model_b", "judge", "winner"], Choice.of(), "arena.csv").winner
    4
    """
    sides: dict[str, list[int]] = {}
    for p, name in enumerate(names):
        match = CANDIDATE.fullmatch(re.sub(r"[\W_]+", "", name).casefold())
        if match is not None:
            sides.setdefault(match[1], []).append(p)
    pair = next((places for places in sides.values() if len(places) == 2), None)
    if pair is None or choice.columns is not None:
        return None
    swapped = [p for p, name in enumerate(names) if says_position(name)]
    left = ["" if p in (*pair, *swapped) else name for p, name in enumerate(names)]  # neither items nor workers
    named = {role: name for role, name in choice.named.items() if name != PAIR}
    roles = find_roles(left, replace(choice, named=named, needed=()), source)
    winner = roles.get("label", roles.get("gold"))
    if winner is None or (choice.needed == VOTE_ROLES and "worker" not in roles):
        return None
    return Columns(
        item=roles.get("item"),
        judge=roles.get("worker") if choice.needed == VOTE_ROLES else None,
        first=pair[0],
        second=pair[1],
        winner=winner,
        gold=roles.get("gold") if roles.get("gold") != winner else None,
        swapped=swapped[0] if len(swapped) == 1 else None,
        slice=roles.get("slice"),
    )


@dataclass(slots=True)
class _Laid:
    """Votes under construction."""

    rows: dict[tuple[str, Any], dict[bool, Any]] = field(default_factory=dict)  # (item, judge) -> verdict by order
    pair_of: dict[str, str] = field(default_factory=dict)
    gold_of: dict[str, Any] = field(default_factory=dict)
    slice_of: dict[str, Any] = field(default_factory=dict)
    candidates: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    judged: dict[Any, Judged] = field(default_factory=dict)
    n_rows: int = 0


def lay_out_pairs(rows: RowSource, how: ReadOptions) -> RowSource:
    """The rows of a table of pairwise judgements as votes (or gold labels); the rows of any other table as they are."""
    if not rows.named or not rows.again or how.wide or how.choice.needed not in (VOTE_ROLES, GOLD_ROLES):
        return rows
    columns = find_columns(rows.names, how.choice, rows.source)
    if columns is None:
        return _lay_out_orders(rows, how)
    laid = _lay_out(rows, columns)
    items = [item for item, _ in laid.rows]
    by_role: dict[str, list[Any]] = {"item": items}
    if columns.judge is not None:
        by_role["worker"] = [judge for _, judge in laid.rows]
    by_role["gold" if columns.judge is None else "label"] = [_held(given) for given in laid.rows.values()]
    if laid.gold_of:
        by_role["gold"] = [laid.gold_of.get(item) for item in items]
    if laid.slice_of:
        by_role["slice"] = [laid.slice_of.get(item) for item in items]
    named = {role: str(name) for role, name in how.choice.named.items() if name}  # as the caller calls its columns
    table = {named.get(role, role): values for role, values in by_role.items()}
    table.setdefault(PAIR, [laid.pair_of[item] for item in items])
    notes = _order_notes(list(laid.rows.values())) if columns.judge is not None else ()
    return _as_rows(table, rows, notes)


def _as_rows(table: Mapping[str, list[Any]], rows: RowSource, notes: tuple[Note, ...]) -> RowSource:
    opened = open_columns(rows.source, list(table), table)
    return replace(opened, format=f"{rows.format}, pairwise judgements", notes=notes)


def _order_notes(verdicts: Sequence[Mapping[bool, Any]], places: Sequence[str] = ()) -> tuple[Note, ...]:
    """That judges saw both orders, how often that changed the verdict, and the labels that were read as places."""
    both = [given for given in verdicts if len(given) == 2]
    facts = {"verdicts": len(both), "changed": sum(given[True] != given[False] for given in both)}
    return (Note(NoteKind.BOTH_ORDERS, {**facts, "places": list(places)}),) if both else ()


def _lay_out_orders(rows: RowSource, how: ReadOptions) -> RowSource:
    """One verdict for each judge and item, where a column says that pairs were shown in two orders."""
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
        return rows  # not a column of presentation orders
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
    table[rows.names[kept["label"]]] = [_held(given) for given in seen.values()]
    return _as_rows(table, rows, _order_notes(list(seen.values()), [str(first), str(second)] if places else []))


def candidates(labels: Sequence[Any]) -> tuple[Any, Any]:
    """The two candidates that verdicts name, ties apart."""
    named = sort_labels({label for label in labels if not is_tie(label)})
    if len(named) != 2:
        shown = ", ".join(repr(label) for label in named[:6])
        raise DataError(f"verdicts on pairs name two candidates and ties, not {shown}. Say which column with label=.")
    return named[0], named[1]


def shown_in_order(value: Any, first: Any, second: Any, source: str) -> bool:
    """Whether a cell of the column of positions says that the first candidate was shown first."""
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


def are_places(
    keys: Sequence[tuple[Hashable, Hashable]], labels: Sequence[Any], positions: Sequence[Any], pair: tuple[Any, Any]
) -> bool:
    """Whether labels such as A and B are the places in which a judge saw the candidates, and not their names.

    `keys` holds the item and the judge of each verdict.  They are taken for places if `positions` mention swapping and
    each of several judges contradicts itself on most pairs otherwise: one such judge may just prefer a place.

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
    """Verdicts that name places as verdicts that name candidates: A is the one that is shown first in order.

    >>> swap_places(["A", "B", "tie"], [True, False, False], ("A", "B"))
    ['A', 'A', 'tie']
    """
    other = {pair[0]: pair[1], pair[1]: pair[0]}
    return [x if right or is_empty(x) else other.get(x, x) for x, right in zip(labels, in_order, strict=True)]


def read_pairs(source: Any, how: ReadOptions | None = None) -> Pairs | None:
    """Pairwise judgements with who took which side; None for any other table.

    >>> table = {"question": [1, 1, 2, 2], "model_a": list("xyxy"), "model_b": list("yxyx"), "judge": ["j"] * 4,
    ...          "winner": ["A", "B", "A", "A"]}
    >>> pairs = read_pairs(table)
    >>> pairs.candidates, pairs.votes.to_dict()["label"], pairs.judged[0].first_twice
    ((('x', 'y'),), ['x', 'tie'], 1)
    """
    from majorant.read import read_with
    from majorant.read.opening import is_rereadable, open_rows

    if not is_rereadable(source):
        return None
    how = ReadOptions() if how is None else how
    with open_rows(source, how) as every:
        if len(every) != 1 or not every[0].named or how.wide:
            return None
        columns = find_columns(every[0].names, how.choice, every[0].source)
        if columns is None:
            return None
        laid = _lay_out(every[0], columns)
    votes = read_with(source, replace(how, by=PAIR))
    return Pairs(votes, tuple(laid.candidates[str(name)] for name in votes.slices), tuple(laid.judged.values()))


def _lay_out(rows: RowSource, columns: Columns) -> _Laid:
    laid, wanted = _Laid(), [p for p in _positions(columns) if p is not None]
    for batch in rows.stream(wanted):
        cells = dict(zip(wanted, (cell_values(column, rows.kind) for column in batch), strict=True))
        for n in range(len(cells[columns.first])):
            _add(laid, {p: cells[p][n] for p in wanted}, columns, rows)
            laid.n_rows += 1
    return laid


def _positions(columns: Columns) -> tuple[int | None, ...]:
    return (
        columns.first, columns.second, columns.winner, columns.item, columns.judge, columns.gold, columns.swapped,
        columns.slice,
    )  # fmt: skip


def _add(laid: _Laid, row: Mapping[int, Any], columns: Columns, rows: RowSource) -> None:
    where = f"{rows.source}, {rows.unit} {rows.first_row + laid.n_rows}"
    first, second = row[columns.first], row[columns.second]
    if is_empty(first) or is_empty(second) or str(first) == str(second):
        raise DataError(f"{where}: a pair needs two candidates, not {first!r} and {second!r}.")
    swapped = columns.swapped is not None and str(row[columns.swapped]).strip().casefold() in SWAPPED
    low, high = sorted((first, second), key=str)
    pair = f"{low}{VERSUS}{high}"
    laid.candidates[pair] = (low, high)
    item = pair if columns.item is None else f"{row[columns.item]}{JOINED_BY}{pair}"
    laid.pair_of[item] = pair
    if columns.slice is not None:
        laid.slice_of[item] = row[columns.slice]
    names = (rows.names[columns.first], rows.names[columns.second])
    if columns.gold is not None and not is_empty(row[columns.gold]):
        laid.gold_of[item] = _winner(row[columns.gold], (first, second), names, swapped=swapped, where=where)
    verdict = None
    if not is_empty(row[columns.winner]):
        verdict = _winner(row[columns.winner], (first, second), names, swapped=swapped, where=where)
    judge = None if columns.judge is None else row[columns.judge]
    given = laid.rows.setdefault((item, judge), {})
    in_order = (low == first) != swapped  # whether the candidate that is listed first was shown first
    if in_order in given and given[in_order] != verdict and verdict is not None:
        raise DataError(
            f"{where}: judge {judge!r} judged {item!r} twice in the same order, {verdict!r} after "
            f"{given[in_order]!r}. Keep one."
        )
    if verdict is None or in_order in given:
        return
    given[in_order] = verdict
    if judge is not None:
        _count(laid.judged.setdefault(judge, Judged(judge)), given, in_order, (low, high))


def _count(judged: Judged, given: Mapping[bool, Any], in_order: bool, pair: tuple[Any, Any]) -> None:
    shown = pair if in_order else pair[::-1]
    if given[in_order] in shown:
        judged.for_first += given[in_order] == shown[0]
        judged.for_second += given[in_order] == shown[1]
    if len(given) < 2:
        return
    judged.both_orders += 1
    judged.consistent += given[True] == given[False]
    judged.first_twice += given[True] == pair[0] and given[False] == pair[1]
    judged.second_twice += given[True] == pair[1] and given[False] == pair[0]


def _held(given: Mapping[bool, Any]) -> Any:
    """The verdict that holds in every order that was asked; a judge who contradicts itself sees no difference."""
    verdicts = set(given.values())
    if len(verdicts) > 1:
        return TIE
    return verdicts.pop() if verdicts else None


def _winner(value: Any, pair: tuple[Any, Any], names: tuple[str, str], *, swapped: bool, where: str) -> Any:
    """The candidate that a cell names: by its name, by its column or by where it stood; or tie."""
    text = str(value).strip().casefold()
    for candidate, name in zip(pair, names, strict=True):
        if text in (str(candidate).strip().casefold(), name.casefold()):
            return candidate
    if is_tie(value) and text != "ab":
        return TIE
    word = re.sub("^(assistant|response|model|answer)", "", bare_word(text))
    for place, words in enumerate(SIDES):
        if word in words:
            return pair[place != swapped]
    raise DataError(f"{where}: winner {value!r} is neither {pair[0]!r} nor {pair[1]!r}, nor a place (A, B) or tie.")
