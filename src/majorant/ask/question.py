"""The protocol that questions implement, and the outcome that they return.

A question identifies items by their position 0, 1, ... in a random order, never by name, and holds everything needed to
evaluate the expert's answers, one code per position.  `Design` adds the names and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import LEVEL, TOLERANCE
from majorant.evidence.drawn import Measured
from majorant.evidence.learn import LearnedRule
from majorant.read.tasks import SKIPPED, UNASKED
from majorant.values import Estimate, lock

__all__ = ["OPEN", "SKIPPED", "UNASKED", "Codes", "Outcome", "Question", "Verdict", "Wanted", "n_answers"]

Codes = NDArray[np.int64]
Verdict = Literal["better", "worse", "same", "within", "reached", "open"]
OPEN: Final = "open"


TEACH = "teach"  # the question that teaches a rule
RULES = "rules"  # the question which of several rules is best


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The request passed to a question."""

    rules: tuple[str, ...]  # the rules to compare, starting with the one in use
    n: int | None = None  # number of items to ask about now; None for the default of the question
    seed: int = 0
    tolerance: float = TOLERANCE
    level: float = LEVEL
    experts: str = "majority"
    draw: str | None = None  # how items that teach are drawn: "teach" or "random"; None for the default


class Question(Protocol):
    """A frozen dataclass stored in the design file; `ask/content.py` determines which field types it may have.

    `answer_d` holds a class code, SKIPPED or UNASKED for each position of the order.
    """

    kind: ClassVar[str]

    @property
    def size(self) -> int:
        """Number of items in the order."""

    def expected(self) -> int | None:
        """Approximate number of labels needed to settle the question from the start; None if unknown."""

    def advance(self, answer_d: Codes) -> Question:
        """Return the question to continue with after these answers: itself, or its next stage."""

    def next_items(self, answer_d: Codes) -> Codes:
        """Return the positions to ask about after these answers, the next one first."""

    def evaluate(self, answer_d: Codes) -> Outcome:
        """Return the outcome of the answers so far."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What expert labels drawn by a design show.

    `value` is the bounded quantity, as a share of the items: the lead of a rule, or an accuracy.  The design fills in
    the last eight fields, because only it knows the names of the items and how they were drawn.
    """

    kind: str  # of the question
    verdict: Verdict  # two rules: better, worse or same; several: within; accuracy: reached
    decided: bool  # no further label is needed
    value: Estimate
    level: float
    tolerance: float
    n_items: int  # number of items that the statement is about
    n_differ: int  # number of items on which the answer depends
    labels: int  # number of answers, without skipped items
    skipped: int
    more: int | None  # approximate number of labels still needed; 0 if the question is settled
    rules: tuple[str, ...] = ()
    leader: str | None = None  # the rule to use now
    alive: tuple[str, ...] = ()  # rules that may be the best
    right: Mapping[str, int] = field(default_factory=dict)  # number of answers that each rule got right
    below: float | None = None  # upper bound on how far the leader is below the best
    same_as: Mapping[str, str] = field(default_factory=dict)  # rules that label every item as an earlier one does
    stake: float | None = None  # the largest possible difference between two of the rules, as a share of the items
    tied: int = 0  # number of items with tied votes, which are left out
    learned: LearnedRule | None = None  # the rule learned from the labels that teach
    n_taught: int = 0  # number of labels that taught it
    n_recent: int = 0  # number of the last labels drawn to teach ...
    n_changed: int = 0  # ... and of labels of the learned rule that they changed
    measured: tuple[Measured, ...] = ()  # accuracies, from labels drawn to teach
    n_proving: int = 0  # number of later labels, on items where the learned rule and majority vote differ
    uniform: bool = False  # whether the labelled items are a random sample of all items
    n_sampled: int = 0  # number of labels in the random sample at the start of the order
    waiting: int = 0  # number of items that were asked and have no answer yet
    truth: str = ""  # whose labels count as true, if not an expert's
    ignored: tuple[Any, ...] = ()  # labelled items that the design did not draw
    unknown: tuple[Any, ...] = ()  # labels that are not classes of the votes; such items count as skipped
    relabelled: tuple[Any, ...] = ()  # items labelled more than once by one expert: the last label counts
    gaps: int = 0  # items without a label that were drawn before a labelled one; they count as skipped
    disagreed: tuple[Any, ...] = ()  # items on which experts disagree; they count as skipped

    def __post_init__(self) -> None:
        lock(self)


def n_answers(answer_d: Codes) -> tuple[int, int]:
    """Number of labels given, and number of items skipped."""
    return int((answer_d >= 0).sum()), int((answer_d == SKIPPED).sum())
