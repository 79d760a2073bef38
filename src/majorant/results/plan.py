"""Plan votes: what more of them would gain, what stopping early would save, and which judges are enough.

A model of the votes forecasts how much more votes increase accuracy; on public crowds it was off by 1.5 points on
average.  Its forecasts of accuracy itself were off by 5 points, so accuracy is given only if gold labels measure it.
On public panels, more judges of the same kind gained nothing, so there is no forecast for panels.  See
benchmarks/truth.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Unpack

import numpy as np

from majorant.defaults import LEVEL, MAX_VOTES, TARGET
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.copies import Copies, find_copies
from majorant.evidence.labels import known_items, right_share
from majorant.items import take_items
from majorant.methods import ESTIMATORS
from majorant.methods.majority import Majority
from majorant.read import Reading, as_votes
from majorant.results.sub_panels import SubPanel, best_sub_panels
from majorant.setting import Setting
from majorant.theory import majority_accuracy
from majorant.theory.patterns import can_enumerate
from majorant.values import Estimate, FloatArray, Missing, as_level, clopper_pearson
from majorant.votes import IntArray, Votes

GOLD_TO_ANCHOR = 50  # gold labels needed to measure the accuracy of majority vote


class Advice(StrEnum):
    """What to do to reach the target."""

    ENOUGH = "enough"  # according to gold, the present votes reach it
    MORE_VOTES = "more votes"
    OUT_OF_REACH = "out of reach"  # even with the largest number of votes considered
    NEEDS_LABELS = "needs labels"  # too few gold labels to know the accuracy
    OTHER_JUDGES = "other judges"  # a panel is below the target, and more judges like these would gain nothing


class Stop(StrEnum):
    """When to stop asking for votes on an item."""

    DECIDED = "decided"  # the votes still to come cannot change the label
    LEAD_OF_THREE = "lead of three"


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """Gain, accuracy and price of a number of votes per item."""

    n_votes: int
    gain: Estimate  # accuracy of majority vote minus that with the present number of votes; no value if not computed
    accuracy: Estimate  # accuracy on gold plus the gain; no value without enough gold
    price: float  # per item


@dataclass(frozen=True, slots=True)
class Stopping:
    """What stopping early would have saved on these votes, and changed."""

    stop: Stop
    votes_saved: float  # share of the votes
    price_saved: float  # share of the price
    labels_changed: float  # share of the items


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Plan:
    """What more votes would gain, what stopping early would save, and which judges are enough.

    Attributes
    ----------
    target : float
        The accuracy to reach.
    advice : Advice
        What to do.
    accuracy_now : Estimate
        Accuracy of majority vote on gold items; no value with fewer than 50 gold labels.
    votes_now : float
        Votes per item so far.
    votes_needed : int or None
        Smallest number of votes per item that reaches the target; None without `accuracy_now`.
    points : tuple of PlanPoint
        Gain, accuracy and price by number of votes; empty for panels.
    stopping : tuple of Stopping
        What stopping early would have saved.
    sub_panels : tuple of SubPanel
        The best one, three and five judges of a panel on gold items, compared with all judges.
    """

    target: float
    advice: Advice
    panel: bool
    accuracy_now: Estimate
    n_gold: int
    votes_now: float
    votes_needed: int | None
    points: tuple[PlanPoint, ...]
    stopping: tuple[Stopping, ...]
    sub_panels: tuple[SubPanel, ...]
    copies: Copies
    n_judges: int
    price_per_vote: float
    level: float

    def __repr__(self) -> str:
        saved = max((one.votes_saved for one in self.stopping if one.stop is Stop.DECIDED), default=0.0)
        return f"Plan for {100 * self.target:g}% right: {self.advice}; stopping early saves {saved:.0%} of the votes"


def plan(
    votes: Any,
    *,
    target: float = TARGET,
    max_votes: int = MAX_VOTES,
    price_per_vote: float = 1.0,
    prices: Mapping[Hashable, float] | None = None,
    level: float = LEVEL,
    copies: Copies | None = None,
    setting: Setting | None = None,
    **reading: Unpack[Reading],
) -> Plan:
    """Plan votes: what more of them would gain, and what stopping early would save.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts (a file, a frame, a dict, a list), with the same keyword arguments.
    target : float
        The accuracy to reach.
    max_votes : int
        Largest number of votes per item to consider.
    price_per_vote : float
        Price of a vote.
    prices : mapping, optional
        Price of a vote of each judge, if they differ; judges not named cost `price_per_vote`.
    level : float
        Confidence level of intervals.
    copies : Copies, optional
        Judges who repeat each other, to be reported; detected by default.
    setting : Setting, optional
        Panel or crowd; detected by default.

    Returns
    -------
    Plan
        With at least 50 gold labels, accuracy now and with more votes; otherwise only the gain.

    Raises
    ------
    NotIdentified
        If no item has three votes.

    Examples
    --------
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=2000, n_votes=3, n_workers=50, rng=0)
    >>> planned = plan(votes, target=.9)
    >>> planned.advice.value, round(planned.points[4].gain.value, 3)
    ('needs labels', 0.046)
    """
    _refuse(target, max_votes, price_per_vote, prices, level)
    votes = as_votes(votes, **reading)
    if not votes.n_votes:
        raise ConfigError("There are no votes to plan from.")
    if len(votes.labels) < 2:
        raise ConfigError("All votes are for one class, so there is nothing to plan.")
    if votes.votes_i.max() < 3:
        raise NotIdentified(
            "No item has three votes, so the data cannot show how good the voters are. Collect a third vote on some "
            "of the items."
        )
    copies = find_copies(votes) if copies is None else copies
    panel = (Setting.of(votes) if setting is None else setting).panel
    now, n_gold = _accuracy_now(votes, level)
    votes_now = float(votes.votes_i[votes.votes_i > 0].mean())
    points = () if panel else _points(votes, now, round(votes_now), max_votes, price_per_vote)
    reached = [point.n_votes for point in points if (point.accuracy.value or 0.0) >= target]
    needed = min(reached, default=None)
    return Plan(
        target=target,
        advice=_advice(now, target, needed, panel=panel),
        panel=panel,
        accuracy_now=now,
        n_gold=n_gold,
        votes_now=votes_now,
        votes_needed=needed,
        points=points,
        stopping=_stopping(votes, prices, price_per_vote),
        sub_panels=best_sub_panels(votes, copies, level=level) if panel else (),
        copies=copies,
        n_judges=len(votes.workers),
        price_per_vote=price_per_vote,
        level=level,
    )


def _advice(now: Estimate, target: float, needed: int | None, *, panel: bool) -> Advice:
    if now.value is None:
        return Advice.NEEDS_LABELS
    if now.value >= target:
        return Advice.ENOUGH
    if panel:
        return Advice.OTHER_JUDGES
    return Advice.OUT_OF_REACH if needed is None else Advice.MORE_VOTES


def _accuracy_now(votes: Votes, level: float) -> tuple[Estimate, int]:
    """Accuracy of majority vote on the gold items, with ties counted by their share, and the number of gold items."""
    known = known_items(votes)
    if len(known) < GOLD_TO_ANCHOR:
        return Estimate(None, reason=Missing.NO_GOLD), len(known)
    right = float(right_share(Majority().fit(votes).posterior[known], votes.truth_i[known]).sum())
    return Estimate(right / len(known), *clopper_pearson(right, len(known), level)), len(known)


def _points(votes: Votes, now: Estimate, n_now: int, max_votes: int, price: float) -> tuple[PlanPoint, ...]:
    """Gain and accuracy for each number of votes, from a model with one confusion matrix for all workers."""
    fit = ESTIMATORS["shared"]().fit(votes)
    assert fit.confusion is not None
    prior_k, confusion_kl = fit.prior, fit.confusion
    here = _majority(prior_k, confusion_kl, max(n_now, 1))
    points = []
    for n_votes in range(1, max_votes + 1):
        there = _majority(prior_k, confusion_kl, n_votes)
        gain = Estimate(None) if here is None or there is None else _gain(there - here)
        points.append(PlanPoint(n_votes, gain, _anchored(now, gain), n_votes * price))
    return tuple(points)


def _majority(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int) -> float | None:
    return majority_accuracy(prior_k, confusion_kl, n_votes) if can_enumerate(n_votes, len(prior_k)) else None


def _gain(expected: float) -> Estimate:
    """The forecast gain, with a range that contained 80% of the actual gains on public crowds."""
    low, high = sorted(expected * share for share in (0.5, 1.7))  # from 36 forecasts on 12 crowds (truth.py)
    return Estimate(expected, low, high)


def _anchored(now: Estimate, gain: Estimate) -> Estimate:
    """Accuracy with more votes: present accuracy plus the gain."""
    if now.value is None or gain.value is None:
        return Estimate(None)
    low, high = ((end or 0.0) + (more or 0.0) for end, more in ((now.low, gain.low), (now.high, gain.high)))
    value, low, high = (float(np.clip(x, 0.0, 1.0)) for x in (now.value + gain.value, low, high))
    return Estimate(value, low, high)


def _stopping(votes: Votes, prices: Mapping[Hashable, float] | None, price: float) -> tuple[Stopping, ...]:
    """What stopping early saves if the cheapest judges vote first; votes at the same price come in random order."""
    price_j = np.ones(len(votes.workers))
    if prices is not None:
        named = {str(name): value for name, value in prices.items()}
        if missing := named.keys() - set(map(str, votes.workers)):
            raise ConfigError(f"prices= names {min(missing)!r}, who has no votes.")
        price_j = np.array([named.get(str(name), price) for name in votes.workers], dtype=float)
    voted = np.flatnonzero(votes.votes_i > 0)
    most, n_classes = int(votes.votes_i.max()), len(votes.labels)
    n_kept = np.clip(5_000_000 // most, 100, 20_000)  # evenly spaced items: enough, and they fit into memory
    votes = take_items(votes, voted[:: -(-len(voted) // n_kept)])
    n_orders = int(np.clip(2_000_000 // (votes.n_votes * n_classes), 1, 50))
    rng, place_n = np.random.default_rng(0), np.arange(votes.n_votes) - votes.offsets_i[votes.item_n]
    label_oih = np.full((n_orders, len(votes.items), most), -1)
    price_oih = np.zeros(label_oih.shape)
    for o in range(n_orders):
        order_n = np.lexsort((rng.random(votes.n_votes), price_j[votes.worker_n], votes.item_n))
        label_oih[o, votes.item_n, place_n] = votes.label_n[order_n]
        price_oih[o, votes.item_n, place_n] = price_j[votes.worker_n[order_n]]
    return _stop_rows(
        label_oih.reshape(-1, most), price_oih.reshape(-1, most), np.tile(votes.votes_i, n_orders), n_classes
    )


def _stop_rows(label_rh: IntArray, price_rh: FloatArray, votes_r: IntArray, n_classes: int) -> tuple[Stopping, ...]:
    """What each stopping rule saves on rows of votes in order of arrival; -1 after the last vote."""
    n_rows, most = label_rh.shape
    count_rk, rows = np.zeros((n_rows, n_classes)), np.arange(n_rows)
    asked = {stop: votes_r.copy() for stop in Stop}
    label = {stop: np.full(n_rows, -1) for stop in Stop}
    for h in range(most):
        here = np.flatnonzero(label_rh[:, h] >= 0)
        count_rk[here, label_rh[here, h]] += 1
        best_rk = np.partition(count_rk, n_classes - 2, axis=1)
        lead_r = best_rk[:, -1] - best_rk[:, -2]
        for stop, is_over_r in ((Stop.DECIDED, lead_r > votes_r - h - 1), (Stop.LEAD_OF_THREE, lead_r >= 3)):
            new = np.flatnonzero(is_over_r & (label[stop] < 0) & (h < votes_r))
            asked[stop][new], label[stop][new] = h + 1, count_rk[new].argmax(axis=1)
    is_top_rk = count_rk == count_rk.max(axis=1, keepdims=True)
    spent_rh = np.cumsum(price_rh, axis=1)
    return tuple(
        Stopping(
            stop,
            votes_saved=1 - float(asked[stop].sum() / votes_r.sum()),
            price_saved=1 - float(spent_rh[rows, asked[stop] - 1].sum() / max(spent_rh[:, -1].sum(), 1e-12)),
            labels_changed=float(((label[stop] >= 0) & ~is_top_rk[rows, label[stop]]).mean()),
        )
        for stop in Stop
    )


def _refuse(
    target: float, max_votes: int, price_per_vote: float, prices: Mapping[Hashable, float] | None, level: float
) -> None:
    if not 0 < target <= 1:
        raise ConfigError(f"target must be above 0 and at most 1, not {target}.")
    if max_votes < 1 or max_votes != int(max_votes):
        raise ConfigError(f"max_votes must be a whole number of at least 1, not {max_votes}.")
    for name, price in {"price_per_vote": price_per_vote, **(prices or {})}.items():
        if not (np.isfinite(price) and price >= 0):
            raise ConfigError(f"The price {name!r} must be a number of at least 0, not {price}.")
    as_level(level)
