"""Is every model of a side rejected?  Branch and bound over boxes of models."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from majorant.certify.anonymous.ascent import IntArray
from majorant.certify.anonymous.tailored.far import (
    beyond_face,
    box_divergence,
    deepest,
    far_excluded,
    halves,
    within,
)
from majorant.certify.anonymous.tailored.null import Null
from majorant.certify.anonymous.tailored.rejection import Boxes, Levels, around, rejected, stands, too_far
from majorant.certify.anonymous.tailored.weights import WIDEST, sides_of_square
from majorant.theory.checks import FloatArray

MOST_WORK = 2_000_000  # boxes, each counted by its cells; after so much nothing is certified: this can only refuse
CELLS_OF_A_BOX = 16  # what a box costs besides its cells
BATCH_WORK = 1 << 17
FIRST_SIDE = 4.0
WIDE = 4.5  # slope of a box too large for its derivatives to tell anything
DEPTH_SCALE = np.array([1.0, 1.0, 0.15])  # how much less depth moves a large box than logits do


@dataclass(frozen=True, slots=True)
class Inversion:
    """Whether every model of the side is rejected, how many boxes that took, and why it ended."""

    rejected: bool
    boxes: int
    why: str


def invert(null: Null, error: float, suspect_i: FloatArray) -> Inversion:
    """Reject all of the side at this error, or say why not; `suspect_i` is the model to be tried first."""
    levels = Levels.of(null, error)
    if suspect_stands(null, error, suspect_i):
        return Inversion(False, 1, "a model stands")
    if not far_excluded(null, levels.cut):
        return Inversion(False, 1, "far models stand")
    stack, seen, cells = [first_boxes(null)], 1, len(null.items_c)
    batch = BATCH_WORK // cells
    while stack:
        box_bie = stack.pop()
        if len(box_bie) > batch:
            stack.append(box_bie[batch:])
            box_bie = box_bie[:batch]
        seen += len(box_bie)
        if seen * (cells + CELLS_OF_A_BOX) > MOST_WORK:
            return Inversion(False, seen, "too many boxes")
        open_bie, axis_b, doubtful_bi = settle(null, levels, box_bie)
        if any(stands(null, point_i, levels) for point_i in doubtful_bi[:1]):
            return Inversion(False, seen, "a model stands")
        if len(open_bie):
            stack.append(halves(open_bie, axis_b))
    return Inversion(True, seen, "all rejected")


def suspect_stands(null: Null, error: float, suspect_i: FloatArray) -> bool:
    """Whether one model of the side is not rejected, which settles the matter; models too far out are not asked."""
    return bool(np.abs(suspect_i[:2]).max() < WIDEST) and stands(null, suspect_i, Levels.of(null, error))


def first_boxes(null: Null) -> FloatArray:
    """Squares of (x, y) with x > y somewhere, times depths that double."""
    depth = [0.0, 1.0]
    while depth[-1] < deepest(null):
        depth.append(2 * depth[-1])
    axis = np.arange(-WIDEST, WIDEST, FIRST_SIDE)
    boxes = [
        ((x, x + FIRST_SIDE), (y, y + FIRST_SIDE), (low, high))
        for x in axis
        for y in axis[axis <= x]
        for low, high in pairwise(depth)
    ]
    return np.array(boxes)


def settle(null: Null, levels: Levels, box_bie: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """The boxes not yet rejected, the axis along which to cut each, and centres (B, 3) that may stand."""
    apart_b = box_bie[:, 0, 0] - box_bie[:, 1, 1]  # least x - y
    null_b = (box_bie[:, 0, 1] > box_bie[:, 1, 0]) & (box_bie[:, 2, 1] >= null.further * apart_b)
    box_bie = box_bie[null_b]
    far_b = box_divergence(null, within(null, box_bie)) - beyond_face(null, box_bie) > levels.cut
    box_bie = box_bie[~far_b]
    half_bi = (box_bie[..., 1] - box_bie[..., 0]) / 2
    size_bi = half_bi * null.n_votes * DEPTH_SCALE
    wide_b = size_bi.sum(axis=1) > WIDE
    left_bie, axis_b, doubtful_bi = _settle_small(null, levels, box_bie[~wide_b])
    axis_b = np.concatenate([size_bi[wide_b].argmax(axis=1), axis_b])
    return np.concatenate([box_bie[wide_b], left_bie]), axis_b, doubtful_bi


def _settle_small(null: Null, levels: Levels, box_bie: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    half_bi = (box_bie[..., 1] - box_bie[..., 0]) / 2
    boxes = around(null, box_bie.mean(axis=2), half_bi, beyond_face(null, box_bie))
    left = np.flatnonzero(~too_far(null, boxes, levels))
    boxes, box_bie = boxes.take(left), box_bie[left]
    point_bi = boxes.here.point_bi
    within_square = [boxes.half_bi[:, i] <= sides_of_square(null, point_bi[:, i]) / 2 for i in (0, 1)]
    ready = np.flatnonzero(np.all(within_square, axis=0))
    open_b = np.ones(len(box_bie), dtype=bool)
    doubtful_bi = point_bi[:0]
    if len(ready):
        done, doubtful = rejected(null, boxes.take(ready), levels)
        open_b[ready[done]] = False
        doubtful_bi = point_bi[ready[doubtful]]
    return box_bie[open_b], _longest(null, boxes)[open_b], doubtful_bi


def _longest(null: Null, boxes: Boxes) -> IntArray:
    """The axis along which a box is longest, as the likelihood sees it, with a little for what it cannot see."""
    info_bi = (boxes.here.score_bic**2 @ (null.total_c * boxes.here.cell_bc)[..., None])[..., 0]
    length_bi = boxes.half_bi * (np.sqrt(info_bi) + 0.1 * np.sqrt(null.n_items))
    return np.asarray(length_bi.argmax(axis=1))
