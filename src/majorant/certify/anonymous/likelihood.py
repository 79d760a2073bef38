"""The likelihood of count histograms under two binomials, and its local maxima, for many data sets at once.

An item of class 0 draws each vote for class 0 with probability a, an item of class 1 with probability r <= a, and the
share of class 0 is nu.  A model is `theta = (logit a, logit r, logit nu)`: nothing is clipped, and all sums are of
logarithms, so a model within 1e-15 of certainty is as good as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, log_expit

from majorant.theory.checks import FloatArray

Histograms = Mapping[int, FloatArray]  # number of votes: items with 0, 1, ... votes for class 0
IntArray = NDArray[np.int64]
MAX_STEPS = 60
FIRST_RADIUS, LAST_RADIUS, WIDEST_RADIUS = 1.0, 1e-7, 6.0
GAIN = 1e-7  # nats: an ascent that promises less has arrived
FLATTEST = 1e-13  # of the largest curvature
Value = Callable[[FloatArray, IntArray], FloatArray]  # points (P, U) of the problems at these places -> (P,)
Slopes = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]  # -> slope (P, U) and curvature (P, U, U)


@dataclass(frozen=True, slots=True, eq=False)
class HistogramCells:
    """The cells of histograms laid end to end: items with `votes_c` votes, `zeros_c` of them for class 0."""

    votes_c: FloatArray
    zeros_c: FloatArray

    @property
    def log_orders_c(self) -> FloatArray:
        """In how many orders such votes can come, as a logarithm."""
        ones_c = self.votes_c - self.zeros_c
        return np.asarray(gammaln(self.votes_c + 1) - gammaln(self.zeros_c + 1) - gammaln(ones_c + 1))


def flatten(histograms: Mapping[int, ArrayLike]) -> tuple[HistogramCells, FloatArray]:
    """The cells of `{H: [n_0 .. n_H]}`, empty ones included, and the items in each.

    >>> cells, items_c = flatten({1: [4, 5], 2: [1, 2, 3]})
    >>> cells.votes_c.tolist(), cells.zeros_c.tolist(), items_c.tolist()
    ([1.0, 1.0, 2.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0, 2.0], [4.0, 5.0, 1.0, 2.0, 3.0])
    """
    sizes = list(histograms)
    votes_c = np.concatenate([np.full(h + 1, float(h)) for h in sizes])
    zeros_c = np.concatenate([np.arange(h + 1.0) for h in sizes])
    return HistogramCells(votes_c, zeros_c), np.concatenate([np.asarray(histograms[h], float) for h in sizes])


def held_cells(histograms: Mapping[int, ArrayLike]) -> tuple[HistogramCells, FloatArray]:
    """The cells that hold items, and how many: the others do not touch the likelihood.

    >>> held_cells({2: [1, 0, 3]})[1].tolist()
    [1.0, 3.0]
    """
    cells, items_c = flatten(histograms)
    held_c = items_c > 0
    return HistogramCells(cells.votes_c[held_c], cells.zeros_c[held_c]), items_c[held_c]


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Half of the models each: those with `sign * L >= 0`, L the log-odds of class 0 after `zeros` of `votes` votes.

    A sign of 0 stands for all models.  One entry per problem to be solved.
    """

    votes_p: FloatArray
    zeros_p: FloatArray
    sign_p: FloatArray

    def __len__(self) -> int:
        return len(self.sign_p)

    def take(self, index: IntArray) -> Sides:
        """The sides at these places."""
        return Sides(self.votes_p[index], self.zeros_p[index], self.sign_p[index])


def sides(rows: list[tuple[int, int, int]]) -> Sides:
    """Sides from rows (votes, zeros, sign)."""
    table = np.array(rows, dtype=float).reshape(-1, 3)
    return Sides(table[:, 0], table[:, 1], table[:, 2])


EVERYWHERE = sides([(0, 0, 0)])


def vote_log_odds(theta: FloatArray, votes: ArrayLike, zeros: ArrayLike) -> FloatArray:
    """What the votes alone add to the log-odds of class 0; with logit nu, it is L."""
    votes, zeros = np.asarray(votes, float), np.asarray(zeros, float)
    a, r = theta[..., 0], theta[..., 1]
    return np.asarray(zeros * (log_expit(a) - log_expit(r)) + (votes - zeros) * (log_expit(-a) - log_expit(-r)))


def log_odds(theta: FloatArray, votes: ArrayLike, zeros: ArrayLike) -> FloatArray:
    """L: the log-odds of class 0 after `zeros` of `votes` votes for it; broadcasts.

    >>> round(float(log_odds(np.array([np.log(4), -np.log(4), 0.]), 3, 2)), 3)
    1.386
    """
    return np.asarray(theta[..., 2] + vote_log_odds(theta, votes, zeros))


def class_logs(cells: HistogramCells, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log P(class, one order of the votes) for class 0 and class 1: each (..., cells)."""
    zeros_c, ones_c = cells.zeros_c, cells.votes_c - cells.zeros_c
    sure, unsure = log_expit(theta), log_expit(-theta)  # of a, r and nu
    given0, given1 = (sure[..., u, None] * zeros_c + unsure[..., u, None] * ones_c for u in (0, 1))
    return sure[..., 2, None] + given0, unsure[..., 2, None] + given1


def log_cells(cells: HistogramCells, theta: FloatArray) -> FloatArray:
    """log P(one order of the votes), (..., cells); add `log_orders_c` for the probability of the cell."""
    return np.asarray(np.logaddexp(*class_logs(cells, theta)))


def log_likelihood(cells: HistogramCells, items: FloatArray, theta: FloatArray) -> FloatArray:
    """Of items (..., cells) under theta (..., 3), without the constant of the orders of votes."""
    return np.asarray((items * log_cells(cells, theta)).sum(axis=-1))


def climb(
    cells: HistogramCells, items_pc: FloatArray, side: Sides, start_p3: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A local maximum of each likelihood within its side and a >= r, uphill from `start_p3`: theta and the value.

    The ascent is in (logit r, logit a - logit r, depth within the side), where both bounds are coordinates.
    """

    def value(point: FloatArray, at: IntArray) -> FloatArray:
        return log_likelihood(cells, items_pc[at], _outward(point, side.take(at)))

    def slopes(point: FloatArray, at: IntArray) -> tuple[FloatArray, FloatArray]:
        some = side.take(at)
        return _derivatives(cells, items_pc[at], _outward(point, some), some)

    low_pu = np.full(start_p3.shape, -np.inf)
    low_pu[:, 1] = 0
    low_pu[side.sign_p != 0, 2] = 0
    point_pu, value_p = ascend(value, slopes, _inward(start_p3, side), low_pu, np.full(start_p3.shape, np.inf))
    return _outward(point_pu, side), value_p


def _boundary(theta_p3: FloatArray, side: Sides) -> FloatArray:
    """logit nu at which L = 0, where there is a side."""
    return np.where(side.sign_p == 0, 0, -vote_log_odds(theta_p3, side.votes_p, side.zeros_p))


def _inward(theta_p3: FloatArray, side: Sides) -> FloatArray:
    """theta -> (logit r, logit a - logit r, depth), moved into the side if outside."""
    away = theta_p3[:, 2] - _boundary(theta_p3, side)
    depth = np.where(side.sign_p == 0, away, np.maximum(side.sign_p * away, 0))
    return np.stack([theta_p3[:, 1], np.maximum(theta_p3[:, 0] - theta_p3[:, 1], 0), depth], axis=1)


def _outward(point_pu: FloatArray, side: Sides) -> FloatArray:
    theta_p3 = np.stack([point_pu[:, 0] + point_pu[:, 1], point_pu[:, 0], np.zeros(len(side))], axis=1)
    theta_p3[:, 2] = _boundary(theta_p3, side) + np.where(side.sign_p == 0, 1, side.sign_p) * point_pu[:, 2]
    return theta_p3


def _derivatives(
    cells: HistogramCells, items_pc: FloatArray, theta_p3: FloatArray, side: Sides
) -> tuple[FloatArray, FloatArray]:
    """Slope and curvature of the log-likelihood in (logit r, logit a - logit r, depth)."""
    slope_p3, bend_p33 = theta_derivatives(cells, items_pc, theta_p3)
    a_p, r_p = expit(theta_p3[:, 0]), expit(theta_p3[:, 1])
    bound = side.sign_p != 0
    by_a = np.where(bound, side.votes_p * a_p - side.zeros_p, 0)  # slopes of the boundary's logit nu
    by_r = np.where(bound, side.zeros_p - side.votes_p * r_p, 0)
    turn_p3u = np.zeros((len(side), 3, 3))
    turn_p3u[:, 0, :2] = turn_p3u[:, 1, 0] = 1
    turn_p3u[:, 2] = np.stack([by_a + by_r, by_a, np.where(bound, side.sign_p, 1)], axis=1)
    bend_puu = turn_p3u.transpose(0, 2, 1) @ bend_p33 @ turn_p3u
    bow_a = np.where(bound, side.votes_p * a_p * expit(-theta_p3[:, 0]), 0) * slope_p3[:, 2]
    bow_r = np.where(bound, side.votes_p * r_p * expit(-theta_p3[:, 1]), 0) * slope_p3[:, 2]
    bend_puu[:, 0, 0] += bow_a - bow_r
    for u, v in ((0, 1), (1, 0), (1, 1)):
        bend_puu[:, u, v] += bow_a
    return np.einsum("piu,pi->pu", turn_p3u, slope_p3), bend_puu


def theta_derivatives(
    cells: HistogramCells, items_pc: FloatArray, theta_p3: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Slope and curvature in theta: those of each class's own logarithm, mixed, plus the spread between the classes."""
    log0, log1 = class_logs(cells, theta_p3)
    weight_pc = expit(log0 - log1)
    in0_pc, in1_pc = items_pc * weight_pc, items_pc * expit(log1 - log0)
    a_p, r_p, nu_p = expit(theta_p3).T
    by_a = cells.zeros_c - cells.votes_c * a_p[:, None]
    by_r = cells.zeros_c - cells.votes_c * r_p[:, None]
    total0, total1 = in0_pc.sum(axis=1), in1_pc.sum(axis=1)
    other_p3 = expit(-theta_p3).T
    slope_p3 = np.stack(
        [(in0_pc * by_a).sum(axis=1), (in1_pc * by_r).sum(axis=1), total0 * other_p3[2] - total1 * nu_p], axis=1
    )
    spread_pc = in0_pc * expit(log1 - log0)
    bend = np.empty((len(theta_p3), 3, 3))
    bend[:, 0, 0] = (spread_pc * by_a**2).sum(axis=1) - (in0_pc @ cells.votes_c) * a_p * other_p3[0]
    bend[:, 1, 1] = (spread_pc * by_r**2).sum(axis=1) - (in1_pc @ cells.votes_c) * r_p * other_p3[1]
    bend[:, 2, 2] = spread_pc.sum(axis=1) - (total0 + total1) * nu_p * other_p3[2]
    bend[:, 0, 1] = bend[:, 1, 0] = -(spread_pc * by_a * by_r).sum(axis=1)
    bend[:, 0, 2] = bend[:, 2, 0] = (spread_pc * by_a).sum(axis=1)
    bend[:, 1, 2] = bend[:, 2, 1] = -(spread_pc * by_r).sum(axis=1)
    return slope_p3, bend


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
