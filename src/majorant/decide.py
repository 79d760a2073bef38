"""Decide: from all the evidence to one answer, keep or switch, with how sure it is.

Evidence is taken in the order of what it assumes, least first: labels, identical rules, the certificate, the track
record.  An assumption that failed or cannot be tested lowers the certainty here, for every engine alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from majorant.defaults import MAJORITY, TOLERANCE
from majorant.evidence.evidence import Certainty, Evidence, Source, Status
from majorant.values import Estimate


class Action(StrEnum):
    """What to do about majority vote."""

    KEEP = "keep"
    SWITCH = "switch"


class Step(StrEnum):
    """What would make the answer surer."""

    NOTHING = "nothing"  # it is proved, or no label can change it
    PROVE = "prove"  # label items on which the two rules differ
    TEACH = "teach"  # label a random sample: it measures every rule and teaches a better one
    GO_ON = "go on"  # go on with the design that was begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """The cheapest way to be surer: how many labels, drawn from how many items."""

    step: Step = Step.NOTHING
    labels: int = 0
    items: int = 0  # 0 where a design that was begun still teaches
    waiting: int = 0  # items of the design that were drawn and have no label yet


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """Keep majority vote or switch to another rule, and how sure that is.

    Attributes
    ----------
    action : Action
        `keep` or `switch`.
    rule : str
        The rule whose labels are written: majority vote, or the rule to switch to.
    other : str
        The rule that majority vote was compared with; majority vote itself where there was none.
    gain : Estimate
        Accuracy of `other` minus that of majority vote, as a share of the items; no value where nothing is known.
    certainty : Certainty
        `proved`, `supported`, `likely` or `unknown`.
    basis : Evidence or None
        The evidence that decided.
    evidence : tuple of Evidence
        All the evidence there was.
    next : Next
        What would make the answer surer.
    """

    action: Action
    rule: str
    other: str
    gain: Estimate
    certainty: Certainty
    basis: Evidence | None = None
    evidence: tuple[Evidence, ...] = ()
    tolerance: float = TOLERANCE
    next: Next = Next()

    def __repr__(self) -> str:
        value, low, high = (None if end is None else f"{100 * end:+.1f}" for end in self.gain.ends)
        ends = "" if low is None or high is None else f" ({low} to {high})"
        gain = "not known" if value is None else f"{value} points{ends}"
        step = f"{self.next.step}: {self.next.labels} labels" if self.next.labels else "nothing left to do"
        head = f"Answer: {self.action} ({self.certainty}), label with {self.rule}"
        return f"{head}\ngain of {self.other}: {gain}; next: {step}"

    @property
    def source(self) -> Source | None:
        """The kind of evidence that decided, None where there was none."""
        return None if self.basis is None else self.basis.source

    @property
    def n_labels(self) -> int:
        """How many gold or expert labels the evidence had, whether or not they decided."""
        return max((one.n_labels for one in self.evidence if one.source is Source.LABELS), default=0)


def decide(evidence: Sequence[Evidence], *, tolerance: float = TOLERANCE) -> Answer:
    """Weigh the evidence about majority vote and other rules.

    Parameters
    ----------
    evidence : sequence of Evidence
        What the engines say, about one rule or several.
    tolerance : float
        A difference in accuracy too small to matter.

    Returns
    -------
    Answer
        Without `next`, which needs the votes.
    """
    every = tuple(evidence)
    labels = sorted((one for one in every if one.source is Source.LABELS), key=_changes_least)

    def answer(action: Action, certainty: Certainty, basis: Evidence | None) -> Answer:
        # A certificate speaks of all rules of a family, none of which can be switched to.
        other = _compared(every) if basis is None or basis.source is Source.CERTIFICATE else basis.other
        return Answer(
            action=action,
            rule=other if action is Action.SWITCH else MAJORITY,
            other=other,
            gain=Estimate(None) if basis is None else basis.gain,
            certainty=certainty if basis is None else _lowered(certainty, basis),
            basis=basis,
            evidence=every,
            tolerance=tolerance,
        )

    if better := [one for one in labels if is_better(one.gain, tolerance)]:
        return answer(Action.SWITCH, Certainty.PROVED, max(better, key=lambda one: round(one.gain.value or 0.0, 9)))
    rules = dict.fromkeys(one.other for one in every if one.source in (Source.LABELS, Source.IDENTICAL))
    excluded = [_excluding(every, rule, tolerance) for rule in rules]
    if excluded and (hardest := [one for one in excluded if one is not None]) and len(hardest) == len(excluded):
        return answer(Action.KEEP, Certainty.PROVED, max(hardest, key=_strength))
    if taught := [one for one in labels if one.gain.low is None and (one.gain.value or 0.0) > 0]:
        return answer(Action.SWITCH, Certainty.LIKELY, max(taught, key=lambda one: round(one.gain.value or 0.0, 9)))
    if leading := [one for one in labels if one.n_used >= 5 and one.gain.low is not None]:  # fewer are luck
        leader = max(leading, key=_lead)
        ahead = _lead(leader) > math.sqrt(2 * math.log(len(leading)))  # the best of several leads by luck alone
        return answer(Action.SWITCH if ahead else Action.KEEP, Certainty.LIKELY, leader)
    for one in every:
        if one.source is Source.CERTIFICATE and _at_most(one.gain, tolerance) and not _doubts(one):
            return answer(Action.KEEP, Certainty.SUPPORTED, one)
    for one in every:
        if one.source is Source.TRACK_RECORD and (one.gain.value or 0.0) > 0 and not _doubts(one):
            return answer(Action.SWITCH, Certainty.LIKELY, one)
    return answer(Action.KEEP, Certainty.UNKNOWN, None)


def _changes_least(one: Evidence) -> tuple[int, str]:
    """Of rules that are as good, the one that changes fewest labels comes first, whatever the order of the rows."""
    return one.n_used, one.other


def _lead(one: Evidence) -> float:
    """By how many standard errors labels put the other rule ahead."""
    return (one.wins - one.losses) / math.sqrt(max(one.wins + one.losses, 1.0))


def is_better(gain: Estimate, tolerance: float) -> bool:
    """Whether labels prove that a rule gains something, and more than too little to matter."""
    return gain.value is not None and gain.low is not None and gain.low > 0 and gain.value > tolerance


def _at_most(gain: Estimate, tolerance: float) -> bool:
    return gain.high is not None and gain.high <= tolerance


def _excluding(evidence: Sequence[Evidence], rule: str, tolerance: float) -> Evidence | None:
    """The evidence that switching to a rule is not worth it, None where there is none."""
    against = [
        one
        for one in evidence
        if one.other == rule and one.source in (Source.LABELS, Source.IDENTICAL) and _at_most(one.gain, tolerance)
    ]
    return max(against, key=_strength, default=None)


def _strength(one: Evidence) -> tuple[bool, bool, float]:
    """Labels that tell the rules apart, then identical rules; then the rule that comes closest to being worth it."""
    used = one.source is Source.LABELS and one.n_used > 0
    return used, one.source is Source.IDENTICAL, one.gain.high or 0.0


def _doubts(one: Evidence) -> bool:
    return bool(one.with_status(Status.FAILED, Status.UNTESTABLE))


def _lowered(certainty: Certainty, basis: Evidence) -> Certainty:
    """The certainty that is left where an assumption failed or cannot be tested."""
    if not _doubts(basis):
        return certainty
    return Certainty.LIKELY if basis.source is Source.LABELS else Certainty.UNKNOWN


def _compared(evidence: Sequence[Evidence]) -> str:
    """The rule that the evidence is about, where none of it decides."""
    return next((one.other for one in evidence if one.source is not Source.CERTIFICATE), MAJORITY)
