"""A number with its interval, or the reason why there is none; and the exact interval of a proportion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError

FloatArray = NDArray[np.float64]
LEAST_LEVEL = 0.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval; None where the data do not define it, and then `reason` says why.

    >>> Estimate(None, reason="no item holds two votes")
    Estimate(value=None, low=None, high=None, reason='no item holds two votes')
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""  # why the value, or the interval, is missing


def clopper_pearson(successes: float, trials: int, level: float) -> tuple[float, float]:
    """The exact interval of a binomial proportion; it holds the truth with probability at least `level`.

    >>> [round(end, 4) for end in clopper_pearson(0, 10, .95)]
    [0.0, 0.3085]
    """
    low, high = binomial_bounds(successes, trials, (1 - level) / 2)
    return float(low), float(high)


def binomial_bounds(successes: ArrayLike, trials: ArrayLike, tail: float) -> tuple[FloatArray, FloatArray]:
    """For many proportions a lower and an upper bound, each of which fails with probability at most `tail`.

    >>> low, high = binomial_bounds([0, 5, 0], [10, 5, 0], .05)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.5493, 0.0], [0.2589, 1.0, 1.0])
    """
    from scipy.special import betaincinv

    hits, misses = np.asarray(successes, dtype=float), np.subtract(trials, successes, dtype=float)
    low = np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.where(misses > 0, misses, 1), 1 - tail), 1.0)
    return low, high


def as_level(level: float) -> float:
    """A level of confidence, strictly between .5 and 1: at less, an interval may leave out its own estimate."""
    if not isinstance(level, (int, float, np.integer, np.floating)) or not LEAST_LEVEL < level < 1:
        raise ConfigError(f"level must lie between .5 and 1, not {level!r}.")
    return float(level)
