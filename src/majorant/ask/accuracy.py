"""Bound the accuracy of a rule's labels from a random sample: valid at every sample size, without a model.

The bounds come from `betting`.  Proofs: docs/theory/ask.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.ask.question import OPEN, SKIPPED, UNASKED, Codes, Outcome
from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.betting import SMALL_BETS_F, bounds
from majorant.values import Estimate, Missing, as_level, lock

AIM = 0.03  # desired half-width of the interval


def bound_accuracy(right: ArrayLike, *, n_items: int, level: float = LEVEL) -> Estimate:
    """The share of right labels among all items, with bounds that hold at every number of answers at once.

    `right` holds 1 (right), 0 (wrong) or -1 (the expert cannot tell) for the first items of a uniformly random order,
    which was drawn after the labels were fixed.  Nothing else is assumed.  A skipped item counts as wrong for the lower
    bound and as right for the upper bound.

    >>> share = bound_accuracy([1, 1, 1, 1, 0, 1, 1, 1, 1, 1] * 20, n_items=1000)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.9, 0.829, 0.947)
    """
    right_t, tail = np.asarray(right, dtype=float), (1 - as_level(level)) / 2
    if n_items < 1 or len(right_t) > n_items:
        raise ConfigError(f"right= holds {len(right_t)} answers, but there are {n_items} items.")
    if not np.isin(right_t, (0, 1, SKIPPED)).all():
        raise ConfigError("right= may hold only 1 (right), 0 (wrong) or -1 (cannot tell).")
    right_t[right_t == SKIPPED] = np.nan
    low, high = bounds(right_t, n_items, tail, tail, SMALL_BETS_F)
    if not np.isfinite(right_t).any():
        return Estimate(None, low, high, reason=Missing.NO_UNIFORM_LABEL)
    share = float(np.nanmean(right_t))
    return Estimate(share, min(low, share), max(high, share))  # the bounds can cross, but then one of them is wrong


def is_reached(share: Estimate, aim: float) -> bool:
    """Whether the interval is as short as desired."""
    assert share.low is not None and share.high is not None  # noqa: PT018
    return share.high - share.low <= 2 * aim


def planned_labels(share: float, *, n_items: int, aim: float = AIM, level: float = LEVEL) -> int:
    """Approximate number of answers until the half-width of the interval is `aim`, if a `share` of labels is right.

    The constants were fitted to simulations and are off by about 10%.

    >>> planned_labels(.9, n_items=1000), planned_labels(.9, n_items=100_000)
    (480, 914)
    """
    drawn = np.log(2 / (1 - level)) * max(2.5 * share * (1 - share) / aim**2, 0.9 / aim)  # for infinitely many items
    return int(np.ceil(drawn / (1 + drawn / n_items)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WrittenLabels:
    """A rule's frozen labels in a uniformly random order of the items.

    >>> question = WrittenLabels(rule="majority", label_d=np.zeros(100, int), n_items=100)
    >>> outcome = question.evaluate(np.r_[np.zeros(90, int), np.ones(10, int)])
    >>> outcome.verdict, outcome.value.low, outcome.value.high
    ('reached', 0.9, 0.9)
    """

    kind: ClassVar[str] = "accuracy"
    rule: str
    label_d: Codes
    n_items: int  # items with votes; the order may be truncated
    aim: float = AIM
    level: float = LEVEL
    confidence: float = 0.9  # the rule's own accuracy estimate, for planning

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size(self) -> int:
        """Number of items in the order."""
        return len(self.label_d)

    def expected(self) -> int:
        """Approximate number of labels until the interval is short enough, if the rule is as good as it believes."""
        return self._planned(self.confidence)

    def _planned(self, share: float) -> int:
        share = min(max(share, 0.5), 1.0)
        planned = planned_labels(share, n_items=self.n_items, aim=self.aim, level=self.level)
        return min(planned, self.size)

    def advance(self, answer_d: Codes) -> WrittenLabels:  # noqa: ARG002
        """Return the same question, because it has only one stage."""
        return self

    def next_items(self, answer_d: Codes) -> Codes:
        """Unlabelled items in random order."""
        return np.flatnonzero(answer_d == UNASKED)

    def evaluate(self, answer_d: Codes) -> Outcome:
        """The share of correct labels; "reached" once the interval is short enough."""
        answered = np.flatnonzero(answer_d != UNASKED)
        answer_t = answer_d[: int(answered[-1]) + 1 if len(answered) else 0]
        right_t = np.where(answer_t < 0, SKIPPED, answer_t == self.label_d[: len(answer_t)])
        share = bound_accuracy(right_t, n_items=self.n_items, level=self.level)
        n_right, n_labels = int((right_t == 1).sum()), int((right_t >= 0).sum())
        reached = is_reached(share, self.aim)
        planned = self._planned(n_right / n_labels if n_labels else self.confidence)
        return Outcome(
            kind=self.kind,
            verdict="reached" if reached else OPEN,
            decided=reached,
            value=share,
            level=self.level,
            tolerance=self.aim,
            n_items=self.n_items,
            n_differ=self.n_items,
            labels=n_labels,
            skipped=len(right_t) - n_labels,
            more=0 if reached else min(max(planned - len(right_t), 1), self.size - len(right_t)),
            rules=(self.rule,),
            leader=self.rule,
            right={self.rule: n_right},
        )
