"""Spectral start, then EM (Zhang et al. 2014): Dawid-Skene from moments of three groups of workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.errors import ConfigError, NotIdentified
from majorant.estimate.confusion import (
    ConfusionParams,
    confusion_tables,
    params_of,
    smoothed_confusions,
    smoothing_log_prior,
)
from majorant.estimate.em import Prepared, Progress, prepare, run_em, table_fit
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.tables import Counts, Tables, expect
from majorant.estimate.tensor import Moments, view_means
from majorant.kernels import Block, FloatArray, gather, scatter, shares
from majorant.randomness import as_generator
from majorant.votes import IntArray, Votes

GROUPS = 3
START_VOTES = 10.0  # imaginary votes by which a worker's first matrix leans on that of his group
LEAST = 1e-3  # no probability of the start is smaller: moments are noisy, and EM cannot leave 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralEm(Estimator):
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
    stochastic: ClassVar[bool] = True
    monotone: ClassVar[bool] = True
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True
    needs: ClassVar[str] = "overlap"

    groupings: int = 5
    smoothing: float = 0.01
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True

    def tables(self, params: ConfusionParams) -> Tables:
        """Log-probabilities of each vote under each class."""
        return confusion_tables(*params)

    def m_step(self, counts: Counts, params: ConfusionParams | None) -> ConfusionParams:  # noqa: ARG002
        """Shares of the expected votes, smoothed."""
        return smoothed_confusions(counts, self.smoothing)

    def log_prior(self, params: ConfusionParams) -> float:
        """The log-density of the Dirichlet prior, up to a constant."""
        return smoothing_log_prior(params, self.smoothing)

    def fit(
        self,
        votes: Votes,
        *,
        rng: int | np.random.Generator,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Confusion matrices, prior and posterior; `start` goes on from an earlier fit instead of the moments."""
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        begin = params_of(start, votes)
        if begin is None:
            begin = self._best_start(prepared, as_generator(rng))
        solution = run_em(self, prepared, begin, progress)
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
            counts = expect(prepared.engine, self.tables(params), prepared.totals)
            objective = counts.evidence + self.log_prior(params)
            if best is None or objective > height:
                best, height = params, objective
        if best is None:
            raise failure or ConfigError(f"groupings must be at least 1, not {self.groupings}.")
        return best


def spectral_start(prepared: Prepared, rng: np.random.Generator) -> ConfusionParams:
    """Confusion matrices and prior from the moments of three groups of workers."""
    n_workers, n_classes = prepared.totals.n_workers, prepared.totals.n_labels
    group_j = rng.permutation(n_workers) % GROUPS
    moments = _moments(prepared, group_j)
    if moments.items == 0:
        raise NotIdentified(
            "spectral-em needs items with votes from three groups of workers, and there are none: use dawid-skene."
        )
    mean_gkl, prior_k = np.empty((GROUPS, n_classes, n_classes)), np.zeros(n_classes)
    for turn in range(GROUPS):
        mean_kl, share_k = view_means(_turned(moments, turn), rng)
        order_k = _by_diagonal(mean_kl)
        mean_gkl[(2 + turn) % GROUPS], prior_k = _proper(mean_kl[order_k]), prior_k + share_k[order_k]
    worker_jkl = _worker_matrices(prepared, group_j, mean_gkl)
    return ConfusionParams(_proper(worker_jkl), _proper(prior_k))


def _group_tables(group_j: IntArray, n_classes: int) -> FloatArray:
    """One table for each group, by which only its workers' votes count, as counts of labels."""
    member_gj = (group_j == np.arange(GROUPS)[:, None]).astype(float)
    return np.asarray((member_gj[:, :, None, None] * np.eye(n_classes)).reshape(GROUPS, -1, n_classes))


def _views(block: Block, tables: FloatArray) -> FloatArray:
    """For each group the shares of its votes on each item, (groups, items, K); 0 where it gave none."""
    count_gil = np.stack([gather(block, table) for table in tables])
    votes_gi = count_gil @ np.ones(count_gil.shape[2])
    return np.asarray(count_gil / np.maximum(votes_gi, 1.0)[:, :, None])


def _moments(prepared: Prepared, group_j: IntArray) -> Moments:
    """Sums over the items on which all three groups voted."""
    tables = _group_tables(group_j, prepared.totals.n_labels)

    def step(block: Block) -> Moments:
        view_gil = _views(block, tables)
        full_i = (view_gil.sum(axis=2) > 0.5).all(axis=0)
        weight_i = full_i * (1.0 if block.weight_i is None else block.weight_i)
        first, second, third = view_gil
        first_w = first * weight_i[:, None]
        triple = np.einsum("ia,ib,ic->abc", first_w, second, third, optimize=True)
        return Moments(
            first_w.T @ second, first_w.T @ third, (second * weight_i[:, None]).T @ third, triple, float(weight_i.sum())
        )

    return prepared.engine.map_sum(step)


def _turned(moments: Moments, turn: int) -> Moments:
    """The moments with the groups renamed in a circle: what was first, second, third moves on by `turn`."""
    for _ in range(turn):
        m12, m13, m23, triple, items = moments
        moments = Moments(m23, m12.T, m13.T, triple.transpose(1, 2, 0), items)
    return moments


def _by_diagonal(mean_kl: FloatArray) -> IntArray:
    """The order of latent classes in which each looks most like the label of its place."""
    from scipy.optimize import linear_sum_assignment

    latent, label = linear_sum_assignment(-shares(np.maximum(mean_kl, 0.0)))
    return np.asarray(latent[np.argsort(label)])


def _proper(value: FloatArray) -> FloatArray:
    """Probabilities along the last axis, none of them below LEAST."""
    return shares(np.maximum(shares(np.maximum(value, 0.0)), LEAST))


def _worker_matrices(prepared: Prepared, group_j: IntArray, mean_gkl: FloatArray) -> FloatArray:
    """Each worker's matrix from his votes beside the views of the two groups that are not his.

    Sums over items of (his label, view of group g) are T_j' diag(prior) mean_g, up to a factor.
    """
    n_workers, n_classes = prepared.totals.n_workers, prepared.totals.n_labels
    tables = _group_tables(group_j, n_classes)
    beside = prepared.engine.map_sum(lambda block: tuple(scatter(block, view) for view in _views(block, tables)))
    total_jkl = np.zeros((n_workers, n_classes, n_classes))
    for group in range(GROUPS):
        joint_jlm = beside[group].reshape(n_workers, n_classes, n_classes)
        solved = np.linalg.lstsq(mean_gkl[group].T, joint_jlm.reshape(-1, n_classes).T, rcond=1e-6)[0]
        joint_jkl = solved.T.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)
        total_jkl += (group_j != group)[:, None, None] * np.maximum(joint_jkl, 0.0)
    return total_jkl + START_VOTES * mean_gkl[group_j] / n_classes
