"""Further statements of the appendix: when a rate of oMAP exceeds majority's, one parameter, expectations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.theory.checks import as_prior
from majorant.theory.paper.lemmas import lemma_3_1, lemma_3_2
from majorant.theory.paper.notation import as_odd_count, as_two_classes, log_delta, log_rho
from majorant.values import FloatArray


def lemma_rate_exceeds(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> tuple[bool, bool]:
    """T^oMAP_cc > T^MV_cc for c = 0, 1: iff nu_c / nu_c' >= (delta_c' / delta_c)^(H/2) sqrt(rho), ties for c.

    The other half of the appendix's lemma on T^oMAP.  Both at once would need rho <= 1, hence T00 + T11 <= 1.

    >>> lemma_rate_exceeds([.9, .1], [[.8, .2], [.2, .8]], 3)
    (True, False)
    """
    prior_k, confusion_kl = as_two_classes(prior, confusion)
    count = as_odd_count(n_votes)
    lean = count / 2 * (log_delta(confusion_kl, 1) - log_delta(confusion_kl, 0))
    odds = float(np.log(prior_k[0]) - np.log(prior_k[1]))
    half = log_rho(confusion_kl) / 2
    return odds >= lean + half, -odds >= -lean + half


def corollary_one_parameter(prior: ArrayLike, right: float) -> bool:
    """T00 = T11 = `right`: both rates of oMAP are those of majority if 1 - T < nu_0 < T, whatever the odd H.

    >>> corollary_one_parameter([.7, .3], .8), corollary_one_parameter([.85, .15], .8)
    (True, False)
    """
    return bool(1 - right < as_prior(prior)[0] < right)


def corollary_one_parameter_exceeds(prior: ArrayLike, right: float) -> tuple[bool, bool]:
    """T00 = T11 = `right`: T^oMAP_cc > T^MV_cc iff nu_c >= T, for c = 0, 1.

    >>> corollary_one_parameter_exceeds([.85, .15], .8)
    (True, False)
    """
    prior_k = as_prior(prior)
    return bool(prior_k[0] >= right), bool(prior_k[1] >= right)


def expected_majority_rates(confusion: ArrayLike, n_votes: int) -> FloatArray:
    """E[T^MV_cc] where each voter's confusion is drawn independently around `confusion`: T^MV_cc of `confusion` itself.

    The rate is a sum of products over different voters, so the expectation goes into every factor.

    >>> expected_majority_rates([[.9, .1], [.4, .6]], 3).round(3).tolist()
    [0.972, 0.648]
    """
    return lemma_3_1(confusion, n_votes)


def expected_map_rates(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> FloatArray:
    """E[T^oMAP_cc] likewise, as long as no draw moves the threshold: the optimal rule then still counts votes.

    >>> expected_map_rates([.5, .5], [[.8, .2], [.2, .8]], 3).round(3).tolist()
    [0.896, 0.896]
    """
    return lemma_3_2(prior, confusion, n_votes)
