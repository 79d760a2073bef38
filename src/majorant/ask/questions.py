"""The questions that `ask` can put to an expert, by name: the class that judges the labels, and how items are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from majorant.ask.accuracy import AIM, WrittenLabels
from majorant.ask.design import Design
from majorant.ask.draw import draw_accuracy, draw_rules, draw_session
from majorant.ask.kind import Kind, kind_of, label_free_rule
from majorant.ask.question import Question, Wanted
from majorant.ask.race import Race
from majorant.ask.session import TEACHING, Session
from majorant.ask.ties import worth_of_vote
from majorant.backend import Backend
from majorant.defaults import LEVEL, MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.methods.fit import Fit
from majorant.read.tasks import ExpertAnswer
from majorant.results.rules import AUTO, rule_fit, rule_named, settle_everywhere

FIRST_BATCH = 25  # labels; with fewer, the leading rule is often just lucky (docs/ask.md)
TEACH = "teach"
MOST_RULES = 20


def draw_teaching(backend: Backend, wanted: Wanted) -> Design:
    """A random sample that teaches a rule, then items that prove it."""
    weighted, baseline = rule_fit(backend, WEIGHTED_VOTE, wanted.seed), label_free_rule(backend, wanted.seed)
    design = draw_session(
        backend,
        weighted,
        seed=wanted.seed,
        baseline=baseline,
        tolerance=wanted.tolerance,
        level=wanted.level,
        experts=wanted.experts,
        tie_worth=_tie_worth(backend, weighted),
    )
    return design.more(TEACHING if wanted.n is None else wanted.n)


def draw_race(backend: Backend, wanted: Wanted) -> Design:
    """Items on which the rules differ."""
    if not 2 <= len(wanted.rules) <= MOST_RULES:
        raise ConfigError(f"between= takes two to {MOST_RULES} rules, not {len(wanted.rules)}.")
    fits = {rule: rule_fit(backend, rule, wanted.seed) for rule in wanted.rules}
    design = draw_rules(
        backend,
        fits,
        seed=wanted.seed,
        favourite=WEIGHTED_VOTE if WEIGHTED_VOTE in fits else wanted.rules[-1],
        tolerance=wanted.tolerance,
        level=wanted.level,
        experts=wanted.experts,
        tie_worth=_tie_worth(backend, fits.get(WEIGHTED_VOTE)),
    )
    return design.more(FIRST_BATCH if wanted.n is None else wanted.n)


def draw_sample(backend: Backend, wanted: Wanted) -> Design:
    """A random sample that bounds the accuracy of the last rule."""
    n = FIRST_BATCH if wanted.n is None else wanted.n
    how: dict[str, Any] = {"seed": wanted.seed, "level": wanted.level, "experts": wanted.experts}
    return ask_accuracy(backend, wanted.rules[-1], n=n, **how)


def ask_accuracy(
    backend: Backend,
    rule: str,
    *,
    n: int,
    seed: int,
    level: float = LEVEL,
    aim: float = AIM,
    experts: str = "majority",
    after: tuple[Design, Sequence[ExpertAnswer]] | None = None,
) -> Design:
    """Items that show how often a rule's labels are right, drawn uniformly, afresh after a race that chose the rule."""
    rule = plain_rule(backend, rule)
    fit = rule_fit(backend, rule, seed)
    if rule == MAJORITY and label_free_rule(backend, seed) == WEIGHTED_VOTE:  # which decides ties, then
        fit = settle_everywhere(backend, fit, fit, rule_fit(backend, WEIGHTED_VOTE, seed))
    design = draw_accuracy(backend, rule, fit, seed=seed, aim=aim, level=level, experts=experts, after=after)
    return design.more(n)


def plain_rule(backend: Backend, rule: str) -> str:
    """The rule that a name means: `auto` is the weighted vote."""
    named = rule_named(rule, backend.votes.workers, beside=(AUTO, WEIGHTED_VOTE))
    return WEIGHTED_VOTE if named == AUTO else named


def _tie_worth(backend: Backend, weighted: Fit | None) -> float | None:
    """Value of one more vote on tied items in a crowd; not known for panels, whose judges may share mistakes.

    Rounded, so that the same design is drawn wherever the votes are.
    """
    known = weighted is not None and kind_of(backend.votes) is not Kind.PANEL
    worth = worth_of_vote(backend, weighted) if weighted is not None and known else None
    return None if worth is None else round(worth, 6)


class Entry(NamedTuple):
    """A question: the class that judges its labels, and the function that draws its items."""

    judge: type[Question]
    draw: Callable[[Backend, Wanted], Design]


QUESTIONS: dict[str, Entry] = {
    entry.judge.kind: entry
    for entry in (Entry(Session, draw_teaching), Entry(Race, draw_race), Entry(WrittenLabels, draw_sample))
}
