"""Do the histograms look like independent votes given the class?  The gate before every verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, xlogy

from majorant.certify.anonymous.breakdown import ENOUGH_POWER, TYPICAL, Breakdown
from majorant.certify.anonymous.independent import main_sizes
from majorant.certify.anonymous.likelihood import HistogramCells, Histograms, climb, log_cells, sides
from majorant.certify.certificate import ITEMS_APART, AssumptionTest
from majorant.theory.checks import FloatArray

GATE_LEVEL = 0.05  # of all tests of a claim together
SMALL_COUNT = 5.0  # expected items below which the chi-square law is not trusted
CLEAR_PASS = 0.3  # a chi-square p-value above this passes even so, unless most cells are empty
SPARSE = 0.2  # share of cells that expect less than one item
REPLICATES = 199
PARAMETERS = 3
INDEPENDENCE = "independent votes"
UNTESTABLE = "assumes independent votes, not testable with 3 votes on every item"
Refit = Callable[
    [FloatArray], FloatArray
]  # items (B, cells) -> log probability of each cell at the best fit (B, cells)
TWO_CLASSES = "two classes"
DRAWN_ANEW = "every vote comes from a worker drawn anew: all share one confusion matrix, and no items share workers"
GUESSING = "votes are better than guessing"
SIZES = "the number of votes on an item depends neither on the item nor on the votes seen"
SIZES_APART = "the number of votes on an item does not depend on the votes seen"
INDEPENDENT = "votes on an item are independent given its class"
APART, DIFFICULTY = "independent votes, each number of votes apart", "item difficulty"
HARD_ITEMS = "items of a class differ in difficulty by a beta law; votes are independent given class and difficulty"
NAME = "numbers of votes alike"
LEVEL = 0.01
ENOUGH = 50  # items of a number of votes, for the normal law of their means


def assumptions(model: str) -> tuple[str, ...]:
    """What a verdict under this model takes for granted."""
    sizes = SIZES_APART if model == APART else SIZES
    independent = HARD_ITEMS if model == DIFFICULTY else INDEPENDENT
    return (TWO_CLASSES, DRAWN_ANEW, ITEMS_APART, GUESSING, sizes, independent)


def not_tested(model: str, blind: bool) -> tuple[str, ...]:
    """Those of them that counts alone cannot test; `blind` if independence could not be tested either."""
    tested = {TWO_CLASSES} if blind else {TWO_CLASSES, INDEPENDENT, HARD_ITEMS}
    return tuple(text for text in assumptions(model) if text not in tested)


def untestable(histograms: Histograms) -> str:
    """The condition under which a claim holds where its votes cannot test whether they are independent."""
    sizes = [h for h in histograms if h > 1]
    votes = "3 votes per item" if set(sizes) == {3} else "so few items or votes"
    return f"{INDEPENDENT}, which {votes} cannot test"


def freedom(sizes: list[int], parameters: int = PARAMETERS) -> int:
    """Degrees of freedom that the histograms leave after fitting.

    >>> freedom([3]), freedom([3, 5])
    (0, 5)
    """
    return sum(sizes) - parameters


def misfit(items_bc: FloatArray, votes_c: FloatArray, log_cell_bc: FloatArray) -> FloatArray:
    """G: twice the log-likelihood that the best model falls short of the histograms themselves."""
    share_bc = items_bc / np.maximum(_totals(items_bc, votes_c), 1)
    return np.asarray(2 * (xlogy(items_bc, share_bc) - items_bc * log_cell_bc).sum(axis=1))


def misplaced(items_c: FloatArray, votes_c: FloatArray, log_cell_c: FloatArray) -> float:
    """The share of items that would have to change their counts for the model to fit (index of dissimilarity).

    >>> round(misplaced(np.array([30.0, 20, 50]), np.full(3, 2), np.log([0.25, 0.25, 0.5])), 3)
    0.05
    """
    expected_c = _totals(items_c[None], votes_c)[0] * np.exp(log_cell_c)
    return float(np.abs(items_c - expected_c).sum() / (2 * items_c.sum()))


def _totals(items_bc: FloatArray, votes_c: FloatArray) -> FloatArray:
    """For each cell the items with as many votes."""
    total_bc = np.zeros_like(items_bc)
    for h in np.unique(votes_c):
        total_bc[:, votes_c == h] = items_bc[:, votes_c == h].sum(axis=1, keepdims=True)
    return total_bc


def binomial_log_cells(cells: HistogramCells, theta: FloatArray) -> FloatArray:
    """log P(cell | number of votes) under two binomials."""
    return log_cells(cells, theta) + cells.log_orders_c


def binomial_refit(cells: HistogramCells, theta_3: FloatArray) -> Refit:
    """The best fit to data drawn from `theta_3`: uphill from it, which is near enough."""

    def refit(items_bc: FloatArray) -> FloatArray:
        everywhere = sides([(0, 0, 0)] * len(items_bc))
        theta, _ = climb(cells, items_bc, everywhere, np.repeat(theta_3[None], len(items_bc), axis=0))
        return binomial_log_cells(cells, theta)

    return refit


def fit_p_value(
    items_c: FloatArray,
    votes_c: FloatArray,
    log_cell_c: FloatArray,
    df: int,
    refit: Refit,
    rng: np.random.Generator,
) -> float:
    """P(a misfit as large), by the chi-square law, or by refitted simulations where expected counts are small."""
    observed = float(misfit(items_c[None], votes_c, log_cell_c[None])[0])
    p_value = float(chdtrc(df, observed))
    cell_c = np.exp(log_cell_c)
    expected_c = _totals(items_c[None], votes_c)[0] * cell_c
    sparse = (expected_c < 1).mean() > SPARSE  # then the misfit is far below its degrees of freedom, and hides
    if expected_c.min() >= SMALL_COUNT or (p_value > CLEAR_PASS and not sparse):
        return p_value
    drawn = np.empty((REPLICATES, len(items_c)))
    for h in np.unique(votes_c):
        at = votes_c == h
        drawn[:, at] = rng.multinomial(int(items_c[at].sum()), cell_c[at] / cell_c[at].sum(), size=REPLICATES)
    again = misfit(drawn, votes_c, refit(drawn))
    return float((1 + (again >= observed - 1e-9).sum()) / (1 + REPLICATES))


def independence_gate(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, rng: np.random.Generator, level: float = GATE_LEVEL
) -> AssumptionTest:
    """Whether two binomials fit the histograms; three votes on every item fit always and tell nothing.

    A crowd is assumed: every vote from a worker drawn anew.  The gate sees dependence that widens or bends the
    histograms (hard items, shared errors), at the given level; an error that all workers share alike it cannot see.
    """
    sizes = [int(h) for h in np.unique(cells.votes_c)]
    df = freedom(sizes)
    if df <= 0:
        return AssumptionTest(name=INDEPENDENCE, passed=None, p_value=None, text=UNTESTABLE)
    log_cell_c = binomial_log_cells(cells, theta_3)
    p_value = fit_p_value(items_c, cells.votes_c, log_cell_c, df, binomial_refit(cells, theta_3), rng)
    passed = p_value >= level
    if passed:
        text = f"the votes look independent given the class (p = {p_value:.2g})"
    else:
        text = (
            f"the votes on an item are not independent given its class (p = {p_value:.2g}): hard items or shared errors"
        )
    return AssumptionTest(name=INDEPENDENCE, passed=passed, p_value=p_value, text=text)


def weak_gate(gate: AssumptionTest, breakdown: Breakdown | None) -> AssumptionTest:
    """The gate, which has tested nothing if it would hardly have seen votes as dependent as those of real crowds.

    >>> gate = AssumptionTest(name=INDEPENDENCE, passed=True, p_value=.4, text="the votes look independent")
    >>> weak_gate(gate, Breakdown(.1, .2, .1)).passed, weak_gate(gate, Breakdown(.1, .9, .1)).passed
    (None, True)
    """
    if not gate.passed or breakdown is None or breakdown.power >= ENOUGH_POWER:
        return gate
    seen = f"a correlation of {TYPICAL} between votes would be seen in only {breakdown.power:.0%} of cases"
    return replace(gate, passed=None, text=f"assumes independent votes: with so few items or votes, {seen}")


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
