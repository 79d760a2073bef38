"""The appendix's bounds: the error of the recovered prior, Lipschitz constants, the loss of MAP with an estimate."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_prior, as_vote_count
from majorant.values import FloatArray


def prior_from_shares(shares: ArrayLike, confusion: ArrayLike) -> FloatArray:
    """The prior that explains the label shares: shares = T' nu, so the inverse of the transpose; may leave 0..1.

    >>> prior_from_shares([.56, .44], [[.9, .1], [.2, .8]]).round(3).tolist()
    [0.514, 0.486]
    """
    share_l, confusion_kl = _shares(shares, confusion)
    return np.asarray(np.linalg.solve(confusion_kl.T, share_l), dtype=float)


def prior_from_shares_printed(shares: ArrayLike, confusion: ArrayLike) -> FloatArray:
    """The same as printed, with the inverse of T itself: right only for a symmetric T, and may not sum to 1.

    >>> prior_from_shares_printed([.56, .44], [[.9, .1], [.2, .8]]).round(3).tolist()
    [0.577, 0.406]
    """
    share_l, confusion_kl = _shares(shares, confusion)
    return np.asarray(np.linalg.solve(confusion_kl, share_l), dtype=float)


def _shares(shares: ArrayLike, confusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    share_l = as_prior(shares)
    confusion_kl = as_confusion(confusion, len(share_l))
    if _smallest_singular(confusion_kl) < 1e-12:
        raise ConfigError("confusion has no inverse: the labels do not tell the classes apart.")
    return share_l, confusion_kl


def prior_error(confusion: ArrayLike, eps: float) -> float:
    """A sound bound on the Euclidean error of `prior_from_shares`: eps (1 + sqrt K) / smallest singular value of T~.

    T~ (K, K) is within eps of the truth in spectral norm and every share within eps.  Proof: paper/corrections.md.

    >>> round(prior_error([[.9, .1], [.1, .9]], .01), 4)
    0.0302
    """
    refuse_nonpositive(eps)
    confusion_kl = _any_confusion(confusion)
    return eps * (1 + math.sqrt(len(confusion_kl))) / max(_smallest_singular(confusion_kl), 1e-300)


def prior_error_printed(
    confusion: ArrayLike, eps: float, *, smallest: Literal["eigenvalue", "singular"] = "eigenvalue"
) -> float:
    """The appendix's bound on |nu - nu~| as printed: eps/l (1/(l - eps) + sqrt C), l the smallest eigenvalue of T~.

    With the transposed inverse it holds for two classes and can fail for more, where l must be the smallest singular
    value (erratum 18).  Infinite once eps >= l.

    >>> round(prior_error_printed([[.986, .014], [.1, .9]], .0085), 4)
    0.0245
    """
    refuse_nonpositive(eps)
    confusion_kl = _any_confusion(confusion)
    if smallest == "singular":
        least = _smallest_singular(confusion_kl)
    else:
        least = float(np.abs(np.linalg.eigvals(confusion_kl)).min())
    if least <= eps:
        return math.inf
    return eps / least * (1 / (least - eps) + math.sqrt(len(confusion_kl)))


def lipschitz(powers_x: tuple[int, int], powers_y: tuple[int, int], xi: float) -> float:
    """A constant that holds for x^i (1-x)^j y^k (1-y)^l on 1/2 <= x, y <= 1 - xi, powers of either sign.

    The appendix's general lemma, with f and h as special cases, corrected: the function is u(x) v(y), so its
    gradient is at most (max |u'| max v, max u max |v'|) long; each maximum is at an end or at a root of a quadratic.

    >>> round(lipschitz((2, 1), (-1, -2), .1), 1)
    318.7
    """
    _refuse_xi(xi)
    (steep_x, most_x), (steep_y, most_y) = (_extremes(powers, xi) for powers in (powers_x, powers_y))
    return math.hypot(steep_x * most_y, most_x * steep_y)


def _extremes(powers: tuple[int, int], xi: float) -> tuple[float, float]:
    """The largest slope of x^i (1-x)^j on 1/2 .. 1 - xi, and its largest value."""
    i, j = powers
    total = i + j
    bends = np.roots([total * (total - 1), 2 * i * (1 - total), i * (i - 1)])  # where the slope is extreme
    turns = [i / total] if total else []
    inside = [float(np.real(x)) for x in (*bends, *turns) if abs(np.imag(x)) < 1e-12 and 0.5 < np.real(x) < 1 - xi]
    x = np.array([0.5, 1 - xi, *inside])
    value = x**i * (1 - x) ** j
    return float(np.abs(value * (i / x - j / (1 - x))).max()), float(value.max())


def lipschitz_h_printed(n_votes: int, xi: float) -> float:
    """The appendix's constant for h on 1/2 < T_cc < 1 - xi, 4 chi: far too small (erratum 15).

    >>> round(lipschitz_h_printed(3, .1), 2)
    7.35
    """
    return 4 * chi(n_votes, xi)


def lipschitz_f_printed(n_votes: int, xi: float) -> float:
    """The appendix's constant for f on 1/2 < T_cc < 1 - xi, chi / (2 (1 - xi)^2); Theorem 3.5 itself uses chi.

    >>> round(lipschitz_f_printed(3, .1), 2)
    1.13
    """
    return chi(n_votes, xi) / (2 * (1 - xi) ** 2)


def estimated_map_loss(n_votes: int, eps: float, prior_eps: float = 0.0) -> float:
    """Bound on the accuracy that MAP with an estimated model loses compared with the oracle: 2 H eps + 2 prior_eps.

    eps bounds the total-variation distance of each row of the confusion (for two classes the error of T_cc), prior_eps
    that of the prior.  Any number of classes.  This is the appendix's gap theorem, corrected.

    >>> round(estimated_map_loss(3, .01), 6)
    0.06
    """
    return min(1.0, 2 * as_vote_count(n_votes) * eps + 2 * prior_eps)


def estimated_map_loss_printed(prior_0: float, n_votes: int, eps: float) -> float:
    """The appendix's bound on the same loss as printed, 2 eps H (1+eps)^(H-1) / nu.

    It holds if MAP uses the true prior; with the estimated prior, as in the paper's eMAP, it is false.

    >>> round(estimated_map_loss_printed(.5, 3, .01), 4)
    0.1224
    """
    count = as_vote_count(n_votes)
    return 2 * eps * count * (1 + eps) ** (count - 1) / prior_0


def anchor_limit(confusion: ArrayLike, n_votes: int) -> FloatArray:
    """The limit of the published anchor estimate, which counts each distinct label of an item once (erratum 4).

    >>> anchor_limit([[.9, .1], [.1, .9]], 5).round(3).tolist()
    [[0.709, 0.291], [0.291, 0.709]]
    """
    seen_kl = 1 - (1 - _any_confusion(confusion)) ** as_vote_count(n_votes)
    return np.asarray(seen_kl / seen_kl.sum(axis=1, keepdims=True))


def chi(n_votes: int, xi: float) -> float:
    """Theorem 3.5's chi; printed for 1/2 < xi < 1, which contradicts T_cc > 1/2: read 0 < xi < 1/2 (erratum 14)."""
    _refuse_xi(xi)
    count = as_vote_count(n_votes)
    return math.hypot(max(0.5, (count - 1) / 2 - count * xi), max(0.5, (count + 1) / 2 - count * xi))


def _any_confusion(confusion: ArrayLike) -> FloatArray:
    return as_confusion(confusion, len(np.atleast_1d(np.asarray(confusion, dtype=float))))


def _smallest_singular(confusion_kl: FloatArray) -> float:
    return float(np.linalg.svd(confusion_kl, compute_uv=False).min())


def _refuse_xi(xi: float) -> None:
    if not 0 < xi < 0.5:
        raise ConfigError(f"xi must lie between 0 and 1/2, not {xi!r}.")


def refuse_nonpositive(eps: float) -> None:
    if not eps > 0:
        raise ConfigError(f"eps must be positive, not {eps!r}.")
