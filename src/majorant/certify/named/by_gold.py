"""Do workers err together, told from items whose true label is known: no model, and any dependence.

Statement and measured levels: docs/theory/dependence.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.certify.named.design import FloatArray
from majorant.certify.named.scores import NO_VOTE, Pairs
from majorant.interval import Estimate
from majorant.votes import IntArray

ENOUGH_GOLD = 50  # items, with two votes or more
HEAVY_TAILS = 4  # squares vary more than normal numbers do: their variance is known as if from a quarter of the items
LEAST = 1e-9  # of a sum of squares that one item makes up: the interval is then as wide as can be


class GoldItems(NamedTuple):
    """Items g with a known class and two votes or more: who said what (-1: nothing), and how many items each is."""

    label_gj: IntArray
    class_g: IntArray
    copies_g: FloatArray
    n_classes: int

    @property
    def n_items(self) -> float:
        """With all copies."""
        return float(self.copies_g.sum())


class PairTests(NamedTuple):
    """For each pair the correlation of their votes given the class, and how far it is from 0 in standard errors."""

    correlation_q: FloatArray
    z_q: FloatArray  # nan where one of the two is never wrong, or never right


def gold_items(label_ij: IntArray, gold_i: IntArray | None, copies_i: FloatArray, n_classes: int) -> GoldItems | None:
    """The items from which dependence can be told by gold; None where they are too few."""
    if gold_i is None:
        return None
    known = np.flatnonzero((gold_i >= 0) & ((label_ij != NO_VOTE).sum(axis=1) >= 2))
    found = GoldItems(label_ij[known], gold_i[known], copies_i[known], n_classes)
    return found if found.n_items >= ENOUGH_GOLD else None


def pair_tests(gold: GoldItems, pairs: Pairs) -> PairTests:
    """Mantel and Haenszel's test of each pair's agreement, stratified by the class, with its continuity correction.

    With more than two labels, agreement on any of them counts alike.
    """
    found = np.array([_pair_test(gold, a, b) for a, b in pairs]).reshape(-1, 2)
    return PairTests(found[:, 0], found[:, 1])


def _pair_test(gold: GoldItems, a: int, b: int) -> tuple[float, float]:
    """Correlation and z of two workers on the gold items that both have labelled."""
    both = (gold.label_gj[:, a] != NO_VOTE) & (gold.label_gj[:, b] != NO_VOTE)
    together = variance = 0.0
    spread = np.zeros(2)
    for k in range(gold.n_classes):
        here = both & (gold.class_g == k)
        n = gold.copies_g[here].sum()
        if n < 2:
            continue
        joint_lm = np.zeros((gold.n_classes, gold.n_classes))
        np.add.at(joint_lm, (gold.label_gj[here, a], gold.label_gj[here, b]), gold.copies_g[here])
        of_a, of_b = joint_lm.sum(axis=1), joint_lm.sum(axis=0)
        # n**2 times their covariances, in whole numbers: one who always says the same has exactly 0.
        cov_a, cov_b = (n * np.diag(items_l) - np.outer(items_l, items_l) for items_l in (of_a, of_b))
        together += float(np.trace(joint_lm) - of_a @ of_b / n)
        variance += float((cov_a * cov_b).sum()) / (n**2 * (n - 1))
        spread += np.array([np.trace(cov_a), np.trace(cov_b)]) / n
    if variance <= 0:
        return np.nan, np.nan
    # Agreements change in steps of 2 where there are two labels and the margins are kept, else of 1.
    half_step = 1.0 if gold.n_classes == 2 else 0.5
    beyond = np.sign(together) * max(abs(together) - half_step, 0.0)
    return together / float(np.sqrt(spread.prod())), float(beyond / np.sqrt(variance))


def worth_by_gold(gold: GoldItems, level: float) -> Estimate:
    """How many independent votes vary as much, given the class, as those of an item: n over Kish's design effect.

    With e the votes less their worker's mean in the class, the design effect is `sum |sum_j e|^2 / sum sum_j |e|^2`;
    its interval comes from leaving out one item at a time, on the log scale.

    >>> label_gj = np.array([[0, 0], [1, 1], [0, 0], [0, 1]] * 20)
    >>> worth = worth_by_gold(GoldItems(label_gj, np.zeros(80, dtype=int), np.ones(80), 2), .95)
    >>> round(worth.value, 2), round(worth.low, 2), round(worth.high, 2)
    (1.27, 1.16, 1.39)
    """
    from scipy.special import stdtrit

    error_gjl, copies_g, n = _errors(gold), gold.copies_g, gold.n_items
    apart_g, together_g = (error_gjl**2).sum(axis=(1, 2)), (error_gjl.sum(axis=1) ** 2).sum(axis=1)
    apart, together = float(copies_g @ apart_g), float(copies_g @ together_g)
    if together <= 0:
        return Estimate(None, reason="on the gold items no errors add up")
    items_g = np.bincount(gold.class_g, weights=copies_g)[gold.class_g]
    share_g = items_g / np.maximum(items_g - 1, 1)  # without the item, its class has another mean
    without_g = np.log(
        np.maximum(together - share_g * together_g, LEAST) / np.maximum(apart - share_g * apart_g, LEAST)
    )
    off_g = without_g - copies_g @ without_g / n
    half = float(stdtrit((n - 1) / HEAVY_TAILS, (1 + level) / 2)) * float(np.sqrt((n - 1) / n * (copies_g @ off_g**2)))
    n_votes = float(copies_g @ (gold.label_gj != NO_VOTE).sum(axis=1) / n)
    value, low, high = (
        float(np.clip(n_votes * apart / together * np.exp(shift), 1, n_votes)) for shift in (0.0, -half, half)
    )
    return Estimate(value, low, high)


def _errors(gold: GoldItems) -> FloatArray:
    """Each vote less the mean of its worker in the class (G, J, L), 0 where there is no vote."""
    said_gjl = (gold.label_gj[:, :, None] == np.arange(gold.n_classes)).astype(float)
    voted_gj1 = (gold.label_gj != NO_VOTE)[:, :, None].astype(float)
    error_gjl = np.zeros_like(said_gjl)
    for k in range(gold.n_classes):
        here = gold.class_g == k
        weight_gj1 = gold.copies_g[here, None, None] * voted_gj1[here]
        mean_jl = (weight_gj1 * said_gjl[here]).sum(axis=0) / np.maximum(weight_gj1.sum(axis=0), 1)
        error_gjl[here] = (said_gjl[here] - mean_jl) * voted_gj1[here]
    return np.asarray(error_gjl)
