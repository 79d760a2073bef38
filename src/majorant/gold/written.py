"""The accuracy of written labels as the question of a design: one rule, frozen, and items drawn uniformly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from majorant.gold.accuracy import AIM, CANNOT_TELL, NOTHING, Known, bound_accuracy, planned_labels
from majorant.gold.question import OPEN, UNASKED, Codes, Outcome
from majorant.values import LEVEL, lock


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
    confidence: float = 0.9  # what the rule believes of its labels, for planning

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size(self) -> int:
        """How many items the order holds."""
        return len(self.label_d)

    @property
    def strata(self) -> Codes:
        """One: the order is kept."""
        return np.zeros(self.size, dtype=np.int64)

    def expected(self) -> int:
        """About how many labels make the interval as short as was wanted, if the rule is as good as it believes."""
        return self._planned(min(max(self.confidence, 0.5), 1.0))

    def _planned(self, share: float) -> int:
        planned = planned_labels(share, n_items=self.n_items, aim=self.aim, level=self.level, known=self.known)
        return min(planned, self.size)

    def next_items(self, answer_d: Codes) -> Codes:
        """The items in their order."""
        return np.flatnonzero(answer_d == UNASKED)

    def evaluate(self, answer_d: Codes) -> Outcome:
        """The share of right labels; reached, once its interval is as short as was wanted."""
        answer_d = np.asarray(answer_d, dtype=np.int64)
        answered = np.flatnonzero(answer_d != UNASKED)
        prefix = slice(0, int(answered[-1]) + 1 if len(answered) else 0)
        right_t = np.where(answer_d[prefix] < 0, CANNOT_TELL, answer_d[prefix] == self.label_d[prefix])
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
