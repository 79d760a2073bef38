"""The three tests of a model, for whole boxes of models at once.

A model is rejected if the histograms diverge too far from it, if one of the nuisance statistics is too far out, or if
the margin statistic is too large.  Which statistics: weights.py; that a box is rejected only if all its models are:
docs/theory/tailored.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from majorant.certify.anonymous.tailored.bounds import Reach, divergence_floor, elsewhere, log_chernoff, reach
from majorant.certify.anonymous.tailored.null import Local, Null, divergence_cut, local
from majorant.certify.anonymous.tailored.tail import Run, run_from, run_probability
from majorant.certify.anonymous.tailored.weights import DIRECTIONS, squares_of, tailored_weights
from majorant.theory.checks import FloatArray

FIT_SHARE, NUISANCE_SHARE = 0.02, 0.08  # of the error, for the divergence and for the two nuisance directions
FINE = 0.4  # spread of a box worth an exact tail
DANGEROUS = 8  # models tried at a time
HOPEFUL = 0.8  # of the exponent that Chernoff's bound needs
STEEPEST = 30.0  # tilt times weight: keeps exponentials finite

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
    steepest_b = STEEPEST / np.maximum(np.abs(weight_bc).max(axis=1), 1e-9)
    tilt_b, lifted_bc = np.zeros(len(cell_bc)), cell_bc
    for _ in range(2):
        mean_b, variance_b = _moments(null, lifted_bc, weight_bc)
        tilt_b = np.clip(tilt_b + (target_b - mean_b) / np.maximum(variance_b, 1e-9), tilt_b / 3, steepest_b)
        lifted_bc = cell_bc * np.exp(tilt_b[:, None] * weight_bc)
        lifted_bc = lifted_bc / ((lifted_bc @ null.group_cg) @ null.group_cg.T)
    return tilt_b
