"""Dirichlet distributions along the last axis of an array of their parameters: what variational methods need."""

from __future__ import annotations

import numpy as np

from majorant.kernels import FloatArray


def expected_log(alpha: FloatArray) -> FloatArray:
    """E log p for p drawn from Dirichlet(alpha).

    >>> expected_log(np.array([1.0, 1.0])).tolist()
    [-1.0, -1.0]
    """
    from scipy.special import digamma

    total = alpha @ np.ones(alpha.shape[-1])
    return np.asarray(digamma(alpha) - digamma(total)[..., None])


def divergence(alpha: FloatArray, base: FloatArray, log_alpha: FloatArray | None = None) -> float:
    """The sum over rows of KL(Dirichlet(alpha) || Dirichlet(base)); `base` may have fewer rows and is repeated.

    `log_alpha` is `expected_log(alpha)`, where it is known already.

    >>> round(divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])), 6)  # log 2 - 1/2, and nothing
    0.193147
    """
    from scipy.special import gammaln

    ones_l = np.ones(alpha.shape[-1])
    rows = gammaln(alpha @ ones_l) - gammaln(alpha) @ ones_l
    rows = rows - (gammaln(base @ ones_l) - gammaln(base) @ ones_l)
    log_alpha = expected_log(alpha) if log_alpha is None else log_alpha
    return float(rows.sum() + ((alpha - base) * log_alpha).sum())
