"""Items that differ in difficulty: the likelihood of histograms under two beta-binomials.

Every item of class 0 has its own chance of a vote for class 0, beta distributed with mean a and some concentration, and
every item of class 1 one with mean r <= a.  A model is `psi = (logit a, logit r, log concentration of class 0, of
class 1, logit nu)`; a large concentration gives back independent votes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import digamma, expit, gammaln, log_expit

from majorant.certify.anonymous.likelihood import HistogramCells, IntArray, Sides, ascend
from majorant.theory.checks import FloatArray

PARAMETERS = 5
LOGIT_BOUND, LEAST_CONCENTRATION, MOST_CONCENTRATION = 30.0, -4.0, 9.0  # the last two are logarithms


def beta_class_logs(cells: HistogramCells, psi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log P(class, one order of the votes) for class 0 and class 1: each (..., cells)."""
    x, y, c0, c1, z = (psi[..., i, None] for i in range(PARAMETERS))
    return log_expit(z) + _log_beta(cells, x, c0), log_expit(-z) + _log_beta(cells, y, c1)


def beta_log_likelihood(cells: HistogramCells, items: FloatArray, psi: FloatArray) -> FloatArray:
    """Of items (..., cells) under psi (..., 5), without the constant of the orders of votes."""
    return np.asarray((items * np.logaddexp(*beta_class_logs(cells, psi))).sum(axis=-1))


def beta_log_odds(psi: FloatArray, votes: FloatArray, zeros: FloatArray) -> FloatArray:
    """L: the log-odds of class 0 after `zeros` of `votes` votes for it, (..., patterns)."""
    log0, log1 = beta_class_logs(HistogramCells(np.atleast_1d(votes), np.atleast_1d(zeros)), psi)
    return log0 - log1


def beta_information(cells: HistogramCells, total_c: FloatArray, psi_p5: FloatArray) -> FloatArray:
    """Expected curvature of the log-likelihood where `total_c` items have the number of votes of cell c, (P, 5, 5)."""
    gradient_pc5, log_pc = _gradients(cells, psi_p5)
    weight_pc = total_c * np.exp(log_pc + cells.log_orders_c)
    return np.asarray(np.einsum("pc,pci,pcj->pij", weight_pc, gradient_pc5, gradient_pc5, optimize=True))


def beta_climb(
    cells: HistogramCells, items_pc: FloatArray, side: Sides, start_p5: FloatArray, fixed: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """A local maximum of each likelihood within its side and a >= r, uphill from the start: psi and the value.

    `cells` must hold the empty cells too: the curvature is the expected one, which is never that of a valley.  `fixed`
    is the logarithm of the concentration where that is given for both classes.
    """
    total_pc = np.zeros_like(items_pc)
    for h in np.unique(cells.votes_c):
        at = cells.votes_c == h
        total_pc[:, at] = items_pc[:, at].sum(axis=1, keepdims=True)

    def value(point: FloatArray, at: IntArray) -> FloatArray:
        return beta_log_likelihood(cells, items_pc[at], _outward(point, side.take(at)))

    def slopes(point: FloatArray, at: IntArray) -> tuple[FloatArray, FloatArray]:
        some = side.take(at)
        psi = _outward(point, some)
        gradient_pc5, log_pc = _gradients(cells, psi)
        gradient_pcu = np.einsum("pci,piu->pcu", gradient_pc5, _turn(psi, some))
        weight_pc = total_pc[at] * np.exp(log_pc + cells.log_orders_c)
        bend = np.einsum("pc,pcu,pcv->puv", weight_pc, gradient_pcu, gradient_pcu, optimize=True)
        return np.einsum("pc,pcu->pu", items_pc[at], gradient_pcu), -bend

    low_pu, high_pu = _bounds(side)
    if fixed is not None:
        low_pu[:, 2:4] = high_pu[:, 2:4] = fixed
    point_pu, value_p = ascend(value, slopes, _inward(start_p5, side), low_pu, high_pu)
    return _outward(point_pu, side), value_p


def _log_beta(cells: HistogramCells, mean: FloatArray, concentration: FloatArray) -> FloatArray:
    total = np.exp(concentration)
    alpha, beta = total * expit(mean), total * expit(-mean)
    ones_c = cells.votes_c - cells.zeros_c
    rise = _above(gammaln, alpha, cells.zeros_c) - gammaln(alpha) + _above(gammaln, beta, ones_c) - gammaln(beta)
    return np.asarray(rise - _above(gammaln, total, cells.votes_c) + gammaln(total))


def _above(function: Callable[[FloatArray], FloatArray], base: FloatArray, count_c: FloatArray) -> FloatArray:
    """The function of base + count for each cell, (..., cells); many cells share their few counts."""
    n_counts = int(count_c.max(initial=0)) + 1
    if count_c.ndim != 1 or base.shape[-1:] != (1,) or 2 * n_counts > len(count_c):
        return function(base + count_c)
    return np.asarray(function(base + np.arange(float(n_counts)))[..., count_c.astype(np.intp)])


def _beta_slopes(cells: HistogramCells, mean: FloatArray, concentration: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes of `_log_beta` in the logit of the mean and the log of the concentration."""
    total = np.exp(concentration)
    alpha, beta = total * expit(mean), total * expit(-mean)
    by_alpha = _above(digamma, alpha, cells.zeros_c) - digamma(alpha)
    ones_c = cells.votes_c - cells.zeros_c
    by_beta = _above(digamma, beta, ones_c) - digamma(beta)  # a tiny beta must not be rounded off
    by_total = digamma(total) - _above(digamma, total, cells.votes_c)
    by_mean = (by_alpha - by_beta) * total * expit(mean) * expit(-mean)
    return by_mean, alpha * by_alpha + beta * by_beta + total * by_total


def _gradients(cells: HistogramCells, psi_p5: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes of log P(one order) in psi (P, cells, 5), and the logarithm itself (P, cells)."""
    log0, log1 = beta_class_logs(cells, psi_p5)
    weight0, weight1 = expit(log0 - log1), expit(log1 - log0)
    x, y, c0, c1, z = (psi_p5[:, i, None] for i in range(PARAMETERS))
    mean0, wide0 = _beta_slopes(cells, x, c0)
    mean1, wide1 = _beta_slopes(cells, y, c1)
    by_prior = weight0 * expit(-z) - weight1 * expit(z)
    parts = [weight0 * mean0, weight1 * mean1, weight0 * wide0, weight1 * wide1, by_prior]
    return np.stack(parts, axis=-1), np.logaddexp(log0, log1)


def edge(psi_p5: FloatArray, side: Sides) -> FloatArray:
    """The models with the prior at which L = 0, all else alike."""
    on_edge = psi_p5.copy()
    on_edge[:, 4] = _boundary(psi_p5, side)
    return on_edge


def _boundary(psi_p5: FloatArray, side: Sides) -> FloatArray:
    """logit nu at which L = 0, where there is a side."""
    one = HistogramCells(side.votes_p[:, None], side.zeros_p[:, None])
    x, y, c0, c1 = (psi_p5[:, i, None] for i in range(4))
    return np.where(side.sign_p == 0, 0, (_log_beta(one, y, c1) - _log_beta(one, x, c0))[:, 0])


def _turn(psi_p5: FloatArray, side: Sides) -> FloatArray:
    """Slopes of psi in the coordinates of the ascent, (P, 5, 5)."""
    one = HistogramCells(side.votes_p[:, None], side.zeros_p[:, None])
    x, y, c0, c1 = (psi_p5[:, i, None] for i in range(4))
    (mean0, wide0), (mean1, wide1) = _beta_slopes(one, x, c0), _beta_slopes(one, y, c1)
    bound = (side.sign_p != 0).astype(float)
    turn = np.zeros((len(side), PARAMETERS, PARAMETERS))
    turn[:, 0, :2] = turn[:, 1, 0] = turn[:, 2, 2] = turn[:, 3, 3] = 1
    by_x, by_y = -mean0[:, 0] * bound, mean1[:, 0] * bound
    turn[:, 4] = np.stack(
        [by_x + by_y, by_x, -wide0[:, 0] * bound, wide1[:, 0] * bound, np.where(bound > 0, side.sign_p, 1)], axis=1
    )
    return turn


def _inward(psi_p5: FloatArray, side: Sides) -> FloatArray:
    """psi -> (logit r, logit a - logit r, both concentrations, depth), moved into the side if outside."""
    away = psi_p5[:, 4] - _boundary(psi_p5, side)
    depth = np.where(side.sign_p == 0, away, np.maximum(side.sign_p * away, 0))
    gap = np.maximum(psi_p5[:, 0] - psi_p5[:, 1], 0)
    return np.stack([psi_p5[:, 1], gap, psi_p5[:, 2], psi_p5[:, 3], depth], axis=1)


def _outward(point_pu: FloatArray, side: Sides) -> FloatArray:
    psi = np.stack([point_pu[:, 0] + point_pu[:, 1], *point_pu[:, [0, 2, 3, 4]].T], axis=1)
    psi[:, 4] = _boundary(psi, side) + np.where(side.sign_p == 0, 1, side.sign_p) * point_pu[:, 4]
    return psi


def _bounds(side: Sides) -> tuple[FloatArray, FloatArray]:
    low = np.array([-LOGIT_BOUND, 0, LEAST_CONCENTRATION, LEAST_CONCENTRATION, -LOGIT_BOUND])
    high = np.array([LOGIT_BOUND, 2 * LOGIT_BOUND, MOST_CONCENTRATION, MOST_CONCENTRATION, LOGIT_BOUND])
    low_pu, high_pu = np.tile(low, (len(side), 1)), np.tile(high, (len(side), 1))
    low_pu[side.sign_p != 0, 4] = 0
    return low_pu, high_pu
