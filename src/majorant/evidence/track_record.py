"""Track record: what the labels that are written without labels gained on public data sets, and how sure they were.

`track_record.json` is written by `benchmarks/track_record.py` from every public data set with gold labels.  Sets of one
origin are a family, and every family counts once, because its sets resemble each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from majorant.defaults import WEIGHTED_VOTE
from majorant.evidence.evidence import Assumption, Evidence, Record, Source, Status, Tested
from majorant.evidence.identical import Difference
from majorant.setting import Case, Setting
from majorant.values import Estimate, FloatArray

# What half by name gained on 142 public panels, which are not all published as data sets (docs/judges.md): the mean by
# their 42 families, and the range that holds eight of ten families if their gains are normal (3.1 +- 0.8 points).
KNOWN_JUDGES = Record(sets=142, better=96, worse=14, mean_gain=0.031, worst_gain=-0.09)
KNOWN_JUDGES_RANGE = (-0.035, 0.097)
LEAST_ITEMS = 5  # of a family, which show what it gains by such an item
SAME_GAIN = 0.005  # smaller differences in accuracy count as none


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSet:
    """A public data set with gold labels; all numbers but the first four are shares of its gold items.

    `ties` and `overturns` are what the labels written without labels gain over majority vote on items whose votes are
    tied and on the others; ties of majority vote count by their share.
    """

    name: str
    family: str
    case: Case
    panel: bool
    items: int  # gold items
    tied: float
    overturned: float  # untied items whose label differs from that of majority vote
    ties: float
    overturns: float
    other_gain: float  # of the weighted vote, which panels do not write
    confidence: float  # mean confidence of the labels
    accuracy: float  # share of the labels that are right

    @property
    def gain(self) -> float:
        """The gain of the labels written over majority vote."""
        return self.ties + self.overturns


@cache
def public_sets() -> tuple[PublicSet, ...]:
    """Load the data sets of the track record."""
    rows = json.loads(resources.files("majorant.evidence").joinpath("track_record.json").read_text(encoding="utf-8"))
    return tuple(PublicSet(**{**row, "case": Case(row["case"])}) for row in rows["sets"])


class Forecast(NamedTuple):
    """The expected gain of the labels written, with its 80% range, on tied items, on overturned ones, and in all."""

    ties: Estimate
    overturns: Estimate
    total: Estimate
    record: Record


def forecast(setting: Setting, difference: Difference, sets: Sequence[PublicSet] | None = None) -> Forecast | None:
    """What the labels written without labels gain over majority vote, by what such labels gained on public sets.

    A family's gain per tied item and per overturned item are what is carried over; their mean is the forecast.  The 80%
    range allows for the differences between families, and for chance among the changed items.

    Parameters
    ----------
    setting : Setting
        What kind of votes these are.
    difference : Difference
        How many items are tied, and how many other labels differ from majority vote.
    sets : sequence of PublicSet
        The data sets to use; by default all.

    Returns
    -------
    Forecast or None
        None if no public set is like these votes.
    """
    like = [one for one in (public_sets() if sets is None else sets) if one.case is setting.case]
    if not like or not difference.items:
        return None
    per_tie = _per_item(like, lambda one: (one.ties, one.tied))
    per_overturn = _per_item(like, lambda one: (one.overturns, one.overturned))
    parts = (_sum_gain(per_tie, difference.tied, 0.25), _sum_gain(per_overturn, difference.disagree, 0.8))
    total = _Sum(parts[0].mean + parts[1].mean, parts[0].variance + parts[1].variance)
    ties, overturns, both = (one.share_of(difference.items) for one in (*parts, total))
    return Forecast(ties, overturns, both, record_of([one.gain for one in like]))


def panel_record(sets: Sequence[PublicSet] | None = None) -> Record:
    """How the weighted vote did on public panels and thin crowds, where it is not written."""
    known = public_sets() if sets is None else sets
    return record_of([one.other_gain for one in known if one.case is Case.PANEL])


def record_of(gains: Sequence[float]) -> Record:
    """How often a rule was better and worse than majority vote, its mean gain, and the worst one."""
    return Record(
        sets=len(gains),
        better=sum(gain >= SAME_GAIN for gain in gains),
        worse=sum(gain <= -SAME_GAIN for gain in gains),
        mean_gain=float(np.mean(gains)) if gains else 0.0,
        worst_gain=min(gains, default=0.0),
    )


def _per_item(sets: Sequence[PublicSet], parts: Callable[[PublicSet], tuple[float, float]]) -> FloatArray:
    """The gain per item of one kind, for each family with enough of them."""
    families: dict[str, list[tuple[float, float]]] = {}
    for one in sets:
        gain, share = parts(one)
        families.setdefault(one.family, []).append((gain * one.items, share * one.items))
    sums = [np.sum(pairs, axis=0) for pairs in families.values()]
    return np.array([gain / items for gain, items in sums if items >= LEAST_ITEMS])


class _Sum(NamedTuple):
    """The mean and variance of a number of labels gained."""

    mean: float
    variance: float

    def share_of(self, items: int) -> Estimate:
        """The gain as a share of the items, with its 80% range."""
        half = 2 * self.variance**0.5  # gains have heavy tails: 1.3 held for two thirds of the families left out
        return Estimate(self.mean / items, (self.mean - half) / items, (self.mean + half) / items)


def _sum_gain(per_item_f: FloatArray, changed: int, noise: float) -> _Sum:
    """The gain on changed items; `noise` is the variance of the gain on one of them."""
    if not len(per_item_f) or not changed:
        return _Sum(0.0, 0.0)
    between = float(per_item_f.var(ddof=1)) if len(per_item_f) > 1 else noise
    return _Sum(float(per_item_f.mean()) * changed, between * changed**2 + noise * changed)


def track_record(
    setting: Setting, difference: Difference, sets: Sequence[PublicSet] | None = None
) -> tuple[Evidence, ...]:
    """Evidence from what the weighted vote gained on public crowds or panels like this one; none for other votes."""
    if setting.case is Case.KNOWN_JUDGES and difference.items:
        return (_known_judges(difference),)
    expected = forecast(setting, difference, sets) if setting.case is Case.CROWD else None
    if expected is None:
        return ()
    return (
        Evidence(
            source=Source.TRACK_RECORD,
            other=WEIGHTED_VOTE,
            gain=expected.total,
            level=0.8,
            assumptions=(Tested(Assumption.LIKE_PUBLIC_SETS, Status.UNTESTED),),
            record=expected.record,
        ),
    )


def _known_judges(difference: Difference) -> Evidence:
    """What half by name gained on public panels; no more than the labels that it changes here."""
    most = (difference.tied + difference.disagree) / difference.items
    value, low, high = (min(max(end, -most), most) for end in (KNOWN_JUDGES.mean_gain, *KNOWN_JUDGES_RANGE))
    return Evidence(
        source=Source.TRACK_RECORD,
        other=WEIGHTED_VOTE,
        gain=Estimate(value, low, high),
        level=0.8,
        assumptions=(Tested(Assumption.LIKE_PUBLIC_SETS, Status.UNTESTED),),
        record=KNOWN_JUDGES,
    )


def overstatement(panel: bool, sets: Sequence[PublicSet] | None = None) -> tuple[int, Estimate]:
    """Number of public panels or crowds, and the mean excess of confidence over accuracy on them.

    The interval covers eight of ten data sets.
    """
    records = public_sets() if sets is None else sets
    excess = [record.confidence - record.accuracy for record in records if record.panel == panel]
    if not excess:
        return 0, Estimate(None)
    low, high = np.quantile(excess, [0.1, 0.9])
    return len(excess), Estimate(float(np.mean(excess)), float(low), float(high))
