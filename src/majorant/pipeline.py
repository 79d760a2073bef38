"""The whole line, spelt out: votes -> tally -> agreement -> certificate -> labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.agreement import Agreement
from majorant.agreement import agreement as measure_agreement
from majorant.certify.certificate import Certificate
from majorant.claims import certify
from majorant.decide.gold import GoldAccuracy, gold_accuracy
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS, Fit
from majorant.tally import Tally
from majorant.tally import tally as count
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Result:
    """Everything that `check` finds out; the report shows it and computes nothing."""

    votes: Votes
    tally: Tally
    agreement: Agreement
    certificate: Certificate
    majority: Fit
    gold: GoldAccuracy | None  # how often majority vote is right, where the truth is known
    level: float


def check(votes: Votes, *, level: float = 0.95, rng: int | np.random.Generator) -> Result:
    """Count the votes, measure agreement, certify majority vote, and vote.

    Each step starts from the same seed, so its numbers are those of the step alone.

    >>> from majorant.simulate import simulate
    >>> votes, truth = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=200, n_votes=3, rng=0)
    >>> result = check(votes, rng=0)
    >>> result.tally.votes_i.sum(), result.majority.method
    (np.int64(600), 'majority')
    """
    majority = aggregate(votes)
    return Result(
        votes=votes,
        tally=count(votes),
        agreement=measure_agreement(votes, level=level, rng=rng),
        certificate=certify(votes, level=level, rng=rng),
        majority=majority,
        gold=gold_accuracy(votes, majority, level=level),
        level=level,
    )


def aggregate(votes: Votes, method: str = "majority", *, rng: int | np.random.Generator | None = None) -> Fit:
    """Turn votes into labels by the method of that name in ESTIMATORS; `rng` is for methods that draw."""
    if method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. Choose one of: {', '.join(ESTIMATORS)}.")
    estimator = ESTIMATORS[method]
    if not estimator.stochastic:
        return estimator().fit(votes)
    if rng is None:
        raise ConfigError(f"The method {method} draws: give rng, an int or a numpy Generator.")
    return estimator().fit(votes, rng=rng)
