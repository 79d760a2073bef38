"""Fit rules (anything that labels every item) by name, and settle ties.

Majority vote means the plurality label.  Ties are decided the same way under every rule, so rules are compared only on
the other items.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.evidence.evidence import Assumption, Evidence, Source, Status, Tested, is_better
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.evidence.identical import count_differences
from majorant.evidence.labels import ORDER_SEED, holdout_evidence, known_items, leads_of
from majorant.evidence.learn import LEARNED, LearnedRule, changes_on_items, earned_evidence, gold_labels, learn_rule
from majorant.evidence.track_record import Setting
from majorant.items import name_hashes, names_at, rows_of_parts, sum_parts
from majorant.kernels import in_memory
from majorant.methods import ESTIMATORS, fit_method, method_named
from majorant.methods.fit import Fit, leaders
from majorant.methods.judge import find_judges, judge_shares
from majorant.methods.weighted_vote import combination
from majorant.tally import votes_by_worker
from majorant.values import Estimate, FloatArray
from majorant.votes import IntArray, Votes

AUTO = "auto"  # stands for the rule that the answer recommends
LEAST_THIN = 60  # labels; with fewer, rules learned on thin crowds are no better than majority vote
FEWEST_TO_SPLIT = 80  # labels; with fewer, all of them teach


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
        return _fit_judges(votes, rule)
    combined = combination(votes, starts)
    return fit_method(MAJORITY, votes) if combined is None else combined.fit


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


def settle_ties(fit: Fit, majority: Fit, breaker: Fit | None, votes: Votes) -> Fit:
    """Decide majority vote's ties in a rule by another fit; with None they stay tied.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> majority = fit_rule("majority", votes)
    >>> settle_ties(majority, majority, replace(majority, posterior=np.array([[.6, .4], [.9, .1]])), votes).labels()
    ['n', 'y']
    """
    breaker = majority if breaker is None else breaker
    return replace(fit, posterior=rows_of_parts(_settled, votes, fit, majority, breaker))


def _settled(_votes: Votes, rule: Fit, majority: Fit, breaker: Fit) -> FloatArray:
    _, n_best_i = leaders(majority.posterior)
    return np.where((n_best_i > 1)[:, None], breaker.posterior, rule.posterior)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rules:
    """Majority vote and the rules that it is compared with, fitted."""

    votes: Votes
    by_name: Mapping[str, Fit]  # majority vote first; each decides ties in its own way
    members: Mapping[str, Fit]  # members of the weighted vote
    belief: Fit | None  # the mean of the models
    learned: LearnedRule | None = None  # how the rule `learned` was learned

    def settled(self, name: str, breaker: str | None) -> Fit:
        """A rule with its ties decided by the rule `breaker`; None leaves them tied."""
        return _settle(name, breaker, self.by_name.__getitem__, self.votes)

    def refit(self, name: str, breaker: str | None, votes: Votes) -> Fit:
        """The same rule, fitted to other votes of the same workers."""

        def fit(name: str) -> Fit:
            if name == LEARNED and self.learned is not None:
                return self.learned.fit(votes, fit(first_feature(self)), fit(self.learned.baseline))
            return fit_rule(name, votes, self.members)

        return _settle(name, breaker, cache(fit), votes)

    def compared(self, name: str) -> Fit:
        """A rule in the form in which it is compared with others.

        Majority vote and the weighted vote have their ties decided the same way, so both leave them tied here.  Other
        rules decide ties themselves, and are compared with a coin toss.
        """
        return self.settled(name, None) if name in (MAJORITY, WEIGHTED_VOTE) else self.by_name[name]


def _settle(name: str, breaker: str | None, fit: Callable[[str], Fit], votes: Votes) -> Fit:
    return settle_ties(fit(name), fit(MAJORITY), None if breaker is None else fit(breaker), votes)


def fit_rules(votes: Votes, method: str | None, more: Sequence[str]) -> Rules:
    """Fit majority vote, the weighted vote, the rule `method` that the user chose, and `more` rules."""
    blind = replace(votes, gold_i=None) if method is None else votes
    # Workers can be compared only with two classes and an item with three votes.
    can_weigh = len(votes.labels) > 1 and votes.votes_i.max(initial=0) > 2
    combined = combination(blind) if can_weigh or WEIGHTED_VOTE in (method, *more) else None
    if combined is None and method == WEIGHTED_VOTE:
        raise ConfigError(f"{WEIGHTED_VOTE} cannot be used on these votes: no model can be fitted to them.")
    by_name = {MAJORITY: fit_method(MAJORITY, votes)}
    if combined is not None:
        by_name[WEIGHTED_VOTE] = combined.fit
    for name in filter(None, (method, *more)):
        if name not in by_name and name != LEARNED:
            by_name[name] = fit_rule(name, votes)
    return Rules(
        votes=votes,
        by_name=by_name,
        members={} if combined is None else combined.fits,
        belief=None if combined is None else combined.belief,
    )


def add_judges(rules: Rules) -> Rules:
    """Add each judge of a panel who labels nearly everything."""
    judges = [name for name in full_judges(rules.votes)[:100] if name not in rules.by_name]
    return replace(rules, by_name={**rules.by_name, **{name: fit_rule(name, rules.votes) for name in judges}})


def add_learned(rules: Rules, learned: LearnedRule) -> Rules:
    """Add a rule that was learned from labels."""
    first, base = rules.by_name[first_feature(rules)], rules.by_name[learned.baseline]
    fit = learned.fit(rules.votes, first, base)
    return replace(rules, by_name={**rules.by_name, LEARNED: fit}, learned=learned)


def first_feature(rules: Rules) -> str:
    """The rule whose probabilities are the first feature of learned rules."""
    return WEIGHTED_VOTE if WEIGHTED_VOTE in rules.by_name else MAJORITY


def learn_from_gold(
    rules: Rules, setting: Setting, *, holds_out: bool, tolerance: float, level: float, seed: int
) -> tuple[Rules, LearnedRule | None, tuple[Evidence, ...]]:
    """Learn a rule from the gold labels, and add it with its evidence if its labels are written.

    With many labels and `holds_out`, the rule is learned from half of them and tested on the other half.  If that does
    not prove it better, it is learned from all labels, and what it gains is an expectation.
    """
    item_p, truth_p = gold_labels(rules.votes)
    is_thin = not setting.panel and not setting.teaches
    if len(item_p) < (LEAST_THIN if is_thin else LEAST_LABELS):
        return rules, None, ()
    baseline = WEIGHTED_VOTE if setting.teaches and WEIGHTED_VOTE in rules.by_name else MAJORITY

    def learn(some: NDArray[np.bool_] | slice) -> tuple[Rules, LearnedRule]:
        first, base = rules.by_name[first_feature(rules)], rules.by_name[baseline]
        rule = learn_rule(rules.votes, item_p[some], truth_p[some], first, baseline=base, seed=seed)
        with_rule = add_learned(rules, rule)
        average = with_rule.by_name[LEARNED]
        beside = (sum_parts(changes_on_items, rules.votes, fit, average) for fit in (rules.by_name[MAJORITY], base))
        judged = rule.judged(*beside)
        return replace(with_rule, learned=judged), judged

    if holds_out and len(item_p) >= FEWEST_TO_SPLIT:
        half_p = half_of(rules.votes, item_p, seed)
        tried, half = learn(half_p)
        if half.written:
            present, fit = tried.compared(MAJORITY), tried.compared(LEARNED)
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
    leads = leads_of(votes, rules.compared(MAJORITY), fit_cross_validated(method, votes))
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
