"""BWA, Li, Rubinstein & Cohn 2019: a weighted mean of votes, with a Gaussian precision learned for each worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from majorant.kernels import Block, gather, scatter, shares, weighted_sum
from majorant.methods.base import EmModel, learned_of
from majorant.methods.em import Prepared, Progress, climb
from majorant.methods.fit import Fit, fit_of
from majorant.methods.tables import Totals, vote_shares
from majorant.values import FloatArray
from majorant.votes import Votes

LEAST_PRECISION_SPREAD = 1e-3  # unanimous votes have no spread at all, and no worker is that precise


class PrecisionParams(NamedTuple):
    """The precision of each worker for each scored class, (J, C), and the mean score of these, (C,)."""

    precision_jc: FloatArray
    mean_c: FloatArray


class Spread(NamedTuple):
    """What one pass adds up: for each (worker, label) the scores and their squares; and over items the scores."""

    score_lc: FloatArray  # (workers * labels, C)
    square_lc: FloatArray
    sum_c: FloatArray
    distance: float  # squared, of the scores to their mean


@dataclass(frozen=True, slots=True, kw_only=True)
class BWA(EmModel):
    """One class against the rest: a vote is 0 or 1, Gaussian around the item's score with the worker's precision.

    Scores have a Gaussian prior of precision `pull` around their mean, precisions a Gamma prior worth `votes`
    imaginary votes with the spread of the vote shares.  Coordinate ascent, so the log-posterior never falls.  The
    posterior is the scores as shares; `skill` is each worker's precision, averaged over classes.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> BWA().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "bwa"
    vote_shares: ClassVar[bool] = True

    votes: float = 15.0
    pull: float = 1.0

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """Scores as shares, and precisions in `learned`; only a fit of this method can be continued."""
        base_c, begin = self._start(prepared)
        earlier = learned_of(start, self.name, votes, *PrecisionParams._fields)

        def step(params: PrecisionParams) -> tuple[float, PrecisionParams]:
            spread = prepared.engine.map_sum(lambda block: _spread(block, self._scores(block, params), params.mean_c))
            updated, error_jc = self._update(spread, base_c, prepared.totals)
            return self._objective(params, spread, error_jc, base_c, prepared.totals), updated

        solution = climb(step, begin if earlier is None else PrecisionParams(*earlier), self, progress)
        n_classes = len(votes.labels)
        return fit_of(
            self.name,
            votes,
            posterior=prepared.rows(lambda block: shares(_each_class(self._scores(block, solution.params), n_classes))),
            prior=shares(_each_class(solution.params.mean_c[None], n_classes))[0],
            skill=solution.params.precision_jc.mean(axis=1),
            learned=solution.params._asdict(),
            **solution.steps,
        )

    def _start(self, prepared: Prepared) -> tuple[FloatArray, PrecisionParams]:
        """The Gamma prior's squared error for each class, and parameters where vote shares stand for scores."""
        totals, target_lc = prepared.totals, _targets(prepared.totals.n_labels)

        def step(block: Block) -> tuple[FloatArray, Spread]:
            score_ic = vote_shares(block, totals) @ target_lc
            votes_i = block.matrix @ np.ones(block.matrix.shape[1])
            spread_c = weighted_sum(block, votes_i[:, None] * score_ic * (1 - score_ic))
            return spread_c, _spread(block, score_ic, np.zeros(target_lc.shape[1]))

        spread_c, first = prepared.engine.map_sum(step)
        spread_c = np.maximum(spread_c / max(float(totals.votes_c.sum()), 1.0), LEAST_PRECISION_SPREAD)
        base_c = self.votes * spread_c * 4 * (1 - 1 / max(totals.n_labels, 2))
        return base_c, self._update(first, base_c, totals)[0]

    def _scores(self, block: Block, params: PrecisionParams) -> FloatArray:
        """The mean of each item's votes, weighted by precision and pulled to the mean of all items."""
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

    def _update(self, spread: Spread, base_c: FloatArray, totals: Totals) -> tuple[PrecisionParams, FloatArray]:
        """Precisions and means from the scores; also the squared errors of each worker's votes."""
        target_lc = _targets(totals.n_labels)
        shape = (totals.n_workers, totals.n_labels, -1)
        votes_jl = totals.votes_c.reshape(totals.n_workers, -1)
        cross_jc = (spread.score_lc.reshape(shape) * target_lc).sum(axis=1)
        error_jc = np.maximum(votes_jl @ target_lc - 2 * cross_jc + spread.square_lc.reshape(shape).sum(axis=1), 0.0)
        precision_jc = (self.votes + votes_jl.sum(axis=1))[:, None] / (base_c + error_jc)
        return PrecisionParams(precision_jc, spread.sum_c / max(totals.items, 1e-300)), error_jc

    def _objective(
        self, params: PrecisionParams, spread: Spread, error_jc: FloatArray, base_c: FloatArray, totals: Totals
    ) -> float:
        """The log-posterior up to a constant."""
        worth_j = self.votes + totals.votes_c.reshape(totals.n_workers, -1).sum(axis=1)
        precise = worth_j @ np.log(params.precision_jc) - ((base_c + error_jc) * params.precision_jc).sum(axis=0)
        return float(precise.sum() - self.pull * spread.distance) / 2


def _targets(n_labels: int) -> FloatArray:
    """Which labels count as 1 in which column, (K, C); of two classes one column says both."""
    return np.eye(2)[:, 1:] if n_labels == 2 else np.eye(n_labels)


def _each_class(score_ic: FloatArray, n_classes: int) -> FloatArray:
    return np.concatenate([1 - score_ic, score_ic], axis=1) if n_classes == 2 else score_ic


def _spread(block: Block, score_ic: FloatArray, mean_c: FloatArray) -> Spread:
    n_columns = score_ic.shape[1]
    sums_l = _by_column(scatter, block, np.concatenate([score_ic, score_ic**2], axis=1))
    distance = float(weighted_sum(block, (score_ic - mean_c) ** 2).sum())
    return Spread(sums_l[:, :n_columns], sums_l[:, n_columns:], weighted_sum(block, score_ic), distance)


def _by_column(pass_over: Callable[[Block, FloatArray], FloatArray], block: Block, value: FloatArray) -> FloatArray:
    """Two columns one by one, as vectors, which SciPy multiplies several times faster; more of them at once."""
    if value.shape[1] > 2:
        return pass_over(block, value)
    return np.stack([pass_over(block, np.ascontiguousarray(column)) for column in value.T], axis=1)
