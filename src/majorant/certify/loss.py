"""What majority vote gives away against the best rule that ignores who voted, over all models the data allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from majorant.certify.likelihood import Cells, class_logs, log_likelihood, theta_derivatives
from majorant.interval import Estimate
from majorant.theory.checks import FloatArray

BoolArray = NDArray[np.bool_]

DIRECTIONS, ROUNDS = 96, 20
HALVINGS = 24
TOWARDS = 0.8  # of the way to the best point: rays from just inside the edge see the edge around it
NEGLIGIBLE = 0.05  # nats
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


def binomial_loss(cells: Cells, items_h: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The loss as a function of theta (..., 3)."""

    def loss(theta: FloatArray) -> FloatArray:
        log0, log1 = class_logs(cells, theta)
        return untied_loss(log0 + cells.log_orders_c, log1 + cells.log_orders_c, cells, items_h)

    return loss


def loss_interval(
    cells: Cells,
    items_c: FloatArray,
    centres: Sequence[FloatArray],
    cut: float,
    loss: Callable[[FloatArray], FloatArray],
) -> Estimate:
    """Loss at the best model `centres[0]`, and its range over all models within `cut` nats of it.

    The region is searched along rays from the best model, and from every other centre that lies in it, then
    again and again from near the point that went furthest.
    """
    floor = float(log_likelihood(cells, items_c, centres[0])) - cut

    def allowed(theta: FloatArray) -> BoolArray:
        value = log_likelihood(cells, items_c, theta)
        return np.asarray((value >= floor) & (theta[..., 0] >= theta[..., 1]))

    def axes(theta_3: FloatArray) -> FloatArray:
        return _axes(cells, items_c, theta_3)

    value = float(loss(centres[0]))
    low, high = value, value
    for extreme in centres:
        if allowed(extreme):
            centre = _tame(cells, items_c, extreme)
            low = min(low, -_furthest(centre, axes, allowed, lambda theta: -loss(theta))) if low > 0 else low
            high = max(high, _furthest(centre, axes, allowed, loss))
    return Estimate(value, max(low, 0.0), high)


def _tame(cells: Cells, items_c: FloatArray, theta_3: FloatArray) -> FloatArray:
    """A model about as good with logits as near to 0 as may be: rays from the ends of the scale see little."""
    floor = float(log_likelihood(cells, items_c, theta_3)) - NEGLIGIBLE
    tame_3 = theta_3.copy()
    for i in range(3):
        low, high = 0.0, 1.0
        for _ in range(HALVINGS // 3):
            tame_3[i] = theta_3[i] * (low + high) / 2
            good = tame_3[0] >= tame_3[1] and log_likelihood(cells, items_c, tame_3) >= floor
            low, high = (low, (low + high) / 2) if good else ((low + high) / 2, high)
        tame_3[i] = theta_3[i] * high
    return tame_3


def _axes(cells: Cells, items_c: FloatArray, centre_3: FloatArray) -> FloatArray:
    """Columns: the directions of the likelihood's curvature, each as long as one standard error or LONGEST."""
    _, bend = theta_derivatives(cells, items_c[None], centre_3[None])
    size, direction = np.linalg.eigh(-bend[0])
    return np.asarray(direction / np.sqrt(np.maximum(np.abs(size), 1 / LONGEST**2)))


def _furthest(
    centre_3: FloatArray,
    axes: Callable[[FloatArray], FloatArray],
    allowed: Callable[[FloatArray], BoolArray],
    height: Callable[[FloatArray], FloatArray],
) -> float:
    """The largest height found on rays within the region, each round's rays starting near the best point so far."""
    best, start_3 = float(height(centre_3)), centre_3
    for _ in range(ROUNDS):
        step_d3 = _sphere(DIRECTIONS) @ axes(start_3).T
        reach_d = _reach(start_3, step_d3, allowed)
        theta = (start_3 + STOPS[:, None, None] * reach_d[:, None] * step_d3).reshape(-1, 3)
        found = np.where(allowed(theta), height(theta), -np.inf)
        if found.max() <= best:
            break
        best = float(found.max())
        start_3 = start_3 + TOWARDS * (theta[found.argmax()] - start_3)
    return best


def _reach(centre_3: FloatArray, step_d3: FloatArray, allowed: Callable[[FloatArray], BoolArray]) -> FloatArray:
    """How far along each step the region goes, by bisection."""
    low_d = np.zeros(len(step_d3))
    high_d = LONGEST / np.abs(step_d3).max(axis=1)
    for _ in range(HALVINGS):
        middle_d = (low_d + high_d) / 2
        inside_d = allowed(centre_3 + middle_d[:, None] * step_d3)
        low_d, high_d = np.where(inside_d, middle_d, low_d), np.where(inside_d, high_d, middle_d)
    return low_d


def _sphere(n: int) -> FloatArray:
    """n points spread evenly over the sphere: a golden spiral."""
    turn = np.arange(n) * np.pi * (3 - np.sqrt(5))
    height = 1 - (2 * np.arange(n) + 1) / n
    width = np.sqrt(1 - height**2)
    return np.stack([width * np.cos(turn), width * np.sin(turn), height], axis=1)
