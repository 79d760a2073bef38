"""Tailored linear inversion, one model at a time: is a null model, or a whole box of them, rejected?

Null models decide one vote count wrongly.  A model is `(x, y, d)`: x = logit a, y = logit r, and d >= 0 the depth, by
which logit nu lies below the boundary where `n_zeros` of `n_votes` votes leave the class open.  Axis i runs over these
three, b over boxes or points, c over the cells of the histograms.

A model is rejected if the histograms diverge too far from it, if one of the nuisance statistics is too far out, or if
the margin statistic is.  The statistics are linear and made for the model: whole-number weights, so that the law of
their sum is a lattice's and `P(W mod M in a run of residues)` is a sum over M frequencies, with no error but rounding.
It is the probability of an event, which holds `W >= target` but for what lies beyond the run; nothing is smoothed,
truncated or integrated.

A box is a centre and half its sides.  Along the straight line from the centre to any of its models, log-probabilities
have the slope s, and q = p''/p; bounds of both, cell by cell, bound the tails of all its models at once.  A large box
is rejected by how near the histograms can come to any of its models: these lie in the convex hull of two arcs of
binomials, and the divergence is convex in the probabilities of the cells, so a tangent, made anywhere, bounds it on all
of the hull; made near the nearest point of the hull, it is sharp.  Proofs: docs/theory/tailored.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammainccinv, gammaln, log_expit, ndtr, xlog1py, xlogy

from majorant.evidence.certificate.count_models import HistogramCells, Histograms, IntArray, flatten
from majorant.values import FloatArray

NUISANCE_DIRECTIONS = np.array([(1.0, 0.0), (0.0, 1.0), (0.5**0.5, 0.5**0.5), (0.5**0.5, -(0.5**0.5))])  # of nuisance
WIDEST = 16.0  # logits up to this size are searched; models beyond share the weights of the models there
SUM_ROUNDING = 1e-9  # per item: far above what 64-bit arithmetic loses
TAIL_ROUNDING = 1e-8  # above what 64-bit arithmetic and faint frequencies can take away
Flags = NDArray[np.bool_]


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

    @property
    def items_g(self) -> FloatArray:
        """Items with each number of votes."""
        return np.asarray(self.items_c @ self.group_cg)

    @property
    def n_items(self) -> float:
        """All items."""
        return float(self.items_c.sum())

    @property
    def saturated(self) -> float:
        """The log-likelihood of the histograms themselves."""
        return float(xlogy(self.items_c, self.items_c / self.total_c).sum())


def null_side(histograms: Histograms, n_votes: int, n_zeros: int) -> Null:
    """The side `{L(n_zeros of n_votes) <= 0}`; the opposite side is this one on `mirrored` histograms."""
    cells, items_c = flatten(histograms)
    group_cg = (cells.votes_c[:, None] == np.unique(cells.votes_c)).astype(float)
    total_c = group_cg @ (items_c @ group_cg)
    return Null(cells, items_c, group_cg, total_c, cells.log_orders_c, n_votes, n_zeros)


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


def edge_part(null: Null, logit: ArrayLike) -> FloatArray:
    """What x adds to logit nu on the boundary, and y takes away; convex, and least where a is n_zeros of n_votes."""
    zeros, logit = null.n_zeros, np.asarray(logit, dtype=float)
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
    # Side of a square of models that share their weights, times the root of the number of votes
    least = min(1.0, 2.0 ** np.floor(np.log2(6.7 / np.sqrt(n_votes))))
    side_b = np.full(len(logit_b), least)
    for size, times in ((4.0, 4.0), (8.0, 16.0)):  # from this size of a logit on, squares are so many times as wide
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
    heaviest = 40.0  # standard deviations: a weight is cut to this
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
    basis = [np.clip(direction_sc, -heaviest, heaviest) for direction_sc in basis]
    margin_sc = np.round(4 * basis[2])  # weights are rounded to this part of their standard deviation
    group_cg = null.group_cg
    mean_sc = ((here.cell_bc * margin_sc) @ group_cg) @ group_cg.T
    spread_s = np.sqrt((null.total_c * here.cell_bc * (margin_sc - mean_sc) ** 2).sum(axis=1))
    nuisance_sjc = np.einsum("jd,dsc->sjc", NUISANCE_DIRECTIONS, np.stack(basis[:2]))
    return Weights(margin_sc, np.maximum(spread_s, 1.0), nuisance_sjc)


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
        return np.asarray(null.saturated - log_cell_b - null.n_items * (np.log(largest_b) + SUM_ROUNDING))


def _nearest(null: Null, chance_bie: FloatArray, nu_be: FloatArray, share_c: FloatArray) -> FloatArray:
    """Probabilities of the cells (B, C) about as near to the histograms as the hull comes: a mixture of six binomials.

    Any would do for a valid bound.
    """
    middle_bi1 = chance_bie.mean(axis=2, keepdims=True)
    atom_b6 = np.concatenate([chance_bie, middle_bi1], axis=2).reshape(-1, 6)
    zeros_c, ones_c = null.cells.zeros_c, null.cells.votes_c - null.cells.zeros_c
    law_b6c = np.exp(xlogy(zeros_c, atom_b6[..., None]) + xlog1py(ones_c, -atom_b6[..., None]) + null.log_orders_c)
    weight_b6 = np.repeat(np.stack([nu_be.mean(axis=1), 1 - nu_be.mean(axis=1)], axis=1) / 3, 3, axis=1)
    for _ in range(8):
        cell_bc = (weight_b6[:, None] @ law_b6c)[:, 0]
        gain_b6 = (law_b6c @ (share_c / np.maximum(cell_bc, 1e-300))[..., None])[..., 0]
        # Exponent of a step: longer than that of expectation-maximisation, which is slow
        weight_b6 = weight_b6 * np.minimum(gain_b6, 1e50) ** 1.7  # keeps powers finite
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


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Residues target .. target + length - 1 of a cycle."""

    target: int
    length: int
    cycle: int  # odd


def run_from(target: float, spread: float) -> Run:
    """A run of values from the target upwards, for a sum of this standard deviation.

    >>> run_from(10, 2.0)
    Run(target=10, length=14, cycle=31)
    """
    length = int(np.ceil(7.0 * spread))  # the run goes 7 standard deviations up, the cycle 8 down
    return Run(int(target), length, 2 * ((length + int(np.ceil(8.0 * spread))) // 2) + 1)


def run_probability(
    null: Null, cell_bc: FloatArray, score_bic: FloatArray, weight_c: FloatArray, run: Run
) -> tuple[FloatArray, FloatArray]:
    """P(W mod cycle in the run) for the models b, rounded up, and its derivatives in the model's parameters (B, 3)."""
    number_f = np.arange(1, run.cycle // 2 + 1, dtype=np.int64)
    turn_f = np.asarray(2 * np.pi / run.cycle * number_f)
    loud = _audible(null, cell_bc, weight_c, run.cycle)
    number_f, turn_f = number_f[loud], turn_f[loud]
    wave_cf = np.exp(1j * weight_c[:, None] * turn_f)
    log_bf = np.zeros((len(cell_bc), len(turn_f)), dtype=complex)
    pull_bif = np.zeros((*score_bic.shape[:2], len(turn_f)), dtype=complex)
    for g, total in enumerate(null.items_g):
        mine = null.group_cg[:, g] > 0
        phi_bf = cell_bc[:, mine] @ wave_cf[mine] + 1e-300
        log_bf += total * np.log(phi_bf)
        pull_bif += total * ((cell_bc[:, None] * score_bic)[:, :, mine] @ wave_cf[mine]) / phi_bf[:, None]
    # Whole turns are left out before the multiplication by pi: a large target would cost digits.
    ends = run.target % run.cycle, (run.target + run.length) % run.cycle
    first_f, last_f = (np.exp(-2j * np.pi / run.cycle * (number_f * at % run.cycle)) for at in ends)
    run_f = (first_f - last_f) / (1 - np.exp(-1j * turn_f))
    part_bf = np.exp(log_bf) * run_f
    value_b = (run.length + 2 * part_bf.real.sum(axis=1)) / run.cycle
    slope_bi = 2 * np.einsum("bf,bif->bi", part_bf, pull_bif).real / run.cycle
    return value_b + TAIL_ROUNDING + 1e-13 * null.n_items, slope_bi


def _audible(null: Null, cell_bc: FloatArray, weight_c: FloatArray, cycle: int) -> NDArray[np.bool_]:
    """Which frequencies any of the models can have: |phi| differs from that of their mean by at most the distance."""
    mean_c, place_c = cell_bc.mean(axis=0), weight_c.astype(np.int64) % cycle
    loud_f = np.zeros(cycle // 2)
    for g, total in enumerate(null.items_g):
        mine = null.group_cg[:, g] > 0
        apart = np.abs(cell_bc[:, mine] - mean_c[mine]).sum(axis=1).max()
        law = np.bincount(place_c[mine], weights=mean_c[mine], minlength=cycle)
        phi_f = np.abs(np.fft.rfft(law)[1:]) + apart
        loud_f += total * np.log(np.minimum(phi_f + 1e-300, 1))
    return np.asarray(loud_f > -40.0)  # log of a characteristic function too small to count


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
    corner_vi = np.array([(1.0, *signs) for signs in product((1.0, -1.0), repeat=2)])  # the other four mirror these
    along_bvc = np.einsum("bic,vi,bi->bvc", here.score_bic, corner_vi, half_bi)
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
    # The mixture is linear in the share of class 0, so it is largest at an end.
    slope_bc, bend_bc, twist_bc = (
        (tau_ebc * of0 + (1 - tau_ebc) * of1).max(axis=0) for of0, of1 in zip(*bounds, strict=True)
    )
    return slope_bc, bend_bc, twist_bc


def _ends(logit_b: FloatArray, half_b: FloatArray) -> FloatArray:
    """A probability at both ends of an interval of its logit, (2, B)."""
    return np.asarray(expit(np.stack([logit_b - half_b, logit_b + half_b])))


def _widest_variance(ends_eb: FloatArray) -> FloatArray:
    """The largest p (1 - p) between two ends, (B, 1)."""
    nearest = np.clip(0.5, ends_eb[0], ends_eb[1])
    return np.asarray((nearest * (1 - nearest))[:, None])


def divergence_floor(null: Null, boxes: Boxes) -> FloatArray:
    """The divergence of the histograms from every model in the box is at least this."""
    here, near, half_bi = boxes.here, boxes.near, boxes.half_bi
    items_c, score_bic = null.items_c, here.score_bic
    centre_b = null.saturated - here.log_cell_bc @ items_c
    slope_bi = -(score_bic @ items_c) * half_bi
    bend_bij = (score_bic * items_c) @ score_bic.transpose(0, 2, 1) - here.second_bijc @ items_c
    bend_bij *= half_bi[:, :, None] * half_bi[:, None]
    twist_b = (near.twist_bc + 3 * near.slope_bc * near.bend_bc + 2 * near.slope_bc**3) @ items_c
    third_b = least_on_cube(slope_bi, bend_bij) - twist_b / 6
    second_b = -np.abs(slope_bi).sum(axis=1) - near.bend_bc @ items_c / 2
    return np.asarray(centre_b + np.maximum(second_b, third_b) - SUM_ROUNDING * null.n_items)


def least_on_cube(slope_bi: FloatArray, bend_bij: FloatArray) -> FloatArray:
    """A lower bound of `slope u + u bend u / 2` over |u_i| <= 1, sharp where the bend is positive.

    A convex function lies above its tangent at any point: here the one that a few descents along the axes reach.

    >>> least_on_cube(np.array([[3.0, 0.0, 0.5]]), np.eye(3)[None]).round(6).tolist()
    [-2.625]
    """
    low_b = np.minimum(np.linalg.eigvalsh(bend_bij)[:, 0], 0)
    bend_bij = bend_bij - low_b[:, None, None] * np.eye(3)
    point_bi = np.zeros_like(slope_bi)
    for _ in range(4):
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
    steepest_box = 20.0  # slope of a box about which likelihood ratios tell nothing
    slope_b = near.slope_bc.max(axis=1)
    most_b1 = np.exp(np.minimum(slope_b, steepest_box))[:, None]  # of p / p0 in any cell
    power = np.array([2.0, 3, 4, 5, 7, 10, 15])  # a, of which the best is taken
    growth = (power - 1) / 2 * most_b1 ** (power - 2) * near.away_b[:, None] ** 2
    log_b1 = np.log(np.maximum(centre_b, 1e-300))[:, None]
    log_b = np.minimum((log_b1 * (1 - 1 / power) + growth).min(axis=1), 0)
    return np.asarray(np.where(slope_b <= steepest_box, np.exp(log_b), 1))


def log_chernoff(
    null: Null, boxes: Boxes, weight_bc: FloatArray, target_b: FloatArray, tilt_b: FloatArray
) -> FloatArray:
    """log of a bound of P(sum of weights >= target), for every model in the box: exp(-t target) E exp(t sum)."""
    here, near, half_bi = boxes.here, boxes.near, boxes.half_bi
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
    centre_b = np.log(mean_bg) @ null.items_g - tilt_b * target_b
    return np.asarray(centre_b + slope_b + rest_b + SUM_ROUNDING * null.n_items)


@dataclass(frozen=True, slots=True)
class Levels:
    """The error, divided among the tests of a model in shares fixed in advance."""

    cut: float  # of the divergence
    nuisance: float  # of each one-sided test, two for each direction
    margin: float

    @classmethod
    def of(cls, null: Null, error: float) -> Levels:
        """For the numbers of votes in the histograms."""
        sizes = [int(h) for h in np.unique(null.cells.votes_c)]
        fit, nuisance = 0.02 * error, 0.08 * error
        return cls(divergence_cut(sizes, fit), nuisance / (2 * len(NUISANCE_DIRECTIONS)), error - fit - nuisance)


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Boxes of models: centre, half sides, what can happen within, and what lies beyond a face."""

    here: Local
    near: Reach
    half_bi: FloatArray
    beyond_b: FloatArray

    def take(self, index: NDArray[np.int64]) -> Boxes:
        """The boxes at these places."""
        return Boxes(self.here.take(index), self.near.take(index), self.half_bi[index], self.beyond_b[index])


def around(null: Null, point_bi: FloatArray, half_bi: FloatArray, beyond_b: FloatArray) -> Boxes:
    """The boxes with these centres and half sides."""
    here = local(null, point_bi)
    return Boxes(here, reach(null, here, half_bi), half_bi, beyond_b)


def too_far(null: Null, boxes: Boxes, levels: Levels) -> Flags:
    """Which boxes the divergence rejects; none whose centre it does not."""
    out_b = _divergence(null, boxes) > levels.cut
    asked = np.flatnonzero(out_b)
    if len(asked):
        some = boxes.take(asked)
        out_b[asked] = divergence_floor(null, some) - some.beyond_b > levels.cut
    return out_b


def _divergence(null: Null, boxes: Boxes) -> FloatArray:
    """Of the histograms from the centres."""
    return np.asarray(null.saturated - boxes.here.log_cell_bc @ null.items_c)


def rejected(null: Null, boxes: Boxes, levels: Levels) -> Flags:
    """Which boxes the statistics of their squares reject; every box must lie within one square of weights."""
    square_si, which_b = squares_of(null, boxes.here.point_bi)
    weights = tailored_weights(null, square_si)
    done = _by_chernoff(null, boxes, weights.margin_sc[which_b], levels.margin)
    for j in range(len(NUISANCE_DIRECTIONS)):
        open_b = np.flatnonzero(~done)
        weight_bc = weights.nuisance_sjc[which_b[open_b], j]
        sign_b = np.sign(_standardised(null, boxes.here.cell_bc[open_b], weight_bc))  # the side on which it is far out
        done[open_b] = _by_chernoff(null, boxes.take(open_b), weight_bc * sign_b[:, None], levels.nuisance)
    # An exact tail may reject a box that is small, or far out if the statistic were normal.
    fine = np.flatnonzero(~done)
    left, about_b = (
        boxes.take(fine),
        ndtr(-_standardised(null, boxes.here.cell_bc[fine], weights.margin_sc[which_b[fine]])),
    )
    # Spread of a box worth an exact tail
    fine = fine[(left.near.spread_b <= 0.4) | (elsewhere(left.near, about_b) <= levels.margin)]
    for s in np.unique(which_b[fine]):
        mine = fine[which_b[fine] == s]
        weight_c = weights.margin_sc[s]
        run = run_from(weight_c @ null.items_c, weights.spread_s[s])
        done[mine] = largest_tail(null, boxes.take(mine), weight_c, run) <= levels.margin
    return done


def most_dangerous(null: Null, boxes: Boxes, levels: Levels) -> FloatArray:
    """Models (B, 3), a few: if any model of the boxes stands, one of these may.

    They are near enough to the histograms, have margin statistics that are least far out, and the least depth.
    """
    near = boxes.take(np.flatnonzero(_divergence(null, boxes) <= levels.cut))
    pick = np.argsort(far_out(null, near.here))[:8]  # models tried at a time
    x_b, y_b, depth_b = near.here.point_bi[pick].T
    least_b = np.maximum(depth_b - near.half_bi[pick, 2], 0)
    return np.asarray(np.stack([x_b, y_b, least_b], axis=1)[x_b > y_b])


def far_out(null: Null, here: Local) -> FloatArray:
    """How many standard deviations the margin statistics of the models are above their means."""
    square_si, which_b = squares_of(null, here.point_bi)
    return _standardised(null, here.cell_bc, tailored_weights(null, square_si).margin_sc[which_b])


def stand(null: Null, point_bi: FloatArray, levels: Levels) -> Flags:
    """Which models none of the tests rejects: if there is one, nothing is to be certified."""
    boxes = around(null, point_bi, np.zeros_like(point_bi), np.zeros(len(point_bi)))
    return np.asarray(~(too_far(null, boxes, levels) | rejected(null, boxes, levels)))


def largest_tail(null: Null, boxes: Boxes, weight_c: FloatArray, run: Run) -> FloatArray:
    """A bound of P(sum of weights >= start of the run) over the boxes."""
    value_b, slope_bi = run_probability(null, boxes.here.cell_bc, boxes.here.score_bic, weight_c, run)
    # f'' <= 2 curve sqrt(f), so with S the largest f in the box, S <= known + curve sqrt(S).
    known_b = value_b + (np.abs(slope_bi) * boxes.half_bi).sum(axis=1)
    curve_b = boxes.near.curve_b
    largest_b = ((curve_b + np.sqrt(curve_b**2 + 4 * known_b)) / 2) ** 2
    largest_b = np.minimum(largest_b, elsewhere(boxes.near, value_b))
    weight_bc = np.broadcast_to(weight_c, boxes.here.cell_bc.shape)
    after_b = _log_tail(null, boxes, weight_bc, np.full(len(value_b), float(run.target + run.length)))
    return np.asarray(largest_b + np.exp(np.minimum(after_b, 0)) + boxes.beyond_b)


def _by_chernoff(null: Null, boxes: Boxes, weight_bc: FloatArray, error: float) -> Flags:
    """Whether Chernoff's bound rejects: cheap, and all that is needed deep in the null.

    Only boxes that it would reject by a fair chance are asked: those far out if the statistic were normal.
    """
    done = np.zeros(len(weight_bc), dtype=bool)
    far_b = _standardised(null, boxes.here.cell_bc, weight_bc)
    # Of the exponent that Chernoff's bound needs
    asked = np.flatnonzero((far_b > 0) & (far_b**2 / 2 > 0.8 * -np.log(error)))
    if len(asked):
        boxes, weight_bc = boxes.take(asked), weight_bc[asked]
        room_b = np.maximum(error - boxes.beyond_b, 1e-300)
        done[asked] = _log_tail(null, boxes, weight_bc, weight_bc @ null.items_c) <= np.log(room_b)
    return done


def _log_tail(null: Null, boxes: Boxes, weight_bc: FloatArray, target_b: FloatArray) -> FloatArray:
    """Chernoff's bound at about its best exponent, by two Newton steps; 0 below the mean.  Any exponent is valid."""
    # Tilt times weight: keeps exponentials finite
    cell_bc, steepest_b = boxes.here.cell_bc, 30.0 / np.maximum(np.abs(weight_bc).max(axis=1), 1e-9)
    tilt_b, lifted_bc = np.zeros(len(cell_bc)), cell_bc
    for _ in range(2):
        mean_b, variance_b = _moments(null, lifted_bc, weight_bc)
        tilt_b = np.clip(tilt_b + (target_b - mean_b) / np.maximum(variance_b, 1e-9), tilt_b / 3, steepest_b)
        lifted_bc = cell_bc * np.exp(tilt_b[:, None] * weight_bc)
        lifted_bc = lifted_bc / ((lifted_bc @ null.group_cg) @ null.group_cg.T)
    return log_chernoff(null, boxes, weight_bc, target_b, tilt_b)


def _moments(null: Null, cell_bc: FloatArray, weight_bc: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the sum of weights."""
    mean_bg = (cell_bc * weight_bc) @ null.group_cg
    apart_bc = weight_bc - mean_bg @ null.group_cg.T
    return mean_bg @ null.items_g, (null.total_c * cell_bc * apart_bc**2).sum(axis=1)


def _standardised(null: Null, cell_bc: FloatArray, weight_bc: FloatArray) -> FloatArray:
    """How many standard deviations the observed sum of weights is above its mean."""
    mean_b, variance_b = _moments(null, cell_bc, weight_bc)
    return np.asarray((weight_bc @ null.items_c - mean_b) / np.sqrt(np.maximum(variance_b, 1e-9)))
