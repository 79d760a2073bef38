"""Which items an expert should label, drawn at random so that a few labels prove something without any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from majorant.ask.accuracy import AIM
from majorant.ask.design import Design
from majorant.ask.draw import draw_accuracy, draw_rules, draw_session
from majorant.ask.expert import without_copies
from majorant.ask.kind import Kind, kind_of, label_free_rule
from majorant.ask.learn import LEAST_LABELS, gold_labels
from majorant.ask.session import TEACHING
from majorant.ask.ties import worth_of_vote
from majorant.backend import Backend, as_backend
from majorant.defaults import LEVEL, MAJORITY, TOLERANCE, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.methods.fit import Fit
from majorant.read import Reading
from majorant.read.tasks import ExpertAnswer
from majorant.results.rules import AUTO, full_judges, rule_fit, rule_named, settle_everywhere
from majorant.values import as_level, as_seed

FIRST_BATCH = 25  # labels: with fewer the leader among rules is mostly the luckiest (docs/ask.md)
RATE_BATCH = 60  # labels that measure a rate to about 10 points
BETWEEN = (MAJORITY, AUTO)
TEACH = "teach"
ASK_KINDS = (TEACH, "rules", "accuracy")
MOST_RULES = 20


def ask(
    votes: Any,
    *,
    question: str = AUTO,
    between: Sequence[str] | None = None,
    n: int | None = None,
    rng: int | np.random.Generator = 0,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
    **reading: Unpack[Reading],
) -> Design:
    """Draw the items that an expert should label.

    Parameters
    ----------
    votes : Any
        Whatever `mj.read` takes, with the same keyword arguments, or a backend.
    question : str
        "teach": a random sample first, which teaches a rule and measures every judge, then items that prove the rule;
        20 or more gold labels that came with the votes take the place of the sample.
        "rules": items on which the rules `between` differ.  "accuracy": a random sample that bounds the accuracy of the
        labels of the last rule of `between`.  "auto": "teach" for a panel of judges and where gold labels came
        with the votes, "rules" for a crowd or where `between` is given.
    between : sequence of str
        Rules to compare, the one in use first: methods, `weighted-vote` (also `auto`), or names of workers, joined by
        "+" for the majority of some of them.  By default majority vote and the weighted vote.
    n : int
        How many items to ask about now, 30 to teach and else 25 by default; `Design.more` adds others.
    rng : int or numpy Generator
        Random seed.
    tolerance : float
        A difference in accuracy too small to matter.
    level : float
        Probability that what the labels prove is true, at every number of labels.
    experts : str
        Which label counts where several experts label an item: "majority" or "unanimous".

    Returns
    -------
    Design
        `design.items`, `design.write("to_label.csv")`, `design.evaluate(labels)`, `design.more(10, labels)`.

    Examples
    --------
    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.7, .3], [.4, .6]], n_items=200, n_votes=3, rng=0)
    >>> design = ask(votes, between=("majority", "dawid-skene"), n=3)
    >>> len(design.items), design.evaluate({}).verdict
    (3, 'open')
    """
    backend = as_backend(votes, **reading)
    as_level(level)
    if not 0 <= tolerance < 1:
        raise ConfigError(f"tolerance is a share of items, 0 to 1, not {tolerance!r}.")
    if question not in (AUTO, *ASK_KINDS):
        raise ConfigError(f"question must be one of {', '.join((AUTO, *ASK_KINDS))}, not {question!r}.")
    if question == TEACH and between is not None:
        raise ConfigError("question='teach' compares a rule that labels teach: leave out between=.")
    backend, seed = without_copies(backend), as_seed(rng)
    if question == AUTO:
        taught = len(gold_labels(backend)[0]) >= LEAST_LABELS
        question = TEACH if between is None and (taught or kind_of(backend.votes) is Kind.PANEL) else "rules"
    how: dict[str, Any] = {"level": level, "experts": experts}
    if question == TEACH:
        weighted, baseline = rule_fit(backend, WEIGHTED_VOTE, seed), label_free_rule(backend, seed)
        how |= {"tolerance": tolerance, "tie_worth": _tie_worth(backend, weighted)}
        design = draw_session(backend, weighted, seed=seed, baseline=baseline, **how)
        return design.more(TEACHING if n is None else n)
    n = FIRST_BATCH if n is None else n
    rules = list(dict.fromkeys(_rule_named(backend, rule) for rule in between or BETWEEN))
    if question == "accuracy":
        return ask_accuracy(backend, rules[-1], n=n, seed=seed, **how)
    if not 2 <= len(rules) <= MOST_RULES:
        raise ConfigError(f"between names two to {MOST_RULES} rules, not {len(rules)}.")
    fits = {rule: rule_fit(backend, rule, seed) for rule in rules}
    favourite = WEIGHTED_VOTE if WEIGHTED_VOTE in fits else rules[-1]
    how |= {"tolerance": tolerance, "tie_worth": _tie_worth(backend, fits.get(WEIGHTED_VOTE))}
    return draw_rules(backend, fits, seed=seed, favourite=favourite, **how).more(n)


def _rule_named(backend: Backend, rule: str) -> str:
    named = rule_named(rule, backend.votes.workers, beside=(AUTO, WEIGHTED_VOTE))
    return WEIGHTED_VOTE if named == AUTO else named


def _tie_worth(backend: Backend, weighted: Fit | None) -> float | None:
    """What a vote on tied items is worth in a crowd; judges of a panel may share mistakes, which no model knows.

    Rounded, so that the same design is drawn wherever the votes are.
    """
    known = weighted is not None and kind_of(backend.votes) is not Kind.PANEL
    worth = worth_of_vote(backend, weighted) if weighted is not None and known else None
    return None if worth is None else round(worth, 6)


def usual_race(backend: Backend) -> Sequence[str]:
    """The rules of a race that names none: on a panel each judge who labels nearly everything, else some methods."""
    if kind_of(backend.votes) is Kind.PANEL:
        return (*BETWEEN, *full_judges(backend)[: MOST_RULES - len(BETWEEN)])
    return (*BETWEEN, "dawid-skene", "one-coin")


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
    rule = _rule_named(backend, rule)
    fit = rule_fit(backend, rule, seed)
    if rule == MAJORITY and label_free_rule(backend, seed) == WEIGHTED_VOTE:  # which decides ties, then
        fit = settle_everywhere(backend, fit, fit, rule_fit(backend, WEIGHTED_VOTE, seed))
    design = draw_accuracy(backend, rule, fit, seed=seed, aim=aim, level=level, experts=experts, after=after)
    return design.more(n)
