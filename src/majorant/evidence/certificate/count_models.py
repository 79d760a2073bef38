"""Maximise the likelihood of count histograms under two binomials, locally and globally, for many data sets at once.

Votes are for class 0 with probability a on items of class 0, and with probability r <= a on items of class 1; the share
of class 0 is nu. A model is `theta = (logit a, logit r, logit nu)`. Nothing is clipped, and sums are computed on the
log scale, so models within 1e-15 of certainty work too. `climb` finds a local maximum. `suprema` finds global ones,
over all models or over one side of a boundary: a fixed grid yields the highest few peaks, and `climb` starts from each.
The grid is the same for all data sets, so evaluating it takes one matrix product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, log_expit

from majorant.evidence.certificate.certificate import RARE_SHARE
from majorant.values import FloatArray

Histograms = Mapping[int, FloatArray]  # number of votes: items with 0, 1, ... votes for class 0
IntArray = NDArray[np.int64]
HALF_AXIS = [*np.arange(0.5, 4.25, 0.5), 5, 6, 7.5, 9.5, 12, 15, 19, 24, 30, 38]
AXIS = np.array([*(-at for at in reversed(HALF_AXIS)), 0.0, *HALF_AXIS])  # logit a and logit r
DEPTH = np.array([-25, -14, -9, -6, -4, -2.5, -1.5, -0.7, 0, 0.7, 1.5, 2.5, 4, 6, 9, 14, 25])  # logit nu
PEAKS = 4  # number of grid peaks from which to climb
GRID_ENTRIES = 1 << 22  # floats held at once: grid points x cells, or grid points x data sets


@dataclass(frozen=True, slots=True, eq=False)
class HistogramCells:
    """Concatenated cells of histograms: items with `votes_c` votes, `zeros_c` of them for class 0."""

    votes_c: FloatArray
    zeros_c: FloatArray

    @property
    def log_orders_c(self) -> FloatArray:
        """Log of the number of possible orders of the votes in each cell."""
        ones_c = self.votes_c - self.zeros_c
        return np.asarray(gammaln(self.votes_c + 1) - gammaln(self.zeros_c + 1) - gammaln(ones_c + 1))

    def totals(self, items: FloatArray) -> FloatArray:
        """Number of items with the same number of votes as each cell, (..., cells)."""
        total = np.zeros_like(items)
        for h in np.unique(self.votes_c):
            total[..., self.votes_c == h] = items[..., self.votes_c == h].sum(axis=-1, keepdims=True)
        return total


def flatten(histograms: Mapping[int, ArrayLike]) -> tuple[HistogramCells, FloatArray]:
    """The cells of `{H: [n_0 .. n_H]}`, including empty ones, and the number of items in each.

    >>> cells, items_c = flatten({1: [4, 5], 2: [1, 2, 3]})
    >>> cells.votes_c.tolist(), cells.zeros_c.tolist(), items_c.tolist()
    ([1.0, 1.0, 2.0, 2.0, 2.0], [0.0, 1.0, 0.0, 1.0, 2.0], [4.0, 5.0, 1.0, 2.0, 3.0])
    """
    sizes = list(histograms)
    votes_c = np.concatenate([np.full(h + 1, float(h)) for h in sizes])
    zeros_c = np.concatenate([np.arange(h + 1.0) for h in sizes])
    return HistogramCells(votes_c, zeros_c), np.concatenate([np.asarray(histograms[h], float) for h in sizes])


def main_sizes(histograms: Histograms) -> list[int]:
    """The numbers of votes that at least RARE_SHARE of the items have."""
    total = sum(items_k.sum() for items_k in histograms.values())
    return [h for h, items_k in histograms.items() if items_k.sum() >= RARE_SHARE * total]


def nonempty_cells(histograms: Mapping[int, ArrayLike]) -> tuple[HistogramCells, FloatArray]:
    """The nonempty cells and their numbers of items; empty cells do not affect the likelihood.

    >>> len(nonempty_cells({2: [1, 0, 3]})[1])
    2
    """
    cells, items_c = flatten(histograms)
    return HistogramCells(cells.votes_c[items_c > 0], cells.zeros_c[items_c > 0]), items_c[items_c > 0]


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Halves of the space of models, one per problem to solve.

    A side holds the models with `sign * L >= 0`, where L is the log-odds of class 0 after `zeros` of `votes` votes for
    it.  A sign of 0 stands for all models.
    """

    votes_p: FloatArray
    zeros_p: FloatArray
    sign_p: FloatArray

    def __len__(self) -> int:
        return len(self.sign_p)

    def take(self, index: IntArray) -> Sides:
        """The sides with these indices."""
        return Sides(self.votes_p[index], self.zeros_p[index], self.sign_p[index])


def sides(rows: list[tuple[int, int, int]]) -> Sides:
    """Build sides from rows (votes, zeros, sign)."""
    table = np.array(rows, dtype=float).reshape(-1, 3)
    return Sides(table[:, 0], table[:, 1], table[:, 2])


def everywhere(n_problems: int) -> Sides:
    """All models, for each of `n_problems` problems."""
    return sides([(0, 0, 0)] * n_problems)


def join_sides(*parts: Sides) -> Sides:
    """Concatenate sides."""
    columns = zip(*((part.votes_p, part.zeros_p, part.sign_p) for part in parts), strict=True)
    return Sides(*(np.concatenate(column) for column in columns))


def narrowest_majority(n_votes: int) -> int:
    """The smallest number of votes that is a majority."""
    return n_votes // 2 + 1


def contradictions(sizes: Sequence[int]) -> Sides:
    """For each number of votes, the two ways in which majority is not optimal, in consecutive rows."""
    rows = []
    for h in sizes:
        rows += [(h, narrowest_majority(h), -1), (h, h - narrowest_majority(h), 1)]
    return sides(rows)


def opposite(side: Sides) -> Sides:
    """The other half of the models, including the boundary."""
    return Sides(side.votes_p, side.zeros_p, -side.sign_p)


EVERYWHERE = everywhere(1)


def vote_log_odds(theta: FloatArray, votes: ArrayLike, zeros: ArrayLike) -> FloatArray:
    """The contribution of the votes to the log-odds of class 0; adding logit nu gives L."""
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
    """Log P(class, one order of the votes) for class 0 and for class 1, each (..., cells)."""
    zeros_c, ones_c = cells.zeros_c, cells.votes_c - cells.zeros_c
    sure, unsure = log_expit(theta), log_expit(-theta)  # of a, r and nu
    given0, given1 = (sure[..., u, None] * zeros_c + unsure[..., u, None] * ones_c for u in (0, 1))
    return sure[..., 2, None] + given0, unsure[..., 2, None] + given1


def log_cells(cells: HistogramCells, theta: FloatArray) -> FloatArray:
    """Log P(one order of the votes), (..., cells); add `log_orders_c` for the probability of the cell."""
    return np.asarray(np.logaddexp(*class_logs(cells, theta)))


def log_shares(cells: HistogramCells, theta: FloatArray) -> FloatArray:
    """Log P(cell | number of votes), (..., cells)."""
    return log_cells(cells, theta) + cells.log_orders_c


def log_likelihood(cells: HistogramCells, items: FloatArray, theta: FloatArray) -> FloatArray:
    """Log-likelihood of items (..., cells) under theta (..., 3), without the constant for the orders of votes."""
    return np.asarray((items * log_cells(cells, theta)).sum(axis=-1))


def climb(
    cells: HistogramCells, items_pc: FloatArray, side: Sides, start_p3: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Climb from `start_p3` to a local maximum of each likelihood within its side and a >= r; return theta and value.

    This is Newton's method with absolute curvatures and a trust region, whose radius shrinks if a step brings no
    improvement. The coordinates are (logit r, logit a - logit r, depth within the side), so that both constraints are
    lower bounds of a coordinate, enforced by projection.
    """
    low_p3 = np.full(start_p3.shape, -np.inf)
    low_p3[:, 1] = 0
    low_p3[side.sign_p != 0, 2] = 0
    point_p3, going = np.maximum(_inward(start_p3, side), low_p3), np.arange(len(side))
    value_p, radius_p = log_likelihood(cells, items_pc, _outward(point_p3, side)), np.ones(len(side))
    for _ in range(60):
        point, low, some = point_p3[going], low_p3[going], side.take(going)
        slope, bend = _derivatives(cells, items_pc[going], _outward(point, some), some)
        fixed = (slope <= 0) & (point <= low)
        step = _step(np.where(fixed, 0, slope), bend, fixed, radius_p[going])
        expected = np.where(fixed, 0, slope * step).sum(axis=1)
        tried = np.maximum(point + step, low)
        value_tried = log_likelihood(cells, items_pc[going], _outward(tried, some))
        better = value_tried > value_p[going]
        improved = going[better]
        point_p3[improved], value_p[improved] = tried[better], value_tried[better]
        radius_p[going] = np.where(better, np.minimum(2 * radius_p[going], 6.0), radius_p[going] / 4)
        going = going[(expected > 1e-7) & (radius_p[going] > 1e-7)]  # in nats: the gain still expected
        if not len(going):
            break
    return _outward(point_p3, side), value_p


def _boundary(theta_p3: FloatArray, side: Sides) -> FloatArray:
    """The logit nu at which L = 0, or 0 for problems over all models."""
    return np.where(side.sign_p == 0, 0, -vote_log_odds(theta_p3, side.votes_p, side.zeros_p))


def _inward(theta_p3: FloatArray, side: Sides) -> FloatArray:
    """Convert models to (logit r, logit a - logit r, depth); those outside their side are moved to its boundary."""
    a_p, r_p, nu_p = theta_p3.T
    away = nu_p - _boundary(theta_p3, side)
    depth = np.where(side.sign_p == 0, away, np.maximum(side.sign_p * away, 0))
    return np.column_stack([r_p, np.maximum(a_p - r_p, 0), depth])


def _outward(point_pu: FloatArray, side: Sides) -> FloatArray:
    """Convert (logit r, logit a - logit r, depth) to models."""
    theta_p3 = np.column_stack([point_pu[:, 0] + point_pu[:, 1], point_pu[:, 0], point_pu[:, 2]])
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
    """Slope and curvature in theta: weighted averages over the classes, plus the variance between them."""
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


def _step(slope_pu: FloatArray, bend_puu: FloatArray, fixed_pu: NDArray[np.bool_], radius_p: FloatArray) -> FloatArray:
    """Newton step with all curvatures made negative, no longer than the radius in any coordinate."""
    bend_puu = np.where(fixed_pu[:, :, None] | fixed_pu[:, None, :], 0, bend_puu)
    curve_pu, axis_puu = np.linalg.eigh(bend_puu)
    size_pu = np.abs(curve_pu)
    size_pu = np.maximum(size_pu, 1e-13 * size_pu.max(axis=1, keepdims=True) + 1e-30)  # relative to the largest
    along_pu = np.einsum("pij,pi->pj", axis_puu, slope_pu) / size_pu
    step_pu = np.where(fixed_pu, 0, np.einsum("pij,pj->pi", axis_puu, along_pu))
    length_p = np.abs(step_pu).max(axis=1)
    return np.asarray(step_pu * np.minimum(1, radius_p / np.maximum(length_p, 1e-300))[:, None])


@cache
def grid() -> FloatArray:
    """The models of the grid, (pairs a > r, depths, 3); at a = r the slope is 0, so climbing cannot start there."""
    row, column = np.triu_indices(len(AXIS), 1)
    theta = np.empty((len(row), len(DEPTH), 3))
    theta[..., 0], theta[..., 1], theta[..., 2] = AXIS[column][:, None], AXIS[row][:, None], DEPTH
    theta.flags.writeable = False
    return theta


def suprema(cells: HistogramCells, items_bc: FloatArray, side: Sides = EVERYWHERE) -> tuple[FloatArray, FloatArray]:
    """The largest log-likelihood of each data set within each side, (B, S), and its model, (B, S, 3).

    >>> cells, items_c = flatten({3: [260, 240, 240, 260]})
    >>> value, theta = suprema(cells, items_c[None], sides([(0, 0, 0), (3, 2, -1), (3, 2, 1)]))
    >>> (value[0, 0] - value[0]).round(2).tolist()
    [0.0, 7.31, 0.0]
    """
    size = max(1, GRID_ENTRIES // (len(AXIS) ** 2 * len(DEPTH)))
    parts = [_chunk_suprema(cells, items_bc[at : at + size], side) for at in range(0, len(items_bc), size)]
    return np.concatenate([value for value, _ in parts]), np.concatenate([theta for _, theta in parts])


def _chunk_suprema(cells: HistogramCells, items_bc: FloatArray, side: Sides) -> tuple[FloatArray, FloatArray]:
    theta_gd3, n_sets = grid(), len(items_bc)
    value_bgd = _grid_values(cells, items_bc, theta_gd3)
    starts = np.concatenate([_peaks(value_bgd, theta_gd3), _impure(cells, items_bc, EVERYWHERE)], axis=1)
    best_b, theta_b3 = _best_of(cells, items_bc, everywhere(n_sets), starts)
    value_bs, theta_bs3 = np.repeat(best_b[:, None], len(side), 1), np.repeat(theta_b3[:, None], len(side), 1)
    odds_bs = log_odds(theta_bs3, side.votes_p, side.zeros_p)
    # If the best of all models lies within the side, it is also the best there.
    outside_bs = side.sign_p * odds_bs < 0
    if not outside_bs.any():
        return value_bs, theta_bs3
    begin = []
    for s in np.flatnonzero(outside_bs.any(axis=0)):
        one, some = side.take(np.array([s])), outside_bs[:, s]
        within = _starts_within(cells, items_bc[some], one, theta_gd3, value_bgd[some])
        begin.append(np.concatenate([within, _impure(cells, items_bc[some], one), theta_b3[some][:, None]], axis=1))
    s_p, b_p = outside_bs.T.nonzero()  # ordered by side, as the starts are
    value_p, theta_p3 = _best_of(cells, items_bc[b_p], side.take(s_p), np.concatenate(begin))
    value_bs[b_p, s_p], theta_bs3[b_p, s_p] = value_p, theta_p3
    return value_bs, theta_bs3


def _starts_within(
    cells: HistogramCells, items_bc: FloatArray, one: Sides, theta_gd3: FloatArray, value_bgd: FloatArray
) -> FloatArray:
    """Peaks among the grid points within one side and on its boundary, which may lie between grid points."""
    edge_gd3 = theta_gd3[:, :1].copy()
    edge_gd3[..., 2] = -vote_log_odds(edge_gd3, one.votes_p, one.zeros_p)
    within_gd = one.sign_p * log_odds(theta_gd3, one.votes_p, one.zeros_p) >= 0
    value_bgd = np.where(within_gd, value_bgd, -np.inf)
    edge_bgd = _grid_values(cells, items_bc, edge_gd3)
    return _peaks(np.concatenate([value_bgd, edge_bgd], axis=2), np.concatenate([theta_gd3, edge_gd3], axis=1))


def _grid_values(cells: HistogramCells, items_bc: FloatArray, theta_gd3: FloatArray) -> FloatArray:
    """The log-likelihood of every data set at every point of a grid, (B, pairs, depths)."""
    size = max(1, GRID_ENTRIES // (theta_gd3.shape[1] * len(cells.votes_c)))
    value_bgd = np.empty((len(items_bc), *theta_gd3.shape[:2]))
    for at in range(0, len(theta_gd3), size):
        log_gdc = log_cells(cells, theta_gd3[at : at + size])
        flat = items_bc @ log_gdc.reshape(-1, log_gdc.shape[-1]).T
        value_bgd[:, at : at + size] = flat.reshape(len(items_bc), -1, theta_gd3.shape[1])
    return value_bgd


def _peaks(value_bgd: FloatArray, theta_gd3: FloatArray) -> FloatArray:
    """The models at the highest local maxima on the (a, r) grid, (B, PEAKS, 3)."""
    value_bg, depth_bg = value_bgd.max(axis=2), value_bgd.argmax(axis=2)
    n_axis = len(AXIS)
    row, column = np.triu_indices(n_axis, 1)
    map_brc = np.full((len(value_bg), n_axis + 2, n_axis + 2), -np.inf)
    map_brc[:, row + 1, column + 1] = value_bg
    peak_bg = np.ones(value_bg.shape, dtype=bool)
    for down, right in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
        peak_bg &= value_bg >= map_brc[:, row + 1 + down, column + 1 + right]
    ranked = np.where(peak_bg, value_bg, value_bg - 1e6 * (1 + np.abs(value_bg)))
    pick_bp: NDArray[np.int64] = np.argpartition(-ranked, PEAKS, axis=1)[:, :PEAKS]
    depth_bp = np.take_along_axis(depth_bg, pick_bp, axis=1)
    return np.asarray(theta_gd3[pick_bp, depth_bp])


def _impure(cells: HistogramCells, items_bc: FloatArray, one: Sides) -> FloatArray:
    """The best model with very few items of one class, (B, 1, 3), because such peaks are too narrow for the grid."""
    zeros_b, ones_b = items_bc @ cells.zeros_c, items_bc @ (cells.votes_c - cells.zeros_c)
    common_b = np.log(np.maximum(zeros_b, 1e-9)) - np.log(np.maximum(ones_b, 1e-9))
    rare = np.array([2.0, 4.5, 7.5])  # minus the logit of the share of the smaller class
    theta = np.empty((len(items_bc), len(AXIS), len(rare), 3))
    above = AXIS[:, None] > common_b[:, None, None]
    theta[..., 0] = np.where(above, AXIS[:, None], common_b[:, None, None])
    theta[..., 1] = np.where(above, common_b[:, None, None], AXIS[:, None])
    theta[..., 2] = np.where(above, -rare, rare)
    flat = theta.reshape(len(items_bc), -1, 3)
    within = one.sign_p * log_odds(flat, one.votes_p, one.zeros_p) >= 0
    value = np.where(within, log_likelihood(cells, items_bc[:, None], flat), -np.inf)
    return np.asarray(flat[np.arange(len(flat)), value.argmax(axis=1)][:, None])


def _best_of(
    cells: HistogramCells, items_bc: FloatArray, side: Sides, start_bp3: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Climb from every start and keep the best result."""
    n_sets, n_starts = start_bp3.shape[:2]
    which = np.repeat(np.arange(n_sets), n_starts)
    theta, value = climb(cells, items_bc[which], side.take(which), start_bp3.reshape(-1, 3))
    value_bp = value.reshape(n_sets, n_starts)
    best_b = value_bp.argmax(axis=1)
    return value_bp[np.arange(n_sets), best_b], theta.reshape(n_sets, n_starts, 3)[np.arange(n_sets), best_b]


def resampled_models(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """The most likely model near `theta_3` of each reweighted histogram, (draws, 3): a Bayesian bootstrap over items.

    `cells` include the empty ones. One item in all is added to each histogram, spread over its cells, because counts
    that never occurred in the data could.

    >>> cells, items_c = flatten({3: [260, 240, 240, 260]})
    >>> best_3 = suprema(cells, items_c[None])[1][0, 0]
    >>> resampled_models(cells, items_c, best_3, 100, np.random.default_rng(0)).std(axis=0).round(1).tolist()
    [0.1, 0.1, 0.1]
    """
    drawn_bc = rng.standard_gamma(items_c + 1 / (cells.votes_c + 1), size=(n_draws, len(items_c)))
    drawn_bc *= cells.totals(items_c) / cells.totals(drawn_bc)
    return climb(cells, drawn_bc, everywhere(n_draws), np.tile(theta_3, (n_draws, 1)))[0]
