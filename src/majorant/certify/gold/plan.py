"""How many gold items would decide whether majority vote is optimal."""

from __future__ import annotations

import numpy as np

from majorant.certify.gold.cells import LEAST_SHARE, GoldCells
from majorant.errors import ConfigError
from majorant.interval import FloatArray
from majorant.theory.patterns import shared_patterns

POWER = 0.8  # with which the planned gold decides
MOST_GOLD = 1_000_000  # beyond this the answer is: no


def more_gold(cells: GoldCells, alpha: float) -> int | None:
    """About how many fresh gold items, drawn at random and judged by themselves, would decide.

    None where no number in reach would.  At the estimated odds in each untied cell, one imaginary gold item added at
    majority's overall accuracy.

    >>> more_gold(GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[30, 1], [14, 10]])), .05)
    450
    """
    if not len(cells.items_c):
        return None
    pair_c = cells.right_c + cells.rival_c
    overall = (cells.right_c.sum() + 1) / (pair_c.sum() + 1)
    odds_c = (cells.right_c + overall) / (pair_c + 1)
    either_c = (pair_c + 1) / (cells.gold_c + 1)
    return gold_needed(odds_c, either_c * cells.share_c, cells.n_classes, alpha)


def gold_needed(odds_c: FloatArray, share_c: FloatArray, n_classes: int, alpha: float) -> int | None:
    """About how many gold items decide with probability POWER at given odds; None if more than MOST_GOLD.

    `odds_c` is P(truth is majority's class) against the strongest rival in each cell, `share_c` the share of all items
    that are in the cell and of either class.  For a proof the cell that needs the most counts, for a refutation the one
    that needs the least.
    """
    from scipy.special import ndtri

    worse_c = odds_c < 0.5
    error = alpha / (len(odds_c) * (n_classes - 1)) if worse_c.any() else alpha
    spread_c = ndtri(1 - error) / 2 + ndtri(POWER) * np.sqrt(odds_c * (1 - odds_c))
    with np.errstate(divide="ignore"):
        tests_c = np.maximum((spread_c / (odds_c - 0.5)) ** 2, np.log2(1 / error))
        needed_c = tests_c / share_c
    needed = needed_c[worse_c].min() if worse_c.any() else needed_c.max()
    return int(np.ceil(needed)) if needed <= MOST_GOLD else None


def model_gold(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int, alpha: float) -> int | None:
    """Gold items that would decide at this model; the rarest counts, LEAST_SHARE of the items together, left open."""
    try:
        patterns = shared_patterns(prior_k, confusion_kl, n_votes)
    except ConfigError:  # too many vote patterns
        return None
    untied_b = patterns.top_kb.sum(axis=0) == 1
    top_kb = patterns.top_kb[:, untied_b]
    joint_kb = prior_k[:, None] * np.exp(patterns.log_given_kb[:, untied_b])
    share_b = joint_kb.sum(axis=0)
    order_b = np.argsort(share_b)
    common_b = order_b[np.cumsum(share_b[order_b]) > LEAST_SHARE]
    right_b = joint_kb[top_kb.argmax(axis=0), np.arange(len(share_b))][common_b]
    either_b = right_b + np.where(top_kb, 0, joint_kb).max(axis=0)[common_b]
    return gold_needed(right_b / either_b, either_b, len(prior_k), alpha)
