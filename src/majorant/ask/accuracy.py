"""Bound the share of correct labels from a uniform sample, valid at every sample size and without a model.

As a question of `ask`, it concerns one frozen rule.  Proofs: docs/theory/ask.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.ask.question import OPEN, SKIPPED, UNASKED, Codes, Outcome
from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.values import Estimate, Missing, as_level, lock

AIM = 0.03  # desired half-width of the interval
SHIFTS = (0.7, 1.5, 4.0)  # how far the rivals of a candidate lie from it, in multiples of the aim

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Items labelled before the uniform order was drawn, by any design: they count exactly, not as a sample."""

    n_items: int = 0
    n_right: int = 0
    n_skipped: int = 0  # the expert cannot tell

    def __post_init__(self) -> None:
        if min(self.n_items, self.n_right, self.n_skipped) < 0 or self.n_right + self.n_skipped > self.n_items:
            raise ConfigError(
                f"known= cannot hold {self.n_right} right and {self.n_skipped} skipped of {self.n_items}."
            )


NOTHING = Known()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The share of right labels among all items, as the expert's answers so far bound it."""

    share: Estimate
    n_items: int  # of the file, known ones included
    n_labels: int  # given in the uniform order, skipped items not counted
    n_right: int
    n_skipped: int
    known: Known
    aim: float
    reached: bool  # the interval is short enough


def bound_accuracy(
    right: ArrayLike, *, n_items: int, aim: float = AIM, level: float = LEVEL, known: Known = NOTHING
) -> Accuracy:
    """Bounds on the share of right labels that hold with probability `level` at every number of answers at once.

    `right` holds 1 (right), 0 (wrong) or -1 (the expert cannot tell) for a prefix of a uniformly random order of the
    items that are not `known`; the labels were fixed before that order was drawn.  Nothing else is assumed.  Labels
    that an earlier design chose are fine: freeze them, draw a fresh order of the items not labelled yet, and give
    those labelled as `known`.  An item that the expert skips counts as wrong below and as right above.

    >>> accuracy = bound_accuracy([1, 1, 1, 1, 0, 1, 1, 1, 1, 1] * 20, n_items=1000)
    >>> accuracy.share.value, accuracy.share.low, accuracy.share.high, accuracy.reached
    (0.9, 0.823, 0.945, False)
    """
    right_t = np.asarray(right, dtype=np.int64)
    n_rest = n_items - known.n_items
    if not 0 <= len(right_t) <= n_rest:
        raise ConfigError(f"right= holds {len(right_t)} answers, but only {n_rest} items are not known yet.")
    if not np.isin(right_t, (0, 1, SKIPPED)).all():
        raise ConfigError("right= holds 1 (right), 0 (wrong) or -1 (cannot tell), nothing else.")
    shift_j, tail = _shifts(aim, n_items), (1 - as_level(level)) / 2
    low, high = _bounds(right_t, n_rest, shift_j, tail)
    n_right, n_skipped = int((right_t == 1).sum()), int((right_t == SKIPPED).sum())
    n_labels = len(right_t) - n_skipped
    share = n_right / n_labels if n_labels else 0.0 if not n_rest else None
    return Accuracy(
        share=Estimate(
            None if share is None else (known.n_right + share * n_rest) / n_items,
            (known.n_right + low) / n_items,
            (known.n_right + known.n_skipped + high) / n_items,
            reason=Missing.NO_UNIFORM_LABEL if share is None else None,
        ),
        n_items=n_items,
        n_labels=n_labels,
        n_right=n_right,
        n_skipped=n_skipped,
        known=known,
        aim=aim,
        reached=known.n_skipped + high - low <= 2 * aim * n_items,
    )


def planned_labels(
    share: float, *, n_items: int, aim: float = AIM, level: float = LEVEL, known: Known = NOTHING
) -> int:
    """Approximate number of answers until the interval is as short as `aim`, if a `share` of labels is right.

    The number at which a single look suffices if right and wrong answers come as often as expected; since all looks
    count, it mostly takes a little less.

    >>> planned_labels(.9, n_items=1000), planned_labels(.9, n_items=100_000)
    (478, 958)
    """
    n_rest, shift_j, tail = n_items - known.n_items, _shifts(aim, n_items), (1 - as_level(level)) / 2
    if not 0 <= share <= 1:
        raise ConfigError(f"share must lie between 0 and 1, not {share!r}.")
    few, enough = 0, n_rest
    while enough - few > 1:
        n = (few + enough) // 2
        right, n_1 = np.array([round(share * n)]), np.array([n])
        width = n_rest - _lowest(n_1 - right, n_1, n_rest, shift_j, tail) - _lowest(right, n_1, n_rest, shift_j, tail)
        few, enough = (few, n) if width[0] <= 2 * aim * n_items else (n, enough)
    return enough


def _shifts(aim: float, n_items: int) -> IntArray:
    if n_items < 1:
        raise ConfigError(f"n_items must be at least 1, not {n_items}.")
    if not 0 < aim < 1:
        raise ConfigError(f"aim is half the width of the interval, between 0 and 1, not {aim!r}.")
    return np.array([max(1, round(shift * aim * n_items)) for shift in SHIFTS])


def _bounds(right_t: IntArray, n_rest: int, shift_j: IntArray, tail: float) -> tuple[int, int]:
    """The least and the largest number right among the rest that no look so far has refuted."""
    if not len(right_t):
        return 0, n_rest
    n_t = np.arange(1, len(right_t) + 1)
    right_t, wrong_t = np.cumsum(right_t == 1), np.cumsum(right_t == 0)
    low_t = _lowest(right_t, n_t, n_rest, shift_j, tail)
    high_t = n_rest - _lowest(wrong_t, n_t, n_rest, shift_j, tail)
    low, high = int(low_t.max()), int(high_t.min())
    if low > high:  # the bounds crossed, which happens with at most the stated probability
        low, high = int(low_t[-1]), int(high_t[-1])
    least, most = int(right_t[-1]), n_rest - int(wrong_t[-1])  # exclude what the answers make impossible
    return min(max(low, least), most), max(min(high, most), least)


def _lowest(right_t: IntArray, n_t: IntArray, n_items: int, shift_j: IntArray, tail: float) -> IntArray:
    """For each look the smallest number right T of n_items that it does not refute, with right_t of n_t right.

    T is refuted where the mean likelihood ratio of its rivals T + shift reaches 1/tail.  The logarithm of each ratio
    falls in T, so what is refuted lies below what is not, and bisection finds the end.
    """
    refuted_t, kept_t = right_t - 1, n_items - n_t + right_t  # the largest T that is possible has no rival above it
    while (kept_t - refuted_t > 1).any():
        middle_t = (refuted_t + kept_t + 1) // 2
        keep_t = _log_evidence(right_t, n_t, middle_t, n_items, shift_j) < -np.log(tail)
        refuted_t, kept_t = np.where(keep_t, refuted_t, middle_t), np.where(keep_t, middle_t, kept_t)
    return kept_t


def _log_evidence(
    right_t: IntArray, n_t: IntArray, candidate_t: IntArray, n_items: int, shift_j: IntArray
) -> NDArray[np.float64]:
    """The log mean likelihood ratio of the rivals of each candidate; in logs, as both likelihoods may underflow."""
    rival_jt = np.minimum(candidate_t + shift_j[:, None], n_items)
    ratio_jt = _log_likelihood(right_t, n_t, rival_jt, n_items) - _log_likelihood(right_t, n_t, candidate_t, n_items)
    return np.asarray(np.logaddexp.reduce(ratio_jt, axis=0) - np.log(len(shift_j)))


def _log_likelihood(right_t: IntArray, n_t: IntArray, total: IntArray, n_items: int) -> NDArray[np.float64]:
    """The hypergeometric log-likelihood of `total` right among n_items, up to a constant; -inf where impossible."""
    from scipy.special import gammaln

    wrong_t, other = n_t - right_t, n_items - total
    possible = (total >= right_t) & (other >= wrong_t)
    left, other_left = np.where(possible, total - right_t, 0), np.where(possible, other - wrong_t, 0)
    value = gammaln(total + 1.0) - gammaln(left + 1.0) + gammaln(other + 1.0) - gammaln(other_left + 1.0)
    return np.where(possible, value, -np.inf)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WrittenLabels:
    """A rule's frozen labels in a uniformly random order of the items that are not `known`.

    >>> question = WrittenLabels(rule="majority", label_d=np.zeros(100, int), n_items=100)
    >>> outcome = question.evaluate(np.r_[np.zeros(90, int), np.ones(10, int)])
    >>> outcome.verdict, outcome.value.low, outcome.value.high
    ('reached', 0.9, 0.9)
    """

    kind: ClassVar[str] = "accuracy"
    rule: str
    label_d: Codes
    n_items: int  # known ones included
    known: Known = NOTHING
    aim: float = AIM
    level: float = LEVEL
    confidence: float = 0.9  # the rule's own accuracy estimate, for planning

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size(self) -> int:
        """How many items the order holds."""
        return len(self.label_d)

    def expected(self) -> int:
        """Approximate number of labels until the interval is short enough, if the rule is as good as it believes."""
        return self._planned(min(max(self.confidence, 0.5), 1.0))

    def _planned(self, share: float) -> int:
        planned = planned_labels(share, n_items=self.n_items, aim=self.aim, level=self.level, known=self.known)
        return min(planned, self.size)

    def advance(self, answer_d: Codes) -> WrittenLabels:  # noqa: ARG002
        """The same question: it has one stage."""
        return self

    def next_items(self, answer_d: Codes) -> Codes:
        """The items in their order."""
        return np.flatnonzero(answer_d == UNASKED)

    def evaluate(self, answer_d: Codes) -> Outcome:
        """The share of correct labels; "reached" once the interval is short enough."""
        answer_d = np.asarray(answer_d, dtype=np.int64)
        answered = np.flatnonzero(answer_d != UNASKED)
        prefix = slice(0, int(answered[-1]) + 1 if len(answered) else 0)
        right_t = np.where(answer_d[prefix] < 0, SKIPPED, answer_d[prefix] == self.label_d[prefix])
        accuracy = bound_accuracy(right_t, n_items=self.n_items, aim=self.aim, level=self.level, known=self.known)
        share = accuracy.n_right / accuracy.n_labels if accuracy.n_labels else min(max(self.confidence, 0.5), 1.0)
        return Outcome(
            kind=self.kind,
            verdict="reached" if accuracy.reached else OPEN,
            decided=accuracy.reached,
            value=accuracy.share,
            level=self.level,
            tolerance=self.aim,
            n_items=self.n_items,
            n_differ=self.n_items,
            labels=accuracy.n_labels,
            skipped=accuracy.n_skipped,
            more=0 if accuracy.reached else min(max(self._planned(share) - len(right_t), 1), self.size - len(right_t)),
            rules=(self.rule,),
            leader=self.rule,
            right={self.rule: accuracy.n_right},
            facts={"known": asdict(self.known)},
        )

    def to_dict(self) -> dict[str, Any]:
        """The content as plain data for JSON."""
        return {
            "rule": self.rule,
            "labels": self.label_d.tolist(),
            "items": self.n_items,
            "known": asdict(self.known),
            "aim": self.aim,
            "level": self.level,
            "confidence": self.confidence,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The question that `to_dict` wrote."""
        return cls(
            rule=content["rule"],
            label_d=np.array(content["labels"], dtype=np.int64),
            n_items=int(content["items"]),
            known=Known(**content["known"]),
            aim=float(content["aim"]),
            level=float(content["level"]),
            confidence=float(content["confidence"]),
        )
