"""The tests of what claims assume: votes that are independent given the class, workers who are alike.

Do vote counts look like independent votes, and could they show it if not?  The gate before every verdict from counts:
two binomials (or, with more classes or known workers, the fitted model) against the histograms.  How much votes on an
item may depend on each other before the verdict turns: within a class votes are then beta-binomial with one intra-item
correlation rho for both classes; items of a class differ, or workers err together, and two votes on an item correlate
by rho given its class.  At a fixed rho the model has the three numbers of two binomials, and is tested as they are.
Argument: docs/theory/certificate.md.

Do the workers differ at all?  If not, who voted does not matter, and the anonymous claim says it all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, chdtri, chndtr, gammaln, xlog1py, xlogy

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.certificate.certificate import INDEPENDENT_VOTES, AssumptionTest, Verdict
from majorant.evidence.certificate.count_models import (
    BETA_BINOMIALS,
    BETA_PARAMETERS,
    BINOMIALS,
    EVERYWHERE,
    MOST_BETA_CELLS,
    CountModel,
    HistogramCells,
    Histograms,
    Sides,
    beta_class_logs,
    beta_climb,
    beta_log_odds,
    contradictions,
    edge,
    everywhere,
    flatten,
    join_sides,
    opposite,
    suprema,
    uneven_ties,
)
from majorant.evidence.certificate.design import as_copies
from majorant.evidence.certificate.independent import main_sizes, ratio_cut
from majorant.items import draw_items, take_items
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.values import FloatArray, as_generator
from majorant.votes import IntArray, Votes
from majorant.wording import (
    ALIKE_TEST,
    ALL_VOTED_ALIKE,
    THREE_FIT_ALWAYS,
    TOO_FEW_TO_TEST,
    blind_test,
    sizes_alike,
    votes_independent,
    workers_alike,
)

GATE_LEVEL = 0.05  # of all tests of a claim together
SMALL_COUNT = 5.0  # expected items below which the chi-square law is not trusted
CLEAR_PASS = 0.3  # a chi-square p-value above this passes even so, unless most cells are empty
SPARSE = 0.2  # share of cells that expect less than one item
FIT_REPLICATES = 199
BINOMIAL_PARAMETERS = 3
SIZES_ALIKE = "numbers of votes alike"
SIZES_LEVEL = 0.01
ENOUGH_ITEMS = 50  # items of a number of votes, for the normal law of their means
CORRELATIONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)  # tried one after the other, until the verdict turns
TYPICAL = 0.15  # by gold, votes of real crowds correlate by -.01 to .32 within a class: what a test should see
_LOGITS = np.array([-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6.0])
_PRIORS = np.array([-4, -2, -1, 0, 1, 2, 4.0])  # logits
GRID_STARTS = 3  # of the grid and of the boundary each
ENOUGH_POWER = 0.8  # with which a test must see what it is for, to have tested anything
EXPECTED = 5.0  # items in a bin, for the chi-square law to hold
N_PERMUTATIONS = 499
FEW_PERMUTATIONS, MANY_SHUFFLED = 199, 30_000  # of so many votes: whatever the number, the test is exact
ENOUGH_EXTREME = 25  # permutations at least as extreme: the test stops (Besag & Clifford 1991)
MOST_SHUFFLED = 100_000  # beyond, items are drawn at random: a valid test of fewer items
LISTED_ORDERS = 6  # votes on an item, up to which one of all their orders is drawn at once,
MOST_STEPS = 1_000  # and up to which all items are shuffled together, step by step


def misfit(cells: HistogramCells, items_bc: FloatArray, log_share_bc: FloatArray) -> FloatArray:
    """G: twice the log-likelihood that the best model falls short of the histograms themselves."""
    share_bc = items_bc / np.maximum(cells.totals(items_bc), 1)
    return np.asarray(2 * (xlogy(items_bc, share_bc) - items_bc * log_share_bc).sum(axis=1))


def misplaced(cells: HistogramCells, items_c: FloatArray, log_share_c: FloatArray) -> float:
    """The share of items that would have to change their counts for the model to fit (index of dissimilarity).

    >>> cells, items_c = flatten({2: [30, 20, 50]})
    >>> round(misplaced(cells, items_c, np.log([0.25, 0.25, 0.5])), 3)
    0.05
    """
    expected_c = cells.totals(items_c) * np.exp(log_share_c)
    return float(np.abs(items_c - expected_c).sum() / (2 * items_c.sum()))


def fit_p_value(
    cells: HistogramCells, items_c: FloatArray, model: CountModel, best_u: FloatArray, df: int, rng: np.random.Generator
) -> float:
    """P(a misfit as large), by the chi-square law, or by simulations where expected counts are small.

    `best_u` is the best fit; that to data drawn from it is uphill from it, which is near enough.
    """
    log_share_c = model.log_shares(cells, best_u)
    observed = float(misfit(cells, items_c[None], log_share_c[None])[0])
    p_value = float(chdtrc(df, observed))
    share_c = np.exp(log_share_c)
    expected_c = cells.totals(items_c) * share_c
    sparse = (expected_c < 1).mean() > SPARSE  # then the misfit is far below its degrees of freedom, and hides
    if expected_c.min() >= SMALL_COUNT or (p_value > CLEAR_PASS and not sparse):
        return p_value
    drawn_bc = np.empty((FIT_REPLICATES, len(items_c)))
    for h in np.unique(cells.votes_c):
        at = cells.votes_c == h
        law = share_c[at] / share_c[at].sum()
        drawn_bc[:, at] = rng.multinomial(int(items_c[at].sum()), law, size=FIT_REPLICATES)
    again_bu, _ = model.climb(cells, drawn_bc, everywhere(FIT_REPLICATES), np.tile(best_u, (FIT_REPLICATES, 1)))
    again_b = misfit(cells, drawn_bc, model.log_shares(cells, again_bu))
    return float((1 + (again_b >= observed - 1e-9).sum()) / (1 + FIT_REPLICATES))


def independence_gate(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, rng: np.random.Generator, level: float = GATE_LEVEL
) -> AssumptionTest:
    """Whether two binomials fit the histograms; three votes on every item fit always and tell nothing.

    A crowd is assumed: every vote from a worker drawn anew.  The gate sees dependence that widens or bends the
    histograms (hard items, shared errors), at the given level; an error that all workers share alike it cannot see.
    """
    df = int(np.unique(cells.votes_c).sum()) - BINOMIAL_PARAMETERS
    if df <= 0:
        return AssumptionTest(name=INDEPENDENT_VOTES, passed=None, p_value=None, text=THREE_FIT_ALWAYS)
    p_value = fit_p_value(cells, items_c, BINOMIALS, theta_3, df, rng)
    text = votes_independent(p_value, passed=p_value >= level)
    return AssumptionTest(name=INDEPENDENT_VOTES, passed=p_value >= level, p_value=p_value, text=text)


def weak_gate(gate: AssumptionTest, breakdown: Breakdown | None) -> AssumptionTest:
    """The gate, which has tested nothing if it would hardly have seen votes as dependent as those of real crowds.

    >>> gate = AssumptionTest(name=INDEPENDENT_VOTES, passed=True, p_value=.4, text="the votes look independent")
    >>> weak_gate(gate, Breakdown(.1, .2, .1)).passed, weak_gate(gate, Breakdown(.1, .9, .1)).passed
    (None, True)
    """
    if not gate.passed or breakdown is None or breakdown.power >= ENOUGH_POWER:
        return gate
    return replace(gate, passed=None, text=blind_test(TYPICAL, breakdown.power))


def sizes_gate(histograms: Histograms) -> AssumptionTest | None:
    """Whether the share of votes for class 0, and of pairs of them, are alike for all numbers of votes.

    Both are unbiased whatever the number of votes, and however votes on an item depend on each other, if that number
    has nothing to do with the item; so their means over items may differ by chance alone.  A Wald test (chi-square), in
    the limit of many items.  None where there is one number of votes; not passed is what it means.

    >>> sizes_gate({4: np.array([200, 50, 20, 50, 200]), 5: np.array([100, 60, 90, 90, 60, 100])}).passed
    False
    """
    sizes = [h for h in main_sizes(histograms) if h >= 2 and histograms[h].sum() >= ENOUGH_ITEMS]
    if len(sizes) < 2:
        return None
    means, weights = zip(*(_mean_and_precision(h, histograms[h]) for h in sizes), strict=True)
    common = np.linalg.pinv(sum(weights)) @ sum(
        (weight @ mean for mean, weight in zip(means, weights, strict=True)), start=np.zeros(2)
    )
    statistic = sum(
        float((mean - common) @ weight @ (mean - common)) for mean, weight in zip(means, weights, strict=True)
    )
    p_value = float(chdtrc(2 * (len(sizes) - 1), statistic))
    passed = p_value >= SIZES_LEVEL
    return AssumptionTest(name=SIZES_ALIKE, passed=passed, p_value=p_value, text=sizes_alike(p_value, passed=passed))


def _mean_and_precision(n_votes: int, items_k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean share of votes and of pairs for class 0 over items, and the inverse of its covariance."""
    k = np.arange(n_votes + 1.0)
    value_2k = np.stack([k / n_votes, k * (k - 1) / (n_votes * (n_votes - 1))])
    n_items = float(items_k.sum())
    mean_2 = value_2k @ items_k / n_items
    away_2k = value_2k - mean_2[:, None]
    covariance = (away_2k * items_k) @ away_2k.T / n_items**2 + np.eye(2) / (n_items * (n_items + 1))
    return mean_2, np.asarray(np.linalg.inv(covariance), dtype=float)


class Breakdown(NamedTuple):
    """The largest correlation tried up to which the verdict stands, and what the test of independent votes could see.

    `power` is that of the test against a typical correlation, `power_to_turn` against the likeliest model with which
    the verdict is wrong: that of the first correlation at which it does not stand, or of the last one tried.
    """

    correlation: float | None
    power: float
    power_to_turn: float


def find_breakdown(histograms: Histograms, verdict: Verdict, theta_3: FloatArray, level: float) -> Breakdown | None:
    """At which correlation the likelihood ratio no longer bears the verdict out; None where there are too many cells.

    `theta_3` is the best pair of binomials.

    >>> histograms = {3: np.array([260.0, 240.0, 240.0, 260.0])}
    >>> find_breakdown(histograms, "supported", np.array([1.386, -1.386, 0.0]), .95)
    Breakdown(correlation=0.05, power=0.0, power_to_turn=0.0)
    """
    if sum(histograms) > MOST_BETA_CELLS:
        return None
    cells, items_c = flatten(histograms)
    sizes, df = main_sizes(histograms), sum(histograms) - BINOMIAL_PARAMETERS
    start_5 = np.insert(np.clip(theta_3, -6, 6), 2, [0.0, 0.0])
    typical = _suprema(cells, items_c, EVERYWHERE, TYPICAL, start_5[None])[1][0]
    power = power_against(cells, items_c, typical, df)
    if verdict not in ("proved", "supported", "refuted"):
        return Breakdown(None, power, power)
    wrong, for_majority = contradictions(sizes), verdict != "refuted"
    rows = join_sides(EVERYWHERE, wrong if for_majority else join_sides(opposite(wrong), uneven_ties(sizes)))
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
    if df <= 0:
        return 0.0
    log_c = np.logaddexp(*beta_class_logs(cells, psi_5))
    expected_c = cells.totals(items_c) * np.exp(log_c + cells.log_orders_c)
    misfit = 2 * (float(expected_c @ log_c) - float(suprema(cells, expected_c[None])[0][0, 0]))
    return float(1 - chndtr(chdtri(df, error), df, max(misfit, 1e-12)))


def _suprema(
    cells: HistogramCells, items_c: FloatArray, rows: Sides, correlation: float, before_p5: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The largest log-likelihood within each side at this correlation, and the model there."""
    concentration = float(np.log(1 / correlation - 1))
    grid_g5, before_p5 = _grid(concentration), before_p5.copy()
    before_p5[:, 2:4] = concentration
    value_g = BETA_BINOMIALS.log_likelihood(cells, items_c, grid_g5)
    begin, which = [before_p5], [np.arange(len(rows))]
    for p in range(len(rows)):
        one = rows.take(np.full(len(grid_g5), p))
        odds_g = beta_log_odds(grid_g5, rows.votes_p[p : p + 1], rows.zeros_p[p : p + 1])[:, 0]
        within_g = np.where(one.sign_p * odds_g >= 0, value_g, -np.inf)
        chosen = [grid_g5[np.argsort(-within_g)[:GRID_STARTS]]]
        if rows.sign_p[p]:
            edge_g5 = edge(grid_g5[:: len(_PRIORS)], one.take(np.arange(0, len(grid_g5), len(_PRIORS))))
            chosen.append(edge_g5[np.argsort(-BETA_BINOMIALS.log_likelihood(cells, items_c, edge_g5))[:GRID_STARTS]])
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
    assert grid_g5.shape[1] == BETA_PARAMETERS
    grid_g5.flags.writeable = False
    return grid_g5


def count_gate(votes: Votes, fit: Fit, copies: ArrayLike | None = None) -> AssumptionTest:
    """Whether the number of votes for each label spreads as a mixture of binomials would, at one level for all labels.

    `fit` holds one confusion matrix for all votes.  Under it the votes for label l on an item with H votes are binomial
    given the class; hard items and shared errors spread them wider.  A chi-square test for each label and number of
    votes, made good for their number (Bonferroni), with no degree of freedom taken off for what was fitted: the test is
    conservative.  With so few items that no test has two bins, nothing can be told.

    >>> from majorant.methods.shared import SharedConfusion
    >>> from majorant.simulate import simulate
    >>> prior, confusion = [.5, .3, .2], [[.8, .1, .1], [.1, .8, .1], [.1, .1, .8]]
    >>> votes, _ = simulate(prior, confusion, n_items=500, n_votes=7, rng=0)
    >>> count_gate(votes, SharedConfusion().fit(votes)).passed
    True
    """
    if fit.confusion is None or fit.confusion.ndim != 2:
        raise ConfigError(f"the gate of counts needs one confusion matrix for all; a {fit.method} fit has none.")
    weight_i, counts_il = as_copies(votes, copies), counts(votes)
    p_values = []
    for n_votes in np.unique(votes.votes_i[votes.votes_i > 1]):
        here = votes.votes_i == n_votes
        for l in range(len(votes.labels)):
            seen_m = np.bincount(counts_il[here, l], weights=weight_i[here], minlength=n_votes + 1)
            share_m = mixture(fit.prior, fit.confusion[:, l], int(n_votes))
            p_values.append(_chi_square(seen_m, share_m * seen_m.sum()))
    tested = [p_value for p_value in p_values if p_value is not None]
    if not tested:
        return AssumptionTest(name=INDEPENDENT_VOTES, passed=None, p_value=None, text=TOO_FEW_TO_TEST)
    p_value = min(1.0, min(tested) * len(tested))
    text = votes_independent(p_value, passed=p_value > GATE_LEVEL)
    return AssumptionTest(name=INDEPENDENT_VOTES, passed=p_value > GATE_LEVEL, p_value=p_value, text=text)


def mixture(prior_k: FloatArray, chance_k: FloatArray, n_votes: int) -> FloatArray:
    """P(m of n votes are for a label), m = 0 .. n, where each class gives it with a chance of its own.

    >>> mixture(np.array([.5, .5]), np.array([1., 0.]), 2).tolist()
    [0.5, 0.0, 0.5]
    """
    m, chance_k1 = np.arange(n_votes + 1), np.clip(chance_k, 0, 1)[:, None]
    log_orders_m = gammaln(n_votes + 1) - gammaln(m + 1) - gammaln(n_votes - m + 1)
    return np.asarray(prior_k @ np.exp(log_orders_m + xlogy(m, chance_k1) + xlog1py(n_votes - m, -chance_k1)))


def _chi_square(seen_m: FloatArray | IntArray, expected_m: FloatArray) -> float | None:
    """P(a misfit as large) with neighbouring counts joined until each bin expects enough; None with a single bin."""
    bins: list[list[float]] = [[0.0, 0.0]]
    for seen, expected in zip(seen_m, expected_m, strict=True):
        bins[-1][0] += seen
        bins[-1][1] += expected
        if bins[-1][1] >= EXPECTED:
            bins.append([0.0, 0.0])
    last = bins.pop()
    if not bins:
        return None
    bins[-1][0] += last[0]
    bins[-1][1] += last[1]
    if len(bins) < 2:
        return None
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in bins)
    return float(chdtrc(len(bins) - 1, statistic))


def workers_differ(
    votes: Votes,
    *,
    rng: int | np.random.Generator,
    level: float = LEVEL,
    n_permutations: int | None = None,
) -> AssumptionTest:
    """Whether all workers vote alike, `passed` if that cannot be refuted, by an exact permutation test.

    If all workers share one confusion matrix, the votes of an item are exchangeable: who gave which is chance, also
    where items differ in difficulty.  The test shuffles votes among the workers of each item and asks how often the
    workers' shares of each label, and of agreement with their fellow voters, spread as widely as they do.  The p-value
    is exact at any number of items and of permutations (by default 499, of many votes 199).  `votes` must hold the
    items one by one, not merged.

    >>> votes = Votes.from_codes([i for i in range(30) for _ in "abc"], [0, 1, 2] * 30, ([0, 0, 1] + [1, 1, 0]) * 15,
    ...                          items=range(30), workers="abc", labels="ny")
    >>> gate = workers_differ(votes, rng=0)
    >>> gate.passed, gate.p_value
    (False, 0.002)
    """
    generator = as_generator(rng)
    split_p = np.flatnonzero((counts(votes) > 0).sum(axis=1) > 1)  # items with different votes alone say something
    split = take_items(votes, draw_items(votes, split_p, MOST_SHUFFLED, rng=generator))
    if not split.n_votes:
        return AssumptionTest(name=ALIKE_TEST, passed=None, p_value=None, text=ALL_VOTED_ALIKE)
    if n_permutations is None:
        n_permutations = N_PERMUTATIONS if split.n_votes <= MANY_SHUFFLED else FEW_PERMUTATIONS
    feature_fn = _centred_features(split)
    scale_fj = _scale(split, feature_fn)
    seen = _spread(feature_fn, split.worker_n, scale_fj)
    places = _places(split)
    extreme = tried = 0
    worker_n = split.worker_n.astype(np.intp)
    while tried < n_permutations and extreme < ENOUGH_EXTREME:
        shuffled_n = worker_n[_shuffled(places, generator)]
        extreme += _spread(feature_fn, shuffled_n, scale_fj) >= seen * (1 - 1e-12)
        tried += 1
    p_value = extreme / tried if extreme >= ENOUGH_EXTREME else (extreme + 1) / (tried + 1)
    text = workers_alike(p_value, passed=p_value > 1 - level)
    return AssumptionTest(name=ALIKE_TEST, passed=p_value > 1 - level, p_value=p_value, text=text)


def _places(votes: Votes) -> list[NDArray[np.int64]]:
    """The votes of the items with each number of votes, a row for each item."""
    return [
        votes.offsets_i[:-1][votes.votes_i == n_votes][:, None] + np.arange(n_votes)
        for n_votes in np.unique(votes.votes_i)
    ]


def _shuffled(places: list[NDArray[np.int64]], rng: np.random.Generator) -> NDArray[np.int64]:
    """An order that mixes the votes of each item among themselves, all orders alike."""
    order_n = np.empty(sum(place_ih.size for place_ih in places), dtype=np.int64)
    for place_ih in places:
        n_items, n_votes = place_ih.shape
        if n_votes <= LISTED_ORDERS:
            order_oh = _orders(n_votes)
            mixed_ih = order_oh[rng.integers(len(order_oh), size=n_items, dtype=np.int32)]
            mixed_ih += place_ih[:, :1]
        elif n_votes <= MOST_STEPS:
            mixed_ih = _fisher_yates(place_ih, rng)
        else:
            mixed_ih = rng.permuted(place_ih, axis=1)
        order_n[place_ih] = mixed_ih
    return order_n


@cache
def _orders(n_votes: int) -> NDArray[np.int64]:
    """All orders of some votes, a row each."""
    return np.array(list(permutations(range(n_votes))), dtype=np.int64)


def _fisher_yates(place_ih: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Each row shuffled, by Fisher and Yates on all rows at once."""
    mixed_hi, column = place_ih.T.copy(), np.arange(len(place_ih))
    for last in range(len(mixed_hi) - 1, 0, -1):
        other_i = rng.integers(last + 1, size=len(column))
        mixed_hi[last], mixed_hi[other_i, column] = mixed_hi[other_i, column], mixed_hi[last].copy()
    return mixed_hi.T


def _centred_features(votes: Votes) -> FloatArray:
    """For each vote, which label it is (all but the last) and how many fellow votes agree, less the item's mean."""
    counts_ik = counts(votes)
    agreeing_n = (counts_ik[votes.item_n, votes.label_n] - 1) / (votes.votes_i[votes.item_n] - 1)
    label_fn = np.eye(len(votes.labels))[: max(1, len(votes.labels) - 1), votes.label_n]
    feature_fn = np.vstack([label_fn, agreeing_n])
    total_fi = np.add.reduceat(feature_fn, votes.offsets_i[:-1], axis=1)
    return np.asarray(feature_fn - (total_fi / votes.votes_i)[:, votes.item_n])


def _scale(votes: Votes, feature_fn: FloatArray) -> FloatArray:
    """One over the variance of each worker's sum when votes are shuffled; 0 where there is none."""
    variance_fi = np.add.reduceat(feature_fn**2, votes.offsets_i[:-1], axis=1) / votes.votes_i
    n_workers = len(votes.workers)
    variance_fj = np.stack([_by_worker(row_i[votes.item_n], votes.worker_n, n_workers) for row_i in variance_fi])
    return np.divide(1.0, variance_fj, out=np.zeros_like(variance_fj), where=variance_fj > 1e-12)


def _spread(feature_fn: FloatArray, worker_n: IntArray, scale_fj: FloatArray) -> float:
    """Squared standardised sums of the workers, added up."""
    sums = (_by_worker(row_n, worker_n, scale_fj.shape[1]) for row_n in feature_fn)
    return float(sum((sum_j**2 * scale_j).sum() for sum_j, scale_j in zip(sums, scale_fj, strict=True)))


def _by_worker(value_n: FloatArray, worker_n: IntArray, n_workers: int) -> FloatArray:
    return np.bincount(worker_n, weights=value_n, minlength=n_workers).astype(float)
