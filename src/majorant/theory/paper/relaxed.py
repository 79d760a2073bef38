"""Section 3.4: workers perturbed around one confusion, and workers of two categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_vote_count
from majorant.theory.paper.conditions import log_delta_code, theorem_3_4
from majorant.theory.paper.notation import (
    as_inner_confusion,
    as_odd_count,
    as_two_classes,
    log_delta,
    log_rho,
    near_integer,
    odds_of_one,
    vote_threshold,
    window,
)
from majorant.theory.window import Window
from majorant.values import FloatArray


def perturbed_sigma_printed(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """Section 3.4's bound on sigma as printed, the smaller of both classes: not positive from two votes on (erratum 6).

    >>> round(perturbed_sigma_printed([.6, .4], [[.7, .3], [.2, .8]], 3), 6)
    -0.07958
    """
    threshold_c = _thresholds(prior, confusion, n_votes)
    return float((_misprinted_distance(threshold_c) / _slopes(confusion, n_votes)).min())


def perturbed_sigma_code(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """The sigma that the published code drew with: A_c divided by rho (erratum 5), and class 0's R_c for both classes.

    A negative value has the effect of its absolute value, since the code draws between -sigma and sigma.

    >>> round(perturbed_sigma_code([.6, .4], [[.7, .3], [.2, .8]], 3), 6)
    0.012977
    """
    step = log_rho(as_inner_confusion(confusion))
    slipped_c = _thresholds(prior, confusion, n_votes) * step / np.exp(step)
    return float((_misprinted_distance(slipped_c) / _slopes(confusion, n_votes)[0]).min())


def perturbed_sigma_mended(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """Section 3.4's bound on sigma with 1 - (A_c - floor A_c) in place of the misprint, the smaller of both classes.

    It guarantees something only where Theorem 3.4 holds, and even there not for nearly perfect workers: it passes the
    exact radius once an error rate is near 1e-4 (three votes).  `perturbed_sigma` holds everywhere.

    >>> round(perturbed_sigma_mended([.6, .4], [[.7, .3], [.2, .8]], 3), 6)
    0.005799
    """
    fraction_c = _thresholds(prior, confusion, n_votes) % 1
    return float((np.minimum(fraction_c, 1 - fraction_c) / _slopes(confusion, n_votes)).min())


def perturbed_sigma(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """A sound closed form: every pool with T + s_h [[-1,1],[1,-1]], |s_h| <= sigma, keeps majority vote optimal.

    The mended bound, at most half of the smallest entry of `confusion`, and 0 where Theorem 3.4 fails for it.  Odd
    number of votes.  `majorant.theory.perturbation_radius` is the exact value, usually about three times as large.
    Proof: paper/corrections.md.

    >>> perturbed_sigma([.9, .1], [[.6, .4], [.4, .6]], 3)
    0.0
    """
    if not theorem_3_4(prior, confusion, as_odd_count(n_votes)).holds:
        return 0.0
    smallest = float(as_inner_confusion(confusion).min())
    return min(perturbed_sigma_mended(prior, confusion, n_votes), smallest / 2)


def _thresholds(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> FloatArray:
    """A_0 and A_1, which add up to the number of votes."""
    threshold = near_integer(vote_threshold(prior, confusion, n_votes, 0))
    if not np.isfinite(threshold):
        raise ConfigError("The bound on sigma needs a prior without zeros.")
    return np.array([threshold, n_votes - threshold])


def _misprinted_distance(threshold_c: FloatArray) -> FloatArray:
    """min(A - floor A, 1 - A - floor A), the paper's misprint for the distance to the nearest whole number."""
    floor_c = np.floor(threshold_c)
    return np.minimum(threshold_c - floor_c, 1 - threshold_c - floor_c)


def _slopes(confusion: ArrayLike, n_votes: int) -> FloatArray:
    """H / (R_c log rho) for each class: how far, at first order, A_c can move for each unit of sigma."""
    confusion_kl = as_inner_confusion(confusion)
    inverse_kl = 1 / confusion_kl
    weight_ckl = np.array([[[1, 2], [1, 2]], [[2, 1], [2, 1]]])
    return np.asarray(n_votes / log_rho(confusion_kl) * (weight_ckl * inverse_kl).sum(axis=(1, 2)))


def two_category_condition(
    prior: ArrayLike, confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int
) -> Window:
    """Section 3.4, two categories with rho_A = rho_B: majority vote is optimal iff nu_1/nu_0 lies in the window.

    Odd n_a + n_b, either of which may be 0 (then this is Theorem 3.4); neither |A| < |B| nor T_cc > 1/2 is needed.
    Printed with <= on the right, where the two classes are in fact equally likely on some vote. Without rho_A =
    rho_B use `majorant.theory.panel_margin`.

    >>> a, b = [[.58, .42], [.2, .8]], [[.8, .2], [.42, .58]]
    >>> two_category_condition([.65, .35], a, b, 4, 3).holds
    True
    """
    prior_k, a_kl, b_kl = _equal_steps(prior, confusion_a, confusion_b)
    count = as_odd_count(_as_size(n_a) + _as_size(n_b))
    center = count / 2 * (log_delta(b_kl, 0) - log_delta(b_kl, 1))
    center += n_a * (log_delta(b_kl, 1) - log_delta(a_kl, 1))
    return window(center, log_rho(b_kl) / 2, odds_of_one(prior_k))


def _as_size(n: int) -> int:
    """The number of workers of a category, which may be 0."""
    return as_vote_count(n) if n else 0


def two_category_condition_code(
    prior: ArrayLike, confusion_a: ArrayLike, confusion_b: ArrayLike, n_a: int, n_b: int
) -> Window:
    """The two-category condition as the published code has it, with T_cc / T_c'c' for delta_c (erratum 1).

    >>> a, b = [[.58, .42], [.2, .8]], [[.8, .2], [.42, .58]]
    >>> two_category_condition_code([.55, .45], a, b, 4, 3).holds
    True
    """
    prior_k, a_kl, b_kl = _equal_steps(prior, confusion_a, confusion_b)
    count = as_vote_count(n_a) + as_vote_count(n_b)
    center = count / 2 * (log_delta_code(b_kl, 0) - log_delta_code(b_kl, 1))
    center += n_a * (log_delta_code(b_kl, 1) - log_delta_code(a_kl, 1))
    return window(center, log_rho(b_kl) / 2, odds_of_one(prior_k))


def _equal_steps(
    prior: ArrayLike, confusion_a: ArrayLike, confusion_b: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    prior_k, b_kl = as_two_classes(prior, confusion_b)
    a_kl = as_inner_confusion(confusion_a)
    if abs(log_rho(a_kl) - log_rho(b_kl)) > 1e-9:
        raise ConfigError(
            f"The two-category condition needs rho_A = rho_B, not {np.exp(log_rho(a_kl)):g} and "
            f"{np.exp(log_rho(b_kl)):g}; panel_margin does without."
        )
    return prior_k, a_kl, b_kl
