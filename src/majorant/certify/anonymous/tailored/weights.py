"""The linear statistic made for a model: whole-number weights, so that the law of their sum is a lattice's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.certify.anonymous.ascent import IntArray
from majorant.certify.anonymous.tailored.null import Null, local
from majorant.theory.checks import FloatArray

STEPS = 4  # weights are rounded to this part of their standard deviation
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
    margin_sc = np.round(STEPS * basis[2])
    group_cg = null.group_cg
    mean_sc = ((here.cell_bc * margin_sc) @ group_cg) @ group_cg.T
    spread_s = np.sqrt((null.total_c * here.cell_bc * (margin_sc - mean_sc) ** 2).sum(axis=1))
    nuisance_sjc = np.einsum("jd,dsc->sjc", DIRECTIONS, np.stack(basis[:2]))
    return Weights(margin_sc, np.maximum(spread_s, 1.0), nuisance_sjc)
