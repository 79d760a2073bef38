"""Hierarchical Dawid-Skene: each worker's confusion rows are drawn around the crowd's, tilted by the worker's skill."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from majorant.kernels import Block, scatter, shares
from majorant.methods.base import EmModel, learned_of, start_counts
from majorant.methods.em import Prepared, Progress, Solution, Steps, run_em, table_fit
from majorant.methods.fit import Fit
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    by_worker,
    confusion_tables,
    divergence,
    expected_log,
    posterior,
    vote_rows,
)
from majorant.values import FloatArray
from majorant.votes import Votes

MOST_GROWTH = 1.5  # of the logarithm of a strength in one step
NEARBY = 1e-3  # a difference quotient of digamma costs far less than trigamma
NEAR_ZERO = 1e-12
STRENGTH_ROUNDING = 1e-13
FIRST_STRENGTH = 10.0
FIRST_ODDS_SPREAD, MOST_ODDS_SPREAD = 0.5, 3.0
ROUND = Steps(max_iter=20, tol=1e-3, accelerate=True)  # of the climb at each spread on trial
MOST_ROUNDS = 8
SAME_SPREAD = 0.02  # two spreads that differ by less are one
LEAST_KNOWN = 0.05  # share of what a worker's votes say of the odds that survives not knowing the classes


class CrowdParams(NamedTuple):
    """Dirichlet parameters of each worker's rows, the crowd and the classes, and each worker's odds of being right."""

    votes_jkl: FloatArray
    crowd_kl: FloatArray  # strength times the crowd's matrix
    odds_j: FloatArray  # relative to the crowd's
    items_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical(EmModel):
    """Dawid-Skene whose worker rows are drawn around the crowd's, as near as the data say; empirical Bayes.

    Row k of worker j is drawn from Dirichlet(strength_k * mean_jk); mean_jk is row k of the crowd's matrix with the
    odds of the right label multiplied by odds_j, log-normal with standard deviation `spread`.  Crowd, strengths and
    odds are those that make the votes most probable, by a variational bound; the spread is the one that makes them
    most probable with the odds integrated out, 0 included, unless it is given.  So the model moves between one matrix
    for all (great strength, spread 0), one coin each (great strength) and a matrix each (small strength).  Labels
    follow from the workers' mean matrices: those of a worker with few votes are the crowd's.

    The strength has a weak Gamma prior, `shape` and `rate`, the crowd's rows have `right` and `wrong` imaginary votes.
    How the defaults were chosen, and what they gain: docs/methods/hierarchical.md.  `learned` holds "crowd" (K, K),
    "strength" (K,), "odds" (J,) and "spread".

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Hierarchical().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "hierarchical"
    tables_per_worker: ClassVar[int] = 1

    spread: float | None = None  # None: learned from the votes
    tied: bool = False
    shape: float = 2.0
    rate: float = 0.01
    right: float = 16.0
    wrong: float = 4.0
    items: float = 1.0
    tol: float = 1e-5

    def tables(self, params: CrowdParams) -> Tables:
        """Expected log-probabilities."""
        return Tables(vote_rows(expected_log(params.votes_jkl)), expected_log(params.items_k))

    def m_step(self, counts: ExpectedCounts, params: CrowdParams | None) -> CrowdParams:
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
        if self._spread > 0 and len(crowd_kl) > 1:
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
        step_k = rise_k / np.maximum(-turn_k, np.abs(rise_k) / MOST_GROWTH + NEAR_ZERO)
        before_k = self._log_strength(votes_jkl, mean_jkl, strength_k)
        for _ in range(3):
            tried_k = strength_k * np.exp(step_k)
            up_k = self._log_strength(votes_jkl, mean_jkl, tried_k) >= before_k - STRENGTH_ROUNDING * np.abs(before_k)
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
        shift_j = (push_jk - 2 * curve_jk * logit_k).sum(axis=1) / (2 * curve_jk.sum(axis=1) + self._spread**-2)
        base_push_k, base_curve_k = np.diag(base_kl) - base_kl.sum(axis=1) / 2, base_kl.sum(axis=1) * _curve(logit_k)
        push_k, curve_k = push_jk.sum(axis=0) + base_push_k, curve_jk.sum(axis=0) + base_curve_k
        logit_k = (push_k - 2 * shift_j @ curve_jk) / (2 * curve_k)
        # Votes see the sum of the two alone; how it is divided, the priors say, and steps of each would take long.
        pull = 2 * (base_curve_k @ logit_k) - base_push_k.sum() - shift_j.sum() / self._spread**2
        move = pull / (2 * base_curve_k.sum() + len(shift_j) / self._spread**2)
        logit_k, shift_j = logit_k - move, shift_j + move
        return 1 / (1 + np.exp(-logit_k)), np.exp(shift_j)

    def log_prior(self, params: CrowdParams, tables: Tables) -> float:
        """The log-density of the crowd, less the divergence of workers and classes from their priors."""
        n_classes = len(params.items_k)
        strength_k = params.crowd_kl.sum(axis=1)[: 1 if self.tied else None]
        log_crowd = (self._base(n_classes) * np.log(shares(params.crowd_kl))).sum()
        log_strength = ((self.shape - 1) * np.log(strength_k) - self.rate * strength_k).sum()
        log_odds = -((np.log(params.odds_j) / self._spread) ** 2).sum() / 2 if self._spread > 0 else 0.0
        log_vote_jkl = by_worker(tables.log_vote_cg, n_classes)
        from_crowd = divergence(params.votes_jkl, tilt(params.crowd_kl, params.odds_j), log_vote_jkl)
        from_classes = divergence(params.items_k, np.full(n_classes, self.items))
        return float(log_crowd + log_strength + log_odds) - from_crowd - from_classes

    @property
    def _spread(self) -> float:
        return FIRST_ODDS_SPREAD if self.spread is None else self.spread

    def _base(self, n_classes: int) -> FloatArray:
        return np.where(np.eye(n_classes, dtype=bool), self.right, self.wrong)

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """Mean confusion matrices, crowd, strength, odds and posterior."""
        earlier = learned_of(start, self.name, votes, *CrowdParams._fields)
        if start is None or earlier is None:
            model, begin = self, self.m_step(start_counts(start, votes, prepared), None)
        else:
            model = replace(self, spread=float(start.learned["spread"])) if self.spread is None else self
            begin = CrowdParams(*earlier)
        if self.spread is None:
            model, begin = model.settle_spread(prepared, begin, progress)
        solution = run_em(model, prepared, begin, progress)
        return model._fit_of(votes, prepared, solution)

    def settle_spread(
        self, prepared: Prepared, params: CrowdParams, progress: Progress | None
    ) -> tuple[Hierarchical, CrowdParams]:
        """The model at the spread that the votes speak for, and parameters near its own."""
        model = replace(self, spread=self._spread)
        for _ in range(MOST_ROUNDS if len(params.items_k) > 1 else 0):
            limits = ROUND._replace(max_iter=min(ROUND.max_iter, self.max_iter))
            params = run_em(model, prepared, params, progress, limits).params
            spread = likely_spread(*odds_evidence(params, doubts(prepared, self.tables(params))))
            if abs(spread - model._spread) <= SAME_SPREAD * max(1.0, spread):
                break
            model = replace(self, spread=spread)
            if spread == 0:
                params = params._replace(odds_j=np.ones_like(params.odds_j))
        return model, params

    def _fit_of(self, votes: Votes, prepared: Prepared, solution: Solution[CrowdParams]) -> Fit:
        votes_jkl, crowd_kl, odds_j, items_k = solution.params
        crowd = {"crowd": shares(crowd_kl), "strength": crowd_kl.sum(axis=1), "odds": odds_j}
        means = {"confusion": shares(votes_jkl), "prior": shares(items_k)}
        return table_fit(
            self,
            votes,
            prepared,
            solution,
            tables=confusion_tables(*means.values()),
            **means,
            learned={**crowd, "spread": np.array(self._spread), **solution.params._asdict()},
        )


def doubts(prepared: Prepared, tables: Tables) -> FloatArray:
    """The sum of q (1 - q) over a worker's votes for each label, q the probability that the vote is right, (J, K)."""
    n_labels = prepared.totals.n_labels

    def step(block: Block) -> FloatArray:
        posterior_ik = posterior(block, tables)
        return scatter(block, posterior_ik * (1 - posterior_ik))

    sums_clk = prepared.engine.map_sum(step).reshape(-1, n_labels, n_labels)
    return np.asarray(np.einsum("jll->jl", sums_clk))


def odds_evidence(params: CrowdParams, doubt_jl: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How far each worker's votes push the logarithm of the odds from 0, and how much they know of it.

    That is slope and curvature at 0 of a parabola that touches the log-probability of the votes at the present odds,
    rows integrated out.  Classes that are not known take from the curvature what the slope varies with them (Louis
    1982); else noise in the votes would pass for differences between workers.
    """
    from scipy.special import digamma, polygamma

    log_odds_j = np.log(params.odds_j)
    votes_jkl = np.maximum(params.votes_jkl - tilt(params.crowd_kl, params.odds_j), 0.0)
    diagonal = np.eye(len(params.crowd_kl), dtype=bool)
    wrong_kl = np.where(diagonal, 0.0, params.crowd_kl)

    def turn(x_j: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rows' Dirichlet parameters and their derivatives."""
        prior_jkl = tilt(params.crowd_kl, np.exp(x_j))
        right_jk, strength_k = np.einsum("jkk->jk", prior_jkl), params.crowd_kl.sum(axis=1)
        moved_jk = right_jk * (1 - right_jk / strength_k)
        return prior_jkl, moved_jk[:, :, None] * np.where(diagonal, 1.0, -shares(wrong_kl))

    def slope(x_j: FloatArray) -> FloatArray:
        prior_jkl, turn_jkl = turn(x_j)
        return np.asarray(((digamma(votes_jkl + prior_jkl) - digamma(prior_jkl)) * turn_jkl).sum(axis=(1, 2)))

    prior_jkl, turn_jkl = turn(log_odds_j)
    by_vote_jkl = polygamma(1, votes_jkl + prior_jkl) * turn_jkl  # by how much one vote more moves the slope
    wrong_jkl = np.where(diagonal, 0.0, votes_jkl + NEAR_ZERO)
    by_right_jl = np.einsum("jll->jl", by_vote_jkl)
    by_wrong_jl = (wrong_jkl * by_vote_jkl).sum(axis=1) / wrong_jkl.sum(axis=1)
    unknown_j = ((by_right_jl - by_wrong_jl) ** 2 * doubt_jl).sum(axis=1)
    curve_j = np.maximum((slope(log_odds_j - NEARBY) - slope(log_odds_j + NEARBY)) / (2 * NEARBY), NEAR_ZERO)
    known_j = np.maximum(curve_j - unknown_j, LEAST_KNOWN * curve_j)
    return slope(log_odds_j) + known_j * log_odds_j, known_j


def likely_spread(slope_j: FloatArray, known_j: FloatArray) -> float:
    """The standard deviation of numbers around 0 that makes noisy sights of them most probable; 0 where noise is all.

    What is seen of number j is slope_j / known_j, with variance 1 / known_j.

    >>> round(likely_spread(np.array([2.0, -2.0]), np.ones(2)) ** 2, 6)  # the variance seen less that of the noise
    3.0
    >>> likely_spread(np.array([1.0, -1.0]), np.ones(2))
    0.0
    """

    def rise(variance: float) -> float:
        spread_j = 1 + variance * known_j
        return float(((slope_j / spread_j) ** 2 - known_j / spread_j).sum())

    def height(variance: float) -> float:
        spread_j = 1 + variance * known_j
        return float((variance * slope_j**2 / spread_j - np.log(spread_j)).sum())

    grid = np.append(0.0, np.geomspace(0.02, MOST_ODDS_SPREAD, 24) ** 2)
    best = int(np.argmax([height(variance) for variance in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    if rise(low) <= 0 or rise(high) >= 0:
        return float(np.sqrt(grid[best]))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rise(middle) > 0 else (low, middle)
    return float(np.sqrt((low + high) / 2))


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
