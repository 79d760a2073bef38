"""The questions that `ask` can put to an expert, in the table QUESTIONS at the end.

Each has a class that evaluates the labels, in its own file, and a function here that draws its items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from majorant.ask.accuracy import WrittenLabels
from majorant.ask.design import Design
from majorant.ask.draw import make_design, random_order
from majorant.ask.freeze import DECIMALS, freeze
from majorant.ask.question import Codes, Question, Wanted
from majorant.ask.race import Race
from majorant.ask.session import TEACHING, Session
from majorant.ask.teach import FIRST_DRAW
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError, DataError, use
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.evidence.learn import gold_labels, learn_rule, prior_weights
from majorant.evidence.rules import AUTO, LABEL_FREE, fit_rule, rule_named
from majorant.items import names_at, take_items
from majorant.methods.fit import Fit, chances, toss_coins
from majorant.methods.weighted_vote import break_ties, tie_rule, written_rule
from majorant.setting import Setting
from majorant.values import FloatArray
from majorant.votes import Votes

FIRST_BATCH = 25  # labels; with fewer, the leading rule is often just lucky (docs/ask.md)
MOST_RULES = 20


def draw_race(votes: Votes, wanted: Wanted) -> Design:
    """Items on which the rules differ, in random order."""
    if not 2 <= len(wanted.rules) <= MOST_RULES:
        raise ConfigError(f"{use('between')} takes two to {MOST_RULES} rules, not {len(wanted.rules)}.")
    fits = {rule: fit_rule(rule, votes) for rule in wanted.rules}
    return race_between(votes, fits, wanted).more(FIRST_BATCH if wanted.n is None else wanted.n)


def race_between(votes: Votes, fits: Mapping[str, Fit], wanted: Wanted) -> Design:
    """A design that shows which of these rules is best; they must be fixed before any expert label is seen."""
    favourite = WEIGHTED_VOTE if WEIGHTED_VOTE in fits else None
    item_d, race = freeze(votes, fits, tolerance=wanted.tolerance, level=wanted.level, favourite=favourite)
    order = random_order(votes, item_d, wanted.seed)
    return make_design(votes, replace(race, label_rd=race.label_rd[:, order]), item_d[order], wanted)


def draw_teaching(votes: Votes, wanted: Wanted) -> Design:
    """Items from which a rule is learned, then items on which it is proved.

    If the votes have enough gold labels to learn a better rule, these replace the first, and the rule is proved on the
    other items.
    """
    setting = Setting.of(votes)
    weighted = fit_rule(WEIGHTED_VOTE, votes, setting)
    baseline = WEIGHTED_VOTE if written_rule(setting) == WEIGHTED_VOTE else MAJORITY
    voted = np.flatnonzero(votes.votes_i > 0)
    if not len(voted):
        raise DataError("No item has a vote.")
    gold_p, truth_p = gold_labels(votes)
    by_gold = len(gold_p) >= LEAST_LABELS
    if by_gold:
        voted = voted[~np.isin(voted, gold_p)]
        if not len(voted):
            raise DataError("Every item has a gold label: there is nothing left to label.")
    order = voted[random_order(votes, voted, wanted.seed)]
    prior_j = prior_weights(setting)
    session = _session(votes, order, weighted, baseline, len(voted), wanted, prior_j)
    if by_gold:
        before = weighted if baseline == WEIGHTED_VOTE else fit_rule(MAJORITY, votes)
        how: dict[str, Any] = {"baseline": before, "prior_j": prior_j, "seed": wanted.seed}
        learned = session.judge(learn_rule(votes, gold_p, truth_p, weighted, **how))
        proving = replace(session, taught=session.freeze(learned))
        session = session if proving.is_idle else proving  # idle: nothing to prove, so draw items to learn from
    first = FIRST_DRAW if session.is_drawing else TEACHING
    return make_design(votes, session, order, wanted).more(first if wanted.n is None else wanted.n)


def _session(
    votes: Votes,
    order: Codes,
    weighted: Fit,
    baseline: str,
    n_items: int,
    wanted: Wanted,
    prior_j: FloatArray | None = None,
) -> Session:
    """A session on items in this order; their votes are sorted by name, so that the order of rows does not matter."""
    some = take_items(votes, order)
    # Drawn at once, by the vote shares alone, labels teach no more than random ones, which also measure (docs/ask.md).
    draw = wanted.draw or ("teach" if wanted.n is None or wanted.n <= FIRST_DRAW else "random")
    used = sorted(np.unique(some.worker_n).tolist(), key=lambda j: str(some.workers[j]))
    code_j = np.zeros(len(some.workers), dtype=np.int64)
    code_j[used] = np.arange(len(used))
    by_name = np.lexsort((some.label_n, code_j[some.worker_n], some.item_n))
    return Session(
        workers=tuple(some.workers[j] for j in used),
        offset_d=some.offsets_i.astype(np.int64),
        worker_n=code_j[some.worker_n][by_name],
        label_n=some.label_n[by_name].astype(np.int64),
        weighted_dk=weighted.take(order).posterior.round(4),
        baseline=baseline,
        n_items=n_items if draw == "random" else len(order),
        tolerance=wanted.tolerance,
        level=wanted.level,
        draw=draw,
        seed=wanted.seed,
        prior_j=np.zeros(len(used)) if prior_j is None else prior_j[used],
    )


def draw_accuracy(votes: Votes, wanted: Wanted) -> Design:
    """A random sample that bounds the accuracy of the labels of the last rule.

    It is independent of the order that a race draws with the same seed, so the rule may be one that a race chose.
    """
    rule = wanted.rules[-1]
    setting = Setting.of(votes)
    fit, breaker = fit_rule(rule, votes, setting), tie_rule(setting)
    if rule == MAJORITY and breaker is not None:  # as in the labels of `check`
        fit = break_ties(fit, fit_rule(breaker, votes, setting), votes)
    voted = np.flatnonzero(votes.votes_i > 0)
    item_d = voted[random_order(votes, voted, wanted.seed ^ 0x6672_6573)]  # other bits than those of a race
    posterior_dk = fit.take(item_d).posterior
    question = WrittenLabels(
        rule=rule,
        label_d=toss_coins(chances(posterior_dk) > 0, names_at(votes.items, item_d)).astype(np.int64),
        n_items=len(voted),
        level=wanted.level,
        confidence=round(float(posterior_dk.max(axis=1).mean()), DECIMALS) if len(item_d) else 1.0,
    )
    design = make_design(votes, question, item_d, wanted, is_sample=True)
    return design.more(FIRST_BATCH if wanted.n is None else wanted.n)


def plain_rule(votes: Votes, rule: str) -> str:
    """The usual name of a rule, where `auto` is the weighted vote."""
    named = rule_named(rule, votes.workers, beside=(AUTO, *LABEL_FREE))
    return WEIGHTED_VOTE if named == AUTO else named


class Entry(NamedTuple):
    """A question: the class that evaluates its labels, and the function that draws its items."""

    judge: type[Question]
    draw: Callable[[Votes, Wanted], Design]


QUESTIONS: dict[str, Entry] = {
    entry.judge.kind: entry
    for entry in (Entry(Session, draw_teaching), Entry(Race, draw_race), Entry(WrittenLabels, draw_accuracy))
}
