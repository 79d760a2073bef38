"""Spectral start, then EM (Zhang et al. 2014): Dawid-Skene from moments of three groups of workers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar, NamedTuple

import numpy as np

from majorant.errors import ConfigError, NotIdentified
from majorant.kernels import Block, gather, scatter, shares
from majorant.methods.base import ConfusionModel, ConfusionParams, DrawnEmModel, params_of
from majorant.methods.em import Prepared, Progress, run_em, table_fit
from majorant.methods.fit import Fit
from majorant.methods.tables import expect
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

WORKER_GROUPS = 3
START_VOTES = 10.0  # imaginary votes by which a worker's first matrix leans on that of his group
LEAST_SHARE = 1e-3  # no probability of the start is smaller: moments are noisy, and EM cannot leave 0
RANK = 1e-6  # eigenvalues below this share of the largest one carry no class
RESTARTS, POWER_STEPS = 10, 12  # the power method converges quadratically


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralEm(ConfusionModel, DrawnEmModel):
    """Dawid-Skene started from the data's moments rather than from the vote shares.

    Workers fall into three groups at random (`rng`; the best of several `groupings`); the votes of each group on an
    item, as shares, are three views that are independent given the class.  A tensor decomposition of their third
    moment gives the groups' confusion matrices, moments with the other groups those of each worker, EM the rest: to
    convergence, or `max_iter=1` for the single step of the paper.  NotIdentified where the moments do not tell the
    classes apart.

    >>> votes = Votes.from_codes(np.repeat(range(8), 3), [0, 1, 2] * 8, np.repeat([0, 1] * 4, 3), items="abcdefgh",
    ...                          workers="xyz", labels=("no", "yes"))
    >>> SpectralEm().fit(votes, rng=0).labels()[:3]
    ['no', 'yes', 'no']
    """

    name: ClassVar[str] = "spectral-em"
    tables_per_worker: ClassVar[int] = 1
    needs: ClassVar[str] = "overlap"

    groupings: int = 5

    def fit_prepared(
        self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None, rng: np.random.Generator
    ) -> Fit:
        """Confusion matrices, prior and posterior."""
        begin = params_of(start, votes)
        solution = run_em(self, prepared, self._best_start(prepared, rng) if begin is None else begin, progress)
        confusion_jkl, prior_k = solution.params
        return table_fit(self, votes, prepared, solution, confusion=confusion_jkl, prior=prior_k)

    def _best_start(self, prepared: Prepared, rng: np.random.Generator) -> ConfusionParams:
        """Of several groupings the start with the highest objective; a grouping may fail, all of them must not."""
        best, height, failure = None, -np.inf, None
        for _ in range(self.groupings):
            try:
                params = spectral_start(prepared, rng)
            except NotIdentified as error:
                failure = error
                continue
            tables = self.tables(params)
            counts = expect(prepared.engine, tables, prepared.totals)
            objective = counts.evidence + self.log_prior(params, tables)
            if best is None or objective > height:
                best, height = params, objective
        if best is None:
            raise failure or ConfigError(f"groupings must be at least 1, not {self.groupings}.")
        return best


def spectral_start(prepared: Prepared, rng: np.random.Generator) -> ConfusionParams:
    """Confusion matrices and prior from the moments of three groups of workers."""
    n_workers, n_classes = prepared.totals.n_workers, prepared.totals.n_labels
    group_j = rng.permutation(n_workers) % WORKER_GROUPS
    moments = _moments(prepared, group_j)
    if moments.items == 0:
        raise NotIdentified(
            "spectral-em needs items with votes from three groups of workers, and there are none: use dawid-skene."
        )
    mean_gkl, prior_k = np.empty((WORKER_GROUPS, n_classes, n_classes)), np.zeros(n_classes)
    for turn in range(WORKER_GROUPS):
        mean_kl, share_k = view_means(_turned(moments, turn), rng)
        order_k = _by_diagonal(mean_kl)
        mean_gkl[(2 + turn) % WORKER_GROUPS], prior_k = _proper(mean_kl[order_k]), prior_k + share_k[order_k]
    worker_jkl = _worker_matrices(prepared, group_j, mean_gkl)
    return ConfusionParams(_proper(worker_jkl), _proper(prior_k))


def _group_tables(group_j: IntArray, n_classes: int) -> FloatArray:
    """One table for each group, by which only its workers' votes count, as counts of labels."""
    member_gj = (group_j == np.arange(WORKER_GROUPS)[:, None]).astype(float)
    return np.asarray((member_gj[:, :, None, None] * np.eye(n_classes)).reshape(WORKER_GROUPS, -1, n_classes))


def _views(block: Block, tables: FloatArray) -> FloatArray:
    """For each group the shares of its votes on each item, (groups, items, K); 0 where it gave none."""
    count_gil = np.stack([gather(block, table) for table in tables])
    votes_gi = count_gil @ np.ones(count_gil.shape[2])
    return np.asarray(count_gil / np.maximum(votes_gi, 1.0)[:, :, None])


def _moments(prepared: Prepared, group_j: IntArray) -> ViewMoments:
    """Sums over the items on which all three groups voted."""
    tables = _group_tables(group_j, prepared.totals.n_labels)

    def step(block: Block) -> ViewMoments:
        view_gil = _views(block, tables)
        full_i = (view_gil.sum(axis=2) > 0.5).all(axis=0)
        weight_i = full_i * (1.0 if block.weight_i is None else block.weight_i)
        first, second, third = view_gil
        first_w = first * weight_i[:, None]
        triple = np.einsum("ia,ib,ic->abc", first_w, second, third, optimize=True)
        return ViewMoments(
            first_w.T @ second, first_w.T @ third, (second * weight_i[:, None]).T @ third, triple, float(weight_i.sum())
        )

    return prepared.engine.map_sum(step)


def _turned(moments: ViewMoments, turn: int) -> ViewMoments:
    """The moments with the groups renamed in a circle: what was first, second, third moves on by `turn`."""
    for _ in range(turn):
        m12, m13, m23, triple, items = moments
        moments = ViewMoments(m23, m12.T, m13.T, triple.transpose(1, 2, 0), items)
    return moments


def _by_diagonal(mean_kl: FloatArray) -> IntArray:
    """The order of latent classes in which each looks most like the label of its place."""
    from scipy.optimize import linear_sum_assignment

    latent, label = linear_sum_assignment(-shares(np.maximum(mean_kl, 0.0)))
    return np.asarray(latent[np.argsort(label)])


def _proper(value: FloatArray) -> FloatArray:
    """Probabilities along the last axis, none of them below LEAST_SHARE."""
    return shares(np.maximum(shares(np.maximum(value, 0.0)), LEAST_SHARE))


def _worker_matrices(prepared: Prepared, group_j: IntArray, mean_gkl: FloatArray) -> FloatArray:
    """Each worker's matrix from his votes beside the views of the two groups that are not his.

    Sums over items of (his label, view of group g) are T_j' diag(prior) mean_g, up to a factor.
    """
    n_workers, n_classes = prepared.totals.n_workers, prepared.totals.n_labels
    tables = _group_tables(group_j, n_classes)
    beside = prepared.engine.map_sum(lambda block: tuple(scatter(block, view) for view in _views(block, tables)))
    total_jkl = np.zeros((n_workers, n_classes, n_classes))
    for group in range(WORKER_GROUPS):
        joint_jlm = beside[group].reshape(n_workers, n_classes, n_classes)
        solved = np.linalg.lstsq(mean_gkl[group].T, joint_jlm.reshape(-1, n_classes).T, rcond=1e-6)[0]
        joint_jkl = solved.T.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)
        total_jkl += (group_j != group)[:, None, None] * np.maximum(joint_jkl, 0.0)
    return total_jkl + START_VOTES * mean_gkl[group_j] / n_classes


class ViewMoments(NamedTuple):
    """Mean products of the views of an item, (K, K) for pairs of views and (K, K, K) for all three, and the items."""

    first_second: FloatArray
    first_third: FloatArray
    second_third: FloatArray
    triple: FloatArray
    items: float


def view_means(moments: ViewMoments, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
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
        for _ in range(POWER_STEPS):
            starts_gr = _power_step(flat, starts_gr)
        height_r = np.einsum("gr,gr->r", _apply(flat, starts_gr), starts_gr)
        best_g = starts_gr[:, [int(height_r.argmax())]]
        for _ in range(POWER_STEPS):
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
