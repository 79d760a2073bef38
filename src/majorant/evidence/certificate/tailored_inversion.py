"""Tailored linear inversion: every model in which majority is not optimal meets a linear statistic made for it.

Branch and bound over boxes of models: is every null model rejected, those far away at once and the others box by box?
Some models are too extreme for the fine search: voters beyond certainty, or next to no items of class 0.  Beyond a
logit of WIDEST a model hardly differs from one at WIDEST with the same share of class 0, which the fine search covers;
a null model without such a neighbour must be excluded by its likelihood alone.  If that fails, nothing is certified.
Proofs: docs/theory/tailored.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit, logit

from majorant.evidence.certificate.count_models import (
    Histograms,
    IntArray,
    contradictions,
    held_cells,
    log_cells,
    log_odds,
    narrowest_majority,
    suprema,
)
from majorant.evidence.certificate.tailored_rejection import (
    WIDEST,
    Flags,
    Levels,
    Null,
    around,
    edge_part,
    far_out,
    hull_divergence,
    local,
    mirrored,
    most_dangerous,
    null_side,
    rejected,
    sides_of_square,
    stand,
    too_far,
)
from majorant.values import FloatArray

FEWEST = float(np.exp(-29.9))  # share of class 0 that is next to none
CELLS_OF_A_BOX = 16  # what a box costs besides its cells


def deepest(null: Null) -> float:
    """A depth at which the share of class 0 is below FEWEST wherever the fine search goes."""
    return WIDEST * (null.n_votes - null.n_zeros) + 30.0


def beyond_face(null: Null, box_bie: FloatArray) -> FloatArray:
    """Bound of what models beyond WIDEST add to those on the face of the box: to probabilities, and to divergences.

    A vote that was certain but for exp(-WIDEST) becomes more certain still; no more than this, over all items.
    """
    most = 1.01 * float(null.items_c @ null.cells.votes_c) * np.exp(-WIDEST)
    return np.asarray(most * ((box_bie[:, 0, 1] >= WIDEST).astype(float) + (box_bie[:, 1, 0] <= -WIDEST)))


def far_excluded(null: Null, cut: float) -> bool:
    """Whether the divergence from every far model exceeds the cut."""
    box_bie, seen = far_boxes(null), 0
    while len(box_bie):
        seen += len(box_bie)
        box_bie = box_bie[~(hull_divergence(null, box_bie) > cut)]
        width_bi = box_bie[..., 1] - box_bie[..., 0]
        width_bi[:, 2] *= 16.0  # a share of class 0 is worth this many logits when a box is to be cut
        width_bi[~np.isfinite(width_bi)] = 0
        if seen > 20_000 or (width_bi.max(axis=1, initial=0) < 1e-4).any():
            return False
        box_bie = halves(box_bie, width_bi.argmax(axis=1))
    return True


def far_boxes(null: Null) -> FloatArray:
    """Intervals of (x, y, nu) that hold every null model without a neighbour in the fine search."""
    inf, w = np.inf, WIDEST
    axis = [(-inf, -w), *((float(y), float(y) + 1) for y in np.arange(-w, w)), (w, inf)]
    boxes = [((-inf, inf), y, (0.0, FEWEST)) for y in axis]
    boxes += [((-inf, -w), (-inf, -w), (0.0, 1.0)), ((w, inf), (w, inf), (0.0, 1.0))]
    if null.n_zeros < null.n_votes:
        for low, high in axis[:-1]:  # with unanimous counts there is none: their boundary falls as x grows
            # The least nu of a null model with x beyond w, y in the interval, whose neighbour at w is no null model.
            at_x, *at_y = edge_part(null, [w, max(low, -w), high])
            boxes.append(((w, inf), (low, high), (float(expit(at_x - max(at_y))), 1.0)))
    return np.array(boxes)


def within(null: Null, box_bie: FloatArray) -> FloatArray:
    """Boxes of (x, y, nu) that hold the null models in the boxes `box_bie` of (x, y, depth)."""
    held_bie = box_bie.copy()
    (x_low, x_high), (y_low, y_high) = (_edge_range(null, box_bie[:, i]) for i in (0, 1))
    held_bie[:, 2, 0] = expit(x_low - y_high - box_bie[:, 2, 1])
    held_bie[:, 2, 1] = expit(x_high - y_low - box_bie[:, 2, 0])
    return held_bie


def _edge_range(null: Null, ends_be: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest that `edge_part` is on intervals: it is convex."""
    least_b = np.clip(logit(null.n_zeros / null.n_votes), ends_be[:, 0], ends_be[:, 1])
    return edge_part(null, least_b), edge_part(null, ends_be).max(axis=1)


def halves(box_bie: FloatArray, axis_b: IntArray) -> FloatArray:
    """Every box cut in two along its axis."""
    low_bie, high_bie, at = box_bie.copy(), box_bie.copy(), np.arange(len(box_bie))
    low_bie[at, axis_b, 1] = high_bie[at, axis_b, 0] = box_bie[at, axis_b].mean(axis=1)
    return np.concatenate([low_bie, high_bie])


@dataclass(frozen=True, slots=True)
class Inversion:
    """Whether every model of the side is rejected, how many boxes that took, and why it ended."""

    rejected: bool
    boxes: int
    why: str


def invert(null: Null, error: float, most_work: int = 400_000) -> Inversion:
    """Reject all of the side at this error, or say why not.

    After `most_work` (boxes, each counted by its cells) nothing is proved: that can only refuse.
    """
    levels = Levels.of(null, error)
    if not far_excluded(null, levels.cut):
        return Inversion(False, 1, "far models stand")
    stack, seen, cells = [first_boxes()], 1, len(null.items_c)
    batch = (1 << 17) // cells
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
    point_i = np.array([x, y, max(depth, 0.0)])
    here = local(null, point_i[None])
    if stand(null, point_i[None], levels)[0]:
        return True
    # Standard deviations: with a margin statistic so far out, no neighbour of the suspect will stand
    if far_out(null, here)[0] > 3.0:
        return False
    score_2c, mass_c = here.score_bic[0, :2], null.total_c * here.cell_bc[0]
    info_22 = (score_2c * mass_c) @ score_2c.T
    ridge = 1e-6 + 1e-9 * np.trace(info_22)  # next to a = r both scores are one
    axes = np.linalg.inv(np.linalg.cholesky(info_22 + ridge * np.eye(2))).T
    turn = np.arange(8) * np.pi / 4
    circle = np.stack([np.cos(turn), np.sin(turn)])
    around_suspect = np.concatenate([1.5 * circle, 3.0 * circle], axis=1)  # in standard errors
    x, y = np.clip(point_i[:2, None] + axes @ around_suspect, -most, most)
    ring = np.stack([x, y, np.zeros_like(x)], axis=1)[x > y]
    return bool(stand(null, ring, levels).any())


def first_boxes() -> FloatArray:
    """Columns: squares of (x, y) with x > y somewhere, all depths."""
    first_side = 4.0
    axis = np.arange(-WIDEST, WIDEST, first_side)
    squares = [((x, x + first_side), (y, y + first_side)) for x in axis for y in axis[axis <= x]]
    return np.array([(*square, (0.0, np.inf)) for square in squares])


def undecided_boxes(null: Null, levels: Levels, box_bie: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What is left of the boxes, cut, and models (B, 3) that may stand."""
    box_bie = box_bie[box_bie[:, 0, 1] > box_bie[:, 1, 0]]  # x > y somewhere
    box_bie = box_bie[~_out_of_reach(null, levels, box_bie)]
    column_b = np.isinf(box_bie[:, 2, 1])
    columns, box_bie = box_bie[column_b], box_bie[~column_b]
    if len(columns):
        columns = _cut_columns(null, columns)
    if not len(box_bie):
        return columns, np.empty((0, 3))
    half_bi = (box_bie[..., 1] - box_bie[..., 0]) / 2
    # How much less depth moves a large box than logits do.
    size_bi = half_bi * null.n_votes * np.array([1.0, 1.0, 0.15])
    wide_b = size_bi.sum(axis=1) > 4.5  # slopes so steep that derivatives tell nothing about the box
    left_bie, axis_b, dangerous_bi = _settle_small(null, levels, box_bie[~wide_b])
    wide = halves(box_bie[wide_b], size_bi[wide_b].argmax(axis=1))
    return np.concatenate([columns, wide, halves(left_bie, axis_b)]), dangerous_bi


def _out_of_reach(null: Null, levels: Levels, box_bie: FloatArray) -> Flags:
    """Which boxes, of those that are large, the hull of their models keeps too far from the histograms."""
    root = np.sqrt([null.items_c @ null.cells.votes_c] * 2 + [null.n_items])
    # Standard errors across, roughly: a box too large for its derivatives to place it well
    large = np.flatnonzero((box_bie[..., 1] - box_bie[..., 0]) @ root > 8.0)
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
        if len(left) >= 64:  # so many open boxes make it worth looking for a model that stands
            dangerous_bi = most_dangerous(null, boxes.take(left), levels)
    # Cut along the axis on which a box is longest, as the likelihood sees it, with a little for what it cannot see.
    info_bi = (boxes.here.score_bic**2 @ (null.total_c * boxes.here.cell_bc)[..., None])[..., 0]
    length_bi = boxes.half_bi * (np.sqrt(info_bi) + 0.1 * np.sqrt(null.n_items))
    return box_bie[open_b], length_bi.argmax(axis=1)[open_b], dangerous_bi


def is_proved(
    histograms: Histograms, n_votes: int, theta_3: FloatArray, error: float, nearest_23: FloatArray | None = None
) -> bool:
    """Whether every majority of `n_votes` votes is proved to be decided as the best rule would, at this error.

    `theta_3` is the likeliest model. If even that diverges from the histograms by more than a true model would, the
    model is wrong, its null would be rejected for that alone, and nothing is proved. `nearest_23`, if known, are the
    likeliest models that decide the narrowest majority for either class wrongly.

    >>> theta_3 = np.array([1.386, -1.386, 0.0])
    >>> is_proved({3: np.array([260.0, 240.0, 240.0, 260.0])}, 3, theta_3, .05)
    True
    """
    narrowest = narrowest_majority(n_votes)
    lead = np.array([log_odds(theta_3, n_votes, narrowest), -log_odds(theta_3, n_votes, n_votes - narrowest)])
    # Where the likeliest model is itself one in which majority is not optimal, no test is needed.
    if lead.min() <= 0 or not fits(histograms, theta_3, error):
        return False
    tasks = _both(histograms, n_votes, nearest_23)[:: 1 if lead[0] <= lead[1] else -1]  # the doubtful side first
    nulls = [null_side(side, n_votes, narrowest) for side, _ in tasks]
    if any(some_stands(null, error, near_3) for null, (_, near_3) in zip(nulls, tasks, strict=True)):
        return False
    return all(invert(null, error).rejected for null in nulls)


def fits(histograms: Histograms, theta_3: FloatArray, error: float) -> bool:
    """Whether the model diverges from the histograms by no more than a true one may."""
    null = null_side(histograms, 1, 1)
    log_cell_c = log_cells(null.cells, theta_3) + null.log_orders_c
    return bool(null.saturated - null.items_c @ log_cell_c <= Levels.of(null, error).cut)


def _both(histograms: Histograms, n_votes: int, nearest_23: FloatArray | None) -> list[tuple[Histograms, FloatArray]]:
    """The histograms and their mirror image, each with the likeliest model that is wrong on the narrowest majority."""
    if nearest_23 is None:
        held, held_c = held_cells(histograms)
        nearest_23 = suprema(held, held_c[None], contradictions([n_votes]))[1][0]
    a, r, nu = nearest_23[1]
    return [(histograms, nearest_23[0]), (mirrored(histograms), np.array([-r, -a, -nu]))]
