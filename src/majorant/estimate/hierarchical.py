"""Hierarchical Dawid-Skene: each worker's confusion rows are drawn around the crowd's, with a learned strength."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.dirichlet import divergence, expected_log
from majorant.estimate.em import Progress, prepare, run_em, table_fit
from majorant.estimate.fit import Fit
from majorant.estimate.start import learned_of, start_counts, vote_rows
from majorant.estimate.tables import Counts, Tables
from majorant.kernels import FloatArray, shares
from majorant.votes import Votes

FIXED_POINT_STEPS = 3  # Minka's fixed point within each M step; the loop goes on from there
FIRST_STRENGTH = 10.0


class CrowdParams(NamedTuple):
    """Dirichlet parameters: each worker's rows (J, K, K), the crowd they are drawn from (K, K), the classes (K,)."""

    votes_jkl: FloatArray
    crowd_kl: FloatArray
    items_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical:
    """Dawid-Skene in which worker j's row for class k is drawn from Dirichlet(strength * crowd[k]); empirical Bayes.

    The crowd's matrix and the strength are those that make the votes most probable (variational bound, Minka's fixed
    point), so that the model moves between one matrix for all (great strength) and one for each (small strength) as
    the data allow.  `learned` holds "crowd" (K, K) and "strength" (K,), the votes that the crowd is worth.

    The strength has a weak Gamma prior (`shape` - 1 imaginary units at `rate`), the crowd's matrix `right` and `wrong`
    imaginary votes.  One strength for all classes (`tied`) and these votes were chosen by the likelihood of held-out
    votes on public data and simulations (benchmarks/hierarchical_choice.py): CHOICE

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Hierarchical().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "hierarchical"
    order_free: ClassVar[bool] = True
    stochastic: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    classes: ClassVar[int | None] = None
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    tied: bool = False
    shape: float = 2.0
    rate: float = 0.01
    right: float = 16.0
    wrong: float = 4.0
    items: float = 1.0
    max_iter: int = 1_000
    tol: float = 1e-5
    accelerate: bool = True
    clamp_gold: bool = False

    def tables(self, params: CrowdParams) -> Tables:
        """Expected log-probabilities."""
        return Tables(vote_rows(expected_log(params.votes_jkl)), expected_log(params.items_k))

    def m_step(self, counts: Counts, params: CrowdParams | None) -> CrowdParams:
        """A crowd that makes the expected votes more probable, and each worker's rows given it."""
        if params is None:
            pooled_kl = counts.votes_jgl.sum(axis=0) + self._base(len(counts.items_g))
            crowd_kl = FIRST_STRENGTH * shares(pooled_kl)
        else:
            crowd_kl = params.crowd_kl
        for _ in range(FIXED_POINT_STEPS):
            crowd_kl = self.raise_crowd(counts.votes_jgl, crowd_kl)
        return CrowdParams(counts.votes_jgl + crowd_kl, crowd_kl, counts.items_g + self.items)

    def raise_crowd(self, votes_jkl: FloatArray, crowd_kl: FloatArray) -> FloatArray:
        """One step of Minka's fixed point: the marginal likelihood of the votes never falls.

        The bound is sum_kl gain_kl log crowd_kl - sum_k cost_k strength_k, so mean and strength are found apart.
        """
        from scipy.special import digamma

        n_workers, n_classes, n_labels = votes_jkl.shape
        strength_k, ones_l = crowd_kl.sum(axis=1), np.ones(n_labels)
        rise_kl = digamma(votes_jkl + crowd_kl).sum(axis=0) - n_workers * digamma(crowd_kl)
        gain_kl = np.maximum(crowd_kl * rise_kl, 0.0)
        cost_k = digamma(votes_jkl @ ones_l + strength_k).sum(axis=0) - n_workers * digamma(strength_k)
        gain_k = gain_kl @ ones_l
        if self.tied:
            gain_k, cost_k = np.full(n_classes, gain_k.sum()), np.full(n_classes, cost_k.sum())
        strength_k = (gain_k + self.shape - 1) / (cost_k + self.rate)
        return np.asarray(strength_k[:, None] * shares(gain_kl + self._base(n_classes)))

    def log_prior(self, params: CrowdParams) -> float:
        """The log-density of the crowd, less the divergence of workers and classes from their priors."""
        n_classes = len(params.items_k)
        strength_k = params.crowd_kl.sum(axis=1)[: 1 if self.tied else None]
        log_crowd = (self._base(n_classes) * np.log(shares(params.crowd_kl))).sum()
        log_strength = ((self.shape - 1) * np.log(strength_k) - self.rate * strength_k).sum()
        from_crowd = divergence(params.votes_jkl, params.crowd_kl)
        return float(log_crowd + log_strength) - from_crowd - divergence(params.items_k, np.full(n_classes, self.items))

    def _base(self, n_classes: int) -> FloatArray:
        return np.where(np.eye(n_classes, dtype=bool), self.right, self.wrong)

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Mean confusion matrices, crowd, strength and posterior; `start` continues from an earlier fit."""
        prepared = prepare(votes, engine, weights, clamp_gold=self.clamp_gold)
        earlier = learned_of(start, self.name, votes, *CrowdParams._fields)
        begin = self.m_step(start_counts(start, votes, prepared), None) if earlier is None else CrowdParams(*earlier)
        solution = run_em(self, prepared, begin, progress)
        votes_jkl, crowd_kl, items_k = solution.params
        crowd = {"crowd": shares(crowd_kl), "strength": crowd_kl.sum(axis=1)}
        means = {"confusion": shares(votes_jkl), "prior": shares(items_k)}
        return table_fit(self, votes, prepared, solution, **means, learned={**crowd, **solution.params._asdict()})
