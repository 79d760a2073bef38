"""The least value of a function of a few numbers within bounds, by Nelder and Mead's simplex.

Its points are those of SciPy's `minimize(method="Nelder-Mead")`; loading that takes longer than a whole calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from majorant.kernels import FloatArray

FIRST_STEP, STEP_FROM_ZERO = 0.05, 0.00025  # the first simplex: relative, and where a number is 0
STEPS_PER_NUMBER = 200


def least(
    function: Callable[[FloatArray], float],
    start: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    *,
    precision: float,
    value_precision: float,
) -> FloatArray:
    """Where the function is least, once no corner of the simplex is further off, in place or value, than told.

    >>> least(lambda x: (x[0] - 1)**2 + (x[1] - 3)**2, [0, 0], [(-5, 5), (0, 2)], precision=1e-4,
    ...       value_precision=1e-9).round(3).tolist()
    [1.0, 2.0]
    """
    n, (low, high) = len(start), np.array(bounds, dtype=float).T
    corner = np.array([start] * (n + 1), dtype=float)
    for k in range(n):
        corner[k + 1, k] = corner[0, k] * (1 + FIRST_STEP) if corner[0, k] else STEP_FROM_ZERO
    corner = np.clip(np.where(corner > high, 2 * high - corner, corner), low, high)
    value = np.array([function(x) for x in corner])
    n_calls = n + 1
    for _ in range(STEPS_PER_NUMBER * n):
        order = np.argsort(value, kind="stable")
        corner, value = corner[order], value[order]
        near = np.abs(corner[1:] - corner[0]).max() <= precision and (value[1:] - value[0]).max() <= value_precision
        if near or n_calls >= STEPS_PER_NUMBER * n:
            break
        middle = corner[:-1].sum(axis=0) / n
        other = np.clip(2 * middle - corner[-1], low, high)
        at_other = function(other)
        n_calls += 1
        if value[0] <= at_other < value[-2]:
            corner[-1], value[-1] = other, at_other
            continue
        # Twice as far where that was the best of all; else half as far, on the better side.
        share = 2.0 if at_other < value[0] else 0.5 if at_other < value[-1] else -0.5
        further = np.clip((1 + share) * middle - share * corner[-1], low, high)
        at_further = function(further)
        n_calls += 1
        if share == 2.0:
            better = at_further < at_other
            corner[-1], value[-1] = (further, at_further) if better else (other, at_other)
        elif at_further <= at_other if share == 0.5 else at_further < value[-1]:
            corner[-1], value[-1] = further, at_further
        else:
            corner[1:] = np.clip(corner[0] + 0.5 * (corner[1:] - corner[0]), low, high)
            value[1:] = [function(x) for x in corner[1:]]
            n_calls += n
    return np.asarray(corner[np.argmin(value)])
