"""Test whether judges prefer the candidate shown first, on pairs that were judged in both orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from majorant.errors import MajorantError
from majorant.read import as_votes
from majorant.read.opening import is_rereadable, open_rows, open_table
from majorant.read.options import ReadOptions, says_position
from majorant.read.pair_orders import are_places, candidates, is_tie, shown_in_order, swap_places
from majorant.read.table import cell_values, is_empty
from majorant.votes import Votes


@dataclass(frozen=True, slots=True)
class Position:
    """How the order of two candidates affects a judge, on items judged in both orders."""

    judge: Hashable
    pairs: int
    consistent: int  # number of pairs with the same verdict in both orders
    first_twice: int  # number of pairs where it chose the candidate shown first both times
    second_twice: int
    p_value: float | None  # exact sign test of first_twice against second_twice


def one_verdict_each(votes: Any, position: str, reading: Any) -> tuple[Votes | None, tuple[Position, ...]]:
    """Keep verdicts that agree in both orders (the rest become abstentions), and measure each judge's position bias."""
    roles = {role: reading.get(role) for role in ("item", "worker", "label")}
    shown, (first, second) = read_shown(votes, position, **roles)
    verdicts: dict[tuple[Any, Any], dict[bool, Any]] = {}
    for verdict in shown:
        verdicts.setdefault((verdict.item, verdict.worker), {})[verdict.in_order] = verdict.label
    rows = [(item, worker, _consistent_verdict(given)) for (item, worker), given in verdicts.items()]
    positions = []
    for judge in dict.fromkeys(verdict.worker for verdict in shown):
        kinds = Counter(
            _classify(given, first, second)
            for (_, worker), given in verdicts.items()
            if worker == judge and len(given) == 2
        )
        n_first, n_second = kinds["first"], kinds["second"]
        positions.append(
            Position(judge, kinds.total(), kinds["same"], n_first, n_second, sign_test(n_first, n_first + n_second))
        )
    table = {"item": [i for i, _, _ in rows], "worker": [w for _, w, _ in rows], "label": [x for *_, x in rows]}
    if not any(label is not None for label in table["label"]):
        return None, tuple(positions)
    return as_votes(table, gold_file=reading.get("gold_file")), tuple(positions)


def _consistent_verdict(given: dict[bool, Any]) -> Any:
    return next(iter(given.values())) if len(set(map(str, given.values()))) == 1 else None


def _classify(given: dict[bool, Any], first: Any, second: Any) -> str:
    if str(given[True]) == str(given[False]):
        return "same"
    if is_tie(given[True]) or is_tie(given[False]):
        return "other"
    return "first" if given[True] == first and given[False] == second else "second"


def sign_test(successes: int, trials: int) -> float | None:
    """Two-sided p-value of the exact sign test; None without trials."""
    from scipy.special import bdtr

    return float(min(1.0, 2 * bdtr(min(successes, trials - successes), trials, 0.5))) if trials else None


class Shown(NamedTuple):
    """A verdict, and whether the candidates were shown in their usual order."""

    item: Any
    worker: Any
    label: Any
    in_order: bool


def read_shown(source: Any, position: str, **named: Any) -> tuple[list[Shown], tuple[Any, Any]]:
    """Read verdicts from a table whose column `position` says which candidate was shown first, and both candidates.

    The column holds the name of the candidate shown first, AB or BA, or whether the pair was swapped.  Rows without a
    verdict are skipped.
    """
    columns: dict[str, list[Any]] = {}
    with open_table(source, ReadOptions(**named, by=position, seconds="", status="")) as table:
        for part in table.parts:
            for role in ("item", "worker", "label", "slice"):
                columns.setdefault(role, []).extend(cell_values(part.columns[role], table.kind))
    rows = list(zip(*(columns[role] for role in ("item", "worker", "label", "slice")), strict=True))
    rows = [row for row in rows if not is_empty(row[2])]
    first, second = candidates([row[2] for row in rows])
    in_order = [shown_in_order(row[3], first, second, table.source) for row in rows]
    label_n = [row[2] for row in rows]
    if are_places([row[:2] for row in rows], label_n, [row[3] for row in rows], (first, second)):
        label_n = swap_places(label_n, in_order, (first, second))
    shown = [Shown(row[0], row[1], label, right) for row, label, right in zip(rows, label_n, in_order, strict=True)]
    return shown, (first, second)


def find_position(source: Any, reading: Mapping[str, Any]) -> str | None:
    """The column that says which candidate was shown first, if pairs were judged in both orders; else None."""
    if not is_rereadable(source):
        return None
    named: dict[str, Any] = {role: reading.get(role) for role in ("item", "worker", "label")}
    try:
        with open_rows(source, ReadOptions(**named)) as every:
            names = [name for name in every[0].names if says_position(name) and name not in named.values()]
        if len(names) != 1:
            return None
        shown, _ = read_shown(source, names[0], **named)
    except MajorantError:  # the error is reported when the votes are read
        return None
    orders: dict[tuple[Any, Any], set[bool]] = {}
    for verdict in shown:
        orders.setdefault((verdict.item, verdict.worker), set()).add(verdict.in_order)
    return names[0] if any(len(both) == 2 for both in orders.values()) else None
