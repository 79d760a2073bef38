"""Claims from vote counts under conditional independence: two classes, any numbers of votes.

Evidence for and against is in likelihood ratios, for many data sets at once (axis b). Large-sample statistics support a
verdict; a bound that holds at any number of items proves "optimal". Arguments: docs/theory/certificate.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammainccinv, gammaincinv, xlogy

from majorant.evidence.certificate.certificate import RARE_SHARE, Verdict
from majorant.evidence.certificate.count_models import (
    EVERYWHERE,
    HistogramCells,
    Histograms,
    contradictions,
    flatten,
    join_sides,
    log_likelihood,
    log_odds,
    log_shares,
    narrowest_majority,
    opposite,
    suprema,
)
from majorant.values import FloatArray


def main_sizes(histograms: Histograms) -> list[int]:
    """The numbers of votes that at least RARE_SHARE of the items hold."""
    total = sum(items_k.sum() for items_k in histograms.values())
    return [h for h, items_k in histograms.items() if items_k.sum() >= RARE_SHARE * total]


def deciding_sizes(sizes: Iterable[int]) -> list[int]:
    """The smallest and largest odd and even numbers of votes: majority vote is optimal for all sizes if for these.

    The log-odds of the narrowest majority are linear in the number of votes, among odd and among even numbers.

    >>> deciding_sizes([3, 4, 5, 7, 8, 9])
    [3, 4, 8, 9]
    """
    parts = [[h for h in sizes if h % 2 == parity] for parity in (0, 1)]
    return sorted({end for part in parts if part for end in (min(part), max(part))})


class CountEvidence(NamedTuple):
    """For each data set the likeliest model, and its lead in nats over models of either kind."""

    theta_b3: FloatArray
    ratio_b: FloatArray  # over every model in which majority is not optimal for some size
    against_b: FloatArray  # over every model in which majority is optimal for all sizes, at least
    nearest_bp3: FloatArray  # the likeliest models in which majority is not optimal, two for each size


def weigh(cells: HistogramCells, items_bc: FloatArray, sizes: Sequence[int]) -> CountEvidence:
    """The likelihood ratios for and against majority vote being optimal for all these numbers of votes.

    The models in which it is optimal lie within the opposite of each contradiction, so a lead over one of these is a
    lead over all of them.
    """
    wrong = contradictions(sizes)
    value_bp, theta = suprema(cells, items_bc, join_sides(EVERYWHERE, wrong, opposite(wrong)))
    best_b, n_wrong = value_bp[:, 0], len(wrong)
    return CountEvidence(
        theta_b3=theta[:, 0],
        ratio_b=np.maximum(best_b - value_bp[:, 1 : 1 + n_wrong].max(axis=1), 0),
        against_b=np.maximum(best_b - value_bp[:, 1 + n_wrong :].min(axis=1), 0),
        nearest_bp3=theta[:, 1 : 1 + n_wrong],
    )


def verdict_by_ratios(ratio: float, against: float, level: float) -> Verdict:
    """The verdict that the likelihood ratios support.

    >>> [str(verdict_by_ratios(*ratios, .95)) for ratios in ((2.5, 0), (0, 2.5), (1.5, 0))]
    ['optimal', 'not optimal', 'open']
    """
    if ratio > ratio_cut(level):
        return Verdict.OPTIMAL
    return Verdict.NOT_OPTIMAL if against > ratio_cut(level) else Verdict.OPEN


def is_proved(histograms: Histograms, evidence: CountEvidence, level: float) -> bool:
    """Whether majority vote is optimal at the level whatever the number of items.

    It is if the histograms diverge from every model in which it is not by more than they may from the true one.

    >>> histograms = {3: np.array([520.0, 480.0, 480.0, 520.0])}
    >>> cells, items_c = flatten(histograms)
    >>> is_proved(histograms, weigh(cells, items_c[None], [3]), 0.95)
    True
    """
    cells, items_c = flatten(histograms)
    saturated = float((xlogy(items_c, items_c / cells.totals(items_c)) - items_c * cells.log_orders_c).sum())
    nearest = float(log_likelihood(cells, items_c, evidence.theta_b3[0]) - evidence.ratio_b[0])
    return saturated - nearest > divergence_cut(sum(histograms), 1 - level)


def divergence_cut(n_draws: int, error: float) -> float:
    """What the divergence of histograms from the true model exceeds with probability at most `error`, in nats.

    A histogram of H votes is drawn by H binomials, one after the other. The divergence of each exceeds u with
    probability at most 2 exp(-u) (Chernoff, twice), so their sum is stochastically below n log 2 plus a gamma variable,
    n the sum of all H.

    >>> round(divergence_cut(3, .05), 2)
    8.38
    """
    return float(n_draws * np.log(2) + gammainccinv(n_draws, error))


def count_margin(theta_3: FloatArray, sizes: Sequence[int]) -> float:
    """The smallest margin over the numbers of votes: `theory.majority_margin` from logits.

    An estimate may lie so close to certainty that its probabilities round to 1.
    """
    return min(
        float(min(log_odds(theta_3, h, narrowest_majority(h)), -log_odds(theta_3, h, h - narrowest_majority(h))))
        for h in sizes
    )


def plan_items(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, sizes: Sequence[int], level: float
) -> int | None:
    """Fresh items that would decide on their own with 80% power; None if no feasible number would.

    By the nats per item between the fitted model and the nearest one on the other side. Only new items count, because
    retesting the present ones together with others would not control the error.
    """
    expected_c = cells.totals(items_c) * np.exp(log_shares(cells, theta_3))
    wrong, inside = contradictions(sizes), count_margin(theta_3, sizes) > 0
    value, _ = suprema(cells, expected_c[None], wrong if inside else opposite(wrong))
    nearest = float(value.max() if inside else value.min())
    lead = float(log_likelihood(cells, expected_c, theta_3)) - nearest
    return fresh_items(max(lead, 0.0) / float(items_c.sum()), level)


def fresh_items(information: float, level: float) -> int | None:
    """Items with which the likelihood ratio decides with 80% power; None if there are too many.

    `information` is the lead of the fitted model over the nearest one on the other side, in nats per item.

    >>> fresh_items(.01, .95), fresh_items(1e-13, .95)
    (393, None)
    """
    if information <= 1e-12:  # nats per item: less is rounding
        return None
    needed = (np.sqrt(2 * ratio_cut(level)) + 0.8416212335729143) ** 2 / 2 / information  # the normal quantile at .8
    return int(np.ceil(needed)) if needed <= 1e9 else None  # more items than this are out of reach


def ratio_cut(level: float) -> float:
    """The lead in nats that a likelihood ratio must exceed: half the two-sided chi-square quantile.

    Each side is tested alone, so the one-sided quantile would do in large samples; in small ones it is too easy.

    >>> round(ratio_cut(.95), 3)
    1.921
    """
    return float(gammaincinv(0.5, level))
