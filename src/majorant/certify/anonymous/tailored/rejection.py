"""Whether a null model, or a whole box of them, is rejected: tails by tilting, and bounds over boxes.

The exact tail of a sum of whole-number weights, and its derivatives, by a finite Fourier sum.

The sum W of all items' weights is a whole number, so `P(W mod M in a run of residues)` is a sum over M frequencies,
with no error but rounding.  It is the probability of an event, which holds `W >= target` but for what lies beyond the
run; nothing is smoothed, truncated or integrated.

Bounds that hold for every model in a box around a model.  Proofs: docs/theory/tailored.md.

A box is a centre and half its sides.  Along the straight line from the centre to any of its models, log-probabilities
have the slope s, and q = p''/p; here are bounds of both, cell by cell, and what follows from them.

The three tests of a model, for whole boxes of models at once.

A model is rejected if the histograms diverge too far from it, if one of the nuisance statistics is too far out, or if
the margin statistic is too large.  Which statistics: weights.py; that a box is rejected only if all its models are:
docs/theory/tailored.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from majorant.certify.anonymous.tailored.null import (
    DIRECTIONS,
    Local,
    Null,
    divergence_cut,
    local,
    squares_of,
    tailored_weights,
)
from majorant.theory.checks import FloatArray

ABOVE, BELOW = 7.0, 8.0  # standard deviations of W that the run holds above the target, and the cycle below it
FAINT = -40.0  # log of a characteristic function too small to count
TAIL_ROUNDING, ROUNDING_PER_ITEM = 1e-8, 1e-13  # above what 64-bit arithmetic and faint frequencies can take away


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Residues target .. target + length - 1 of a cycle."""

    target: int
    length: int
    cycle: int  # odd

    @property
    def ends(self) -> tuple[int, int]:
        """The first residue, and the first after the last."""
        return self.target % self.cycle, (self.target + self.length) % self.cycle


def run_from(target: float, spread: float) -> Run:
    """A run from the target on, for a sum of this standard deviation.

    >>> run_from(10, 2.0)
    Run(target=10, length=14, cycle=31)
    """
    length = int(np.ceil(ABOVE * spread))
    return Run(int(target), length, 2 * ((length + int(np.ceil(BELOW * spread))) // 2) + 1)


def run_probability(
    null: Null, cell_bc: FloatArray, score_bic: FloatArray, weight_c: FloatArray, run: Run
) -> tuple[FloatArray, FloatArray]:
    """P(W mod cycle in the run) for the models b, rounded up, and its derivatives in the model's parameters (B, 3)."""
    number_f = np.arange(1, run.cycle // 2 + 1, dtype=np.int64)
    turn_f = np.asarray(2 * np.pi / run.cycle * number_f)
    loud = _audible(null, cell_bc, weight_c, run.cycle)
    number_f, turn_f = number_f[loud], turn_f[loud]
    wave_cf = np.exp(1j * weight_c[:, None] * turn_f)
    total_g, log_bf = null.items_c @ null.group_cg, np.zeros((len(cell_bc), len(turn_f)), dtype=complex)
    pull_bif = np.zeros((*score_bic.shape[:2], len(turn_f)), dtype=complex)
    for g, total in enumerate(total_g):
        mine = null.group_cg[:, g] > 0
        phi_bf = cell_bc[:, mine] @ wave_cf[mine] + 1e-300
        log_bf += total * np.log(phi_bf)
        pull_bif += total * ((cell_bc[:, None] * score_bic)[:, :, mine] @ wave_cf[mine]) / phi_bf[:, None]
    # Whole turns are left out before the multiplication by pi: a large target would cost digits.
    first_f, last_f = (np.exp(-2j * np.pi / run.cycle * (number_f * at % run.cycle)) for at in run.ends)
    run_f = (first_f - last_f) / (1 - np.exp(-1j * turn_f))
    part_bf = np.exp(log_bf) * run_f
    value_b = (run.length + 2 * part_bf.real.sum(axis=1)) / run.cycle
    slope_bi = 2 * np.einsum("bf,bif->bi", part_bf, pull_bif).real / run.cycle
    return value_b + TAIL_ROUNDING + ROUNDING_PER_ITEM * null.n_items, slope_bi


def _audible(null: Null, cell_bc: FloatArray, weight_c: FloatArray, cycle: int) -> NDArray[np.bool_]:
    """Which frequencies any of the models can have: |phi| differs from that of their mean by at most the distance."""
    mean_c, place_c = cell_bc.mean(axis=0), weight_c.astype(np.int64) % cycle
    loud_f = np.zeros(cycle // 2)
    for g, total in enumerate(null.items_c @ null.group_cg):
        mine = null.group_cg[:, g] > 0
        apart = np.abs(cell_bc[:, mine] - mean_c[mine]).sum(axis=1).max()
        law = np.bincount(place_c[mine], weights=mean_c[mine], minlength=cycle)
        phi_f = np.abs(np.fft.rfft(law)[1:]) + apart
        loud_f += total * np.log(np.minimum(phi_f + 1e-300, 1))
    return np.asarray(loud_f > FAINT)


CORNERS = np.array([(1.0, *signs) for signs in product((1.0, -1.0), repeat=2)])  # the other four are their mirrors
DESCENTS = 4
POWERS = np.array([2.0, 3, 4, 5, 7, 10, 15])  # of the likelihood ratio in Hoelder's inequality
STEEPEST_BOX = 20.0  # slope of a box about which likelihood ratios tell nothing
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
    most_b1 = np.exp(np.minimum(slope_b, STEEPEST_BOX))[:, None]  # of p / p0 in any cell
    growth = (POWERS - 1) / 2 * most_b1 ** (POWERS - 2) * near.away_b[:, None] ** 2
    log_b1 = np.log(np.maximum(centre_b, 1e-300))[:, None]
    log_b = np.minimum((log_b1 * (1 - 1 / POWERS) + growth).min(axis=1), 0)
    return np.asarray(np.where(slope_b <= STEEPEST_BOX, np.exp(log_b), 1))


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


FIT_SHARE, NUISANCE_SHARE = 0.02, 0.08  # of the error, for the divergence and for the two nuisance directions
FINE = 0.4  # spread of a box worth an exact tail
DANGEROUS = 8  # models tried at a time
HOPEFUL = 0.8  # of the exponent that Chernoff's bound needs
STEEPEST_TILT = 30.0  # tilt times weight: keeps exponentials finite

Flags = NDArray[np.bool_]


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
        fit, nuisance = FIT_SHARE * error, NUISANCE_SHARE * error
        return cls(divergence_cut(sizes, fit), nuisance / (2 * len(DIRECTIONS)), error - fit - nuisance)


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
        out_b[asked] = divergence_floor(null, some.here, some.near, some.half_bi) - some.beyond_b > levels.cut
    return out_b


def _divergence(null: Null, boxes: Boxes) -> FloatArray:
    """Of the histograms from the centres."""
    return np.asarray(null.saturated - boxes.here.log_cell_bc @ null.items_c)


def rejected(null: Null, boxes: Boxes, levels: Levels) -> Flags:
    """Which boxes the statistics of their squares reject; every box must lie within one square of weights."""
    square_si, which_b = squares_of(null, boxes.here.point_bi)
    weights = tailored_weights(null, square_si)
    done = _by_chernoff(null, boxes, weights.margin_sc[which_b], levels.margin)
    for j in range(len(DIRECTIONS)):
        left = np.flatnonzero(~done)
        weight_bc = weights.nuisance_sjc[which_b[left], j]
        sign_b = np.sign(_standardised(null, boxes.here.cell_bc[left], weight_bc))  # the side on which it is far out
        done[left] = _by_chernoff(null, boxes.take(left), weight_bc * sign_b[:, None], levels.nuisance)
    fine = np.flatnonzero(~done)
    fine = fine[_worth_a_tail(null, boxes.take(fine), weights.margin_sc[which_b[fine]], levels.margin)]
    for s in np.unique(which_b[fine]):
        mine = fine[which_b[fine] == s]
        weight_c = weights.margin_sc[s]
        run = run_from(weight_c @ null.items_c, weights.spread_s[s])
        done[mine] = largest_tail(null, boxes.take(mine), weight_c, run) <= levels.margin
    return done


def _worth_a_tail(null: Null, boxes: Boxes, weight_bc: FloatArray, error: float) -> Flags:
    """Whether an exact tail may reject the box: it is small, or far out if the statistic were normal."""
    about_b = ndtr(-_standardised(null, boxes.here.cell_bc, weight_bc))
    return np.asarray((boxes.near.spread_b <= FINE) | (elsewhere(boxes.near, about_b) <= error))


def most_dangerous(null: Null, boxes: Boxes, levels: Levels) -> FloatArray:
    """Models (B, 3), a few: if any model of the boxes stands, one of these may.

    They are near enough to the histograms, have margin statistics that are least far out, and the least depth.
    """
    near = boxes.take(np.flatnonzero(_divergence(null, boxes) <= levels.cut))
    pick = np.argsort(far_out(null, near.here))[:DANGEROUS]
    x_b, y_b, depth_b = near.here.point_bi[pick].T
    least_b = np.maximum(depth_b - near.half_bi[pick, 2], null.further * (x_b - y_b))
    return np.asarray(np.stack([x_b, y_b, np.maximum(least_b, 0)], axis=1)[x_b > y_b])


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
    asked = np.flatnonzero((far_b > 0) & (far_b**2 / 2 > HOPEFUL * -np.log(error)))
    if len(asked):
        boxes, weight_bc = boxes.take(asked), weight_bc[asked]
        room_b = np.maximum(error - boxes.beyond_b, 1e-300)
        done[asked] = _log_tail(null, boxes, weight_bc, weight_bc @ null.items_c) <= np.log(room_b)
    return done


def _log_tail(null: Null, boxes: Boxes, weight_bc: FloatArray, target_b: FloatArray) -> FloatArray:
    tilt_b = _tilt(null, boxes.here.cell_bc, weight_bc, target_b)
    return log_chernoff(null, boxes.here, boxes.near, boxes.half_bi, weight_bc, target_b, tilt_b)


def _moments(null: Null, cell_bc: FloatArray, weight_bc: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the sum of weights."""
    mean_bg = (cell_bc * weight_bc) @ null.group_cg
    apart_bc = weight_bc - mean_bg @ null.group_cg.T
    return mean_bg @ (null.items_c @ null.group_cg), (null.total_c * cell_bc * apart_bc**2).sum(axis=1)


def _standardised(null: Null, cell_bc: FloatArray, weight_bc: FloatArray) -> FloatArray:
    """How many standard deviations the observed sum of weights is above its mean."""
    mean_b, variance_b = _moments(null, cell_bc, weight_bc)
    return np.asarray((weight_bc @ null.items_c - mean_b) / np.sqrt(np.maximum(variance_b, 1e-9)))


def _tilt(null: Null, cell_bc: FloatArray, weight_bc: FloatArray, target_b: FloatArray) -> FloatArray:
    """The exponent that about minimises Chernoff's bound, by two Newton steps; 0 below the mean.  Any one is valid."""
    steepest_b = STEEPEST_TILT / np.maximum(np.abs(weight_bc).max(axis=1), 1e-9)
    tilt_b, lifted_bc = np.zeros(len(cell_bc)), cell_bc
    for _ in range(2):
        mean_b, variance_b = _moments(null, lifted_bc, weight_bc)
        tilt_b = np.clip(tilt_b + (target_b - mean_b) / np.maximum(variance_b, 1e-9), tilt_b / 3, steepest_b)
        lifted_bc = cell_bc * np.exp(tilt_b[:, None] * weight_bc)
        lifted_bc = lifted_bc / ((lifted_bc @ null.group_cg) @ null.group_cg.T)
    return tilt_b
