"""Certificate: what was claimed about majority vote, on which evidence, under which assumptions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from majorant import wording
from majorant.evidence.certificate.design import VotingDesign
from majorant.values import Estimate, lock

Verdict = Literal["proved", "supported", "undecided", "refuted", "void", "unidentified"]
ClaimKind = Literal["anonymous", "named", "gold"]
INDEPENDENT_VOTES, INDEPENDENT_WORKERS = "independent votes", "independent workers"  # the tests of independence
RARE_SHARE = 0.01  # of the items: what holds no more has no say in the verdict on a data set
NOT_ESTIMATED = Estimate(None, reason="not estimated")


class Basis(NamedTuple):
    """A model of votes, what a claim by it takes for granted, and what of that is tested."""

    model: str
    assumptions: tuple[str, ...]
    tested: tuple[str, ...]

    @property
    def not_tested(self) -> tuple[str, ...]:
        """What nothing tests."""
        return tuple(text for text in self.assumptions if text not in self.tested)


_COUNTS = (wording.TWO_CLASSES, wording.DRAWN_ANEW, wording.ITEMS_APART, wording.GUESSING)
INDEPENDENT_COUNTS = Basis(
    "independent votes",
    (*_COUNTS, wording.ANY_SIZE, wording.INDEPENDENT),
    tested=(wording.TWO_CLASSES, wording.INDEPENDENT),
)
SIZES_APART = Basis(
    wording.EACH_SIZE_APART,
    (*_COUNTS, wording.OPEN_SIZE, wording.INDEPENDENT),
    tested=(wording.TWO_CLASSES, wording.INDEPENDENT),
)
DIFFICULTY = Basis(
    "item difficulty",
    (*_COUNTS, wording.ANY_SIZE, wording.HARD_ITEMS),
    tested=(wording.TWO_CLASSES, wording.HARD_ITEMS),
)
NAMED_WORKERS = Basis(
    "named workers",
    (wording.OWN_MATRIX, wording.ITEMS_APART, wording.INDEPENDENT, wording.OPEN_WORKERS, wording.MANY_ITEMS),
    tested=(wording.INDEPENDENT,),
)
SHARED_MATRIX = Basis(
    "independent votes",
    (
        wording.ONE_MATRIX,
        wording.ITEMS_APART,
        wording.INDEPENDENT,
        wording.MOSTLY_RIGHT,
        wording.OPEN_SIZE,
        wording.MANY_ITEMS,
    ),
    tested=(wording.INDEPENDENT, wording.ONE_MATRIX),
)
GOLD_ALONE = Basis(
    "none", (wording.GOLD_CHOSEN, wording.GOLD_COUNTS, wording.ITEMS_APART), tested=(wording.GOLD_COUNTS,)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionTest:
    """An assumption put to the test; `passed` is None where these data cannot test it.

    They cannot if the test does not exist, or if it would most likely pass were the assumption so far from true that
    the verdict turned.
    """

    name: str
    passed: bool | None
    p_value: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Claim:
    """Majority vote is as good as any rule of a kind, and how far the data bear it out.

    `anonymous`: no rule that ignores who voted beats it.  `named`: no rule at all does, under a confusion matrix per
    worker.  `gold`: the anonymous claim, from gold labels alone, without a model.  Majority vote draws a fair lot where
    votes are tied: loss and accuracy include that, the margin is of the counts without a tie.  All numbers but those by
    gold are the model's: they hold as far as its assumptions do, `conditions` first.  A `void` claim keeps its numbers,
    which then hold only "if votes were independent".
    """

    kind: ClaimKind
    verdict: Verdict
    why: str  # one sentence
    by_votes: Mapping[int, Verdict] = field(default_factory=dict)  # the verdict for each number of votes on an item
    untied: Verdict | None = None  # the verdict apart from ties, where that is another
    margin: float | None = None  # nats; > 0: majority vote is optimal at the estimate, apart from ties
    handicap: float | None = None  # votes, two classes
    loss: Estimate = NOT_ESTIMATED  # accuracy given away against the best rule of the kind
    tied_share: float = 0.0  # of the items with a vote
    tie_loss: Estimate = NOT_ESTIMATED  # the part of the loss that a fair draw on ties gives away
    items_certified: float | None = None  # share of items decided as the best rule would; a tied one is not
    evidence: Mapping[str, float] = field(default_factory=dict)  # e-value, likelihood ratio, ...
    model: str = ""  # independent votes, item difficulty, named workers, none
    gates: tuple[AssumptionTest, ...] = ()
    assumptions: tuple[str, ...] = ()
    not_tested: tuple[str, ...] = ()  # those of them that nothing here tests
    conditions: tuple[str, ...] = ()  # those that failed, or that these data cannot test: the claim holds only if ...
    breakdown: float | None = None  # intra-item correlation up to which the verdict stands, tried up to .3
    without_say: Mapping[int, float] = field(default_factory=dict)  # numbers of votes that too few items hold: share
    level: float | None = None  # that it, or what a headline chooses from it and others, is right, if assumptions hold
    more_items: int | None = None  # fresh items that would decide, judged by themselves: old ones were looked at

    def __post_init__(self) -> None:
        lock(self)

    def __repr__(self) -> str:
        return f"Claim ({self.kind}): {self.verdict}\n{self.why}"

    @property
    def tested(self) -> bool:
        """Whether nothing stands between the claim and its verdict that failed a test, or could not be tested."""
        return not self.conditions

    @property
    def by_worker(self) -> bool:
        """Whether its model gives each worker a confusion matrix of their own."""
        return self.model == NAMED_WORKERS.model

    @property
    def allows_difficulty(self) -> bool:
        """Whether items of a class differ in its model."""
        return self.model == DIFFICULTY.model

    @property
    def independence(self) -> AssumptionTest | None:
        """The test whether votes on an item, or the workers of a panel, are independent; None where there is none."""
        return next((gate for gate in self.gates if gate.name in (INDEPENDENT_VOTES, INDEPENDENT_WORKERS)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two workers, the correlation of their votes given the true label, and its p-value (two-sided, this pair)."""

    workers: tuple[Hashable, Hashable]
    correlation: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What is known about shared errors in a panel: one test for all pairs, each pair, and what the panel is worth.

    `n_eff` independent workers would have as precise a share of votes, given the truth, as those of an item.  Pairs and
    n_eff are measured where gold labels tell the `truth`, or from votes alone: then they are rough.
    """

    gate: AssumptionTest
    truth: Literal["gold", "estimated"]
    pairs: tuple[Pair, ...]  # the most correlated first
    n_eff: Estimate
    redundant: tuple[Hashable, ...]  # workers who mostly repeat a better one


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Certificate:
    """The claims at one level, one sentence that says it all, and for a panel whether its workers err together.

    `design` says whether a crowd or a panel voted, which decides by which model the claims are judged; None where it is
    not known who voted.
    """

    level: float
    why: str
    anonymous: Claim
    named: Claim | None = None
    gold: Claim | None = None
    dependence: Dependence | None = None
    design: VotingDesign | None = None

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Those that these votes, and gold labels, can bear."""
        return tuple(claim for claim in (getattr(self, kind) for kind in wording.CLAIMS) if claim is not None)

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{claim.kind} {claim.verdict}" for claim in self.claims)
        return f"Certificate at level {self.level:g}: {verdicts}\n{self.why}"

    @property
    def standing(self) -> Claim:
        """The claim that stands: by gold where that decides, since it assumes least, else the anonymous one."""
        return self.gold if self.gold is not None and self.gold.verdict in ("proved", "refuted") else self.anonymous

    def _repr_html_(self) -> str:
        from majorant.render.html import certificate_html

        return certificate_html(self)
