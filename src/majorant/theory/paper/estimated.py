"""Theorem 3.5: what estimates of the confusion matrix and the label shares prove about majority vote."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.theory.checks import as_confusion, as_prior, as_vote_count
from majorant.theory.paper.bounds import chi, prior_error, prior_error_printed, prior_from_shares, refuse_nonpositive
from majorant.theory.paper.conditions import theorem_3_4
from majorant.values import FloatArray, safe_log


class FalseAsPrinted(UserWarning):
    """A statement was evaluated as the paper prints it although it is known to be false."""


@dataclass(frozen=True, slots=True)
class PrintedCheck:
    """The two inequalities of Theorem 3.5 as printed: g - f > psi + eps chi and h - g > psi + 4 eps chi."""

    f: float
    g: float
    h: float
    psi: float
    chi: float
    lhs1: float
    rhs1: float
    lhs2: float
    rhs2: float

    @property
    def certified(self) -> bool:
        """Whether both inequalities hold, which does not make majority vote optimal."""
        return self.lhs1 > self.rhs1 and self.lhs2 > self.rhs2


@dataclass(frozen=True, slots=True)
class BoxCheck:
    """The smallest margin, in nats, over every prior and confusion within reach of the estimate."""

    prior_0: float
    prior_radius: float
    confusion_radius: float
    margin: float

    @property
    def certified(self) -> bool:
        """Whether majority vote is optimal for every model in the box."""
        return self.margin > 0


def theorem_3_5_printed(
    prior: ArrayLike,
    confusion: ArrayLike,
    n_votes: int,
    *,
    eps: float,
    eta: float,
    xi: float,
    smallest: Literal["eigenvalue", "singular"] = "eigenvalue",
) -> PrintedCheck:
    """Theorem 3.5 as printed, at the estimates nu~ and T~.  FALSE: it certifies models where majority is not optimal.

    H = 3, truth (nu_0, T00, T11) = (.5, .992, .9), where majority is not optimal (margin -.134), is certified from the
    estimate (.986, .9) within eps = .0085 (erratum 16); `smallest="singular"` does not save it.  `theorem_3_5` holds.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FalseAsPrinted)
    ...     printed = theorem_3_5_printed([.5, .5], [[.986, .014], [.1, .9]], 3, eps=.0085, eta=.49, xi=.008)
    >>> printed.certified
    True
    """
    warnings.warn(FalseAsPrinted("Theorem 3.5 is false as printed; use theorem_3_5."), stacklevel=2)
    condition = theorem_3_4(prior, confusion, n_votes)
    f, g, h = condition.lower, condition.value, condition.upper
    psi = prior_error_printed(confusion, eps, smallest=smallest) / min(eta, 1 - eta) ** 2
    slope = chi(n_votes, xi)
    return PrintedCheck(f, g, h, psi, slope, g - f, psi + eps * slope, h - g, psi + 4 * eps * slope)


def theorem_3_5(shares: ArrayLike, confusion: ArrayLike, n_votes: int, *, eps: float) -> BoxCheck:
    """Theorem 3.5, corrected: a positive margin means that majority vote is optimal for the true model.

    `confusion` (2, 2) is within `eps` of the truth in spectral norm, and each of the noisy label `shares` (2,) within
    `eps` of its expectation; then certified is right.  Any number of votes, ties excluded.  The prior is recovered with
    the transposed inverse; the margin is the exact minimum over the box of all priors and diagonals within reach.
    Proof: paper/corrections.md.

    >>> theorem_3_5([.5, .5], [[.8, .2], [.2, .8]], 3, eps=.02).certified
    True
    """
    refuse_nonpositive(eps)
    confusion_kl = as_confusion(confusion, 2)
    prior_0 = float(prior_from_shares(shares, confusion_kl)[0])
    prior_radius = prior_error(confusion_kl, eps) / math.sqrt(2)
    confusion_radius = eps / math.sqrt(2)
    return _check_box(prior_0, prior_radius, confusion_kl, confusion_radius, n_votes)


def theorem_3_5_within(
    prior: ArrayLike, confusion: ArrayLike, n_votes: int, *, prior_radius: float, confusion_radius: float
) -> BoxCheck:
    """Theorem 3.5, corrected, with the radius of each entry of an estimate, as a bootstrap over items gives it.

    A positive margin means that majority vote is optimal for every prior and diagonal within reach; it is the exact
    minimum.  Any number of votes, ties excluded.

    >>> theorem_3_5_within([.5, .5], [[.8, .2], [.2, .8]], 3, prior_radius=.03, confusion_radius=.02).certified
    True
    """
    return _check_box(float(as_prior(prior)[0]), prior_radius, as_confusion(confusion, 2), confusion_radius, n_votes)


def _check_box(
    prior_0: float, prior_radius: float, confusion_kl: FloatArray, confusion_radius: float, n_votes: int
) -> BoxCheck:
    """The smallest margin within reach of an estimate."""
    prior_box = np.clip([prior_0 - prior_radius, prior_0 + prior_radius], 0, 1)
    box_k = [np.clip([right - confusion_radius, right + confusion_radius], 0, 1) for right in confusion_kl.diagonal()]
    margin = _box_margin(prior_box, box_k[0], box_k[1], as_vote_count(n_votes))
    return BoxCheck(prior_0, prior_radius, confusion_radius, margin)


def _box_margin(prior_box: FloatArray, box_0: FloatArray, box_1: FloatArray, n_votes: int) -> float:
    """The least margin of the two narrowest majorities over a box of (nu_0, T00, T11).

    Their log-odds are sums of one term in each variable, i log x + j log(1 - x), which is concave: its minimum over an
    interval is at an end, its maximum at i / (i + j) or the nearest end.
    """
    most = n_votes // 2 + 1
    fewest = n_votes - most
    low, high = safe_log(prior_box) - safe_log(1 - prior_box)
    narrow_0 = low + _log_likelihood(box_0, most, fewest).min() - _peak(box_1, fewest, most)
    narrow_1 = -high + _log_likelihood(box_1, most, fewest).min() - _peak(box_0, fewest, most)
    return float(min(narrow_0, narrow_1))


def _log_likelihood(right: FloatArray, n_right: int, n_wrong: int) -> FloatArray:
    from scipy.special import xlog1py, xlogy

    return np.asarray(xlogy(n_right, right) + xlog1py(n_wrong, -right))


def _peak(box: FloatArray, n_right: int, n_wrong: int) -> float:
    best = np.clip(n_right / (n_right + n_wrong), box[0], box[1])
    return float(_log_likelihood(best, n_right, n_wrong))


def theorem_3_5_confidence(gamma: float, eps: float, n_items: int) -> float:
    """The probability that goes with Theorem 3.5, as in the appendix: 1 - gamma - 2 exp(-2 eps^2 N), two classes.

    gamma is the probability that the confusion is off by more than eps; the shares come from N independent items.

    >>> round(theorem_3_5_confidence(.1, .02, 5000), 3)
    0.863
    """
    return 1 - gamma - 2 * math.exp(-2 * eps**2 * n_items)


def theorem_3_5_confidence_text(gamma: float, eps: float, n_items: int) -> float:
    """The same as in the main text, 1 - 2 gamma - 2 exp(-eps^2 N): true but needlessly weak.

    >>> round(theorem_3_5_confidence_text(.1, .02, 5000), 3)
    0.529
    """
    return 1 - 2 * gamma - 2 * math.exp(-(eps**2) * n_items)


def theorem_3_5_confidence_code(gamma: float, eps: float, n_items: int) -> float:
    """The same as in the published code, 1 - 2 gamma + 2 exp(-2 eps^2 N): a wrong sign, it can exceed 1.

    >>> theorem_3_5_confidence_code(.1, .01, 5000) > 1
    True
    """
    return 1 - 2 * gamma + 2 * math.exp(-2 * eps**2 * n_items)
