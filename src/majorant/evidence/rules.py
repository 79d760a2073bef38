"""Fit rules (anything that labels every item) by name.

Majority vote means the plurality label, and none where several labels have the most votes.  Each other rule decides
these items in its own way; the majority vote that is written has them decided by another rule or by a coin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from majorant.arguments import validated
from majorant.defaults import MAJORITY, MEDIAN, ONE_STEP, WEIGHTED_VOTE
from majorant.errors import ConfigError, use
from majorant.evidence.evidence import Assumption, Evidence, Source, Status, Tested, is_better
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.evidence.identical import count_differences
from majorant.evidence.labels import ORDER_SEED, holdout_evidence, known_items, leads_of
from majorant.evidence.learn import (
    LEARNED,
    LearnedRule,
    changes_on_items,
    earned_evidence,
    gold_labels,
    learn_rule,
    prior_weights,
)
from majorant.items import name_hashes, names_at, sum_parts
from majorant.kernels import in_memory
from majorant.methods import ESTIMATORS, fit_method, method_named
from majorant.methods.fit import Fit
from majorant.methods.judge import find_judges, judge_shares
from majorant.methods.weighted_vote import (
    break_ties,
    fit_median,
    fit_models,
    fit_one_step,
    fit_weighted_vote,
    weigh_votes,
    written_rule,
)
from majorant.setting import Setting
from majorant.tally import votes_by_worker
from majorant.values import Estimate
from majorant.votes import IntArray, Votes

AUTO = "auto"  # stands for the rule that the answer recommends
LEAST_THIN = 60  # labels; with fewer, rules learned on thin crowds are no better than majority vote
FEWEST_TO_SPLIT = 80  # labels; with fewer, all of them teach


LABEL_FREE = (WEIGHTED_VOTE, ONE_STEP, MEDIAN)  # rules that are not methods, because they depend on the setting


def rule_named(rule: str, workers: Sequence[Hashable], *, beside: Sequence[str] = LABEL_FREE) -> str:
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
        raise ConfigError(
            f"{error.message} You can also name workers: {', '.join(map(str, workers[:12]))}{more}."
        ) from None


def fit_rule(rule: str, votes: Votes, setting: Setting | None = None, starts: Mapping[str, Fit] | None = None) -> Fit:
    """Fit a rule by its name; methods start from `starts`, fits to other votes of the same workers.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_rule("weighted-vote", votes).labels(), fit_rule("z", votes).labels()
    (['yes'], ['no'])
    """
    if rule in ESTIMATORS:
        return fit_method(rule, votes, (starts or {}).get(rule))
    if rule == ONE_STEP:
        return fit_one_step(votes)
    if rule not in LABEL_FREE:
        return _fit_judges(votes, rule)
    setting = Setting.of(votes) if setting is None else setting
    if rule == WEIGHTED_VOTE:
        return fit_weighted_vote(votes, setting)
    if not setting.order:
        raise ConfigError(
            f"median: these labels have no order. Say it with {use('order')}, from the lowest label to the highest."
        )
    return fit_median(votes, setting.order)


def _fit_judges(votes: Votes, rule: str) -> Fit:
    """The majority of the workers that a rule names; where none of them voted, the majority of all."""
    judges = list(find_judges(votes.workers, rule_named(rule, votes.workers)))
    votes_j = votes_by_worker(votes).sum(axis=1)
    if silent := [str(votes.workers[j]) for j in judges if not votes_j[j]]:
        raise ConfigError(
            f"{silent[0]} has no votes of its own. If it duplicates another worker, use that worker's name."
        )
    weight_j = np.zeros(len(votes_j))
    weight_j[judges] = 1.0
    posterior = in_memory(votes).rows(partial(judge_shares, weight_j))
    return replace(fit_method(MAJORITY, votes), method=rule, posterior=posterior)


def full_judges(votes: Votes) -> list[str]:
    """Workers who vote on nearly all items, those with the most votes first."""
    votes_j, voted = votes_by_worker(votes).sum(axis=1), np.count_nonzero(votes.votes_i)
    busy = [j for j in np.argsort(-votes_j, kind="stable").tolist() if votes_j[j] >= 0.9 * voted]
    return [str(votes.workers[j]) for j in busy]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rules:
    """Majority vote and the rules that it is compared with, fitted."""

    votes: Votes
    setting: Setting
    by_name: Mapping[str, Fit]  # majority vote first
    models: Mapping[str, Fit]  # of the votes, from which the weighted vote is made
    learned: LearnedRule | None = None  # how the rule `learned` was learned

    @validated
    def written(self, name: str, breaker: str | None) -> Fit:
        """The rule in the form in which it is written: majority vote with its ties broken by the rule `breaker`."""
        return self._written(name, breaker, self.votes, self.fit)

    @validated
    def fit(self, name: str) -> Fit:
        """A rule by its name."""
        return self.by_name.get(name) or self.models.get(name) or fit_rule(name, self.votes, self.setting)

    @validated
    def refit(self, name: str, breaker: str | None, votes: Votes) -> Fit:
        """The rule as it would be written for other votes of the same workers."""

        def fit(name: str) -> Fit:
            if name == LEARNED and self.learned is not None:
                return self.learned.fit(votes, fit(WEIGHTED_VOTE), fit(self.learned.baseline))
            return fit_rule(name, votes, self.setting, self.by_name)

        return self._written(name, breaker, votes, cache(fit))

    @staticmethod
    def _written(name: str, breaker: str | None, votes: Votes, fit: Callable[[str], Fit]) -> Fit:
        if name != MAJORITY or breaker is None:
            return fit(name)
        return break_ties(fit(MAJORITY), fit(breaker), votes)


def fit_rules(votes: Votes, setting: Setting, method: str | None, more: Sequence[str]) -> Rules:
    """Fit majority vote, the weighted vote, the rule `method` that the user chose, and `more` rules."""
    blind = replace(votes, gold_i=None)
    majority, models = fit_method(MAJORITY, votes), fit_models(blind, setting)
    by_name = {MAJORITY: majority, WEIGHTED_VOTE: weigh_votes(blind, setting, majority, models)}
    for name in filter(None, (method, *more)):
        if name not in by_name and name != LEARNED:
            by_name[name] = models.get(name) or fit_rule(name, votes, setting)
    return Rules(votes=votes, setting=setting, by_name=by_name, models=models)


def add_judges(rules: Rules) -> Rules:
    """Add each judge of a panel who labels nearly everything."""
    judges = [name for name in full_judges(rules.votes)[:100] if name not in rules.by_name]
    fits = {name: fit_rule(name, rules.votes, rules.setting) for name in judges}
    return replace(rules, by_name={**rules.by_name, **fits})


def add_learned(rules: Rules, learned: LearnedRule) -> Rules:
    """Add a rule that was learned from labels."""
    first, base = rules.by_name[WEIGHTED_VOTE], rules.by_name[learned.baseline]
    fit = learned.fit(rules.votes, first, base)
    return replace(rules, by_name={**rules.by_name, LEARNED: fit}, learned=learned)


def learn_from_gold(
    rules: Rules, *, holds_out: bool, tolerance: float, level: float, seed: int
) -> tuple[Rules, LearnedRule | None, tuple[Evidence, ...]]:
    """Learn a rule from the gold labels, and add it with its evidence if its labels are written.

    With many labels and `holds_out`, the rule is learned from half of them and tested on the other half.  If that does
    not prove it better, it is learned from all labels, and what it gains is an expectation.
    """
    item_p, truth_p = gold_labels(rules.votes)
    if len(item_p) < (LEAST_THIN if rules.setting.thin else LEAST_LABELS):
        return rules, None, ()
    baseline = written_rule(rules.setting) if written_rule(rules.setting) == WEIGHTED_VOTE else MAJORITY
    prior_j = prior_weights(rules.setting)

    def learn(some: NDArray[np.bool_] | slice) -> tuple[Rules, LearnedRule]:
        first, base = rules.by_name[WEIGHTED_VOTE], rules.by_name[baseline]
        rule = learn_rule(rules.votes, item_p[some], truth_p[some], first, baseline=base, prior_j=prior_j, seed=seed)
        with_rule = add_learned(rules, rule)
        average = with_rule.by_name[LEARNED]
        beside = (sum_parts(changes_on_items, rules.votes, fit, average) for fit in (rules.by_name[MAJORITY], base))
        judged = rule.judged(*beside, must_earn=prior_j is None)
        if rules.setting.thin and judged.gain is not None and not judged.gain.earned:
            judged = replace(judged, written=False)  # on thin crowds, rules that have not earned it lose
        return replace(with_rule, learned=judged), judged

    if holds_out and len(item_p) >= FEWEST_TO_SPLIT:
        half_p = half_of(rules.votes, item_p, seed)
        tried, half = learn(half_p)
        if half.written:
            present, fit = tried.by_name[MAJORITY], tried.by_name[LEARNED]
            evidence = holdout_evidence(
                rules.votes,
                (present, fit),
                LEARNED,
                (item_p, truth_p),
                half_p,
                count_differences(rules.votes, present, fit),
                alpha=(1 - level) / len(rules.by_name),  # shared by the learned rule and all others but majority
                level=level,
            )
            if is_better(evidence.gain, tolerance):
                return tried, half, (evidence,)
    with_rule, learned = learn(slice(None))
    return with_rule if learned.written else rules, learned, earned_evidence(learned)


def half_of(votes: Votes, item_p: IntArray, seed: int) -> NDArray[np.bool_]:
    """Choose half of these items to learn from, by a hash of their names."""
    hash_p = name_hashes(names_at(votes.items, np.sort(item_p)), seed)
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
    rank_g = np.argsort(np.argsort(name_hashes(names_at(votes.items, known), ORDER_SEED), kind="stable"))
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
    leads = leads_of(votes, rules.by_name[MAJORITY], fit_cross_validated(method, votes))
    evidence = _without_interval(
        method, float(leads.lead_g.sum()) / leads.labels, leads.labels, whole=leads.labels == (votes.votes_i > 0).sum()
    )
    wins, losses = leads.lead_g.clip(min=0).sum(), (-leads.lead_g).clip(min=0).sum()
    return (replace(evidence, n_used=len(leads.lead_g), wins=float(wins), losses=float(losses)),)


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
