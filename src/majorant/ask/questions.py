"""The questions that `ask` can put to an expert, in the table QUESTIONS at the end.

Each has a class that evaluates the labels, in its own file, and a function here that draws its items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from majorant.ask.accuracy import WrittenLabels
from majorant.ask.design import Design
from majorant.ask.draw import item_names, make_design, random_order
from majorant.ask.freeze import DECIMALS, freeze
from majorant.ask.learn import LEAST_LABELS, gold_labels, learn_rule
from majorant.ask.question import Codes, Question, Wanted
from majorant.ask.race import Race
from majorant.ask.session import TEACHING, Session
from majorant.backend import Backend, Part, fit_of_items
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError, DataError
from majorant.evidence.certificate.claims import whole_or_sample
from majorant.evidence.track_record import Setting
from majorant.items import take_items
from majorant.methods.fit import Fit, chances
from majorant.methods.weighted_vote import differ_beyond_noise
from majorant.results.labels import toss_coins
from majorant.results.rules import AUTO, rule_fit, rule_named, settle_everywhere
from majorant.tally import is_panel
from majorant.values import as_generator

FIRST_BATCH = 25  # labels; with fewer, the leading rule is often just lucky (docs/ask.md)
TEACH = "teach"
MOST_RULES = 20


def draw_race(backend: Backend, wanted: Wanted) -> Design:
    """Items on which the rules differ, in random order."""
    if not 2 <= len(wanted.rules) <= MOST_RULES:
        raise ConfigError(f"between= takes two to {MOST_RULES} rules, not {len(wanted.rules)}.")
    fits = {rule: rule_fit(backend, rule, wanted.seed) for rule in wanted.rules}
    return race_between(backend, fits, wanted).more(FIRST_BATCH if wanted.n is None else wanted.n)


def race_between(backend: Backend, fits: Mapping[str, Fit], wanted: Wanted) -> Design:
    """A design that shows which of these rules is best; they must be fixed before any expert label is seen."""
    favourite = WEIGHTED_VOTE if WEIGHTED_VOTE in fits else None
    item_d, race = freeze(backend, fits, tolerance=wanted.tolerance, level=wanted.level, favourite=favourite)
    order = random_order(backend, item_d, wanted.seed)
    return make_design(backend, replace(race, label_rd=race.label_rd[:, order]), item_d[order], wanted)


def draw_teaching(backend: Backend, wanted: Wanted) -> Design:
    """A random sample from which a rule is learned, then items on which it is proved.

    If the votes have enough gold labels to learn a better rule, these replace the sample, and the rule is proved on the
    other items.
    """
    weighted, baseline = rule_fit(backend, WEIGHTED_VOTE, wanted.seed), label_free_rule(backend, wanted.seed)
    voted = _voted_items(backend)
    if not len(voted):
        raise DataError("No item has a vote.")
    gold_p, truth_p = gold_labels(backend)
    by_gold = len(gold_p) >= LEAST_LABELS
    if by_gold:
        voted = voted[~np.isin(voted, gold_p)]
        if not len(voted):
            raise DataError("Every item has a gold label: there is nothing left to label.")
    order = voted[random_order(backend, voted, wanted.seed)]
    session = _session(backend, order, weighted, baseline, len(voted), wanted)
    if by_gold:
        before = weighted if baseline == WEIGHTED_VOTE else backend.fit(MAJORITY)
        learned = learn_rule(backend, gold_p, truth_p, weighted, baseline=before, seed=wanted.seed)
        proving = replace(session, taught=session.freeze(learned, 0))
        session = session if proving.is_idle else proving  # idle: nothing to prove, so draw a sample to learn from
    return make_design(backend, session, order, wanted).more(TEACHING if wanted.n is None else wanted.n)


def _session(backend: Backend, order: Codes, weighted: Fit, baseline: str, n_items: int, wanted: Wanted) -> Session:
    """A session on items in this order; their votes are sorted by name, so that the order of rows does not matter."""
    rising = np.argsort(order)
    some = take_items(backend.take(order[rising]), np.argsort(rising))
    used = sorted(np.unique(some.worker_n).tolist(), key=lambda j: str(some.workers[j]))
    code_j = np.zeros(len(some.workers), dtype=np.int64)
    code_j[used] = np.arange(len(used))
    by_name = np.lexsort((some.label_n, code_j[some.worker_n], some.item_n))
    return Session(
        workers=tuple(some.workers[j] for j in used),
        offset_d=some.offsets_i.astype(np.int64),
        worker_n=code_j[some.worker_n][by_name],
        label_n=some.label_n[by_name].astype(np.int64),
        weighted_dk=fit_of_items(backend, weighted, order).posterior.round(4),
        baseline=baseline,
        n_items=n_items,
        tolerance=wanted.tolerance,
        level=wanted.level,
    )


def draw_accuracy(backend: Backend, wanted: Wanted) -> Design:
    """A random sample that bounds the accuracy of the labels of the last rule.

    It is independent of the order that a race draws with the same seed, so the rule may be one that a race chose.
    """
    rule = wanted.rules[-1]
    fit = rule_fit(backend, rule, wanted.seed)
    if rule == MAJORITY and label_free_rule(backend, wanted.seed) == WEIGHTED_VOTE:  # which then decides ties
        fit = settle_everywhere(backend, fit, fit, rule_fit(backend, WEIGHTED_VOTE, wanted.seed))
    voted = _voted_items(backend)
    item_d = voted[random_order(backend, voted, wanted.seed ^ 0x6672_6573)]  # other bits than those of a race
    posterior_dk = fit_of_items(backend, fit, item_d).posterior
    question = WrittenLabels(
        rule=rule,
        label_d=toss_coins(chances(posterior_dk) > 0, item_names(backend, item_d)).astype(np.int64),
        n_items=len(voted),
        level=wanted.level,
        confidence=round(float(posterior_dk.max(axis=1).mean()), DECIMALS) if len(item_d) else 1.0,
    )
    design = make_design(backend, question, item_d, wanted, is_sample=True)
    return design.more(FIRST_BATCH if wanted.n is None else wanted.n)


def _voted_items(backend: Backend) -> Codes:
    """The codes of the items with votes."""
    return np.concatenate(list(backend.map(_voted, doing="comparing")))


def _voted(part: Part) -> Codes:
    return np.asarray(np.flatnonzero(part.votes.votes_i > 0) + part.start)


def plain_rule(backend: Backend, rule: str) -> str:
    """The usual name of a rule, where `auto` is the weighted vote."""
    named = rule_named(rule, backend.votes.workers, beside=(AUTO, WEIGHTED_VOTE))
    return WEIGHTED_VOTE if named == AUTO else named


def label_free_rule(backend: Backend, seed: int = 0) -> str:
    """The rule to use without labels: the weighted vote if its track record on such votes is good, else majority vote.

    On public panels and thin crowds the weighted vote loses to majority vote as often as it wins.
    """
    setting = Setting(
        panel=is_panel(backend.votes.shape, backend.votes.n_votes),
        votes_per_worker=backend.votes.n_votes / max(len(backend.votes.workers), 1),
        workers_differ=differ_beyond_noise(whole_or_sample(backend, rng=as_generator(seed)).votes),
    )
    return WEIGHTED_VOTE if setting.teaches else MAJORITY


class Entry(NamedTuple):
    """A question: the class that evaluates its labels, and the function that draws its items."""

    judge: type[Question]
    draw: Callable[[Backend, Wanted], Design]


QUESTIONS: dict[str, Entry] = {
    entry.judge.kind: entry
    for entry in (Entry(Session, draw_teaching), Entry(Race, draw_race), Entry(WrittenLabels, draw_accuracy))
}
