"""Result types of a certificate: verdicts about majority vote, their certainty and assumptions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from majorant.arguments import validated
from majorant.display import show
from majorant.evidence.certificate.design import VotingDesign
from majorant.evidence.certificate.optimality import Optimality
from majorant.evidence.evidence import Assumption, Certainty, Evidence, Source, Status, Tested
from majorant.values import Estimate, Missing

NOT_ESTIMATED = Estimate(None, reason=Missing.NOT_ESTIMATED)
RARE_SHARE = 0.01  # numbers of votes and worker sets with a smaller share of the items do not affect a verdict


class Family(StrEnum):
    """The rules that majority vote is compared with, and the basis of the comparison."""

    ANONYMOUS = "anonymous"  # rules that ignore who voted, compared by a model of the votes
    NAMED = "named"  # all rules, compared by a model of the votes
    GOLD = "gold"  # rules that ignore who voted, compared by gold labels alone


class Verdict(StrEnum):
    """Whether majority vote is as good as the best rule of a family on untied items."""

    OPTIMAL = "optimal"
    NOT_OPTIMAL = "not optimal"
    OPEN = "open"


class Reason(StrEnum):
    """Why a verdict is open."""

    ASSUMPTION_FAILED = "assumption failed"
    CANNOT_BE_TESTED = "cannot be tested"
    TOO_FEW_ITEMS = "too few items"
    NOT_IDENTIFIED = "not identified"


class Model(StrEnum):
    """The model of the votes behind a claim."""

    INDEPENDENT_VOTES = "independent votes"
    SHARED_MATRIX = "one confusion matrix"
    NAMED_WORKERS = "named workers"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Claim:
    """Whether majority vote is as good as the best rule of a family, with the supporting facts.

    Items with tied votes are left out, because majority vote does not determine their label. A claim with an assumption
    that failed or cannot be tested keeps its numbers, but its verdict is open (see `assume`).

    Parameters
    ----------
    family : Family
        The rules that majority vote is compared with.
    verdict : Verdict
        Whether majority vote is as good.
    certainty : Certainty or None
        `proved` for any number of items, or `supported` by large-sample statistics; None if the verdict is open.
    reason : Reason or None
        Why the verdict is open.
    margin : float or None
        Log-odds in nats with which the model favours majority vote's label in the closest case; above 0 if majority
        vote is always the best rule.
    loss : Estimate
        Accuracy of the best rule minus that of majority vote on untied items, as a share of all items.
    accuracy : float or None
        Accuracy of majority vote according to the model or to gold, with ties decided by a coin.
    tied_share : float
        Share of the items with votes whose votes are tied.
    model : Model
        The model of the votes.
    assumptions : tuple of Tested
        Assumptions of the claim, with their status.
    level : float
        Probability with which the verdict and the interval of the loss are right if the assumptions hold.
    n_items : int
        Number of items that the claim was computed from.
    n_labels : int
        Number of gold labels behind the claim.
    more_items : int or None
        Number of new items (gold items for the gold claim) that would decide on their own with probability .8; 0 if the
        verdict is not open, None if no feasible number would.
    """

    family: Family
    verdict: Verdict = Verdict.OPEN
    certainty: Certainty | None = None
    reason: Reason | None = None
    margin: float | None = None
    loss: Estimate = NOT_ESTIMATED
    accuracy: float | None = None
    tied_share: float = 0.0
    model: Model = Model.NONE
    assumptions: tuple[Tested, ...] = ()
    level: float = 0.95
    n_items: int = 0
    n_labels: int = 0
    more_items: int | None = None

    def __repr__(self) -> str:
        sure = "" if self.certainty is None else f", {self.certainty}"
        why = "" if self.reason is None else f" ({self.reason})"
        return f"Claim ({self.family}): {self.verdict}{why}{sure}"

    def with_status(self, *statuses: Status) -> tuple[Tested, ...]:
        """The assumptions with one of these statuses."""
        return tuple(tested for tested in self.assumptions if tested.status in statuses)

    @validated
    def status(self, assumption: Assumption) -> Status | None:
        """Status of an assumption; None if the claim does not make it."""
        return next((tested.status for tested in self.assumptions if tested.assumption == assumption), None)


def assume(claim: Claim, *assumptions: Tested) -> Claim:
    """Add assumptions to a claim; its verdict becomes open if one of them failed or cannot be tested.

    >>> tested = Tested(Assumption.INDEPENDENT_VOTES, Status.UNTESTABLE)
    >>> optimal = Claim(family=Family.ANONYMOUS, verdict=Verdict.OPTIMAL, certainty=Certainty.PROVED)
    >>> claim = assume(optimal, tested)
    >>> str(claim.verdict), claim.certainty, str(claim.reason)
    ('open', None, 'cannot be tested')
    """
    claim = replace(claim, assumptions=(*claim.assumptions, *assumptions))
    reason = open_reason(claim.assumptions)
    if reason is None or claim.reason == Reason.NOT_IDENTIFIED:
        return claim
    return replace(claim, verdict=Verdict.OPEN, certainty=None, reason=reason, more_items=None)


def open_reason(assumptions: tuple[Tested, ...]) -> Reason | None:
    """Why these assumptions allow no verdict; None if each of them passed its test or was not tested."""
    statuses = {tested.status for tested in assumptions}
    if Status.FAILED in statuses:
        return Reason.ASSUMPTION_FAILED
    return Reason.CANNOT_BE_TESTED if Status.UNTESTABLE in statuses else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two workers, the correlation of their votes given the true label, and its two-sided p-value."""

    workers: tuple[Hashable, Hashable]
    correlation: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Whether the workers of a panel err together.

    Parameters
    ----------
    tested : Tested
        Result of one test for all pairs.
    truth : {"gold", "estimated"}
        Whether the truth comes from gold labels or from the fitted model, which gives only rough estimates.
    pairs : tuple of Pair
        Pairs of workers, the most correlated first.
    n_eff : Estimate
        Number of independent workers that would be as informative as those who vote on an item.
    """

    tested: Tested
    truth: Literal["gold", "estimated"]
    pairs: tuple[Pair, ...]
    n_eff: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Certificate:
    """The claims about majority vote at one level.

    Parameters
    ----------
    level : float
        Probability with which the verdict of `standing` is right if its assumptions hold.
    anonymous : Claim
        Comparison of majority vote with the best rule that ignores who voted.
    named : Claim or None
        Comparison with the best of all rules; None if there are too many or too few workers for such a model.
    gold : Claim or None
        Comparison with the best rule that ignores who voted, from gold labels alone; None without gold labels.
    dependence : Dependence or None
        For a panel, whether its workers err together.
    design : VotingDesign or None
        Panel or crowd; None if the voters are unknown.
    optimality : Optimality or None
        The answer if votes are independent, its grade, and what would overturn it; None if no item has three votes.
    """

    level: float
    anonymous: Claim
    named: Claim | None = None
    gold: Claim | None = None
    dependence: Dependence | None = None
    design: VotingDesign | None = None
    optimality: Optimality | None = None

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims that were made."""
        return tuple(claim for claim in (self.anonymous, self.named, self.gold) if claim is not None)

    @property
    def standing(self) -> Claim:
        """The decisive claim: the gold claim if it is not open, because it assumes least, else the anonymous one."""
        return self.anonymous if self.gold is None or self.gold.verdict == Verdict.OPEN else self.gold

    def evidence(self) -> tuple[Evidence, ...]:
        """The claims as evidence about the gain of the best rule of each family over majority vote."""
        return tuple(_evidence(claim) for claim in self.claims if claim.loss.value is not None)

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{claim.family} {claim.verdict}" for claim in self.claims)
        return f"Certificate at level {self.level:g}: {verdicts}"

    def _repr_html_(self) -> str:
        page: str = show("html.certificate_html", self)
        return page


def _evidence(claim: Claim) -> Evidence:
    """Convert a claim to evidence: the gain is the loss of majority vote, or 0 if majority vote is optimal."""
    optimal = claim.verdict == Verdict.OPTIMAL
    return Evidence(
        source=Source.LABELS if claim.family == Family.GOLD else Source.CERTIFICATE,
        other=str(claim.family),
        gain=Estimate(0.0, 0.0, 0.0) if optimal else claim.loss,
        level=claim.level,
        assumptions=claim.assumptions,
        n_labels=claim.n_labels,
    )
