"""Global suprema of the likelihood of count histograms, over all models or over one side of a boundary.

A fixed grid over (logit a, logit r, logit nu) finds the best few peaks, `climb` goes to the top of each.  The grid is
the same for all data sets, so all of them meet it in one matrix product.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from majorant.certify.anonymous.likelihood import (
    EVERYWHERE,
    HistogramCells,
    Sides,
    climb,
    log_cells,
    log_likelihood,
    log_odds,
    vote_log_odds,
)
from majorant.theory.checks import FloatArray

_TAIL = np.array([5, 6, 7.5, 9.5, 12, 15, 19, 24, 30, 38.0])
AXIS = np.concatenate([-_TAIL[::-1], np.arange(-4, 4.25, 0.5), _TAIL])  # logit a and logit r
_HALF = np.array([0.7, 1.5, 2.5, 4, 6, 9, 14, 25])
DEPTH = np.concatenate([-_HALF[::-1], [0], _HALF])  # logit nu
PEAKS = 4  # of the grid, from which to climb
RARE = np.array([2.0, 4.5, 7.5])  # minus logit of the smaller class
GRID_ENTRIES = 1 << 22  # floats of grid times cells, or grid times data sets, held at once
KEPT_ENTRIES = 1 << 20  # floats of grid times cells that are kept for the next data set


@cache
def grid() -> FloatArray:
    """All models tried, (pairs a > r, depths, 3); at a = r the slope vanishes, so no climb starts there."""
    row, column = np.triu_indices(len(AXIS), 1)
    theta = np.empty((len(row), len(DEPTH), 3))
    theta[..., 0], theta[..., 1], theta[..., 2] = AXIS[column][:, None], AXIS[row][:, None], DEPTH
    theta.flags.writeable = False
    return theta


@lru_cache(maxsize=4)
def _grid_logs(votes: tuple[float, ...], zeros: tuple[float, ...]) -> FloatArray:
    """`log_cells` over the grid, (grid points, cells): the same for all data sets with these cells."""
    logs = log_cells(HistogramCells(np.array(votes), np.array(zeros)), grid().reshape(-1, 3))
    logs.flags.writeable = False
    return logs


def suprema(cells: HistogramCells, items_bc: FloatArray, side: Sides = EVERYWHERE) -> tuple[FloatArray, FloatArray]:
    """The largest log-likelihood of each data set within each side, and the model there: (B, S) and (B, S, 3).

    >>> from majorant.certify.anonymous.likelihood import flatten, sides
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
    anywhere = EVERYWHERE.take(np.zeros(n_sets, dtype=np.int64))
    best_b, theta_b3 = _best_of(cells, items_bc, anywhere, starts)
    value_bs, theta_bs3 = np.repeat(best_b[:, None], len(side), 1), np.repeat(theta_b3[:, None], len(side), 1)
    odds_bs = log_odds(theta_bs3, side.votes_p, side.zeros_p)
    # Where the best of all models lies within the side, there is nothing to search.
    outside_bs = side.sign_p * odds_bs < 0
    if not outside_bs.any():
        return value_bs, theta_bs3
    begin = []
    for s in np.flatnonzero(outside_bs.any(axis=0)):
        one, some = side.take(np.array([s])), outside_bs[:, s]
        within = _starts_within(cells, items_bc[some], one, theta_gd3, value_bgd[some])
        begin.append(np.concatenate([within, _impure(cells, items_bc[some], one), theta_b3[some][:, None]], axis=1))
    s_p, b_p = outside_bs.T.nonzero()  # side by side, as the starts are
    value_p, theta_p3 = _best_of(cells, items_bc[b_p], side.take(s_p), np.concatenate(begin))
    value_bs[b_p, s_p], theta_bs3[b_p, s_p] = value_p, theta_p3
    return value_bs, theta_bs3


def _starts_within(
    cells: HistogramCells, items_bc: FloatArray, one: Sides, theta_gd3: FloatArray, value_bgd: FloatArray
) -> FloatArray:
    """Peaks among the grid points within one side and the points of its boundary, which the grid may straddle."""
    edge_gd3 = theta_gd3[:, :1].copy()
    edge_gd3[..., 2] = -vote_log_odds(edge_gd3, one.votes_p, one.zeros_p)
    within_gd = one.sign_p * log_odds(theta_gd3, one.votes_p, one.zeros_p) >= 0
    value_bgd = np.where(within_gd, value_bgd, -np.inf)
    edge_bgd = _grid_values(cells, items_bc, edge_gd3)
    return _peaks(np.concatenate([value_bgd, edge_bgd], axis=2), np.concatenate([theta_gd3, edge_gd3], axis=1))


def _grid_values(cells: HistogramCells, items_bc: FloatArray, theta_gd3: FloatArray) -> FloatArray:
    """The log-likelihood of every data set at every point of a grid, (B, pairs, depths)."""
    if theta_gd3 is grid() and theta_gd3.size // 3 * len(cells.votes_c) <= KEPT_ENTRIES:
        logs = _grid_logs(tuple(cells.votes_c.tolist()), tuple(cells.zeros_c.tolist()))
        return np.asarray(items_bc @ logs.T).reshape(len(items_bc), *theta_gd3.shape[:2])
    size = max(1, GRID_ENTRIES // (theta_gd3.shape[1] * len(cells.votes_c)))
    value_bgd = np.empty((len(items_bc), *theta_gd3.shape[:2]))
    for at in range(0, len(theta_gd3), size):
        log_gdc = log_cells(cells, theta_gd3[at : at + size])
        flat = items_bc @ log_gdc.reshape(-1, log_gdc.shape[-1]).T
        value_bgd[:, at : at + size] = flat.reshape(len(items_bc), -1, theta_gd3.shape[1])
    return value_bgd


def _peaks(value_bgd: FloatArray, theta_gd3: FloatArray) -> FloatArray:
    """The models at the highest local maxima over the (a, r) grid, (B, PEAKS, 3)."""
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
    """The best model of one class with a few items of another, (B, 1, 3): peaks too narrow for the grid to see."""
    zeros_b, ones_b = items_bc @ cells.zeros_c, items_bc @ (cells.votes_c - cells.zeros_c)
    common_b = np.log(np.maximum(zeros_b, 1e-9)) - np.log(np.maximum(ones_b, 1e-9))
    theta = np.empty((len(items_bc), len(AXIS), len(RARE), 3))
    above = AXIS[:, None] > common_b[:, None, None]
    theta[..., 0] = np.where(above, AXIS[:, None], common_b[:, None, None])
    theta[..., 1] = np.where(above, common_b[:, None, None], AXIS[:, None])
    theta[..., 2] = np.where(above, -RARE, RARE)
    flat = theta.reshape(len(items_bc), -1, 3)
    within = one.sign_p * log_odds(flat, one.votes_p, one.zeros_p) >= 0
    value = np.where(within, log_likelihood(cells, items_bc[:, None], flat), -np.inf)
    return np.asarray(flat[np.arange(len(flat)), value.argmax(axis=1)][:, None])


def _best_of(
    cells: HistogramCells, items_bc: FloatArray, side: Sides, start_bp3: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Climb from every start; keep the best."""
    n_sets, n_starts = start_bp3.shape[:2]
    which = np.repeat(np.arange(n_sets), n_starts)
    theta, value = climb(cells, items_bc[which], side.take(which), start_bp3.reshape(-1, 3))
    value_bp = value.reshape(n_sets, n_starts)
    best_b = value_bp.argmax(axis=1)
    return value_bp[np.arange(n_sets), best_b], theta.reshape(n_sets, n_starts, 3)[np.arange(n_sets), best_b]
