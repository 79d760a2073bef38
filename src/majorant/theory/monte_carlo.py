"""Accuracy and gap by simulation, with an interval that holds at any number of draws, where enumeration is too long.

Votes are drawn, but not scored as right or wrong: each draw counts the probability, given the votes, that the rule is
right.  That leaves out the chance in the truth, so the interval is much shorter for the same number of draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.accuracy import scaled_crew, scaled_shared
from majorant.theory.checks import Bracket, FloatArray, Ties, as_ties, as_vote_count, safe_log
from majorant.theory.patterns import IntArray, deficits, log_kernel, most_votes, shares
from majorant.values import LEVEL, as_generator, as_level

BLOCK = 2**16  # items drawn at a time
Rng = int | np.random.Generator
Rule = Literal["majority", "map", "gap"]
# a class for each of B items -> their vote counts (K, B) and log P(votes | class) (K, B)
Vote = Callable[[np.random.Generator, IntArray], tuple[IntArray, FloatArray]]


def estimate_accuracy(
    prior: ArrayLike,
    confusion: ArrayLike,
    n_votes: int,
    rule: str = "majority",
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`majority_accuracy` or (rule="map") `map_accuracy` for any number of classes and votes, by Monte Carlo.

    The exact value lies in [low, high] with probability at least `level`, an empirical Bernstein interval.

    >>> value, low, high = estimate_accuracy([.9, .1], [[.6, .4], [.1, .9]], 3, rng=0)
    >>> low < 0.6804 < high
    True
    """
    prior_k, vote = _shared(prior, confusion, n_votes)
    return _simulate(prior_k, vote, _as_rule(rule), as_ties(ties), rng, n_draws, level)


def estimate_gap(
    prior: ArrayLike,
    confusion: ArrayLike,
    n_votes: int,
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`gap` for any number of classes and votes, by Monte Carlo; a draw on which the rules agree counts exactly 0.

    >>> value, low, high = estimate_gap([.9, .1], [[.6, .4], [.1, .9]], 3, rng=0)
    >>> low < 0.2349 < high
    True
    """
    prior_k, vote = _shared(prior, confusion, n_votes)
    return _simulate(prior_k, vote, "gap", as_ties(ties), rng, n_draws, level)


def estimate_crew_accuracy(
    prior: ArrayLike,
    confusions: ArrayLike,
    rule: str = "majority",
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`crew_accuracy` for any crew, by Monte Carlo.

    >>> crew = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> value, low, high = estimate_crew_accuracy([.5, .5], crew, rng=0)
    >>> low < 0.792 < high
    True
    """
    prior_k, vote = _crew(prior, confusions)
    return _simulate(prior_k, vote, _as_rule(rule), as_ties(ties), rng, n_draws, level)


def estimate_crew_gap(
    prior: ArrayLike,
    confusions: ArrayLike,
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`crew_gap` for any crew, by Monte Carlo.

    >>> crew = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> value, low, high = estimate_crew_gap([.5, .5], crew, rng=0)
    >>> low < 0.108 < high
    True
    """
    prior_k, vote = _crew(prior, confusions)
    return _simulate(prior_k, vote, "gap", as_ties(ties), rng, n_draws, level)


def _as_rule(rule: str) -> Rule:
    if rule not in ("majority", "map"):
        raise ConfigError(f"rule must be majority or map, not {rule!r}.")
    return rule  # type: ignore[return-value]


def _shared(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> tuple[FloatArray, Vote]:
    prior_k, confusion_kl = scaled_shared(prior, confusion)
    n_votes = as_vote_count(n_votes)

    def vote(rng: np.random.Generator, truth_b: IntArray) -> tuple[IntArray, FloatArray]:
        count_lb = rng.multinomial(n_votes, confusion_kl[truth_b]).T
        return count_lb, log_kernel(count_lb, confusion_kl)

    return prior_k, vote


def _crew(prior: ArrayLike, confusions: ArrayLike) -> tuple[FloatArray, Vote]:
    prior_k, confusion_hkl = scaled_crew(prior, confusions)

    def vote(rng: np.random.Generator, truth_b: IntArray) -> tuple[IntArray, FloatArray]:
        count_lb = np.zeros((len(prior_k), len(truth_b)), dtype=np.int32)
        log_given_kb = np.zeros(count_lb.shape)
        for confusion_kl in confusion_hkl:
            below_kl = np.cumsum(confusion_kl, axis=1)[:, :-1]
            label_b = (rng.random(len(truth_b)) >= below_kl[truth_b].T).sum(axis=0)
            count_lb[label_b, np.arange(len(truth_b))] += 1
            log_given_kb += safe_log(confusion_kl)[:, label_b]
        return count_lb, log_given_kb

    return prior_k, vote


def _simulate(prior_k: FloatArray, vote: Vote, rule: Rule, ties: Ties, rng: Rng, n_draws: int, level: float) -> Bracket:
    """The mean score and its interval."""
    if n_draws < 2:
        raise ConfigError(f"n_draws must be at least 2, not {n_draws}.")
    as_level(level)
    generator = as_generator(rng)
    scores = []
    for start in range(0, n_draws, BLOCK):
        truth_b = generator.choice(len(prior_k), size=min(BLOCK, n_draws - start), p=prior_k)
        count_lb, log_given_kb = vote(generator, truth_b)
        deficit_kb = deficits(log_given_kb + safe_log(prior_k)[:, None])
        scores.append(_score(deficit_kb, shares(most_votes(count_lb), ties, prior_k), rule))
    return _interval(np.concatenate(scores), level)


def _score(deficit_kb: FloatArray, share_kb: FloatArray, rule: Rule) -> FloatArray:
    """P(rule right | votes), or for the gap what majority gives away; votes left out as ties are dropped."""
    kept_b = share_kb.any(axis=0)
    deficit_kb, share_kb = deficit_kb[:, kept_b], share_kb[:, kept_b]
    relative_kb = np.exp(-deficit_kb)
    per_item = {"map": 1.0, "majority": (share_kb * relative_kb).sum(axis=0)}
    per_item["gap"] = -(share_kb * np.expm1(-deficit_kb)).sum(axis=0)
    return np.asarray(per_item[rule] / relative_kb.sum(axis=0))


def _interval(score_b: FloatArray, level: float) -> Bracket:
    """Empirical Bernstein interval for scores in 0..1, half of 1 - level on each side (Maurer and Pontil 2009)."""
    n = len(score_b)
    if n < 2:
        raise ConfigError("all but one of the drawn votes were ties: raise n_draws, or choose ties other than exclude.")
    log_term = float(np.log(4 / (1 - level)))
    value = float(score_b.mean())
    reach = float(np.sqrt(2 * score_b.var(ddof=1) * log_term / n)) + 7 * log_term / (3 * (n - 1))
    return Bracket(value, max(value - reach, 0.0), min(value + reach, 1.0))
