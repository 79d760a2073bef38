"""Hierarchical Dawid-Skene: each worker's confusion rows vary around the crowd's, tilted by the worker's skill."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import Block, scatter, shares
from majorant.methods.em import run_em, start_counts, start_params
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    by_worker,
    confusion_tables,
    divergence,
    expect,
    expected_log,
    lean_to_diagonal,
    posterior,
    prepare,
    sum_first,
    sum_last,
    vote_rows,
)
from majorant.values import FloatArray
from majorant.votes import Votes

DIFFERENCE = 1e-3  # step of difference quotients of digamma, which are much faster than trigamma
ALMOST_ZERO = 1e-12


class CrowdParams(NamedTuple):
    """Dirichlet parameters of each worker's rows, of the crowd and of the classes, and each worker's odds."""

    votes_jkl: FloatArray
    crowd_kl: FloatArray  # strength times the crowd's matrix
    odds_j: FloatArray  # odds of being right, relative to the crowd's
    items_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchical:
    """Dawid-Skene with rows drawn around the crowd's; a rare label may lose although it is an item's only vote.

    The votes decide how much worker rows vary around the crowd's (empirical Bayes).

    Row k of worker j is drawn from Dirichlet(strength_k * mean_jk), where mean_jk is row k of the crowd's matrix with
    the odds of the right label multiplied by odds_j, which is log-normal with standard deviation `spread`. Crowd,
    strengths and odds maximise a variational bound on the probability of the votes; the spread maximises it with the
    odds integrated out. So the model adapts between one matrix for all (high strength, spread 0), one coin per worker
    (high strength) and one matrix per worker (low strength). Labels are based on the workers' mean matrices; a worker
    with few votes has nearly the crowd's matrix.

    `learned` holds "crowd" (K, K), "strength" (K,), "odds" (J,) and "spread". docs/methods.md explains how
    the defaults were chosen.

    Parameters
    ----------
    spread
        Standard deviation of the workers' log-odds; None means that it is learned from the votes.
    shape, rate
        Gamma prior of the strengths.
    right, wrong
        Pseudo-votes on and off the diagonal of the crowd's matrix.
    items
        Pseudo-items of each class.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "hierarchical"
    traits: ClassVar[Traits] = Traits(
        iterative=True, monotone=True, distributed=True, naive_bayes=True, tables_per_worker=1
    )

    spread: float | None = None
    shape: float = 2.0
    rate: float = 0.01
    right: float = 16.0
    wrong: float = 4.0
    items: float = 1.0
    max_iter: int = 200
    tol: float = 1e-5
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Mean confusion matrices, crowd, strength, odds and posterior."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        earlier = start_params(data, self.name, *CrowdParams._fields)
        model = self if self.spread is not None else replace(self, spread=0.5)
        if data.start is None or earlier is None:
            begin = model.m_step(start_counts(data), None)
        else:
            begin = CrowdParams(*earlier)
            if self.spread is None:
                model = replace(self, spread=float(data.start.learned["spread"]))
        if self.spread is None:
            model, begin = model.learn_spread(data, begin)
        solution = run_em(model, data, begin)
        votes_jkl, crowd_kl, odds_j, items_k = solution.params
        crowd = {"crowd": shares(crowd_kl), "strength": crowd_kl.sum(axis=1), "odds": odds_j}
        confusion_jkl, prior_k = shares(votes_jkl), shares(items_k)
        return data.fit_of(
            self,
            posterior=data.posterior(confusion_tables(confusion_jkl, prior_k)),
            confusion=confusion_jkl,
            prior=prior_k,
            learned={**crowd, "spread": np.array(model.spread), **solution.params._asdict()},
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: CrowdParams) -> ExpectedCounts:
        """The posterior of each item under expected log-probabilities, and the expected votes under it."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: CrowdParams | None) -> CrowdParams:
        """Update the crowd so that the expected votes are more probable, then each worker's rows given the crowd."""
        if params is None:  # start with a strength of ten votes
            pooled_kl = counts.votes_jgl.sum(axis=0) + self._base(len(counts.items_g))
            crowd_kl, odds_j = 10.0 * shares(pooled_kl), np.ones(len(counts.votes_jgl))
        else:
            crowd_kl, odds_j = params.crowd_kl, params.odds_j
        crowd_kl, odds_j = self.raise_crowd(counts.votes_jgl, crowd_kl, odds_j)
        return CrowdParams(counts.votes_jgl + tilt(crowd_kl, odds_j), crowd_kl, odds_j, counts.items_g + self.items)

    def objective(self, params: CrowdParams, counts: ExpectedCounts) -> float:
        """The bound: the evidence plus the log-density of the crowd, minus the divergence from the priors."""
        assert counts.tables is not None
        n_classes = len(params.items_k)
        strength_k = params.crowd_kl.sum(axis=1)
        log_crowd = (self._base(n_classes) * np.log(shares(params.crowd_kl))).sum()
        log_strength = ((self.shape - 1) * np.log(strength_k) - self.rate * strength_k).sum()
        log_odds = -((np.log(params.odds_j) / self.spread) ** 2).sum() / 2 if self.spread else 0.0
        log_vote_jkl = by_worker(counts.tables.log_vote_cg, n_classes)
        from_crowd = divergence(params.votes_jkl, tilt(params.crowd_kl, params.odds_j), log_vote_jkl)
        from_classes = divergence(params.items_k, np.full(n_classes, self.items))
        return counts.evidence + (float(log_crowd + log_strength + log_odds) - from_crowd - from_classes)

    def tables(self, params: CrowdParams) -> Tables:
        """The expected log-probability of each vote under each class."""
        return Tables(vote_rows(expected_log(params.votes_jkl)), expected_log(params.items_k))

    def raise_crowd(
        self, votes_jkl: FloatArray, crowd_kl: FloatArray, odds_j: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Update the crowd and the odds so that the votes are more probable, with the workers' rows integrated out.

        Minka's fixed point bounds this log-probability by sum_jkl gain_jkl log prior_jkl, which yields the odds and the
        shares of wrong labels; the strength gets a Newton step. No step lowers the bound.
        """
        from scipy.special import digamma

        prior_jkl = tilt(crowd_kl, odds_j)
        gain_jkl = np.maximum(prior_jkl * (digamma(votes_jkl + prior_jkl) - digamma(prior_jkl)), 0.0)
        mean_kl = shares(sum_first(gain_jkl) + self._base(len(crowd_kl)))
        if self.spread and len(crowd_kl) > 1:
            right_k, odds_j = self._raise_odds(gain_jkl, shares(crowd_kl), odds_j, self.spread)
            diagonal = np.eye(len(crowd_kl), dtype=bool)
            wrong_kl = shares(np.where(diagonal, 0.0, mean_kl))
            mean_kl = np.where(diagonal, right_k[:, None], (1 - right_k)[:, None] * wrong_kl)
        strength_k = self._raise_strength(votes_jkl, tilt(mean_kl, odds_j), crowd_kl.sum(axis=1))
        return strength_k[:, None] * mean_kl, odds_j

    def _raise_odds(
        self, gain_jkl: FloatArray, mean_kl: FloatArray, odds_j: FloatArray, spread: float
    ) -> tuple[FloatArray, FloatArray]:
        """Update the crowd's probability of being right in each class, and each worker's odds relative to it.

        A logistic regression on class and worker: one step for each, under a quadratic bound on the likelihood.
        """
        total_jk = sum_last(gain_jkl)
        right_jk = np.einsum("jkk->jk", gain_jkl)
        right_k, base_kl = np.diag(mean_kl), self._base(len(mean_kl))
        logit_k, shift_j = np.log(right_k) - np.log1p(-right_k), np.log(odds_j)
        x_jk = logit_k + shift_j[:, None]
        curve_jk = total_jk * _bound_curvature(x_jk)
        push_jk = right_jk - total_jk / 2
        shift_j = sum_last(push_jk - 2 * curve_jk * logit_k) / (2 * sum_last(curve_jk) + spread**-2)
        base_push_k = np.diag(base_kl) - base_kl.sum(axis=1) / 2
        base_curve_k = base_kl.sum(axis=1) * _bound_curvature(logit_k)
        push_k, curve_k = sum_first(push_jk) + base_push_k, sum_first(curve_jk) + base_curve_k
        logit_k = (push_k - 2 * shift_j @ curve_jk) / (2 * curve_k)
        # Votes depend only on the sum of the two; the priors determine its division, for which separate steps are slow.
        pull = 2 * (base_curve_k @ logit_k) - base_push_k.sum() - shift_j.sum() / spread**2
        move = pull / (2 * base_curve_k.sum() + len(shift_j) / spread**2)
        logit_k, shift_j = logit_k - move, shift_j + move
        return 1 / (1 + np.exp(-logit_k)), np.exp(shift_j)

    def _raise_strength(self, votes_jkl: FloatArray, mean_jkl: FloatArray, strength_k: FloatArray) -> FloatArray:
        """Update each class's strength by a Newton step in its logarithm, if that makes the votes more probable."""
        slope_k = self._slope(votes_jkl, mean_jkl, strength_k)
        bend_k = (self._slope(votes_jkl, mean_jkl, strength_k * np.exp(DIFFERENCE)) - slope_k) / DIFFERENCE
        step_k = slope_k / np.maximum(-bend_k, np.abs(slope_k) / 1.5 + ALMOST_ZERO)  # at most 1.5
        # A step is short only if the curve is clearly concave, so it cannot lower the bound.
        if (np.abs(step_k) < 0.1).all():
            return strength_k * np.exp(step_k)
        before_k = self._log_strength(votes_jkl, mean_jkl, strength_k)
        for _ in range(3):
            tried_k = strength_k * np.exp(step_k)
            up_k = self._log_strength(votes_jkl, mean_jkl, tried_k) >= before_k - 1e-13 * np.abs(before_k)
            if up_k.all():
                return tried_k
            step_k = np.where(up_k, step_k, step_k / 4)
        return np.where(up_k, tried_k, strength_k)

    def _slope(self, votes_jkl: FloatArray, mean_jkl: FloatArray, strength_k: FloatArray) -> FloatArray:
        """The derivative of `_log_strength` with respect to the log-strength."""
        from scipy.special import digamma

        prior_jkl = strength_k[:, None] * mean_jkl
        rows_k = sum_first(prior_jkl * (digamma(votes_jkl + prior_jkl) - digamma(prior_jkl))).sum(axis=1)
        rows_k += strength_k * sum_first(digamma(strength_k) - digamma(sum_last(votes_jkl) + strength_k))
        return np.asarray(rows_k + self.shape - 1 - self.rate * strength_k)

    def _log_strength(self, votes_jkl: FloatArray, mean_jkl: FloatArray, strength_k: FloatArray) -> FloatArray:
        """The log-probability of the strengths given the votes, by class, up to a constant."""
        from scipy.special import gammaln

        prior_jkl = strength_k[:, None] * mean_jkl
        rows_k = sum_first(gammaln(votes_jkl + prior_jkl) - gammaln(prior_jkl)).sum(axis=1)
        rows_k += sum_first(gammaln(strength_k) - gammaln(sum_last(votes_jkl) + strength_k))
        return np.asarray(rows_k + (self.shape - 1) * np.log(strength_k) - self.rate * strength_k)

    def _base(self, n_classes: int) -> FloatArray:
        return lean_to_diagonal(n_classes, self.right, self.wrong)

    def learn_spread(self, data: VoteData, params: CrowdParams) -> tuple[Hierarchical, CrowdParams]:
        """Learn the spread in a few rounds of a few EM steps; return a model with it, and parameters near its fit."""
        model = self
        for _ in range(8 if len(params.items_k) > 1 else 0):
            quick = replace(model, max_iter=min(20, self.max_iter), tol=1e-3, accelerate=True)
            params = run_em(quick, data, params).params
            spread = likely_spread(*odds_evidence(params, sum_doubts(data, self.tables(params))))
            if abs(spread - (model.spread or 0.0)) <= 0.02 * max(1.0, spread):
                break
            model = replace(self, spread=spread)
            if spread == 0:
                params = params._replace(odds_j=np.ones_like(params.odds_j))
        return model, params


def sum_doubts(data: VoteData, tables: Tables) -> FloatArray:
    """The sum of q (1 - q) over each worker's votes by label, (J, K); q is the probability that a vote is right."""
    n_labels = data.totals.n_labels

    def step(block: Block) -> FloatArray:
        posterior_ik = posterior(block, tables)
        return scatter(block, posterior_ik * (1 - posterior_ik))

    sums_clk = data.engine.map_sum(step).reshape(-1, n_labels, n_labels)
    return np.asarray(np.einsum("jll->jl", sums_clk))


def odds_evidence(params: CrowdParams, doubt_jl: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The score and information at 0 of each worker's votes about the log-odds.

    These are the slope and curvature at 0 of a parabola tangent to the log-probability of the votes at the current
    odds, with the rows integrated out. Because classes are unknown, the curvature is reduced by the variance of the
    slope over them (Louis 1982); otherwise noise in the votes would look like differences between workers.
    """
    from scipy.special import digamma, polygamma

    log_odds_j = np.log(params.odds_j)
    votes_jkl = np.maximum(params.votes_jkl - tilt(params.crowd_kl, params.odds_j), 0.0)
    diagonal = np.eye(len(params.crowd_kl), dtype=bool)
    wrong_kl = np.where(diagonal, 0.0, params.crowd_kl)

    def turn(x_j: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The Dirichlet parameters of the rows, and their derivatives."""
        prior_jkl = tilt(params.crowd_kl, np.exp(x_j))
        right_jk, strength_k = np.einsum("jkk->jk", prior_jkl), params.crowd_kl.sum(axis=1)
        moved_jk = right_jk * (1 - right_jk / strength_k)
        return prior_jkl, moved_jk[:, :, None] * np.where(diagonal, 1.0, -shares(wrong_kl))

    def slope(x_j: FloatArray) -> FloatArray:
        prior_jkl, turn_jkl = turn(x_j)
        return np.asarray(((digamma(votes_jkl + prior_jkl) - digamma(prior_jkl)) * turn_jkl).sum(axis=(1, 2)))

    prior_jkl, turn_jkl = turn(log_odds_j)
    by_vote_jkl = polygamma(1, votes_jkl + prior_jkl) * turn_jkl  # how much one more vote changes the slope
    wrong_jkl = np.where(diagonal, 0.0, votes_jkl + ALMOST_ZERO)
    by_right_jl = np.einsum("jll->jl", by_vote_jkl)
    by_wrong_jl = (wrong_jkl * by_vote_jkl).sum(axis=1) / wrong_jkl.sum(axis=1)
    unknown_j = ((by_right_jl - by_wrong_jl) ** 2 * doubt_jl).sum(axis=1)
    change_j = slope(log_odds_j - DIFFERENCE) - slope(log_odds_j + DIFFERENCE)
    curve_j = np.maximum(change_j / (2 * DIFFERENCE), ALMOST_ZERO)
    known_j = np.maximum(curve_j - unknown_j, 0.05 * curve_j)  # always keep some information
    return slope(log_odds_j) + known_j * log_odds_j, known_j


def likely_spread(slope_j: FloatArray, known_j: FloatArray) -> float:
    """The most likely standard deviation, around 0, of numbers observed with noise; 0 if noise explains everything.

    Number j is observed as slope_j / known_j, with variance 1 / known_j.

    >>> round(likely_spread(np.array([2.0, -2.0]), np.ones(2)) ** 2, 6)  # the variance seen, less that of the noise
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

    grid = np.append(0.0, np.geomspace(0.02, 3.0, 24) ** 2)
    best = int(np.argmax([height(variance) for variance in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    if rise(low) <= 0 or rise(high) >= 0:
        return float(np.sqrt(grid[best]))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rise(middle) > 0 else (low, middle)
    return float(np.sqrt((low + high) / 2))


def tilt(crowd_kl: FloatArray, odds_j: FloatArray) -> FloatArray:
    """The crowd's rows with the odds of the right label multiplied by each worker's, (J, K, K), and the same row sums.

    >>> tilt(np.array([[6.0, 4.0], [2.0, 8.0]]), np.array([1.0, 2.0])).round(2).tolist()
    [[[6.0, 4.0], [2.0, 8.0]], [[7.5, 2.5], [1.11, 8.89]]]
    """
    tilted_jkl = np.tile(crowd_kl, (len(odds_j), 1, 1))
    right_jk = np.einsum("jkk->jk", tilted_jkl)  # a view
    right_jk *= odds_j[:, None]
    return np.asarray(shares(tilted_jkl) * crowd_kl.sum(axis=1)[:, None])


def _bound_curvature(x: FloatArray) -> FloatArray:
    """tanh(x / 2) / 4x, the curvature of the quadratic bound on the logistic likelihood that is tangent at x."""
    size = np.maximum(np.abs(x), 1e-4)
    return np.asarray(np.tanh(size / 2) / (4 * size))
