"""One coin: each worker has one probability of being right for all classes; wrong labels are equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import shares
from majorant.methods.em import run_em, start_counts
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import ExpectedCounts, Tables, VoteData, coin_confusions, confusion_tables, expect, prepare
from majorant.values import FloatArray
from majorant.votes import Votes


class CoinParams(NamedTuple):
    """P(right) and P(wrong) of each worker, (J, 2), and the probability of each class, (K,)."""

    coin_j2: FloatArray
    prior_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCoin:
    """Worker j is right with probability `skill[j]`, and gives each wrong label equally often; fitted by EM.

    With a uniform prior this is the model in which a weighted majority vote is optimal.

    Parameters
    ----------
    smoothing
        Right and wrong pseudo-votes of each worker, and pseudo-items of each class; 0 is maximum likelihood.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "one-coin"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, online="votes")

    smoothing: float = 0.01
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Accuracy of each worker, prior and posterior; starts from the vote shares, or from an earlier fit."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        solution = run_em(self, data, self.m_step(start_counts(data)))
        skill_j, prior_k = solution.params.coin_j2[:, 0], solution.params.prior_k
        return data.fit_of(
            self,
            posterior=data.posterior(self.tables(solution.params)),
            prior=prior_k,
            confusion=coin_confusions(skill_j, len(prior_k)),
            skill=skill_j,
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: CoinParams) -> ExpectedCounts:
        """The posterior of each item, and from it each worker's expected votes by class and label."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: CoinParams | None = None) -> CoinParams:  # noqa: ARG002
        """The smoothed share of each worker's expected votes that are right."""
        right_j = np.einsum("jkk->j", counts.votes_jgl)
        wrong_j = np.maximum(counts.votes_jgl.sum(axis=(1, 2)) - right_j, 0.0)
        coin_j2 = shares(np.stack([right_j, wrong_j], axis=1) + self.smoothing)
        return CoinParams(coin_j2, shares(counts.items_g + self.smoothing))

    def objective(self, params: CoinParams, counts: ExpectedCounts) -> float:
        """The log-posterior up to a constant: log-likelihood plus Beta and Dirichlet log-priors."""
        if self.smoothing == 0:
            return counts.evidence
        return counts.evidence + self.smoothing * float(np.log(params.coin_j2).sum() + np.log(params.prior_k).sum())

    def tables(self, params: CoinParams) -> Tables:
        """The log-probability of each vote under each class."""
        return confusion_tables(coin_confusions(params.coin_j2[:, 0], len(params.prior_k)), params.prior_k)
