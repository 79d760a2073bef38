"""Fit rules (anything that labels every item) by name on any backend, and settle ties.

Majority vote means the plurality label.  Ties are decided the same way under every rule, so rules are compared only on
the other items.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.ask.learn import LEARNED, LEAST_LABELS, LearnedRule, gold_labels, learn_rule
from majorant.backend import Backend, MemoryBackend, as_backend, fit_of_items
from majorant.decide import is_better
from majorant.defaults import COMBINED, MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.evidence.certificate.claims import ClaimInputs, whole_or_sample
from majorant.evidence.evidence import Assumption, Evidence, Source, Status, Tested
from majorant.evidence.identical import count_differences
from majorant.evidence.labels import ORDER_SEED, holdout_evidence, known_items, leads_of, right_share
from majorant.evidence.track_record import Setting
from majorant.items import name_hashes
from majorant.kernels import Block, rows_in
from majorant.methods import ESTIMATORS, fit_method, method_named, unsuited
from majorant.methods.fit import Fit, leaders
from majorant.methods.judge import find_judges, judge_shares
from majorant.methods.weighted_vote import combination, combine, combined_counts, mean_row, members_for
from majorant.values import Estimate, FloatArray, as_generator
from majorant.votes import IntArray, Votes

AUTO = "auto"  # stands for the rule that the answer recommends


class Rule(NamedTuple):
    """A rule fitted to all votes and to those in memory, and a function that fits it to other votes."""

    everywhere: Fit
    here: Fit
    refit: Callable[[Votes], Fit]

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.everywhere.method


def rule_named(rule: str, workers: Sequence[Hashable], *, beside: Sequence[str] = (WEIGHTED_VOTE,)) -> str:
    """Standard name of a rule, which is a method, a worker or several workers.

    A method takes precedence over a worker of the same name, and a worker over an alternative spelling of a method.

    >>> rule_named("DawidSkene", ["gpt", "gemini"]), rule_named("gpt+gemini", ["gpt", "gemini"])
    ('dawid-skene', 'gpt+gemini')
    """
    if rule in beside or rule in ESTIMATORS or find_judges(workers, rule):
        return rule
    try:
        return method_named(rule, extra=beside)
    except ConfigError as error:
        more = ", ..." if len(workers) > 12 else ""
        raise ConfigError(f"{error} You can also name workers: {', '.join(map(str, workers[:12]))}{more}.") from None


def fit_rule(rule: str, votes: Votes, starts: Mapping[str, Fit] | None = None) -> Fit:
    """Fit a rule by its name; models start from `starts`, fits to other votes of the same workers.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_rule("weighted-vote", votes).labels(), fit_rule("z", votes).labels()
    (['yes'], ['no'])
    """
    if rule in ESTIMATORS:
        return fit_method(rule, votes, (starts or {}).get(rule))
    if rule != WEIGHTED_VOTE:
        return _fit_judges(as_backend(votes), rule)
    combined = combination(votes, starts)
    return fit_method(MAJORITY, votes) if combined is None else combined.fit


def _fit_judges(backend: Backend, rule: str) -> Fit:
    """The majority of the workers that a rule names; where none of them voted, the majority of all."""
    judges = list(find_judges(backend.votes.workers, rule_named(rule, backend.votes.workers)))
    votes_j = backend.votes_by_worker().sum(axis=1)
    if silent := [str(backend.votes.workers[j]) for j in judges if not votes_j[j]]:
        raise ConfigError(
            f"{silent[0]} has no votes of its own. If it duplicates another worker, use that worker's name."
        )
    weight_j = np.zeros(len(votes_j))
    weight_j[judges] = 1.0
    posterior = backend.rows(partial(judge_shares, weight_j))
    return replace(backend.fit(MAJORITY), method=rule, posterior=posterior)


def full_judges(backend: Backend) -> list[str]:
    """Workers who vote on nearly all items, those with the most votes first."""
    votes_j, patterns = backend.votes_by_worker().sum(axis=1), backend.patterns()
    voted = int(patterns.items_p[patterns.votes_p > 0].sum())
    busy = [j for j in np.argsort(-votes_j, kind="stable").tolist() if votes_j[j] >= 0.9 * voted]
    return [str(backend.votes.workers[j]) for j in busy]


def rule_fit(backend: Backend, rule: str, seed: int) -> Fit:
    """Fit a rule by its name to all votes on any backend."""
    return fit_everywhere(backend, rule, seed) if backend.whole is None else fit_rule(rule, backend.whole)


def fit_everywhere(backend: Backend, rule: str, seed: int) -> Fit:
    """Fit a rule by its name to votes that are not in memory; `seed` draws the sample that the weighted vote needs."""
    rule = rule_named(rule, backend.votes.workers)
    if rule not in ESTIMATORS and rule != WEIGHTED_VOTE:
        return _fit_judges(backend, rule)
    backend.refuse(rule)
    if rule != WEIGHTED_VOTE:
        return backend.fit(rule)
    sample = whole_or_sample(backend, rng=as_generator(seed))
    return fit_weighted_vote(backend, sample.votes)[0]


def fit_weighted_vote(backend: Backend, sample: Votes) -> tuple[Fit, Mapping[str, Fit]]:
    """Fit the weighted vote and its members to votes that are not in memory; a sample shows which models suit them."""
    members = members_for(sample)
    if not members:
        raise ConfigError(f"{WEIGHTED_VOTE} cannot be used on these votes: {unsuited(COMBINED[0], sample)}.")
    fits = {method: backend.fit(method) for method in members}
    no_rows = np.empty((0, len(backend.votes.labels)))
    mean = combine({method: replace(fit, posterior=no_rows) for method, fit in fits.items()})
    rows = {method: fit.posterior for method, fit in fits.items()}
    model = combined_counts(members, backend.patterns)
    return replace(mean, posterior=backend.rows(partial(mean_row, rows, model))), fits


def settle_ties(fit: Fit, majority: Fit, breaker: Fit | None) -> Fit:
    """Decide majority vote's ties in a rule by another fit; with None they stay tied.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> majority = fit_rule("majority", votes)
    >>> settle_ties(majority, majority, replace(majority, posterior=np.array([[.6, .4], [.9, .1]]))).labels()
    ['n', 'y']
    """
    posterior_ik = _settled(fit.posterior, majority.posterior, (majority if breaker is None else breaker).posterior)
    return replace(fit, posterior=posterior_ik)


def settle_everywhere(backend: Backend, fit: Fit, majority: Fit, breaker: Fit | None) -> Fit:
    """Settle ties in fits on any backend; see `settle_ties`."""
    if backend.whole is not None:
        return settle_ties(fit, majority, breaker)
    posteriors = (fit.posterior, majority.posterior, (majority if breaker is None else breaker).posterior)
    return replace(fit, posterior=backend.rows(partial(_settled_block, posteriors)))


def _settled_block(posteriors: tuple[FloatArray, FloatArray, FloatArray], block: Block) -> FloatArray:
    return _settled(*(rows_in(posterior, block) for posterior in posteriors))


def _settled(rule_ik: FloatArray, majority_ik: FloatArray, breaker_ik: FloatArray) -> FloatArray:
    _, n_best_i = leaders(majority_ik)
    return np.where((n_best_i > 1)[:, None], breaker_ik, rule_ik)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rules:
    """Majority vote and the rules that it is compared with, fitted."""

    votes: Votes  # the votes in memory
    item_p: IntArray | None  # codes of their items; None if these are all votes
    backend: Backend  # all votes
    by_name: Mapping[str, Rule]  # majority vote first; each decides ties in its own way
    members: Mapping[str, Fit]  # members of the weighted vote, fitted to all votes
    belief: FloatArray | None  # (items, classes): the models' posterior for the votes in memory

    def settled(self, name: str, breaker: str | None) -> Rule:
        """A rule with its ties decided by the rule `breaker`; None leaves them tied."""
        rule, majority = self.by_name[name], self.by_name[MAJORITY]
        judge = majority if breaker is None else self.by_name[breaker]

        def refit(votes: Votes) -> Fit:
            fit, plain = rule.refit(votes), majority.refit(votes)
            return settle_ties(fit, plain, fit if judge is rule else plain if judge is majority else judge.refit(votes))

        return Rule(
            everywhere=settle_everywhere(self.backend, rule.everywhere, majority.everywhere, judge.everywhere),
            here=settle_ties(rule.here, majority.here, judge.here),
            refit=refit,
        )

    def compared(self, name: str) -> Fit:
        """A rule on all items in the form in which it is compared with others.

        Majority vote and the weighted vote have their ties decided the same way, so both leave them tied here.  Other
        rules decide ties themselves, and are compared with a coin toss.
        """
        rule, majority = self.by_name[name].everywhere, self.by_name[MAJORITY].everywhere
        return rule if name not in (MAJORITY, WEIGHTED_VOTE) else settle_everywhere(self.backend, rule, majority, None)

    def compared_here(self, name: str) -> Fit:
        """The rule on the votes in memory, in the form in which it is compared."""
        rule, majority = self.by_name[name].here, self.by_name[MAJORITY].here
        return rule if name not in (MAJORITY, WEIGHTED_VOTE) else settle_ties(rule, majority, None)


def fit_rules(backend: Backend, inputs: ClaimInputs, method: str | None, more: Sequence[str], *, seed: int) -> Rules:
    """Fit majority vote, the weighted vote, the rule `method` that the user chose, and `more` rules."""
    votes, item_p = (inputs.sample, inputs.item_p) if backend.whole is None else (backend.whole, None)
    blind = replace(votes, gold_i=None) if method is None else votes
    # Workers can be compared only with two classes and an item with three votes.
    can_weigh = len(votes.labels) > 1 and votes.votes_i.max(initial=0) > 2
    combined = combination(blind) if can_weigh or WEIGHTED_VOTE in (method, *more) else None
    if combined is None and method == WEIGHTED_VOTE:
        raise ConfigError(f"{WEIGHTED_VOTE} cannot be used on these votes: no model can be fitted to them.")
    here = {MAJORITY: fit_method(MAJORITY, votes)}
    if combined is not None:
        here[WEIGHTED_VOTE] = combined.fit
    for name in filter(None, (method, *more)):
        if name not in here and name != LEARNED:
            here[name] = fit_rule(name, votes)
    members: Mapping[str, Fit] = {} if combined is None else combined.fits
    if item_p is None:  # by now all votes are in memory, whatever the backend was
        backend, everywhere = MemoryBackend(votes), here
    else:
        everywhere = {name: fit_everywhere(backend, name, seed) for name in here if name != WEIGHTED_VOTE}
        if combined is not None:
            everywhere[WEIGHTED_VOTE], members = fit_weighted_vote(backend, votes)
    return Rules(
        votes=votes,
        item_p=item_p,
        backend=backend,
        by_name={
            name: Rule(everywhere[name], fit, partial(fit_rule, name, starts=members)) for name, fit in here.items()
        },
        members=members,
        belief=None if combined is None else combined.belief.posterior,
    )


def add_judges(rules: Rules, seed: int) -> Rules:
    """Add each judge of a panel who labels nearly everything."""
    by_name = dict(rules.by_name)
    for name in full_judges(rules.backend)[:100]:
        if name not in by_name:
            refit = partial(fit_rule, name)
            here = refit(rules.votes)
            everywhere = here if rules.item_p is None else fit_everywhere(rules.backend, name, seed)
            by_name[name] = Rule(everywhere, here, refit)
    return replace(rules, by_name=by_name)


def add_learned(rules: Rules, learned: LearnedRule) -> Rules:
    """Add a rule that was learned from labels."""
    weighted = rules.by_name[WEIGHTED_VOTE]
    everywhere = learned.fit(rules.backend, weighted.everywhere)
    here = everywhere if rules.item_p is None else learned.fit(rules.votes, weighted.here)
    rule = Rule(everywhere, here, lambda votes: learned.fit(votes, weighted.refit(votes)))
    return replace(rules, by_name={**rules.by_name, LEARNED: rule})


def learn_from_gold(
    rules: Rules, setting: Setting, *, holds_out: bool, tolerance: float, level: float, seed: int
) -> tuple[Rules, LearnedRule | None, tuple[Evidence, ...]]:
    """Learn a rule from the gold labels, and add it with its evidence if it beats the rule used without them.

    With many labels and `holds_out`, the rule is learned from half of them and tested on the other half.  If that does
    not prove it better, it is learned from all labels and assessed by cross-validation.
    """
    item_p, truth_p = gold_labels(rules.backend)
    if WEIGHTED_VOTE not in rules.by_name or len(item_p) < LEAST_LABELS:
        return rules, None, ()
    weighted = rules.by_name[WEIGHTED_VOTE].everywhere
    baseline = weighted if setting.teaches else rules.by_name[MAJORITY].everywhere
    learn = partial(learn_rule, rules.backend, weighted=weighted, baseline=baseline, seed=seed)
    if holds_out and len(item_p) >= 4 * LEAST_LABELS:
        half_p = half_of(rules.backend, item_p, seed)
        half = learn(item_p[half_p], truth_p[half_p])
        if half.adopted:
            tried = add_learned(rules, half)
            present, fit = tried.compared(MAJORITY), tried.compared(LEARNED)
            evidence = holdout_evidence(
                rules.backend,
                (present, fit),
                LEARNED,
                (item_p, truth_p),
                half_p,
                count_differences(rules.backend, present, fit),
                alpha=(1 - level) / len(rules.by_name),  # shared by the learned rule and all others but majority
                level=level,
            )
            if is_better(evidence.gain, tolerance):
                return tried, half, (evidence,)
    learned = learn(item_p, truth_p)
    if not learned.adopted:
        return rules, learned, ()
    return add_learned(rules, learned), learned, (_cross_validated(learned, rules, item_p, truth_p),)


def half_of(backend: Backend, item_p: IntArray, seed: int) -> NDArray[np.bool_]:
    """Choose half of these items to learn from, by a hash of their names."""
    hash_p = name_hashes(backend.take(np.sort(item_p)).items, seed)
    half_p = np.zeros(len(item_p), dtype=bool)
    half_p[np.argsort(item_p)[np.argsort(hash_p, kind="stable")[: len(item_p) // 2]]] = True
    return half_p


def learns_from_gold(rule: str) -> bool:
    """Whether a rule is a method that is fitted to gold labels."""
    return rule in ESTIMATORS and ESTIMATORS[rule].traits.needs == "gold"


def fit_cross_validated(method: str, votes: Votes) -> Fit:
    """Fit a method that learns from gold labels; gold items get their posterior from ten-fold cross-validation."""
    fit, known = fit_method(method, votes), known_items(votes)
    posterior_ik = fit.posterior.copy()
    if len(known) == 1:  # no other item to learn from
        posterior_ik[known] = 1 / len(votes.labels)
        return replace(fit, posterior=posterior_ik)
    rank_g = np.argsort(np.argsort(name_hashes([votes.items[i] for i in known], ORDER_SEED), kind="stable"))
    for fold in range(min(10, len(known))):
        held_out = known[rank_g % 10 == fold]
        gold_i = np.asarray(votes.gold_i).copy()
        gold_i[held_out] = -1
        posterior_ik[held_out] = fit_method(method, replace(votes, gold_i=gold_i)).posterior[held_out]
    return replace(fit, posterior=posterior_ik)


def cross_validated_evidence(rules: Rules, method: str) -> tuple[Evidence, ...]:
    """Lead of a method that learns from gold labels over majority vote; empty with fewer than ten labels."""
    votes = rules.votes
    if votes.n_gold < 10:
        return ()
    leads = leads_of(votes, rules.compared_here(MAJORITY), fit_cross_validated(method, votes))
    evidence = _without_interval(
        method, float(leads.lead_g.sum()) / leads.labels, leads.labels, whole=leads.labels == (votes.votes_i > 0).sum()
    )
    wins, losses = leads.lead_g.clip(min=0).sum(), (-leads.lead_g).clip(min=0).sum()
    return (replace(evidence, n_used=len(leads.lead_g), wins=float(wins), losses=float(losses)),)


def _cross_validated(learned: LearnedRule, rules: Rules, item_p: IntArray, truth_p: IntArray) -> Evidence:
    """Cross-validated lead of the learned rule over majority vote."""
    majority = fit_of_items(rules.backend, rules.by_name[MAJORITY].everywhere, item_p).posterior
    lead = learned.accuracy - float(right_share(majority, truth_p).mean())
    return _without_interval(LEARNED, lead, learned.n_labels, whole=len(item_p) == rules.backend.votes.shape[0])


def _without_interval(rule: str, lead: float, n_labels: int, *, whole: bool) -> Evidence:
    """A lead without an interval, because the rule was learned from the same labels."""
    status = Status.PASSED if whole else Status.UNTESTED
    return Evidence(
        source=Source.LABELS,
        other=rule,
        gain=Estimate(lead),
        assumptions=(Tested(Assumption.RANDOM_LABELS, status),),
        n_labels=n_labels,
        n_used=n_labels,
    )
