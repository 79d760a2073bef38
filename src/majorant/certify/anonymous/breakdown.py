"""How much votes on an item may depend on each other before the verdict turns, and whether the votes could show it.

Within a class votes are beta-binomial with one intra-item correlation rho for both classes: items of a class differ, or
workers err together, and two votes on an item correlate by rho given its class.  At a fixed rho the model has the three
numbers of two binomials, and is tested as they are.  Argument: docs/theory/certificate.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from majorant.certify.anonymous.beta_binomial import (
    PARAMETERS,
    beta_class_logs,
    beta_climb,
    beta_log_likelihood,
    beta_log_odds,
    edge,
)
from majorant.certify.anonymous.evidence import contradictions, opposite, ratio_cut, uneven_ties
from majorant.certify.anonymous.likelihood import EVERYWHERE, HistogramCells, Histograms, Sides, flatten
from majorant.certify.anonymous.search import suprema
from majorant.certify.certificate import Verdict
from majorant.theory.checks import FloatArray

CORRELATIONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)  # tried one after the other, until the verdict turns
TYPICAL = 0.15  # by gold, votes of real crowds correlate by -.01 to .32 within a class: what a test should see
MOST_CELLS = 1000  # beyond, the search would take minutes
_LOGITS = np.array([-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6.0])
_PRIORS = np.array([-4, -2, -1, 0, 1, 2, 4.0])  # logits
STARTS = 3  # of the grid and of the boundary each


ENOUGH_POWER = 0.8  # with which a test must see what it is for, to have tested anything


class Breakdown(NamedTuple):
    """The largest correlation tried up to which the verdict stands, and what the test of independent votes could see.

    `power` is that of the test against a typical correlation, `power_to_turn` against the likeliest model with which
    the verdict is wrong: that of the first correlation at which it does not stand, or of the last one tried.
    """

    correlation: float | None
    power: float
    power_to_turn: float


def find_breakdown(
    histograms: Histograms, sizes: Sequence[int], verdict: Verdict, theta_3: FloatArray, level: float, df: int
) -> Breakdown | None:
    """At which correlation the likelihood ratio no longer bears the verdict out; None where there are too many cells.

    `theta_3` is the best pair of binomials, `df` the degrees of freedom of the test of independent votes.

    >>> histograms = {3: np.array([260.0, 240.0, 240.0, 260.0])}
    >>> find_breakdown(histograms, [3], "supported", np.array([1.386, -1.386, 0.0]), .95, df=0)
    Breakdown(correlation=0.05, power=0.0, power_to_turn=0.0)
    """
    if sum(histograms) > MOST_CELLS:
        return None
    cells, items_c = flatten(histograms)
    start_5 = np.insert(np.clip(theta_3, -6, 6), 2, [0.0, 0.0])
    typical = _suprema(cells, items_c, EVERYWHERE, TYPICAL, start_5[None])[1][0]
    power = power_against(cells, items_c, typical, df)
    if verdict not in ("proved", "supported", "refuted"):
        return Breakdown(None, power, power)
    wrong, for_majority = contradictions(sizes), verdict != "refuted"
    rows = _joined(EVERYWHERE, wrong if for_majority else _joined(opposite(wrong), uneven_ties(sizes)))
    start_p5, stands = np.tile(start_5, (len(rows), 1)), 0.0
    for correlation in CORRELATIONS:
        value_p, start_p5 = _suprema(cells, items_c, rows, correlation, start_p5)
        nearest = int(value_p[1:].argmax() if for_majority else value_p[1:].argmin())
        if value_p[0] - value_p[1 + nearest] <= ratio_cut(level):
            return Breakdown(stands, power, power_against(cells, items_c, start_p5[1 + nearest], df))
        stands = correlation
    return Breakdown(stands, power, power_against(cells, items_c, start_p5[0], df))


def power_against(cells: HistogramCells, items_c: FloatArray, psi_5: FloatArray, df: int, error: float = 0.05) -> float:
    """How often the misfit of two binomials would be seen at this error, were `psi_5` true: by its noncentral law."""
    from scipy.special import chdtri, chndtr

    if df <= 0:
        return 0.0
    items_h = np.bincount(cells.votes_c.astype(np.int64), weights=items_c).astype(float)
    log_c = np.logaddexp(*beta_class_logs(cells, psi_5))
    expected_c = items_h[cells.votes_c.astype(np.int64)] * np.exp(log_c + cells.log_orders_c)
    misfit = 2 * (float(expected_c @ log_c) - float(suprema(cells, expected_c[None])[0][0, 0]))
    return float(1 - chndtr(chdtri(df, error), df, max(misfit, 1e-12)))


def _suprema(
    cells: HistogramCells, items_c: FloatArray, rows: Sides, correlation: float, before_p5: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The largest log-likelihood within each side at this correlation, and the model there."""
    concentration = float(np.log(1 / correlation - 1))
    grid_g5, before_p5 = _grid(concentration), before_p5.copy()
    before_p5[:, 2:4] = concentration
    value_g = beta_log_likelihood(cells, items_c, grid_g5)
    begin, which = [before_p5], [np.arange(len(rows))]
    for p in range(len(rows)):
        one = rows.take(np.full(len(grid_g5), p))
        odds_g = beta_log_odds(grid_g5, rows.votes_p[p : p + 1], rows.zeros_p[p : p + 1])[:, 0]
        within_g = np.where(one.sign_p * odds_g >= 0, value_g, -np.inf)
        chosen = [grid_g5[np.argsort(-within_g)[:STARTS]]]
        if rows.sign_p[p]:
            edge_g5 = edge(grid_g5[:: len(_PRIORS)], one.take(np.arange(0, len(grid_g5), len(_PRIORS))))
            chosen.append(edge_g5[np.argsort(-beta_log_likelihood(cells, items_c, edge_g5))[:STARTS]])
        begin.append(np.concatenate(chosen))
        which.append(np.full(len(begin[-1]), p))
    start, row = np.concatenate(begin), np.concatenate(which)
    psi, value = beta_climb(cells, np.tile(items_c, (len(start), 1)), rows.take(row), start, fixed=concentration)
    best = [np.flatnonzero(row == p)[value[row == p].argmax()] for p in range(len(rows))]
    return value[best], psi[best]


@cache
def _grid(concentration: float) -> FloatArray:
    points = [(x, y, z) for x, y, z in product(_LOGITS, _LOGITS, _PRIORS) if x > y]
    grid_g5 = np.insert(np.array(points), 2, [[concentration], [concentration]], axis=1)
    assert grid_g5.shape[1] == PARAMETERS
    grid_g5.flags.writeable = False
    return grid_g5


def _joined(one: Sides, other: Sides) -> Sides:
    columns = zip((one.votes_p, one.zeros_p, one.sign_p), (other.votes_p, other.zeros_p, other.sign_p), strict=True)
    return Sides(*(np.concatenate(pair) for pair in columns))
