"""Uphill to a local maximum within bounds, for many problems at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from majorant.theory.checks import FloatArray

IntArray = NDArray[np.int64]
MAX_STEPS = 60
FIRST_RADIUS, LAST_RADIUS, WIDEST_RADIUS = 1.0, 1e-7, 6.0
GAIN = 1e-7  # nats: an ascent that promises less has arrived
FLATTEST = 1e-13  # of the largest curvature

Value = Callable[[FloatArray, IntArray], FloatArray]  # points (P, U) of the problems at these places -> (P,)
Slopes = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]  # -> slope (P, U) and curvature (P, U, U)


def ascend(
    value: Value, slopes: Slopes, start_pu: FloatArray, low_pu: FloatArray, high_pu: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A local maximum of each problem within its bounds: the point and the value.

    Newton's method with the curvature taken positive in every direction, each step within a radius that shrinks where
    the step does not pay; the bounds are kept by projection.

    >>> low, high = np.array([[-9., 1.]]), np.array([[9., 9.]])
    >>> def value(point, _):
    ...     return -(point**2).sum(axis=1)
    >>> def slopes(point, _):
    ...     return -2 * point, np.tile(-2 * np.eye(2), (len(point), 1, 1))
    >>> point, top = ascend(value, slopes, np.array([[3., 4.]]), low, high)
    >>> point.tolist(), top.tolist()
    ([[0.0, 1.0]], [-1.0])
    """
    point_pu = np.clip(start_pu, low_pu, high_pu)
    going = np.arange(len(point_pu))
    value_p, radius_p = value(point_pu, going), np.full(len(point_pu), FIRST_RADIUS)
    for _ in range(MAX_STEPS):
        point, low, high = point_pu[going], low_pu[going], high_pu[going]
        slope, bend = slopes(point, going)
        fixed = ((slope <= 0) & (point <= low)) | ((slope >= 0) & (point >= high))
        step = _step(np.where(fixed, 0, slope), bend, fixed, radius_p[going])
        promise = np.where(fixed, 0, slope * step).sum(axis=1)
        tried = np.clip(point + step, low, high)
        found = value(tried, going)
        better = found > value_p[going]
        won = going[better]
        point_pu[won], value_p[won] = tried[better], found[better]
        radius_p[going] = np.where(better, np.minimum(2 * radius_p[going], WIDEST_RADIUS), radius_p[going] / 4)
        going = going[(promise > GAIN) & (radius_p[going] > LAST_RADIUS)]
        if not len(going):
            break
    return point_pu, value_p


def _step(slope_pu: FloatArray, bend_puu: FloatArray, fixed_pu: NDArray[np.bool_], radius_p: FloatArray) -> FloatArray:
    """Newton's step with every curvature taken for a hill's, not longer than the radius in any coordinate."""
    bend_puu = np.where(fixed_pu[:, :, None] | fixed_pu[:, None, :], 0, bend_puu)
    curve_pu, axis_puu = np.linalg.eigh(bend_puu)
    size_pu = np.abs(curve_pu)
    size_pu = np.maximum(size_pu, FLATTEST * size_pu.max(axis=1, keepdims=True) + 1e-30)
    along_pu = np.einsum("pij,pi->pj", axis_puu, slope_pu) / size_pu
    step_pu = np.where(fixed_pu, 0, np.einsum("pij,pj->pi", axis_puu, along_pu))
    length_p = np.abs(step_pu).max(axis=1)
    return np.asarray(step_pu * np.minimum(1, radius_p / np.maximum(length_p, 1e-300))[:, None])
