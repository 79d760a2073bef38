"""Test the assumptions of claims: independent votes, exchangeable workers, numbers of votes unrelated to the item.

The test of independent votes asks whether the fitted model explains the counts, and whether it could have failed. Votes
on an item may depend on each other because items differ or workers make the same mistakes. They are then modelled as
beta-binomial given the class, with an intra-item correlation, which gold labels show to be -.01 to .32 on public
crowds, typically .15. A test without power against such votes counts as no test. Derivations:
docs/theory/certificate.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, chdtrc, chdtri, chndtr, expit, xlogy

from majorant.errors import ConfigError
from majorant.evidence.certificate.count_models import (
    HistogramCells,
    Histograms,
    climb,
    everywhere,
    log_shares,
    main_sizes,
    suprema,
)
from majorant.evidence.certificate.design import as_copies
from majorant.evidence.evidence import Assumption, Status, Tested
from majorant.items import draw_items, take_items
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.theory.patterns import log_binomial
from majorant.values import FloatArray, as_generator
from majorant.votes import IntArray, Votes

TEST_LEVEL = 0.05  # significance level of the test of independent votes


def misfit(cells: HistogramCells, items_bc: FloatArray, theta: FloatArray) -> FloatArray:
    """G statistic: twice the log-likelihood of the histograms' own frequencies minus that of a model."""
    share_bc = items_bc / np.maximum(cells.totals(items_bc), 1)
    return np.asarray(2 * (xlogy(items_bc, share_bc) - items_bc * log_shares(cells, theta)).sum(axis=1))


def fit_p_value(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, df: int, rng: np.random.Generator
) -> float:
    """The p-value of the fit, from the chi-square distribution, or by simulation if expected counts are small.

    `theta_3` is the best fit; simulated data are fitted by climbing from there. Close to TEST_LEVEL more data sets are
    simulated; if the result is still unclear, the p-value is lowered by its Monte Carlo error, so that only clear
    passes count.
    """
    observed = float(misfit(cells, items_c[None], theta_3)[0])
    p_value = float(chdtrc(df, observed))
    expected_c = cells.totals(items_c) * np.exp(log_shares(cells, theta_3))
    # With small expected counts, the statistic falls below its degrees of freedom and hides a misfit.
    sparse = (expected_c < 1).mean() > 0.2
    if expected_c.min() >= 5 or (p_value > 0.3 and not sparse):
        return p_value
    extreme, drawn = 0, 0
    for n_drawn in (199, 800):
        simulated_b = _simulate_misfits(cells, items_c, theta_3, n_drawn, rng)
        extreme += int((simulated_b >= observed - 1e-9).sum())
        drawn += n_drawn
        p_value, error = (1 + extreme) / (1 + drawn), np.sqrt(TEST_LEVEL * (1 - TEST_LEVEL) / drawn)
        if abs(p_value - TEST_LEVEL) > 2 * error:
            return p_value
    return max(p_value - 2 * float(error), 1 / (1 + drawn))


def _simulate_misfits(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, n_drawn: int, rng: np.random.Generator
) -> FloatArray:
    """Misfits of refitted models on data sets drawn from the model."""
    share_c, drawn_bc = np.exp(log_shares(cells, theta_3)), np.empty((n_drawn, len(items_c)))
    for h in np.unique(cells.votes_c):
        at = cells.votes_c == h
        drawn_bc[:, at] = rng.multinomial(int(items_c[at].sum()), share_c[at] / share_c[at].sum(), size=n_drawn)
    refitted_b3, _ = climb(cells, drawn_bc, everywhere(n_drawn), np.tile(theta_3, (n_drawn, 1)))
    return misfit(cells, drawn_bc, refitted_b3)


def check_independence(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, rng: np.random.Generator
) -> Tested:
    """Test whether two binomials fit the histograms. With three votes per item any histogram fits, so there is no test.

    The test detects dependence that widens or bends the histograms (hard items, shared errors), but not errors that all
    workers share. A test with a power below .8 against typical dependence counts as no test.
    """
    df = int(np.unique(cells.votes_c).sum()) - 3
    if df <= 0:
        return Tested(Assumption.INDEPENDENT_VOTES, Status.UNTESTABLE)
    p_value = fit_p_value(cells, items_c, theta_3, df, rng)
    if p_value < TEST_LEVEL:
        return Tested(Assumption.INDEPENDENT_VOTES, Status.FAILED, p_value)
    status = Status.PASSED if typical_power(cells, items_c, theta_3, df) >= 0.8 else Status.UNTESTABLE
    return Tested(Assumption.INDEPENDENT_VOTES, status, p_value)


def typical_power(cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, df: int) -> float:
    """Power of the test of independence against votes with a correlation of .15, which is typical of real crowds.

    It comes from the noncentral chi-square distribution, for beta-binomial votes with the means and class shares of
    `theta_3`.
    """
    mean_k = expit(np.clip(theta_3, -6, 6))
    nu, strength = mean_k[2], 1 / 0.15 - 1
    alpha_k1, beta_k1 = strength * mean_k[:2, None], strength * (1 - mean_k[:2, None])
    ones_c = cells.votes_c - cells.zeros_c
    given_kc = np.exp(
        betaln(cells.zeros_c + alpha_k1, ones_c + beta_k1) - betaln(alpha_k1, beta_k1) + cells.log_orders_c
    )
    expected_c = cells.totals(items_c) * (nu * given_kc[0] + (1 - nu) * given_kc[1])
    nearest_3 = suprema(cells, expected_c[None])[1][0, 0]
    shift = float(misfit(cells, expected_c[None], nearest_3)[0])
    return float(1 - chndtr(chdtri(df, TEST_LEVEL), df, max(shift, 1e-12)))


def check_sizes(histograms: Histograms) -> Tested | None:
    """Test whether items with different numbers of votes have the same shares of votes, and of pairs, for class 0.

    If the number of votes is unrelated to the item, both are unbiased for any number of votes, however votes on an item
    depend on each other, so their means over items differ only by chance. This is an asymptotic Wald test at level .01.
    None if all items have the same number of votes.

    >>> check_sizes({4: np.array([200, 50, 20, 50, 200]), 5: np.array([100, 60, 90, 90, 60, 100])}).status
    <Status.FAILED: 'failed'>
    """
    if len(main_sizes(histograms)) < 2:
        return None
    sizes = [h for h in main_sizes(histograms) if h >= 2 and histograms[h].sum() >= 50]  # for means to be about normal
    if len(sizes) < 2:
        return Tested(Assumption.VOTES_PER_ITEM, Status.UNTESTED)
    means, weights = zip(*(_mean_and_precision(h, histograms[h]) for h in sizes), strict=True)
    common = np.linalg.pinv(sum(weights)) @ sum(
        (weight @ mean for mean, weight in zip(means, weights, strict=True)), start=np.zeros(2)
    )
    statistic = sum(
        float((mean - common) @ weight @ (mean - common)) for mean, weight in zip(means, weights, strict=True)
    )
    p_value = float(chdtrc(2 * (len(sizes) - 1), statistic))
    return Tested(Assumption.VOTES_PER_ITEM, Status.PASSED if p_value >= 0.01 else Status.FAILED, p_value)


def _mean_and_precision(n_votes: int, items_k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean share of votes and of pairs for class 0 over items, and the inverse of its covariance."""
    k = np.arange(n_votes + 1.0)
    value_2k = np.stack([k / n_votes, k * (k - 1) / (n_votes * (n_votes - 1))])
    n_items = float(items_k.sum())
    mean_2 = value_2k @ items_k / n_items
    centred_2k = value_2k - mean_2[:, None]
    covariance = (centred_2k * items_k) @ centred_2k.T / n_items**2 + np.eye(2) / (n_items * (n_items + 1))
    return mean_2, np.asarray(np.linalg.inv(covariance), dtype=float)


def check_counts(votes: Votes, fit: Fit, copies: ArrayLike | None = None) -> Tested:
    """Test whether the number of votes for each label follows a mixture of binomials.

    `fit` holds one confusion matrix for all votes. Given the class, it makes the votes for label l on an item with H
    votes binomial; hard items and shared errors widen their distribution. There is a chi-square test for each label and
    number of votes, corrected for their number (Bonferroni). No degrees of freedom are subtracted for fitted
    parameters, so the test is conservative. With so few items that no test has two bins, independence cannot be tested.

    >>> from majorant.methods.shared import SharedConfusion
    >>> from majorant.simulate import simulate
    >>> prior, confusion = [.5, .3, .2], [[.8, .1, .1], [.1, .8, .1], [.1, .1, .8]]
    >>> votes, _ = simulate(prior, confusion, n_items=500, n_votes=7, rng=0)
    >>> check_counts(votes, SharedConfusion().fit(votes)).status
    <Status.PASSED: 'passed'>
    """
    if fit.confusion is None or fit.confusion.ndim != 2:
        raise ConfigError(
            f"The test of counts needs one confusion matrix for all workers, which a {fit.method} fit does not have."
        )
    weight_i, counts_il = as_copies(votes, copies), counts(votes)
    p_values = []
    for n_votes in np.unique(votes.votes_i[votes.votes_i > 1]):
        here = np.flatnonzero(votes.votes_i == n_votes)
        for l in range(len(votes.labels)):
            observed_m = np.bincount(counts_il[here, l], weights=weight_i[here], minlength=n_votes + 1)
            chance_k = np.clip(fit.confusion[:, l], 0, 1)
            share_m = fit.prior @ np.exp(log_binomial(int(n_votes), np.column_stack([chance_k, 1 - chance_k])))
            p_values.append(_chi_square(observed_m, share_m * observed_m.sum()))
    tested = [p_value for p_value in p_values if p_value is not None]
    if not tested:
        return Tested(Assumption.INDEPENDENT_VOTES, Status.UNTESTABLE)
    p_value = min(1.0, min(tested) * len(tested))
    status = Status.PASSED if p_value > TEST_LEVEL else Status.FAILED
    return Tested(Assumption.INDEPENDENT_VOTES, status, p_value)


def _chi_square(observed_m: FloatArray | IntArray, expected_m: FloatArray) -> float | None:
    """Chi-square p-value, with neighboring counts pooled until each bin expects enough; None if one bin is left."""
    bins: list[list[float]] = [[0.0, 0.0]]
    for observed, expected in zip(observed_m, expected_m, strict=True):
        bins[-1][0] += observed
        bins[-1][1] += expected
        if bins[-1][1] >= 5:  # expected items in a bin, for the chi-square approximation
            bins.append([0.0, 0.0])
    last = bins.pop()
    if not bins:
        return None
    bins[-1][0] += last[0]
    bins[-1][1] += last[1]
    if len(bins) < 2:
        return None
    statistic = sum((observed - expected) ** 2 / expected for observed, expected in bins)
    return float(chdtrc(len(bins) - 1, statistic))


def check_exchangeable(votes: Votes, *, rng: int | np.random.Generator, level: float = 0.99) -> Tested:
    """Test whether workers are exchangeable, by an exact permutation test.

    If all workers share one confusion matrix, it is random who gave which vote on an item, even if items differ in
    difficulty. The test shuffles votes among the workers of each item and counts how often the workers' shares of each
    label, and of agreement with other voters, then vary at least as much as in the data. It is exact for any number of
    items. Only items with different votes matter, and 20,000 votes on them are enough.

    Parameters
    ----------
    votes : Votes
        The votes; equal items must not be merged.
    rng : int or numpy.random.Generator
        Random seed.
    level : float
        One minus the significance level of the test.

    Returns
    -------
    Tested
        `EXCHANGEABLE_WORKERS`: failed if workers differ.

    Examples
    --------
    >>> votes = Votes.from_codes([i for i in range(30) for _ in "abc"], [0, 1, 2] * 30, ([0, 0, 1] + [1, 1, 0]) * 15,
    ...                          items=range(30), workers="abc", labels="ny")
    >>> tested = check_exchangeable(votes, rng=0)
    >>> str(tested.status), tested.p_value
    ('failed', 0.005)
    """
    generator = as_generator(rng)
    split_p = np.flatnonzero((counts(votes) > 0).sum(axis=1) > 1)
    if not len(split_p):
        return Tested(Assumption.EXCHANGEABLE_WORKERS, Status.UNTESTABLE)
    split = take_items(votes, draw_items(votes, split_p, 20_000, rng=generator))
    spread = _Spread.of(split)
    worker_n = split.worker_n.astype(np.int64)
    observed = spread.value(worker_n)
    extreme = tried = 0
    while tried < 199 and extreme < 25:  # once 25 are as extreme, the p-value is clearly not small
        shuffled_n = worker_n[shuffle_within_items(split.item_n, generator)]
        extreme += spread.value(shuffled_n) >= observed * (1 - 1e-12)
        tried += 1
    p_value = extreme / tried if extreme >= 25 else (extreme + 1) / (tried + 1)  # Besag & Clifford 1991
    status = Status.PASSED if p_value > 1 - level else Status.FAILED
    return Tested(Assumption.EXCHANGEABLE_WORKERS, status, p_value)


def shuffle_within_items(item_n: IntArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """A uniformly random order of the votes within each item; votes are sorted by item."""
    return np.argsort(item_n + rng.random(len(item_n)))


class _Spread(NamedTuple):
    """How much workers differ: scaled squared deviations of their counts of each label, and of agreement with others.

    Shuffling votes within items changes a worker's counts, but not their mean and variance over all shuffles.
    """

    label_n: IntArray
    agreeing_n: FloatArray
    mean_jf: FloatArray  # mean counts over all shuffles; the last column is agreement
    scale_jf: FloatArray  # one over the variance of the counts; 0 if they do not vary

    @classmethod
    def of(cls, votes: Votes) -> _Spread:
        """Compute the quantities that shuffling does not change."""
        share_ik = counts(votes) / votes.votes_i[:, None]
        agreeing_n = (counts(votes)[votes.item_n, votes.label_n] - 1) / (votes.votes_i[votes.item_n] - 1)
        agreed_i = np.add.reduceat(agreeing_n, votes.offsets_i[:-1]) / votes.votes_i
        squared_i = np.add.reduceat(agreeing_n**2, votes.offsets_i[:-1]) / votes.votes_i - agreed_i**2
        mean_if = np.column_stack([share_ik, agreed_i])
        variance_if = np.column_stack([share_ik * (1 - share_ik), squared_i])
        mean_jf, variance_jf = (_by_worker(part_if, votes) for part_if in (mean_if, variance_if))
        scale_jf = np.divide(1.0, variance_jf, out=np.zeros_like(variance_jf), where=variance_jf > 1e-12)
        return cls(votes.label_n, agreeing_n, mean_jf, scale_jf)

    def value(self, worker_n: IntArray) -> float:
        """The statistic if these workers gave the votes."""
        n_workers, n_features = self.mean_jf.shape
        n_labels = n_features - 1
        label_jl = np.bincount(worker_n * n_labels + self.label_n, minlength=n_workers * n_labels)
        agreed_j = np.bincount(worker_n, weights=self.agreeing_n, minlength=n_workers)
        sum_jf = np.column_stack([label_jl.reshape(n_workers, n_labels), agreed_j])
        return float((self.scale_jf * (sum_jf - self.mean_jf) ** 2).sum())


def _by_worker(value_if: FloatArray, votes: Votes) -> FloatArray:
    """Sum each item's values over the votes of each worker, (workers, features)."""
    from scipy.sparse import csr_array

    n_items, n_workers, _ = votes.shape
    voted = csr_array((np.ones(votes.n_votes), votes.worker_n, votes.offsets_i), shape=(n_items, n_workers))
    return np.asarray(voted.T @ value_if)
