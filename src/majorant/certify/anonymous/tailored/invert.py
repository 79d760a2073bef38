"""Is every model of a side rejected?  Branch and bound over boxes of models."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from majorant.certify.anonymous.ascent import IntArray
from majorant.certify.anonymous.tailored.far import (
    beyond_face,
    deepest,
    far_excluded,
    halves,
    within,
)
from majorant.certify.anonymous.tailored.hull import hull_divergence
from majorant.certify.anonymous.tailored.null import Null, edge_part, local
from majorant.certify.anonymous.tailored.rejection import (
    Boxes,
    Flags,
    Levels,
    around,
    far_out,
    most_dangerous,
    rejected,
    stand,
    too_far,
)
from majorant.certify.anonymous.tailored.weights import WIDEST, sides_of_square
from majorant.theory.checks import FloatArray

MOST_WORK = 1_600_000  # boxes, each counted by its cells; after so much nothing is certified: this can only refuse
CELLS_OF_A_BOX = 16  # what a box costs besides its cells
BATCH_WORK = 1 << 17
FIRST_SIDE = 4.0
HOPELESS = 3.0  # standard deviations: with a margin statistic so far out, no neighbour of the suspect will stand
ANGLES = np.arange(8) * np.pi / 4
RING = np.concatenate([size * np.stack([np.cos(ANGLES), np.sin(ANGLES)]) for size in (1.5, 3.0)], axis=1)  # in errors
LARGE = 8.0  # standard errors across, roughly: a box too large for its derivatives to place it well
MANY = 64  # open boxes that make a search for a model that stands worth its price
WIDE = 4.5  # slope of a box too large for its derivatives to tell anything
DEPTH_SCALE = np.array([1.0, 1.0, 0.15])  # how much less depth moves a large box than logits do


@dataclass(frozen=True, slots=True)
class Inversion:
    """Whether every model of the side is rejected, how many boxes that took, and why it ended."""

    rejected: bool
    boxes: int
    why: str


def invert(null: Null, error: float, most_work: int = MOST_WORK) -> Inversion:
    """Reject all of the side at this error, or say why not; after so much work, give up."""
    levels = Levels.of(null, error)
    if not far_excluded(null, levels.cut):
        return Inversion(False, 1, "far models stand")
    stack, seen, cells = [first_boxes()], 1, len(null.items_c)
    batch = BATCH_WORK // cells
    while stack:
        box_bie = stack.pop()
        if len(box_bie) > batch:
            stack.append(box_bie[batch:])
            box_bie = box_bie[:batch]
        seen += len(box_bie)
        if seen * (cells + CELLS_OF_A_BOX) > most_work:
            return Inversion(False, seen, "too many boxes")
        left_bie, dangerous_bi = undecided_boxes(null, levels, box_bie)
        if len(dangerous_bi) and stand(null, dangerous_bi, levels).any():
            return Inversion(False, seen, "a model stands")
        if len(left_bie):
            stack.append(left_bie)
    return Inversion(True, seen, "all rejected")


def some_stands(null: Null, error: float, suspect_3: FloatArray) -> bool:
    """Whether the suspect, a null model as logits of a, r and nu, or one around it, is not rejected: that settles it.

    Which models are asked does not matter for validity: each that stands is a reason not to certify.
    """
    levels, most = Levels.of(null, error), WIDEST - 0.1
    x, y = min(suspect_3[0], most), max(suspect_3[1], -most)
    if y >= x:
        return False
    depth = float(edge_part(null, x) - edge_part(null, y)) - suspect_3[2]
    point_i = np.array([x, y, max(depth, null.further * (x - y), 0.0)])
    here = local(null, point_i[None])
    if stand(null, point_i[None], levels)[0]:
        return True
    if far_out(null, here)[0] > HOPELESS:
        return False
    score_2c, mass_c = here.score_bic[0, :2], null.total_c * here.cell_bc[0]
    info_22 = (score_2c * mass_c) @ score_2c.T
    ridge = 1e-6 + 1e-9 * np.trace(info_22)  # next to a = r both scores are one
    axes = np.linalg.inv(np.linalg.cholesky(info_22 + ridge * np.eye(2))).T
    x, y = np.clip(point_i[:2, None] + axes @ RING, -most, most)
    ring = np.stack([x, y, np.maximum(null.further * (x - y), 0)], axis=1)[x > y]
    return bool(stand(null, ring, levels).any())


def first_boxes() -> FloatArray:
    """Columns: squares of (x, y) with x > y somewhere, all depths."""
    axis = np.arange(-WIDEST, WIDEST, FIRST_SIDE)
    squares = [((x, x + FIRST_SIDE), (y, y + FIRST_SIDE)) for x in axis for y in axis[axis <= x]]
    return np.array([(*square, (0.0, np.inf)) for square in squares])


def undecided_boxes(null: Null, levels: Levels, box_bie: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is left of the boxes, cut, and models (B, 3) that may stand."""
    apart_b = box_bie[:, 0, 0] - box_bie[:, 1, 1]  # least x - y
    null_b = (box_bie[:, 0, 1] > box_bie[:, 1, 0]) & (box_bie[:, 2, 1] >= null.further * apart_b)
    box_bie = box_bie[null_b]
    box_bie = box_bie[~_out_of_reach(null, levels, box_bie)]
    column_b = np.isinf(box_bie[:, 2, 1])
    columns, box_bie = box_bie[column_b], box_bie[~column_b]
    if len(columns):
        columns = _cut_columns(null, columns)
    if not len(box_bie):
        return columns, np.empty((0, 3))
    half_bi = (box_bie[..., 1] - box_bie[..., 0]) / 2
    size_bi = half_bi * null.n_votes * DEPTH_SCALE
    wide_b = size_bi.sum(axis=1) > WIDE
    left_bie, axis_b, dangerous_bi = _settle_small(null, levels, box_bie[~wide_b])
    wide = halves(box_bie[wide_b], size_bi[wide_b].argmax(axis=1))
    return np.concatenate([columns, wide, halves(left_bie, axis_b)]), dangerous_bi


def _out_of_reach(null: Null, levels: Levels, box_bie: FloatArray) -> Flags:
    """Which boxes, of those that are large, the hull of their models keeps too far from the histograms."""
    root = np.sqrt([null.items_c @ null.cells.votes_c] * 2 + [null.n_items])
    large = np.flatnonzero((box_bie[..., 1] - box_bie[..., 0]) @ root > LARGE)
    out_b, some_bie = np.zeros(len(box_bie), dtype=bool), box_bie[large]
    if len(large):
        floor_b = hull_divergence(null, within(null, some_bie)) - beyond_face(null, some_bie)
        out_b[large] = floor_b > levels.cut
    return out_b


def _cut_columns(null: Null, box_bie: FloatArray) -> FloatArray:
    """Columns halved in x and y, or, where they are as narrow as a square of weights, cut into depths that double."""
    side_bi = box_bie[:, :2, 1] - box_bie[:, :2, 0]
    middle_bi = box_bie[:, :2].mean(axis=2)
    over_bi = np.stack([side_bi[:, i] > sides_of_square(null, middle_bi[:, i]) for i in (0, 1)], axis=1)
    parts = [_layers(null, box_bie[~over_bi.any(axis=1)])]
    for x, y in ((True, False), (False, True), (True, True)):
        cut_bie = box_bie[(over_bi == (x, y)).all(axis=1)]
        for axis in [0] * x + [1] * y:
            cut_bie = halves(cut_bie, np.full(len(cut_bie), axis))
        parts.append(cut_bie)
    return np.concatenate(parts)


def _layers(null: Null, box_bie: FloatArray) -> FloatArray:
    """Columns cut into depths that double, as far down as there is anything to search."""
    depth = [0.0, 1.0]
    while depth[-1] < deepest(null):
        depth.append(2 * depth[-1])
    layer_bdie = np.repeat(box_bie[:, None], len(depth) - 1, axis=1)
    layer_bdie[:, :, 2] = list(pairwise(depth))
    return layer_bdie.reshape(-1, 3, 2)


def _settle_small(null: Null, levels: Levels, box_bie: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
    half_bi = (box_bie[..., 1] - box_bie[..., 0]) / 2
    boxes = around(null, box_bie.mean(axis=2), half_bi, beyond_face(null, box_bie))
    left = np.flatnonzero(~too_far(null, boxes, levels))
    boxes, box_bie = boxes.take(left), box_bie[left]
    point_bi = boxes.here.point_bi
    within_square = [boxes.half_bi[:, i] <= sides_of_square(null, point_bi[:, i]) / 2 for i in (0, 1)]
    ready = np.flatnonzero(np.all(within_square, axis=0))
    open_b = np.ones(len(box_bie), dtype=bool)
    dangerous_bi = point_bi[:0]
    if len(ready):
        done = rejected(null, boxes.take(ready), levels)
        open_b[ready[done]] = False
        left = ready[~done]
        if len(left) >= MANY:
            dangerous_bi = most_dangerous(null, boxes.take(left), levels)
    return box_bie[open_b], _longest(null, boxes)[open_b], dangerous_bi


def _longest(null: Null, boxes: Boxes) -> IntArray:
    """The axis along which a box is longest, as the likelihood sees it, with a little for what it cannot see."""
    info_bi = (boxes.here.score_bic**2 @ (null.total_c * boxes.here.cell_bc)[..., None])[..., 0]
    length_bi = boxes.half_bi * (np.sqrt(info_bi) + 0.1 * np.sqrt(null.n_items))
    return np.asarray(length_bi.argmax(axis=1))
