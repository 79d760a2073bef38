"""From resampled margins to verdicts: limits, what is clearly wrong, and what it would take to decide."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

import numpy as np
from numpy.typing import NDArray

from majorant.certify.certificate import Verdict

FloatArray = NDArray[np.float64]
RARE_SHARE = 0.01  # of the items: what holds no more cannot keep the data set from a verdict


def weakest_verdict(verdicts: Collection[Verdict]) -> Verdict:
    """The verdict on all parts together: refuted if one is, supported if all are.

    >>> weakest_verdict(["supported", "undecided"]), weakest_verdict(["supported", "refuted"])
    ('undecided', 'refuted')
    """
    if "refuted" in verdicts:
        return "refuted"
    return "supported" if set(verdicts) == {"supported"} else "undecided"


def lower_limit(value_b: FloatArray, level: float) -> FloatArray:
    """The bootstrap's lower limit along the first axis; margins of inf are legal.

    >>> float(lower_limit(np.arange(100.), .95))
    4.0
    """
    return np.asarray(np.quantile(value_b, 1 - level, axis=0, method="lower"))


def deviation(value_b: FloatArray) -> FloatArray:
    """The bootstrap's standard deviation along the first axis, inf where a value is infinite."""
    finite = np.isfinite(value_b).all(axis=0)
    return np.where(finite, np.where(finite, value_b, 0.0).std(axis=0, ddof=1), np.inf)


def supported_together(value_p: FloatArray, value_bp: FloatArray, level: float) -> NDArray[np.bool_]:
    """Which margins are above 0, all of them together at the level; margins of inf are legal.

    Where the lower limit of each is, all are: one that is not passes with no more than the error.  Where it is not,
    each has its share of the error (Bonferroni): no replicate may be at 0 or below, nor the margin less its spread
    downwards as often as a normal law's quantile at that share says.

    >>> value_bp = np.random.default_rng(0).normal([1.0, 0.1], .2, size=(200, 2))
    >>> supported_together(np.array([1.0, 0.1]), value_bp, .95).tolist()
    [True, False]
    """
    if (lower_limit(value_bp, level) > 0).all():
        return np.ones(len(value_p), dtype=bool)
    return clearly_positive(value_p, value_bp, len(value_p), level)


def clearly_positive(value_p: FloatArray, value_bp: FloatArray, n_tried: int, level: float) -> NDArray[np.bool_]:
    """Which values are above 0 at the level, all `n_tried` taken together (Bonferroni), by their spread downwards."""
    from scipy.special import ndtri

    middle_p = np.median(value_bp, axis=0)
    known_p = np.isfinite(middle_p) & np.isfinite(value_p)
    below_bp = np.maximum(np.where(known_p, middle_p, 0.0) - np.where(known_p, value_bp, 0.0), 0.0)
    spread_p = np.sqrt(2 * (below_bp**2).mean(axis=0))
    far_p = np.where(known_p, value_p, np.inf) > ndtri(1 - (1 - level) / max(n_tried, 1)) * spread_p
    return np.asarray(far_p & (value_bp > 0).all(axis=0))


def fresh_to_tell_margin(margin: float, deviation: float, n_items: float, level: float) -> int | None:
    """Fresh items by which alone a margin this large is told from 0 with probability .8; None if it is not > 0.

    The items at hand have been looked at: to judge them again together with others would be a second test of the same
    items, at no level.

    >>> fresh_to_tell_margin(.2, .1, 1000, .95)
    1546
    """
    from scipy.special import ndtri

    if not margin > 0 or not 0 < deviation < np.inf:
        return None
    needed = n_items * ((ndtri(level) + ndtri(0.8)) * deviation / margin) ** 2
    return ceil(needed) if needed < 1e12 else None


def spread_upwards(value_bp: FloatArray) -> FloatArray:
    """The deviation of the replicates above their median, which for a symmetric law is the standard deviation.

    Log-odds of a worker who hardly errs have a long tail away from 0, and their whole deviation would hide how far they
    stay from it; inf where a value is infinite.

    >>> spread_upwards(np.array([[-9.], [-1.], [0.], [1.], [1.]])).round(3).tolist()
    [0.894]
    """
    finite_p = np.isfinite(value_bp).all(axis=0)
    shown_bp = np.where(finite_p, value_bp, 0.0)
    above_bp = np.maximum(shown_bp - np.median(shown_bp, axis=0), 0.0)
    return np.where(finite_p, np.sqrt(2 * (above_bp**2).mean(axis=0)), np.inf)


def clearly_negative(value_p: FloatArray, value_bp: FloatArray, n_tried: int, level: float) -> NDArray[np.bool_]:
    """Which log-odds are below 0 at the level, all `n_tried` taken together (Bonferroni), by their spread upwards.

    No replicate may be at 0 or above: with few items the spread alone, a normal law's, refutes too often.

    >>> clearly_negative(np.array([-1.]), np.array([[-1.3], [-.7], [-1.]]), 10, .95).tolist()
    [True]
    """
    from scipy.special import ndtri

    spread_p = spread_upwards(value_bp)
    far_p = value_p + ndtri(1 - (1 - level) / max(n_tried, 1)) * spread_p < 0
    return np.asarray(far_p & (value_bp < 0).all(axis=0))
