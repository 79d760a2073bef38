"""The loop back of the line: which items an expert should label, drawn by design, so that a few labels settle it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from majorant.ask.accuracy import AIM
from majorant.ask.design import Design
from majorant.ask.draw import draw_accuracy, draw_close_calls, draw_correction, draw_rules
from majorant.backend import Backend, as_backend
from majorant.defaults import COMBINED, LEVEL, TOLERANCE, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.read import Reading
from majorant.read.tasks import ExpertAnswer
from majorant.results.rules import AUTO, member_fits, rule_fit
from majorant.values import as_level, as_seed

FIRST_BATCH = 25  # labels: with fewer the leader among rules is mostly the luckiest (docs/ask.md)
BETWEEN = ("majority", AUTO)
RACE = ("majority", AUTO, "dawid-skene", "one-coin")

ASK_KINDS = ("rules", "close-calls", "accuracy")
JUDGING = 40  # labels that judge a correction, after those that it is learned from
MOST_RULES = 8


def ask(
    votes: Any,
    *,
    between: Sequence[str] = BETWEEN,
    question: str = "rules",
    n: int = FIRST_BATCH,
    rng: int | np.random.Generator = 0,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
    monotone: bool = False,
    **reading: Unpack[Reading],
) -> Design:
    """The n items that an expert should label first, drawn so that a few labels settle a question without any model.

    `question` is "rules": which of two or more rules is right more often (the first of `between` is the one in use,
    auto stands for the combination of models that `check` would switch to); "close-calls": what majority vote gives
    away to rules that see only counts; "accuracy": how often the labels of the last rule of `between` are right.
    Rules are frozen now; nothing is assumed about votes or workers.  `experts` says what counts where several label
    an item: majority or unanimous.  `monotone` assumes, for close calls, that a clearer vote is never less likely to be
    right: that saves labels, and no vote can test it.

    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.7, .3], [.4, .6]], n_items=200, n_votes=3, rng=0)
    >>> design = ask(votes, between=("majority", "dawid-skene"), n=3)
    >>> len(design.items), design.evaluate({}).verdict
    (3, 'open')
    """
    backend = as_backend(votes, **reading)
    as_level(level)
    if monotone and question != "close-calls":
        raise ConfigError("monotone is an assumption about close calls: use it with question='close-calls'.")
    if not 0 <= tolerance < 1:
        raise ConfigError(f"tolerance is a share of items, 0 to 1, not {tolerance!r}.")
    if question not in ASK_KINDS:
        raise ConfigError(f"question must be one of {', '.join(ASK_KINDS)}, not {question!r}.")
    seed, rules = as_seed(rng), list(dict.fromkeys(WEIGHTED_VOTE if rule == AUTO else rule for rule in between))
    if question == "close-calls":
        return draw_close_calls(
            backend, seed=seed, tolerance=tolerance, level=level, experts=experts, monotone=monotone
        ).more(n)
    if question == "accuracy":
        return ask_accuracy(backend, rules[-1], n=n, seed=seed, level=level, experts=experts)
    if not 2 <= len(rules) <= MOST_RULES:
        raise ConfigError(f"between names two to {MOST_RULES} rules, not {len(rules)}.")
    fits = {rule: rule_fit(backend, rule, seed) for rule in rules}
    favourite = WEIGHTED_VOTE if WEIGHTED_VOTE in fits else rules[-1]
    design = draw_rules(
        backend, fits, seed=seed, favourite=favourite, tolerance=tolerance, level=level, experts=experts
    )
    return design.more(n)


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
    fit = rule_fit(backend, rule, seed)
    design = draw_accuracy(backend, rule, fit, seed=seed, aim=aim, level=level, experts=experts, after=after)
    return design.more(n)


def ask_correction(
    backend: Backend,
    rule: str,
    learned_from: tuple[Design, Sequence[ExpertAnswer]],
    *,
    n: int,
    seed: int,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
) -> Design:
    """Learn a correction of a rule from labels of items drawn uniformly; the items that show whether it is better."""
    fits = member_fits(backend, COMBINED, seed)
    present = (rule, rule_fit(backend, rule, seed))
    design = draw_correction(
        backend, present, fits, learned_from, seed=seed, tolerance=tolerance, level=level, experts=experts
    )
    return design.more(n)
