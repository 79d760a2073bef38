"""Do workers err together, told from items whose true label is known: no model, and any dependence.

Statement and measured levels: docs/theory/dependence.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.certify.named.design import FloatArray
from majorant.certify.named.scores import NO_VOTE, Pairs
from majorant.values import Estimate
from majorant.votes import IntArray

ENOUGH_GOLD = 50  # items, with two votes or more
CANCELLED = 1e-9  # of the squared errors: what rounding leaves of them where the errors on each item cancel out
SYMMETRIC = 1e-6  # skewness, times standard errors, that changes nothing


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
    excess, variance, third, most, half_step = agreement_moments(gold, a, b)
    if variance <= 0:
        return np.nan, np.nan
    beyond = np.sign(excess) * max(abs(excess) - half_step, 0.0)
    return excess / most, normal_score(float(beyond / np.sqrt(variance)), third / variance**1.5)


class AgreementMoments(NamedTuple):
    """Of the number of agreements of two workers, if their votes were dealt anew to the items of each class."""

    excess: float  # of the agreements seen, over the mean
    variance: float
    third: float  # central moment
    most: float  # excess of two workers who always agree
    half_step: float  # of the values that the number of agreements can take


def agreement_moments(gold: GoldItems, a: int, b: int) -> AgreementMoments:
    """Exact, given how often each of the two said each label in each class."""
    both = (gold.label_gj[:, a] != NO_VOTE) & (gold.label_gj[:, b] != NO_VOTE)
    excess = variance = third = 0.0
    spread, half_step = np.zeros(2), 1.0
    for k in range(gold.n_classes):
        here = both & (gold.class_g == k)
        n = gold.copies_g[here].sum()
        if n < 2:
            continue
        joint_lm = np.zeros((gold.n_classes, gold.n_classes))
        np.add.at(joint_lm, (gold.label_gj[here, a], gold.label_gj[here, b]), gold.copies_g[here])
        of_a, of_b = joint_lm.sum(axis=1), joint_lm.sum(axis=0)
        ways_lm, met = np.outer(of_a, of_b), of_a @ of_b
        # n**2 times "agree" less its means over both, in whole numbers: one who always says the same has exactly 0.
        off_lm = n**2 * np.eye(len(of_a)) - n * of_b[:, None] - n * of_a + met
        excess += float(np.trace(joint_lm) - met / n)
        variance += float((ways_lm * off_lm**2).sum() / n**4 / (n - 1))
        third += float((ways_lm * off_lm**3).sum() / n**5 / ((n - 1) * max(n - 2, 1)))
        spread += n - np.array([of_a @ of_a, of_b @ of_b]) / n
        if (ways_lm * off_lm).any() and (of_a + of_b > 0).sum() > 2:
            half_step = 0.5  # agreements change by 1; with two labels, where one more of one is one more of both, by 2
    return AgreementMoments(excess, variance, third, float(np.sqrt(spread.prod())), half_step)


def normal_score(z: float, skew: float) -> float:
    """The standard normal number with the same tail as `z` has, of a law with this skewness (Pearson's third type).

    One shared error of two workers who hardly ever err is 8 standard errors from the mean, and no proof.

    >>> round(normal_score(8.6, 17.), 1), normal_score(2., 0.), normal_score(-2., 1.)
    (2.8, 2.0, -2.0)
    """
    from scipy.special import gammaincc, ndtri

    if z * skew <= SYMMETRIC:  # towards the short tail the normal law errs on the safe side
        return z
    shape = 4 / skew**2
    tail = max(float(gammaincc(shape, shape + np.sqrt(shape) * abs(z))), np.finfo(float).tiny)
    return float(np.sign(z) * max(-ndtri(tail), 0.0))


def worth_by_gold(gold: GoldItems, level: float) -> Estimate:
    """How many independent votes vary as much, given the class, as those of an item: n over Kish's design effect.

    With e the votes less their worker's mean in the class, the design effect is `sum |sum_j e|^2 / sum sum_j |e|^2`;
    its interval comes from leaving out one item at a time, on the log scale, with half an item more: for the low end
    one on which all err together, for the high end one on which one errs alone.  Else rare errors would hide.

    >>> label_gj = np.array([[0, 0], [1, 1], [0, 0], [0, 1]] * 20)
    >>> worth = worth_by_gold(GoldItems(label_gj, np.zeros(80, dtype=int), np.ones(80), 2), .95)
    >>> round(worth.value, 2), round(worth.low, 2), round(worth.high, 2)
    (1.27, 1.16, 1.4)
    """
    squares = squared_errors(gold)
    apart, together = squares.all_s
    if together <= CANCELLED * apart:
        return Estimate(None, reason="on the gold items no errors add up")
    n_votes = float(gold.copies_g @ (gold.label_gj != NO_VOTE).sum(axis=1) / gold.n_items)
    effects = (
        together / apart,
        _effect_bound(gold, squares, np.array([n_votes, n_votes**2]), (1 + level) / 2),
        _effect_bound(gold, squares, np.ones(2), (1 - level) / 2),
    )
    value, low, high = (float(np.clip(n_votes / effect, 1, n_votes)) for effect in effects)
    return Estimate(value, low, high)


def _effect_bound(gold: GoldItems, squares: Squares, added_s: FloatArray, quantile: float) -> float:
    """A one-sided bound of the design effect by the jackknife, with an item of these squares added."""
    from scipy.special import stdtrit

    copies_g, n = np.append(gold.copies_g, 1.0), gold.n_items + 1
    log_gs = np.log(np.vstack([squares.without_gs + added_s, squares.all_s]))
    effect_g = log_gs[:, 1] - log_gs[:, 0]
    off_g = effect_g - copies_g @ effect_g / n
    error = np.sqrt((n - 1) / n * (copies_g @ off_g**2))
    apart, together = squares.all_s + added_s
    return float(together / apart * np.exp(stdtrit(n - 1, quantile) * error))


class Squares(NamedTuple):
    """The squared errors s of all items, worker by worker (0) and of the workers' sum (1); and without each item."""

    all_s: FloatArray
    without_gs: FloatArray


def squared_errors(gold: GoldItems) -> Squares:
    """Each vote less the mean of its worker in the class, squared; without an item that mean is another."""
    all_s, without_gs = np.zeros(2), np.zeros((len(gold.class_g), 2))
    for k in np.unique(gold.class_g):
        here = gold.class_g == k
        of_class = _squares_of_class(gold.label_gj[here], gold.copies_g[here], gold.n_classes)
        all_s += of_class.all_s
        without_gs[here] = of_class.without_gs - of_class.all_s
    return Squares(all_s, all_s + without_gs)


def _squares_of_class(label_gj: IntArray, copies_g: FloatArray, n_classes: int) -> Squares:
    voted_gj = (label_gj != NO_VOTE).astype(float)
    said_gjl = (label_gj[:, :, None] == np.arange(n_classes)).astype(float)
    items_j = copies_g @ voted_gj
    mean_jl = np.tensordot(copies_g, said_gjl, 1) / np.maximum(items_j, 1)[:, None]
    error_gjl = (said_gjl - mean_jl) * voted_gj[:, :, None]
    sum_gl = error_gjl.sum(axis=1)
    all_s = np.array([copies_g @ (error_gjl**2).sum(axis=(1, 2)), copies_g @ (sum_gl**2).sum(axis=1)])
    # Without item g the errors of worker j on all other items grow by shift_gjl.
    shift_gjl = error_gjl / np.maximum(items_j - 1, 1)[:, None]
    common_jj = (voted_gj * copies_g[:, None]).T @ voted_gj
    beside_jl = (voted_gj * copies_g[:, None]).T @ sum_gl
    grown_gjl = 2 * beside_jl + np.einsum("jh,ghl->gjl", common_jj, shift_gjl)
    lost_gs = np.stack(
        [
            ((error_gjl * shift_gjl).sum(axis=2) * items_j).sum(axis=1),
            ((sum_gl + shift_gjl.sum(axis=1)) ** 2).sum(axis=1) - (shift_gjl * grown_gjl).sum(axis=(1, 2)),
        ],
        axis=1,
    )
    return Squares(all_s, all_s - lost_gs)
