"""Convert a labelled design to evidence about rules, and collect its labels for other uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from majorant.ask.design import Recognised
from majorant.ask.learn import LearnedRule
from majorant.ask.question import Codes, Outcome, Question
from majorant.ask.race import Race
from majorant.ask.session import BETTER, WORSE, Session
from majorant.defaults import MAJORITY
from majorant.evidence.evidence import Assumption, Evidence, Source, Status, Tested
from majorant.values import Estimate, lock


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelEvidence:
    """What the labels of a design say.

    Attributes
    ----------
    evidence : tuple of Evidence
        About the rule that is compared with majority vote; empty without labels, and for designs that ask about
        something else.
    outcome : Outcome
        What the design's own question says.
    learned : LearnedRule or None
        The rule that the labels taught: the frozen one where others have begun to prove it.
    sample : mapping
        Labels of a random sample of all items, by the text of the item's name: gold for accuracy, rates and judges.
    labels : mapping
        All labels, by the text of the item's name.
    """

    evidence: tuple[Evidence, ...]
    outcome: Outcome
    learned: LearnedRule | None = None
    sample: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lock(self)


def evidence_from_labels(recognised: Recognised) -> LabelEvidence:
    """Evaluate labels drawn by design, without refitting."""
    design = recognised.design
    answer_d = design.codes(recognised.answers)
    outcome = recognised.outcome
    known = np.flatnonzero(answer_d >= 0)
    labels = {str(design.order[at]): design.labels[answer_d[at]] for at in known}
    sample = {str(design.order[at]): labels[str(design.order[at])] for at in known if at < design.n_sample}
    return LabelEvidence(
        evidence=_evidence(design.question.advance(answer_d), outcome, answer_d),
        outcome=outcome,
        learned=outcome.learned,
        sample=sample,
        labels=labels,
    )


def sample_level(labelled: Recognised | None, level: float) -> float:
    """The level for what gold labels say about other rules: of a session's error most is spent on its own proof."""
    if labelled is None or labelled.design.question.kind != Session.kind:
        return level
    return 1 - (1 - BETTER - WORSE) * (1 - level)


def _evidence(question: Question, outcome: Outcome, answer_d: Codes) -> tuple[Evidence, ...]:
    rule, learned = rival_of(outcome), outcome.learned
    if rule is None or not (outcome.labels or outcome.decided):
        return ()
    tested = (Tested(Assumption.RANDOM_LABELS, Status.PASSED),)
    facts: dict[str, Any] = {"level": outcome.level, "assumptions": tested, "n_labels": outcome.labels}
    leads = learned is not None and learned.adopted and learned.baseline == MAJORITY
    if isinstance(question, Session):
        if not outcome.n_proving and not outcome.decided:
            if learned is None or not leads:
                return ()
            facts["n_used"] = learned.n_labels
            return (Evidence(source=Source.LABELS, other=rule, gain=Estimate(learned.lead), **facts),)
        race, place = question.contest()
        answer_d, facts["n_labels"] = answer_d[place], outcome.labels - outcome.n_taught
    else:
        assert isinstance(question, Race)
        race = question
    wins, losses = race.wins(rule, MAJORITY, answer_d)
    facts |= {"n_used": outcome.n_proving if learned is not None else outcome.labels, "wins": wins, "losses": losses}
    proof = Evidence(source=Source.LABELS, other=rule, gain=outcome.value, **facts)
    if outcome.decided or not leads or wins <= losses:
        return (proof,)
    # During the proof the learned rule stays the answer, because other rules lead on fewer labels.
    return proof, replace(proof, gain=Estimate(outcome.value.value))


def rival_of(outcome: Outcome) -> str | None:
    """The rule that labels compare with majority vote: the leader, or the last that was compared."""
    if outcome.kind not in ("rules", "teach") or outcome.rules[:1] != (MAJORITY,):
        return None
    return outcome.leader if outcome.leader not in (MAJORITY, None) else outcome.rules[-1]
