"""The whole flow: votes -> rules -> evidence -> answer -> labels, workers, review; the rest when it is asked for.

There is one flow, wherever the votes are: `check` asks the `Backend` for what adds up over all items, and takes into
memory what does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from majorant.arguments import validated
from majorant.ask.design import Recognised, recognise
from majorant.ask.draw import WHOLE_ORDER, planned_labels, refuse_other_labels, votes_digest
from majorant.ask.evidence import LabelEvidence, evidence_from_labels, rival_of, sample_level
from majorant.ask.expert import votes_of_design
from majorant.ask.learn import LEARNED, LEAST_LABELS, LearnedRule, gold_labels, learn_rule
from majorant.ask.question import Outcome
from majorant.ask.session import plan_proof
from majorant.backend import Backend, MemoryBackend, as_backend, fit_of_items
from majorant.decide import Answer, Next, Step, decide, is_better
from majorant.defaults import LEVEL, MAJORITY, TARGET, TOLERANCE, WEIGHTED_VOTE, WORKER_METHOD
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.certificate import Certificate, Verdict
from majorant.evidence.certificate.claims import (
    Certification,
    ClaimInputs,
    Counts,
    certification_of,
    claim_inputs,
    examine,
    votes_of_items,
    whole_or_sample,
)
from majorant.evidence.certificate.design import VotingDesign, design
from majorant.evidence.certificate.slices import refuse_slices
from majorant.evidence.comparison import Comparison
from majorant.evidence.copies import Copies, CopyGroup, find_copies, without_copies
from majorant.evidence.evidence import Assumption, Certainty, Evidence, Source, Status, Tested
from majorant.evidence.identical import Difference, count_differences, identical_evidence
from majorant.evidence.labels import GoldAccuracy, gold_accuracy, gold_evidence, holdout_evidence, right_share
from majorant.evidence.track_record import Setting, expected_gain, track_record
from majorant.items import name_hashes
from majorant.limits import refuse_size
from majorant.methods import ESTIMATORS, Fit
from majorant.methods.fit import NO_LABEL
from majorant.methods.weighted_vote import combination, differ_beyond_noise, fit_method
from majorant.read import Reading
from majorant.read.options import ReadOptions, with_gold_file
from majorant.resources import limit_native_threads
from majorant.results.agreement import Agreement
from majorant.results.agreement.measure import agreement_from, resampling
from majorant.results.calibrate import Labels as Confidence
from majorant.results.calibrate import calibrate
from majorant.results.comparison import Alternative, rate_method
from majorant.results.comparison import compare as compare_methods
from majorant.results.labels import (
    Known,
    LabelChanges,
    Labels,
    decide_coins,
    decided_labels,
    expert_labels,
    label_changes,
    with_known,
)
from majorant.results.map import MapPanel, data_map
from majorant.results.plan import Plan
from majorant.results.plan import plan as make_plan
from majorant.results.rate_inputs import obvious_class
from majorant.results.rates import Rates, measure_rate
from majorant.results.review import Review, Reviewed, review, review_all
from majorant.results.rules import (
    AUTO,
    Rule,
    fit_everywhere,
    fit_rule,
    fit_weighted_vote,
    full_judges,
    rule_named,
    settle_everywhere,
    settle_ties,
)
from majorant.results.slices import SliceAnswer, answer_slices
from majorant.results.workers import Removal, Workers, assess_workers, removal
from majorant.tabular import Records
from majorant.tally import Tally, is_panel, tied
from majorant.tally import tally as count
from majorant.values import Estimate, FloatArray, as_generator, as_level, as_seed
from majorant.votes import IntArray, Votes

CHECK_STAGES = ("counting", "comparing", "testing", "judging", "measuring")  # of `check`, in their order
TEACHING = 30  # labels of a random sample: enough to teach a rule for a panel, and to measure it
StageCallback = Callable[[str], None]
T = TypeVar("T")


def ignore_stage(stage: str) -> None:
    """No-op progress callback."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result:
    """Everything that `check` finds out; facts only, which `majorant.render` turns into text.

    What adds up over items is of all votes, wherever they are: `counts`, `changes`, `workers`, `reviewed`.  The rest is
    of `votes`: all of them, or a random sample of the items where memory does not hold them all.

    >>> import majorant as mj
    >>> result = mj.check([(f"q{i}", f"w{j}", (i + (j == i % 5)) % 2) for i in range(40) for j in range(3)])
    >>> str(result.answer.action), result.rule, len(result.labels.to_dict()["item"])
    ('keep', 'majority', 40)
    """

    backend: Backend
    votes: Votes
    counts: Counts
    design: VotingDesign
    setting: Setting
    copies: tuple[tuple[Hashable, ...], ...]  # groups of workers who repeat each other and count as one
    copy_groups: tuple[CopyGroup, ...]  # the same with what shows it
    learned: LearnedRule | None  # what gold labels taught, whether or not it is used
    answer: Answer
    rules: Mapping[str, Fit]  # majority vote and the others that were compared, on all votes, ties settled
    differ: Difference  # on how many items the rule of the answer and majority vote differ
    tied: int  # items on which the votes are tied
    tie_breaker: str | None  # the rule that decides ties, None for a coin fixed by the item's name
    changes: LabelChanges  # what the other rule would change
    slices: Records[SliceAnswer]
    comparison: Records[Alternative]  # all methods side by side, if asked for
    rated: tuple[Alternative, ...]  # accuracy of the rules that were compared
    gold: GoldAccuracy | None  # how often majority vote is right, where the truth is known
    expert: Outcome | None  # what labels drawn by design say
    labelled: Recognised | None  # these labels, with their design
    asked_for: bool  # the user named the rule
    level: float
    tolerance: float
    target: float
    seed: int
    chosen: _Chosen = field(repr=False)
    found_copies: Copies = field(repr=False)
    stage: StageCallback = field(repr=False)

    @property
    def rule(self) -> str:
        """The rule behind the labels."""
        return self.chosen.rule.name

    @property
    def labels_from_other(self) -> bool:
        """Whether the labels are those of the rule that majority vote was compared with."""
        return self.rule != MAJORITY and self.rule == self.answer.other

    @property
    def design_path(self) -> str | None:
        """The file of the design that drew an expert's labels."""
        return None if self.labelled is None else str(self.labelled.path)

    @cached_property
    @limit_native_threads
    def confidence(self) -> Confidence:
        """How far to believe the probabilities of the labels; computed when it is first asked for."""
        self.stage("judging")
        rule, rules = self.chosen.rule, self.chosen.rules
        crowd = rules.members.get("hierarchical") if rules.item_p is None else None
        return calibrate(self.votes, rule.here, rng=self.seed, refit=rule.refit, crowd=crowd)

    @cached_property
    def labels(self) -> Labels:
        """What labels.csv holds."""
        weighted = self.chosen.weighted
        return Labels(
            votes=self.votes,
            fit=self.confidence.fit,
            confidence_i=self.confidence.confidence_i,
            majority=self.chosen.majority.here,
            weighted=None if weighted is None else weighted.here,
            known=self.chosen.known,
        )

    @cached_property
    def worker_fit(self) -> Fit:
        """One confusion matrix for each worker."""
        return _worker_fit(self.chosen.rules, self.chosen.asked)

    @cached_property
    @limit_native_threads
    def workers(self) -> Workers:
        """How good each worker is, and who is flagged; computed when it is first asked for."""
        return assess_workers(
            self._apart,
            self.worker_fit,
            self._votes_apart,
            self.chosen.rules.item_p,
            level=self.level,
            copies=self.found_copies,
        )

    @cached_property
    def _votes_apart(self) -> Votes:
        """The votes in memory, those of copies apart from each other."""
        return votes_of_items(self.backend, self.chosen.rules.item_p) if self.found_copies.groups else self.votes

    @property
    def _apart(self) -> Backend:
        """All votes, those of copies apart from each other."""
        return MemoryBackend(self._votes_apart) if self.chosen.rules.item_p is None else self.backend

    @cached_property
    @limit_native_threads
    def removal(self) -> Removal | None:
        """What would change without the flagged workers; not known from a sample."""
        if self.chosen.rules.item_p is not None:
            return None
        return removal(self.votes, self.confidence.fit, self.workers, self.chosen.rule.refit)

    @cached_property
    @limit_native_threads
    def reviewed(self) -> Reviewed:
        """Where a look pays most; computed when it is first asked for."""
        confidence, workers = self.confidence, self.workers
        self.stage("measuring")
        return _reviewed(self.chosen, confidence, workers, self._apart)

    @cached_property
    @limit_native_threads
    def certification(self) -> Certification:
        """The certificate with what it was made from; computed when it is first asked for."""
        return self.chosen.certify()

    @property
    def certificate(self) -> Certificate:
        """Whether majority vote is as good as any rule, under tested assumptions; computed when first asked for."""
        return self.certification.certificate

    @cached_property
    def agreement(self) -> Agreement:
        """How well workers agree, with intervals; computed when it is first asked for."""
        return agreement_from(self.counts.patterns, self.votes, resampling(self.seed, level=self.level))

    @cached_property
    def tally(self) -> Tally:
        """Counts of the votes in memory."""
        return count(self.votes)

    @cached_property
    def plan(self) -> Plan | None:
        """How many votes to buy; None where there is nothing to plan from."""
        status = Status.FAILED if self.copy_groups else Status.PASSED
        copies = Copies(self.copy_groups, Tested(Assumption.NO_COPIES, status))
        try:
            return make_plan(self.votes, target=self.target, level=self.level, copies=copies)
        except (ConfigError, NotIdentified):
            return None

    @cached_property
    def map(self) -> tuple[MapPanel, ...]:
        """Where majority vote is optimal, and where these votes are; computed when it is first asked for."""
        fit, kind = self.certification.fit, self.certification.design.kind
        return data_map(self.votes, fit, kind, level=self.level, rng=self.seed)

    @cached_property
    @limit_native_threads
    def rates(self) -> Rates | None:
        """The share of a class of two, as each rule reports it and as labels measure it; None for other votes."""
        votes = self.backend.whole
        # The weighted vote is fitted again, with gold labels out of sight: too slow for very many votes.
        if votes is None or len(votes.labels) != 2 or votes.n_votes > 200_000:
            return None
        label = obvious_class(votes.labels) or votes.labels[-1]
        drawn = self.labelled if self.labelled is not None and self.labelled.sample else None
        return measure_rate(votes, drawn, how=ReadOptions(), label=label, level=self.level, rng=self.seed)

    @property
    def review(self) -> Review:
        """The items where a look pays most, by their place in `reviewed.votes`: in memory, in `votes`."""
        return self.reviewed.review

    @validated
    def accuracy(self, rule: str) -> Estimate:
        """The accuracy of a rule that was compared: by gold where there is gold, else the models' own figure."""
        found = next((row.accuracy for row in self.rated if row.method == rule), None)
        if found is None:
            raise ConfigError(f"{rule} was not compared. Compared: {', '.join(row.method for row in self.rated)}.")
        return found

    @validated
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
        """Write labels.csv, workers.csv, review.csv, result.json and report.html into a folder.

        Parameters
        ----------
        folder : path
            Made if it does not exist.
        overwrite : bool
            Replace files that majorant did not write, or that were changed since.

        Returns
        -------
        list of Path
            The files.
        """
        from majorant.render.answer import python_command
        from majorant.render.files import write_result
        from majorant.render.summary import result_summary

        summary = result_summary(self, seed=self.seed, next_command=python_command(self))
        return write_result(self, summary, folder, overwrite=overwrite)

    @validated
    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report: one HTML file that needs nothing else; `overwrite` as for `save`."""
        from majorant.render.html import report

        return report(self, path, overwrite=overwrite)

    @validated
    def plot(self, figure: str | None = None) -> Any:
        """A figure of the report as a matplotlib Figure: workers (if accuracies are known), votes, flow, map, ..."""
        from majorant.render.html import figure as draw

        if figure is not None:
            return draw(self, figure)
        known = self.workers is not None and "accuracy" in self.workers.table()
        return draw(self, "workers" if known else "votes")

    def to_dict(self) -> dict[str, Any]:
        """All facts of the result, as result.json holds them."""
        from majorant.render.plain import to_plain
        from majorant.render.summary import result_summary

        facts: dict[str, Any] = to_plain(result_summary(self, seed=self.seed))
        return facts

    def to_json(self) -> str:
        """The facts as JSON text."""
        from majorant.render.plain import to_json

        return to_json(self.to_dict())

    def summary(self) -> str:
        """The answer in a few lines, as the command line prints it."""
        from majorant.render.answer import python_command
        from majorant.render.text import answer_text

        return answer_text(self, command=python_command(self))

    def __repr__(self) -> str:
        from majorant.render.answer import headline

        n_items, n_workers, _ = self.votes.shape
        size = f"{n_items:,} items, {n_workers:,} workers"
        return f"Result: {headline(self)}\n{size}; labels, workers and review have to_pandas()"

    def _repr_html_(self) -> str:
        from majorant.render.html import result_html

        return result_html(self)


@limit_native_threads
def check(
    votes: Any,
    *,
    level: float = LEVEL,
    rng: int | np.random.Generator = 0,
    method: str | None = None,
    tolerance: float = TOLERANCE,
    target: float = TARGET,
    compare: bool = False,
    labelled: Recognised | None = None,
    ties: str | None = None,
    gold_labels: bool = True,
    stage: StageCallback | None = None,
    **reading: Unpack[Reading],
) -> Result:
    """Is majority vote good enough, what should replace it, and how sure is that?

    Parameters
    ----------
    votes : Any
        Whatever `mj.read` takes (a file, a frame, a dict, a list), with the same keyword arguments, or a backend.
    level : float
        Confidence level of every interval and proof.
    rng : int or numpy Generator
        Random seed.
    method : str, optional
        The rule to compare with majority vote and to label with: a method, the name of a worker, or names joined by
        "+" for the majority of some; by default the weighted vote.
    tolerance : float
        A difference in accuracy too small to matter.
    target : float
        The accuracy to plan for.
    compare : bool
        Also run every method, for `result.comparison`.
    labelled : Recognised, optional
        An expert's labels with the design that drew them.  A `gold_file` beside its design is recognised by itself.
    ties : str, optional
        The rule that decides ties, or `coin` for a coin fixed by the item's name; by default whichever has the better
        track record.
    gold_labels : bool
        Whether gold and expert labels replace the rule's labels in the output.
    stage : callable, optional
        Called with the name of each stage as it begins: counting, comparing, testing, judging, measuring.

    Returns
    -------
    Result
        `result.answer`, `result.labels`, `result.workers`, `result.review`, and what is computed on demand.

    Examples
    --------
    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=200, n_votes=3, rng=0)
    >>> str(check(votes).answer.action)
    'keep'
    """
    coins = ("coin", "random")
    reading = cast("Reading", with_gold_file(reading))
    labelled = labelled or recognise(reading.get("gold_file"))
    if labelled is not None and not labelled.sample:
        reading.pop("gold_file", None)
    if not 0 <= tolerance <= 1:
        raise ConfigError(f"tolerance is a difference in accuracy, 0 to 1, not {tolerance!r}.")
    backend = as_backend(votes, **reading)
    if labelled is not None:
        backend = votes_of_design(labelled.design, backend)
    if ties in ("first", "last", "open", "drop", "none"):
        raise ConfigError(f"ties={ties!r}: give 'random', or the method that decides them, such as 'weighted-vote'.")
    settings = _Settings(
        seed=as_seed(rng),
        level=as_level(level),
        method=None if method is None else rule_named(method, backend.votes.workers),
        tolerance=tolerance,
        labelled=labelled,
        ties=None if ties in (None, *coins) else rule_named(ties, backend.votes.workers),
        by_coin=ties in coins,
        gold_labels=gold_labels,
        stage=stage or ignore_stage,
    )
    near, copies = without_copies(backend)
    _refuse(near, settings)
    settings.stage("counting")
    seed = settings.seed
    counts = Counts(near.patterns(), near.votes_by_worker())
    chosen = _choose(near, counts, copies, settings)
    rules, rule, known = chosen.rules, chosen.rule, chosen.rules.votes
    majority, other = chosen.majority, chosen.other
    return Result(
        backend=backend,
        votes=known,
        counts=counts,
        design=chosen.design,
        setting=chosen.setting,
        copies=copies.workers,
        copy_groups=copies.groups,
        learned=chosen.learned,
        answer=chosen.answer,
        rules={
            MAJORITY: majority.everywhere,
            **({} if chosen.weighted is None else {WEIGHTED_VOTE: chosen.weighted.everywhere}),
            rule.name: rule.everywhere,
        },
        differ=chosen.apart,
        tied=_count_ties(counts),
        tie_breaker=chosen.breaker,
        changes=label_changes(rules.backend, majority.everywhere, other.everywhere),
        slices=_slices(rules, other.name, chosen.answer, level),
        comparison=compare_methods(known, level=level) if compare else Records(),
        rated=_rate_rules(chosen, level),
        gold=gold_accuracy(known, _compared_majority(chosen), level=level),
        expert=chosen.expert,
        labelled=labelled,
        asked_for=settings.method is not None,
        level=level,
        tolerance=tolerance,
        target=target,
        seed=seed,
        chosen=chosen,
        found_copies=copies,
        stage=settings.stage,
    )


def _compared_majority(chosen: _Chosen) -> Fit:
    """Majority vote as the other rule was compared with it: beside the weighted vote, ties are decided alike."""
    alike = chosen.other.name in (MAJORITY, WEIGHTED_VOTE)
    return chosen.majority.here if alike else chosen.rules.fitted[MAJORITY].here


def _rate_rules(chosen: _Chosen, level: float) -> tuple[Alternative, ...]:
    """The accuracy of the rules that were compared, such that their differences are the gains of the answer.

    A rule that the gold labels taught is rated by cross-validation.
    """
    rules, majority = chosen.rules, _compared_majority(chosen)
    fits = {MAJORITY: majority} | {one.name: one.here for one in (chosen.other, chosen.rule) if one.name != MAJORITY}
    rated = [rate_method(fit, rules.votes, majority, rules.belief, level=level) for fit in fits.values()]
    if chosen.learned is None or not chosen.learned.n_labels:
        return tuple(rated)
    unseen = Estimate(chosen.learned.accuracy)
    return tuple(replace(one, accuracy=unseen) if one.method == LEARNED else one for one in rated)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What a run was asked for."""

    seed: int
    level: float = LEVEL
    method: str | None = None  # overrides the choice
    tolerance: float = TOLERANCE
    labelled: Recognised | None = None  # an expert's labels, with the design that drew them
    ties: str | None = None  # the rule that decides ties, if the user named one
    by_coin: bool = False
    gold_labels: bool = True
    stage: StageCallback = ignore_stage


def _refuse(backend: Backend, settings: _Settings) -> None:
    """Refuse what cannot be done, before any work: too many votes, a method, labels of other votes."""
    refuse_size(*backend.votes.shape, backend.votes.n_votes)
    refuse_slices(len(backend.votes.slices))
    if settings.method in ESTIMATORS:
        backend.refuse(settings.method)
    if settings.labelled is not None:
        settings.labelled.design.refuse_other_votes(votes_digest(backend))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Rules:
    """Majority vote and the rules that it is compared with, fitted."""

    votes: Votes  # in memory, from which they were learned
    item_p: IntArray | None  # the codes of their items, None where they are all
    backend: Backend  # where their fits to all items are
    fitted: Mapping[str, Rule]  # majority vote first; ties as each rule decides them
    members: Mapping[str, Fit]  # of the weighted vote, on all items
    belief: FloatArray | None  # (items, classes): what the models believe of the votes in memory

    def settled(self, name: str, breaker: str | None) -> Rule:
        """A rule with its ties decided by another rule, or left to a coin."""
        rule, majority = self.fitted[name], self.fitted[MAJORITY]
        judge = None if breaker is None else self.fitted[breaker]
        return Rule(
            everywhere=settle_everywhere(
                self.backend, rule.everywhere, majority.everywhere, None if judge is None else judge.everywhere
            ),
            here=settle_ties(rule.here, majority.here, None if judge is None else judge.here),
            refit=partial(_refit_settled, rule.refit, majority.refit, None if judge is None else judge.refit),
        )

    def compared(self, name: str) -> Fit:
        """A rule on all items as it is compared with others.

        Ties are decided the same way under majority vote and the weighted vote, so both leave them tied here.  A rule
        that labels favour would decide ties itself, where majority vote tosses a coin.
        """
        rule, majority = self.fitted[name].everywhere, self.fitted[MAJORITY].everywhere
        return rule if name not in (MAJORITY, WEIGHTED_VOTE) else settle_everywhere(self.backend, rule, majority, None)


def _refit_settled(
    rule: Callable[[Votes], Fit], majority: Callable[[Votes], Fit], judge: Callable[[Votes], Fit] | None, votes: Votes
) -> Fit:
    fit = rule(votes)
    return settle_ties(fit, majority(votes), fit if judge is rule else None if judge is None else judge(votes))


class _Chosen(NamedTuple):
    """The answer, and what it was made from."""

    rules: _Rules
    design: VotingDesign
    setting: Setting
    learned: LearnedRule | None
    answer: Answer
    apart: Difference
    majority: Rule  # these have their ties settled
    other: Rule  # the rule that majority vote was compared with
    rule: Rule  # the rule whose labels are written
    weighted: Rule | None
    breaker: str | None
    known: Known
    expert: Outcome | None
    asked: str | None  # the rule that the user named
    certify: Callable[[], Certification]


def _choose(backend: Backend, counts: Counts, copies: Copies, settings: _Settings) -> _Chosen:
    """Fit the rules, gather the evidence, decide, and settle the ties."""
    level, seed, labelled = settings.level, settings.seed, settings.labelled
    settings.stage("comparing")
    inputs = claim_inputs(backend, rng=seed, counts=counts)
    said = None if labelled is None else evidence_from_labels(labelled)
    expert = None if said is None else said.outcome
    rules = _fit_rules(backend, inputs, settings, expert)
    shape = design(rules.votes)
    setting = _setting(rules, shape, counts)
    learned: LearnedRule | None = None
    taught: tuple[Evidence, ...] = ()
    if settings.method is None:
        rules = _with_judges(rules, setting, seed) if backend.has_gold else rules
        rules, learned, taught = _with_learned(rules, setting, settings, said)
    beside = (copies.tested,) if setting.panel else ()
    examined = _once(partial(examine, inputs, level=level, rng=seed, beside=beside))
    certify = _once(lambda: certification_of(examined()))
    asked = settings.method if settings.method != MAJORITY else None
    names = [name for name in rules.fitted if name not in (MAJORITY, settings.ties) and asked in (None, name)]
    present = rules.compared(MAJORITY)
    apart = {name: count_differences(rules.backend, present, rules.compared(name)) for name in names}
    unlearned = {name: (rules.compared(name), apart[name]) for name in names if name != LEARNED}
    n_rules = len(unlearned) + (settings.method is None)  # a rule learned from half of the labels shares their error
    by_gold = gold_evidence(rules.backend, present, unlearned, level=sample_level(labelled, level), n_rules=n_rules)
    if labelled is not None and labelled.sample:  # drawn at random by a design
        random = (Tested(Assumption.RANDOM_LABELS, Status.PASSED),)
        by_gold = tuple(replace(one, assumptions=random) for one in by_gold)
    evidence = [
        *(() if said is None else said.evidence),
        *by_gold,
        *(taught if said is None or not said.evidence else ()),
        *(identical_evidence(name, apart[name], _doubts(setting, copies)) for name in names if name != LEARNED),
    ]
    answer = decide(evidence, tolerance=settings.tolerance)
    if answer.certainty is not Certainty.PROVED:
        settings.stage("testing")
        comparison = Comparison(
            votes=rules.votes,
            fits={name: rules.fitted[name].here for name in (MAJORITY, *names)},
            belief=rules.belief,
            setting=setting,
            copies=copies,
            certify=lambda: None if examined().is_open else certify().certificate,
            level=level,
        )
        evidence += [one for engine in EVIDENCE_ENGINES for one in engine(comparison)]
        answer = decide(evidence, tolerance=settings.tolerance)
    other = answer.other if answer.other in rules.fitted else next(iter(names), MAJORITY)
    name = settings.method or answer.rule
    breaker = None if settings.by_coin else settings.ties or _tie_breaker(name, setting, rules)
    answer = replace(answer, next=_next_step(answer, rules, setting, apart, expert, learned, settings))
    return _Chosen(
        rules=rules,
        design=shape,
        setting=setting,
        learned=learned,
        answer=answer,
        apart=apart.get(other, Difference(backend.votes.shape[0], 0)),
        majority=rules.settled(MAJORITY, breaker),
        other=rules.settled(other, breaker),
        rule=rules.settled(name, breaker),
        weighted=rules.settled(WEIGHTED_VOTE, breaker) if WEIGHTED_VOTE in rules.fitted else None,
        breaker=breaker,
        known=_known(labelled, settings),
        expert=expert,
        asked=settings.method,
        certify=certify,
    )


def _fit_rules(backend: Backend, inputs: ClaimInputs, settings: _Settings, expert: Outcome | None) -> _Rules:
    """Fit majority vote, the weighted vote, and the rule that the user or a design names."""
    votes, item_p = (inputs.sample, inputs.item_p) if backend.whole is None else (backend.whole, None)
    blind = replace(votes, gold_i=None) if settings.method is None else votes
    # It takes two classes, and an item with three votes, to tell who is good.
    can_weigh = len(votes.labels) > 1 and votes.votes_i.max(initial=0) > 2
    combined = combination(blind) if can_weigh or settings.method == WEIGHTED_VOTE else None
    if combined is None and settings.method == WEIGHTED_VOTE:
        raise ConfigError(f"{WEIGHTED_VOTE} cannot be used on these votes: no model can be fitted to them.")
    here = {MAJORITY: fit_method(MAJORITY, votes)}
    if combined is not None:
        here[WEIGHTED_VOTE] = combined.fit
    for name in filter(None, (settings.method, settings.ties, None if expert is None else rival_of(expert))):
        if name not in here and name != LEARNED:
            here[name] = fit_rule(name, votes)
    members: Mapping[str, Fit] = {} if combined is None else combined.fits
    if item_p is None:  # all votes are in memory by now, wherever they came from
        backend, everywhere = MemoryBackend(votes), here
    else:
        everywhere = {}
        for name in here:
            if name == WEIGHTED_VOTE:
                everywhere[name], members = fit_weighted_vote(backend, votes)
            else:
                everywhere[name] = fit_everywhere(backend, name, settings.seed)
    if settings.labelled is not None and backend.votes.shape[0] <= WHOLE_ORDER:  # of more the names are many
        refuse_other_labels(backend, settings.labelled.design, everywhere)
    refits = {name: partial(fit_rule, name, starts=members) for name in here}
    return _Rules(
        votes=votes,
        item_p=item_p,
        backend=backend,
        fitted={name: Rule(everywhere[name], here[name], refits[name]) for name in here},
        members=members,
        belief=None if combined is None else combined.belief.posterior,
    )


def _setting(rules: _Rules, shape: VotingDesign, counts: Counts) -> Setting:
    """What the votes show without any label."""
    n_votes = int(counts.votes_jl.sum())
    workers = int((counts.votes_jl.sum(axis=1) > 0).sum())
    items = int(counts.patterns.items_p[counts.patterns.votes_p > 0].sum())
    return Setting(
        panel=shape.kind == "panel" or is_panel((items, workers, 0), n_votes),
        votes_per_worker=n_votes / max(workers, 1),
        workers_differ=differ_beyond_noise(rules.votes),
    )


def _doubts(setting: Setting, copies: Copies) -> tuple[Tested, ...]:
    """What "switching changes nothing" leaves open on a panel: a better rule than both, if judges share mistakes."""
    if not setting.panel:
        return ()
    return Tested(Assumption.INDEPENDENT_WORKERS, Status.UNTESTABLE), copies.tested


def _with_judges(rules: _Rules, setting: Setting, seed: int) -> _Rules:
    """The rules, and on a panel each judge who labels nearly everything."""
    if not setting.panel:
        return rules
    fitted = dict(rules.fitted)
    for name in full_judges(rules.backend)[:100]:
        if name not in fitted:
            refit = partial(fit_rule, name)
            here = refit(rules.votes)
            everywhere = here if rules.item_p is None else fit_everywhere(rules.backend, name, seed)
            fitted[name] = Rule(everywhere, here, refit)
    return replace(rules, fitted=fitted)


def _with_learned(
    rules: _Rules, setting: Setting, settings: _Settings, said: LabelEvidence | None
) -> tuple[_Rules, LearnedRule | None, tuple[Evidence, ...]]:
    """The rules with one learned from labels if it beats the rule that would be used without them; and its evidence.

    The rule that a labelling session froze stays as it is, since it is the one that labels prove.  Where many labels
    came with the votes, half of them teach a rule and the others prove it; if they do not, all of them teach.
    """
    item_p, truth_p = gold_labels(rules.backend)
    learned = None if said is None else said.learned
    if WEIGHTED_VOTE not in rules.fitted or (learned is None and len(item_p) < LEAST_LABELS):
        return rules, None, ()
    if learned is not None:
        assert said is not None
        proving = any(one.other == LEARNED for one in said.evidence)
        return (_with_rule(rules, learned) if learned.adopted or proving else rules), learned, ()
    weighted = rules.fitted[WEIGHTED_VOTE].everywhere
    baseline = weighted if setting.teaches else rules.fitted[MAJORITY].everywhere
    teach = partial(learn_rule, rules.backend, weighted=weighted, baseline=baseline, seed=settings.seed)
    if said is None and len(item_p) >= 4 * LEAST_LABELS:
        taught_p = _half_of(rules.backend, item_p, settings.seed)
        half = teach(item_p[taught_p], truth_p[taught_p])
        if half.adopted:
            tried = _with_rule(rules, half)
            present, fit = tried.compared(MAJORITY), tried.compared(LEARNED)
            evidence = holdout_evidence(
                rules.backend,
                (present, fit),
                LEARNED,
                (item_p, truth_p),
                taught_p,
                count_differences(rules.backend, present, fit),
                alpha=(1 - settings.level) / len(rules.fitted),  # majority vote is none of the rules that share it
                level=settings.level,
            )
            if is_better(evidence.gain, settings.tolerance):
                return tried, half, (evidence,)
    learned = teach(item_p, truth_p)
    if not learned.adopted:
        return rules, learned, ()
    return _with_rule(rules, learned), learned, (_learned_evidence(learned, rules, item_p, truth_p),)


def _half_of(backend: Backend, item_p: IntArray, seed: int) -> NDArray[np.bool_]:
    """Which half of these items teaches, by lots that depend on the items' names alone."""
    hash_p = name_hashes(backend.take(np.sort(item_p)).items, seed)
    half_p = np.zeros(len(item_p), dtype=bool)
    half_p[np.argsort(item_p)[np.argsort(hash_p, kind="stable")[: len(item_p) // 2]]] = True
    return half_p


def _with_rule(rules: _Rules, learned: LearnedRule) -> _Rules:
    """The rules, and the learned one."""
    weighted = rules.fitted[WEIGHTED_VOTE]
    everywhere = learned.fit(rules.backend, weighted.everywhere)
    here = everywhere if rules.item_p is None else learned.fit(rules.votes, weighted.here)
    rule = Rule(everywhere, here, partial(_refit_learned, learned, weighted.refit))
    return replace(rules, fitted={**rules.fitted, LEARNED: rule})


def _refit_learned(learned: LearnedRule, weighted: Callable[[Votes], Fit], votes: Votes) -> Fit:
    return learned.fit(votes, weighted(votes))


def _learned_evidence(learned: LearnedRule, rules: _Rules, item_p: IntArray, truth_p: IntArray) -> Evidence:
    """The cross-validated lead of the learned rule over majority vote."""
    majority = fit_of_items(rules.backend, rules.fitted[MAJORITY].everywhere, item_p).posterior
    whole = len(item_p) == rules.backend.votes.shape[0]
    return Evidence(
        source=Source.LABELS,
        other=LEARNED,
        gain=Estimate(learned.accuracy - float(right_share(majority, truth_p).mean())),
        assumptions=(Tested(Assumption.RANDOM_LABELS, Status.PASSED if whole else Status.UNTESTED),),
        n_labels=learned.n_labels,
        n_used=learned.n_labels,
    )


def _once(make: Callable[[], T]) -> Callable[[], T]:
    """The function, called at most once."""
    made: list[T] = []

    def call() -> T:
        if not made:
            made.append(make())
        return made[0]

    return call


def _by_track_record(comparison: Comparison) -> tuple[Evidence, ...]:
    """What the weighted vote gained on public data sets like this one."""
    fits, belief = comparison.fits, comparison.belief
    if WEIGHTED_VOTE not in fits or belief is None:
        return ()
    majority, weighted = (settle_ties(fits[name], fits[MAJORITY], None) for name in (MAJORITY, WEIGHTED_VOTE))
    return track_record(comparison.setting, expected_gain(majority, weighted, belief))


def _by_certificate(comparison: Comparison) -> tuple[Evidence, ...]:
    """What the certificate says about majority vote and the best rule of all, where it says that nothing beats it."""
    certificate = comparison.certify()
    if certificate is None:
        return ()
    claim = certificate.anonymous if certificate.named is None else certificate.named
    if claim.verdict != Verdict.OPTIMAL:
        return ()
    found = [one for one in certificate.evidence() if one.other == f"best {claim.family} rule"]
    return tuple(one for one in found if one.source is Source.CERTIFICATE)


# Engines that need no labels; they are asked where labels, or rules that hardly differ, prove nothing.
EVIDENCE_ENGINES: list[Callable[[Comparison], Iterable[Evidence]]] = [_by_track_record, _by_certificate]


def _tie_breaker(rule: str, setting: Setting, rules: _Rules) -> str | None:
    """Who decides ties: the rule to use, else the weighted vote where it has a good record, else a coin."""
    if rule != MAJORITY:
        return rule
    return WEIGHTED_VOTE if WEIGHTED_VOTE in rules.fitted and setting.teaches else None


def _next_step(
    answer: Answer,
    rules: _Rules,
    setting: Setting,
    apart: Mapping[str, Difference],
    expert: Outcome | None,
    learned: LearnedRule | None,
    settings: _Settings,
) -> Next:
    """The cheapest way to be surer of the answer."""
    if answer.certainty is Certainty.PROVED:
        return Next()
    if expert is not None and expert.more:
        return Next(step=Step.GO_ON, labels=expert.more, items=expert.n_differ, waiting=expert.waiting)
    if expert is not None:
        return Next()  # the design has been answered to its end
    n_items = max((one.items for one in apart.values()), default=rules.backend.votes.shape[0])
    if any(one.source is Source.LABELS and one.n_labels >= n_items for one in answer.evidence):
        return Next()  # every item has a label
    can_teach = setting.panel and len(rules.votes.labels) > 1 and len(np.unique(rules.votes.worker_n)) > 1
    teach = Next(step=Step.TEACH, labels=min(TEACHING, n_items), items=n_items) if can_teach else Next()
    if not apart or (setting.panel and answer.other != LEARNED and settings.method is None):
        return teach
    other = answer.other if answer.other in apart else next(iter(apart))
    pair = {name: rules.compared(name) for name in (MAJORITY, other)}
    planned = planned_labels(rules.backend, pair, tolerance=settings.tolerance, level=settings.level)
    if not planned.most:  # the two differ on ties at most
        return Next() if other == LEARNED else teach
    if other == LEARNED and learned is not None:
        planned = planned._replace(labels=plan_proof(learned, planned.most, n_items, settings.tolerance))
    return Next(step=Step.PROVE, labels=min(max(planned.labels, 1), planned.most), items=apart[other].differ)


def _slices(rules: _Rules, other: str, answer: Answer, level: float) -> Records[SliceAnswer]:
    if rules.backend.votes.slice_i is None:
        return Records()
    return answer_slices(rules.backend, rules.compared(MAJORITY), rules.compared(other), answer, level=level)


def _known(labelled: Recognised | None, settings: _Settings) -> Known:
    """The labels that win over any rule."""
    if not settings.gold_labels:
        return Known(gold=False)
    expert = {} if labelled is None else expert_labels(labelled.design, labelled.answers)
    return Known(expert=expert)


def _count_ties(counts: Counts) -> int:
    return int(counts.patterns.items_p[tied(counts.patterns.counts_pk)].sum())


def _worker_fit(rules: _Rules, asked: str | None) -> Fit:
    """The fit by which workers are judged: one method, or the one that was asked for if it has a matrix for each."""
    if asked is not None:
        fit = rules.fitted[asked].everywhere
        if fit.confusion is not None and fit.confusion.ndim == 3:
            return fit
    return rules.members.get(WORKER_METHOD) or rules.backend.fit(WORKER_METHOD)


def _reviewed(chosen: _Chosen, labels: Confidence, workers: Workers, given: Backend) -> Reviewed:
    """The labels to look at first, among all items; on panels, where models mislead, by confidence."""
    rules, rule, expert = chosen.rules, chosen.rule, chosen.known.expert
    judged = not is_panel(rules.backend.votes.shape, rules.backend.votes.n_votes) and "one-coin" in rules.members
    members = [fit for name, fit in rules.members.items() if name != MAJORITY] if judged else []
    if rules.item_p is not None:
        return review_all(rules.backend, rule.everywhere, labels.calibration, members, good=workers.good_j, given=given)
    models = [np.asarray(fit.posterior) for fit in members]
    label_i = decided_labels(rule.here, rules.votes)
    if expert:
        label_i[[str(item) in expert for item in rules.votes.items]] = NO_LABEL  # an expert has looked at them
    listed = review(rules.votes, label_i, labels.confidence_i, models=models, good=workers.good_j, given=given.whole)
    return Reviewed(rules.votes, listed)


@limit_native_threads
def aggregate(
    votes: Any, method: str | Sequence[str] = AUTO, *, rng: int | np.random.Generator = 0, **reading: Unpack[Reading]
) -> Fit:
    """Turn votes into labels by a method, or by the rule of the answer.

    Parameters
    ----------
    votes : Any
        Whatever `mj.read` takes (a file, a frame, a dict, a list), with the same keyword arguments, or a backend.
    method : str
        A method's name, `weighted-vote`, the name of a worker, names joined by "+" for the majority of some, or `auto`
        for the labels that `check` writes.
    rng : int or numpy Generator
        Random seed.

    Returns
    -------
    Fit
        `fit.labels()`, `fit.to_pandas()`, `fit.posterior`.

    Examples
    --------
    >>> table = {"item": list("aaabbb"), "worker": list("uvwuvw"), "label": ["yes", "yes", "no", "no", "no", "no"]}
    >>> aggregate(table, "majority").labels()
    ['yes', 'no']
    """
    if not isinstance(method, str):
        listed = ", ".join(map(repr, method))
        raise ConfigError(f"method is one method. To see several side by side: majorant.compare(votes, [{listed}]).")
    backend, seed = as_backend(votes, **reading), as_seed(rng)
    method = rule_named(method, backend.votes.workers, beside=(AUTO, WEIGHTED_VOTE))
    if method != AUTO:
        return fit_everywhere(backend, method, seed)
    backend, copies = without_copies(backend)
    counts = Counts(backend.patterns(), backend.votes_by_worker())
    fit = _choose(backend, counts, copies, _Settings(seed=seed)).rule.everywhere
    return fit if backend.whole is None else with_known(decide_coins(fit, backend.whole), backend.whole)


def judge_workers(backend: Backend, fit: Fit, *, level: float = LEVEL, seed: int) -> tuple[Workers, Copies]:
    """How good each worker is by a fit to all votes, wherever they are, and who repeats whom."""
    sample = whole_or_sample(backend, rng=as_generator(seed))
    copies = find_copies(backend)
    return assess_workers(backend, fit, *sample, level=level, copies=copies), copies


def measure_agreement(backend: Backend, *, level: float = LEVEL, seed: int) -> Agreement:
    """How well workers agree, wherever the votes are; Cohen's kappa, of pairs of workers, perhaps on a sample."""
    votes = whole_or_sample(backend, rng=as_generator(seed)).votes
    return agreement_from(backend.patterns(), votes, resampling(seed, level=level))


def workers(
    votes: Any,
    method: str = WORKER_METHOD,
    *,
    level: float = LEVEL,
    rng: int | np.random.Generator = 0,
    **reading: Unpack[Reading],
) -> Workers:
    """How good each worker is.

    Parameters
    ----------
    votes : Any
        Whatever `mj.read` takes, with the same keyword arguments, or a backend.
    method : str
        The method by which workers are judged.
    level : float
        Confidence level of the intervals.
    rng : int or numpy Generator
        Random seed.

    Returns
    -------
    Workers
        A row per worker, the worst first; `to_pandas()` gives a frame.

    Examples
    --------
    >>> table = {"item": list("aaabbb"), "worker": list("uvwuvw"), "label": ["yes", "yes", "no", "no", "no", "no"]}
    >>> workers(table).to_dict()["worker"]
    ['w', 'u', 'v']
    """
    backend, seed = as_backend(votes, **reading), as_seed(rng)
    return judge_workers(backend, fit_everywhere(backend, method, seed), level=level, seed=seed)[0]
