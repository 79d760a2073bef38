"""Small shared types and checks: a number with its interval, confidence levels, seeds, read-only arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError

FloatArray = NDArray[np.float64]
TINY = float(np.finfo(float).tiny)  # the smallest normal number


class Missing(StrEnum):
    """Why a number or its interval is missing; `render/missing.py` puts it into words."""

    NOT_ESTIMATED = "not estimated"
    NO_VOTES = "no votes"
    NO_GOLD = "no gold"
    ONE_GOLD_ITEM = "one gold item"
    TOO_FEW_GOLD = "too few gold"
    NO_MODEL = "no model"
    NO_UNIFORM_LABEL = "no uniform label"
    NO_DIFFERENCE_LABELLED = "no difference labelled"
    NO_PAIRED_VOTES = "no paired votes"
    ONE_PAIRED_ITEM = "one paired item"
    ONE_LABEL = "one label"
    NO_VARIANCE = "no variance"
    NO_ORDER = "no order"
    NO_COMMON_ITEM = "no common item"
    FEW_COMMON_ITEMS = "few common items"
    INCOMPLETE_TABLE = "incomplete table"
    FEW_VOTES_PER_ITEM = "few votes per item"
    NO_SHARED_ERRORS = "no shared errors"
    TOO_MANY_WORKERS = "too many workers"
    TOO_MANY_PARAMETERS = "too many parameters"
    TOO_MANY_VOTE_PAIRS = "too many vote pairs"
    # The value is known, but not its interval.
    MODEL_FIGURE = "model figure"
    NO_INTERVAL = "no interval"
    NO_RNG = "no rng"
    GOLD_FOR_INTERVAL = "gold for interval"
    CLASSES_NOT_RESAMPLED = "classes not resampled"
    WORKERS_NOT_RESAMPLED = "workers not resampled"
    PAIRS_NOT_RESAMPLED = "pairs not resampled"
    UNDEFINED_RESAMPLES = "undefined resamples"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval; None if the data do not determine them, and `reason` says why.

    >>> Estimate(None, reason=Missing.NO_PAIRED_VOTES).reason
    <Missing.NO_PAIRED_VOTES: 'no paired votes'>
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: Missing | None = None  # why the value or the interval is missing

    @property
    def ends(self) -> tuple[float | None, float | None, float | None]:
        """The value and the two ends of its interval."""
        return self.value, self.low, self.high


def clopper_pearson(successes: float, trials: int, level: float) -> tuple[float, float]:
    """The exact interval of a binomial proportion; it covers the truth with probability at least `level`.

    >>> [round(end, 4) for end in clopper_pearson(0, 10, .95)]
    [0.0, 0.3085]
    """
    low, high = binomial_bounds(successes, trials, (1 - level) / 2)
    return float(low), float(high)


def binomial_bounds(successes: ArrayLike, trials: ArrayLike, tail: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of many proportions; each bound fails with probability at most `tail`.

    >>> low, high = binomial_bounds([0, 5, 0], [10, 5, 0], .05)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.5493, 0.0], [0.2589, 1.0, 1.0])
    """
    from scipy.special import betaincinv

    hits, misses = np.asarray(successes, dtype=float), np.subtract(trials, successes, dtype=float)
    low = np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1 - tail), 1.0)
    return low, high


def safe_log(probability: ArrayLike) -> FloatArray:
    """Natural logarithm that returns -inf for 0 without a warning, because a probability of 0 is legal."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(probability, dtype=float)))


def as_level(level: float) -> float:
    """A confidence level, strictly between .5 and 1: below that, an interval may not contain its own estimate."""
    least_level = 0.5
    if not isinstance(level, (int, float, np.integer, np.floating)) or not least_level < level < 1:
        raise ConfigError(f"level must lie between .5 and 1, not {level!r}.")
    return float(level)


def as_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """A generator as it is, or a new one from a seed; None is refused, so that every result is reproducible."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise ConfigError(f"rng must be a whole number of at least 0 or a numpy Generator, not {rng!r}.")
    return np.random.default_rng(rng)


def as_seed(rng: int | np.random.Generator) -> int:
    """One seed that several steps can share: the given one, or one drawn from the generator."""
    generator = as_generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(2**32))


def lock(value: Any) -> None:
    """Make all arrays and mappings of a frozen dataclass read-only; call this in __post_init__.

    The caller's own array stays writable: the dataclass keeps a read-only view of it.
    """
    for field in fields(value):
        content = getattr(value, field.name)
        if isinstance(content, np.ndarray):
            content = content.view()
            content.flags.writeable = False
            object.__setattr__(value, field.name, content)
        elif isinstance(content, Mapping):
            object.__setattr__(value, field.name, MappingProxyType(dict(content)))
