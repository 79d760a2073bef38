"""Judges against gold or human labels: how often each is right, whom it repeats, whether a gate may rest on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant import wording
from majorant.defaults import LEVEL
from majorant.errors import ConfigError, DataError, MajorantError
from majorant.evidence.certificate.dependence import ENOUGH_GOLD, gold_items, label_matrix, worth_by_gold
from majorant.read import Reading, as_votes
from majorant.read.columns import says_position
from majorant.read.opening import is_rereadable, open_rows, open_table
from majorant.read.options import ReadOptions
from majorant.read.pairs import is_tie
from majorant.read.values import cell_values, is_empty, sort_labels
from majorant.tally import counts
from majorant.values import Estimate, as_level, clopper_pearson, lock
from majorant.votes import Votes
from majorant.wording import NO_GOLD_JUDGED, too_few_gold

JUDGE_BAR = 0.9
PANEL = "majority vote"
LISTED = 5
MOST_JUDGES = 100
FEW_GOLD = too_few_gold(ENOUGH_GOLD)
SWAPPED = frozenset(["swapped", "swap", "reversed", "reverse", "true", "yes", "1", "ba", "second"])
AS_GIVEN = frozenset(["original", "normal", "given", "forward", "false", "no", "0", "ab", "first"])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judge:
    """One judge, or the panel by majority vote, on the items with a gold label."""

    name: Hashable
    right: int
    judged: int  # items with gold that it labels; of the panel, ties as well, which are not right
    accuracy: Estimate  # exact, and true for all judges at once at the level
    kappa: float | None  # Cohen's, with gold
    confusion_kl: NDArray[np.int64]  # gold class by given label
    wrong: tuple[Hashable, ...]  # the first items on which it is wrong

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True)
class Repeats:
    """Two judges who agree; with gold, on how many items both are wrong, of those on which either is."""

    first: Hashable
    second: Hashable
    common: int
    agreed: float
    both_wrong: int
    either_wrong: int


@dataclass(frozen=True, slots=True)
class Position:
    """How a judge takes the order of two candidates: items that it judges in both orders."""

    judge: Hashable
    pairs: int
    consistent: int  # the same verdict in both orders
    first_twice: int  # whichever stands first
    second_twice: int
    p_value: float | None  # exact: an unbiased judge contradicts itself either way alike


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judges:
    """Each judge against gold, the panel, who repeats whom, the order of candidates, and the answer in a sentence."""

    judges: tuple[Judge, ...]
    panel: Judge | None
    repeats: tuple[Repeats, ...]
    positions: tuple[Position, ...]
    worth: Estimate  # as many independent judges would be as precise as those of an item, by gold
    labels: tuple[Hashable, ...]
    n_gold: int
    bar: float
    level: float
    gate: str  # the sentence


def judges(
    votes: Any, *, bar: float = JUDGE_BAR, level: float = LEVEL, position: str | None = None, **reading: Unpack[Reading]
) -> Judges:
    """How good judges are by gold labels, and whether they are good enough to gate on: right `bar` of the time.

    Assumes that gold items are a random sample of those to be gated; nothing about how judges err.  All intervals hold
    together at `level` (Bonferroni).  Without gold nothing is promised: a panel may err together.  `position` names the
    column that says which of two candidates stood first, where pairs were judged in both orders; one that is called
    order, position or swapped is found.

    >>> table = {"item": [1, 1, 2, 2], "judge": ["a", "b"] * 2, "verdict": [1, 0, 0, 0], "gold": [1, 1, 0, 0]}
    >>> found = judges(table)
    >>> [(one.name, one.right, one.judged) for one in found.judges]
    [('a', 2, 2), ('b', 1, 2)]
    >>> found.gate
    'Not known yet: 2 gold labels are too few to tell whether any judge is right 90 % of the time.'
    """
    as_level(level)
    if position is None and not isinstance(votes, Votes):
        position = find_position(votes, reading)
    table = _one_verdict_each(votes, position, reading) if position else None
    known = as_votes(votes, **reading) if table is None else table[0]
    if known is None or known.gold_i is None or not (known.gold_i >= 0).any() or len(known.workers) > MOST_JUDGES:
        each: list[Judge] = []
        panel = None
    else:
        share = 1 - (1 - level) / (len(known.workers) + 1)
        each = [_judge(known, j, share) for j in range(len(known.workers))]
        panel = _panel(known, share)
    n_gold = 0 if known is None or known.gold_i is None else int((known.gold_i >= 0).sum())
    every = [*each, *([panel] if panel else [])]
    return Judges(
        judges=tuple(each),
        panel=panel,
        repeats=() if known is None else _repeats(known),
        positions=() if table is None else table[1],
        worth=Estimate(None, reason=FEW_GOLD) if known is None or not each else _worth(known, level),
        labels=() if known is None else known.labels,
        n_gold=n_gold,
        bar=bar,
        level=level,
        gate=wording.gate_sentence(
            [(str(judge.name), *judge.accuracy.ends) for judge in every if judge.judged],
            bar=bar,
            level=level,
            n_gold=n_gold,
        ),
    )


def _worth(votes: Votes, level: float) -> Estimate:
    """How many independent judges the votes on an item are worth, by the errors on gold items."""
    label_ij = label_matrix(votes)
    gold = gold_items(label_ij, votes.gold_i, np.ones(len(label_ij)), len(votes.labels))
    return Estimate(None, reason=FEW_GOLD) if gold is None else worth_by_gold(gold, level)


def _judge(votes: Votes, j: int, level: float) -> Judge:
    assert votes.gold_i is not None
    own = np.flatnonzero((votes.worker_n == j) & (votes.gold_i[votes.item_n] >= 0))
    return _against(votes, votes.workers[j], votes.item_n[own], votes.label_n[own], level)


def _panel(votes: Votes, level: float) -> Judge:
    """Majority vote on the items with gold; a tie is a verdict that is not right."""
    assert votes.gold_i is not None
    counts_ik = counts(votes)
    top_i = counts_ik.max(axis=1)
    clear = ((counts_ik == top_i[:, None]).sum(axis=1) == 1) & (votes.gold_i >= 0)
    item_p = np.flatnonzero(clear)
    n_tied = int(((votes.gold_i >= 0) & (votes.votes_i > 0)).sum()) - len(item_p)
    return _against(votes, PANEL, item_p, counts_ik[item_p].argmax(axis=1), level, n_tied=n_tied)


def _against(votes: Votes, name: Hashable, item_p: Any, label_p: Any, level: float, *, n_tied: int = 0) -> Judge:
    assert votes.gold_i is not None
    n_classes = len(votes.labels)
    confusion_kl = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion_kl, (votes.gold_i[item_p], label_p), 1)
    right, judged = int(np.trace(confusion_kl)), int(confusion_kl.sum()) + n_tied
    accuracy = (
        Estimate(right / judged, *clopper_pearson(right, judged, level))
        if judged
        else Estimate(None, reason=NO_GOLD_JUDGED)
    )
    off = item_p[votes.gold_i[item_p] != label_p][:LISTED]
    return Judge(
        name=name, right=right, judged=judged, accuracy=accuracy, kappa=_kappa(confusion_kl),
        confusion_kl=confusion_kl, wrong=tuple(votes.items[i] for i in off),
    )  # fmt: skip


def _kappa(confusion_kl: NDArray[np.int64]) -> float | None:
    total = confusion_kl.sum()
    if not total:
        return None
    chance = float(confusion_kl.sum(axis=0) @ confusion_kl.sum(axis=1)) / total**2
    return None if chance >= 1 else float((np.trace(confusion_kl) / total - chance) / (1 - chance))


def _repeats(votes: Votes, least: int = 2) -> tuple[Repeats, ...]:
    """All pairs of judges by how often they agree, those who agree most first."""
    if len(votes.workers) > MOST_JUDGES:
        return ()
    given = np.full((len(votes.workers), len(votes.items)), -1, dtype=np.int64)
    given[votes.worker_n, votes.item_n] = votes.label_n
    gold_i = np.full(len(votes.items), -1) if votes.gold_i is None else votes.gold_i
    pairs = []
    for a in range(len(given)):
        for b in range(a + 1, len(given)):
            both = (given[a] >= 0) & (given[b] >= 0)
            if both.sum() < least:
                continue
            off_a, off_b = (both & (gold_i >= 0) & (given[judge] != gold_i) for judge in (a, b))
            agreed = float((given[a][both] == given[b][both]).mean())
            pairs.append(
                Repeats(
                    votes.workers[a], votes.workers[b], int(both.sum()), agreed,
                    int((off_a & off_b).sum()), int((off_a | off_b).sum()),
                )
            )  # fmt: skip
    return tuple(sorted(pairs, key=lambda pair: -pair.agreed))


def _one_verdict_each(votes: Any, position: str, reading: Any) -> tuple[Votes | None, tuple[Position, ...]]:
    """The verdicts that hold in both orders as votes, others as abstentions; and how each judge takes the order."""
    roles = {role: reading.get(role) for role in ("item", "worker", "label")}
    shown, (first, second) = read_shown(votes, position, **roles)
    seen: dict[tuple[Any, Any], dict[bool, Any]] = {}
    for verdict in shown:
        seen.setdefault((verdict.item, verdict.worker), {})[verdict.in_order] = verdict.label
    rows = [(item, worker, _held(given)) for (item, worker), given in seen.items()]
    positions = []
    for judge in dict.fromkeys(verdict.worker for verdict in shown):
        kinds = Counter(
            _kind(given, first, second) for (_, worker), given in seen.items() if worker == judge and len(given) == 2
        )
        n_first, n_second = kinds["first"], kinds["second"]
        positions.append(
            Position(judge, kinds.total(), kinds["same"], n_first, n_second, sign_test(n_first, n_first + n_second))
        )
    table = {"item": [i for i, _, _ in rows], "worker": [w for _, w, _ in rows], "label": [x for *_, x in rows]}
    if not any(label is not None for label in table["label"]):
        return None, tuple(positions)
    return as_votes(table, gold_file=reading.get("gold_file")), tuple(positions)


def _held(given: dict[bool, Any]) -> Any:
    return next(iter(given.values())) if len(set(map(str, given.values()))) == 1 else None


def _kind(given: dict[bool, Any], first: Any, second: Any) -> str:
    if str(given[True]) == str(given[False]):
        return "same"
    if is_tie(given[True]) or is_tie(given[False]):
        return "other"
    return "first" if given[True] == first and given[False] == second else "second"


def sign_test(successes: int, trials: int) -> float | None:
    """Twice the chance of at most so few of the rarer outcome in so many fair tosses, at most 1."""
    from scipy.special import bdtr

    return float(min(1.0, 2 * bdtr(min(successes, trials - successes), trials, 0.5))) if trials else None


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
    if not is_rereadable(source):
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
