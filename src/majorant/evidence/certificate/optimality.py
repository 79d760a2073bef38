"""The answer to the paper's question for a file of votes, its grade, and what would overturn it: the result types.

The grade is a record: how often the same check agreed with gold labels on public data sets of the same kind.
`optimality_record.json` is written by `benchmarks/optimality.py`.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

import numpy as np

from majorant.evidence.evidence import Certainty, Tested
from majorant.theory.window import Window
from majorant.values import Estimate

ENOUGH_SETS, ENOUGH_RIGHT = 6, 0.8  # public sets of the kind, and the share of them on which the check was right


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeAnswer:
    """The answer for the items with one number of votes; window and handicap only for two classes with one matrix."""

    n_votes: int
    share: float  # of the items
    margin: float
    window: Window | None = None
    handicap: float | None = None  # votes by which the first class is behind


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCounts:
    """Vote counts on which another label is more probable than majority's, and the share of items that have them."""

    counts: tuple[int, ...]
    majority: Hashable
    best: Hashable
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCounts:
    """Vote counts on which majority's label is the most probable at the level, if votes are independent.

    The counts of one class and number of votes are tested from unanimity inwards, up to the first that is open. The
    hypotheses are nested, so only the number of different numbers of votes calls for a correction.
    """

    n_votes: int
    label: Hashable
    smallest: int | None  # smallest number of votes for the label that is settled; None if none is
    share: float  # of the items


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCheck:
    """A public data set with gold labels: what the check said of it, and what is true.

    `expected` is the loss that the model expects, `loss` that of majority vote against the best rule of the vote counts
    by gold, `switched` the gain of acting on the answer: of labelling by the fitted model.
    """

    name: str
    family: str
    panel: bool
    classes: int
    said: bool  # that majority vote is optimal
    true: bool
    expected: float
    loss: float
    switched: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord:
    """How often the check agreed with gold on public sets of the same kind."""

    panel: bool
    two_classes: bool
    sets: int
    right: int
    said: int  # sets on which it gave the same answer
    said_right: int
    hurt: int  # sets on which it said "not optimal" and labelling by its model lost accuracy
    not_optimal: int

    @property
    def is_good(self) -> bool:
        """Whether there are enough sets, the check said both answers of some, and it was right on enough of them."""
        both = min(self.said, self.sets - self.said) >= 2  # else it may only ever give one answer
        return both and self.sets >= ENOUGH_SETS and self.right >= ENOUGH_RIGHT * self.sets


class Quantity(StrEnum):
    """A number of the model."""

    SHARE = "share"  # of a class
    ACCURACY = "accuracy"  # of votes on items of a class


@dataclass(frozen=True, slots=True, kw_only=True)
class TippingPoint:
    """The nearest value of a number at which the verdict changes while the others stay as they are."""

    quantity: Quantity
    label: object
    value: float
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tipping:
    """What would overturn a verdict.

    Parameters
    ----------
    correlation : float or None
        The smallest correlation of two votes on an item, given its class, that changes the verdict; None if none up to
        `searched` does.
    searched : float
        The largest correlation that was tried.
    points : tuple of TippingPoint
        The nearest other class share and accuracies, the smallest change first.
    """

    correlation: float | None
    searched: float
    points: tuple[TippingPoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimality:
    """Whether majority vote is optimal at the most likely model, if votes are independent given the class.

    Parameters
    ----------
    optimal : bool
        Whether the margin is above 0 for every number of votes that at least 1% of the items have.
    labels : tuple
        The classes, in the order of `prior` and `confusion`.
    prior : tuple of float
        Estimated share of each class, nu.
    confusion : tuple of tuple of float
        Estimated probability of each vote given the class, T; for a panel, the mean over votes.
    by_worker : bool
        Whether the model has one matrix per worker.
    by_votes : tuple of SizeAnswer
        The answer for each number of votes.
    wrong : tuple of WrongCounts
        The vote counts on which majority vote is wrong, the most common first.
    wrong_share : float
        Share of the items that have them.
    loss : Estimate
        The expected loss of majority vote: that of the claim if it gives the certainty, else scaled by how such
        forecasts came true on public sets, with the range that held on eight of ten of them; no value without a good
        record.
    certainty : Certainty
        How sure the answer is.
    record : CheckRecord
        The public sets behind a grade of `likely` or `unknown`.
    doubts : tuple of Tested
        Assumptions that failed or that these votes cannot test.
    settled : tuple of SettledCounts
        For two classes, the counts on which majority vote is settled; empty if votes fail the test of independence.
    settled_share : float or None
        Share of the items that have them.
    tipping : Tipping or None
        For two classes with one matrix, what would overturn the answer.
    """

    optimal: bool
    labels: tuple[Hashable, ...]
    prior: tuple[float, ...]
    confusion: tuple[tuple[float, ...], ...]
    by_worker: bool
    by_votes: tuple[SizeAnswer, ...]
    wrong: tuple[WrongCounts, ...]
    wrong_share: float
    loss: Estimate
    certainty: Certainty
    record: CheckRecord
    doubts: tuple[Tested, ...] = ()
    settled: tuple[SettledCounts, ...] = ()
    settled_share: float | None = None
    tipping: Tipping | None = None


@cache
def public_checks() -> tuple[PublicCheck, ...]:
    """The public sets of the record."""
    text = resources.files("majorant.evidence.certificate").joinpath("optimality_record.json")
    return tuple(PublicCheck(**row) for row in json.loads(text.read_text(encoding="utf-8"))["sets"])


def check_record(
    optimal: bool, *, panel: bool, n_classes: int, checks: Sequence[PublicCheck] | None = None
) -> CheckRecord:
    """The record of an answer: crowds and panels apart, two classes and more apart.

    >>> record = check_record(True, panel=False, n_classes=2)
    >>> record.sets >= record.right >= record.said_right, record.is_good
    (True, True)
    """
    like = _like(public_checks() if checks is None else checks, panel, n_classes)
    same = [one for one in like if one.said == optimal]
    acted = [one for one in like if not one.said]
    return CheckRecord(
        panel=panel,
        two_classes=n_classes == 2,
        sets=len(like),
        right=sum(one.said == one.true for one in like),
        said=len(same),
        said_right=sum(one.true == optimal for one in same),
        hurt=sum(one.switched < -0.0005 for one in acted),  # a smaller share of the items counts as none
        not_optimal=len(acted),
    )


def scaled_loss(
    expected: float, *, panel: bool, n_classes: int, checks: Sequence[PublicCheck] | None = None
) -> Estimate:
    """The loss that the model expects, times the share of such forecasts that came true, with an 80% range.

    >>> found = scaled_loss(0.1, panel=False, n_classes=2)
    >>> 0 <= found.low < found.value < found.high
    True
    """
    like = _like(public_checks() if checks is None else checks, panel, n_classes)
    pairs = [(one.expected, one.loss) for one in like if one.expected > 0]
    if len(pairs) < 3 or expected <= 0:
        return Estimate(None)
    expected_s, true_s = np.array(pairs).T
    ratio_s = true_s / expected_s
    order_s = np.argsort(ratio_s)
    # Sets count by the loss that was expected of them; the range is that of 80% of this weight.
    middle_s = (np.cumsum(expected_s[order_s]) - expected_s[order_s] / 2) / expected_s.sum()
    low, high = np.interp([0.1, 0.9], middle_s, ratio_s[order_s])
    share_e = np.array([true_s.sum() / expected_s.sum(), low, high])
    value, least, most = np.clip(share_e * expected, 0, 1).tolist()
    return Estimate(value, least, most)


def _like(checks: Sequence[PublicCheck], panel: bool, n_classes: int) -> list[PublicCheck]:
    return [one for one in checks if one.panel == panel and (one.classes == 2) == (n_classes == 2)]


def grade(record: CheckRecord, claimed: Certainty | None) -> Certainty:
    """The certainty of the claim that gives the same answer, if there is one, else that of the record."""
    if claimed is not None:
        return claimed
    return Certainty.LIKELY if record.is_good else Certainty.UNKNOWN
