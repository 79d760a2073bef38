"""What a source of evidence returns: a statement about majority vote and another rule, with its assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from majorant.defaults import LEVEL, MAJORITY
from majorant.values import Estimate


class Source(StrEnum):
    """Where evidence comes from, strongest first."""

    LABELS = "labels"  # expert or gold labels, with a proof that holds at any number of labels
    EARNED = "earned"  # the same labels taught the rule: the gain to expect, with its 80% range
    IDENTICAL = "identical"  # the two rules give (nearly) the same labels
    CERTIFICATE = "certificate"  # a model of the votes whose assumptions can be tested
    TRACK_RECORD = "track record"  # how the rule did on public data sets like this one


class Status(StrEnum):
    """What is known about an assumption."""

    PASSED = "passed"  # tested and not rejected
    FAILED = "failed"  # tested and rejected
    UNTESTABLE = "untestable"  # these data cannot test it
    UNTESTED = "untested"  # nothing here tests it


class Assumption(StrEnum):
    """Assumptions on which evidence can rest."""

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

    PROVED = "proved"  # by expert or gold labels
    SAME = "same"  # the rules give the same labels, which says nothing about how good these are
    SUPPORTED = "supported"  # by a certificate whose assumptions were tested
    LIKELY = "likely"  # by the track record, or by labels that do not prove it yet
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tested:
    """An assumption, what is known about it, and the p-value of its test if there is one."""

    assumption: Assumption
    status: Status
    p_value: float | None = None
    __test__: ClassVar[bool] = False  # otherwise pytest collects this class, because of its name


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
    """A statement about the gain of a rule over the rule in use.

    Parameters
    ----------
    source : Source
        Where it comes from, which decides how `decide` uses it.
    other : str
        The rule that is compared with `present`; for a certificate, the best rule of a family.
    gain : Estimate
        Accuracy of `other` minus accuracy of `present`, as a share of all items; without an interval if `other` was
        learned from the same labels and evaluated by cross-validation.
    present : str
        The rule in use: majority vote unless another one was asked about.
    level : float
        Probability with which the interval of `gain` holds if the assumptions do.
    assumptions : tuple of Tested
        What is assumed, and what is known about each assumption.
    n_labels : int
        Number of expert or gold labels behind it.
    n_used : int
        Number of those on items where the two rules differ; the others say nothing about the gain.
    wins, losses : float
        How many labels show `other` right and `present` wrong, and the reverse; a tie counts in part.
    earned : bool
        Whether the labels that taught a rule allow to announce its gain.
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
    earned: bool = False
    record: Record | None = None

    def with_status(self, *statuses: Status) -> tuple[Tested, ...]:
        """The assumptions with one of these statuses."""
        return tuple(tested for tested in self.assumptions if tested.status in statuses)


def is_better(gain: Estimate, tolerance: float) -> bool:
    """Whether labels prove that a rule gains something, and its gain is large enough to matter."""
    return gain.value is not None and gain.low is not None and gain.low > 0 and gain.value > tolerance
