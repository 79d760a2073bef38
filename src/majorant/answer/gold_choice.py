"""A method chosen by gold labels, and what that choice is worth, each gold item judged without its own label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from majorant.answer.gold import right_share
from majorant.answer.gold_test import GoldTest, mcnemar
from majorant.estimate.anchor_map import AnchorMap
from majorant.estimate.fit import Fit
from majorant.interval import Estimate, FloatArray, clopper_pearson
from majorant.votes import IntArray, Votes

ENOUGH_GOLD = 50  # items; with fewer the best of a dozen methods is mostly the luckiest
FOLDS = 5
LEAD = 2.0  # standard errors by which gold must set a method before what is chosen without it
ANCHORED = "anchor-map per worker"
Learner = Callable[[Votes], Fit]
# What learns from gold must be judged by gold that it has not seen.
LEARNERS: Mapping[str, Learner] = {ANCHORED: AnchorMap(shared=False, leave_one_out=True).fit}
BLIND: Mapping[str, Learner] = {AnchorMap.name: AnchorMap(leave_one_out=True).fit, **LEARNERS}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GoldChoice:
    """The method chosen, the honest accuracy of each candidate, and the test against majority of the choice itself."""

    method: str
    n_items: int
    accuracy: Mapping[str, Estimate]  # of each method by itself
    learned: Mapping[str, Fit]  # fits that use gold, judging each gold item without its own label
    chosen: Estimate  # of what is chosen in this way: each part of the items by what was chosen on the others
    test: GoldTest

    def reason(self, default: str) -> str:
        """Why this method and not the default, in a sentence."""
        value = self.accuracy[self.method].value or 0.0
        other = self.accuracy[default].value or 0.0
        return f"On {self.n_items:,} gold items it is right on {value:.1%}, the {default} on {other:.1%}."


def choose_by_gold(
    votes: Votes, fits: Mapping[str, Fit], default: str, *, level: float, rng: np.random.Generator, free: bool = True
) -> GoldChoice:
    """The method with the best gold accuracy, if it leads the default by two standard errors; cross-validated.

    With fewer than ENOUGH_GOLD items, or if the choice is not `free`, the default stays.  A tie counts as the fair draw
    that would settle it.  `fits` must hold `default` and "majority" and must not have learned from gold; methods that
    do are added here.
    """
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0)) if votes.gold_i is not None else np.empty(0, int)
    fold_r, draw_r = rng.permutation(np.arange(len(known)) % FOLDS), rng.random(len(known))
    right = {method: _right(fit, votes, known) for method, fit in fits.items()}
    if len(known) < ENOUGH_GOLD or not free:
        return _result(default, right, {}, right[default], draw_r, level=level, folds=1)
    blind_r = np.empty(len(known))
    for fold in range(FOLDS):
        seen = fold_r != fold
        partly = {**right, **{name: _right(_learn(name, votes, known[~seen]), votes, known) for name in LEARNERS}}
        blind_r[~seen] = partly[_best(partly, default, seen)][~seen]
    learned = {name: _learn(name, votes, known[:0]) for name in LEARNERS}
    right |= {name: _right(fit, votes, known) for name, fit in learned.items()}
    method = _best(right, default, np.ones(len(known), dtype=bool))
    return _result(method, right, learned, blind_r, draw_r, level=level, folds=FOLDS)


def judged_blind(method: str, votes: Votes) -> Fit | None:
    """The fit of a method that learns from gold, each gold item judged without its own label; None for others."""
    return BLIND[method](votes) if method in BLIND else None


def _learn(name: str, votes: Votes, hidden: IntArray) -> Fit:
    """What the method learns where the gold labels of some items are hidden."""
    assert votes.gold_i is not None
    gold_i = votes.gold_i.copy()
    gold_i[hidden] = -1
    return LEARNERS[name](replace(votes, gold_i=gold_i))


def _right(fit: Fit, votes: Votes, known: IntArray) -> FloatArray:
    """For each of the items known whether it is labelled right; for a tie, how probably a fair draw would be."""
    assert votes.gold_i is not None
    return right_share(fit.posterior[known], votes.gold_i[known])


def _best(right: Mapping[str, FloatArray], default: str, seen_r: NDArray[np.bool_]) -> str:
    """The most accurate method on these items, unless its lead over the default is within two standard errors."""
    lead = {name: right_r[seen_r] - right[default][seen_r] for name, right_r in right.items()}
    best = max(lead, key=lambda name: (lead[name].mean(), name == default))
    return best if _sure(lead[best]) else default


def _sure(lead_r: FloatArray) -> bool:
    return bool(lead_r.mean() > LEAD * lead_r.std() / np.sqrt(len(lead_r)))


def _result(
    method: str,
    right: Mapping[str, FloatArray],
    learned: Mapping[str, Fit],
    blind_r: FloatArray,
    draw_r: FloatArray,
    *,
    level: float,
    folds: int,
) -> GoldChoice:
    return GoldChoice(
        method=method,
        n_items=len(blind_r),
        accuracy={name: _share(right_r, level) for name, right_r in right.items()},
        learned=learned,
        chosen=_share(blind_r, level),
        test=mcnemar(draw_r < blind_r, draw_r < right["majority"], level=level, folds=folds),
    )


def _share(right_r: FloatArray, level: float) -> Estimate:
    if not len(right_r):
        return Estimate(None, reason="no item with votes has a gold label")
    return Estimate(float(right_r.mean()), *clopper_pearson(float(right_r.sum()), len(right_r), level))
