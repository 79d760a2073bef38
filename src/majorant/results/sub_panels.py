"""Find which judges to keep: the best one, three or five of a panel on gold labels, compared with all of them.

The best of many sub-panels looks better than it is, so each interval is corrected for the number of sub-panels of its
size and holds whichever of them is chosen.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from majorant.evidence.copies import Copies, one_vote_each
from majorant.evidence.labels import known_items, right_share
from majorant.items import take_items
from majorant.methods.majority import Majority
from majorant.values import Estimate, FloatArray, binomial_bounds
from majorant.votes import IntArray, Votes

GOLD_TO_CHOOSE = 30  # labels; with fewer, every interval is too wide


class Enough(StrEnum):
    """How a sub-panel compares with all judges."""

    BETTER = "better"
    AS_GOOD = "as good"  # the interval excludes a loss of more than 2 points
    WORSE = "worse"
    OPEN = "open"  # the labels do not show it


@dataclass(frozen=True, slots=True, kw_only=True)
class SubPanel:
    """The best sub-panel of one size on gold labels.

    Attributes
    ----------
    judges : tuple of Hashable
        Names of the judges, the best first.
    accuracy : float
        Accuracy of their majority vote on the gold items; a tie counts by its share.
    difference : Estimate
        Accuracy minus that of all judges; the interval holds for all sub-panels of this size at once.
    """

    judges: tuple[Hashable, ...]
    accuracy: float
    difference: Estimate

    @property
    def enough(self) -> Enough:
        """How the sub-panel compares with all judges."""
        low, high = self.difference.low, self.difference.high
        if low is not None and low > 0:
            return Enough.BETTER
        if low is not None and low >= -0.02:
            return Enough.AS_GOOD
        return Enough.WORSE if high is not None and high < 0 else Enough.OPEN


def best_sub_panels(votes: Votes, copies: Copies, *, level: float) -> tuple[SubPanel, ...]:
    """The best one, three and five judges on gold labels, in that order; empty if there are too few labels.

    Parameters
    ----------
    votes : Votes
        Votes of a panel, with gold labels.
    copies : Copies
        Of judges with identical answers, only the first is chosen.
    level : float
        Confidence level of the intervals.
    """
    known = known_items(votes)
    if len(known) < GOLD_TO_CHOOSE:
        return ()
    some = take_items(votes, known)
    judged_j = np.bincount(one_vote_each(some).worker_n, minlength=len(votes.workers))
    repeated = {name for group in copies.groups if group.identical for name in group.workers[1:]}
    busy = np.flatnonzero(judged_j >= 0.8 * len(known)).tolist()  # others cannot be compared with the whole panel
    candidates = [j for j in busy if votes.workers[j] not in repeated]
    gold = _gold_votes(some, candidates)
    full_g = right_share(Majority().fit(some).posterior, gold.gold_g)
    order = sorted(range(len(candidates)), key=lambda a: -float((gold.label_ag[a] == gold.gold_g).mean()))
    panels = []
    for size in (1, 3, 5):
        if size >= len(candidates):
            break
        chosen = _best(gold, order, size)
        right_g = _right(gold, np.array([chosen]))[0]
        difference = _difference(right_g - full_g, (1 - level) / comb(len(candidates), size))
        names = tuple(votes.workers[candidates[a]] for a in chosen)
        panels.append(SubPanel(judges=names, accuracy=float(right_g.mean()), difference=difference))
    return tuple(panels)


class _GoldVotes(NamedTuple):
    """The labels of some judges on the gold items (-1 if missing), and the truth."""

    label_ag: IntArray
    gold_g: IntArray
    n_classes: int


def _gold_votes(some: Votes, worker_a: Sequence[int]) -> _GoldVotes:
    label_jg = np.full((len(some.workers), len(some.items)), -1, dtype=np.int64)
    label_jg[some.worker_n, some.item_n] = some.label_n
    return _GoldVotes(label_jg[list(worker_a)], some.truth_i, len(some.labels))


def _right(gold: _GoldVotes, panel_ps: IntArray) -> FloatArray:
    """Probability that the majority vote of each sub-panel is right on each gold item, (panels, items).

    Ties are decided by a coin; on an item that none of the judges labels, all labels are tied.
    """
    votes_akg = (gold.label_ag[:, None, :] == np.arange(gold.n_classes)[:, None]).astype(np.int8)
    count_pkg = votes_akg[panel_ps].sum(axis=1, dtype=np.int8)
    top_pkg = count_pkg == count_pkg.max(axis=1, keepdims=True)
    right_pg = np.take_along_axis(top_pkg, gold.gold_g[None, None, :], axis=1)[:, 0]
    return np.asarray(right_pg / top_pkg.sum(axis=1))


def _best(gold: _GoldVotes, order: Sequence[int], size: int) -> tuple[int, ...]:
    """The judges whose majority vote is right most often, by exhaustive or greedy search (two judges at a time)."""
    if comb(len(order), size) <= 20_000:  # few enough to try all
        return _best_of(gold, np.array(list(combinations(order, size))))
    chosen: tuple[int, ...] = (order[0],)
    while len(chosen) < size:
        left = [a for a in order if a not in chosen][:100]
        chosen = _best_of(gold, np.array([(*chosen, *pair) for pair in combinations(left, 2)]))
    return chosen


def _best_of(gold: _GoldVotes, panel_ps: IntArray) -> tuple[int, ...]:
    step = max(1, 20_000_000 // (panel_ps.shape[1] * gold.n_classes * len(gold.gold_g)))
    right_p = np.concatenate(
        [_right(gold, panel_ps[at : at + step]).sum(axis=1) for at in range(0, len(panel_ps), step)]
    )
    return tuple(panel_ps[right_p.argmax()].tolist())


def _difference(gain_g: FloatArray, alpha: float) -> Estimate:
    """The mean gain, with exact bounds on the wins and on the losses, each end at a quarter of alpha."""
    n_gold = len(gain_g)
    won, lost = float(gain_g.clip(min=0).sum()), float(-gain_g.clip(max=0).sum())
    (won_low, lost_low), (won_high, lost_high) = binomial_bounds([won, lost], [n_gold, n_gold], alpha / 4)
    return Estimate(float(gain_g.mean()), float(won_low - lost_high), float(won_high - lost_low))
