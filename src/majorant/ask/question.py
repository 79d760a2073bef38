"""The protocol of questions, and the outcome they return.

A question knows the items that may be asked as positions 0, 1, ... of a random order, never by name, and what the
expert said as one code per position.  It holds all that it needs to judge the answers; `Design` adds names and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from majorant.ask.learn import LearnedRule
from majorant.defaults import LEVEL, TOLERANCE
from majorant.read.tasks import SKIPPED, UNASKED
from majorant.values import Estimate, lock

__all__ = ["OPEN", "SKIPPED", "UNASKED", "Codes", "Outcome", "Question", "Verdict", "Wanted", "n_answers"]

Codes = NDArray[np.int64]
Verdict = Literal["better", "worse", "same", "within", "reached", "open"]
OPEN: Final = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The request passed to a question."""

    rules: tuple[str, ...]  # to compare, the one in use first
    n: int | None = None  # items to ask about now; None for the question's own default
    seed: int = 0
    tolerance: float = TOLERANCE
    level: float = LEVEL
    experts: str = "majority"


class Question(Protocol):
    """A frozen dataclass, kept in the file of the design; `ask/content.py` says which fields it may have.

    `answer_d` holds a class code, SKIPPED or UNASKED for each position of the order.
    """

    kind: ClassVar[str]

    @property
    def size(self) -> int:
        """How many items may be asked: the positions of the order."""

    def expected(self) -> int | None:
        """Approximate number of labels to settle the question, before any is given; None if unknown."""

    def advance(self, answer_d: Codes) -> Question:
        """The question to continue with after these answers: itself, or its next stage."""

    def next_items(self, answer_d: Codes) -> Codes:
        """The positions to ask about, the next one first, given the answers so far."""

    def evaluate(self, answer_d: Codes) -> Outcome:
        """What the answers so far settle."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What expert labels drawn by a design show.

    `value` is what is bounded, as a share of the items: the lead of a rule, or an accuracy.
    The last eight fields are filled by the design, which knows how items were drawn, and their names.
    """

    kind: str  # of the question
    verdict: Verdict  # two rules: better, worse or same; several: within; accuracy: reached
    decided: bool  # no further label is needed
    value: Estimate
    level: float
    tolerance: float
    n_items: int  # that the statement is about
    n_differ: int  # on which the answer depends
    labels: int  # answers given, without skipped items
    skipped: int
    more: int | None  # about how many more labels should settle it; 0 if it is settled
    rules: tuple[str, ...] = ()
    leader: str | None = None  # the rule to use now
    alive: tuple[str, ...] = ()  # rules that may be the best
    right: Mapping[str, int] = field(default_factory=dict)  # answers on which each rule was right
    below: float | None = None  # upper bound on how far the leader is below the best
    same_as: Mapping[str, str] = field(default_factory=dict)  # rules that give every item the label of an earlier one
    stake: float | None = None  # the largest possible difference between two of the rules, as a share of the items
    tied: int = 0  # items whose votes are tied, which are left out
    learned: LearnedRule | None = None  # the rule that labels of a random sample taught
    n_taught: int = 0  # labels of that sample
    n_proving: int = 0  # labels given after it, on items where the learned rule and majority vote differ
    uniform: bool = False  # items were drawn uniformly from all: what is labelled is a random sample
    n_sampled: int = 0  # labels of such a sample
    waiting: int = 0  # items that were asked and have no answer yet
    truth: str = ""  # whose labels count as true, if not an expert's
    ignored: tuple[Any, ...] = ()  # labelled items that the design did not draw
    unknown: tuple[Any, ...] = ()  # labels that are not classes of the votes; such items count as skipped
    relabelled: tuple[Any, ...] = ()  # items labelled more than once by one expert: the last label counts
    disagreed: tuple[Any, ...] = ()  # items on which experts do not agree; they count as skipped

    def __post_init__(self) -> None:
        lock(self)


def n_answers(answer_d: Codes) -> tuple[int, int]:
    """How many labels were given, and how many items skipped."""
    return int((answer_d >= 0).sum()), int((answer_d == SKIPPED).sum())
