"""One coin: each worker has one probability of being right for all classes; wrong labels are equally likely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import shares
from majorant.methods.dawid_skene import NO_VOTES
from majorant.methods.em import pseudo_votes, run_em, start_counts, stop_early
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    coin_confusions,
    confusion_tables,
    expect,
    prepare,
    share_counts,
)
from majorant.values import TINY, FloatArray
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
        Right and wrong pseudo-votes of each worker: one number for both, which also counts as pseudo-items of each
        class, or a pair. By default, half a pseudo-vote (more if workers gave fewer than ten votes per class), as often
        right as the votes of the whole crowd. 0 is maximum likelihood.
    min_rise, max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "one-coin"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, naive_bayes=True)

    smoothing: float | tuple[float, float] | None = None
    min_rise: float | None = 1e-5
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Accuracy of each worker, prior and posterior; starts from the vote shares, or from an earlier fit."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        counts = share_counts(data)
        model = self if self.smoothing is not None else replace(self, smoothing=crowd_smoothing(counts))
        first = model.m_step(counts if data.start is None else start_counts(data))
        stop = None if self.min_rise is None else stop_early(data, self.tables, self.min_rise)
        solution = run_em(model, data, first, stop=stop)
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
        coin_j2 = shares(np.stack([right_j, wrong_j], axis=1) + self._coin)
        return CoinParams(coin_j2, shares(counts.items_g + self._items))

    def objective(self, params: CoinParams, counts: ExpectedCounts) -> float:
        """The log-posterior up to a constant: log-likelihood plus Beta and Dirichlet log-priors."""
        if not np.any(self._coin):
            return counts.evidence
        log_prior = (self._coin * np.log(params.coin_j2)).sum() + self._items * np.log(params.prior_k).sum()
        return counts.evidence + float(log_prior)

    @property
    def _coin(self) -> FloatArray:
        """Right and wrong pseudo-votes."""
        return np.asarray(0.0 if self.smoothing is None else self.smoothing)

    @property
    def _items(self) -> float:
        """Pseudo-items in each class."""
        return float(self._coin) if self._coin.ndim == 0 else NO_VOTES

    def tables(self, params: CoinParams) -> Tables:
        """The log-probability of each vote under each class."""
        return confusion_tables(coin_confusions(params.coin_j2[:, 0], len(params.prior_k)), params.prior_k)


def crowd_smoothing(counts: ExpectedCounts) -> tuple[float, float]:
    """Right and wrong pseudo-votes in the proportion of the whole crowd; `counts` are those of the vote shares."""
    pooled_kl = counts.votes_jgl.sum(axis=0)
    right = float(pooled_kl.trace() / max(pooled_kl.sum(), TINY))
    total = pseudo_votes(counts)
    return max(total * right, NO_VOTES), max(total * (1 - right), NO_VOTES)
