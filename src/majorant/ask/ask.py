"""Draw random items for an expert to label, so that a few labels prove something without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from majorant.ask.design import Design
from majorant.ask.question import RULES, TEACH, Wanted
from majorant.ask.questions import MOST_RULES, QUESTIONS, plain_rule
from majorant.defaults import LEVEL, MAJORITY, TOLERANCE
from majorant.errors import ConfigError, use
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.evidence.learn import gold_labels
from majorant.evidence.rules import AUTO, full_judges
from majorant.read import Reading, as_votes
from majorant.setting import Setting
from majorant.values import as_level, as_seed
from majorant.votes import Votes

RATE_BATCH = 60  # labels that determine a rate to within about 10 points
BETWEEN = (MAJORITY, AUTO)
PROVE = "prove"
WAYS = (TEACH, "random", PROVE)


def ask(
    votes: Any,
    *,
    question: str = AUTO,
    between: Sequence[str] | None = None,
    n: int | None = None,
    draw: str | None = None,
    rng: int | np.random.Generator = 0,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    experts: str = "majority",
    **reading: Unpack[Reading],
) -> Design:
    """Draw items for an expert to label.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments.
    question : str
        "teach": first items that teach a rule, then items that prove it; 10 or more gold labels in the votes replace
        the first.  "rules": items on which the rules in `between`
        differ.  "accuracy": a random sample that bounds the accuracy of the last rule in `between`.  "auto": "teach"
        for a panel of judges or if the votes came with gold labels, "rules" for a crowd or if `between` is given.
    between : sequence of str
        Rules to compare, starting with the one in use: methods, `weighted-vote` (also `auto`), or workers; "a+b+c" is
        the majority vote of these workers.  By default majority vote and the weighted vote.
    n : int
        Number of items to draw now (by default 10 to teach, 30 at random to teach, otherwise 25); `Design.more` adds
        further items.
    draw : str
        "teach": ten items, then five at a time, chosen where a label would change most; the chance of every draw is
        recorded.  "random": a random sample, which measures rates and judges better and teaches less.  "prove": items
        on which two rules differ.  By default "teach", or "random" if more than ten items are drawn to teach at once.
    rng : int or numpy Generator
        Random seed.
    tolerance : float
        The largest difference in accuracy that does not matter.
    level : float
        Probability that every claim made from the labels is true, whenever you stop.
    experts : str
        How to combine several experts: "majority" or "unanimous".

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
    votes = as_votes(votes, **reading)
    as_level(level)
    if not 0 <= tolerance < 1:
        raise ConfigError(f"tolerance must be a share of the items, at least 0 and below 1, not {tolerance!r}.")
    if question not in (AUTO, *QUESTIONS):
        raise ConfigError(f"question must be one of {', '.join((AUTO, *QUESTIONS))}, not {question!r}.")
    if draw not in (None, *WAYS):
        raise ConfigError(f"draw must be one of {', '.join(WAYS)}, not {draw!r}.")
    if draw is not None and question == AUTO and between is None:
        question = "rules" if draw == PROVE else TEACH
    if draw is not None and (question == TEACH) == (draw == PROVE):
        raise ConfigError(f"{use('draw', draw)} does not fit the question {question!r}.")
    if question == TEACH and between is not None:
        raise ConfigError(f"{use('question', 'teach')} learns its own rule, so {use('between')} cannot be given.")
    seed = as_seed(rng)
    if question == AUTO:
        question = RULES if between is not None else usual_question(votes, Setting.of(votes))
    rules = dict.fromkeys(plain_rule(votes, rule) for rule in between or BETWEEN)
    wanted = Wanted(rules=tuple(rules), n=n, seed=seed, tolerance=tolerance, level=level, experts=experts, draw=draw)
    return QUESTIONS[question].draw(votes, wanted)


def usual_question(votes: Votes, setting: Setting) -> str:
    """What to ask if the caller does not say: gold labels, or a panel, can teach a rule."""
    return TEACH if setting.panel or len(gold_labels(votes)[0]) >= LEAST_LABELS else RULES


def usual_race(votes: Votes) -> Sequence[str]:
    """Default rules of a race: on a panel, also each judge who labels nearly everything; otherwise some methods."""
    if Setting.of(votes).panel:
        return (*BETWEEN, *full_judges(votes)[: MOST_RULES - len(BETWEEN)])
    return (*BETWEEN, "dawid-skene", "one-coin")
