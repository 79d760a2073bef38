"""GLAD (Whitehill et al. 2009): workers differ in ability and items in difficulty."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import Block, add_up, softmax_rows, weighted_sum
from majorant.methods.em import Stop, run_em, start_params, stop_when_flat
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import VoteData, prepare, sum_logs
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


class AbilityParams(NamedTuple):
    """Ability of each worker, (J,), and log-ease of each item, (I,)."""

    ability_j: FloatArray
    ease_i: FloatArray


class AbilitySums(NamedTuple):
    """The sums from a pass, by (worker, label), that determine the abilities, and the items' part of the objective."""

    linear_c: FloatArray
    square_c: FloatArray
    objective: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GLAD:
    """A vote is right with probability sigmoid(ability_j * exp(ease_i)); wrong labels and classes are equally likely.

    Abilities and log-eases have normal priors with variance 1. Each EM step maximises a quadratic lower bound on the
    logistic likelihood (Jaakkola & Jordan 2000), in closed form for abilities and by a few Newton steps for eases, in
    one pass over the votes. `skill` is the ability; `learned["ease"]` is the log-ease of each item (the log of
    1 / difficulty).

    Parameters
    ----------
    mean
        Prior mean of abilities and log-eases.
    min_rise
        Stop when a step raises the log-posterior by less than this per vote, well before convergence, which makes
        labels worse on panels. None runs EM until it converges.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "glad"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, keeps_items="difficulty")

    mean: float = 1.0
    min_rise: float | None = 1e-4
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Abilities, eases and posterior; `start` must be a fit of this method."""
        # A pass needs a dozen numbers per vote, so blocks of the usual size would not fit in the cache.
        data = prepare(votes, clamp_gold=self.clamp_gold, usual_items=1 << 13, **options)
        stop: Stop[AbilityParams] | None = None
        if self.min_rise is not None:
            stop = stop_when_flat(data, self.min_rise)
        solution = run_em(self, data, self._start(data), positive=False, stop=stop)
        params = solution.params
        ease_i = params.ease_i if data.pattern_i is None else params.ease_i[data.pattern_i]
        n_classes = len(data.votes.labels)
        return data.fit_of(
            self,
            posterior=data.rows(lambda block: _posterior(block, _block_votes(block, params), params)[0]),
            prior=np.full(n_classes, 1 / n_classes),
            skill=params.ability_j,
            learned={"ability": params.ability_j, "ease": ease_i},
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: AbilityParams) -> tuple[FloatArray, AbilitySums]:
        """Update all items' eases given their posterior, and compute the sums over votes that determine abilities."""
        parts = list(data.engine.map_blocks(lambda block: self._pass(block, params)))
        return np.concatenate([ease for ease, _ in parts]), add_up(part for _, part in parts)

    def m_step(self, expected: tuple[FloatArray, AbilitySums], params: AbilityParams) -> AbilityParams:
        """Maximise the quadratic bound over each worker's ability; the E step has already updated the eases."""
        ease_i, sums = expected
        n_workers = len(params.ability_j)
        linear_j, square_j = (sum_c.reshape(n_workers, -1).sum(axis=1) for sum_c in (sums.linear_c, sums.square_c))
        return AbilityParams((self.mean + linear_j) / (1 + 2 * square_j), ease_i)

    def objective(self, params: AbilityParams, expected: tuple[FloatArray, AbilitySums]) -> float:
        """The log-posterior up to a constant."""
        return expected[1].objective - float(((params.ability_j - self.mean) ** 2).sum()) / 2

    def _start(self, data: VoteData) -> AbilityParams:
        """Start with all workers and items alike, or from an earlier fit (with its eases if the items are the same)."""
        n_rows, n_workers, _ = data.engine.shape
        earlier = start_params(data, self.name, "ability", "ease")
        ability_j, earlier_i = (np.full(n_workers, self.mean), np.empty(0)) if earlier is None else earlier
        ease_i = np.full(n_rows, self.mean)
        if len(earlier_i) == len(data.votes.items):
            ease_i[slice(None) if data.pattern_i is None else data.pattern_i] = earlier_i
        return AbilityParams(ability_j, ease_i)

    def _pass(self, block: Block, params: AbilityParams) -> tuple[FloatArray, AbilitySums]:
        """Update the eases of a block's items, and compute the sums for the abilities at these eases."""
        ballots = _block_votes(block, params)
        old_i = params.ease_i[block.items]
        posterior_ik, log_total_i = _posterior(block, ballots, params)
        x_n = ballots.ability_n * np.repeat(np.exp(old_i), ballots.length_i)
        curve_n, log_wrong = _logistic(block, ballots, x_n)
        gain_i = np.einsum("ik,ik->i", posterior_ik - 0.5, ballots.ability_ik)
        cost_i = _with_values(block.matrix, curve_n) @ np.repeat(params.ability_j**2, block.n_classes)
        ease_i = raise_ease(old_i, gain_i, cost_i, self.mean)
        scale_i = np.exp(ease_i)
        weight_i = np.ones(len(ease_i)) if block.weight_i is None else block.weight_i
        right_n = posterior_ik.ravel()[ballots.place_n]
        evenly = np.log(max(block.n_classes - 1, 1)) * ballots.length_i
        sums = AbilitySums(
            _with_values(block.transpose, right_n - 0.5) @ (weight_i * scale_i),
            _with_values(block.transpose, curve_n) @ (weight_i * scale_i**2),
            log_wrong + float(weighted_sum(block, log_total_i - evenly - (old_i - self.mean) ** 2 / 2)),
        )
        return ease_i, sums


class BlockVotes(NamedTuple):
    """The votes of a block: ability and (item, label) of each, votes per item, and ability summed by item and label."""

    ability_n: FloatArray
    place_n: IntArray
    length_i: IntArray
    ability_ik: FloatArray


def raise_ease(ease_i: FloatArray, gain_i: FloatArray, cost_i: FloatArray, mean: float) -> FloatArray:
    """Increase gain * e^b - cost * e^2b - (b - mean)^2 / 2 over log-eases b, by Newton steps that never decrease it.

    >>> raise_ease(np.zeros(1), np.array([2.0]), np.array([1.0]), mean=1.0).round(2).tolist()
    [0.25]
    """

    def value(b_i: FloatArray) -> FloatArray:
        scale_i = np.exp(b_i)
        return np.asarray((gain_i - cost_i * scale_i) * scale_i - (b_i - mean) ** 2 / 2)

    best_i, reach_i = value(ease_i), np.ones_like(ease_i)
    for _ in range(2):  # take each step only if it increases the value
        scale_i = np.exp(ease_i)  # Newton's method in e^b, in which all but the prior is quadratic
        slope_i = gain_i - 2 * cost_i * scale_i - (ease_i - mean) / scale_i
        bend_i = 2 * cost_i + np.maximum(1 + mean - ease_i, 1.0) / scale_i**2
        ratio_i = np.maximum(1 + slope_i / (bend_i * scale_i), 1e-3)
        tried_i = ease_i + np.clip(np.log(ratio_i), -reach_i, reach_i)
        value_i = value(tried_i)
        up_i = value_i >= best_i
        ease_i, best_i = np.where(up_i, tried_i, ease_i), np.where(up_i, value_i, best_i)
        reach_i = np.where(up_i, reach_i, reach_i / 4)
    return ease_i


def _block_votes(block: Block, params: AbilityParams) -> BlockVotes:
    matrix, n_classes = block.matrix, block.n_classes
    length_i = np.diff(matrix.indptr)
    ability_n = np.take(np.repeat(params.ability_j, n_classes), matrix.indices, mode="clip")
    label_n = matrix.indices - matrix.indices // n_classes * n_classes  # NumPy's % is much slower
    place_n = np.repeat(np.arange(len(length_i)) * n_classes, length_i) + label_n
    ability_ik = np.bincount(place_n, ability_n, len(length_i) * n_classes).astype(float, copy=False)
    return BlockVotes(ability_n, place_n, length_i, ability_ik.reshape(-1, n_classes))


def _posterior(block: Block, ballots: BlockVotes, params: AbilityParams) -> tuple[FloatArray, FloatArray]:
    """Class probabilities, and the log of their total relative to the case that all votes are wrong."""
    score_ik = ballots.ability_ik * np.exp(params.ease_i[block.items])[:, None]
    score_ik -= np.log(block.n_classes)
    if block.n_classes > 2:
        votes_ik = np.bincount(ballots.place_n, minlength=score_ik.size).reshape(score_ik.shape)
        score_ik += np.log(block.n_classes - 1) * votes_ik
    if block.gold_i is not None:
        known = np.flatnonzero(block.gold_i >= 0)
        other_ik = np.arange(block.n_classes) != block.gold_i[known, None]
        score_ik[known] = np.where(other_ik, -np.inf, score_ik[known])
    return softmax_rows(score_ik)


def _logistic(block: Block, ballots: BlockVotes, x_n: FloatArray) -> tuple[FloatArray, float]:
    """The curvature tanh(x / 2) / 4x of the bound for each vote, and the sum of log sigmoid(-x) over all votes."""
    size_n = np.abs(x_n)
    small_n = np.negative(size_n)
    np.exp(small_n, out=small_n)
    total_n = 1 + small_n
    if block.weight_i is None:
        log_wrong = -float(size_n.sum() + x_n.sum()) / 2 - sum_logs(total_n)
    else:
        log_wrong_n = np.log(total_n) + (size_n + x_n) / 2
        log_wrong = -float((np.repeat(block.weight_i, ballots.length_i) * log_wrong_n).sum())
    curve_n = np.subtract(1, small_n, out=small_n)
    curve_n /= total_n
    np.maximum(size_n, 1e-4, out=size_n)  # avoids 0 / 0; below that, the curvature is 1/8 to nine digits
    size_n *= 4
    curve_n /= size_n
    return curve_n, log_wrong


def _with_values(matrix: Any, value_n: FloatArray) -> Any:
    """A copy of a block's matrix, or its transpose, with other values than 1; faster than SciPy's constructor."""
    weighted = copy(matrix)
    weighted.data = value_n
    return weighted
