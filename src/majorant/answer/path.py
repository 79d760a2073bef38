"""The questions behind the claim about majority vote, as in the paper's Figure 1, and the way that these votes took."""

from __future__ import annotations

from dataclasses import dataclass, replace

from majorant.certify.certificate import Certificate, Claim

BEATEN = "Not the best rule that ignores who voted"


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
    steps = _steps(certificate)
    taken = []
    reached = True
    for step in steps:
        taken.append(step if reached else replace(step, answer=None, why=""))
        reached = reached and step.answer == step.on
    return Path(tuple(taken), "The best rule of all, if the model holds")


def _steps(certificate: Certificate) -> list[PathStep]:
    claim, gold, level = certificate.anonymous, certificate.gold, certificate.level
    steps = [_gold(gold)] if gold is not None and _overrules(gold, claim) else []
    identified = claim.verdict != "unidentified"
    steps.append(
        PathStep(
            question="Can the votes tell how good the voters are?",
            on="yes",
            off="no",
            exit="Inconclusive: a third vote on some items, or gold labels, would tell",
            answer="yes" if identified else "no",
            why=claim.why if not identified else "",
        )
    )
    if not identified:
        claim = replace(claim, margin=None)
    return [*steps, _independent(claim), _inside(claim), _certain(claim, level), _named(certificate.named)]


def _overrules(gold: Claim, claim: Claim) -> bool:
    """Whether gold settles what the model leaves open or sees otherwise: it assumes less, so it speaks first."""
    same = {"proved": ("proved", "supported"), "refuted": ("refuted",)}
    return gold.verdict in same and claim.verdict not in same[gold.verdict]


def _gold(gold: Claim) -> PathStep:
    good = "By gold, as good as any rule that ignores who voted"
    return PathStep(
        question="Do gold labels alone settle it?",
        on="no",
        off="yes",
        exit=good if gold.verdict == "proved" else BEATEN,
        answer="yes",
        why=gold.why,
    )


def _independent(claim: Claim) -> PathStep:
    gate = claim.independence
    on = "yes"
    if gate is None or gate.passed is None:
        on = "assumed, cannot be tested"
    elif not gate.passed and claim.verdict != "void":
        on = "yes, given item difficulty"
    return PathStep(
        question="Are votes on an item independent, given its true label?",
        on=on,
        off="no",
        exit="The model fails: errors are shared, or items mislead",
        answer="no" if claim.verdict == "void" else on,
        why="" if gate is None else gate.text,
    )


def _inside(claim: Claim) -> PathStep:
    margin = claim.margin
    inside = margin is not None and margin > 0
    sure = claim.verdict == "refuted"
    return PathStep(
        question="Do class balance and noise lie where majority vote is optimal?",
        on="inside",
        off="outside",
        exit=BEATEN if sure or inside else "Outside at the estimate, but not certain",
        answer="outside" if sure or not inside else "inside",
        why="" if margin is None else f"margin {margin:+.2f} nats at the estimate",
    )


def _certain(claim: Claim, level: float) -> PathStep:
    more = "fresh items" if not claim.more_items else f"about {claim.more_items:,} fresh items"
    on = claim.verdict if claim.verdict in ("proved", "supported") else "proved or supported"
    return PathStep(
        question=f"Is that certain, at {100 * level:g} %?",
        on=on,
        off="not yet",
        exit=f"Undecided: it takes {more}",
        answer=on if claim.verdict in ("proved", "supported") else "not yet",
        why="",
    )


def _named(named: Claim | None) -> PathStep:
    verdict = "undecided" if named is None else named.verdict
    off = "no" if verdict == "refuted" else "not known"
    gain = "gains more" if verdict == "refuted" else "may gain more"
    return PathStep(
        question="Is it also as good as any rule that knows who voted?",
        on="yes",
        off=off,
        exit=f"The best rule that ignores who voted; knowing who voted {gain}",
        answer="yes" if verdict in ("proved", "supported") else off,
        why="" if named is None else named.why,
    )
