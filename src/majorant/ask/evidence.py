"""Convert a labelled design to evidence about the rules that it compares."""

from __future__ import annotations

from typing import Any

from majorant.ask.design import Recognised
from majorant.ask.question import Outcome
from majorant.ask.race import Race
from majorant.ask.session import BETTER, WORSE, Session
from majorant.defaults import MAJORITY
from majorant.evidence.evidence import Assumption, Evidence, Source, Status, Tested
from majorant.evidence.learn import earned_evidence


def sample_level(labelled: Recognised | None, level: float) -> float:
    """The level of claims from gold labels about other rules; in a session, most of the error goes to its own proof."""
    if labelled is None or labelled.design.question.kind != Session.kind:
        return level
    return 1 - (1 - BETTER - WORSE) * (1 - level)


def evidence_from_labels(labelled: Recognised, outcome: Outcome) -> tuple[Evidence, ...]:
    """Evidence about the rule that a design compares with majority vote, from the outcome of its labels.

    Nothing is refitted.  The result is empty without labels and for designs that ask about something else.
    """
    rule, learned = rival_of(outcome), outcome.learned
    if rule is None or not (outcome.labels or outcome.decided):
        return ()
    answer_d = labelled.design.codes(labelled.answers)
    question = labelled.design.question.advance(answer_d)
    tested = (Tested(Assumption.RANDOM_LABELS, Status.PASSED),)
    facts: dict[str, Any] = {"level": outcome.level, "assumptions": tested, "n_labels": outcome.labels}
    earned = () if learned is None else earned_evidence(learned)
    if isinstance(question, Session):
        if not outcome.n_proving and not outcome.decided:
            return earned
        race, place = question.contest()
        answer_d, facts["n_labels"] = answer_d[place], outcome.labels - outcome.n_taught
    else:
        assert isinstance(question, Race)
        race = question
    wins, losses = race.wins(rule, MAJORITY, answer_d)
    facts |= {"n_used": outcome.n_proving if learned is not None else outcome.labels, "wins": wins, "losses": losses}
    proof = Evidence(source=Source.LABELS, other=rule, gain=outcome.value, **facts)
    # Until the proof is complete, the learned rule remains the answer: the leads of other rules rest on fewer labels.
    return (proof,) if outcome.decided or wins <= losses else (proof, *earned)


def rival_of(outcome: Outcome) -> str | None:
    """The rule that labels compare with majority vote: the leader, or the last rule if majority vote leads."""
    if outcome.kind not in ("rules", "teach") or outcome.rules[:1] != (MAJORITY,):
        return None
    return outcome.leader if outcome.leader not in (MAJORITY, None) else outcome.rules[-1]
