"""The questions behind the claim about majority vote, as in the paper's Figure 1, and the way that these votes took."""

from __future__ import annotations

from dataclasses import dataclass, replace

from majorant import wording
from majorant.certify.certificate import Certificate, Claim

SAME_VERDICT = {"proved": ("proved", "supported"), "refuted": ("refuted",)}  # of a model, where gold says the first


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A question with two answers: `on` leads to the next one, `off` ends at `exit`.

    `answer` is the one that these votes gave, None where the way did not lead here; `why` is what it rests on.
    """

    question: str
    on: str
    off: str
    exit: str
    answer: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """The steps, and where they end if every answer leads on."""

    steps: tuple[PathStep, ...]
    end: str

    @property
    def outcome(self) -> str:
        """Where these votes ended."""
        return next((step.exit for step in self.steps if step.answer == step.off), self.end)


def decision_path(certificate: Certificate) -> Path:
    """The way to the claim that stands: gold, what can be told, independence, the region, certainty, and who voted.

    >>> from majorant.certify.certificate import Claim
    >>> claim = Claim(kind="anonymous", verdict="unidentified", why="No item has three votes.")
    >>> decision_path(Certificate(level=.95, why="", anonymous=claim)).outcome
    'Inconclusive: a third vote on some items, or gold labels, would tell'
    """
    claim, standing = certificate.anonymous, certificate.standing
    identified = claim.verdict != "unidentified"
    seen = claim if identified else replace(claim, margin=None)
    overruled = standing.kind == "gold" and claim.verdict not in SAME_VERDICT[standing.verdict]
    steps = [
        *([_gold(standing)] if overruled else []),  # gold assumes less, so it speaks first where it says otherwise
        PathStep(
            question=wording.IDENTIFIED_QUESTION,
            on="yes",
            off="no",
            exit=wording.NOT_IDENTIFIED,
            answer="yes" if identified else "no",
            why="" if identified else claim.why,
        ),
        _independent(seen),
        _inside(seen),
        _certain(seen, certificate.level),
        _named(certificate.named),
    ]
    taken = []
    reached = True
    for step in steps:
        taken.append(step if reached else replace(step, answer=None, why=""))
        reached = reached and step.answer == step.on
    return Path(tuple(taken), wording.ALL_BEST)


def _gold(gold: Claim) -> PathStep:
    return PathStep(
        question=wording.BY_GOLD_QUESTION,
        on="no",
        off="yes",
        exit=wording.BY_GOLD_BEST if gold.verdict == "proved" else wording.NOT_BEST,
        answer="yes",
        why=gold.why,
    )


def _independent(claim: Claim) -> PathStep:
    gate = claim.independence
    on = "yes"
    if gate is None or gate.passed is None:
        on = wording.NOT_TESTABLE
    elif not gate.passed and claim.verdict != "void":
        on = wording.GIVEN_DIFFICULTY
    return PathStep(
        question=wording.INDEPENDENT_QUESTION,
        on=on,
        off="no",
        exit=wording.DEPENDENT,
        answer="no" if claim.verdict == "void" else on,
        why="" if gate is None else gate.text,
    )


def _inside(claim: Claim) -> PathStep:
    margin = claim.margin
    inside = margin is not None and margin > 0
    sure = claim.verdict == "refuted"
    return PathStep(
        question=wording.INSIDE_QUESTION,
        on="inside",
        off="outside",
        exit=wording.NOT_BEST if sure or inside else wording.OUTSIDE_PERHAPS,
        answer="outside" if sure or not inside else "inside",
        why="" if margin is None else wording.margin_at_estimate(margin),
    )


def _certain(claim: Claim, level: float) -> PathStep:
    on = claim.verdict if claim.verdict in ("proved", "supported") else wording.EITHER_GOOD
    return PathStep(
        question=wording.certain_question(level),
        on=on,
        off="not yet",
        exit=wording.takes_more(claim.more_items),
        answer=on if claim.verdict in ("proved", "supported") else "not yet",
        why="",
    )


def _named(named: Claim | None) -> PathStep:
    verdict = "undecided" if named is None else named.verdict
    off = "no" if verdict == "refuted" else "not known"
    return PathStep(
        question=wording.NAMED_QUESTION,
        on="yes",
        off=off,
        exit=wording.knowing_gains(surely=verdict == "refuted"),
        answer="yes" if verdict in ("proved", "supported") else off,
        why="" if named is None else named.why,
    )
