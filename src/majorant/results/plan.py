"""How many votes, how many gold items, which workers: what they buy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.defaults import LEVEL, MAX_VOTES, TARGET
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.certificate import Certificate, Model
from majorant.evidence.certificate.gold import gold_cells, gold_claim, model_gold
from majorant.evidence.certificate.plug_in import shared_model
from majorant.evidence.evidence import Assumption, Status
from majorant.methods import ESTIMATORS, Fit
from majorant.read import Reading, as_votes
from majorant.theory import crew_accuracy, majority_accuracy, map_accuracy
from majorant.theory.accuracy import scaled_shared
from majorant.theory.checks import as_panel, as_prior
from majorant.theory.patterns import can_enumerate
from majorant.values import Estimate, FloatArray, as_level, clopper_pearson
from majorant.votes import Votes
from majorant.wording import (
    NO_GOLD_LABEL,
    PLAN_ASSUMPTIONS,
    SIZES_DIFFER,
    TOO_FEW_VOTES,
    VOTES_DEPEND,
    WORKERS_DIFFER,
)

Advice = Literal["enough", "better rule", "more votes", "both", "out of reach", "know who votes", "doubtful"]
PANEL_PATTERNS = 2**14  # ways in which a panel can vote, up to which choosing among its members is cheap
FREQUENT_SHARE = 0.5  # workers who vote on at least this share of the items are a panel to choose from
NOTICEABLE = 1e-3  # accuracy that the last workers of a panel must add together to be kept
SAME_ACCURACY = 1e-12  # accuracies closer than this are equal
NOT_OBSERVED = Estimate(None, reason=NO_GOLD_LABEL)
PANEL_METHOD = "dawid-skene"  # the plan for a panel is made at its confusion matrices, pooled by votes where need be
CROWD_METHOD = "shared"  # that for a crowd at one matrix for all: its workers give too few votes each
DOUBTS = {
    Assumption.INDEPENDENT_VOTES: VOTES_DEPEND,
    Assumption.EXCHANGEABLE_WORKERS: WORKERS_DIFFER,
    Assumption.VOTES_PER_ITEM: SIZES_DIFFER,
}  # by the test that fails


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """What so many votes per item give; None where there are too many vote patterns to enumerate."""

    n_votes: int
    majority: float | None  # probability that majority is right, a tie drawn
    best: float | None  # the same for the best rule that ignores who voted


@dataclass(frozen=True, slots=True)
class CrewStep:
    """The worker to add next, and how often the panel so far is right."""

    worker: Hashable
    majority: float
    best: float  # by the best rule that knows who voted


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Plan:
    """What it takes to reach a target accuracy, and what would settle whether majority vote is optimal."""

    target: float
    prior: FloatArray
    confusion: FloatArray
    points: tuple[PlanPoint, ...]
    majority_votes: int | None  # smallest number of votes per item with which majority reaches the target
    best_votes: int | None  # the same for the best rule that ignores who voted
    price_per_vote: float
    votes_now: float | None  # mean votes per item so far
    advice: Advice
    gold_items: int | None  # that would decide whether majority vote is optimal, where there is no gold yet
    more_gold: int | None = None  # fresh gold items that would decide by themselves, by the certificate
    more_items: int | None = None  # fresh items that would decide by themselves, without gold
    crew: tuple[CrewStep, ...] = ()  # named workers in the order in which they help most
    expected_now: float | None = None  # by the model, how often majority is right on the gold items
    observed_now: Estimate = NOT_OBSERVED  # how often it is
    doubts: tuple[str, ...] = ()  # what the numbers rest on, and the data contradict
    assumptions: tuple[str, ...] = PLAN_ASSUMPTIONS

    def __repr__(self) -> str:
        needed = [("majority vote", self.majority_votes), ("the best rule", self.best_votes)]
        shown = ", ".join(f"{rule} {'never, as far as seen' if n is None else f'with {n:,}'}" for rule, n in needed)
        return f"Plan for {100 * self.target:g} % right: {self.advice}\nvotes an item: {shown}, by the model"

    @property
    def majority_cost(self) -> float | None:
        """Price of an item at the target, by majority."""
        return None if self.majority_votes is None else self.majority_votes * self.price_per_vote

    @property
    def best_cost(self) -> float | None:
        """Price of an item at the target, by the best rule that ignores who voted."""
        return None if self.best_votes is None else self.best_votes * self.price_per_vote

    @property
    def keep(self) -> tuple[Hashable, ...]:
        """The first workers of the panel whose best rule reaches the target, or else all who add to it noticeably."""
        best_s = [step.best for step in self.crew]
        wanted = min(self.target, best_s[-1] - NOTICEABLE) if best_s else 1.0
        n_kept = next((s + 1 for s, best in enumerate(best_s) if best >= wanted), len(best_s))
        return tuple(step.worker for step in self.crew[:n_kept])


def plan_model(
    prior: ArrayLike,
    confusion: ArrayLike,
    *,
    target: float = TARGET,
    max_votes: int = MAX_VOTES,
    price_per_vote: float = 1.0,
    votes_now: float | None = None,
    level: float = LEVEL,
) -> Plan:
    """Exact accuracies for 1..max_votes votes per item, and the smallest number that reaches the target.

    `confusion[k, l] = P(label l | class k)` is shared by all workers, votes are independent given the class, and ties
    are drawn.  `gold_items` is for `votes_now` (else for the smallest number of votes that reaches the target).

    >>> plan = plan_model([.5, .5], [[.8, .2], [.2, .8]], target=.9)
    >>> plan.majority_votes, plan.best_votes, round(plan.points[4].majority, 4), plan.advice
    (5, 5, 0.9421, 'more votes')
    """
    _refuse(target, max_votes, price_per_vote, level)
    prior_k, confusion_kl = scaled_shared(prior, confusion)
    points = tuple(_point(prior_k, confusion_kl, n_votes) for n_votes in range(1, max_votes + 1))
    majority_votes = _first(points, target, lambda point: point.majority)
    best_votes = _first(points, target, lambda point: point.best)
    at = votes_now if votes_now is not None else majority_votes or best_votes
    return Plan(
        target=target,
        prior=prior_k,
        confusion=confusion_kl,
        points=points,
        majority_votes=majority_votes,
        best_votes=best_votes,
        price_per_vote=price_per_vote,
        votes_now=votes_now,
        advice=_advice(points, majority_votes, best_votes, votes_now, target),
        gold_items=None if at is None else model_gold(prior_k, confusion_kl, max(1, round(at)), 1 - level),
    )


def plan(
    votes: Any,
    *,
    target: float = TARGET,
    max_votes: int = MAX_VOTES,
    price_per_vote: float = 1.0,
    level: float = LEVEL,
    fit: Fit | None = None,
    certificate: Certificate | None = None,
    **reading: Unpack[Reading],
) -> Plan:
    """The plan at what the votes say of prior and confusion, from `fit` if given; see `plan_model`.

    `votes` is whatever `mj.read` takes (a file, a frame, a dict, a list) with the same arguments, such as `item=`.
    A few workers who vote on most items are a panel: `crew` says in which order they help.  `certificate` adds how many
    more items would decide whether majority vote is optimal.  Where it rejects what the plan rests on, or gold
    shows that majority is right less often than the model expects, or than the target where the votes should be
    enough, the advice is `doubtful`.  NotIdentified where no item has three votes.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=2000, n_votes=3, rng=0)
    >>> plan(votes, target=.9).majority_votes
    5
    """
    votes = as_votes(votes, **reading)
    if not votes.n_votes:
        raise ConfigError("There are no votes to plan from.")
    members, given = _members(votes), fit is not None
    if fit is None:
        fit = ESTIMATORS[PANEL_METHOD if len(members) else CROWD_METHOD]().fit(votes)
    prior_k, confusion_kl = shared_model(votes, fit)
    if not given and votes.votes_i.max() < 3:
        raise NotIdentified(TOO_FEW_VOTES)
    base = plan_model(
        prior_k,
        confusion_kl,
        target=target,
        max_votes=max_votes,
        price_per_vote=price_per_vote,
        votes_now=float(votes.votes_i[votes.votes_i > 0].mean()),
        level=level,
    )
    gold = gold_claim(votes, level=level) if certificate is None else certificate.gold
    expected, observed, contradicted = _right_now(votes, prior_k, confusion_kl, level)
    panel, advice = _panel_of(votes, fit, members), base.advice
    now = observed.value  # how often majority is right: by gold where there is gold, else as the anonymous claim has it
    if now is None and certificate is not None:
        now = certificate.anonymous.accuracy
    short = advice == "enough" and now is not None and now < target
    doubts = _doubts(certificate, independent=not (contradicted or short))
    if doubts:
        advice = "doubtful"
    elif advice not in ("enough", "better rule") and panel and panel[-1].best >= target:
        advice = "know who votes"
    return replace(
        base,
        advice=advice,
        expected_now=expected,
        observed_now=observed,
        gold_items=base.gold_items if observed.value is None else None,
        more_gold=(gold.more_items or None) if gold is not None else None,
        more_items=(certificate.anonymous.more_items or None) if certificate is not None else None,
        crew=panel,
        doubts=doubts,
    )


def plan_crew(prior: ArrayLike, confusions: ArrayLike, workers: Sequence[Hashable]) -> tuple[CrewStep, ...]:
    """Workers in the order in which each next one helps the best rule most, with the exact accuracy of all so far.

    `confusions[j, k, l] = P(worker j says l | class k)`; votes are independent given the class.  Greedy: the first n
    need not be the best n.  Where several help alike, as when a second opinion alone decides nothing, the one who is
    better alone comes first.

    >>> good, fair, poor = [[.9, .1], [.1, .9]], [[.7, .3], [.3, .7]], [[.5, .5], [.5, .5]]
    >>> [(step.worker, round(step.best, 3)) for step in plan_crew([.5, .5], [poor, good, fair], "pgf")]
    [('g', 0.9), ('f', 0.9), ('p', 0.9)]
    """
    prior_k = as_prior(prior)
    confusion_jkl = as_panel(confusions, len(prior_k))
    if len(workers) != len(confusion_jkl):
        raise ConfigError(f"workers must name each of {len(confusion_jkl)} voters, not {len(workers)}.")
    right_jk = np.diagonal(confusion_jkl, axis1=1, axis2=2)
    left = sorted(range(len(workers)), key=lambda j: -float(right_jk[j] @ prior_k))
    chosen: list[int] = []
    steps = []
    while left:
        best_j = np.array([crew_accuracy(prior_k, confusion_jkl[[*chosen, j]], "map") for j in left])
        first = int((best_j >= best_j.max() - SAME_ACCURACY).argmax())
        chosen.append(left.pop(first))
        majority = crew_accuracy(prior_k, confusion_jkl[chosen])
        steps.append(CrewStep(workers[chosen[-1]], majority, float(best_j[first])))
    return tuple(steps)


def _doubts(certificate: Certificate | None, *, independent: bool) -> tuple[str, ...]:
    """What the plan rests on and the certificate's tests reject, or gold contradicts: not `independent`."""
    claim = None if certificate is None else certificate.anonymous
    failed = set() if claim is None else {one.assumption for one in claim.with_status(Status.FAILED)}
    depend = claim is not None and claim.model == Model.ITEM_DIFFICULTY
    if not independent or depend or Assumption.INDEPENDENT_WORKERS in failed:
        failed |= {Assumption.INDEPENDENT_VOTES}
    return tuple(text for name, text in DOUBTS.items() if name in failed)


def _members(votes: Votes) -> NDArray[np.int64]:
    """The workers who vote on most items, if they are several and few enough to choose among."""
    votes_j = np.bincount(votes.worker_n, minlength=len(votes.workers))
    member_j = np.flatnonzero(votes_j >= FREQUENT_SHARE * len(votes.items))
    few = len(votes.labels) ** len(member_j) <= PANEL_PATTERNS
    return member_j if len(member_j) >= 2 and few else member_j[:0]


def _panel_of(votes: Votes, fit: Fit, member_j: NDArray[np.int64]) -> tuple[CrewStep, ...]:
    if not len(member_j):
        return ()
    if fit.confusion is None or fit.confusion.ndim != 3:
        fit = ESTIMATORS[PANEL_METHOD]().fit(votes)
    assert fit.confusion is not None
    return plan_crew(fit.prior, fit.confusion[member_j], [votes.workers[j] for j in member_j])


def _right_now(
    votes: Votes, prior_k: FloatArray, confusion_kl: FloatArray, level: float
) -> tuple[float | None, Estimate, bool]:
    """How often majority should be right on the gold items, how often it is, and whether that contradicts the model.

    A tie is a fair draw.  The interval is of all items, a point where all have gold; the model is contradicted where it
    lies above the exact interval of a random sample.
    """
    cells = gold_cells(votes)
    right, n_gold = float(cells.right_c.sum()), int(cells.gold_c.sum())
    if not n_gold:
        return None, NOT_OBSERVED, False
    low, high = clopper_pearson(right, n_gold, level)
    whole = n_gold == int((votes.votes_i > 0).sum())
    observed = Estimate(right / n_gold, *((right / n_gold,) * 2 if whole else (low, high)))
    gold_h = np.bincount(cells.votes_c, weights=cells.gold_c)
    sizes = np.flatnonzero(gold_h).tolist()
    if not can_enumerate(sizes[-1], len(prior_k)):
        return None, observed, False
    expected = sum(float(gold_h[n]) * majority_accuracy(prior_k, confusion_kl, n) for n in sizes) / n_gold
    return expected, observed, high < expected


def _point(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int) -> PlanPoint:
    if not can_enumerate(n_votes, len(prior_k)):
        return PlanPoint(n_votes, None, None)
    return PlanPoint(n_votes, *(rule(prior_k, confusion_kl, n_votes) for rule in (majority_accuracy, map_accuracy)))


def _first(points: Sequence[PlanPoint], target: float, accuracy: Callable[[PlanPoint], float | None]) -> int | None:
    known = ((point.n_votes, accuracy(point)) for point in points)
    return next((n_votes for n_votes, value in known if value is not None and value >= target), None)


def _advice(
    points: Sequence[PlanPoint], majority: int | None, best: int | None, now: float | None, target: float
) -> Advice:
    """The cheapest way to the target: votes cost, a better rule does not."""
    if now is not None and 1 <= round(now) <= len(points):
        here = points[round(now) - 1]
        if here.majority is not None and here.majority >= target:
            return "enough"
        if here.best is not None and here.best >= target:
            return "better rule"
    if best is None:
        return "out of reach"
    return "more votes" if majority == best else "both"


def _refuse(target: float, max_votes: int, price_per_vote: float, level: float) -> None:
    if not 0 < target <= 1:
        raise ConfigError(f"target must lie above 0 and not above 1, not {target}.")
    if max_votes < 1 or max_votes != int(max_votes):
        raise ConfigError(f"max_votes must be a whole number of at least 1, not {max_votes}.")
    if not (np.isfinite(price_per_vote) and price_per_vote >= 0):
        raise ConfigError(f"price_per_vote must be at least 0, not {price_per_vote}.")
    as_level(level)
