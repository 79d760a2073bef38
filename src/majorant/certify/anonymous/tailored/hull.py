"""How near the histograms can come to any model in a box of (a, r, nu): a bound by convexity.

The models of a box lie in the convex hull of two arcs of binomials, and the divergence is convex in the probabilities
of the cells.  So a tangent, made anywhere, bounds it on all of the hull; made near the nearest point of the hull, it is
sharp.  Proof: docs/theory/tailored.md.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, gammaln, xlog1py, xlogy

from majorant.certify.anonymous.tailored.null import Null
from majorant.theory.checks import FloatArray

STEPS = 8
STRIDE = 1.7  # exponent of a step: longer than that of expectation-maximisation, which is slow
ROUNDING = 1e-9  # per item: far above what 64-bit arithmetic loses
MOST_GAIN = 1e50  # keeps powers finite


def hull_divergence(null: Null, box_bie: FloatArray) -> FloatArray:
    """A lower bound of the divergence of the histograms from all models with (x, y, nu) in the box, ends included."""
    chance_bie, nu_be = expit(box_bie[:, :2]), box_bie[:, 2]
    share_c = null.items_c / null.n_items
    cell_bc = _nearest(null, chance_bie, nu_be, share_c)
    held = share_c > 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        pull_bc = np.where(held, share_c / np.maximum(cell_bc, 1e-300), 0)
        most_b2 = _largest(null, pull_bc, chance_bie)
        largest_b = (most_b2[:, :1] * nu_be + most_b2[:, 1:] * (1 - nu_be)).max(axis=1)
        log_cell_b = np.log(np.maximum(cell_bc[:, held], 1e-300)) @ null.items_c[held]
        return np.asarray(null.saturated - log_cell_b - null.n_items * (np.log(largest_b) + ROUNDING))


def _nearest(null: Null, chance_bie: FloatArray, nu_be: FloatArray, share_c: FloatArray) -> FloatArray:
    """Probabilities of the cells (B, C) about as near to the histograms as the hull comes: a mixture of six binomials.

    Any would do for a valid bound.
    """
    middle_bi1 = chance_bie.mean(axis=2, keepdims=True)
    atom_b6 = np.concatenate([chance_bie, middle_bi1], axis=2).reshape(-1, 6)
    zeros_c, ones_c = null.cells.zeros_c, null.cells.votes_c - null.cells.zeros_c
    law_b6c = np.exp(xlogy(zeros_c, atom_b6[..., None]) + xlog1py(ones_c, -atom_b6[..., None]) + null.log_orders_c)
    weight_b6 = np.repeat(np.stack([nu_be.mean(axis=1), 1 - nu_be.mean(axis=1)], axis=1) / 3, 3, axis=1)
    for _ in range(STEPS):
        cell_bc = (weight_b6[:, None] @ law_b6c)[:, 0]
        gain_b6 = (law_b6c @ (share_c / np.maximum(cell_bc, 1e-300))[..., None])[..., 0]
        weight_b6 = weight_b6 * np.minimum(gain_b6, MOST_GAIN) ** STRIDE
        mass_b2 = weight_b6.reshape(-1, 2, 3).sum(axis=2)
        nu_b = np.clip(mass_b2[:, 0] / mass_b2.sum(axis=1), nu_be[:, 0], nu_be[:, 1])
        weight_b6 *= np.repeat(np.stack([nu_b, 1 - nu_b], axis=1) / np.maximum(mass_b2, 1e-300), 3, axis=1)
    return (weight_b6[:, None] @ law_b6c)[:, 0]


def _elevation(null: Null) -> FloatArray:
    """From the cells to Bernstein coefficients of the highest degree, (C, H + 1)."""
    top = int(null.cells.votes_c.max())
    k = np.arange(top + 1.0)
    h, j = null.cells.votes_c[:, None], null.cells.zeros_c[:, None]
    rest = top - h

    def ways(n: FloatArray, m: FloatArray) -> FloatArray:
        inside = (m >= 0) & (m <= n)
        m = np.where(inside, m, 0)
        return np.where(inside, np.exp(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)), 0.0)

    return np.asarray(ways(h, j) * ways(rest, k - j) / ways(np.full_like(k, top), k))


def _largest(null: Null, pull_bc: FloatArray, chance_bie: FloatArray) -> FloatArray:
    """A bound of the mean pull over binomials with a chance in either interval, (B, 2).

    The mean is a polynomial of the chance.  Over an interval it is at most the largest of its Bernstein coefficients
    there, which are found by de Casteljau's scheme: first above the lower end, then below the upper one.
    """
    coefficient_bk = pull_bc @ _elevation(null)
    low_b21 = chance_bie[..., :1]
    part_b21 = (chance_bie[..., 1:] - low_b21) / np.maximum(1 - low_b21, 1e-300)
    row_b2k = np.repeat(coefficient_bk[:, None], 2, axis=1)
    degree = row_b2k.shape[2] - 1
    for r in range(degree):
        row_b2k[..., : degree - r] += low_b21 * (row_b2k[..., 1 : degree - r + 1] - row_b2k[..., : degree - r])
    for r in range(1, degree + 1):
        row_b2k[..., r:] += (1 - part_b21) * (row_b2k[..., r - 1 : -1] - row_b2k[..., r:])
    return np.asarray(row_b2k.max(axis=2))
