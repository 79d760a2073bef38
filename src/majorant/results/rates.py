"""Measure a rate (the share of a class, a mean score or a win rate) from votes and a few labels, and compare systems.

The panel's own rate is biased if its judges tend to err in one direction.  Labels of a few randomly drawn items give an
interval that is valid at any number of labels; the votes narrow it and cannot make it wrong (`ask/rate.py`).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.arguments import validated
from majorant.ask.at_n import LEAST_UNITS, CrossFit, Residuals
from majorant.ask.rate import bounds, labels_for
from majorant.defaults import LEVEL
from majorant.errors import ConfigError, DataError, DataNote, use
from majorant.read import as_votes, read_with
from majorant.read.options import ReadOptions
from majorant.read.pairs import Judged, Pairs, read_pairs
from majorant.results.positions import sign_test
from majorant.results.rate_inputs import Labelled, Measure, Order, Target, find_target, read_labelled
from majorant.results.rate_panel import Panel, Reported, Sample
from majorant.tabular import Tabular
from majorant.values import FloatArray, as_generator, as_level
from majorant.votes import Account, NoteKind, Votes


class Winner(StrEnum):
    """Which of two slices has the higher rate."""

    FIRST = "first"
    SECOND = "second"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate and its interval, in the unit of the labels (a share or a score); None without labels."""

    name: Hashable | None  # the slice; None for all items
    value: float | None
    low: float | None
    high: float | None
    n_items: int
    labels: int
    skipped: int  # drawn items without a label, which count as the worst case for both bounds
    reported: tuple[Reported, ...]
    more: Mapping[float, int]  # half-width as a share of the range -> approximate number of labels still needed

    @validated
    def said_by(self, name: Hashable) -> float | None:
        """The rate that a rule or judge reports."""
        return next((one.rate for one in self.reported if one.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The rate of one slice minus that of another."""

    first: Hashable
    second: Hashable
    value: float | None
    low: float | None
    high: float | None
    n_units: int  # number of items in both slices, or of questions that both answered
    paired: bool  # whether it was labelled question by question
    labels: int  # number of labelled units
    more: int | None  # approximate number of labels still needed; 0: settled, None: the whole file is too small

    @property
    def winner(self) -> Winner:
        """Which slice has the higher rate, if the labels show it."""
        if self.low is not None and self.low > 0:
            return Winner.FIRST
        return Winner.SECOND if self.high is not None and self.high < 0 else Winner.OPEN


@dataclass(frozen=True, slots=True)
class Position:
    """How the order of two candidates affects a judge."""

    judge: Hashable
    both_orders: int  # number of pairs that it judged in both orders
    consistent: int  # pairs with the same verdict in both orders
    first_twice: int  # pairs where it chose whichever was shown first
    second_twice: int
    p_value: float | None  # exact sign test of `first_twice` against `second_twice`
    first_share: float | None  # share of its verdicts, without ties, for the candidate shown first


@dataclass(frozen=True, slots=True)
class RateRecord:
    """Errors of the rates that majority vote reports, on public panels with gold labels."""

    panels: int
    least: float
    middle: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rates(Tabular):
    """The result of `rate`.  All intervals hold simultaneously at the level."""

    measure: Measure
    label: Hashable | None  # the class
    limits: tuple[float, float]  # the range of a value
    candidates: tuple[tuple[Hashable, Hashable], ...]  # for win rates: pairs, of which wins of the first are counted
    account: Account
    overall: Rate
    slices: tuple[Rate, ...]
    differences: tuple[Difference, ...]
    positions: tuple[Position, ...]  # of pairwise judgements
    order: Order
    clustered: bool  # whether items were labelled question by question
    ignored: int  # labelled items without votes
    unheard: tuple[Hashable, ...]  # expert labels that no judge gave; they count as not the class
    at_n: bool  # whether intervals hold at this number of labels only, or at any time
    level: float
    record: RateRecord

    @property
    def value(self) -> float | None:
        """The best estimate of the rate over all items."""
        return self.overall.value

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.overall.low

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.overall.high

    @property
    def labels(self) -> int:
        """The number of labels used."""
        return self.overall.labels

    def table(self) -> dict[str, Any]:
        """One row for all items, and one for each slice."""
        every = (self.overall, *self.slices)
        names = ("name", "value", "low", "high", "n_items", "labels")
        return {name.removeprefix("n_"): [getattr(one, name) for one in every] for name in names}

    def __repr__(self) -> str:
        panel = next((f"; the panel says {one.rate:.3f}" for one in self.overall.reported if not one.judge), "")
        if self.value is None:
            return f"Rates: not known without labels{panel}\nto_pandas() gives a row for each slice"
        ends = f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}) from {self.labels:,} labels"
        return f"Rates: {ends}{panel}\nto_pandas() gives a row for each slice"

    @validated
    def at_least(self, bar: float) -> bool:
        """Whether the labels show that the rate is above the bar."""
        return self.low is not None and self.low > bar


def rate(
    votes: Any,
    gold: Any = None,
    *,
    label: Hashable = None,
    by: str | None = None,
    limits: tuple[float, float] | None = None,
    level: float = LEVEL,
    at_n: bool = False,
    rng: int | np.random.Generator = 0,
    label_column: str | None = None,
    **reading: Any,
) -> Rates:
    """Measure the share of a class, a mean score or a win rate over all items, from votes and a few labels.

    Parameters
    ----------
    votes : Votes, or anything that `mj.read` takes
        The votes of the judges.  Tables of pairwise judgements (model_a, model_b, winner) give win rates.
    gold : path, frame, Series or dict of item -> label; or the name of a column of the votes
        Labels of items drawn uniformly at random, in the order in which they were labelled; files drawn by
        `majorant ask` record their order.  By default the gold labels that were read with the votes, if any.
    label : a label of the votes
        The class to measure; by default the obvious one (pass, yes, correct, 1).  Without it, numeric labels are
        treated as scores and averaged.
    by : str
        Column that divides the items into slices, such as the system that answered; each gets a rate, and they are
        compared.
    limits : (low, high)
        The range of scores, if it is not 0 to 1, 1 to 5, 1 to 10 or 0 to 100.
    level : float
        Probability with which all intervals hold at once, however often you look.
    at_n : bool
        Narrower intervals that hold only at this number of labels: choose it if you fixed the number before you saw any
        label.  They take at least 20 labels.
    rng : int or Generator
        Random seed; used to shuffle labels whose order is unknown.
    label_column : str
        Column with the votes' labels, if it is not detected; `mj.read` calls this `label`.
    **reading
        How to read the votes, as for `mj.read`.

    Returns
    -------
    Rates
        `.value`, `.low`, `.high`, `.overall`, `.slices`, `.differences`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = {f"q{i}": "pass" if rng.random() < .7 else "fail" for i in range(400)}
    >>> said = [(q, j, "pass" if t == "pass" or rng.random() < .5 else "fail") for q, t in truth.items() for j in "abc"]
    >>> found = rate(said, gold={q: truth[q] for q in list(truth)[:60]}, label="pass")
    >>> found.low < sum(t == "pass" for t in truth.values()) / 400 < found.high
    True
    >>> found.overall.said_by("majority") > found.high
    True
    """
    reading |= {} if label_column is None else {"label": label_column}
    how = ReadOptions.of(reading)
    column = gold if isinstance(gold, str) and not os.path.exists(gold) else None  # noqa: PTH110
    settings: dict[str, Any] = {"label": label, "limits": limits, "level": level, "at_n": at_n, "rng": rng}
    if isinstance(votes, Votes):
        votes = as_votes(votes, **reading)
        if column is not None:
            raise DataError(f"gold: there is no file {gold!r}. To use a column, give its name when you read the votes.")
        if by is not None and votes.slice_i is None:
            raise ConfigError(f"These votes were read without slices. Pass {use('by', by)} when you read them.")
        return measure_rate(votes, gold, how=how, **settings)
    how = replace(how, by=by, gold=column if column is not None else how.gold)
    pairs = read_pairs(votes, how)
    table = read_with(votes, how) if pairs is None else pairs.votes
    for note in table.account.notes:
        if note.kind.changes_meaning and note.kind is not NoteKind.NUMBER_LABELS:  # scores are fine here
            warnings.warn(DataNote(note), stacklevel=2)
    return measure_rate(table, None if column is not None else gold, how=how, pairs=pairs, **settings)


def measure_rate(
    votes: Votes,
    gold: Any,
    *,
    how: ReadOptions,
    pairs: Pairs | None = None,
    label: Any = None,
    limits: Sequence[float] | None = None,
    level: float = LEVEL,
    at_n: bool = False,
    rng: int | np.random.Generator = 0,
) -> Rates:
    """Measure a rate for votes that have been read; `how` holds the reading options, which apply to label files."""
    as_level(level)
    generator = as_generator(rng)
    if limits is not None and len(limits) != 2:
        raise ConfigError(f"{use('limits')} takes two numbers: the lowest and the highest score.")
    if not votes.n_votes:
        raise DataError("No item has a vote.")
    target = find_target(votes, pairs, label, None if limits is None else (limits[0], limits[1]))
    labelled = read_labelled(gold, votes, how, generator)
    panel = Panel.of(votes, target)
    sample = Sample.of(panel, votes, target, labelled)
    present = [s for s in range(len(votes.slices)) if (panel.slice_i == s).any()] if votes.slice_i is not None else []
    present = present if len(present) > 1 else []
    compared = [(a, b) for n, a in enumerate(present) for b in present[n + 1 :]]
    if target.measure is Measure.WIN or len(present) > 30:
        compared = []  # the slices of win rates are pairs already, and many slices make too many pairs
    tail = (1 - level) / 2 / (1 + len(present) + len(compared))
    fixed = FixedSample.of(panel, sample) if at_n else None
    return Rates(
        measure=target.measure,
        label=target.label,
        limits=target.limits,
        candidates=tuple(target.wins[s] for s in present) if target.wins and present else target.wins,
        account=votes.account,
        overall=_rate(None, panel, sample, target, tail, fixed),
        slices=tuple(_rate(s, panel, sample, target, tail, fixed) for s in present),
        differences=tuple(_difference(a, b, panel, sample, target, tail, fixed) for a, b in compared),
        positions=() if pairs is None else tuple(_position(judged) for judged in pairs.judged),
        order=labelled.order,
        clustered=sample.question_i is not None,
        ignored=labelled.ignored,
        unheard=_unheard(labelled, votes.labels) if target.measure is Measure.SHARE else (),
        at_n=at_n,
        level=level,
        record=rate_record(),
    )


def _unheard(labelled: Labelled, labels: Sequence[Hashable]) -> tuple[Hashable, ...]:
    return tuple(dict.fromkeys(value for value in labelled.values if value is not None and value not in labels))


@dataclass(frozen=True, slots=True, eq=False)
class FixedSample:
    """The labels for intervals at a fixed number of them."""

    fit: CrossFit
    unit_i: NDArray[np.int64]  # the question of each item if labels came by question, else the item

    @classmethod
    def of(cls, panel: Panel, sample: Sample) -> FixedSample:
        """Refuse labels that cannot have such an interval: too few, or missing for drawn items."""
        known_t = np.isfinite(sample.y_t)
        unit_i = np.arange(len(panel.item_i)) if sample.question_i is None else sample.question_i
        units = len(np.unique(unit_i[sample.item_t[known_t]]))
        unit = "items" if sample.question_i is None else "questions"
        if units < min(LEAST_UNITS, len(np.unique(unit_i))):
            raise DataError(
                f"An interval at this number of labels takes at least {LEAST_UNITS} labelled {unit}, not {units}. "
                "Label more, or leave out at_n for an interval that holds at any number."
            )
        if not known_t.all():
            raise DataError(
                f"{int((~known_t).sum())} of the drawn items have no label. Label them too, or leave out at_n: then "
                "they count as the worst case."
            )
        fit = CrossFit.of(sample.features, sample.item_t, sample.y_t, unit_i[sample.item_t])
        return cls(fit, unit_i)

    def residuals(self, weight_i: FloatArray) -> Residuals:
        """Residuals of the sum of weight times y over the items of a unit."""
        return self.fit.residuals(weight_i, self.unit_i)


def _ends_at_n(residuals: Residuals, tail: float) -> tuple[float | None, float | None, float | None]:
    """Estimate and interval at this number of labels; no interval where the labels do not show their spread."""
    if not residuals.units:
        return None, None, None
    measured = residuals.measured()
    low, high = measured.interval(tail)
    return (measured.estimate, low, high) if residuals.suffices else (measured.estimate, None, None)


def _rate(s: int | None, panel: Panel, sample: Sample, target: Target, tail: float, fixed: FixedSample | None) -> Rate:
    """The rate over all items, or over a slice."""
    low_limit, high_limit = target.limits
    scale = high_limit - low_limit
    mine_i = np.ones(len(panel.item_i), dtype=bool) if s is None else panel.slice_i == s
    n_items = int(mine_i.sum())
    per_unit = 1.0
    if sample.question_i is not None:
        per_unit = n_items / len(np.unique(sample.question_i[mine_i]))
    bets, n_labels = sample.bets(mine_i / per_unit)
    value = low = high = None
    if n_labels:
        whole = target.measure is Measure.SHARE and per_unit == 1.0
        low, high = bounds(bets, tail, whole=whole)
        value = min(max(float(bets.estimate or 0.0), low), high)
    if n_labels and fixed is not None:
        ends = _ends_at_n(fixed.residuals(mine_i / per_unit), tail)
        if s is None and ends[1] is None:
            raise DataError(
                "Every label lies on the same side of what the judges predict, so these labels do not show by how much "
                "judges err. Leave out at_n for an interval that holds all the same."
            )
        value, low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in ends)
    value, low, high = (None if end is None else low_limit + scale * end for end in (value, low, high))
    more = {}
    for aim in (0.05, 0.03):  # common half-widths, as shares of the range
        units = labels_for(aim, spread=bets.spread, n=bets.n, alpha=tail)
        reached = low is not None and high is not None and high - low <= 2 * aim * scale
        more[aim] = 0 if reached else max(round((units - bets.drawn) * per_unit), 1)
    return Rate(
        name=None if s is None else panel.slices[s],
        value=value,
        low=low,
        high=high,
        n_items=n_items,
        labels=n_labels,
        skipped=int(np.isnan(sample.y_t[mine_i[sample.item_t]]).sum()),
        reported=panel.reported(s, target),
        more=more,
    )


def _difference(
    a: int, b: int, panel: Panel, sample: Sample, target: Target, tail: float, fixed: FixedSample | None
) -> Difference:
    """The rate of slice a minus that of slice b."""
    first_i, second_i = panel.slice_i == a, panel.slice_i == b
    paired = sample.question_i is not None
    if sample.question_i is not None:
        both = np.intersect1d(sample.question_i[first_i], sample.question_i[second_i])
        first_i, second_i = (mine_i & np.isin(sample.question_i, both) for mine_i in (first_i, second_i))
    n_first, n_second = int(first_i.sum()), int(second_i.sum())
    n_units = n_first if paired else n_first + n_second
    weights = (first_i / max(n_first, 1) - second_i / max(n_second, 1)) * n_units
    bets, n_labels = sample.bets(weights)
    value = low = high = None
    scale = target.limits[1] - target.limits[0]
    if n_labels and n_first and n_second:
        low, high = bounds(bets, tail)
        value = min(max(float(bets.estimate or 0.0), low), high)
        if fixed is not None:
            value, low, high = _difference_at_n(fixed, first_i, second_i, tail, paired=paired)
    more: int | None = 0
    if value is None or low is None or high is None or low <= 0 <= high:
        needed = labels_for(abs(value or 0.0) + 1e-9, spread=bets.spread, n=bets.n, alpha=tail, width=2.0)
        per_unit = 2 if paired else len(panel.item_i) / max(n_first + n_second, 1)
        more = None if value is None or needed >= 0.9 * bets.n else max(round((needed - bets.drawn) * per_unit), 1)
    ends = [None if end is None else scale * end for end in (value, low, high)]
    return Difference(
        first=panel.slices[a],
        second=panel.slices[b],
        value=ends[0],
        low=ends[1],
        high=ends[2],
        n_units=n_units,
        paired=paired,
        labels=bets.drawn,
        more=more,
    )


def _difference_at_n(
    fixed: FixedSample, first_i: NDArray[np.bool_], second_i: NDArray[np.bool_], tail: float, *, paired: bool
) -> tuple[float | None, float | None, float | None]:
    """The difference of two slices at this number of labels; within questions if these were labelled as a whole."""
    if paired:
        return _ends_at_n(fixed.residuals(first_i.astype(float) - second_i), tail)
    first, second = fixed.residuals(first_i.astype(float)), fixed.residuals(second_i.astype(float))
    if not (first.units and second.units):
        return None, None, None
    measured = first.measured().minus(second.measured())
    low, high = measured.interval(tail)
    return (measured.estimate, low, high) if first.suffices and second.suffices else (measured.estimate, None, None)


def _position(judged: Judged) -> Position:
    """How the order of two candidates affects a judge."""
    first, second = judged.first_twice, judged.second_twice
    decided = judged.for_first + judged.for_second
    return Position(
        judge=judged.judge,
        both_orders=judged.both_orders,
        consistent=judged.consistent,
        first_twice=first,
        second_twice=second,
        p_value=sign_test(first, first + second),
        first_share=judged.for_first / decided if decided else None,
    )


@cache
def rate_record() -> RateRecord:
    """Load the record written by `benchmarks/rates.py --record`."""
    text = resources.files("majorant.results").joinpath("rate_record.json").read_text(encoding="utf-8")
    off = sorted(abs(one["reported"] - one["true"]) for one in json.loads(text)["panels"])
    return RateRecord(len(off), off[0], float(np.median(off)), off[-1])
