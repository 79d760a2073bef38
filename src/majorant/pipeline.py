"""The whole line, spelt out: votes -> tally -> agreement -> certificate -> decision -> labels, workers, plan.

There is one line, wherever the votes lie: `check` asks the `Backend` for what adds up over all items, and takes into
memory what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np

from majorant.ask.design import Recognised, recognise
from majorant.ask.draw import WHOLE_ORDER, planned_labels, refuse_other_labels, votes_digest
from majorant.ask.question import Outcome
from majorant.backend import Backend, MemoryBackend, as_backend, fit_of_items
from majorant.defaults import LEVEL, MAJORITY, TARGET, TOLERANCE, WORKER_METHOD
from majorant.evidence.certificate.anonymous import anonymous_claim, as_histograms
from majorant.evidence.certificate.certificate import Certificate, Claim
from majorant.evidence.certificate.claims import (
    Certification,
    Counts,
    Sample,
    certification_from,
    claim_inputs,
    whole_or_sample,
)
from majorant.evidence.certificate.slices import Slice, certify_slices, refuse_slices
from majorant.limits import refuse_size
from majorant.methods import Fit, method_named
from majorant.read import Reading
from majorant.results.agreement import Agreement
from majorant.results.agreement.measure import agreement_from, resampling
from majorant.results.answer import Answer, Path, answer_from, decision_path, model_of
from majorant.results.calibrate import Labels, calibrate
from majorant.results.choice import (
    AUTO,
    Alternative,
    Decision,
    compare,
    corrected_by,
    decide,
    fit_rule,
    rival_of,
    seed_of_fits,
    with_fit,
)
from majorant.results.combine import COMBINATION, combined_fit, fit_everywhere, fit_method
from majorant.results.difference import GoldAccuracy, difference, expected_gain, gold_accuracy, gold_lead
from majorant.results.labels import LabelChanges, outcome
from majorant.results.map import MapPanel, data_map
from majorant.results.plan import Plan
from majorant.results.plan import plan as make_plan
from majorant.results.review import Review, Reviewed, crowd_confusion, review, review_all
from majorant.results.workers import Removal, Workers, assess_workers, removal
from majorant.tabular import Records
from majorant.tally import Tally, two_class_histograms
from majorant.tally import tally as count
from majorant.values import Estimate, as_generator, as_level, as_seed
from majorant.votes import IntArray, Votes
from majorant.wording import NO_ACCURACY, not_run

CHECK_STAGES = ("counting", "testing", "comparing", "judging", "measuring")  # of `check`, in their order
Stage = Callable[[str], None]


def nobody(stage: str) -> None:
    """Nobody asks what is done now."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Result:
    """Everything that `check` finds out; the report shows it and computes nothing.

    What adds up over items is of all votes, wherever they lie: `counts`, `outcome`, `fit`, `workers`, `reviewed`, and
    what the certificate and the agreement say of counts.  The rest is of `votes`: all of them, or a random sample of
    the items where all do not belong into memory.

    >>> import majorant as mj
    >>> result = mj.check([(f"q{i}", f"w{j}", (i + (j == i % 5)) % 2) for i in range(40) for j in range(3)])
    >>> result.answer.action, result.rule, len(result.labels.to_dict()["item"])
    ('keep', 'majority', 40)
    """

    backend: Backend
    votes: Votes
    tally: Tally
    counts: Counts
    agreement: Agreement
    certification: Certification
    majority: Fit
    answer: Answer  # keep, switch or ask
    decision: Decision  # the rule that was compared with majority vote
    labels: Labels  # those of the rule of the answer, with calibrated confidence
    fit: Fit  # that rule on all votes, not calibrated
    outcome: LabelChanges  # what the rule that was compared would change
    worker_fit: Fit  # one confusion matrix for each worker
    workers: Workers
    removal: Removal | None  # what would change without the workers who stand out; not known from a sample
    reviewed: Reviewed  # where a look pays most
    plan: Plan | None  # None where there is nothing to plan from
    slices: Records[Slice]  # one verdict each
    path: Path  # the questions that led to the verdict
    comparison: Records[Alternative]  # all methods side by side, if asked for
    gold: GoldAccuracy | None  # how often majority vote is right, where the truth is known
    level: float
    tolerance: float
    seed: int

    @property
    def map(self) -> tuple[MapPanel, ...]:
        """Where majority vote is optimal, and where these votes lie; worked out when it is asked for."""
        return data_map(
            self.votes, self.certification.fit, self.certification.design.kind, level=self.level, rng=self.seed
        )

    @property
    def certificate(self) -> Certificate:
        """Whether majority vote is the best rule."""
        return self.certification.certificate

    @property
    def rule(self) -> str:
        """The rule behind the labels."""
        return self.answer.rule

    def accuracy(self, method: str) -> Estimate:
        """The one figure there is of a rule's accuracy: by gold where there is gold, else the model's own.

        Where expert labels by design answer, there is none: they outrank the model, and tell rules apart without it.
        """
        if self.answer.basis == "expert labels" and self.gold is None:
            return Estimate(None, reason=NO_ACCURACY)
        accuracy = next((row.accuracy for row in self.decision.alternatives if row.method == method), None)
        return Estimate(None, reason=not_run(method)) if accuracy is None else accuracy

    @property
    def review(self) -> Review:
        """The items where a look pays most, by their place in `reviewed.votes`: in memory, in `votes`."""
        return self.reviewed.review

    def __repr__(self) -> str:
        n_items, n_workers, _ = self.votes.shape
        size = f"{n_items:,} items, {n_workers:,} workers"
        return f"Result: {self.answer.headline}\n{size}; labels, workers and review have to_pandas()"

    def _repr_html_(self) -> str:
        from majorant.render.html import result_html

        return result_html(self)


def check(
    votes: Any,
    *,
    level: float = LEVEL,
    rng: int | np.random.Generator = 0,
    method: str | None = None,
    tolerance: float = TOLERANCE,
    target: float = TARGET,
    compare_all: bool = False,
    labelled: Recognised | None = None,
    stage: Stage | None = None,
    early: Callable[[Claim], None] | None = None,
    **reading: Unpack[Reading],
) -> Result:
    """Count, measure agreement, certify majority vote, choose the rule, label, judge the workers, plan.

    `votes` is whatever `mj.read` takes (a file, a frame, a dict, a list) with the same arguments, such as `item=`, or
    a backend: votes that lie elsewhere, of which rule, confidence and plan are learned from a sample.

    Each step starts from the same seed, so its numbers are those of the step alone.  `method` overrules the choice,
    `tolerance` is the accuracy that majority vote may give away, `target` the accuracy to plan for.  A `gold_file` of
    labels that were drawn by `ask` is told by the design beside it: its labels answer the question of the design, and
    are gold for nothing else, unless the design drew uniformly from all items; `labelled` hands them over with their
    design.  `stage` is told what is done now, one of CHECK_STAGES; `early` what counts alone say, where votes of two
    classes are too many for memory and the rest takes minutes.

    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=200, n_votes=3, rng=0)
    >>> result = check(votes)
    >>> result.tally.votes_i.sum(), result.majority.method
    (np.int64(600), 'majority')
    """
    labelled = labelled or recognise(reading.get("gold_file"))
    if labelled is not None and not labelled.sample:
        reading.pop("gold_file", None)
    backend = as_backend(votes, **reading)
    settings = _Settings(
        seed=as_seed(rng),
        level=as_level(level),
        method=None if method is None else method_named(method, beside=[COMBINATION]),
        tolerance=tolerance,
        labelled=labelled,
        stage=stage or nobody,
    )
    _refuse(backend, settings)
    settings.stage("counting")
    seed = settings.seed
    counts = Counts(backend.patterns(), backend.votes_by_worker())
    if early is not None and backend.whole is None and backend.votes.shape[2] == 2:
        early(anonymous_claim(as_histograms(two_class_histograms(counts.patterns)), level, as_generator(seed)))
    chosen = _choose(backend, settings, counts)
    rules, rule, certificate = chosen.rules, chosen.rule, chosen.certification.certificate
    settings.stage("judging")
    known = rules.votes
    labels = calibrate(known, rule.here, rng=seed, refit=rule.refit)
    worker_fit = _worker_fit(rules, settings)
    workers = assess_workers(rules.backend, worker_fit, known, rules.item_p, level=level)
    settings.stage("measuring")
    return Result(
        backend=backend,
        votes=known,
        tally=count(known),
        counts=counts,
        agreement=agreement_from(counts.patterns, known, resampling(seed, level=level)),
        certification=chosen.certification,
        majority=rules.majority.here,
        decision=rules.decision,
        answer=chosen.answer,
        labels=labels,
        fit=rule.everywhere,
        outcome=outcome(rules.backend, rules.other.everywhere),
        worker_fit=worker_fit,
        workers=workers,
        reviewed=_reviewed(rules, rule, labels, workers),
        removal=removal(known, labels.fit, workers, rule.refit) if rules.item_p is None else None,
        plan=_plan(known, certificate, target, level),
        slices=certify_slices(backend, level=level, rng=seed),
        path=decision_path(certificate),
        comparison=compare(known, level=level, rng=seed) if compare_all else Records(),
        gold=gold_accuracy(known, rules.majority.here, level=level),
        level=level,
        tolerance=tolerance,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What a run was asked for: what all of its steps share."""

    seed: int
    level: float = LEVEL
    method: str | None = None  # overrules the choice
    tolerance: float = TOLERANCE
    labelled: Recognised | None = None  # an expert's labels, with the design that drew them
    stage: Stage = nobody


def _refuse(backend: Backend, settings: _Settings) -> None:
    """Refuse what cannot be done, before any work: votes that are too many, a method, labels of other votes."""
    refuse_size(*backend.votes.shape, backend.votes.n_votes)
    refuse_slices(len(backend.votes.slices))
    if settings.method is not None:
        backend.refuse(settings.method)
    if settings.labelled is not None:
        settings.labelled.design.refuse_other_votes(votes_digest(backend))


class _Rule(NamedTuple):
    """A rule on all items, on the votes that are in memory, and how it is fitted to others."""

    everywhere: Fit
    here: Fit
    refit: Callable[[Votes], Fit]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Rules:
    """Majority vote and the rule that is compared with it."""

    votes: Votes  # from which they were learned
    item_p: IntArray | None  # the codes of their items, None where they are all
    backend: Backend  # where their fits to all items lie
    majority: _Rule
    other: _Rule
    decision: Decision  # where the other comes from
    members: Mapping[str, Fit]  # of the combination, on all items


class _Chosen(NamedTuple):
    """The answer, and what it was made from."""

    certification: Certification
    rules: _Rules
    answer: Answer

    @property
    def rule(self) -> _Rule:
        """The rule whose labels are written."""
        return self.rules.majority if self.answer.rule == MAJORITY else self.rules.other


def _choose(backend: Backend, settings: _Settings, counts: Counts | None = None) -> _Chosen:
    """Certify majority vote, find the rule to compare it with, and weigh the two."""
    level, seed, tolerance, labelled = settings.level, settings.seed, settings.tolerance, settings.labelled
    settings.stage("testing")
    generator = as_generator(seed)
    inputs = claim_inputs(backend, rng=generator, counts=counts)
    certification = certification_from(inputs, level=level, rng=generator)
    settings.stage("comparing")
    expert = None if labelled is None else labelled.outcome
    rules = _rules(backend, Sample(inputs.sample, inputs.item_p), settings, expert)
    decision, other = rules.decision, rules.other.everywhere
    apart = difference(rules.backend, other)
    expected = expected_gain(rules.majority.here, *decision.expectation)
    both = {MAJORITY: rules.majority.everywhere, other.method: other}
    answer = answer_from(
        other=other.method,
        apart=apart,
        model=model_of(certification.certificate, expected, apart.stake),
        expected=expected,
        gold=gold_lead(rules.backend, other, apart, alpha=(1 - level) / decision.n_rivals),
        tolerance=tolerance,
        level=level,
        planned=partial(planned_labels, rules.backend, both, seed=seed, tolerance=tolerance, level=level),
        expert=expert,
        design=None if labelled is None else str(labelled.path),
        asked_for=settings.method is not None,
        source=backend.votes.account.source,
    )
    return _Chosen(certification, rules, answer)


def _rules(backend: Backend, sample: Sample, settings: _Settings, expert: Outcome | None) -> _Rules:
    """Fit majority vote and the rule that the user, an expert's labels, gold or the votes name."""
    votes, item_p = sample if backend.whole is None else Sample(backend.whole)
    seed, by_design = settings.seed, settings.labelled if settings.method is None else None
    rival = settings.method if by_design is None or expert is None else rival_of(expert)
    majority = fit_method(MAJORITY, votes, seed)
    decision = decide(votes, majority, level=settings.level, rng=seed, method=rival)
    refit: Callable[[Votes], Fit] = partial(fit_rule, decision.method, seed=seed, starts=decision.members)
    if item_p is None:  # all votes are in memory by now, wherever they came from
        backend, everywhere, other, members = MemoryBackend(votes), majority, decision.fit, decision.members
    else:
        everywhere = backend.fit(MAJORITY, seed)
        other, members = _fit_elsewhere(backend, decision, votes, seed)
    if by_design is not None and expert is not None and expert.adopted:
        refit = partial(corrected_by, by_design.design)
        other = corrected_by(by_design.design, backend)
        refuse_other_labels(backend, by_design.design, {other.method: other})
        decision = with_fit(decision, majority, other if item_p is None else fit_of_items(backend, other, item_p))
    elif by_design is not None and backend.votes.shape[0] <= WHOLE_ORDER:  # of more the names are many
        refuse_other_labels(backend, by_design.design, {MAJORITY: everywhere, other.method: other})
    return _Rules(
        votes=votes,
        item_p=item_p,
        backend=backend,
        majority=_Rule(everywhere, majority, partial(fit_rule, MAJORITY, seed=seed)),
        other=_Rule(other, decision.fit, refit),
        decision=decision,
        members=members,
    )


def _fit_elsewhere(backend: Backend, decision: Decision, sample: Votes, seed: int) -> tuple[Fit, Mapping[str, Fit]]:
    """The rule that was chosen on a sample, or the combination and its members where it needs all votes in memory."""
    start = seed_of_fits(as_generator(seed))
    if decision.method in backend.methods:
        return backend.fit(decision.method, start), {}
    return combined_fit(backend, sample, start)


def _worker_fit(rules: _Rules, settings: _Settings) -> Fit:
    """The fit by which workers are judged, as `majorant workers` does: one method, or the one that was asked for.

    A method that has no matrix for each worker cannot judge them.
    """
    asked = rules.other.everywhere.confusion
    if settings.method is not None and asked is not None and asked.ndim == 3:
        return rules.other.everywhere
    return rules.members.get(WORKER_METHOD) or rules.backend.fit(WORKER_METHOD, settings.seed)


def _reviewed(rules: _Rules, rule: _Rule, labels: Labels, workers: Workers) -> Reviewed:
    """Where a look pays most, among all items."""
    if rules.item_p is None:
        return Reviewed(rules.votes, labels.fit, review(rules.votes, labels.fit, good=workers.good_j))
    crowd = crowd_confusion(rules.votes, labels.fit)
    return review_all(rules.backend, rule.everywhere, labels.calibration, good=workers.good_j, crowd=crowd)


def _plan(votes: Votes, certificate: Certificate, target: float, level: float) -> Plan | None:
    if certificate.anonymous.verdict == "unidentified":
        return None
    return make_plan(votes, target=target, level=level, certificate=certificate)


def aggregate(votes: Any, method: str = AUTO, *, rng: int | np.random.Generator = 0, **reading: Unpack[Reading]) -> Fit:
    """Turn votes into labels by the method of that name in ESTIMATORS, or by the one that suits them best: auto.

    `votes` is whatever `mj.read` takes (a file, a frame, a dict, a list) with the same arguments, such as `item=`, or
    a backend, where auto and combination look at a sample.  `rng` is for methods that draw, and for auto.

    >>> table = {"item": list("aaabbb"), "worker": list("uvwuvw"), "label": ["yes", "yes", "no", "no", "no", "no"]}
    >>> aggregate(table, "majority").labels()
    ['yes', 'no']
    """
    backend, seed = as_backend(votes, **reading), as_seed(rng)
    method = method_named(method, beside=[AUTO, COMBINATION])
    if method == AUTO:
        return _choose(backend, _Settings(seed=seed)).rule.everywhere
    return fit_everywhere(backend, method, seed)


def judge_workers(backend: Backend, fit: Fit, *, level: float = LEVEL, seed: int) -> Workers:
    """How good each worker is by a fit to all votes, wherever they lie."""
    return assess_workers(backend, fit, *whole_or_sample(backend, rng=as_generator(seed)), level=level)


def measure_agreement(backend: Backend, *, level: float = LEVEL, seed: int) -> Agreement:
    """How well workers agree, wherever the votes lie; Cohen's kappa, of pairs of workers, perhaps on a sample."""
    votes = whole_or_sample(backend, rng=as_generator(seed)).votes
    return agreement_from(backend.patterns(), votes, resampling(seed, level=level))
