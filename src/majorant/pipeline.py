"""The whole line, spelt out: votes -> tally -> agreement -> certificate -> decision -> labels, workers, plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.agreement import Agreement
from majorant.agreement import agreement as measure_agreement
from majorant.certify.certificate import Certificate
from majorant.claims import Inquiry, inquire
from majorant.decide.calibrate import Labels, accuracy_of, calibrate
from majorant.decide.choice import TOLERANCE, Alternative, Decision, decide, fit_rule
from majorant.decide.compare import compare
from majorant.decide.gold import GoldAccuracy, gold_accuracy
from majorant.decide.map import MapPanel, data_map
from majorant.decide.path import Path, decision_path
from majorant.decide.removal import Removal, removal
from majorant.decide.review import Review, review
from majorant.decide.workers import Workers, assess_workers
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS, Fit
from majorant.interval import Estimate
from majorant.plan import Plan
from majorant.plan import plan as make_plan
from majorant.randomness import as_seed
from majorant.slices import Slice, certify_slices
from majorant.tally import Tally
from majorant.tally import tally as count
from majorant.votes import Votes

AUTO = "auto"
WORKER_METHOD = "hierarchical"  # who is good, where the chosen rule has no matrix for each worker


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Result:
    """Everything that `check` finds out; the report shows it and computes nothing."""

    votes: Votes
    tally: Tally
    agreement: Agreement
    inquiry: Inquiry
    majority: Fit
    decision: Decision
    majority_accuracy: Estimate  # expected
    labels: Labels  # those of the decision, with calibrated confidence
    worker_fit: Fit  # one confusion matrix for each worker
    workers: Workers
    removal: Removal | None  # what would change without the workers who stand out
    review: Review  # where a look pays most
    plan: Plan | None  # None where there is nothing to plan from
    slices: tuple[Slice, ...]  # one verdict each
    map: tuple[MapPanel, ...]  # where majority vote is optimal, and where these votes lie
    path: Path  # the questions that led to the verdict
    comparison: tuple[Alternative, ...]  # all methods side by side, if asked for
    gold: GoldAccuracy | None  # how often majority vote is right, where the truth is known
    level: float
    tolerance: float

    @property
    def certificate(self) -> Certificate:
        """Whether majority vote is the best rule."""
        return self.inquiry.certificate

    def _repr_html_(self) -> str:
        from majorant.report.notebook import result_html

        return result_html(self)


def check(
    votes: Votes,
    *,
    level: float = 0.95,
    rng: int | np.random.Generator,
    method: str | None = None,
    tolerance: float = TOLERANCE,
    target: float = 0.95,
    compare_all: bool = False,
    inquiry: Inquiry | None = None,
    agreement: Agreement | None = None,
) -> Result:
    """Count, measure agreement, certify majority vote, choose the rule, label, judge the workers, plan.

    Each step starts from the same seed, so its numbers are those of the step alone.  `method` overrules the choice,
    `tolerance` is the accuracy that majority vote may give away, `target` the accuracy to plan for; `inquiry` and
    `agreement` are given where these votes are a sample and all of them have been looked at already.

    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=200, n_votes=3, rng=0)
    >>> result = check(votes, rng=0)
    >>> result.tally.votes_i.sum(), result.majority.method
    (np.int64(600), 'majority')
    """
    seed = as_seed(rng)
    majority = aggregate(votes, "majority")
    inquiry = inquiry or inquire(votes, level=level, rng=seed)
    decision = decide(votes, inquiry.certificate, majority, tolerance=tolerance, level=level, rng=seed, method=method)

    def refit(others: Votes) -> Fit:
        return fit_rule(decision.method, others, seed)

    labels = calibrate(votes, decision.fit, level=level, rng=seed, refit=refit)
    gold = gold_accuracy(votes, majority, level=level)
    known = _worker_fit(votes, decision.fit)
    workers = assess_workers(votes, known, level=level)
    return Result(
        votes=votes,
        tally=count(votes),
        agreement=agreement or measure_agreement(votes, level=level, rng=seed),
        inquiry=inquiry,
        majority=majority,
        decision=decision,
        majority_accuracy=_majority_accuracy(majority, labels, gold),
        labels=labels,
        worker_fit=known,
        workers=workers,
        removal=removal(votes, labels, workers, refit, level=level, rng=seed),
        review=review(votes, labels.fit, good=workers.good_j),
        plan=_plan(votes, inquiry.certificate, target, level),
        slices=certify_slices(votes, level=level, rng=seed),
        map=data_map(votes, inquiry.fit, inquiry.design.kind, level=level, rng=seed),
        path=decision_path(inquiry.certificate),
        comparison=compare(votes, level=level, rng=seed) if compare_all else (),
        gold=gold,
        level=level,
        tolerance=tolerance,
    )


def _majority_accuracy(majority: Fit, labels: Labels, gold: GoldAccuracy | None) -> Estimate:
    """How often majority vote is right: by gold where the promise for the chosen labels rests on gold alone."""
    if gold is not None and labels.source == "gold":
        return Estimate(gold.value, gold.low, gold.high)
    return accuracy_of(majority, labels)


def _worker_fit(votes: Votes, chosen: Fit) -> Fit:
    """The fit by which workers are judged: the chosen one if it knows each of them, else a model that does."""
    return chosen if chosen.confusion is not None and chosen.confusion.ndim == 3 else aggregate(votes, WORKER_METHOD)


def _plan(votes: Votes, certificate: Certificate, target: float, level: float) -> Plan | None:
    if certificate.anonymous.verdict == "unidentified":
        return None
    return make_plan(votes, target=target, level=level, certificate=certificate)


def aggregate(votes: Votes, method: str = AUTO, *, rng: int | np.random.Generator | None = None) -> Fit:
    """Turn votes into labels by the method of that name in ESTIMATORS, or by the one that suits them best: auto.

    `rng` is for methods that draw, and for auto, which certifies majority vote first.
    """
    if method != AUTO and method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. Choose {AUTO} or one of: {', '.join(ESTIMATORS)}.")
    if method != AUTO and not ESTIMATORS[method].stochastic:
        return ESTIMATORS[method]().fit(votes)
    if rng is None:
        raise ConfigError(f"The method {method} draws: give rng, an int or a numpy Generator.")
    if method != AUTO:
        return ESTIMATORS[method]().fit(votes, rng=rng)
    seed = as_seed(rng)
    return decide(votes, inquire(votes, rng=seed).certificate, aggregate(votes, "majority"), rng=seed).fit
