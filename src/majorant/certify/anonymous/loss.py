"""What majority vote gives away against the best rule that ignores who voted, over all models the data allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from majorant.certify.anonymous.likelihood import Cells, class_logs, log_likelihood, theta_derivatives
from majorant.interval import Estimate
from majorant.theory.checks import FloatArray

BoolArray = NDArray[np.bool_]

DIRECTIONS, ROUNDS = 120, 12
HALVINGS = 18
TOWARDS = 0.8  # of the way to the best point: rays from just inside the edge see the edge around it
NEGLIGIBLE = 0.05  # nats
ENOUGH, SMALLEST_LOSS = 1e-4, 1e-10  # a round that gains less, relatively and absolutely, is the last
LONGEST = 25.0  # logits: where the data leave a direction open, the search ends here
STOPS = np.array([0.25, 0.5, 0.75, 1.0])  # along each ray from the best model to the edge of the region


def untied_loss(class_log_0: FloatArray, class_log_1: FloatArray, cells: Cells, items_h: FloatArray) -> FloatArray:
    """P(majority is not the likelier class), weighted by how wrong that is, among items without a tie.

    `class_log_k[..., c]` is log P(class k, cell c | number of votes); `items_h[h]` items have h votes.  The sum runs
    over the cells that the best rule decides otherwise, so nothing cancels.
    """
    lead_c = 2 * cells.zeros_c - cells.votes_c
    share_c = items_h[cells.votes_c.astype(np.int64)] * (lead_c != 0)
    odds = (class_log_0 - class_log_1) * np.sign(lead_c)
    best = np.exp(np.maximum(class_log_0, class_log_1))
    lost = np.where(odds < 0, -best * np.expm1(np.minimum(odds, 0)), 0) @ share_c
    return np.asarray(lost / (np.exp(np.logaddexp(class_log_0, class_log_1)) @ share_c))


def untied_accuracy(class_log_0: FloatArray, class_log_1: FloatArray, cells: Cells, items_h: FloatArray) -> float:
    """P(majority is right) among items without a tie; with the loss added, that of the best rule."""
    lead_c = 2 * cells.zeros_c - cells.votes_c
    share_c = items_h[cells.votes_c.astype(np.int64)] * (lead_c != 0)
    right = np.exp(np.where(lead_c > 0, class_log_0, class_log_1)) @ share_c
    return float(right / (np.exp(np.logaddexp(class_log_0, class_log_1)) @ share_c))


def binomial_loss(cells: Cells, items_h: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The loss as a function of theta (..., 3)."""

    def loss(theta: FloatArray) -> FloatArray:
        log0, log1 = class_logs(cells, theta)
        return untied_loss(log0 + cells.log_orders_c, log1 + cells.log_orders_c, cells, items_h)

    return loss


@dataclass(frozen=True, slots=True)
class Region:
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


def binomial_region(cells: Cells, items_c: FloatArray, best_3: FloatArray, cut: float) -> Region:
    """Two binomials within `cut` nats of the best."""

    def value(theta: FloatArray) -> FloatArray:
        return log_likelihood(cells, items_c, theta)

    def curvature(theta_3: FloatArray) -> FloatArray:
        return np.asarray(-theta_derivatives(cells, items_c[None], theta_3[None])[1][0])

    free = np.full(3, np.inf)
    return Region(value, curvature, float(value(best_3)) - cut, -free, free)


def loss_interval(region: Region, centres: Sequence[FloatArray], loss: Callable[[FloatArray], FloatArray]) -> Estimate:
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


def _tame(region: Region, theta_u: FloatArray) -> FloatArray:
    """A model about as good with logits as near to 0 as may be: rays from the ends of the scale see little."""
    floor = float(region.value(theta_u)) - NEGLIGIBLE
    tame_u = theta_u.copy()
    for u in range(len(theta_u)):
        low, high = 0.0, 1.0
        for _ in range(HALVINGS // 2):
            tame_u[u] = theta_u[u] * (low + high) / 2
            good = tame_u[0] >= tame_u[1] and region.value(tame_u) >= floor
            low, high = (low, (low + high) / 2) if good else ((low + high) / 2, high)
        tame_u[u] = theta_u[u] * high
    return tame_u


def _axes(region: Region, theta_u: FloatArray) -> FloatArray:
    """Columns: the directions of the likelihood's curvature, each as long as one standard error or LONGEST."""
    size, direction = np.linalg.eigh(region.curvature(theta_u))
    return np.asarray(direction / np.sqrt(np.maximum(np.abs(size), 1 / LONGEST**2)))


def _furthest(region: Region, centre_u: FloatArray, height: Callable[[FloatArray], FloatArray]) -> float:
    """The largest height found on rays within the region, each round's rays starting near the best point so far."""
    best, start_u = float(height(centre_u)), centre_u
    for _ in range(ROUNDS):
        step_du = _sphere(DIRECTIONS, len(centre_u)) @ _axes(region, start_u).T
        reach_d = _reach(region, start_u, step_du)
        theta = (start_u + STOPS[:, None, None] * reach_d[:, None] * step_du).reshape(-1, len(centre_u))
        found = np.where(region.allows(theta), height(theta), -np.inf)
        gained, best = float(found.max()) - best, max(best, float(found.max()))
        if gained <= ENOUGH * abs(best) + SMALLEST_LOSS:
            break
        start_u = start_u + TOWARDS * (theta[found.argmax()] - start_u)
    return best


def _reach(region: Region, start_u: FloatArray, step_du: FloatArray) -> FloatArray:
    """How far along each step the region goes, by bisection."""
    low_d = np.zeros(len(step_du))
    high_d = LONGEST / np.abs(step_du).max(axis=1)
    for _ in range(HALVINGS):
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
