"""BWA (Li, Rubinstein & Cohn 2019): a weighted mean of votes, with a Gaussian precision learned for each worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import Block, gather, scatter, shares, weighted_sum
from majorant.methods.em import run_em, start_params
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import Totals, VoteData, prepare, vote_shares
from majorant.values import FloatArray
from majorant.votes import Votes


class PrecisionParams(NamedTuple):
    """The precision of each worker for each scored class, (J, C), the mean scores, (C,), and the prior."""

    precision_jc: FloatArray
    mean_c: FloatArray
    base_c: FloatArray  # the Gamma prior's squared error, which is not updated


class ScoreSums(NamedTuple):
    """Sums from an E step: scores and squared scores by (worker, label), and scores over items."""

    score_lc: FloatArray  # (workers * labels, C)
    square_lc: FloatArray
    sum_c: FloatArray
    distance: float  # squared distance of the scores from their mean


class Expected(NamedTuple):
    """Statistics for the M step: each worker's squared errors, and the mean score."""

    error_jc: FloatArray
    votes_j: FloatArray
    mean_c: FloatArray
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BWA:
    """One class against the rest: each 0/1 vote is the item's score plus Gaussian noise with the worker's precision.

    The posterior is the normalised scores; `skill` is each worker's precision, averaged over classes.

    Parameters
    ----------
    votes
        Weight of the Gamma prior on precisions: a number of pseudo-votes with the spread of the vote shares.
    pull
        Precision of the Gaussian prior that pulls scores towards their mean.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "bwa"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, vote_shares=True)

    votes: float = 15.0
    pull: float = 1.0
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Scores as shares, and precisions in `learned`; `start` must be a fit of this method."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        begin = self._start(data)
        earlier = start_params(data, self.name, *PrecisionParams._fields[:2])
        if earlier is not None:
            begin = PrecisionParams(earlier[0], earlier[1], begin.base_c)
        solution = run_em(self, data, begin)
        params, n_classes = solution.params, len(data.votes.labels)
        return data.fit_of(
            self,
            posterior=data.rows(lambda block: shares(_each_class(self._scores(block, params), n_classes))),
            prior=shares(_each_class(params.mean_c[None], n_classes))[0],
            skill=params.precision_jc.mean(axis=1),
            learned={"precision_jc": params.precision_jc, "mean_c": params.mean_c},
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: PrecisionParams) -> Expected:
        """Score each item by the mean of its votes, weighted by precision and pulled towards the mean of all scores."""
        sums = data.engine.map_sum(lambda block: _sum_scores(block, self._scores(block, params), params.mean_c))
        return _expect(sums, data.totals)

    def m_step(self, expected: Expected, params: PrecisionParams) -> PrecisionParams:
        """Precisions are inverse mean squared errors, including the pseudo-votes; also update the mean score."""
        precision_jc = (self.votes + expected.votes_j)[:, None] / (params.base_c + expected.error_jc)
        return PrecisionParams(precision_jc, expected.mean_c, params.base_c)

    def objective(self, params: PrecisionParams, expected: Expected) -> float:
        """The log-posterior up to a constant."""
        error_c = ((params.base_c + expected.error_jc) * params.precision_jc).sum(axis=0)
        log_c = (self.votes + expected.votes_j) @ np.log(params.precision_jc)
        return float((log_c - error_c).sum() - self.pull * expected.distance) / 2

    def _start(self, data: VoteData) -> PrecisionParams:
        """Parameters that follow if vote shares are the scores; their spread sets the prior of the precisions."""
        totals, target_lc = data.totals, _targets(data.totals.n_labels)

        def step(block: Block) -> tuple[FloatArray, ScoreSums]:
            score_ic = vote_shares(block, totals) @ target_lc
            votes_i = block.matrix @ np.ones(block.matrix.shape[1])
            spread_c = weighted_sum(block, votes_i[:, None] * score_ic * (1 - score_ic))
            return spread_c, _sum_scores(block, score_ic, np.zeros(target_lc.shape[1]))

        spread_c, sums = data.engine.map_sum(step)
        # Unanimous votes have no spread at all, but no worker is infinitely precise.
        spread_c = np.maximum(spread_c / max(float(totals.votes_c.sum()), 1.0), 1e-3)
        base_c = self.votes * spread_c * 4 * (1 - 1 / max(totals.n_labels, 2))
        return self.m_step(_expect(sums, totals), PrecisionParams(np.empty(0), np.empty(0), base_c))

    def _scores(self, block: Block, params: PrecisionParams) -> FloatArray:
        target_lc = _targets(block.n_classes)
        n_columns = target_lc.shape[1]
        both_l = np.concatenate([target_lc, np.ones_like(target_lc)], axis=1)
        table = np.tile(params.precision_jc, 2)[:, None, :] * both_l
        sums_i = _by_column(gather, block, table.reshape(-1, 2 * n_columns))
        score_ic = (sums_i[:, :n_columns] + self.pull * params.mean_c) / (sums_i[:, n_columns:] + self.pull)
        if block.gold_i is not None:
            known = np.flatnonzero(block.gold_i >= 0)
            score_ic[known] = target_lc[block.gold_i[known]]
        return score_ic


def _expect(sums: ScoreSums, totals: Totals) -> Expected:
    target_lc = _targets(totals.n_labels)
    shape = (totals.n_workers, totals.n_labels, -1)
    votes_jl = totals.votes_c.reshape(totals.n_workers, -1)
    cross_jc = (sums.score_lc.reshape(shape) * target_lc).sum(axis=1)
    error_jc = np.maximum(votes_jl @ target_lc - 2 * cross_jc + sums.square_lc.reshape(shape).sum(axis=1), 0.0)
    return Expected(error_jc, votes_jl.sum(axis=1), sums.sum_c / max(totals.items, 1e-300), sums.distance)


def _sum_scores(block: Block, score_ic: FloatArray, mean_c: FloatArray) -> ScoreSums:
    n_columns = score_ic.shape[1]
    sums_l = _by_column(scatter, block, np.concatenate([score_ic, score_ic**2], axis=1))
    distance = float(weighted_sum(block, (score_ic - mean_c) ** 2).sum())
    return ScoreSums(sums_l[:, :n_columns], sums_l[:, n_columns:], weighted_sum(block, score_ic), distance)


def _targets(n_labels: int) -> FloatArray:
    """Which label counts as 1 in each column, (K, C); for two classes, one column is enough."""
    return np.eye(2)[:, 1:] if n_labels == 2 else np.eye(n_labels)


def _each_class(score_ic: FloatArray, n_classes: int) -> FloatArray:
    return np.concatenate([1 - score_ic, score_ic], axis=1) if n_classes == 2 else score_ic


def _by_column(pass_over: Callable[[Block, FloatArray], FloatArray], block: Block, value: FloatArray) -> FloatArray:
    """Process one or two columns as vectors, which SciPy multiplies several times faster than a matrix."""
    if value.shape[1] > 2:
        return pass_over(block, value)
    return np.stack([pass_over(block, np.ascontiguousarray(column)) for column in value.T], axis=1)
