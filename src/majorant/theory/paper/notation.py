"""The paper's symbols for two classes: rho, delta_c, A_c, and the two-sided conditions it writes with them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_prior, as_vote_count
from majorant.theory.window import Window
from majorant.values import FloatArray, safe_log

INTEGER_TOLERANCE = 1e-9  # a threshold this close to a whole number is that number: it came out of logarithms


def rho(confusion: ArrayLike) -> float:
    """Theorem 3.4's rho = T00 T11 / ((1-T00)(1-T11)): each vote for class 0 raises its log-odds by log rho.

    >>> round(rho([[.8, .2], [.2, .8]]), 6)
    16.0
    """
    return float(np.exp(log_rho(as_inner_confusion(confusion))))


def delta(confusion: ArrayLike, c: int) -> float:
    """Theorem 3.4's delta_c = T_cc / (1 - T_c'c'), how much likelier label c is under class c than under the other.

    >>> round(delta([[.6, .4], [.1, .9]], 0), 6)
    6.0
    """
    return float(np.exp(log_delta(as_inner_confusion(confusion), c)))


def vote_threshold(prior: ArrayLike, confusion: ArrayLike, n_votes: int, c: int) -> float:
    """Lemma 3.2's A_c: the optimal rule answers c iff c has more than A_c votes; A_0 + A_1 = n_votes.

    Needs T00 + T11 > 1, else more votes for c would speak against it.

    >>> round(vote_threshold([.6, .4], [[.6, .4], [.4, .6]], 3, 0), 9)
    1.0
    """
    prior_k, confusion_kl = as_two_classes(prior, confusion)
    step = log_rho(confusion_kl)
    if step <= 0:
        raise ConfigError(f"A_c needs T00 + T11 > 1, not {confusion_kl.trace():g}.")
    other = 1 - c
    start = safe_log(prior_k[other]) - safe_log(prior_k[c])
    return float((start + as_vote_count(n_votes) * log_delta(confusion_kl, other)) / step)


def log_rho(confusion_kl: FloatArray) -> float:
    right, wrong = confusion_kl.diagonal(), confusion_kl[[0, 1], [1, 0]]
    return float(np.log(right).sum() - np.log(wrong).sum())


def log_delta(confusion_kl: FloatArray, c: int) -> float:
    return float(np.log(confusion_kl[c, c]) - np.log(confusion_kl[1 - c, c]))


def as_inner_confusion(confusion: ArrayLike) -> FloatArray:
    """A two-class confusion with every entry strictly inside 0..1, where the paper's ratios are defined."""
    confusion_kl = as_confusion(confusion, 2)
    if not confusion_kl.all():
        raise ConfigError("The paper divides by 1 - T: every entry of confusion must lie strictly between 0 and 1.")
    return confusion_kl


def as_two_classes(prior: ArrayLike, confusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """A two-class prior, zeros allowed, and a confusion inside 0..1."""
    prior_k = as_prior(prior)
    if len(prior_k) != 2:
        raise ConfigError(f"The paper's statement is for two classes, prior has {len(prior_k)}.")
    return prior_k, as_inner_confusion(confusion)


def as_odd_count(n_votes: int) -> int:
    """An odd number of votes, as the paper's lemmas assume: an even one can tie."""
    count = as_vote_count(n_votes)
    if count % 2 == 0:
        raise ConfigError(f"The paper's lemma is for an odd number of votes, not {count}.")
    return count


def odds_of_one(prior_k: FloatArray) -> float:
    """nu_1 / nu_0, infinite where class 0 never occurs."""
    with np.errstate(divide="ignore"):
        return float(prior_k[1] / prior_k[0])


def window(center: float, half_width: float, value: float) -> Window:
    """The condition exp(center - half_width) < value < exp(center + half_width)."""
    with np.errstate(over="ignore", under="ignore"):
        return Window(float(np.exp(center - half_width)), value, float(np.exp(center + half_width)))


def near_integer(threshold: float) -> float:
    """The threshold, or the whole number that it misses by rounding only."""
    whole = float(np.rint(threshold))
    return whole if math.isclose(threshold, whole, rel_tol=0, abs_tol=INTEGER_TOLERANCE) else threshold
