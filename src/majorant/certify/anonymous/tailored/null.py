"""Null models of a count of votes, the weights of its tests, and the hull of what they allow.

The models in which one vote count is decided wrongly, and what the likelihood does near each of them.

A model is `(x, y, d)`: x = logit a, y = logit r, and d >= 0 the depth, by which logit nu lies below the boundary where
`n_zeros` of `n_votes` votes leave the class open.  Axis i runs over these three, b over boxes or points, c over the
cells of the histograms.

The linear statistic made for a model: whole-number weights, so that the law of their sum is a lattice's.

How near the histograms can come to any model in a box of (a, r, nu): a bound by convexity.

The models of a box lie in the convex hull of two arcs of binomials, and the divergence is convex in the probabilities
of the cells.  So a tangent, made anywhere, bounds it on all of the hull; made near the nearest point of the hull, it is
sharp.  Proof: docs/theory/tailored.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, gammainccinv, gammaln, log_expit, xlog1py, xlogy

from majorant.certify.anonymous.likelihood import HistogramCells, Histograms, IntArray, flatten
from majorant.theory.checks import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """ "{L <= 0}" for `n_zeros` of `n_votes` votes, and the histograms that are to reject it."""

    cells: HistogramCells
    items_c: FloatArray
    group_cg: FloatArray  # 1 where cell c belongs to the g-th number of votes
    total_c: FloatArray  # items with as many votes as cell c has
    log_orders_c: FloatArray
    n_votes: int
    n_zeros: int
    further: int  # the null is smaller: `n_zeros + further` zeros, too, would be decided wrongly

    @property
    def n_items(self) -> float:
        """All items."""
        return float(self.items_c.sum())

    @property
    def saturated(self) -> float:
        """The log-likelihood of the histograms themselves."""
        return float(xlogy(self.items_c, self.items_c / self.total_c).sum())


def null_side(histograms: Histograms, n_votes: int, n_zeros: int, further: int = 0) -> Null:
    """The side `{L(n_zeros + further of n_votes) <= 0}`, its models tested as those of `{L(n_zeros) <= 0}` are.

    The opposite side is this one on `mirrored` histograms.
    """
    cells, items_c = flatten(histograms)
    group_cg = (cells.votes_c[:, None] == np.unique(cells.votes_c)).astype(float)
    total_c = group_cg @ (items_c @ group_cg)
    return Null(cells, items_c, group_cg, total_c, cells.log_orders_c, n_votes, n_zeros, further)


def mirrored(histograms: Histograms) -> dict[int, FloatArray]:
    """The histograms with the classes swapped.

    >>> mirrored({2: np.array([1., 2., 3.])})[2].tolist()
    [3.0, 2.0, 1.0]
    """
    return {h: items_k[::-1] for h, items_k in histograms.items()}


def divergence_cut(sizes: list[int], error: float) -> float:
    """What the divergence of the histograms from the true model exceeds with probability at most `error`.

    A histogram of H votes is drawn by H binomials, one after the other; the divergence of a binomial exceeds u with
    probability at most 2 exp(-u) (Chernoff, twice), so it is below log 2 plus an exponential variable, and the sum
    below `n log 2` plus a gamma variable, n the sum of the sizes.  Proof: docs/theory/tailored.md.

    >>> round(divergence_cut([3], .001), 2)
    13.31
    """
    stages = sum(sizes)
    return float(stages * np.log(2) + gammainccinv(stages, error))


def edge_part(null: Null, logit: ArrayLike, further: int = 0) -> FloatArray:
    """What x adds to logit nu on the boundary, and y takes away; convex, and least where a is n_zeros of n_votes.

    The boundary is that of `n_zeros + further` zeros.
    """
    zeros, logit = null.n_zeros + further, np.asarray(logit, dtype=float)
    # A product with 0 is left out: the logit may be infinite.
    ones = (null.n_votes - zeros) * log_expit(-logit) if zeros < null.n_votes else 0.0
    return np.asarray(-zeros * log_expit(logit) - ones)


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """Models b and their derivatives."""

    point_bi: FloatArray
    logit_nu_b: FloatArray
    class0_bc: FloatArray  # log-odds of class 0 in cell c
    log_cell_bc: FloatArray
    cell_bc: FloatArray  # probability of cell c, given its number of votes
    score_bic: FloatArray  # derivatives of log_cell_bc
    second_bijc: FloatArray  # second derivatives of cell_bc, divided by it

    def take(self, index: object) -> Local:
        """The models at these places."""
        return Local(*(getattr(self, name)[index] for name in Local.__slots__))


def local(null: Null, point_bi: FloatArray) -> Local:
    """Probabilities and their derivatives at the models `point_bi`."""
    x, y, d = point_bi.T[:, :, None]
    votes_c, zeros_c = null.cells.votes_c, null.cells.zeros_c
    logit_nu = edge_part(null, x) - edge_part(null, y) - d
    log1_bc = log_expit(y) * zeros_c + log_expit(-y) * (votes_c - zeros_c) + null.log_orders_c
    zero, one = log_expit(x) - log_expit(y), log_expit(-x) - log_expit(-y)
    odds_bc = logit_nu + zero * zeros_c + one * (votes_c - zeros_c)
    log_cell_bc = log_expit(-logit_nu) + log1_bc + np.logaddexp(0, odds_bc)
    slope0_bic, slope1_bic, bend0_bijc, bend1_bijc = _class_derivatives(null, expit(x), expit(y), expit(logit_nu))
    tau_b1c = expit(odds_bc)[:, None]
    score_bic = tau_b1c * slope0_bic + (1 - tau_b1c) * slope1_bic
    second0 = slope0_bic[:, :, None] * slope0_bic[:, None] + bend0_bijc
    second1 = slope1_bic[:, :, None] * slope1_bic[:, None] + bend1_bijc
    second_bijc = tau_b1c[:, None] * second0 + (1 - tau_b1c[:, None]) * second1
    return Local(point_bi, logit_nu[:, 0], odds_bc, log_cell_bc, np.exp(log_cell_bc), score_bic, second_bijc)


def _class_derivatives(
    null: Null, a: FloatArray, r: FloatArray, nu: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Slopes and curvatures of log P(class, cell), for class 0 and class 1."""
    votes_c, zeros_c, n_votes = null.cells.votes_c, null.cells.zeros_c, null.n_votes
    edge_bi = np.concatenate([n_votes * a - null.n_zeros, null.n_zeros - n_votes * r, -np.ones_like(a)], axis=1)
    bow_bij = np.zeros((len(a), 3, 3))  # curvature of logit nu
    bow_bij[:, 0, 0], bow_bij[:, 1, 1] = (n_votes * a * (1 - a))[:, 0], (-n_votes * r * (1 - r))[:, 0]
    spread_bij = (nu * (1 - nu))[:, None] * edge_bi[:, :, None] * edge_bi[:, None]
    slope0_bic = np.repeat(((1 - nu) * edge_bi)[:, :, None], len(votes_c), axis=2)
    slope1_bic = np.repeat((-nu * edge_bi)[:, :, None], len(votes_c), axis=2)
    slope0_bic[:, 0] += zeros_c - votes_c * a
    slope1_bic[:, 1] += zeros_c - votes_c * r
    bend0_bijc = np.repeat(((1 - nu)[:, None] * bow_bij - spread_bij)[..., None], len(votes_c), axis=3)
    bend1_bijc = np.repeat((-nu[:, None] * bow_bij - spread_bij)[..., None], len(votes_c), axis=3)
    bend0_bijc[:, 0, 0] -= votes_c * a * (1 - a)
    bend1_bijc[:, 1, 1] -= votes_c * r * (1 - r)
    return slope0_bic, slope1_bic, bend0_bijc, bend1_bijc


WEIGHT_STEPS = 4  # weights are rounded to this part of their standard deviation
PITCH = 6.7  # side of a square of models that share their weights, times the root of the number of votes
DIRECTIONS = np.array([(1.0, 0.0), (0.0, 1.0), (0.5**0.5, 0.5**0.5), (0.5**0.5, -(0.5**0.5))])  # of nuisance
WIDEST = 16.0  # logits up to this size are searched; models beyond share the weights of the models there
HEAVIEST = 40.0  # standard deviations: a weight is cut to this
WIDER = ((4.0, 4.0), (8.0, 16.0))  # from this size of a logit on, squares are so many times as wide


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """For the squares s of models: the efficient score of depth, rounded, and scores j of the other two parameters.

    They depend on the square and on the numbers of items alone, never on the votes.
    """

    margin_sc: FloatArray  # whole numbers; large sums speak for a larger nu than the model's
    spread_s: FloatArray  # standard deviation of the sum of margin_sc
    nuisance_sjc: FloatArray  # unit standard deviation per item


def sides_of_square(null: Null, logit_b: FloatArray) -> FloatArray:
    """How wide the squares are at these logits: a power of 2, at most 1, or wider where probabilities hardly move."""
    n_votes = float(null.items_c @ null.cells.votes_c)
    least = min(1.0, 2.0 ** np.floor(np.log2(PITCH / np.sqrt(n_votes))))
    side_b = np.full(len(logit_b), least)
    for size, times in WIDER:
        side_b = np.where(np.abs(logit_b) >= size, min(times * least, size), side_b)
    return side_b


def squares_of(null: Null, point_bi: FloatArray) -> tuple[FloatArray, IntArray]:
    """The models, (S, 3), for which the weights of the models `point_bi` are made, and which of them is whose.

    A square of (x, y) and a range of depths, 0-1, 1-2, 2-4, ..., have their weights in common.
    """
    centre_bi = np.empty_like(point_bi)
    for i in (0, 1):
        side_b = sides_of_square(null, point_bi[:, i])
        centre_bi[:, i] = (np.floor(point_bi[:, i] / side_b) + 0.5) * side_b
    depth_b = point_bi[:, 2]
    centre_bi[:, 2] = np.where(depth_b < 1, 0, 2.0 ** np.floor(np.log2(np.maximum(depth_b, 1))))
    square_si, which_b = np.unique(centre_bi, axis=0, return_inverse=True)
    return square_si, which_b.reshape(-1).astype(np.int64)


def tailored_weights(null: Null, point_si: FloatArray) -> Weights:
    """The weights made for these models."""
    here = local(null, point_si)
    mass_sc = null.total_c * here.cell_bc / null.n_items
    x_sc, y_sc, depth_sc = here.score_bic.transpose(1, 0, 2)
    basis: list[FloatArray] = []
    for direction_sc in (x_sc + y_sc, x_sc, -depth_sc):
        for _ in range(2):  # twice: the first pass leaves rounding errors
            for other_sc in basis:
                along = (mass_sc * direction_sc * other_sc).sum(axis=1, keepdims=True)
                direction_sc = direction_sc - along * other_sc
            size = np.sqrt((mass_sc * direction_sc**2).sum(axis=1, keepdims=True))
            direction_sc = direction_sc / np.maximum(size, 1e-300)
        basis.append(direction_sc)
    basis = [np.clip(direction_sc, -HEAVIEST, HEAVIEST) for direction_sc in basis]
    margin_sc = np.round(WEIGHT_STEPS * basis[2])
    group_cg = null.group_cg
    mean_sc = ((here.cell_bc * margin_sc) @ group_cg) @ group_cg.T
    spread_s = np.sqrt((null.total_c * here.cell_bc * (margin_sc - mean_sc) ** 2).sum(axis=1))
    nuisance_sjc = np.einsum("jd,dsc->sjc", DIRECTIONS, np.stack(basis[:2]))
    return Weights(margin_sc, np.maximum(spread_s, 1.0), nuisance_sjc)


TANGENT_STEPS = 8
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
    for _ in range(TANGENT_STEPS):
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
