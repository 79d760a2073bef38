"""Evidence: one engine's statement about majority vote and another rule, with its assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from majorant.defaults import LEVEL, MAJORITY
from majorant.values import Estimate


class Source(StrEnum):
    """Where evidence comes from, strongest first."""

    LABELS = "labels"  # expert or gold labels
    IDENTICAL = "identical"  # the two rules give (nearly) the same labels
    CERTIFICATE = "certificate"  # a model of the votes whose assumptions can be tested
    TRACK_RECORD = "track record"  # how the rule did on public data sets like this one


class Status(StrEnum):
    """What is known about an assumption."""

    PASSED = "passed"  # tested, and the data show no sign against it
    FAILED = "failed"  # tested and rejected
    UNTESTABLE = "untestable"  # these data cannot test it
    UNTESTED = "untested"  # nothing here tests it


class Assumption(StrEnum):
    """Assumptions of the engines."""

    RANDOM_LABELS = "random labels"  # the labelled items are a random sample
    INDEPENDENT_VOTES = "independent votes"  # given the truth
    INDEPENDENT_WORKERS = "independent workers"  # they err independently of each other
    EXCHANGEABLE_WORKERS = "exchangeable workers"
    INDEPENDENT_ITEMS = "independent items"
    NO_COPIES = "no copies"  # no worker repeats another
    LIKE_PUBLIC_SETS = "like public sets"
    STABLE_WORKERS = "stable workers"  # each worker errs the same way on all items
    VOTES_PER_ITEM = "votes per item"  # their number depends neither on the item nor on the votes
    BETTER_THAN_GUESSING = "better than guessing"
    LARGE_SAMPLE = "large sample"  # enough items for large-sample statistics


class Certainty(StrEnum):
    """Certainty of an answer or a verdict."""

    PROVED = "proved"
    SUPPORTED = "supported"
    LIKELY = "likely"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tested:
    """An assumption, what is known about it, and the p-value of its test where there is one."""

    assumption: Assumption
    status: Status
    p_value: float | None = None
    __test__: ClassVar[bool] = False  # pytest takes a class called Test... for tests


@dataclass(frozen=True, slots=True)
class Record:
    """How a rule did against majority vote on public data sets like this one."""

    sets: int
    better: int
    worse: int
    mean_gain: float
    worst_gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An engine's statement about the gain of a rule over the rule in use.

    Parameters
    ----------
    source : Source
        The kind of engine.
    other : str
        The rule that is compared with `present`; for a certificate, the best rule of a family.
    gain : Estimate
        Accuracy of `other` minus accuracy of `present`, as a share of all items; without an interval where it is
        cross-validated, for a rule that was learned from the same labels.
    present : str
        The rule in use: majority vote unless another one was asked about.
    level : float
        Probability with which the interval of `gain` holds if the assumptions do.
    assumptions : tuple of Tested
        What the engine takes for granted, and what is known about each assumption.
    n_labels : int
        Expert or gold labels that it rests on.
    n_used : int
        Those of them on items where the two rules differ: the others say nothing about the gain.
    wins, losses : float
        Labels that show `other` right and `present` wrong, and the reverse.
    record : Record or None
        The public data sets behind a track record.
    """

    source: Source
    other: str
    gain: Estimate
    present: str = MAJORITY
    level: float = LEVEL
    assumptions: tuple[Tested, ...] = ()
    n_labels: int = 0
    n_used: int = 0
    wins: float = 0.0
    losses: float = 0.0
    record: Record | None = None

    def with_status(self, *statuses: Status) -> tuple[Tested, ...]:
        """The assumptions with one of these statuses."""
        return tuple(tested for tested in self.assumptions if tested.status in statuses)
