"""Do items with few votes look like items with many?  If not, how many votes an item got says something about it."""

from __future__ import annotations

import numpy as np

from majorant.certify.anonymous.independent import main_sizes
from majorant.certify.anonymous.likelihood import Histograms
from majorant.certify.certificate import AssumptionTest
from majorant.theory.checks import FloatArray

NAME = "numbers of votes alike"
LEVEL = 0.01
ENOUGH = 50  # items of a number of votes, for the normal law of their means


def sizes_gate(histograms: Histograms) -> AssumptionTest | None:
    """Whether the share of votes for class 0, and of pairs of them, are alike for all numbers of votes.

    Both are unbiased whatever the number of votes, and however votes on an item depend on each other, if that number
    has nothing to do with the item; so their means over items may differ by chance alone.  A Wald test (chi-square), in
    the limit of many items.  None where there is one number of votes; not passed is what it means.

    >>> sizes_gate({4: np.array([200, 50, 20, 50, 200]), 5: np.array([100, 60, 90, 90, 60, 100])}).passed
    False
    """
    sizes = [h for h in main_sizes(histograms) if h >= 2 and histograms[h].sum() >= ENOUGH]
    if len(sizes) < 2:
        return None
    means, weights = zip(*(_mean_and_precision(h, histograms[h]) for h in sizes), strict=True)
    common = np.linalg.pinv(sum(weights)) @ sum(
        (weight @ mean for mean, weight in zip(means, weights, strict=True)), start=np.zeros(2)
    )
    statistic = sum(
        float((mean - common) @ weight @ (mean - common)) for mean, weight in zip(means, weights, strict=True)
    )
    from scipy.special import chdtrc

    p_value = float(chdtrc(2 * (len(sizes) - 1), statistic))
    passed = p_value >= LEVEL
    found = "items with few and with many votes look alike" if passed else "items with few and with many votes differ"
    return AssumptionTest(name=NAME, passed=passed, p_value=p_value, text=f"{found} (p = {p_value:.2g})")


def _mean_and_precision(n_votes: int, items_k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean share of votes and of pairs for class 0 over items, and the inverse of its covariance."""
    k = np.arange(n_votes + 1.0)
    value_2k = np.stack([k / n_votes, k * (k - 1) / (n_votes * (n_votes - 1))])
    n_items = float(items_k.sum())
    mean_2 = value_2k @ items_k / n_items
    away_2k = value_2k - mean_2[:, None]
    covariance = (away_2k * items_k) @ away_2k.T / n_items**2 + np.eye(2) / (n_items * (n_items + 1))
    return mean_2, np.asarray(np.linalg.inv(covariance), dtype=float)
