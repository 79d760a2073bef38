"""Track record: results of the weighted vote on similar public data sets, and how reliable the models were.

`track_record.json` is written by `benchmarks/track_record.py` from every public data set with gold labels.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from majorant.defaults import WEIGHTED_VOTE
from majorant.evidence.evidence import Assumption, Evidence, Record, Source, Status, Tested
from majorant.methods.fit import Fit, chances
from majorant.values import Estimate, FloatArray

FEWEST_VOTES = 10  # average votes per worker; with fewer, models cannot distinguish workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the votes show without gold labels: who voted on what, and whether workers differ."""

    panel: bool  # the same few judges vote on (nearly) everything
    votes_per_worker: float
    workers_differ: bool  # more than by chance

    @property
    def teaches(self) -> bool:
        """Whether the weighted vote has a good track record in such a setting."""
        return not self.panel and self.votes_per_worker >= FEWEST_VOTES and self.workers_differ


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSet:
    """A public data set with gold labels: its setting, what the models expected, and what was true."""

    name: str
    setting: Setting
    expected_gain: float | None  # the models' expected gain of the weighted vote over majority vote, on untied items
    gain: float  # the actual gain according to gold
    confidence: float  # mean confidence of the labels
    accuracy: float  # share of the labels that are right


@cache
def public_sets() -> tuple[PublicSet, ...]:
    """Load the data sets of the track record."""
    rows = json.loads(resources.files("majorant.evidence").joinpath("track_record.json").read_text(encoding="utf-8"))
    return tuple(PublicSet(**{**row, "setting": Setting(**row["setting"])}) for row in rows["sets"])


def track_record(
    setting: Setting, expected: float | None, sets: Sequence[PublicSet] | None = None, *, stake: float = 1.0
) -> tuple[Evidence, ...]:
    """Evidence from gains of the weighted vote on public data sets like this one; empty if it has no good record.

    Parameters
    ----------
    setting : Setting
        What the votes show without labels.
    expected : float or None
        The gain that the models expect, as a share of the items.
    sets : sequence of PublicSet
        The data sets to use; by default all.
    stake : float
        Share of the items on which the two rules differ, which bounds the gain.

    Returns
    -------
    tuple of Evidence
        One item of evidence; none for panels, for crowds with few votes per worker, and if workers do not differ.
    """
    like = [one for one in (public_sets() if sets is None else sets) if one.setting.teaches]
    if not setting.teaches or expected is None or expected <= 0 or not like:
        return ()
    gains = np.array([one.gain for one in like])
    shares = _realised_shares([(one.expected_gain or 0.0, one.gain) for one in like])
    value, low, high = (float(np.clip(share * expected, -stake, stake)) for share in shares)
    return (
        Evidence(
            source=Source.TRACK_RECORD,
            other=WEIGHTED_VOTE,
            gain=Estimate(value, low, high),
            level=0.8,
            assumptions=(Tested(Assumption.LIKE_PUBLIC_SETS, Status.UNTESTED),),
            record=Record(
                sets=len(like),
                better=int((gains > 0.0005).sum()),  # smaller differences, in shares of the items, count as none
                worse=int((gains < -0.0005).sum()),
                mean_gain=float(gains.mean()),
                worst_gain=float(gains.min()),
            ),
        ),
    )


def _realised_shares(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Share of the expected gain that was realised: the mean and an 80% range."""
    expected, gained = np.array([pair for pair in pairs if pair[0] > 0]).T
    ratio = gained / expected
    order = np.argsort(ratio)
    # Data sets are weighted by their expected gain.
    middle = (np.cumsum(expected[order]) - expected[order] / 2) / expected.sum()
    low, high = np.interp([0.1, 0.9], middle, ratio[order])
    return float(gained.sum() / expected.sum()), float(low), float(high)


def overstatement(panel: bool, sets: Sequence[PublicSet] | None = None) -> tuple[int, Estimate]:
    """Number of public panels or crowds, and the mean excess of confidence over accuracy on them.

    The interval covers eight of ten data sets.
    """
    records = public_sets() if sets is None else sets
    excess = [record.confidence - record.accuracy for record in records if record.setting.panel == panel]
    if not excess:
        return 0, Estimate(None)
    low, high = np.quantile(excess, [0.1, 0.9])
    return len(excess), Estimate(float(np.mean(excess)), float(low), float(high))


def expected_gain(present: Fit, other: Fit, belief_ik: FloatArray) -> float:
    """Gain of a rule over another if `belief_ik` are the true probabilities, as a share of the items with votes."""
    voted_i = present.votes_i > 0
    lead_ik = chances(other.posterior[voted_i]) - chances(present.posterior[voted_i])
    return float((belief_ik[voted_i] * lead_ik).sum()) / max(int(voted_i.sum()), 1)


def expected_lead(_: object, present: Fit, other: Fit, belief: Fit) -> tuple[float, int]:
    """`expected_gain` in items, and the number of items with votes."""
    voted = int((present.votes_i > 0).sum())
    return expected_gain(present, other, belief.posterior) * max(voted, 1), voted
