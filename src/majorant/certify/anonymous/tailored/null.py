"""The models in which one vote count is decided wrongly, and what the likelihood does near each of them.

A model is `(x, y, d)`: x = logit a, y = logit r, and d >= 0 the depth, by which logit nu lies below the boundary where
`n_zeros` of `n_votes` votes leave the class open.  Axis i runs over these three, b over boxes or points, c over the
cells of the histograms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, gammainccinv, log_expit, xlogy

from majorant.certify.anonymous.likelihood import Cells, Histograms, flatten
from majorant.theory.checks import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """ "{L <= 0}" for `n_zeros` of `n_votes` votes, and the histograms that are to reject it."""

    cells: Cells
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
