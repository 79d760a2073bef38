"""Bounds that hold for every model in a box around a model.  Proofs: docs/theory/tailored.md.

A box is a centre and half its sides.  Along the straight line from the centre to any of its models, log-probabilities
have the slope s, and q = p''/p; here are bounds of both, cell by cell, and what follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import expit

from majorant.certify.anonymous.tailored.null import Local, Null
from majorant.theory.checks import FloatArray

CORNERS = np.array([(1.0, *signs) for signs in product((1.0, -1.0), repeat=2)])  # the other four are their mirrors
DESCENTS = 4
POWERS = np.array([2.0, 3, 4, 5, 7, 10, 15])  # of the likelihood ratio in Hoelder's inequality
STEEPEST = 20.0  # slope of a box about which likelihood ratios tell nothing
ROUNDING = 1e-9  # of a sum over items, per item: far above what 64-bit arithmetic loses


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How far things can go within the boxes b."""

    slope_bc: FloatArray  # |s|
    bend_bc: FloatArray  # |q|
    twist_bc: FloatArray  # |p'''| / p
    spread_b: FloatArray  # standard deviation of the sum of s over all items
    curve_b: FloatArray  # half of |f''| / sqrt(f), f the probability of any event
    away_b: FloatArray  # root of the chi-square distance from the centre, of all items together

    def take(self, index: object) -> Reach:
        """The boxes at these places."""
        return Reach(*(getattr(self, name)[index] for name in Reach.__slots__))


def reach(null: Null, here: Local, half_bi: FloatArray) -> Reach:
    """Bounds of slope and bend over whole boxes, from intervals of a, r, nu and the log-odds of each cell."""
    slope_bc, bend_bc, twist_bc = _class_bounds(null, here, half_bi)
    at_centre_bc = np.einsum("bic,bi->bc", np.abs(here.score_bic), half_bi)
    slope_bc = np.minimum(slope_bc, at_centre_bc + bend_bc + slope_bc**2)  # ds/dt = q - s^2
    most_bc = null.total_c * here.cell_bc * np.exp(np.minimum(slope_bc, 300))
    bend_b = np.sqrt((most_bc * bend_bc**2).sum(axis=1))
    along_bvc = np.einsum("bic,vi,bi->bvc", here.score_bic, CORNERS, half_bi)
    centre_b = np.sqrt(((null.total_c * here.cell_bc)[:, None] * along_bvc**2).sum(axis=2).max(axis=1))
    spread_b = (centre_b + bend_b) * np.exp(np.minimum(slope_bc.max(axis=1) / 2, 300))
    away_b = centre_b + np.sqrt((most_bc * np.exp(np.minimum(slope_bc, 300)) * bend_bc**2).sum(axis=1)) / 2
    return Reach(slope_bc, bend_bc, twist_bc, spread_b, (np.sqrt(2) * spread_b**2 + bend_b) / 2, away_b)


def _class_bounds(null: Null, here: Local, half_bi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """|s|, |q| and |p'''| / p: mixtures of the same for either class, in proportions that the box allows."""
    votes_c, zeros_c = null.cells.votes_c, null.cells.zeros_c
    hx, hy, hd = half_bi.T[:, :, None]
    ends_a, ends_r = _ends(here.point_bi[:, 0], half_bi[:, 0]), _ends(here.point_bi[:, 1], half_bi[:, 1])
    tilt = hd + sum(
        h * np.abs(null.n_zeros - null.n_votes * ends[..., None]).max(axis=0)
        for h, ends in ((hx, ends_a), (hy, ends_r))
    )  # of logit nu
    swing_bc = hd + sum(
        h * np.abs(zeros_c - null.n_zeros - (votes_c - null.n_votes) * ends[..., None]).max(axis=0)
        for h, ends in ((hx, ends_a), (hy, ends_r))
    )  # of the log-odds of class 0 in a cell
    nu_e = expit(here.logit_nu_b[:, None] + np.array([-1.0, 1.0])[:, None, None] * tilt)
    tau_ebc = expit(here.class0_bc + np.array([-1.0, 1.0])[:, None, None] * swing_bc)
    var_a, var_r, var_nu = _widest_variance(ends_a), _widest_variance(ends_r), _widest_variance(nu_e[..., 0])
    bow = null.n_votes * np.maximum(var_a * hx**2, var_r * hy**2)
    turn = null.n_votes * (var_a * hx**3 + var_r * hy**3)
    bounds = []
    for share, h, ends, var in ((1 - nu_e[0], hx, ends_a, var_a), (nu_e[1], hy, ends_r, var_r)):
        first = share * tilt + h * np.abs(zeros_c - votes_c * ends[..., None]).max(axis=0)
        second = share * bow + var_nu * tilt**2 + votes_c * var * h**2
        third = share * turn + var_nu * (3 * tilt * bow + tilt**3) + votes_c * var * h**3
        bounds.append((first, first**2 + second, first**3 + 3 * first * second + third))
    slope_bc, bend_bc, twist_bc = (_mixed(tau_ebc, of0, of1) for of0, of1 in zip(*bounds, strict=True))
    return slope_bc, bend_bc, twist_bc


def _ends(logit_b: FloatArray, half_b: FloatArray) -> FloatArray:
    """A probability at both ends of an interval of its logit, (2, B)."""
    return np.asarray(expit(np.stack([logit_b - half_b, logit_b + half_b])))


def _widest_variance(ends_eb: FloatArray) -> FloatArray:
    """The largest p (1 - p) between two ends, (B, 1)."""
    nearest = np.clip(0.5, ends_eb[0], ends_eb[1])
    return np.asarray((nearest * (1 - nearest))[:, None])


def _mixed(tau_ebc: FloatArray, of0: FloatArray, of1: FloatArray) -> FloatArray:
    """The largest mixture of the two: it is linear in the share of class 0."""
    return np.asarray((tau_ebc * of0 + (1 - tau_ebc) * of1).max(axis=0))


def divergence_floor(null: Null, here: Local, near: Reach, half_bi: FloatArray) -> FloatArray:
    """The divergence of the histograms from every model in the box is at least this."""
    items_c, score_bic = null.items_c, here.score_bic
    centre_b = null.saturated - here.log_cell_bc @ items_c
    slope_bi = -(score_bic @ items_c) * half_bi
    bend_bij = (score_bic * items_c) @ score_bic.transpose(0, 2, 1) - here.second_bijc @ items_c
    bend_bij *= half_bi[:, :, None] * half_bi[:, None]
    twist_b = (near.twist_bc + 3 * near.slope_bc * near.bend_bc + 2 * near.slope_bc**3) @ items_c
    third_b = least_on_cube(slope_bi, bend_bij) - twist_b / 6
    second_b = -np.abs(slope_bi).sum(axis=1) - near.bend_bc @ items_c / 2
    return np.asarray(centre_b + np.maximum(second_b, third_b) - ROUNDING * null.n_items)


def least_on_cube(slope_bi: FloatArray, bend_bij: FloatArray) -> FloatArray:
    """A lower bound of `slope u + u bend u / 2` over |u_i| <= 1, sharp where the bend is positive.

    A convex function lies above its tangent at any point: here the one that a few descents along the axes reach.

    >>> least_on_cube(np.array([[3.0, 0.0, 0.5]]), np.eye(3)[None]).round(6).tolist()
    [-2.625]
    """
    low_b = np.minimum(np.linalg.eigvalsh(bend_bij)[:, 0], 0)
    bend_bij = bend_bij - low_b[:, None, None] * np.eye(3)
    point_bi = np.zeros_like(slope_bi)
    for _ in range(DESCENTS):
        for i in range(3):
            own_b = np.maximum(bend_bij[:, i, i], 1e-300)
            pull_b = slope_bi[:, i] + (bend_bij[:, i] * point_bi).sum(axis=1)
            point_bi[:, i] = np.clip(point_bi[:, i] - pull_b / own_b, -1, 1)
    turned_bi = (bend_bij @ point_bi[..., None])[..., 0]
    tangent_bi = slope_bi + turned_bi
    value_b = ((slope_bi + turned_bi / 2) * point_bi).sum(axis=1)
    return np.asarray(value_b - (np.abs(tangent_bi) + tangent_bi * point_bi).sum(axis=1) + 1.5 * low_b)


def elsewhere(near: Reach, centre_b: FloatArray) -> FloatArray:
    """Any event with these probabilities at the centres has at most this one at every model in the box.

    Hoelder's inequality: P(R) = E 1_R L <= P0(R)^(1 - 1/a) (E L^a)^(1/a), L the likelihood ratio to the centre.
    """
    slope_b = near.slope_bc.max(axis=1)
    most_b1 = np.exp(np.minimum(slope_b, STEEPEST))[:, None]  # of p / p0 in any cell
    growth = (POWERS - 1) / 2 * most_b1 ** (POWERS - 2) * near.away_b[:, None] ** 2
    log_b1 = np.log(np.maximum(centre_b, 1e-300))[:, None]
    log_b = np.minimum((log_b1 * (1 - 1 / POWERS) + growth).min(axis=1), 0)
    return np.asarray(np.where(slope_b <= STEEPEST, np.exp(log_b), 1))


def log_chernoff(
    null: Null,
    here: Local,
    near: Reach,
    half_bi: FloatArray,
    weight_bc: FloatArray,
    target_b: FloatArray,
    tilt_b: FloatArray,
) -> FloatArray:
    """log of a bound of P(sum of weights >= target), for every model in the box: exp(-t target) E exp(t sum)."""
    lifted_bc = here.cell_bc * np.exp(tilt_b[:, None] * weight_bc)
    mean_bg = lifted_bc @ null.group_cg
    per_bc = null.total_c * lifted_bc / (mean_bg @ null.group_cg.T)
    slope_b = (np.abs((here.score_bic @ per_bc[..., None])[..., 0]) * half_bi).sum(axis=1)
    bend_bij = (here.second_bijc @ per_bc[:, None, :, None])[..., 0] * half_bi[:, :, None] * half_bi[:, None]
    # At most the sum of all entries, but of the diagonal only the positive ones: they come with squares.
    diagonal_bi = np.diagonal(bend_bij, axis1=1, axis2=2)
    bend_b = np.abs(bend_bij).sum(axis=(1, 2)) - np.maximum(-diagonal_bi, 0).sum(axis=1)
    most_bc = per_bc * np.exp(np.minimum(near.slope_bc, 300))
    rest_b = np.minimum(
        bend_b / 2 + (most_bc * near.twist_bc).sum(axis=1) / 6, (most_bc * near.bend_bc).sum(axis=1) / 2
    )
    centre_b = np.log(mean_bg) @ (null.items_c @ null.group_cg) - tilt_b * target_b
    return np.asarray(centre_b + slope_b + rest_b + ROUNDING * null.n_items)
