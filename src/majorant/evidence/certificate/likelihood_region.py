"""The likelihood region of the vote counts: the range of majority vote's loss, and its outline on a plane.

The loss is against the best rule that ignores who voted.  A model of two classes has three numbers, the share of class
0 and both accuracies; a plane shows two of them, and the third is profiled out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincinv, logit, ndtri

from majorant.evidence.certificate.count_models import HistogramCells, log_likelihood, theta_derivatives
from majorant.values import Estimate, FloatArray

BoolArray = NDArray[np.bool_]
RAY_HALVINGS = 18
LONGEST_RAY = 25.0  # logits: where the data leave a direction open, the search ends here
OUTLINE_ANGLES, OUTLINE_HALVINGS, NARROWINGS = 96, 12, 18
EDGE = 1e-9  # how close to 0 and 1 probabilities may come
Model = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # x, y, logit of the third -> (..., 3) shares


def count_loss(class_logs: tuple[FloatArray, FloatArray], cells: HistogramCells, total_c: FloatArray) -> FloatArray:
    """Loss of majority vote on untied counts under each model, as a share of all items.

    `class_logs` are those of a model, `total_c` items have as many votes as cell c. The sum runs over the cells that
    the best rule decides otherwise, so nothing cancels.
    """
    log0, log1 = (log + cells.log_orders_c for log in class_logs)
    lead_c = 2 * cells.zeros_c - cells.votes_c
    odds = np.where(lead_c == 0, 0.0, (log0 - log1) * np.sign(lead_c))
    lost = -np.exp(np.maximum(log0, log1)) * np.expm1(np.minimum(odds, 0))
    return np.asarray(lost @ total_c / (np.exp(np.logaddexp(log0, log1)) @ total_c))


def count_accuracy(class_logs: tuple[FloatArray, FloatArray], cells: HistogramCells, total_c: FloatArray) -> float:
    """P(majority is right), a tie a fair draw; with the loss added, that of the best rule."""
    log0, log1 = (log + cells.log_orders_c for log in class_logs)
    lead_c = 2 * cells.zeros_c - cells.votes_c
    both = np.exp(np.logaddexp(log0, log1))
    right = np.where(lead_c == 0, both / 2, np.exp(np.where(lead_c > 0, log0, log1))) @ total_c
    return float(right / (both @ total_c))


@dataclass(frozen=True, slots=True)
class ConfidenceRegion:
    """All models that the data allow: those with `value` at least `floor`, a at least r (coordinates 0 and 1)."""

    value: Callable[[FloatArray], FloatArray]  # (..., U) -> log-likelihood
    curvature: Callable[[FloatArray], FloatArray]  # (U,) -> (U, U), that of a hill counted positive
    floor: float
    low_u: FloatArray
    high_u: FloatArray

    def allows(self, theta: FloatArray) -> BoolArray:
        """Which models belong to the region."""
        within = (theta >= self.low_u).all(axis=-1) & (theta <= self.high_u).all(axis=-1)
        return np.asarray((self.value(theta) >= self.floor) & (theta[..., 0] >= theta[..., 1]) & within)


def binomial_region(cells: HistogramCells, items_c: FloatArray, best_3: FloatArray, cut: float) -> ConfidenceRegion:
    """Two binomials within `cut` nats of the best."""

    def value(theta: FloatArray) -> FloatArray:
        return log_likelihood(cells, items_c, theta)

    def curvature(theta_3: FloatArray) -> FloatArray:
        return np.asarray(-theta_derivatives(cells, items_c[None], theta_3[None])[1][0])

    free = np.full(3, np.inf)
    return ConfidenceRegion(value, curvature, float(value(best_3)) - cut, -free, free)


def loss_interval(
    region: ConfidenceRegion, centres: Sequence[FloatArray], loss: Callable[[FloatArray], FloatArray]
) -> Estimate:
    """Loss at the best model `centres[0]`, and its range over the region.

    The region is searched along rays from the best model, and from every other centre that lies in it, then again and
    again from near the point that went furthest.
    """
    value = float(loss(centres[0]))
    low, high = value, value
    for extreme in centres:
        if region.allows(extreme):
            centre = _tame(region, extreme)
            low = min(low, -_furthest(region, centre, lambda theta: -loss(theta))) if low > 0 else low
            high = max(high, _furthest(region, centre, loss))
    return Estimate(value, max(low, 0.0), high)


def _tame(region: ConfidenceRegion, theta_u: FloatArray) -> FloatArray:
    """A model about as good with logits closer to 0: rays from extreme models explore little of the region."""
    floor = float(region.value(theta_u)) - 0.05  # nats
    tame_u = theta_u.copy()
    for u in range(len(theta_u)):
        low, high = 0.0, 1.0
        for _ in range(RAY_HALVINGS // 2):
            tame_u[u] = theta_u[u] * (low + high) / 2
            good = tame_u[0] >= tame_u[1] and region.value(tame_u) >= floor
            low, high = (low, (low + high) / 2) if good else ((low + high) / 2, high)
        tame_u[u] = theta_u[u] * high
    return tame_u


def _furthest(region: ConfidenceRegion, centre_u: FloatArray, height: Callable[[FloatArray], FloatArray]) -> float:
    """The largest height found on rays within the region, each round's rays starting near the best point so far."""
    best, start_u = float(height(centre_u)), centre_u
    for _ in range(12):
        # Along the directions of the likelihood's curvature, each as long as one standard error or LONGEST_RAY.
        size_u, axes_uu = np.linalg.eigh(region.curvature(start_u))
        axes_uu = axes_uu / np.sqrt(np.maximum(np.abs(size_u), 1 / LONGEST_RAY**2))
        step_du = _sphere(120, len(centre_u)) @ axes_uu.T
        reach_d = _reach(region, start_u, step_du)
        # Along each ray from the best model to the edge of the region.
        theta = (start_u + np.array([0.25, 0.5, 0.75, 1.0])[:, None, None] * reach_d[:, None] * step_du).reshape(
            -1, len(centre_u)
        )
        height_t = np.where(region.allows(theta), height(theta), -np.inf)
        gained, best = float(height_t.max()) - best, max(best, float(height_t.max()))
        if gained <= 1e-4 * abs(best) + 1e-10:
            break
        # Of the way to the best point: rays from just inside the edge see the edge around it
        start_u = start_u + 0.8 * (theta[height_t.argmax()] - start_u)
    return best


def _reach(region: ConfidenceRegion, start_u: FloatArray, step_du: FloatArray) -> FloatArray:
    """How far along each step the region goes, by bisection."""
    low_d = np.zeros(len(step_du))
    high_d = LONGEST_RAY / np.abs(step_du).max(axis=1)
    for _ in range(RAY_HALVINGS):
        middle_d = (low_d + high_d) / 2
        inside_d = region.allows(start_u + middle_d[:, None] * step_du)
        low_d, high_d = np.where(inside_d, middle_d, low_d), np.where(inside_d, high_d, middle_d)
    return low_d


def _sphere(n: int, dimension: int) -> FloatArray:
    """n directions spread evenly, with their opposites: normal quantiles of a lattice of irrational steps."""
    root = 2.0
    for _ in range(40):  # the root of x ** (dimension + 1) = x + 1, whose powers are the steps
        root = (1 + root) ** (1 / (dimension + 1))
    lattice = (0.5 + np.outer(np.arange(1, n // 2 + 1), root ** -np.arange(1.0, dimension + 1))) % 1
    point = ndtri(lattice)
    point /= np.linalg.norm(point, axis=1, keepdims=True)
    return np.concatenate([point, -point])


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
    size = _ray_ends(cells, items_c, model, best, axes, floor)
    scale = np.maximum([size[:2].max(), size[2:].max()], EDGE)
    angle_d = np.linspace(0, 2 * np.pi, OUTLINE_ANGLES, endpoint=False)
    step_d2 = np.stack([np.cos(angle_d), np.sin(angle_d)], axis=1) * scale
    reach_d = _ray_ends(cells, items_c, model, best, step_d2, floor)
    edge_d2 = np.array(best[:2]) + reach_d[:, None] * step_d2
    return edge_d2[:, 0].clip(0, 1), edge_d2[:, 1].clip(0, 1)


def _ray_ends(
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
    for _ in range(OUTLINE_HALVINGS):
        middle_d = (low_d + high_d) / 2
        x_d, y_d = (start + middle_d[:, None] * step_d2).T
        inside_d = _profile(cells, items_c, model, x_d, y_d, best[2]) >= floor
        low_d, high_d = np.where(inside_d, middle_d, low_d), np.where(inside_d, high_d, middle_d)
    return low_d


def _profile(
    cells: HistogramCells, items_c: FloatArray, model: Model, x_d: FloatArray, y_d: FloatArray, third: float
) -> FloatArray:
    """The largest log-likelihood at each point over the third number, by golden section around its estimate."""

    golden = (np.sqrt(5) - 1) / 2
    third_range = 8.0  # logits that the third number is searched to either side of its estimate

    def value(third_d: FloatArray) -> FloatArray:
        share = model(x_d, y_d, third_d)
        allowed = ((share >= 0) & (share <= 1)).all(axis=-1) & (share[..., 1] + share[..., 2] >= 1)
        nu, a, b = np.moveaxis(share.clip(EDGE, 1 - EDGE), -1, 0)
        theta = np.stack([logit(a), logit(1 - b), logit(nu)], axis=-1)
        return np.where(allowed, log_likelihood(cells, items_c, theta), -np.inf)

    left_d, right_d = np.full(len(x_d), third - third_range), np.full(len(x_d), third + third_range)
    inner_d, outer_d = right_d - golden * (right_d - left_d), left_d + golden * (right_d - left_d)
    at_inner_d, at_outer_d = value(inner_d), value(outer_d)
    best_d = np.maximum.reduce([value(np.full(len(x_d), third)), at_inner_d, at_outer_d])
    for _ in range(NARROWINGS - 1):
        # Where both are forbidden, the estimate of the third number is the way back.
        neither_d = np.isneginf(at_inner_d) & np.isneginf(at_outer_d)
        lower_d = np.where(neither_d, inner_d > third, at_inner_d >= at_outer_d)
        left_d, right_d = np.where(lower_d, left_d, inner_d), np.where(lower_d, outer_d, right_d)
        kept_d, at_kept_d = np.where(lower_d, inner_d, outer_d), np.where(lower_d, at_inner_d, at_outer_d)
        reach_d = golden * (right_d - left_d)
        new_d = np.where(lower_d, right_d - reach_d, left_d + reach_d)
        at_new_d = value(new_d)
        best_d = np.maximum(best_d, at_new_d)
        inner_d, outer_d = np.where(lower_d, new_d, kept_d), np.where(lower_d, kept_d, new_d)
        at_inner_d, at_outer_d = np.where(lower_d, at_new_d, at_kept_d), np.where(lower_d, at_kept_d, at_new_d)
    return np.asarray(best_d)
