"""Answer: keep majority vote, switch to a rule, or ask an expert about a few items; what it rests on, and what next.

Evidence is taken in the order of what it assumes, least first:
1. labels of an expert, drawn by design, or gold labels of all items or a random sample of them: no model (`exact`);
2. the two rules hardly differ, or not at all once ties are drawn, so it does not matter which is used: no label, no
   model (`exact`);
3. a model of the votes, where the assumptions that can be tested were, and passed (`model`);
4. nothing: the votes cannot tell, and a few labels would (`none`).
A panel whose judges may err together never switches by a model: votes do not show which errors are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from majorant import wording
from majorant.ask.draw import Planned
from majorant.ask.question import Outcome
from majorant.defaults import MAJORITY
from majorant.errors import ConfigError
from majorant.evidence.certificate.certificate import Certificate, Claim, Family, Model, Reason, Verdict
from majorant.evidence.evidence import Assumption, Status
from majorant.results.difference import Difference, ExpectedGain, GoldLead
from majorant.values import Estimate
from majorant.wording import LABELS_LEAVE_IT_OPEN, NO_FITTED_MODEL, NO_SIGN

Action = Literal["keep", "switch", "ask"]
Grade = Literal["exact", "model", "none"]
Basis = Literal["gold", "expert labels", "bound", "draw", "model", "votes"]
FIRST_BATCH = 25  # labels: with fewer the leader among rules is mostly the luckiest (docs/ask.md)
ROBUST = 0.15  # a verdict that holds up to this correlation of votes on an item outlives most crowds (docs/ask.md)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The design that would settle it: label some of the items on which two rules differ, in a random order."""

    between: tuple[str, str]
    items: int  # on which the two differ
    labels: int  # about so many will probably do
    first: int  # to begin with: the labels planned are a median, and with fewer the leader is mostly luck
    design: str | None = None  # the file of a design that was begun and goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvidence:
    """What a model of the votes expects of the rule, and how far its assumptions were tested."""

    gain: Estimate  # in accuracy, over majority vote
    failed: tuple[str, ...] = ()  # assumptions that a test rejects
    untested: tuple[str, ...] = ()  # assumptions that these votes cannot test
    panel: bool = False  # the same few judges vote on everything: they may err together
    breakdown: float | None = None  # the correlation of votes on an item up to which "majority is best" holds
    best: bool = False  # no rule is expected to beat majority vote

    @property
    def sound(self) -> bool:
        """Whether every assumption that a claim needs was tested and passed."""
        return not self.failed and not self.untested


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """Keep, switch or ask, with the gain of the other rule over majority vote in percentage points.

    `rule` is the one whose labels are written now, `other` the rule that was compared with majority vote.
    """

    action: Action
    rule: str
    other: str
    gain: Estimate  # percentage points, a tie of majority vote a fair draw
    grade: Grade
    basis: Basis
    items: int
    differ: int  # items on which the two rules say different things
    stake: float  # percentage points: the most that can lie between them
    tied: int  # items that majority vote leaves tied
    tie_gain: float | None  # percentage points of the gain that come from these
    level: float
    tolerance: float  # percentage points
    present: str = MAJORITY  # the rule in use, with which the other was compared
    gold: GoldLead | None = None
    expert: Outcome | None = None  # what labels drawn by design say, of this or of another question
    model: ModelEvidence | None = None
    withdrawn: Estimate | None = None  # what the model expected, in percentage points, where labels exclude it
    ask: Ask | None = None
    asked_for: bool = False  # the user named the rule
    headline: str = ""
    why: str = ""
    next: str = ""
    command: str = ""  # with which `next` ends
    go_on: str = ""  # the command that asks for more labels of another question, where it is not settled

    @property
    def alone(self) -> bool:
        """Whether majority vote was compared with no other rule: none was asked for, or none can be learned."""
        return _alone(self.other, self.present, self.basis)

    def __repr__(self) -> str:
        return f"Answer: {self.headline}\n{self.why}"

    def _repr_html_(self) -> str:
        from majorant.render.html import answer_html

        return answer_html(self)


def answer_from(
    *,
    other: str,
    apart: Difference,
    model: ModelEvidence,
    expected: ExpectedGain | None,
    gold: GoldLead | None,
    tolerance: float,
    level: float,
    planned: Callable[[], Planned],
    expert: Outcome | None = None,
    design: str | None = None,
    asked_for: bool = False,
    source: str = "",
) -> Answer:
    """Weigh what is known of a rule against majority vote, and say what to do.

    `model` says what the votes alone suggest, `gold` what labels of these items show, `expected` what the rule expects
    of itself; `tolerance` is a difference in accuracy that does not matter; `planned` says about how many labels settle
    it.  `expert` is what labels drawn by `design` settle: they need no model, and no random sample.
    """
    if not 0 <= tolerance <= 1:
        raise ConfigError(f"tolerance is a difference in accuracy, 0 to 1, not {tolerance!r}.")
    gain, basis = _gain(apart, model, gold, tolerance)
    action = _action(other, apart, model, gain, basis, tolerance)
    by_labels = expert is not None and _speaks(expert, other) and (expert.decided or basis != "gold" or action == "ask")
    if expert is not None and by_labels:
        gain, basis, action = expert.value, "expert labels", _by_expert(expert, other, tolerance)
        if action == "ask":  # a few labels that agree would put the estimate at the end of what they leave possible
            gain = Estimate(None, gain.low, gain.high, LABELS_LEAVE_IT_OPEN)
    plan = planned() if not by_labels and apart.differ and (action == "ask" or basis == "model") else None
    if plan is not None and not plan.most:
        gain, basis, action, plan = _at_most(apart.stake), "draw", "keep", None
    alone = _alone(other, MAJORITY, basis)
    grade: Grade = "none" if action == "ask" or alone else "model" if basis == "model" else "exact"
    if action == "ask" and basis == "model":
        basis = "votes"
    facts = Answer(
        action=action,
        rule=other if asked_for or action == "switch" else MAJORITY,
        other=other,
        gain=_points(gain),
        grade=grade,
        basis=basis,
        items=apart.items,
        differ=apart.differ,
        stake=100 * apart.stake,
        tied=apart.tied,
        tie_gain=_tie_gain(basis, expected, gold),
        level=level,
        tolerance=100 * tolerance,
        gold=gold,
        expert=expert,
        model=model,
        withdrawn=_withdrawn(model, gain if basis in ("gold", "expert labels") else None),
        ask=_ask(other, apart, plan, expert if by_labels else None, design) if grade != "exact" and not alone else None,
        asked_for=asked_for,
    )
    if expert is not None and by_labels and expert.kind == "correct":
        facts = _of_correction(facts, expert)
    return with_sentences(facts, source, design)


def _alone(other: str, present: str, basis: Basis) -> bool:
    return other == present and basis != "expert labels"


def _of_correction(facts: Answer, expert: Outcome) -> Answer:
    """A correction is compared with the rule that it corrects, on the items that taught it nothing."""
    present, differ = expert.rules[0], expert.n_differ
    tied = facts.tied if present == MAJORITY else 0
    stake = 100 * differ / expert.n_items
    return replace(facts, present=present, items=expert.n_items, differ=differ, stake=stake, tied=tied)


def _speaks(expert: Outcome, other: str) -> bool:
    """Whether labels drawn by design compare the rule with majority vote, and there are some, or none are needed."""
    present = expert.rules[0] == MAJORITY if expert.kind == "rules" else expert.kind == "correct"
    compares = present and other in expert.rules
    return compares and (expert.decided or expert.labels > 0)


def _by_expert(expert: Outcome, other: str, tolerance: float) -> Action:
    """What labels drawn by design say to do about the rule that leads, or the one that was compared."""
    if not expert.decided:  # a race may be open while its leader is already shown to be better than majority vote
        low = expert.value.low
        return "switch" if expert.leader == other and low is not None and low > 0 else "ask"
    ahead = expert.leader == other and expert.verdict in ("better", "within")
    slight = expert.rules[0] == MAJORITY and expert.value.high is not None and expert.value.high <= tolerance
    return "switch" if ahead and not slight else "keep"


def _ask(other: str, apart: Difference, plan: Planned | None, expert: Outcome | None, design: str | None) -> Ask | None:
    """What to ask next: as planned, or what labels so far leave open; None where nothing is left to ask."""
    pair, items = (MAJORITY, other), apart.differ
    if plan is not None:
        first = min(plan.most, FIRST_BATCH)
        return Ask(between=pair, items=items, labels=max(plan.labels, first), first=first)
    more = None if expert is None else expert.more
    return (
        None
        if more is None
        else Ask(between=pair, items=items, labels=more, first=min(more, FIRST_BATCH), design=design)
    )


def with_sentences(facts: Answer, source: str, design: str | None = None) -> Answer:
    """The answer with its three sentences, made from its facts; `source` and `design` are files that commands name."""
    command, go_on = wording.next_command(facts, source), ""
    open_still = facts.basis != "expert labels" or facts.action == "switch"
    if facts.expert is not None and open_still and facts.expert.more and design is not None:
        go_on = wording.more_command(source, facts.expert.more, design)
    return replace(
        facts,
        headline=wording.headline(facts),
        why=wording.evidence(facts),
        next=wording.next_move(facts, command),
        command=command,
        go_on=go_on,
    )


def _gain(apart: Difference, model: ModelEvidence, gold: GoldLead | None, tolerance: float) -> tuple[Estimate, Basis]:
    """What is known of the gain, in accuracy, by the evidence that assumes least."""
    stake = apart.stake
    if gold is not None and (gold.used or gold.whole):
        return gold.lead, "gold"
    if stake <= tolerance:
        return _at_most(stake), "bound"
    return model.gain, "model"


def _at_most(stake: float) -> Estimate:
    """A gain of which only the size is bounded."""
    return Estimate(None, -stake, stake, reason=NO_SIGN) if stake else Estimate(0.0, 0.0, 0.0)


def _action(
    other: str,
    apart: Difference,
    model: ModelEvidence,
    gain: Estimate,
    basis: Basis,
    tolerance: float,
) -> Action:
    if other == MAJORITY or not apart.differ or basis == "bound":
        return "keep"
    low, high, value = gain.low, gain.high, gain.value
    if basis == "gold":
        if low is not None and value is not None and low > 0 and value > tolerance:
            return "switch"
        return "keep" if high is not None and high <= tolerance else "ask"
    if model.failed:
        return "ask"
    if model.best or (high is not None and high <= tolerance):
        robust = model.breakdown is not None and model.breakdown >= ROBUST
        return "keep" if model.sound or robust else "ask"
    if model.sound and not model.panel and low is not None and value is not None and low > 0 and value > tolerance:
        return "switch"
    return "ask"


def _tie_gain(basis: Basis, expected: ExpectedGain | None, gold: GoldLead | None) -> float | None:
    """Percentage points of the gain that come from ties, by the same evidence as the gain."""
    if basis == "gold" and gold is not None:
        return 100 * gold.tied_lead
    return None if expected is None else 100 * expected.tied


def _withdrawn(model: ModelEvidence, by_labels: Estimate | None) -> Estimate | None:
    """What the model expected, where gold or expert labels exclude it."""
    gain = model.gain
    if by_labels is None or gain.value is None or by_labels.low is None or by_labels.high is None:
        return None
    low, high = (gain.value if end is None else end for end in (gain.low, gain.high))
    return None if by_labels.low <= high and low <= by_labels.high else _points(gain)


def _points(gain: Estimate) -> Estimate:
    value, low, high = (None if end is None else 100 * end for end in (gain.value, gain.low, gain.high))
    return Estimate(value, low, high, gain.reason)


def assumptions_of(claim: Claim) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The assumptions of a claim that a test rejects, and those that these votes cannot test."""
    tests = [one for one in claim.assumptions if one.assumption != Assumption.EXCHANGEABLE_WORKERS]
    failed, untestable = (
        tuple(str(one.assumption) for one in tests if one.status == status)
        for status in (Status.FAILED, Status.UNTESTABLE)
    )
    return failed, untestable


def model_of(certificate: Certificate, expected: ExpectedGain | None, stake: float) -> ModelEvidence:
    """What the certificate's models say of the gain of a rule, given what it expects of itself.

    A rule believes in itself: it cannot gain more than the best rule that knows who voted, which the named claim
    bounds.
    """
    named, anonymous = certificate.named, certificate.anonymous
    claim = anonymous if named is None else named
    failed, untested = (
        tuple(dict.fromkeys((*a, *b))) for a, b in zip(assumptions_of(anonymous), assumptions_of(claim), strict=True)
    )
    loss = claim.loss
    panel = certificate.design is not None and certificate.design.kind == "panel"
    best = claim.verdict == Verdict.OPTIMAL
    gain = Estimate(None, reason=NO_FITTED_MODEL)
    if expected is not None and loss.value is not None:
        gain = _bounded(expected, loss, stake)
    return ModelEvidence(
        gain=gain,
        failed=failed,
        untested=untested,
        panel=panel,
        breakdown=claim.breakdown if claim.breakdown is not None else anonymous.breakdown,
        best=best,
    )


def _bounded(expected: ExpectedGain, loss: Estimate, stake: float) -> Estimate:
    """The gain of the rule: its share of what the best rule gains, with the doubts about both.

    Where models disagree about it, the interval holds what each of them expects.
    """
    best = loss.value or 0.0
    value = min(expected.gain, best)
    if loss.low is None or loss.high is None:
        return Estimate(value, reason=loss.reason)
    share, luck = max(value / best, 0.0) if best > 0 else 1.0, 2 * expected.luck
    below, above = share * (best - loss.low), share * (loss.high - best)
    low = min(value - (below**2 + luck**2) ** 0.5, expected.least - luck)
    high = max(value + (above**2 + luck**2) ** 0.5, expected.most + luck)
    return Estimate(value, max(low, -stake), min(high, stake))


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

    >>> from majorant.evidence.certificate.certificate import Claim
    >>> claim = Claim(family=Family.ANONYMOUS, reason=Reason.NOT_IDENTIFIED)
    >>> decision_path(Certificate(level=.95, anonymous=claim)).outcome
    'Inconclusive: a third vote on some items, or gold labels, would tell'
    """
    claim, standing = certificate.anonymous, certificate.standing
    identified = claim.reason != Reason.NOT_IDENTIFIED
    seen = claim if identified else replace(claim, margin=None)
    overruled = standing.family == Family.GOLD and claim.verdict != standing.verdict
    steps = [
        *([_gold(standing)] if overruled else []),  # gold assumes less, so it speaks first where it says otherwise
        PathStep(
            question=wording.IDENTIFIED_QUESTION,
            on="yes",
            off="no",
            exit=wording.NOT_IDENTIFIED,
            answer="yes" if identified else "no",
            why="",
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
        exit=wording.BY_GOLD_BEST if gold.verdict == Verdict.OPTIMAL else wording.NOT_BEST,
        answer="yes",
        why="",
    )


def _independent(claim: Claim) -> PathStep:
    on = "yes"
    if claim.reason == Reason.CANNOT_BE_TESTED:
        on = wording.NOT_TESTABLE
    elif claim.model == Model.ITEM_DIFFICULTY:
        on = wording.GIVEN_DIFFICULTY
    return PathStep(
        question=wording.INDEPENDENT_QUESTION,
        on=on,
        off="no",
        exit=wording.DEPENDENT,
        answer="no" if claim.reason == Reason.ASSUMPTION_FAILED else on,
    )


def _inside(claim: Claim) -> PathStep:
    margin = claim.margin
    inside = margin is not None and margin > 0
    sure = claim.verdict == Verdict.NOT_OPTIMAL
    return PathStep(
        question=wording.INSIDE_QUESTION,
        on="inside",
        off="outside",
        exit=wording.NOT_BEST if sure or inside else wording.OUTSIDE_PERHAPS,
        answer="outside" if sure or not inside else "inside",
        why="" if margin is None else wording.margin_at_estimate(margin),
    )


def _certain(claim: Claim, level: float) -> PathStep:
    on = str(claim.certainty) if claim.verdict == Verdict.OPTIMAL else wording.EITHER_GOOD
    return PathStep(
        question=wording.certain_question(level),
        on=on,
        off="not yet",
        exit=wording.takes_more(claim.more_items),
        answer=on if claim.verdict == Verdict.OPTIMAL else "not yet",
        why="",
    )


def _named(named: Claim | None) -> PathStep:
    verdict = Verdict.OPEN if named is None else named.verdict
    off = "no" if verdict == Verdict.NOT_OPTIMAL else "not known"
    return PathStep(
        question=wording.NAMED_QUESTION,
        on="yes",
        off=off,
        exit=wording.knowing_gains(surely=verdict == Verdict.NOT_OPTIMAL),
        answer="yes" if verdict == Verdict.OPTIMAL else off,
    )
