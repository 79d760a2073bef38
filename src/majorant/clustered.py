"""The whole line on votes in a Spark frame: rule, confidence and plan from a sample, all else from all votes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from majorant.agreement import Agreement
from majorant.agreement.measure import agreement_from, resampling
from majorant.decide.calibrate import as_calibrated
from majorant.decide.candidates import unsuited
from majorant.decide.choice import seed_of_fits
from majorant.decide.combine import COMBINATION, MEMBERS, combine, items_to_weigh_by, weigh
from majorant.decide.workers import Workers
from majorant.engines.spark.engine import Rows
from majorant.engines.spark.lines import aggregate as fit_method
from majorant.engines.spark.lines import assess, count_patterns, inquire, label_frame, methods, rows_of, sample
from majorant.engines.spark.votes import SparkVotes
from majorant.errors import ConfigError
from majorant.estimate import Fit
from majorant.kernels import Block, FloatArray
from majorant.pipeline import WORKER_METHOD, Result
from majorant.pipeline import check as check_in_memory
from majorant.randomness import as_generator
from majorant.tally import Patterns
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClusterResult:
    """What `check` finds out about votes in a frame."""

    sample: Result  # all of it, for a sample of the items; with the certificate and the agreement of all
    fit: Fit  # the chosen rule on all votes
    worker_fit: Fit
    workers: Workers
    patterns: Patterns
    labels: Any  # a frame with a row for each item


class _Checked(NamedTuple):
    level: float
    rng: int
    method: str | None
    tolerance: float
    target: float


def check(
    votes: SparkVotes, *, level: float, rng: int, method: str | None, tolerance: float, target: float
) -> ClusterResult:
    """Count, certify, choose the rule, label and judge the workers."""
    if method is not None and method not in (*methods(), COMBINATION):
        raise ConfigError(f"{method} does not run on Spark. Choose one of: {', '.join((*methods(), COMBINATION))}.")
    some = votes.take_items(sample(votes, rng=as_generator(rng)))
    patterns = count_patterns(votes)
    how = _Checked(level, rng, method, tolerance, target)._asdict()
    result = check_in_memory(
        some, inquiry=inquire(votes, level=level, rng=rng), agreement=_agreement(patterns, some, level, rng), **how
    )
    rule = result.decision.method if result.decision.method in methods() else COMBINATION
    fit = fit_rule(votes, rule, some, rng=seed_of_fits(as_generator(rng)))
    each = fit.confusion is not None and fit.confusion.ndim == 3
    worker_fit = fit if each else fit_rule(votes, WORKER_METHOD, some, rng=rng)
    return ClusterResult(
        sample=result,
        fit=fit,
        worker_fit=worker_fit,
        workers=assess(votes, worker_fit, level=level),
        patterns=patterns,
        labels=label_frame(votes, fit, calibrated=partial(as_calibrated, result.labels)),
    )


def fit_rule(votes: SparkVotes, method: str, some: Votes, *, rng: int) -> Fit:
    """The fit of a method on all votes, or of the combination, whose weights are learned from the sample."""
    if method != COMBINATION:
        return fit_method(votes, method, rng=rng).fit
    members = [name for name in MEMBERS if not unsuited(name, some)]
    weight = weigh(_part(some, items_to_weigh_by(some, rng)), members, rng).weight
    fits = {name: fit_method(votes, name, rng=rng).fit for name in members}
    nothing = np.empty((0, len(votes.labels)))
    mean = combine({name: replace(fit, posterior=nothing) for name, fit in fits.items()}, weight)
    rows = tuple((weight[name], rows_of(fit)) for name, fit in fits.items())
    return replace(mean, posterior=cast("FloatArray", Rows(partial(_weighted, rows))))


def _part(votes: Votes, item_p: Any) -> Votes:
    from majorant.merge import take_items

    return take_items(votes, item_p)


def _weighted(rows: tuple[tuple[float, Any], ...], block: Block) -> FloatArray:
    return np.asarray(sum(weight * of_block(block) for weight, of_block in rows))


def _agreement(patterns: Patterns, some: Votes, level: float, rng: int) -> Agreement:
    return agreement_from(patterns, some, resampling(rng, level=level))
