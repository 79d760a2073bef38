"""The likelihood region of vote counts: its outline, and the range of majority vote's loss in it.

The loss is relative to the best rule that ignores who voted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from majorant.evidence.certificate.count_models import HistogramCells, class_logs, log_likelihood, theta_derivatives
from majorant.values import Estimate, FloatArray

LONGEST_RAY = 25.0  # logits; limits the search in directions that the data do not determine


def count_loss(theta: FloatArray, cells: HistogramCells, total_c: FloatArray) -> FloatArray:
    """Loss of majority vote on untied counts under each model, as a share of all items.

    `total_c` is the number of items with as many votes as cell c. The sum is over the cells that the best rule decides
    differently, so there is no cancellation.
    """
    log0, log1 = (log + cells.log_orders_c for log in class_logs(cells, theta))
    lead_c = 2 * cells.zeros_c - cells.votes_c
    odds = np.where(lead_c == 0, 0.0, (log0 - log1) * np.sign(lead_c))
    lost = -np.exp(np.maximum(log0, log1)) * np.expm1(np.minimum(odds, 0))
    return np.asarray(lost @ total_c / (np.exp(np.logaddexp(log0, log1)) @ total_c))


def count_accuracy(theta_3: FloatArray, cells: HistogramCells, total_c: FloatArray) -> float:
    """Accuracy of majority vote, with ties decided by a coin; adding the loss gives that of the best rule."""
    log0, log1 = (log + cells.log_orders_c for log in class_logs(cells, theta_3))
    lead_c = 2 * cells.zeros_c - cells.votes_c
    both = np.exp(np.logaddexp(log0, log1))
    right = np.where(lead_c == 0, both / 2, np.exp(np.where(lead_c > 0, log0, log1))) @ total_c
    return float(right / (both @ total_c))


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceRegion:
    """All pairs of binomials with a log-likelihood of at least `floor`, and a >= r."""

    cells: HistogramCells
    items_c: FloatArray
    floor: float

    @classmethod
    def around(cls, cells: HistogramCells, items_c: FloatArray, best_3: FloatArray, cut: float) -> ConfidenceRegion:
        """The models within `cut` nats of the best."""
        return cls(cells, items_c, float(log_likelihood(cells, items_c, best_3)) - cut)

    def value(self, theta: FloatArray) -> FloatArray:
        """The log-likelihood."""
        return log_likelihood(self.cells, self.items_c, theta)

    def curvature(self, theta_3: FloatArray) -> FloatArray:
        """The negative curvature of the log-likelihood, which is positive at a maximum."""
        return np.asarray(-theta_derivatives(self.cells, self.items_c[None], theta_3[None])[1][0])

    def allows(self, theta: FloatArray) -> NDArray[np.bool_]:
        """Whether each model belongs to the region."""
        return np.asarray((self.value(theta) >= self.floor) & (theta[..., 0] >= theta[..., 1]))


def loss_interval(
    region: ConfidenceRegion, centres: Sequence[FloatArray], loss: Callable[[FloatArray], FloatArray]
) -> Estimate:
    """Loss at the best model `centres[0]`, and its range over the region.

    The region is searched along rays from the best model and from every other centre in the region, and then repeatedly
    along rays from near the most extreme point so far.
    """
    value = float(loss(centres[0]))
    low, high = value, value
    for extreme in centres:
        if region.allows(extreme):
            centre = _moderate(region, extreme)
            low = min(low, -_furthest(region, centre, lambda theta: -loss(theta))) if low > 0 else low
            high = max(high, _furthest(region, centre, loss))
    return Estimate(value, max(low, 0.0), high)


def _moderate(region: ConfidenceRegion, theta_u: FloatArray) -> FloatArray:
    """A similarly likely model with logits closer to 0, because rays from extreme models cover little of the region."""
    floor = float(region.value(theta_u)) - 0.05  # nats
    moderate_u = theta_u.copy()
    for u in range(len(theta_u)):
        low, high = 0.0, 1.0
        for _ in range(9):
            moderate_u[u] = theta_u[u] * (low + high) / 2
            good = moderate_u[0] >= moderate_u[1] and region.value(moderate_u) >= floor
            low, high = (low, (low + high) / 2) if good else ((low + high) / 2, high)
        moderate_u[u] = theta_u[u] * high
    return moderate_u


def _furthest(region: ConfidenceRegion, centre_u: FloatArray, height: Callable[[FloatArray], FloatArray]) -> float:
    """The largest height on rays within the region; each round of rays starts near the best point so far."""
    best, start_u = float(height(centre_u)), centre_u
    for _ in range(12):
        step_du, reach_d = _rays(region, start_u, 120)
        # Points along each ray from its start to the edge of the region.
        theta = (start_u + np.array([0.25, 0.5, 0.75, 1.0])[:, None, None] * reach_d[:, None] * step_du).reshape(
            -1, len(centre_u)
        )
        height_t = np.where(region.allows(theta), height(theta), -np.inf)
        gained, best = float(height_t.max()) - best, max(best, float(height_t.max()))
        if gained <= 1e-4 * abs(best) + 1e-10:
            break
        # Start just inside the edge, where rays reach the edge around the best point.
        start_u = start_u + 0.8 * (theta[height_t.argmax()] - start_u)
    return best


def outline(region: ConfidenceRegion, best_u: FloatArray) -> FloatArray:
    """Models on the edge of the region, in all directions, (D, U)."""
    centre_u = _moderate(region, best_u)
    step_du, reach_d = _rays(region, centre_u, 2_000)
    return np.asarray(centre_u + reach_d[:, None] * step_du)


def _rays(region: ConfidenceRegion, start_u: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Steps in n directions, each about one standard error but at most LONGEST_RAY, and how many reach the edge."""
    size_u, axes_uu = np.linalg.eigh(region.curvature(start_u))
    axes_uu = axes_uu / np.sqrt(np.maximum(np.abs(size_u), 1 / LONGEST_RAY**2))
    step_du = _sphere(n, len(start_u)) @ axes_uu.T
    low_d = np.zeros(len(step_du))
    high_d = LONGEST_RAY / np.abs(step_du).max(axis=1)
    for _ in range(18):
        middle_d = (low_d + high_d) / 2
        inside_d = region.allows(start_u + middle_d[:, None] * step_du)
        low_d, high_d = np.where(inside_d, middle_d, low_d), np.where(inside_d, high_d, middle_d)
    return step_du, low_d


def _sphere(n: int, dimension: int) -> FloatArray:
    """Return n evenly spread directions with their opposites: normal quantiles of a lattice with irrational steps."""
    root = 2.0
    for _ in range(40):  # the root of x ** (dimension + 1) = x + 1, whose powers are the steps
        root = (1 + root) ** (1 / (dimension + 1))
    lattice = (0.5 + np.outer(np.arange(1, n // 2 + 1), root ** -np.arange(1.0, dimension + 1))) % 1
    point = ndtri(lattice)
    point /= np.linalg.norm(point, axis=1, keepdims=True)
    return np.concatenate([point, -point])
