"""The whole line, spelt out: votes -> tally -> agreement -> certificate -> decision -> labels, workers, plan.

There is one line, wherever the votes lie: `check` asks the `Backend` for what adds up over all items, and takes into
memory what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from majorant.agreement import Agreement
from majorant.agreement.measure import agreement_from, resampling
from majorant.answer.answer import Answer, model_of, weigh
from majorant.answer.calibrate import Labels, calibrate
from majorant.answer.choice import MAJORITY, Alternative, Decision, compare, decide, fit_rule, seed_of_fits, with_fit
from majorant.answer.combine import COMBINATION, combined_fit, unsuited
from majorant.answer.difference import GoldAccuracy, difference, expected_gain, gold_accuracy, gold_lead
from majorant.answer.labels import LabelChanges, outcome
from majorant.answer.map import MapPanel, data_map
from majorant.answer.path import Path, decision_path
from majorant.answer.review import Review, Reviewed, crowd_confusion, review, review_all
from majorant.answer.workers import Removal, Workers, assess_workers, removal
from majorant.backend import Backend, MemoryBackend, as_backend, fit_of_items
from majorant.certify.anonymous import anonymous_claim, as_histograms
from majorant.certify.certificate import Certificate, Claim
from majorant.claims import (
    Certification,
    ClaimInputs,
    Counts,
    certification_from,
    claim_inputs,
    sample,
    sample_codes,
    votes_of_items,
)
from majorant.errors import DataError
from majorant.estimate import Fit, estimator_named, method_named
from majorant.gold.correction import CORRECTED, CorrectedRule, corrected_fit
from majorant.gold.design import Design, Recognised, recognise
from majorant.gold.draw import WHOLE_ORDER, item_names, planned_labels, votes_digest
from majorant.gold.question import Outcome
from majorant.gold.race import Race
from majorant.io import Reading
from majorant.limits import refuse_size
from majorant.plan import Plan
from majorant.plan import plan as make_plan
from majorant.slices import Slice, certify_slices, refuse_slices
from majorant.tabular import Records
from majorant.tally import Tally, two_class_histograms
from majorant.tally import tally as count
from majorant.values import (
    LEVEL,
    TARGET,
    TOLERANCE,
    WORKER_METHOD,
    Estimate,
    FloatArray,
    as_generator,
    as_level,
    as_seed,
)
from majorant.votes import IntArray, Votes
from majorant.wording import NO_ACCURACY

AUTO = "auto"
STAGES = ("counting", "testing", "comparing", "judging", "measuring")  # of `check`, in their order
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
        found = next((row.accuracy for row in self.decision.alternatives if row.method == method), None)
        return Estimate(None, reason=f"{method} was not run") if found is None else found

    @property
    def review(self) -> Review:
        """The items where a look pays most, by their place in `reviewed.votes`: in memory, in `votes`."""
        return self.reviewed.review

    def __repr__(self) -> str:
        n_items, n_workers, _ = self.votes.shape
        size = f"{n_items:,} items, {n_workers:,} workers"
        return f"Result: {self.answer.headline}\n{size}; labels, workers and review have to_pandas()"

    def _repr_html_(self) -> str:
        from majorant.report.html import result_html

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
    design.  `stage` is told what is done now, one of STAGES; `early` what counts alone say, where votes of two classes
    are too many for memory and the rest takes minutes.

    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=200, n_votes=3, rng=0)
    >>> result = check(votes)
    >>> result.tally.votes_i.sum(), result.majority.method
    (np.int64(600), 'majority')
    """
    if labelled is None:
        labelled = recognise(reading.get("gold_file"))
    if labelled is not None and not labelled.sample and reading.get("gold_file") is not None:
        reading["gold_file"] = None
    backend, stage = as_backend(votes, **reading), stage or nobody
    seed = as_seed(rng)
    as_level(level)
    refuse_size(*backend.votes.shape, backend.votes.n_votes)
    refuse_slices(len(backend.votes.slices))
    if method is not None:
        method = method_named(method, beside=[COMBINATION])
        backend.refuse(method)
    if labelled is not None:
        labelled.design.refuse_other_votes(votes_digest(backend))
    stage("counting")
    near = _near(backend)
    counts = _counts(near)
    if early is not None and near.whole is None and backend.votes.shape[2] == 2:
        early(anonymous_claim(as_histograms(two_class_histograms(counts.patterns)), level, as_generator(seed)))
    chosen = _choose(
        near,
        level=level,
        seed=seed,
        method=method,
        tolerance=tolerance,
        counts=counts,
        labelled=labelled,
        stage=stage,
    )
    votes, item_p, certification, answer = chosen.votes, chosen.item_p, chosen.certification, chosen.answer
    stage("judging")
    labels = calibrate(votes, chosen.rule_here, rng=seed, refit=chosen.refit)
    here = backend if item_p is not None else MemoryBackend(votes)  # where the fits are
    known = _worker_fit(here, chosen, method, seed)
    workers = assess_workers(here, known, votes, item_p, level=level)
    gold = gold_accuracy(votes, chosen.majority, level=level)
    stage("measuring")
    return Result(
        backend=backend,
        votes=votes,
        tally=count(votes),
        counts=counts,
        agreement=agreement_from(counts.patterns, votes, resampling(seed, level=level)),
        certification=certification,
        majority=chosen.majority,
        decision=chosen.decision,
        answer=answer,
        labels=labels,
        fit=chosen.fit,
        outcome=outcome(here, chosen.other),
        worker_fit=known,
        workers=workers,
        reviewed=_reviewed(backend, chosen, labels, workers),
        removal=removal(votes, labels.fit, workers, chosen.refit) if item_p is None else None,
        plan=_plan(votes, certification.certificate, target, level),
        slices=certify_slices(backend, level=level, rng=seed),
        path=decision_path(certification.certificate),
        comparison=compare(votes, level=level, rng=seed) if compare_all else Records(),
        gold=gold,
        level=level,
        tolerance=tolerance,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Chosen:
    """The answer, and what it was made from."""

    votes: Votes  # from which the rules were learned
    item_p: IntArray | None  # the codes of their items, None where they are all
    certification: Certification
    majority: Fit  # of `votes`
    decision: Decision  # the rule that was compared with majority vote
    other: Fit  # that rule on all items
    members: Mapping[str, Fit]  # of the combination, on all items
    fit: Fit  # the rule whose labels are written, on all items
    rule_here: Fit  # the same on `votes`
    refit: Callable[[Votes], Fit]
    answer: Answer


def _choose(
    backend: Backend,
    *,
    level: float = LEVEL,
    seed: int,
    method: str | None = None,
    tolerance: float = TOLERANCE,
    counts: Counts | None = None,
    labelled: Recognised | None = None,
    stage: Stage = nobody,
) -> _Chosen:
    """Certify majority vote, find the rule to compare it with, and weigh the two."""
    expert = None if labelled is None else labelled.outcome
    generator = as_generator(seed)
    stage("testing")
    inputs = claim_inputs(backend, rng=generator, counts=counts)
    certification = certification_from(inputs, level=level, rng=generator)
    votes, item_p = _learned_from(backend, inputs)
    stage("comparing")
    majority = aggregate(votes, MAJORITY)
    rival = _rival(expert) if method is None and expert is not None else method
    decision = decide(votes, majority, level=level, rng=seed, method=rival)
    refit: Callable[[Votes], Fit] = partial(fit_rule, decision.method, seed=seed, starts=decision.members)
    if item_p is None:  # all votes are in memory by now, wherever they came from
        backend, other, everywhere, members = MemoryBackend(votes), decision.fit, majority, decision.members
    else:
        (other, members), everywhere = _fit_elsewhere(backend, decision, votes, seed), backend.fit(MAJORITY, seed)
    if labelled is not None and method is None and _adopts(labelled):
        refit, other = partial(_corrected, labelled.design), _frozen_correction(backend, labelled.design)
        decision = with_fit(decision, majority, other if item_p is None else fit_of_items(backend, other, item_p))
    elif (
        labelled is not None and method is None and backend.votes.shape[0] <= WHOLE_ORDER
    ):  # of more the names are many
        _refuse_other_labels(backend, labelled.design, {MAJORITY: everywhere, other.method: other})
    apart, expected = difference(backend, other), expected_gain(majority, *decision.expectation)
    gold = gold_lead(backend, other, apart, alpha=(1 - level) / decision.n_rivals)
    rules = {MAJORITY: everywhere, other.method: other}
    model = model_of(certification.certificate, expected, apart.stake)
    found = weigh(
        other=other.method,
        apart=apart,
        model=model,
        expected=expected,
        gold=gold,
        tolerance=tolerance,
        level=level,
        planned=partial(planned_labels, backend, rules, seed=seed, tolerance=tolerance, level=level),
        expert=expert,
        design=None if labelled is None else str(labelled.path),
        asked_for=method is not None,
        source=backend.votes.account.source,
    )
    keep = found.rule == MAJORITY
    return _Chosen(
        votes=votes,
        item_p=item_p,
        certification=certification,
        majority=majority,
        decision=decision,
        other=other,
        members=members,
        fit=everywhere if keep else other,
        rule_here=majority if keep else decision.fit,
        refit=partial(fit_rule, MAJORITY, seed=seed) if keep else refit,
        answer=found,
    )


def _adopts(labelled: Recognised) -> bool:
    """Whether labels show that a correction learned from others is better than the rule that it corrects."""
    return labelled.outcome.kind == CorrectedRule.kind and labelled.outcome.verdict == "better"


def _corrected(design: Design, votes: Votes) -> Fit:
    """The corrected rule of a design on votes in memory, its models fitted as they were when it was learned."""
    question, backend = design.question, MemoryBackend(votes)
    assert isinstance(question, CorrectedRule)
    return corrected_fit(backend, member_fits(backend, question.members, design.seed), question.correction)


def _frozen_correction(backend: Backend, design: Design) -> Fit:
    """The same on the votes of the design, wherever they lie; the labels must be those that the design froze."""
    question = design.question
    assert isinstance(question, CorrectedRule)
    for method in question.members:
        backend.refuse(method)
    fits = member_fits(backend, question.members, design.seed)
    if tuple(fits) != question.members:
        raise DataError(f"The correction reweighs {', '.join(question.members)}, and these votes bear not all of them.")
    fit = corrected_fit(backend, fits, question.correction)
    _refuse_other_labels(backend, design, {CORRECTED: fit})
    return fit


def _refuse_other_labels(backend: Backend, design: Design, fits: Mapping[str, Fit]) -> None:
    """Refuse rules that give the items of a design other labels than those that the design froze."""
    question = design.question
    race = question.race if isinstance(question, CorrectedRule) else question
    if not isinstance(race, Race):
        return
    for rule in set(race.rules) & set(fits):
        if not race.is_given_by(rule, item_rows(backend, fits[rule], design.order)):
            raise DataError(
                f"{rule} gives other labels now than those that the design froze, so what the expert's labels show "
                "does not hold for them. Use the version of majorant, and the seed, with which it was asked."
            )


def item_rows(backend: Backend, fit: Fit, names: Sequence[Any]) -> FloatArray:
    """What a fit believes of the items of these names, in their order."""
    n_items = backend.votes.shape[0]
    place = {str(name): item for item, name in enumerate(item_names(backend, np.arange(n_items)))}
    return np.asarray(fit_of_items(backend, fit, np.array([place[str(name)] for name in names], np.int64)).posterior)


def _rival(expert: Outcome) -> str | None:
    """The rule that labels drawn by design compare with majority vote: the leader, or the last that was compared."""
    if expert.kind != "rules" or expert.rules[0] != MAJORITY:
        return None
    return expert.leader if expert.leader != MAJORITY else expert.rules[-1]


def _learned_from(backend: Backend, inputs: ClaimInputs) -> tuple[Votes, IntArray | None]:
    """The votes from which the rule is learned, and the codes of their items, None where they are all."""
    return (inputs.sample, inputs.item_p) if backend.whole is None else (backend.whole, None)


def _reviewed(backend: Backend, chosen: _Chosen, labels: Labels, workers: Workers) -> Reviewed:
    """Where a look pays most, among all items."""
    if chosen.item_p is None:
        return Reviewed(chosen.votes, labels.fit, review(chosen.votes, labels.fit, good=workers.good_j))
    crowd = crowd_confusion(chosen.votes, labels.fit)
    return review_all(backend, chosen.fit, labels.calibration, good=workers.good_j, crowd=crowd)


def _fit_elsewhere(backend: Backend, decision: Decision, sample: Votes, seed: int) -> tuple[Fit, Mapping[str, Fit]]:
    """The rule that was chosen on a sample, or the combination and its members where it needs all votes in memory."""
    start = seed_of_fits(as_generator(seed))
    if decision.method in backend.methods:
        return backend.fit(decision.method, start), {}
    return combined_fit(backend, sample, start)


def judge_workers(backend: Backend, fit: Fit, *, level: float = LEVEL, seed: int) -> Workers:
    """How good each worker is by a fit to all votes, wherever they lie."""
    item_p = (
        None if backend.whole is not None else sample_codes(backend, backend.votes_by_worker(), rng=as_generator(seed))
    )
    return assess_workers(backend, fit, votes_of_items(backend, item_p), item_p, level=level)


def measure_agreement(backend: Backend, *, level: float = LEVEL, seed: int) -> Agreement:
    """How well workers agree, wherever the votes lie; Cohen's kappa, of pairs of workers, perhaps on a sample."""
    votes = sample(backend, rng=as_generator(seed)) if backend.whole is None else backend.whole
    return agreement_from(backend.patterns(), votes, resampling(seed, level=level))


def _near(backend: Backend) -> Backend:
    """The votes in memory, where that takes less time than going to them again and again."""
    if backend.whole is not None or backend.votes.n_votes > backend.at_hand:
        return backend
    return MemoryBackend(backend.take(np.arange(backend.votes.shape[0])))


def _counts(backend: Backend) -> Counts:
    return Counts(backend.patterns(), backend.votes_by_worker())


def _worker_fit(backend: Backend, chosen: _Chosen, method: str | None, seed: int) -> Fit:
    """The fit by which workers are judged, as `majorant workers` does: one method, or the one that was asked for.

    A method that has no matrix for each worker cannot judge them.
    """
    asked = chosen.other.confusion
    if method is not None and asked is not None and asked.ndim == 3:
        return chosen.other
    return chosen.members.get(WORKER_METHOD) or backend.fit(WORKER_METHOD, seed)


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
        return _choose(backend, seed=seed).fit
    backend.refuse(method)
    if method != COMBINATION:
        return backend.fit(method, seed)
    known = sample(backend, rng=as_generator(seed)) if backend.whole is None else backend.whole
    return combined_fit(backend, known, seed)[0]


def member_fits(backend: Backend, members: Sequence[str], seed: int) -> dict[str, Fit]:
    """The fits of those models that these votes can bear, in their order."""
    borne = [method for method in members if method in backend.methods]
    if backend.whole is not None:
        borne = [method for method in borne if not unsuited(method, backend.whole)]
    return {method: rule_fit(backend, method, seed) for method in borne}


def rule_fit(backend: Backend, rule: str, seed: int) -> Fit:
    """The fit of a rule by its name, on all votes, as `check` fits it."""
    if rule != COMBINATION:
        estimator_named(rule, beside=[AUTO, COMBINATION])
    if backend.whole is None:
        return aggregate(backend, rule, rng=seed)
    return fit_rule(rule, backend.whole, seed_of_fits(as_generator(seed)))
