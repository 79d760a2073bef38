"""Rank systems: which differences are real, which systems cannot be told apart, and what would separate the next pair.

Differences are measured within questions where several systems answered the same ones.  A few labels drawn at random,
question by question, give each difference its interval at this number of labels (`ask/at_n.py`).  A rank is about more
than the questions at hand, so these count as a sample of questions like them: even if all are labelled, close systems
may not be told apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.ask.at_n import LEAST_UNITS, CrossFit, Measured, Residuals, reject
from majorant.defaults import LEVEL
from majorant.display import show
from majorant.errors import ConfigError, DataError, use
from majorant.read import as_votes, read_with
from majorant.read.options import ReadOptions
from majorant.read.pairs import read_pairs
from majorant.results.rate_inputs import Labelled, Measure, Order, Target, find_questions, find_target, read_labelled
from majorant.results.rate_panel import Panel
from majorant.tabular import Records, Tabular
from majorant.values import FloatArray, as_generator, as_level
from majorant.votes import Votes

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A system, its rate, and the ranks that the labels leave open."""

    name: Hashable
    value: float | None  # in the unit of the labels; None without labels
    low: float | None
    high: float | None
    first: int  # best rank that is left open; without labels, its best rank by any judge
    last: int  # worst rank that is left open; without labels, its worst rank by any judge
    tier: int | None
    said: float  # what the judges say: the rate by majority vote, or their mean score
    n_items: int
    labels: int

    def row(self) -> dict[str, Any]:
        """The system as plain values."""
        names = ("name", "value", "low", "high", "first", "last", "tier", "said", "n_items", "labels")
        return {name.removeprefix("n_"): getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two systems, the one that seems better first."""

    a: Hashable
    b: Hashable
    difference: float  # the rate of a minus that of b
    low: float | None  # None with too few labels in common
    high: float | None
    decided: bool  # at this number of labels
    n_units: int  # questions that both answered, or items of both
    units: int  # of which are labelled
    more: int | None  # about how many more labelled units would decide it; 0: decided, None: the file is too small

    def row(self) -> dict[str, Any]:
        """The pair as plain values."""
        names = ("a", "b", "difference", "low", "high", "decided", "n_units", "units", "more")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Ranking(Tabular):
    """The result of `rank`: systems from best to worst, with what the labels decide about them."""

    measure: Measure
    label: Hashable | None
    limits: tuple[float, float]
    systems: Records[System]  # best first
    pairs: Records[Pair]  # empty without labels
    paired: bool  # whether systems are compared within questions
    labels: int
    units: int  # labelled questions, or labelled items
    n_units: int
    skipped: int  # drawn items without a label
    order: Order
    level: float

    @property
    def tiers(self) -> tuple[tuple[Hashable, ...], ...]:
        """Systems that cannot be told apart from the best of their tier; empty without labels."""
        numbers = sorted({one.tier for one in self.systems if one.tier is not None})
        return tuple(tuple(one.name for one in self.systems if one.tier == tier) for tier in numbers)

    @property
    def decided(self) -> int:
        """Number of pairs decided."""
        return sum(pair.decided for pair in self.pairs)

    @property
    def next_pair(self) -> Pair | None:
        """The undecided pair that needs the fewest further labels."""
        open_pairs = [pair for pair in self.pairs if not pair.decided and pair.more is not None]
        return min(open_pairs, key=lambda pair: pair.more or 0, default=None)

    @property
    def items_per_unit(self) -> float:
        """Number of items of a question, or 1."""
        return sum(one.n_items for one in self.systems) / max(self.n_units, 1) if self.paired else 1.0

    def table(self) -> dict[str, Any]:
        """One row for each system."""
        return self.systems.table()

    def plot(self) -> Any:
        """A matplotlib Figure: intervals of the systems, with brackets around those not told apart."""
        return show("figures.rank.ranking_figure", self)

    def __repr__(self) -> str:
        if not self.pairs:
            return (
                f"Ranking: {len(self.systems)} systems, not known without labels; to_pandas() gives the judges' ranks"
            )
        tiers = "; ".join(", ".join(map(str, tier)) for tier in self.tiers)
        return (
            f"Ranking: {tiers}\n{self.decided} of {len(self.pairs)} pairs decided; to_pandas() gives a row per system"
        )


def rank(
    votes: Any,
    gold: Any = None,
    *,
    by: str | None = None,
    pair: str | None = None,
    label: Hashable = None,
    limits: tuple[float, float] | None = None,
    level: float = LEVEL,
    rng: int | np.random.Generator = 0,
    label_column: str | None = None,
    **reading: Any,
) -> Ranking:
    """Rank systems by the share of a class or by their mean score, from votes and a few labels.

    Parameters
    ----------
    votes : Votes, or anything that `mj.read` takes
        The votes of the judges on the answers of the systems.
    gold : path, frame, Series or dict of item -> label; or the name of a column of the votes
        Labels of questions (or items) drawn uniformly at random, for all systems; `majorant ask --by` draws them.
    by : str
        Column that names the system; not needed if the votes were read with it.
    pair : str, optional
        Column that names the question, if several systems answered the same ones.  It is found automatically if items
        are named by question and system.
    label : a label of the votes
        The class to measure; by default the obvious one (pass, yes, correct, 1).  Numeric labels without it are scores.
    limits : (low, high)
        The range of scores, if it is not 0 to 1, 1 to 5, 1 to 10 or 0 to 100.
    level : float
        Probability with which no pair is decided wrongly, if the number of labels was fixed before looking.
    rng : int or Generator
        Random seed; used to shuffle labels whose order is unknown.
    label_column : str
        Column with the votes' labels, if it is not detected; `mj.read` calls this `label`.
    **reading
        How to read the votes, as for `mj.read`.

    Returns
    -------
    Ranking
        `.systems`, `.pairs`, `.tiers`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = {(q, s): rng.random() < p for s, p in (("old", .5), ("new", .8)) for q in range(200)}
    >>> rows = [(f"{q},{s}", s, j, t if rng.random() < .8 else not t) for (q, s), t in truth.items() for j in "abc"]
    >>> frame = dict(zip(("item", "system", "judge", "label"), zip(*rows)))
    >>> gold = {f"{q},{s}": truth[q, s] for q in range(60) for s in ("old", "new")}
    >>> ranking = rank(frame, gold, by="system", label=True)
    >>> ranking.tiers, ranking.pairs[0].decided
    ((('new',), ('old',)), True)
    """
    reading |= {} if label_column is None else {"label": label_column}
    how = ReadOptions.of(reading)
    column = gold if isinstance(gold, str) and not _is_file(gold) else None
    if isinstance(votes, Votes):
        if column is not None:
            raise DataError(f"gold: there is no file {gold!r}. To use a column, give its name when you read the votes.")
        if pair is not None:
            raise ConfigError(f"These votes have already been read. Pass the table itself, with {use('pair', pair)}.")
        table, question_i = as_votes(votes, **reading), None
        if table.slice_i is None:
            raise ConfigError("These votes were read without systems. Pass by=COLUMN when you read them.")
    else:
        if by is None:
            raise ConfigError(f"Name the column of the systems with {use('by')}.")
        table, how, question_i = read_systems(
            votes, replace(how, gold=column if column is not None else how.gold), by, pair
        )
    return rank_systems(
        table,
        None if column is not None else gold,
        question_i,
        how=how,
        by=by or "system",
        label=label,
        limits=limits,
        level=level,
        rng=rng,
    )


def _is_file(name: str) -> bool:
    import os

    return os.path.exists(name)  # noqa: PTH110


def read_systems(source: Any, how: ReadOptions, by: str, pair: str | None) -> tuple[Votes, ReadOptions, Codes | None]:
    """Read votes with the system of each item, and the question of each item if a column names it."""
    how = replace(how, by=by)
    if read_pairs(source, how) is not None:
        raise ConfigError(
            "These rows compare two candidates: majorant rate measures who wins. rank takes one answer a row."
        )
    votes = read_with(source, how)
    question_i = None
    if pair is not None:
        again = read_with(source, replace(how, by=pair))
        if again.items != votes.items or again.slice_i is None:
            raise DataError(f"{pair} does not name one question for each item.")
        question_i = again.slice_i.astype(np.int64)
    return votes, how, question_i


def rank_systems(
    votes: Votes,
    gold: Any,
    question_i: Codes | None,
    *,
    how: ReadOptions,
    by: str,
    label: Any = None,
    limits: Sequence[float] | None = None,
    level: float = LEVEL,
    rng: int | np.random.Generator = 0,
) -> Ranking:
    """Rank the slices of votes that have been read; `question_i` is the question of each item, if a column names it."""
    as_level(level)
    if not votes.n_votes:
        raise DataError("No item has a vote.")
    target = find_target(votes, None, label, None if limits is None else (limits[0], limits[1]))
    labelled = read_labelled(gold, votes, how, as_generator(rng))
    panel = Panel.of(votes, target)
    present = [s for s in range(len(votes.slices)) if (panel.slice_i == s).any()]
    if len(present) < 2:
        only = f" ({votes.slices[present[0]]!r})" if present else ""
        raise DataError(f"{by} names {len(present)} system{only}: ranking takes at least two.")
    if question_i is None:
        question_i = next(iter(find_questions(votes)), None)
    question_p = None if question_i is None else question_i[panel.item_i]
    if question_p is not None and not _shared(question_p, panel.slice_i):
        question_p = None
    return _ranking(panel, present, target, labelled, question_p, votes, level)


def _shared(question_p: Codes, slice_p: Codes) -> bool:
    """Whether at least half of the questions were answered by several systems."""
    of_systems = slice_p >= 0
    answered = np.unique(np.stack([question_p[of_systems], slice_p[of_systems]]), axis=1)[0]
    systems_q = np.bincount(answered)
    return bool((systems_q[systems_q > 0] > 1).mean() >= 0.5)


def _ranking(
    panel: Panel,
    present: Sequence[int],
    target: Target,
    labelled: Labelled,
    question_p: Codes | None,
    votes: Any,
    level: float,
) -> Ranking:
    unit_p = np.arange(len(panel.item_i)) if question_p is None else question_p
    place_i = np.full(votes.shape[0], -1, dtype=np.int64)
    place_i[panel.item_i] = np.arange(len(panel.item_i))
    place_t = place_i[labelled.item_t]
    known_t = np.array([value is not None for value in labelled.values], dtype=bool) & (place_t >= 0)
    item_t = place_t[known_t]
    y_t = np.array(
        [
            target.of_gold(votes, int(panel.item_i[p]), labelled.values[t])
            for t, p in zip(np.flatnonzero(known_t), item_t, strict=True)
        ],
        dtype=float,
    )
    scale, lowest = target.limits[1] - target.limits[0], target.limits[0]
    said = {s: lowest + scale * float(next(iter(panel.rule_i.values()))[panel.slice_i == s].mean()) for s in present}
    shape: dict[str, Any] = {
        "measure": target.measure,
        "label": target.label,
        "limits": target.limits,
        "paired": question_p is not None,
        "labels": len(item_t),
        "n_units": len(np.unique(unit_p[np.isin(panel.slice_i, present)])),
        "skipped": int((~known_t & (place_t >= 0)).sum()),
        "order": labelled.order,
        "level": level,
    }
    if not len(item_t):
        return Ranking(systems=Records(_by_judges(panel, present, said)), pairs=Records(), units=0, **shape)
    without = [str(panel.slices[s]) for s in present if not (panel.slice_i[item_t] == s).any()]
    if without:
        raise DataError(
            f"No label for {', '.join(without[:5])}: every system needs labels of the same random questions."
        )
    fit = CrossFit.of(panel.features, item_t, y_t, unit_p[item_t])
    means = {s: fit.residuals(_weights(panel.slice_i == s, unit_p), unit_p) for s in present}
    fewest = min(one.units for one in means.values())
    if fewest < LEAST_UNITS and any(one.units < one.n for one in means.values()):
        unit = "questions" if question_p is not None else "items"
        raise DataError(
            f"Ranking takes labels of at least {LEAST_UNITS} {unit} for every system; one has {fewest}. Label more, "
            "drawn at random."
        )
    order = sorted(present, key=lambda s: (-means[s].measured(beyond=True).estimate, str(panel.slices[s])))
    contrasts = _contrasts(fit, panel, order, unit_p, means, paired=question_p is not None)
    pairs, is_better = _decide(contrasts, panel.slices, len(order), scale, level)
    tier = _tiers(order, is_better)
    tail = (1 - level) / 2 / len(present)
    systems = []
    for s in order:
        measured = means[s].measured(beyond=True)
        low, high = (lowest + scale * min(max(end, 0.0), 1.0) for end in measured.interval(tail))
        systems.append(
            System(
                name=panel.slices[s],
                value=lowest + scale * min(max(measured.estimate, 0.0), 1.0),
                low=low if means[s].suffices else None,
                high=high if means[s].suffices else None,
                first=1 + sum((other, s) in is_better for other in order),
                last=len(order) - sum((s, other) in is_better for other in order),
                tier=tier[s],
                said=said[s],
                n_items=int((panel.slice_i == s).sum()),
                labels=int((panel.slice_i[item_t] == s).sum()),
            )
        )
    return Ranking(systems=Records(systems), pairs=Records(pairs), units=len(np.unique(unit_p[item_t])), **shape)


def _by_judges(panel: Panel, present: Sequence[int], said: dict[int, float]) -> list[System]:
    """The systems in the order of the panel, each with its best and worst rank by any judge who rated them all."""
    votes_js = panel.votes_js[:, present] if len(panel.votes_js) else np.empty((0, len(present)))
    judged_js = (panel.sum_js[:, present] / np.maximum(votes_js, 1))[(votes_js > 0).all(axis=1)]
    rank_js = 1 + (judged_js[:, None, :] > judged_js[:, :, None] + 1e-9).sum(axis=2)
    order = sorted(range(len(present)), key=lambda c: (-said[present[c]], str(panel.slices[present[c]])))
    by_panel = {c: 1 + n for n, c in enumerate(order)}
    return [
        System(
            name=panel.slices[present[c]],
            value=None,
            low=None,
            high=None,
            first=min([by_panel[c], *rank_js[:, c].tolist()]),
            last=max([by_panel[c], *rank_js[:, c].tolist()]),
            tier=None,
            said=said[present[c]],
            n_items=int((panel.slice_i == present[c]).sum()),
            labels=0,
        )
        for c in order
    ]


def _weights(mine_p: NDArray[np.bool_], unit_p: Codes) -> FloatArray:
    """Weights with which the mean over a unit's items of a system is its value: 1 over their number."""
    size_u = np.bincount(unit_p[mine_p], minlength=int(unit_p.max(initial=0)) + 1)
    return np.where(mine_p, 1 / np.maximum(size_u[unit_p], 1), 0.0)


class Contrast(NamedTuple):
    """The difference of two systems, with what is needed to plan more labels."""

    a: int
    b: int
    measured: Measured
    residuals: tuple[Residuals, ...]  # of the questions that both answered, or of each system

    @property
    def suffices(self) -> bool:
        """Whether there are enough labels for an interval."""
        return all(one.suffices for one in self.residuals)


def _contrasts(
    fit: CrossFit, panel: Panel, order: Sequence[int], unit_p: Codes, means: Mapping[int, Residuals], *, paired: bool
) -> list[Contrast]:
    """Every pair of systems, the one with the higher rate first."""
    contrasts = []
    for a, b in combinations(order, 2):
        residuals: tuple[Residuals, ...] = (means[a], means[b])
        measured = means[a].measured(beyond=True).minus(means[b].measured(beyond=True))
        if paired:
            first_p, second_p = panel.slice_i == a, panel.slice_i == b
            both = np.intersect1d(unit_p[first_p], unit_p[second_p])
            if not len(both):
                continue
            shared_p = np.isin(unit_p, both)
            weight_p = _weights(first_p & shared_p, unit_p) - _weights(second_p & shared_p, unit_p)
            residuals = (fit.residuals(weight_p, unit_p),)
            if not residuals[0].units:
                continue
            measured = residuals[0].measured(beyond=True)
        if measured.estimate < 0:  # on the questions that both answered
            a, b, measured = b, a, replace(measured, estimate=-measured.estimate)
        contrasts.append(Contrast(a, b, measured, residuals))
    return contrasts


def _decide(
    contrasts: Sequence[Contrast], names: Sequence[Hashable], n_systems: int, scale: float, level: float
) -> tuple[list[Pair], set[tuple[int, int]]]:
    """The pairs, and those (better, worse) that are decided.

    Intervals hold all at once (Bonferroni); they end at 0 where only Holm's procedure, which is sharper, decides.
    """
    p_c = [one.measured.p_value() if one.suffices else 1.0 for one in contrasts]
    decided_c = reject(p_c, 1 - level, n_systems if len(contrasts) == n_systems * (n_systems - 1) // 2 else None)
    open_pairs = max(int((~decided_c).sum()), 1)
    pairs, is_better = [], set()
    for one, decided in zip(contrasts, decided_c.tolist(), strict=True):
        low, high = one.measured.interval((1 - level) / 2 / len(contrasts))
        low = max(low, 0.0) if decided else low
        if decided:
            is_better.add((one.a, one.b))
        units = min(residuals.units for residuals in one.residuals)
        # Each of two independent means has half of the variance to spare.
        reach = one.measured.estimate / (1 if len(one.residuals) == 1 else np.sqrt(2))
        needed = [residuals.units_for(reach, (1 - level) / 2 / open_pairs) for residuals in one.residuals]
        more = None if None in needed else max(max(n or 0 for n in needed) - units, 5)
        pairs.append(
            Pair(
                a=names[one.a],
                b=names[one.b],
                difference=scale * one.measured.estimate,
                low=scale * low if one.suffices else None,
                high=scale * high if one.suffices else None,
                decided=decided,
                n_units=min(residuals.n for residuals in one.residuals),
                units=units,
                more=0 if decided else more,
            )
        )
    return pairs, is_better


def _tiers(order: Sequence[int], is_better: set[tuple[int, int]]) -> dict[int, int]:
    """The tier of each system: it starts with the best that is left, and ends before the first decided to be worse."""
    tier: dict[int, int] = {}
    best = order[0]
    for s in order:
        if (best, s) in is_better:
            best = s
            tier[s] = max(tier.values()) + 1
        else:
            tier[s] = max(tier.values(), default=1)
    return tier
