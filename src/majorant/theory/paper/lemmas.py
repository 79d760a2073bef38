"""Lemmas 3.1 and 3.2 and their two-category forms: how often each rule recovers each class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_vote_count
from majorant.theory.paper.notation import (
    as_inner_confusion,
    as_odd_count,
    as_two_classes,
    log_delta,
    log_rho,
    near_integer,
    vote_threshold,
)
from majorant.values import FloatArray, safe_log


def lemma_3_1(confusion: ArrayLike, n_votes: int) -> FloatArray:
    """Lemma 3.1: T^MV_cc, the probability that the majority of an odd number of votes is right, for each class.

    >>> lemma_3_1([[.9, .1], [.4, .6]], 3).round(3).tolist()
    [0.972, 0.648]
    """
    count = as_odd_count(n_votes)
    right_k = as_confusion(confusion, 2).diagonal()
    return np.array([_at_least(count // 2 + 1, count, right) for right in right_k])


def lemma_3_2(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> FloatArray:
    """Lemma 3.2, ties right: T^oMAP_cc with a count on which both classes are equally likely given to class 0 alone.

    Needs T00 + T11 > 1.  The accuracy does not depend on which class such a count is given to.

    >>> right_k = lemma_3_2([.6, .4], [[.6, .4], [.4, .6]], 3)
    >>> round(float([.6, .4] @ right_k), 3)
    0.648
    """
    return _map_rates(prior, confusion, n_votes, tie_goes_to=(True, False))


def lemma_3_2_text(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> FloatArray:
    """Lemma 3.2 as in the main text, sums from floor(A_c + 1): at a whole A_c the tied count is lost to both classes.

    >>> right_k = lemma_3_2_text([.6, .4], [[.6, .4], [.4, .6]], 3)
    >>> round(float([.6, .4] @ right_k), 3)
    0.475
    """
    return _map_rates(prior, confusion, n_votes, tie_goes_to=(False, False))


def lemma_3_2_appendix(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> FloatArray:
    """Lemma 3.2 as the appendix uses it, sums from ceil(A_c): at a whole A_c the tied count is given to both classes.

    >>> right_k = lemma_3_2_appendix([.6, .4], [[.6, .4], [.4, .6]], 3)
    >>> round(float([.6, .4] @ right_k), 3)
    0.821
    """
    return _map_rates(prior, confusion, n_votes, tie_goes_to=(True, True))


def two_category_majority(confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int) -> FloatArray:
    """T^MV_cc of n_a voters with one confusion and n_b with another: the appendix's sum, begun at k = 0.

    >>> two_category_majority([[.9, .1], [.1, .9]], [[.8, .2], [.2, .8]], 1, 2).round(3).tolist()
    [0.928, 0.928]
    """
    return _two_category(_majority_from(n_a, n_b), confusion_a, confusion_b, n_a, n_b, first=0)


def two_category_majority_printed(confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int) -> FloatArray:
    """The appendix's T^MV_cc for two categories as printed, begun at k = 1: votes with nobody of A right are lost.

    >>> two_category_majority_printed([[.9, .1], [.1, .9]], [[.8, .2], [.2, .8]], 1, 2).round(3).tolist()
    [0.864, 0.864]
    """
    return _two_category(_majority_from(n_a, n_b), confusion_a, confusion_b, n_a, n_b, first=1)


def two_category_map(
    prior: ArrayLike, confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int
) -> FloatArray:
    """T^oMAP_cc for two categories: the appendix's sum begun at k = 0, equally likely classes decided for class 0.

    Needs T00 + T11 > 1 for category B; A may be anything, and rho_A need not equal rho_B.

    >>> two_category_map([.5, .5], [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], 1, 2).round(3).tolist()
    [0.9, 0.9]
    """
    begin = _map_from(prior, confusion_a, confusion_b, n_a, n_b)
    return _two_category(begin, confusion_a, confusion_b, n_a, n_b, first=0)


def two_category_map_printed(
    prior: ArrayLike, confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int
) -> FloatArray:
    """The appendix's T^oMAP_cc for two categories as printed, begun at k = 1.

    >>> two_category_map_printed([.5, .5], [[.6, .4], [.4, .6]], [[.9, .1], [.1, .9]], 1, 2).round(3).tolist()
    [0.594, 0.594]
    """
    begin = _map_from(prior, confusion_a, confusion_b, n_a, n_b)
    return _two_category(begin, confusion_a, confusion_b, n_a, n_b, first=1)


def _at_least(fewest: float, count: int, right: float) -> float:
    """P(Binomial(count, right) >= fewest) for a whole `fewest`, which may lie outside 0..count."""
    from scipy.special import bdtrc

    if fewest <= 0:
        return 1.0
    return 0.0 if fewest > count else float(bdtrc(fewest - 1, count, right))


def _first_count(threshold: float, tie_is_ours: bool) -> float:
    """The smallest whole number above the threshold, or equal to it where a tie is ours."""
    exact = near_integer(threshold)
    if not math.isfinite(exact):
        return exact
    return math.ceil(exact) if tie_is_ours else math.floor(exact) + 1


def _map_rates(prior: ArrayLike, confusion: ArrayLike, n_votes: int, tie_goes_to: tuple[bool, bool]) -> FloatArray:
    count = as_odd_count(n_votes)
    right_k = as_confusion(confusion, 2).diagonal()
    fewest_k = [_first_count(vote_threshold(prior, confusion, count, c), tie_goes_to[c]) for c in (0, 1)]
    return np.array([_at_least(fewest_k[c], count, right_k[c]) for c in (0, 1)])


def _majority_from(n_a: int, n_b: int) -> list[list[float]]:
    """For each class and each k votes from A, the fewest votes that B must add for a majority."""
    most = as_odd_count(as_vote_count(n_a) + as_vote_count(n_b)) // 2 + 1
    return [[most - k for k in range(n_a + 1)]] * 2


def _map_from(
    prior: ArrayLike, confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int
) -> list[list[float]]:
    """For each class and each k votes from A, the fewest votes that B must add for that class to be likelier."""
    prior_k, b_kl = as_two_classes(prior, confusion_b)
    a_kl = as_inner_confusion(confusion_a)
    step_a, step_b = log_rho(a_kl), log_rho(b_kl)
    if step_b <= 0:
        raise ConfigError(f"The two-category sum needs T00 + T11 > 1 for category B, not {b_kl.trace():g}.")
    begin = []
    for c in (0, 1):
        other = 1 - c
        alpha = (
            safe_log(prior_k[other])
            - safe_log(prior_k[c])
            + n_b * log_delta(b_kl, other)
            + n_a * log_delta(a_kl, other)
        )
        begin.append([_first_count(float(alpha - k * step_a) / step_b, c == 0) for k in range(n_a + 1)])
    return begin


def _two_category(
    begin: list[list[float]], confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int, first: int
) -> FloatArray:
    a_k, b_k = as_confusion(confusion_a, 2).diagonal(), as_confusion(confusion_b, 2).diagonal()
    return np.array(
        [
            sum(
                math.comb(n_a, k) * a_k[c] ** k * (1 - a_k[c]) ** (n_a - k) * _at_least(begin[c][k], n_b, b_k[c])
                for k in range(first, n_a + 1)
            )
            for c in (0, 1)
        ]
    )
