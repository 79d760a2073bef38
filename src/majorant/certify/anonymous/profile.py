"""Which pairs of numbers the vote counts allow: a likelihood region seen from two sides.

A model of two classes has three numbers: the share of class 0 and both accuracies.  A plane shows two of them; the
third is chosen for each point as the votes like it best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, gammaincinv, logit

from majorant.certify.anonymous.likelihood import HistogramCells, log_likelihood
from majorant.theory.checks import FloatArray

ANGLES, HALVINGS, NARROWINGS = 96, 12, 18
EDGE = 1e-9  # how close to 0 and 1 probabilities may come
GOLDEN = (np.sqrt(5) - 1) / 2
WIDEST = 8.0  # logits that the third number is searched to either side of its estimate

Model = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # x, y, logit of the third -> (..., 3) shares


def accuracies_model(x: FloatArray, y: FloatArray, third: FloatArray) -> FloatArray:
    """The plane of T00 (x) and T11 (y); the third number is the share of class 0."""
    return np.stack(np.broadcast_arrays(expit(third), x, y), axis=-1)


def noise_model(x: FloatArray, y: FloatArray, third: FloatArray) -> FloatArray:
    """The plane of the share of class 0 (x) and the mean of both error rates (y); the third is how they divide."""
    split = expit(third)
    return np.stack(np.broadcast_arrays(x, 1 - 2 * y * split, 1 - 2 * y * (1 - split)), axis=-1)


def outline(
    cells: HistogramCells, items_c: FloatArray, model: Model, best: tuple[float, float, float], level: float
) -> tuple[FloatArray, FloatArray]:
    """The edge of the region of (x, y) at `level`, a closed line around `best` = (x, y, logit of the third).

    A profile likelihood region (two degrees of freedom), so its level holds in the limit of many items; seen from the
    best point, it is taken to have one edge in every direction.
    """
    floor = _profile(cells, items_c, model, np.array([best[0]]), np.array([best[1]]), best[2])
    floor = floor - gammaincinv(1.0, level)
    axes = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], dtype=float)
    size = _reach(cells, items_c, model, best, axes, floor)
    scale = np.maximum([size[:2].max(), size[2:].max()], EDGE)
    angle_d = np.linspace(0, 2 * np.pi, ANGLES, endpoint=False)
    step_d2 = np.stack([np.cos(angle_d), np.sin(angle_d)], axis=1) * scale
    reach_d = _reach(cells, items_c, model, best, step_d2, floor)
    edge_d2 = np.array(best[:2]) + reach_d[:, None] * step_d2
    return edge_d2[:, 0].clip(0, 1), edge_d2[:, 1].clip(0, 1)


def _reach(
    cells: HistogramCells,
    items_c: FloatArray,
    model: Model,
    best: tuple[float, float, float],
    step_d2: FloatArray,
    floor: FloatArray,
) -> FloatArray:
    """How far along each step the region goes, by bisection between the best point and the border of the plane."""
    start = np.array(best[:2])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step_d2 > 0, (1 - start) / step_d2, np.where(step_d2 < 0, -start / step_d2, np.inf))
    low_d, high_d = np.zeros(len(step_d2)), room.min(axis=1)
    for _ in range(HALVINGS):
        middle_d = (low_d + high_d) / 2
        x_d, y_d = (start + middle_d[:, None] * step_d2).T
        inside_d = _profile(cells, items_c, model, x_d, y_d, best[2]) >= floor
        low_d, high_d = np.where(inside_d, middle_d, low_d), np.where(inside_d, high_d, middle_d)
    return low_d


def _profile(
    cells: HistogramCells, items_c: FloatArray, model: Model, x_d: FloatArray, y_d: FloatArray, third: float
) -> FloatArray:
    """The largest log-likelihood at each point over the third number, by golden section around its estimate."""

    def value(third_d: FloatArray) -> FloatArray:
        share = model(x_d, y_d, third_d)
        allowed = ((share >= 0) & (share <= 1)).all(axis=-1) & (share[..., 1] + share[..., 2] >= 1)
        nu, a, b = np.moveaxis(share.clip(EDGE, 1 - EDGE), -1, 0)
        theta = np.stack([logit(a), logit(1 - b), logit(nu)], axis=-1)
        return np.where(allowed, log_likelihood(cells, items_c, theta), -np.inf)

    left_d, right_d = np.full(len(x_d), third - WIDEST), np.full(len(x_d), third + WIDEST)
    inner_d, outer_d = right_d - GOLDEN * (right_d - left_d), left_d + GOLDEN * (right_d - left_d)
    at_inner_d, at_outer_d = value(inner_d), value(outer_d)
    best_d = np.maximum.reduce([value(np.full(len(x_d), third)), at_inner_d, at_outer_d])
    for _ in range(NARROWINGS - 1):
        # Where both are forbidden, the estimate of the third number is the way back.
        neither_d = np.isneginf(at_inner_d) & np.isneginf(at_outer_d)
        lower_d = np.where(neither_d, inner_d > third, at_inner_d >= at_outer_d)
        left_d, right_d = np.where(lower_d, left_d, inner_d), np.where(lower_d, outer_d, right_d)
        kept_d, at_kept_d = np.where(lower_d, inner_d, outer_d), np.where(lower_d, at_inner_d, at_outer_d)
        reach_d = GOLDEN * (right_d - left_d)
        new_d = np.where(lower_d, right_d - reach_d, left_d + reach_d)
        at_new_d = value(new_d)
        best_d = np.maximum(best_d, at_new_d)
        inner_d, outer_d = np.where(lower_d, new_d, kept_d), np.where(lower_d, kept_d, new_d)
        at_inner_d, at_outer_d = np.where(lower_d, at_new_d, at_kept_d), np.where(lower_d, at_kept_d, at_new_d)
    return np.asarray(best_d)
