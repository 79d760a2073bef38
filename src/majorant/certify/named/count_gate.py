"""Do the counts of each label look like independent votes given the class, for any number of classes?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.certify.anonymous.gates import GATE_LEVEL
from majorant.certify.certificate import AssumptionTest
from majorant.certify.named.design import FloatArray, as_copies
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.tally import counts
from majorant.votes import IntArray, Votes

EXPECTED = 5.0  # items in a bin, for the chi-square law to hold
NAME = "independent votes"


def count_gate(votes: Votes, fit: Fit, copies: ArrayLike | None = None) -> AssumptionTest:
    """Whether the number of votes for each label spreads as a mixture of binomials would, at one level for all labels.

    `fit` holds one confusion matrix for all votes.  Under it the votes for label l on an item with H votes are binomial
    given the class; hard items and shared errors spread them wider.  A chi-square test for each label and number of
    votes, made good for their number (Bonferroni), with no degree of freedom taken off for what was fitted: the test is
    conservative.  With so few items that no test has two bins, nothing can be told.

    >>> from majorant.estimate.shared import SharedConfusion
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
        text = "Whether votes are independent given the class cannot be told from so few items."
        return AssumptionTest(name=NAME, passed=None, p_value=None, text=text)
    p_value = min(1.0, min(tested) * len(tested))
    passed = p_value > GATE_LEVEL
    found = "the votes look independent given the class" if passed else "votes on an item agree more than chance allows"
    return AssumptionTest(name=NAME, passed=passed, p_value=p_value, text=f"{found} (p = {p_value:.2g})")


def mixture(prior_k: FloatArray, chance_k: FloatArray, n_votes: int) -> FloatArray:
    """P(m of n votes are for a label), m = 0 .. n, where each class gives it with a chance of its own.

    >>> mixture(np.array([.5, .5]), np.array([1., 0.]), 2).tolist()
    [0.5, 0.0, 0.5]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    m, chance_k1 = np.arange(n_votes + 1), np.clip(chance_k, 0, 1)[:, None]
    log_orders_m = gammaln(n_votes + 1) - gammaln(m + 1) - gammaln(n_votes - m + 1)
    return np.asarray(prior_k @ np.exp(log_orders_m + xlogy(m, chance_k1) + xlog1py(n_votes - m, -chance_k1)))


def _chi_square(seen_m: FloatArray | IntArray, expected_m: FloatArray) -> float | None:
    """P(a misfit as large) with neighbouring counts joined until each bin expects enough; None with a single bin."""
    from scipy.special import chdtrc

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
