"""Latent classes from moments of three independent views (Anandkumar et al. 2014)."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from majorant.errors import NotIdentified
from majorant.kernels import FloatArray

RANK = 1e-6  # eigenvalues below this share of the largest one carry no class
RESTARTS, STEPS = 10, 12  # the power method converges quadratically


class Moments(NamedTuple):
    """Mean products of the views of an item, (K, K) for pairs of views and (K, K, K) for all three, and the items."""

    first_second: FloatArray
    first_third: FloatArray
    second_third: FloatArray
    triple: FloatArray
    items: float


def view_means(moments: Moments, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """What the third view shows on average for each latent class, (K, K) a row each, and the share of each class.

    The first two views are mapped to look like the third, so that the moments become symmetric; whitened by the
    second moment, the third has orthogonal components, found one after the other by the power method.
    """
    m12, m13, m23, m123 = (moment / moments.items for moment in moments[:4])
    to_third_1 = _solve(m12.T, m23).T  # (third, first): M32 M12^-1
    to_third_2 = _solve(m12, m13).T  # M31 M21^-1
    second_tt = to_third_1 @ m12 @ to_third_2.T
    third_ttt = np.einsum("abc,ta,ub->tuc", m123, to_third_1, to_third_2, optimize=True)
    value_g, vector_tg = np.linalg.eigh((second_tt + second_tt.T) / 2)
    if value_g[0] <= RANK * value_g[-1]:
        raise NotIdentified(
            f"spectral-em: the votes of three groups of workers show fewer than {len(value_g)} classes apart: "
            "use dawid-skene."
        )
    white_tg, colour_tg = vector_tg / np.sqrt(value_g), vector_tg * np.sqrt(value_g)
    core_ggg = np.einsum("tuv,ta,ub,vc->abc", third_ttt, white_tg, white_tg, white_tg, optimize=True)
    value_k, vector_kg = _components(_symmetric(core_ggg), rng)
    mean_kt = value_k[:, None] * (vector_kg @ colour_tg.T)
    return mean_kt, 1 / value_k**2


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """matrix^-1 right, or the least-squares answer where there is none."""
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-9)[0], dtype=np.float64)


def _symmetric(core: FloatArray) -> FloatArray:
    return np.asarray(np.mean([core.transpose(axes) for axes in permutations(range(3))], axis=0))


def _components(core_ggg: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Values (K,) and vectors (K, K) of an orthogonal tensor: power iteration from random starts, then deflation."""
    n = len(core_ggg)
    core_ggg = core_ggg.copy()
    values, vectors = np.empty(n), np.empty((n, n))
    for k in range(n):
        flat = core_ggg.reshape(n * n, n)
        starts_gr = rng.normal(size=(n, RESTARTS))
        starts_gr /= np.linalg.norm(starts_gr, axis=0)
        for _ in range(STEPS):
            starts_gr = _power_step(flat, starts_gr)
        height_r = np.einsum("gr,gr->r", _apply(flat, starts_gr), starts_gr)
        best_g = starts_gr[:, [int(height_r.argmax())]]
        for _ in range(STEPS):
            best_g = _power_step(flat, best_g)
        values[k] = max(float((_apply(flat, best_g) * best_g).sum()), 1.0)  # a share of more than 1 is noise
        vectors[k] = best_g[:, 0]
        core_ggg -= values[k] * np.einsum("a,b,c->abc", vectors[k], vectors[k], vectors[k])
    return values, vectors


def _apply(flat: FloatArray, vector_gr: FloatArray) -> FloatArray:
    n, n_starts = vector_gr.shape
    return np.asarray(np.einsum("abr,br->ar", (flat @ vector_gr).reshape(n, n, n_starts), vector_gr))


def _power_step(flat: FloatArray, vector_gr: FloatArray) -> FloatArray:
    moved_gr = _apply(flat, vector_gr)
    size_r = np.linalg.norm(moved_gr, axis=0)
    return np.where(size_r > 0, moved_gr / np.where(size_r > 0, size_r, 1.0), vector_gr)
