"""Hierarchical Dawid-Skene: each worker's confusion rows are drawn around the crowd's, tilted by the worker's skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.confusion import learned_of, start_counts, vote_rows
from majorant.estimate.dirichlet import divergence, expected_log
from majorant.estimate.em import Progress, prepare, run_em, table_fit
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.tables import Counts, Tables
from majorant.kernels import FloatArray, shares
from majorant.votes import Votes

MOST_GROWTH = 1.5  # of the logarithm of a strength in one step
NEARBY = 1e-3  # a difference quotient of digamma costs far less than trigamma
TINY = 1e-12
ROUNDING = 1e-13
FIRST_STRENGTH = 10.0


class CrowdParams(NamedTuple):
    """Dirichlet parameters of each worker's rows, the crowd and the classes, and each worker's odds of being right."""

    votes_jkl: FloatArray
    crowd_kl: FloatArray  # strength times the crowd's matrix
    odds_j: FloatArray  # relative to the crowd's
    items_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical(Estimator):
    """Dawid-Skene whose worker rows are drawn around the crowd's, as near as the data say; empirical Bayes.

    Row k of worker j is drawn from Dirichlet(strength_k * mean_jk); mean_jk is row k of the crowd's matrix with the
    odds of the right label multiplied by odds_j, log-normal with standard deviation `spread` (0: no odds).  Crowd,
    strengths and odds are those that make the votes most probable, by a variational bound.  So the model moves between
    one matrix for all (great strength, odds near 1), one coin each (great strength) and a matrix each (small strength).

    The strength has a weak Gamma prior, `shape` and `rate`, the crowd's rows have `right` and `wrong` imaginary votes.
    The defaults predict held-out votes best of all combinations tried (benchmarks/hierarchical_choice.py: six public
    sets, twelve simulations): they lose .004 nats a vote on average to the best model of each set and .012 at worst,
    against .019 and .17 without odds, .051 and .22 for ibcc, .054 and .44 for one-coin, .20 and .91 for dawid-skene.
    One strength for all classes (`tied`) loses .0055.  `learned` holds "crowd" (K, K), "strength" (K,), "odds" (J,).

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Hierarchical().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "hierarchical"
    monotone: ClassVar[bool] = True
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    spread: float = 1.0
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
            crowd_kl, odds_j = FIRST_STRENGTH * shares(pooled_kl), np.ones(len(counts.votes_jgl))
        else:
            crowd_kl, odds_j = params.crowd_kl, params.odds_j
        crowd_kl, odds_j = self.raise_crowd(counts.votes_jgl, crowd_kl, odds_j)
        return CrowdParams(counts.votes_jgl + tilt(crowd_kl, odds_j), crowd_kl, odds_j, counts.items_g + self.items)

    def raise_crowd(
        self, votes_jkl: FloatArray, crowd_kl: FloatArray, odds_j: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """A crowd and odds that make the votes more probable, the workers' rows integrated out.

        Minka's fixed point bounds that log-probability by sum_jkl gain_jkl log prior_jkl, from which the odds and the
        shares of wrong labels follow; then a Newton step for the strength.  Nothing leads down.
        """
        from scipy.special import digamma

        prior_jkl = tilt(crowd_kl, odds_j)
        gain_jkl = np.maximum(prior_jkl * (digamma(votes_jkl + prior_jkl) - digamma(prior_jkl)), 0.0)
        mean_kl = shares(gain_jkl.sum(axis=0) + self._base(len(crowd_kl)))
        if self.spread > 0 and len(crowd_kl) > 1:
            right_k, odds_j = self._odds(gain_jkl, shares(crowd_kl), odds_j)
            diagonal = np.eye(len(crowd_kl), dtype=bool)
            wrong_kl = shares(np.where(diagonal, 0.0, mean_kl))
            mean_kl = np.where(diagonal, right_k[:, None], (1 - right_k)[:, None] * wrong_kl)
        strength_k = self._strength(votes_jkl, tilt(mean_kl, odds_j), crowd_kl.sum(axis=1))
        return strength_k[:, None] * mean_kl, odds_j

    def _strength(self, votes_jkl: FloatArray, mean_jkl: FloatArray, strength_k: FloatArray) -> FloatArray:
        """A strength for each class that makes the votes more probable: a Newton step in its logarithm, if it does."""
        rise_k = self._rise(votes_jkl, mean_jkl, strength_k)
        turn_k = (self._rise(votes_jkl, mean_jkl, strength_k * np.exp(NEARBY)) - rise_k) / NEARBY
        step_k = rise_k / np.maximum(-turn_k, np.abs(rise_k) / MOST_GROWTH + TINY)
        before_k = self._log_strength(votes_jkl, mean_jkl, strength_k)
        for _ in range(3):
            tried_k = strength_k * np.exp(step_k)
            up_k = self._log_strength(votes_jkl, mean_jkl, tried_k) >= before_k - ROUNDING * np.abs(before_k)
            if up_k.all():
                return tried_k
            step_k = np.where(up_k, step_k, step_k / 4)
        return np.where(up_k, tried_k, strength_k)

    def _rise(self, votes_jkl: FloatArray, mean_jkl: FloatArray, strength_k: FloatArray) -> FloatArray:
        """The derivative of `_log_strength` by the logarithm of the strength."""
        from scipy.special import digamma

        prior_jkl = strength_k[:, None] * mean_jkl
        rows_k = (prior_jkl * (digamma(votes_jkl + prior_jkl) - digamma(prior_jkl))).sum(axis=(0, 2))
        rows_k += strength_k * (digamma(strength_k) - digamma(votes_jkl.sum(axis=2) + strength_k)).sum(axis=0)
        return self._pooled(rows_k) + self.shape - 1 - self.rate * strength_k

    def _log_strength(self, votes_jkl: FloatArray, mean_jkl: FloatArray, strength_k: FloatArray) -> FloatArray:
        """The log-probability of strengths given the votes, by class (the same for all if tied), up to a constant."""
        from scipy.special import gammaln

        prior_jkl = strength_k[:, None] * mean_jkl
        rows_k = (gammaln(votes_jkl + prior_jkl) - gammaln(prior_jkl)).sum(axis=(0, 2))
        rows_k += (gammaln(strength_k) - gammaln(votes_jkl.sum(axis=2) + strength_k)).sum(axis=0)
        return self._pooled(rows_k) + (self.shape - 1) * np.log(strength_k) - self.rate * strength_k

    def _pooled(self, value_k: FloatArray) -> FloatArray:
        return np.full_like(value_k, value_k.sum()) if self.tied else value_k

    def _odds(self, gain_jkl: FloatArray, mean_kl: FloatArray, odds_j: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The crowd's probability of being right in each class, and each worker's odds relative to it.

        A logistic regression on class and worker, one step of each under a quadratic bound that touches.
        """
        total_jk = gain_jkl @ np.ones(gain_jkl.shape[2])
        right_jk = np.einsum("jkk->jk", gain_jkl)
        right_k, base_kl = np.diag(mean_kl), self._base(len(mean_kl))
        logit_k, shift_j = np.log(right_k) - np.log1p(-right_k), np.log(odds_j)
        x_jk = logit_k + shift_j[:, None]
        curve_jk = total_jk * _curve(x_jk)
        push_jk = right_jk - total_jk / 2
        shift_j = (push_jk - 2 * curve_jk * logit_k).sum(axis=1) / (2 * curve_jk.sum(axis=1) + self.spread**-2)
        push_k = push_jk.sum(axis=0) + np.diag(base_kl) - base_kl.sum(axis=1) / 2
        curve_k = curve_jk.sum(axis=0) + base_kl.sum(axis=1) * _curve(logit_k)
        logit_k = (push_k - 2 * shift_j @ curve_jk) / (2 * curve_k)
        return 1 / (1 + np.exp(-logit_k)), np.exp(shift_j)

    def log_prior(self, params: CrowdParams) -> float:
        """The log-density of the crowd, less the divergence of workers and classes from their priors."""
        n_classes = len(params.items_k)
        strength_k = params.crowd_kl.sum(axis=1)[: 1 if self.tied else None]
        log_crowd = (self._base(n_classes) * np.log(shares(params.crowd_kl))).sum()
        log_strength = ((self.shape - 1) * np.log(strength_k) - self.rate * strength_k).sum()
        log_odds = -((np.log(params.odds_j) / self.spread) ** 2).sum() / 2 if self.spread > 0 else 0.0
        from_crowd = divergence(params.votes_jkl, tilt(params.crowd_kl, params.odds_j))
        from_classes = divergence(params.items_k, np.full(n_classes, self.items))
        return float(log_crowd + log_strength + log_odds) - from_crowd - from_classes

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
        votes_jkl, crowd_kl, odds_j, items_k = solution.params
        crowd = {"crowd": shares(crowd_kl), "strength": crowd_kl.sum(axis=1), "odds": odds_j}
        means = {"confusion": shares(votes_jkl), "prior": shares(items_k)}
        return table_fit(self, votes, prepared, solution, **means, learned={**crowd, **solution.params._asdict()})


def tilt(crowd_kl: FloatArray, odds_j: FloatArray) -> FloatArray:
    """The crowd's rows with the odds of the right label multiplied by each worker's, (J, K, K); row sums stay.

    >>> tilt(np.array([[6.0, 4.0], [2.0, 8.0]]), np.array([1.0, 2.0])).round(2).tolist()
    [[[6.0, 4.0], [2.0, 8.0]], [[7.5, 2.5], [1.11, 8.89]]]
    """
    factor_jkl = 1 + (odds_j - 1)[:, None, None] * np.eye(len(crowd_kl))
    tilted_jkl = crowd_kl * factor_jkl
    return np.asarray(shares(tilted_jkl) * crowd_kl.sum(axis=1)[:, None])


def _curve(x: FloatArray) -> FloatArray:
    """tanh(x / 2) / 4x, the curvature of the quadratic bound on a logistic likelihood that touches it at x."""
    size = np.maximum(np.abs(x), 1e-4)
    return np.asarray(np.tanh(size / 2) / (4 * size))
