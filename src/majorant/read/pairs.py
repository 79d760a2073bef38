"""Pairwise judgements: tables with columns for two candidates, the winner and the judge.

They are read as votes: an item is a question with a pair of candidates, and a vote is for the winner or for a tie.
Judges may have been asked in both orders (`pair_orders.py`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from majorant.errors import DataError
from majorant.read.options import GOLD_ROLES, VOTE_ROLES, Choice, ReadOptions, bare_word, find_roles, says_position
from majorant.read.pair_orders import SIDES, SWAPPED, TIE, agreed_verdict, as_rows, is_tie, merge_orders, order_notes
from majorant.read.reshape import JOINED_BY
from majorant.read.table import RowSource, cell_values, is_empty
from majorant.votes import Votes

PAIR = "pair"  # the column that names the two candidates
VERSUS = " vs "


@dataclass(frozen=True, slots=True)
class Columns:
    """Column positions in a table of pairwise judgements."""

    item: int | None
    judge: int | None  # None in a table of gold verdicts
    first: int
    second: int
    winner: int
    gold: int | None
    swapped: int | None  # whether the second candidate was shown first
    slice: int | None  # another column to slice by

    @property
    def positions(self) -> list[int]:
        """The positions of all columns."""
        every = (getattr(self, name) for name in self.__slots__)
        return [position for position in every if position is not None]


@dataclass(slots=True)
class Judged:
    """How a judge's verdicts depend on the order of the candidates."""

    judge: Hashable
    both_orders: int = 0
    consistent: int = 0
    first_twice: int = 0
    second_twice: int = 0
    for_first: int = 0  # verdicts for the candidate shown first
    for_second: int = 0

    def count(self, given: Mapping[bool, Any], pair: tuple[Any, Any]) -> None:
        """Count this judge's verdicts on a pair, by whether the first candidate was shown first."""
        for in_order, verdict in given.items():
            shown = pair if in_order else pair[::-1]
            self.for_first += verdict == shown[0]
            self.for_second += verdict == shown[1]
        if len(given) == 2:
            self.both_orders += 1
            self.consistent += given[True] == given[False]
            self.first_twice += (given[True], given[False]) == pair
            self.second_twice += (given[False], given[True]) == pair


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairwise judgements as votes: slices are pairs of candidates, labels are their names and "tie"."""

    votes: Votes
    candidates: tuple[tuple[Hashable, Hashable], ...]  # pair of each slice
    judged: tuple[Judged, ...]


def find_columns(names: Sequence[str], choice: Choice, source: str) -> Columns | None:
    """The columns of a table of pairwise judgements; None for any other table.

    >>> find_columns(["question_id", "model_a", "model_b", "judge", "winner"], Choice.of(), "arena.csv").winner
    4
    """
    candidate = re.compile(
        r"(model|system|assistant|candidate|player|generator|modelname|modelid)(a|b|1|2|left|right|first|second)"
    )
    sides: dict[str, list[int]] = {}
    for p, name in enumerate(names):
        match = candidate.fullmatch(re.sub(r"[\W_]+", "", name).casefold())
        if match is not None:
            sides.setdefault(match[1], []).append(p)
    pair = next((places for places in sides.values() if len(places) == 2), None)
    if pair is None or choice.columns is not None:
        return None
    swapped = [p for p, name in enumerate(names) if says_position(name)]
    left = ["" if p in (*pair, *swapped) else name for p, name in enumerate(names)]  # not items or workers
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
class _Layout:
    """Votes under construction."""

    rows: dict[tuple[str, Any], dict[bool, Any]] = field(default_factory=dict)  # (item, judge) -> verdict by order
    pair_of: dict[str, str] = field(default_factory=dict)
    gold_of: dict[str, Any] = field(default_factory=dict)
    slice_of: dict[str, Any] = field(default_factory=dict)
    candidates: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    n_rows: int = 0


def lay_out_pairs(rows: RowSource, how: ReadOptions) -> RowSource:
    """Turn a table of pairwise judgements into votes (or gold labels); return any other table unchanged."""
    if not rows.named or not rows.again or how.wide or how.choice.needed not in (VOTE_ROLES, GOLD_ROLES):
        return rows
    columns = find_columns(rows.names, how.choice, rows.source)
    if columns is None:
        return merge_orders(rows, how)
    layout = _lay_out(rows, columns)
    items = [item for item, _ in layout.rows]
    by_role: dict[str, list[Any]] = {"item": items}
    if columns.judge is not None:
        by_role["worker"] = [judge for _, judge in layout.rows]
    by_role["gold" if columns.judge is None else "label"] = [agreed_verdict(given) for given in layout.rows.values()]
    if layout.gold_of:
        by_role["gold"] = [layout.gold_of.get(item) for item in items]
    if layout.slice_of:
        by_role["slice"] = [layout.slice_of.get(item) for item in items]
    named = {role: str(name) for role, name in how.choice.named.items() if name}  # the caller's column names
    table = {named.get(role, role): values for role, values in by_role.items()}
    table.setdefault(PAIR, [layout.pair_of[item] for item in items])
    notes = order_notes(list(layout.rows.values())) if columns.judge is not None else ()
    return as_rows(table, rows, notes)


def read_pairs(source: Any, how: ReadOptions | None = None) -> Pairs | None:
    """Read pairwise judgements, with the order in which candidates were shown; None for any other table.

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
        layout = _lay_out(every[0], columns)
    votes = read_with(source, replace(how, by=PAIR))
    judged: dict[Any, Judged] = {}
    for (item, judge), given in layout.rows.items():
        if given:
            judged.setdefault(judge, Judged(judge)).count(given, layout.candidates[layout.pair_of[item]])
    return Pairs(votes, tuple(layout.candidates[str(name)] for name in votes.slices), tuple(judged.values()))


def _lay_out(rows: RowSource, columns: Columns) -> _Layout:
    layout, wanted = _Layout(), columns.positions
    for batch in rows.stream(wanted):
        cells = dict(zip(wanted, (cell_values(column, rows.kind) for column in batch), strict=True))
        for n in range(len(cells[columns.first])):
            _add(layout, {p: cells[p][n] for p in wanted}, columns, rows)
            layout.n_rows += 1
    return layout


def _add(layout: _Layout, row: Mapping[int, Any], columns: Columns, rows: RowSource) -> None:
    where = f"{rows.source}, {rows.unit} {rows.first_row + layout.n_rows}"
    first, second = row[columns.first], row[columns.second]
    if is_empty(first) or is_empty(second) or str(first) == str(second):
        raise DataError(f"{where}: a pair needs two candidates, not {first!r} and {second!r}.")
    swapped = columns.swapped is not None and str(row[columns.swapped]).strip().casefold() in SWAPPED
    low, high = sorted((first, second), key=str)
    pair = f"{low}{VERSUS}{high}"
    layout.candidates[pair] = (low, high)
    item = pair if columns.item is None else f"{row[columns.item]}{JOINED_BY}{pair}"
    layout.pair_of[item] = pair
    if columns.slice is not None:
        layout.slice_of[item] = row[columns.slice]
    names = (rows.names[columns.first], rows.names[columns.second])
    if columns.gold is not None and not is_empty(row[columns.gold]):
        layout.gold_of[item] = _winner(row[columns.gold], (first, second), names, swapped=swapped, where=where)
    verdict = None
    if not is_empty(row[columns.winner]):
        verdict = _winner(row[columns.winner], (first, second), names, swapped=swapped, where=where)
    judge = None if columns.judge is None else row[columns.judge]
    given = layout.rows.setdefault((item, judge), {})
    in_order = (low == first) != swapped  # whether the first of the sorted pair was shown first
    if in_order in given and given[in_order] != verdict and verdict is not None:
        raise DataError(
            f"{where}: judge {judge!r} judged {item!r} twice in the same order, {verdict!r} after "
            f"{given[in_order]!r}. Keep one."
        )
    if verdict is not None:
        given[in_order] = verdict


def _winner(value: Any, pair: tuple[Any, Any], names: tuple[str, str], *, swapped: bool, where: str) -> Any:
    """The candidate that a cell gives by name, column or place; or a tie."""
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
