"""Nearest points of convex sets: probabilities, and symmetric stochastic matrices."""

from __future__ import annotations

import numpy as np

from majorant.kernels import FloatArray


def project_simplex(value_k: FloatArray) -> FloatArray:
    """The nearest probabilities: all entries lowered by the same amount, those below 0 cut off.

    >>> project_simplex(np.array([.9, .4, -.2])).tolist()
    [0.75, 0.25, 0.0]
    """
    falling_k = np.sort(value_k)[::-1]
    excess_k = (np.cumsum(falling_k) - 1) / np.arange(1, len(value_k) + 1)
    kept = np.flatnonzero(falling_k > excess_k)[-1]
    return np.asarray(np.maximum(value_k - excess_k[kept], 0.0))


def project_symmetric(matrix: FloatArray, *, least: float, tol: float = 1e-12, max_iter: int = 10_000) -> FloatArray:
    """The nearest symmetric matrix with rows that sum to 1, entries of at least 0 and a diagonal of at least `least`.

    Dykstra's alternating projections between the matrices with the right sums, an affine set with a closed form, and
    those with the right bounds.

    >>> project_symmetric(np.array([[.9, .3], [.1, .2]]), least=.5).round(6).tolist()
    [[0.675, 0.325], [0.325, 0.675]]
    """
    n = len(matrix)
    floor = least * np.eye(n)
    bounded, correction = (matrix + matrix.T) / 2, np.zeros((n, n))
    for _ in range(max_iter):
        summed = _right_sums(bounded)  # affine: needs no correction
        free = summed + correction
        bounded_next = np.maximum(free, floor)
        correction = free - bounded_next
        moved = max(np.abs(bounded_next - bounded).max(), np.abs(bounded_next - summed).max())
        bounded = bounded_next
        if moved <= tol:
            break
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))


def _right_sums(matrix: FloatArray) -> FloatArray:
    """The nearest symmetric matrix whose rows sum to 1, for a symmetric one: add u to each row and to each column."""
    n = len(matrix)
    lack = 1 - matrix.sum(axis=1)
    added = (lack - lack.sum() / (2 * n)) / n
    return np.asarray(matrix + added[:, None] + added)
