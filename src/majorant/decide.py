"""Decide from all the evidence whether to keep majority vote or to switch, and how sure that is.

Evidence that assumes the least counts first: labels, identical labels, the certificate, the track record. An assumption
that failed or cannot be tested lowers the certainty, regardless of the source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from majorant.defaults import MAJORITY, TOLERANCE
from majorant.evidence.evidence import Certainty, Evidence, Source, Status, is_better
from majorant.values import Estimate


class Action(StrEnum):
    """What to do about majority vote."""

    KEEP = "keep"
    SWITCH = "switch"


class Step(StrEnum):
    """What would make the answer more certain."""

    NOTHING = "nothing"  # it is proved, or no label can change it
    PROVE = "prove"  # label items on which the two rules differ
    TEACH = "teach"  # label items that teach a better rule: ten, then five at a time
    GO_ON = "go on"  # continue with the design whose labels were given


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """The cheapest way to become more certain: how many labels, from how many items."""

    step: Step = Step.NOTHING
    labels: int = 0
    items: int = 0  # 0 while a labelling session still needs labels to learn a rule
    most: int = 0  # labels in all: to teach a rule, or to prove it in the worst case (`labels`: if the guess is right)
    waiting: int = 0  # items that the design has drawn and that have no label yet
    question: str = ""  # the question of `ask` that draws these items
    between: tuple[str, ...] = ()  # the rules to compare, if the question compares rules


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
        The rule that majority vote was compared with; majority vote itself if there was none.
    gain : Estimate
        Accuracy of `other` minus that of majority vote, as a share of the items; no value if nothing is known.
    certainty : Certainty
        `proved`, `same`, `supported`, `likely` or `unknown`.
    basis : Evidence or None
        The evidence that decided.
    evidence : tuple of Evidence
        All the evidence considered.
    next : Next
        What would make the answer more certain.
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
        """The kind of evidence that decided; None if there was none."""
        return None if self.basis is None else self.basis.source

    @property
    def n_labels(self) -> int:
        """How many gold or expert labels the evidence had, whether or not they decided."""
        by_labels = (Source.LABELS, Source.EARNED)
        return max((one.n_labels for one in self.evidence if one.source in by_labels), default=0)


def decide(evidence: Sequence[Evidence], *, tolerance: float = TOLERANCE, usual: str = MAJORITY) -> Answer:
    """Weigh the evidence about majority vote and other rules.

    Parameters
    ----------
    evidence : sequence of Evidence
        What the engines say, about one rule or several.
    tolerance : float
        A difference in accuracy too small to matter.
    usual : str
        The rule that is written if nobody labelled anything.

    Returns
    -------
    Answer
        Without `next`, which needs the votes.
    """
    every = tuple(evidence)
    labels = sorted((one for one in every if one.source is Source.LABELS), key=_changes_least)

    def answer(action: Action, certainty: Certainty, basis: Evidence | None) -> Answer:
        # A certificate is about all rules of a family, none of which can be switched to.
        other = _compared(every, usual) if basis is None or basis.source is Source.CERTIFICATE else basis.other
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

    # Labels prove that a rule is better.
    if better := [one for one in labels if is_better(one.gain, tolerance)]:
        return answer(Action.SWITCH, Certainty.PROVED, max(better, key=_rounded_gain))

    # No rule is worth switching to: each is excluded by labels, or changes no label that matters.
    taught = [one for one in every if one.source is Source.EARNED]
    rules = dict.fromkeys(one.other for one in every if one.source in (Source.LABELS, Source.IDENTICAL, Source.EARNED))
    excluding = [_excluding(every, rule, 0.0 if rule == usual != MAJORITY else tolerance, tolerance) for rule in rules]
    against = [one for one in excluding if one is not None]
    if against and len(against) == len(rules):
        strongest = max(against, key=_strength)
        by_labels = strongest.source is Source.LABELS
        return answer(Action.KEEP, Certainty.PROVED if by_labels else Certainty.SAME, strongest)

    # A rule learned from the labels is expected to gain; that is announced only if the labels have earned it.
    if taught:
        return answer(Action.SWITCH, Certainty.LIKELY if taught[0].earned else Certainty.UNKNOWN, taught[0])

    # A method that learns from gold labels leads in cross-validation, which gives no interval.
    if learned := [one for one in labels if one.gain.low is None and (one.gain.value or 0.0) > 0]:
        return answer(Action.SWITCH, Certainty.LIKELY, max(learned, key=_rounded_gain))

    # Labels prove nothing yet, but may favour one side. With fewer than five, any lead is luck.
    if undecided := [one for one in labels if one.n_used >= 5 and one.gain.low is not None]:
        leader = max(undecided, key=_lead)
        # If n rules are equally good, luck alone puts the best of them about sqrt(2 log n) standard errors ahead.
        is_ahead = _lead(leader) > math.sqrt(2 * math.log(len(undecided)))
        if is_ahead or usual == MAJORITY:
            return answer(Action.SWITCH if is_ahead else Action.KEEP, Certainty.LIKELY, leader)

    # Models of the votes, and what happened on public data sets. They count only if no assumption is in doubt.
    for one in every:
        if one.source is Source.CERTIFICATE and _at_most(one.gain, tolerance) and not _has_doubts(one):
            return answer(Action.KEEP, Certainty.SUPPORTED, one)
    for one in every:
        if one.source is Source.TRACK_RECORD and (one.gain.value or 0.0) > 0 and not _has_doubts(one):
            return answer(Action.SWITCH, Certainty.LIKELY, one)
    if usual != MAJORITY:
        return answer(Action.SWITCH, Certainty.LIKELY, None)
    return answer(Action.KEEP, Certainty.UNKNOWN, None)


def _changes_least(one: Evidence) -> tuple[int, str]:
    """Among equally good rules, prefer the one that changes the fewest labels, regardless of row order."""
    return one.n_used, one.other


def _rounded_gain(one: Evidence) -> float:
    """The gain without rounding errors, so that equal rules tie."""
    return round(one.gain.value or 0.0, 9)


def _lead(one: Evidence) -> float:
    """How many standard errors the other rule is ahead on the labels."""
    return (one.wins - one.losses) / math.sqrt(max(one.wins + one.losses, 1.0))


def _at_most(gain: Estimate, tolerance: float) -> bool:
    return gain.high is not None and gain.high <= tolerance


def _excluding(evidence: Sequence[Evidence], rule: str, stake: float, tolerance: float) -> Evidence | None:
    """The strongest evidence that switching to a rule is not worth it; None if there is none.

    `stake` is the largest share of changed labels that does not matter.
    """
    most = {Source.LABELS: tolerance, Source.IDENTICAL: stake}
    against = [
        one for one in evidence if one.other == rule and one.source in most and _at_most(one.gain, most[one.source])
    ]
    return max(against, key=_strength, default=None)


def _strength(one: Evidence) -> tuple[bool, bool, float]:
    """Order of evidence against rules: labels on which they differ, identical rules, then the largest possible gain."""
    used = one.source is Source.LABELS and one.n_used > 0
    return used, one.source is Source.IDENTICAL, one.gain.high or 0.0


def _has_doubts(one: Evidence) -> bool:
    """Whether an assumption failed or cannot be tested."""
    return bool(one.with_status(Status.FAILED, Status.UNTESTABLE))


def _lowered(certainty: Certainty, basis: Evidence) -> Certainty:
    """The certainty that is left if an assumption failed or cannot be tested."""
    if not _has_doubts(basis) or certainty is Certainty.SAME:
        return certainty
    if basis.source is Source.EARNED:
        return certainty
    return Certainty.LIKELY if basis.source is Source.LABELS else Certainty.UNKNOWN


def _compared(evidence: Sequence[Evidence], usual: str) -> str:
    """The rule to compare if no evidence decides."""
    if usual != MAJORITY:
        return usual
    return next((one.other for one in evidence if one.source is not Source.CERTIFICATE), MAJORITY)
