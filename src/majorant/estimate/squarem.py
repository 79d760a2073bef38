"""SQUAREM: from three successive points of a fixed-point iteration, a leap along them as far as their change suggests.

Varadhan and Roland, Scandinavian Journal of Statistics 35 (2008), scheme S3: with the step r = x1 - x0 and the
curvature v = (x2 - x1) - r, the leap is x0 + 2 a r + a^2 v with a = |r| / |v|; a = 1 is x2 itself.

Three loops leap.  `em.climb` follows one problem whose step tells the objective too, so that a leap costs no step of
its own: two steps, a leap, two steps.  `resampled` and `certify.constrained_likelihood` follow many problems at once,
which know no objective or must pay for it, and take a step from where a leap ends before they go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from majorant.values import TINY, FloatArray

Parts = Sequence[FloatArray]
Norm = Callable[[Parts], Sequence[Any]]  # for each part a length that broadcasts to it: one for all, or one per problem


def whole_norm(parts: Parts) -> list[float]:
    """One length of all parts together."""
    return [float(np.sqrt(sum(float((part * part).sum()) for part in parts)))] * len(parts)


def squarem(old: Parts, first: Parts, second: Parts, norm: Norm, longest: float) -> tuple[list[FloatArray], list[Any]]:
    """Where the leap ends, part by part, and the lengths a, between 1 and `longest`.

    >>> ends, lengths = squarem([np.array([0.])], [np.array([.5])], [np.array([.75])], whole_norm, 100.)
    >>> [end.tolist() for end in ends], [float(length) for length in lengths]
    ([[1.0]], [2.0])
    """
    step = [np.asarray(b - a) for a, b in zip(old, first, strict=True)]
    curvature = [np.asarray(c - b) for b, c in zip(first, second, strict=True)]
    for v, r in zip(curvature, step, strict=True):
        v -= r  # in place: these may be large
    lengths = [_length(r, v, longest) for r, v in zip(norm(step), norm(curvature), strict=True)]
    for a, r, v, length in zip(old, step, curvature, lengths, strict=True):
        r *= 2 * length
        r += a
        v *= length**2
        r += v
    return step, lengths


def largest_change(old: Parts, new: Parts, n_problems: int = 1) -> FloatArray:
    """By how much a parameter has moved at most, for each problem, the last axis; relative where it is above 1.

    >>> largest_change([np.array([0.5, 0.25])], [np.array([0.5, 0.5])]).tolist()
    [0.25]
    >>> largest_change([np.array([[0.5, 8.0]])], [np.array([[0.25, 10.0]])], n_problems=2).tolist()
    [0.25, 0.2]
    """
    change_b = np.zeros(n_problems)
    for a, b in zip(old, new, strict=True):
        moved_xb, size_xb = np.abs(a - b).reshape(-1, n_problems), np.abs(b).reshape(-1, n_problems)
        if size_xb.max(initial=0.0) > 1.0:
            moved_xb = moved_xb / np.maximum(size_xb, 1.0)
        np.maximum(change_b, moved_xb.max(axis=0, initial=0.0), out=change_b)
    return change_b


def _length(step: Any, curvature: Any, longest: float) -> Any:
    """No leap where steps no longer change."""
    return np.where(curvature > 0, np.clip(step / np.maximum(curvature, TINY), 1.0, longest), 1.0)
