"""The loop back of the line: which items an expert should label, drawn by design, so that a few labels settle it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from majorant.ask.accuracy import AIM
from majorant.ask.design import Design
from majorant.ask.draw import draw_accuracy, draw_rules
from majorant.backend import Backend, as_backend
from majorant.defaults import LEVEL, TOLERANCE, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.read import Reading
from majorant.read.tasks import ExpertAnswer
from majorant.results.rules import AUTO, rule_fit
from majorant.values import as_level, as_seed

FIRST_BATCH = 25  # labels: with fewer the leader among rules is mostly the luckiest (docs/ask.md)
RATE_BATCH = 60  # labels that measure a rate to about 10 points
BETWEEN = ("majority", AUTO)
RACE = ("majority", AUTO, "dawid-skene", "one-coin")

ASK_KINDS = ("rules", "accuracy")
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
    **reading: Unpack[Reading],
) -> Design:
    """The n items that an expert should label first, drawn so that a few labels settle a question without any model.

    `question` is "rules": which of two or more rules is right more often (the first of `between` is the one in use,
    auto stands for the combination of models that `check` would switch to); "accuracy": how often the labels of the
    last rule of `between` are right.  Rules are frozen now; nothing is assumed about votes or workers.  `experts` says
    what counts where several label an item: majority or unanimous.

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
    if question not in ASK_KINDS:
        raise ConfigError(f"question must be one of {', '.join(ASK_KINDS)}, not {question!r}.")
    seed, rules = as_seed(rng), list(dict.fromkeys(WEIGHTED_VOTE if rule == AUTO else rule for rule in between))
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
