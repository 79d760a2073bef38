"""Models too far out for the fine search: voters beyond certainty, or next to no items of class 0.

Beyond a logit of WIDEST a model hardly differs from one at WIDEST with the same share of class 0, which the fine search
covers; what has no such neighbour among the null models must be excluded by its likelihood alone.  Where that fails,
nothing is certified.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from majorant.certify.anonymous.ascent import IntArray
from majorant.certify.anonymous.tailored.hull import hull_divergence
from majorant.certify.anonymous.tailored.null import Null, edge_part
from majorant.certify.anonymous.tailored.weights import WIDEST
from majorant.theory.checks import FloatArray

FEWEST = float(np.exp(-29.9))  # share of class 0 that is next to none
NARROWEST = 1e-4
MOST_BOXES = 20_000
NU_SCALE = 16.0  # a share of class 0 is worth this many logits when a box is to be cut


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
        width_bi[:, 2] *= NU_SCALE
        width_bi[~np.isfinite(width_bi)] = 0
        if seen > MOST_BOXES or (width_bi.max(axis=1, initial=0) < NARROWEST).any():
            return False
        box_bie = halves(box_bie, width_bi.argmax(axis=1))
    return True


def far_boxes(null: Null) -> FloatArray:
    """Intervals of (x, y, nu) that hold every null model without a neighbour in the fine search."""
    inf, w = np.inf, WIDEST
    axis = [(-inf, -w), *((float(y), float(y) + 1) for y in np.arange(-w, w)), (w, inf)]
    boxes = [((-inf, inf), y, (0.0, FEWEST)) for y in axis]
    boxes += [((-inf, -w), (-inf, -w), (0.0, 1.0)), ((w, inf), (w, inf), (0.0, 1.0))]
    if null.n_zeros + null.further < null.n_votes:
        boxes += [((w, inf), y, (_fewest_without_neighbour(null, *y), 1.0)) for y in axis[:-1]]
    return np.array(boxes)


def _fewest_without_neighbour(null: Null, low: float, high: float) -> float:
    """The least nu of a null model with x beyond WIDEST, y in an interval, whose neighbour at WIDEST is no null model.

    With unanimous counts there is none: their boundary falls as x grows.
    """
    at_x, *at_y = edge_part(null, [WIDEST, max(low, -WIDEST), high], null.further)
    return float(expit(at_x - max(at_y)))


def within(null: Null, box_bie: FloatArray) -> FloatArray:
    """Boxes of (x, y, nu) that hold the null models in the boxes `box_bie` of (x, y, depth)."""
    held_bie = box_bie.copy()
    (x_low, x_high), (y_low, y_high) = (_edge_range(null, box_bie[:, i], 0) for i in (0, 1))
    held_bie[:, 2, 0] = expit(x_low - y_high - box_bie[:, 2, 1])
    held_bie[:, 2, 1] = expit(x_high - y_low - box_bie[:, 2, 0])
    if null.further:
        (_, x_high), (y_low, _) = (_edge_range(null, box_bie[:, i], null.further) for i in (0, 1))
        held_bie[:, 2, 1] = np.minimum(held_bie[:, 2, 1], expit(x_high - y_low))
        held_bie[:, 2, 0] = np.minimum(held_bie[:, 2, 0], held_bie[:, 2, 1])
    return held_bie


def _edge_range(null: Null, ends_be: FloatArray, further: int) -> tuple[FloatArray, FloatArray]:
    """The least and the largest that `edge_part` is on intervals: it is convex."""
    least_b = np.clip(logit((null.n_zeros + further) / null.n_votes), ends_be[:, 0], ends_be[:, 1])
    return edge_part(null, least_b, further), edge_part(null, ends_be, further).max(axis=1)


def halves(box_bie: FloatArray, axis_b: IntArray) -> FloatArray:
    """Every box cut in two along its axis."""
    low_bie, high_bie, at = box_bie.copy(), box_bie.copy(), np.arange(len(box_bie))
    low_bie[at, axis_b, 1] = high_bie[at, axis_b, 0] = box_bie[at, axis_b].mean(axis=1)
    return np.concatenate([low_bie, high_bie])
