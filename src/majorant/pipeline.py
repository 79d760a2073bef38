"""The flow: votes -> rules -> evidence -> answer. Labels, workers, review and the rest are computed by `Result`.

`_answer` is the whole flow, step by step.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Unpack, cast

import numpy as np

from majorant.ask.design import Recognised, recognise
from majorant.ask.draw import WHOLE_ORDER, votes_digest
from majorant.ask.evidence import evidence_from_labels, rival_of, sample_level
from majorant.ask.expert import votes_of_design
from majorant.ask.freeze import freeze, refuse_other_labels
from majorant.ask.question import RULES, TEACH, Outcome
from majorant.ask.session import TEACHING, plan_proof
from majorant.ask.teach import FIRST_DRAW
from majorant.decide import Answer, Next, Step, decide
from majorant.defaults import LEVEL, MAJORITY, TARGET, TOLERANCE, WEIGHTED_VOTE, WORKER_METHOD
from majorant.errors import ConfigError, DataNote
from majorant.evidence.certificate.claims import (
    Counts,
    certification_of,
    claim_inputs,
    could_support,
    examine,
)
from majorant.evidence.comparison import Comparison
from majorant.evidence.copies import Copies, find_copies
from majorant.evidence.engines import ENGINES
from majorant.evidence.evidence import Assumption, Certainty, Evidence, Source, Status, Tested
from majorant.evidence.gold_sample import GoldSample, count_kinds
from majorant.evidence.identical import Difference, count_differences, identical_evidence
from majorant.evidence.labels import gold_evidence
from majorant.evidence.learn import LEARNED, LearnedRule
from majorant.evidence.rules import (
    AUTO,
    LABEL_FREE,
    Rules,
    add_judges,
    add_learned,
    cross_validated_evidence,
    fit_rule,
    fit_rules,
    learn_from_gold,
    learns_from_gold,
    rule_named,
)
from majorant.items import sample_items, sum_parts
from majorant.limits import limit_native_threads, refuse_size, refuse_slices
from majorant.methods import ESTIMATORS, Fit, fit_anyway, runs_in_blocks
from majorant.methods.collapse import find_collapse
from majorant.methods.weighted_vote import tie_rule, written_rule
from majorant.read import Reading, as_votes, read_for_fit
from majorant.read.options import with_gold_file
from majorant.results.agreement import Agreement
from majorant.results.agreement.measure import Resampling, agreement_from
from majorant.results.labels import decide_coins, with_known
from majorant.results.result import Result, Settings, StageCallback, ignore_stage
from majorant.results.workers import Workers, assess_workers
from majorant.setting import Case, Setting
from majorant.tally import find_patterns, votes_by_worker
from majorant.values import as_generator, as_level, as_seed
from majorant.votes import Note, NoteKind, Votes


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
        Anything `mj.read` accepts (a file, a frame, a dict, a list), with the same keyword arguments.
    level : float
        Confidence level of every interval and proof.
    rng : int or numpy Generator
        Random seed.
    method : str, optional
        The rule to compare with majority vote and to label with: a method, the name of a worker, or names joined by
        "+" for the majority vote of those workers; by default the weighted vote.
    tolerance : float
        A difference in accuracy too small to matter.
    target : float
        The accuracy to plan for.
    compare : bool
        Also run every method, for `result.comparison`.
    labelled : Recognised, optional
        An expert's labels with the design that drew them.  A `gold_file` next to its design is recognised
        automatically.
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
    'switch'
    """
    coins = ("coin", "random")
    reading = cast("Reading", with_gold_file(reading))
    labelled = labelled or recognise(reading.get("gold_file"))
    if labelled is not None and not labelled.sample:
        reading.pop("gold_file", None)
    votes = as_votes(votes, **reading)
    if labelled is not None:
        votes = votes_of_design(labelled.design, votes)
    settings = Settings(
        seed=as_seed(rng),
        level=as_level(level),
        method=None if method is None else rule_named(method, votes.workers),
        tolerance=tolerance,
        target=target,
        compares=compare,
        labelled=labelled,
        ties=None if ties in (None, *coins) else rule_named(ties, votes.workers),
        by_coin=ties in coins,
        gold_labels=gold_labels,
        stage=stage or ignore_stage,
    )
    return _answer(votes, settings)


def _refuse(votes: Votes, settings: Settings) -> None:
    """Reject impossible requests early: too many votes, unknown methods, labels of other votes."""
    refuse_size(*votes.shape, votes.n_votes)
    refuse_slices(len(votes.slices))
    if settings.labelled is not None:
        settings.labelled.design.refuse_other_votes(votes_digest(votes))


def _answer(votes: Votes, settings: Settings) -> Result:
    """Fit the rules, gather the evidence, decide, and settle the ties."""
    level, seed, labelled = settings.level, settings.seed, settings.labelled

    # 1. The votes. Workers who copy each other are named, but all their votes count.
    _refuse(votes, settings)
    settings.stage("counting")
    setting = Setting.of(votes)
    counts, copies = Counts(find_patterns(votes), votes_by_worker(votes)), find_copies(votes, setting.panel)

    # 2. The rules: majority vote, the weighted vote, a rule that the user named, and rules that labels add.
    settings.stage("comparing")
    inputs = claim_inputs(votes, rng=seed, counts=counts)
    # `expert` is what labels of a design of `ask` show, `proof` the same as evidence.
    expert = None if labelled is None else labelled.outcome
    proof = () if labelled is None or expert is None else evidence_from_labels(labelled, expert)
    rules = _fit_rules(votes, setting, settings, expert)
    gold_sample = _examine_gold(rules, settings)
    decides = gold_sample is None or gold_sample.decides
    rules, learned, taught = _learn(rules, settings, expert, proof) if decides else (rules, None, ())

    # 3. Evidence from labels, and from how rarely the rules differ.
    named = settings.method if settings.method != MAJORITY else None
    names = [name for name in rules.by_name if name not in (MAJORITY, settings.ties) and named in (None, name)]
    if WEIGHTED_VOTE in names and named is None and not rules.models and setting.case is not Case.KNOWN_JUDGES:
        names.remove(WEIGHTED_VOTE)  # it is majority vote itself
    majority = rules.by_name[MAJORITY]
    differ = {name: count_differences(votes, majority, rules.by_name[name]) for name in names}
    no_copies = (copies.tested,) if setting.panel else ()
    evidence = [
        *proof,
        *(_gold_evidence(rules, differ, settings) if decides else ()),
        *(() if proof else taught),
        *(identical_evidence(name, differ[name]) for name in names if name != LEARNED),
    ]
    usual = written_rule(setting)
    answer = decide(evidence, tolerance=settings.tolerance, usual=usual)

    # 4. Evidence from models of the votes, if there is no proof yet. It takes a while, so it is computed when needed.
    examined = cache(partial(examine, inputs, level=level, rng=seed, known=no_copies))
    certify = cache(lambda: certification_of(examined()))
    is_worth_it = partial(could_support, votes, counts.patterns, panel=setting.panel)
    if answer.certainty not in (Certainty.PROVED, Certainty.SAME):
        settings.stage("testing")
        comparison = Comparison(
            votes=votes,
            fits={name: rules.by_name[name] for name in (MAJORITY, *names)},
            setting=setting,
            copies=copies,
            certify=lambda: certify().certificate if is_worth_it() and not examined().is_open else None,
            level=level,
        )
        evidence += [one for engine in ENGINES for one in engine(comparison)]
        answer = decide(evidence, tolerance=settings.tolerance, usual=usual)
    answer = replace(answer, next=_next_step(answer, rules, setting, differ, expert, learned, settings))

    # 5. The labels, with the ties of majority vote broken.
    written = settings.method or answer.rule
    other = answer.other if answer.other in rules.by_name else next(iter(names), MAJORITY)
    breaker = None if settings.by_coin or written != MAJORITY else settings.ties or tie_rule(setting)
    return Result(
        settings=settings,
        votes=votes,
        counts=counts,
        setting=setting,
        found_copies=copies,
        answer=answer,
        differ=differ.get(other, Difference(len(votes.items), 0)),
        learned=learned,
        gold_sample=gold_sample,
        expert=expert,
        tie_breaker=breaker,
        fitted=rules,
        majority=majority,
        other=rules.by_name[other],
        written=rules.written(written, breaker),
        weighted=rules.by_name[WEIGHTED_VOTE],
        certify=certify,
    )


def _fit_rules(votes: Votes, setting: Setting, settings: Settings, expert: Outcome | None) -> Rules:
    """Fit majority vote, the rule that is written without labels, and those that the user or a design names."""
    more = (written_rule(setting), settings.ties, None if expert is None else rival_of(expert))
    rules = fit_rules(votes, setting, settings.method, [name for name in more if name])
    if settings.labelled is not None and len(votes.items) <= WHOLE_ORDER:  # beyond that, there are too many names
        refuse_other_labels(votes, settings.labelled.design, rules.by_name)
    return rules


def _learn(
    rules: Rules, settings: Settings, expert: Outcome | None, proof: Sequence[Evidence]
) -> tuple[Rules, LearnedRule | None, tuple[Evidence, ...]]:
    """Add the rules that labels make possible: judges of a panel, and a rule learned from labels, with its evidence.

    A rule that a labelling session has frozen is not learned again, because the labels prove that very rule.
    """
    if settings.method is not None:
        return rules, None, ()
    if rules.setting.panel and rules.votes.gold_i is not None:
        rules = add_judges(rules)
    if expert is not None and expert.learned is not None:
        used = expert.learned.written or any(one.other == LEARNED for one in proof)
        return add_learned(rules, expert.learned) if used else rules, expert.learned, ()
    how = {"tolerance": settings.tolerance, "level": settings.level}
    return learn_from_gold(rules, holds_out=expert is None, **how, seed=settings.seed)


def _examine_gold(rules: Rules, settings: Settings) -> GoldSample | None:
    """Whether the gold labels can be a random sample; None without gold, and for items that `ask` drew at random."""
    if rules.votes.n_gold == 0 or settings.labelled is not None:
        return None
    majority, other = (rules.by_name[name] for name in (MAJORITY, WEIGHTED_VOTE))
    sample = sum_parts(count_kinds, rules.votes, majority, other).sample
    return sample if sample.n_labels else None


def _gold_evidence(rules: Rules, differ: Mapping[str, Difference], settings: Settings) -> tuple[Evidence, ...]:
    """What gold labels say about the rules, except for the one that `_learn` taught and evaluated."""
    taught = [name for name in differ if learns_from_gold(name)]  # evaluated by cross-validation
    unlearned = {name: (rules.by_name[name], count) for name, count in differ.items() if name not in (LEARNED, *taught)}
    n_rules = len(unlearned) + (settings.method is None)  # a rule learned from half of the labels shares their error
    level = sample_level(settings.labelled, settings.level)
    evidence = gold_evidence(rules.votes, rules.by_name[MAJORITY], unlearned, level=level, n_rules=n_rules)
    evidence += tuple(one for name in taught for one in cross_validated_evidence(rules, name))
    if settings.labelled is None or not settings.labelled.sample:
        return evidence
    drawn_at_random = (Tested(Assumption.RANDOM_LABELS, Status.PASSED),)
    return tuple(replace(one, assumptions=drawn_at_random) for one in evidence)


def _next_step(
    answer: Answer,
    rules: Rules,
    setting: Setting,
    differ: Mapping[str, Difference],
    expert: Outcome | None,
    learned: LearnedRule | None,
    settings: Settings,
) -> Next:
    """The cheapest next step towards more certainty."""
    if answer.certainty is Certainty.PROVED:
        return Next()
    if expert is not None and expert.more:
        return Next(step=Step.GO_ON, labels=expert.more, items=expert.n_differ, waiting=expert.waiting)
    if expert is not None:
        return Next()  # the design has been answered to its end
    n_items = max((one.items for one in differ.values()), default=int((rules.votes.votes_i > 0).sum()))
    if any(one.source is Source.LABELS and one.n_labels >= n_items for one in answer.evidence):
        return Next()  # every item has a label
    more_may_teach = answer.n_labels < 2 * TEACHING
    can_teach = (
        (setting.panel or not differ)
        and more_may_teach
        and np.count_nonzero(votes_by_worker(rules.votes).sum(axis=0)) > 1
        and np.count_nonzero(votes_by_worker(rules.votes).sum(axis=1)) > 1
    )
    # On a panel labels that teach tell more than a comparison of two rules, which may share their mistakes.
    n_first, n_all = min(FIRST_DRAW, n_items), min(TEACHING, n_items)
    teach = Next(step=Step.TEACH, labels=n_first, items=n_items, most=n_all, question=TEACH) if can_teach else Next()
    if not differ or (setting.panel and answer.other != LEARNED and settings.method is None):
        return teach
    if answer.certainty is Certainty.SAME:
        return Next()
    other = answer.other if answer.other in differ else next(iter(differ))
    pair = {name: rules.by_name[name] for name in (MAJORITY, other)}
    _, race = freeze(rules.votes, pair, tolerance=settings.tolerance, level=settings.level)
    if not race.size:  # the two differ only on ties, if at all
        return Next() if other == LEARNED else teach
    labels = race.expected()
    if other == LEARNED and learned is not None:
        labels = plan_proof(learned, race.size, n_items, settings.tolerance)
    return Next(
        step=Step.PROVE,
        labels=min(max(labels, 1), race.size),
        items=race.size,
        most=race.size,
        question=TEACH if other == LEARNED else RULES,
        between=() if other == LEARNED else (MAJORITY, other),
    )


@limit_native_threads
def aggregate(
    votes: Any, method: str | Sequence[str] = AUTO, *, rng: int | np.random.Generator = 0, **reading: Unpack[Reading]
) -> Fit:
    """Turn votes into labels by a method, or by the rule of the answer.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts (a file, a frame, a dict, a list), with the same keyword arguments.
    method : str
        A method's name, `weighted-vote`, the name of a worker, names joined by "+" for the majority vote
        of those workers, or `auto` for the labels that `check` writes.
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
    votes, engine = read_for_fit(votes, in_blocks=runs_in_blocks(method), **reading)
    seed, method = as_seed(rng), rule_named(method, votes.workers, beside=(AUTO, *LABEL_FREE))
    if engine is not None:
        return ESTIMATORS[method]().fit(votes, engine=engine)
    if method != AUTO:
        fit = fit_anyway(method, votes) if method in ESTIMATORS else fit_rule(method, votes)
        if note := collapse_note(votes, fit):
            warnings.warn(DataNote(note), stacklevel=2)
        return fit
    result = _answer(votes, Settings(seed=seed))
    return with_known(decide_coins(result.written, votes), votes)


def collapse_note(votes: Votes, fit: Fit) -> Note | None:
    """A note if a fit has collapsed into one class."""
    found = find_collapse(votes, fit)
    return None if found is None else Note(NoteKind.COLLAPSED, {"method": fit.method, **found._asdict()})


def judge_workers(votes: Votes, fit: Fit, *, level: float = LEVEL) -> tuple[Workers, Copies]:
    """How good each worker is by a fit, and who repeats whom."""
    copies = find_copies(votes)
    return assess_workers(votes, fit, level=level, copies=copies), copies


def measure_agreement(votes: Votes, *, level: float = LEVEL, seed: int) -> Agreement:
    """How well workers agree; Cohen's kappa, of pairs of workers, perhaps on a sample."""
    some = sample_items(votes, seed=seed).votes
    return agreement_from(find_patterns(votes), some, Resampling(as_generator(seed), level))


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
        Anything `mj.read` accepts, with the same keyword arguments.
    method : str
        The method used to assess workers.
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
    votes = as_votes(votes, **reading)
    as_seed(rng)
    return judge_workers(votes, aggregate(votes, method), level=level)[0]
