"""How strongly histograms speak for, or against, majority vote being optimal: e-values and likelihood ratios.

All work is on logarithms and for many data sets at once (axis b).  Proofs of validity: docs/theory/certificate.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv

from majorant.certify.anonymous.likelihood import EVERYWHERE, HistogramCells, Sides, log_likelihood, sides
from majorant.certify.anonymous.search import suprema
from majorant.theory.checks import FloatArray

SPLITS = 10
TRAIN_SHARE = 0.25
POWER_QUANTILE = 0.8416212335729143  # of the normal law: planning is for 80 % power
LEAST_INFORMATION = 1e-12  # nats per item: less is rounding
SPLIT_PRICE = 2.65  # items that the split e-value needs for each item the likelihood ratio needs


def ratio_cut(level: float) -> float:
    """What the profile likelihood ratio must exceed, in nats: the guarded cut, half the two-sided chi-square quantile.

    >>> round(ratio_cut(.95), 3)
    1.921
    """
    return float(gammaincinv(0.5, level))


def items_needed(information: float, level: float, split: bool = False) -> float:
    """Items that make the likelihood ratio (or, dearer, the split e-value) decide with 80 % power.

    `information`: nats per item by which the fitted model differs from the nearest model on the other side.

    >>> round(items_needed(.01, .95))
    392
    """
    if information <= LEAST_INFORMATION:
        return np.inf
    return float(
        (np.sqrt(2 * ratio_cut(level)) + POWER_QUANTILE) ** 2 / 2 / information * (SPLIT_PRICE if split else 1)
    )


def narrowest_majority(n_votes: int) -> int:
    """The fewest votes that are a majority."""
    return n_votes // 2 + 1


def contradictions(sizes: Sequence[int]) -> Sides:
    """For each number of votes H the two ways in which majority is not optimal: rows 2h and 2h + 1."""
    rows = []
    for h in sizes:
        rows += [(h, narrowest_majority(h), -1), (h, h - narrowest_majority(h), 1)]
    return sides(rows)


def uneven_ties(sizes: Sequence[int]) -> Sides:
    """For each even number of votes the two halves of the models that a fair draw on a tie being best lies between."""
    return sides([(h, h // 2, sign) for h in sizes if h % 2 == 0 for sign in (-1, 1)])


def opposite(side: Sides) -> Sides:
    """The other half of the models, the boundary included."""
    return Sides(side.votes_p, side.zeros_p, -side.sign_p)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Every data set cut in two at random, several times: the model of one part, and its likelihood on the other."""

    test_sbc: FloatArray  # items kept for the test
    value_sb: FloatArray  # their log-likelihood under the model that the other items suggest

    def log_e_values(self, cells: HistogramCells, side: Sides) -> FloatArray:
        """log e-value of each data set against each side, (B, S): a mean over the splits."""
        splits, sets, n_cells = self.test_sbc.shape
        value, _ = suprema(cells, self.test_sbc.reshape(-1, n_cells), side)
        return _log_mean(self.value_sb[..., None] - value.reshape(splits, sets, len(side)))


def split(cells: HistogramCells, items_bc: FloatArray, rng: np.random.Generator) -> Split:
    """Each item goes to training with probability TRAIN_SHARE, whatever its votes, in each of SPLITS splits."""
    items_sbc = np.broadcast_to(items_bc, (SPLITS, *items_bc.shape))
    train_sbc = rng.binomial(items_sbc.astype(np.int64), TRAIN_SHARE).astype(float)
    test_sbc = items_sbc - train_sbc
    _, theta = suprema(cells, train_sbc.reshape(-1, items_bc.shape[1]))
    theta_sb3 = theta[:, 0].reshape(SPLITS, len(items_bc), 3)
    return Split(test_sbc, log_likelihood(cells, test_sbc, theta_sb3))


@dataclass(frozen=True, slots=True, eq=False)
class HistogramEvidence:
    """What the histograms of B data sets say, per number of votes h: for and against majority vote being optimal."""

    theta_b3: FloatArray  # the likeliest model
    ratio_bh: FloatArray  # nats by which it beats every model in which majority is not optimal for h
    ratio_against_b: FloatArray  # nats by which it beats every model in which majority is optimal for all h
    log_e_bh: FloatArray  # e-value against "not optimal for h"
    log_against_bh: FloatArray  # e-value against "optimal for h"
    log_against_b: FloatArray  # e-value against "optimal for every h"
    log_ties_bh: FloatArray  # e-value against "ties are even", 0 where h is odd
    log_ties_b: FloatArray  # e-value against "ties are even for every h"
    nearest_bp3: FloatArray  # the likeliest models in which majority is not optimal, two for each h


def weigh(
    cells: HistogramCells, items_bc: FloatArray, sizes: Sequence[int], rng: np.random.Generator
) -> tuple[HistogramEvidence, Split]:
    """Fit, and put both "not optimal" and "optimal" to the test for each number of votes in `sizes`."""
    cut_up = split(cells, items_bc, rng)
    n_sets, n_cells = items_bc.shape
    wrong = contradictions(sizes)
    right, ties = opposite(wrong), uneven_ties(sizes)
    asked = (EVERYWHERE, wrong, right, ties)
    table = Sides(*(np.concatenate(column) for column in zip(*(_columns(one) for one in asked), strict=True)))
    value, theta = suprema(cells, np.concatenate([items_bc, cut_up.test_sbc.reshape(-1, n_cells)]), table)
    best_b1, null_bp, n_wrong = value[:n_sets, :1], value[:n_sets, 1 : 1 + len(wrong)], len(wrong)
    gain_sbp = cut_up.value_sb[..., None] - value[n_sets:, 1:].reshape(SPLITS, n_sets, 2 * n_wrong + len(ties))
    # Not optimal: either contradiction will do, so the likelier of the two must be beaten.
    not_optimal_sbh = gain_sbp[..., :n_wrong].reshape(SPLITS, n_sets, -1, 2).min(axis=-1)
    # Optimal lies within the opposite of each contradiction, so beating one of these beats it.
    optimal_sbh = gain_sbp[..., n_wrong : 2 * n_wrong].reshape(SPLITS, n_sets, -1, 2).max(axis=-1)
    even_sbh = np.zeros_like(optimal_sbh)
    even_sbh[..., [h % 2 == 0 for h in sizes]] = (
        gain_sbp[..., 2 * n_wrong :].reshape(SPLITS, n_sets, -1, 2).max(axis=-1)
    )
    found = HistogramEvidence(
        theta_b3=theta[:n_sets, 0],
        ratio_bh=np.maximum(best_b1 - null_bp.reshape(n_sets, -1, 2).max(axis=-1), 0),
        ratio_against_b=np.maximum(best_b1[:, 0] - value[:n_sets, 1 + n_wrong : 1 + 2 * n_wrong].min(axis=1), 0),
        log_e_bh=_log_mean(not_optimal_sbh),
        log_against_bh=_log_mean(optimal_sbh),
        log_against_b=_log_mean(optimal_sbh.max(axis=-1)),
        log_ties_bh=_log_mean(even_sbh),
        log_ties_b=_log_mean(even_sbh.max(axis=-1)),
        nearest_bp3=theta[:n_sets, 1 : 1 + n_wrong],
    )
    return found, cut_up


def _columns(side: Sides) -> tuple[FloatArray, FloatArray, FloatArray]:
    return side.votes_p, side.zeros_p, side.sign_p


def _log_mean(log_e_s: FloatArray) -> FloatArray:
    """log of the mean over the first axis."""
    return np.asarray(np.logaddexp.reduce(log_e_s, axis=0) - np.log(len(log_e_s)))
