"""Theorems 3.3 and 3.4 and the multiclass condition of Section 3.5: when majority vote equals the optimal rule."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_prior, as_vote_count
from majorant.theory.paper.notation import as_odd_count, as_two_classes, log_delta, log_rho, odds_of_one, window
from majorant.theory.window import Window
from majorant.values import FloatArray


def theorem_3_3(prior: ArrayLike, confusion: ArrayLike) -> Window:
    """Theorem 3.3: with T01 = T10 = r < 1/2 and any odd number of votes, majority is optimal iff r < nu_0 < 1 - r.

    >>> theorem_3_3([.2, .8], [[.7, .3], [.3, .7]]).holds
    False
    """
    prior_k, confusion_kl = as_two_classes(prior, confusion)
    flip_0, flip_1 = confusion_kl[0, 1], confusion_kl[1, 0]
    if abs(flip_0 - flip_1) > 1e-9 or flip_0 >= 0.5:
        raise ConfigError(f"Theorem 3.3 needs T01 = T10 < 1/2, not {flip_0:g} and {flip_1:g}.")
    return Window(float(flip_0), float(prior_k[0]), float(1 - flip_0))


def theorem_3_4(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> Window:
    """Theorem 3.4: majority vote is optimal iff nu_1/nu_0 is within a factor sqrt(rho) of (delta_0/delta_1)^(H/2).

    Odd number of votes, one confusion for all; `majorant.theory.window` answers even numbers, too.  The printed
    assumption T_cc > 1/2 is not needed: where T00 + T11 <= 1 the window is empty, as it should be.

    >>> theorem_3_4([.3, .7], [[.6, .4], [.25, .75]], 3).holds
    True
    """
    prior_k, confusion_kl = as_two_classes(prior, confusion)
    center = as_odd_count(n_votes) / 2 * (log_delta(confusion_kl, 0) - log_delta(confusion_kl, 1))
    return window(center, log_rho(confusion_kl) / 2, odds_of_one(prior_k))


def theorem_3_4_code(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> Window:
    """Theorem 3.4 as the published code has it, with T_cc / T_c'c' for delta_c (erratum 1): reverses gamma and delta.

    >>> theorem_3_4_code([.3, .7], [[.6, .4], [.25, .75]], 3).holds
    False
    """
    prior_k, confusion_kl = as_two_classes(prior, confusion)
    center = as_vote_count(n_votes) / 2 * 2 * log_delta_code(confusion_kl, 0)
    return window(center, log_rho(confusion_kl) / 2, odds_of_one(prior_k))


def log_delta_code(confusion_kl: FloatArray, c: int) -> float:
    """The logarithm of the published code's delta_c, T_cc / T_c'c'; that of the other class is its negative."""
    return float(np.log(confusion_kl[c, c]) - np.log(confusion_kl[1 - c, 1 - c]))


def multiclass_condition(prior: ArrayLike, error_rate: float, n_votes: int) -> Window:
    """Section 3.5, corrected: majority vote is optimal on untied votes iff max nu / min nu < ((1-r)(K-1)/r)^d.

    Every voter is right with probability 1 - r and wrong evenly, 0 < r < (K-1)/K.  d is the smallest lead that an
    untied majority can have: 2 for two votes, or for two classes and an even number of votes; else 1.

    >>> multiclass_condition([.5, .3, .2], .4, 5).holds
    True
    """
    prior_k, odds = _uniform_noise(prior, error_rate)
    count = as_vote_count(n_votes)
    lead = 2 if count == 2 or (len(prior_k) == 2 and count % 2 == 0) else 1
    with np.errstate(divide="ignore"):
        return Window(0.0, float(prior_k.max() / prior_k.min()), float(odds**lead))


def multiclass_condition_printed(prior: ArrayLike, error_rate: float) -> bool:
    """Section 3.5 as printed: 1 < nu_j/nu_c <= (1-r)(K-1)/r for all j != c and all c; no prior can satisfy it.

    >>> multiclass_condition_printed([.5, .3, .2], .4)
    False
    """
    prior_k, odds = _uniform_noise(prior, error_rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio_jc = prior_k[:, None] / prior_k[None, :]
    apart = ~np.eye(len(prior_k), dtype=bool)
    return bool(((ratio_jc > 1) & (ratio_jc <= odds))[apart].all())


def _uniform_noise(prior: ArrayLike, error_rate: float) -> tuple[FloatArray, float]:
    prior_k = as_prior(prior)
    n_wrong = len(prior_k) - 1
    if not 0 < error_rate < n_wrong / (n_wrong + 1):
        raise ConfigError(f"error_rate must lie between 0 and {n_wrong}/{n_wrong + 1}, not {error_rate!r}.")
    return prior_k, (1 - error_rate) * n_wrong / error_rate
