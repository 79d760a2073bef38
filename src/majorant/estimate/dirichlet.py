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


def divergence(alpha: FloatArray, base: FloatArray) -> float:
    """The sum over rows of KL(Dirichlet(alpha) || Dirichlet(base)); `base` may have fewer rows and is repeated.

    >>> round(divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])), 6)  # log 2 - 1/2, and nothing
    0.193147
    """
    from scipy.special import gammaln

    ones_l = np.ones(alpha.shape[-1])
    rows = gammaln(alpha @ ones_l) - gammaln(alpha) @ ones_l
    rows = rows - (gammaln(base @ ones_l) - gammaln(base) @ ones_l)
    return float(rows.sum() + ((alpha - base) * expected_log(alpha)).sum())
