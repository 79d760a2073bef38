"""A panel of judges in Inspect: a scorer that runs several judges, a reducer, and metrics about the panel.

Only this module needs inspect_ai.  Each score stores the verdict of every judge in ``metadata["votes"]``, from which
the metrics are computed::

    from inspect_ai.scorer import model_graded_qa
    from majorant.compat.inspect_ai import panel

    judges = {name: model_graded_qa(model=name) for name in ("openai/gpt-4o", "google/gemini-2.5-pro", "mistral/large")}
    Task(dataset=..., scorer=panel(judges))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.claims import certify
from majorant.evidence.copies import find_copies
from majorant.read import read
from majorant.results.rates import rate
from majorant.values import clopper_pearson
from majorant.votes import Votes

try:
    from inspect_ai.scorer import (
        CORRECT,
        NOANSWER,
        Metric,
        SampleScore,
        Score,
        Scorer,
        ScoreReducer,
        Target,
        accuracy,
        metric,
        score_reducer,
        scorer,
    )
    from inspect_ai.solver import TaskState
except ImportError:
    raise ImportError("majorant.compat.inspect_ai needs Inspect: pip install inspect_ai.") from None

__all__ = ["effective_judges", "panel", "panel_rate", "panel_verdict"]
VOTES = "votes"  # key in a score's metadata for the verdict of each judge


@metric
def effective_judges() -> Metric:
    """The number of independent judges that the panel is worth, at most: judges that repeat each other count as one.

    NaN without votes.
    """

    def compute(scores: list[SampleScore]) -> float:
        try:
            votes = _votes_of(scores)
        except ConfigError:
            return float("nan")
        distinct = votes.shape[1] - sum(len(group) - 1 for group in find_copies(votes).workers)
        try:
            dependence = certify(votes).dependence
        except NotIdentified:  # too few judges or samples for a model
            dependence = None
        worth = None if dependence is None else dependence.n_eff.value
        return float(distinct) if worth is None else min(worth, float(distinct))

    return compute


@metric
def panel_rate(label: str = CORRECT, gold: str = "human", level: float = 0.95) -> Metric:
    """The share of samples that get `label`, with its interval.

    Parameters
    ----------
    label : str
        The value to count, by default C for correct.
    gold : str
        The key of a sample's metadata that holds a human verdict.  If a random sample has such verdicts, the interval
        covers the rate that people would find on all samples.  Otherwise, it is about the panel's own verdicts, and
        says nothing about whether the panel is right.
    level : float
        The confidence level.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        known = {
            str(one.sample_id): one.sample_metadata[gold] for one in scores if (one.sample_metadata or {}).get(gold)
        }
        if known:
            found = rate(_votes_of(scores), known, label=label, level=level)
            return {"rate": _number(found.value), "low": _number(found.low), "high": _number(found.high)}
        given = [str(one.score.value) == label for one in scores]
        low, high = clopper_pearson(sum(given), len(given), level)
        return {"rate": sum(given) / max(len(given), 1), "low": float(low), "high": float(high)}

    return compute


@scorer(metrics=[accuracy(), effective_judges(), panel_rate()])
def panel(judges: Mapping[str, Scorer], tie: str = NOANSWER) -> Scorer:
    """Score by the majority of several scorers.

    Parameters
    ----------
    judges : mapping
        Scorers by the name of the judge, such as ``{"gpt-4o": model_graded_qa(model="openai/gpt-4o")}``.
    tie : str
        The value of a sample on which the judges are tied.
    """

    async def score(state: TaskState, target: Target) -> Score:
        given = {}
        for name, judge in judges.items():
            one = await judge(state, target)
            if one is not None:
                given[name] = one
        return _combine(given, tie)

    return score


@score_reducer
def panel_verdict(names: Sequence[str] = (), tie: str = NOANSWER) -> ScoreReducer:
    """Reduce the scores of several judges, or of several epochs, to the majority verdict.

    Parameters
    ----------
    names : sequence of str
        Names of the judges, in the order of the scorers; by default judge 1, judge 2, ...
    tie : str
        The value in case of a tie.
    """

    def reduce(scores: list[Score]) -> Score:
        called = [names[n] if n < len(names) else f"judge {n + 1}" for n in range(len(scores))]
        return _combine(dict(zip(called, scores, strict=True)), tie)

    return reduce


def _combine(given: Mapping[str, Score], tie: str) -> Score:
    """Combine scores into one: the value that most judges gave, and the verdict of each judge."""
    votes = {name: one.value for name, one in given.items() if one.value != NOANSWER}
    counts = Counter(votes.values()).most_common(2)
    leads = len(counts) == 1 or (len(counts) == 2 and counts[0][1] > counts[1][1])
    value = counts[0][0] if leads else tie
    said = "; ".join(f"{name}: {label}" for name, label in votes.items())
    first = next(iter(given.values()), None)
    return Score(value=value, answer=first.answer if first else None, explanation=said, metadata={VOTES: votes})


def _votes_of(scores: Sequence[SampleScore]) -> Votes:
    """The votes stored in the metadata of scores; samples are items."""
    rows = [
        (str(n if one.sample_id is None else one.sample_id), judge, str(label))
        for n, one in enumerate(scores)
        for judge, label in (one.score.metadata or {}).get(VOTES, {}).items()
    ]
    if not rows:
        raise ConfigError("no votes of judges: score with panel or panel_verdict of majorant.compat.inspect_ai.")
    return read(rows, repeats="last")


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
