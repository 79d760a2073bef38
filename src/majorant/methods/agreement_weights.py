"""Weight votes by how often their worker agrees with the winning label, once (wawa) or repeatedly.

Iterative weighted majority vote is from Li and Yu (2014); wawa (worker agreement with aggregate) and zero-based skill
are those of crowd-kit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from majorant.arguments import validated
from majorant.errors import ConfigError
from majorant.kernels import Engine, gather, scatter, shares
from majorant.methods.em import Solution, require_steps
from majorant.methods.fit import Fit, FitOptions, Traits, chances
from majorant.methods.tables import Tables, VoteData, coin_confusions, posterior, prepare
from majorant.values import FloatArray
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wawa:
    """Weight each vote by its worker's `skill`: the share of the worker's votes that agree with the majority.

    There is only one round. Tied labels count as equal parts of the majority. A worker without votes gets chance level.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Wawa().fit(votes).posterior[0].tolist()
    [0.2, 0.8]
    """

    name: ClassVar[str] = "wawa"
    traits: ClassVar[Traits] = Traits(distributed=True, vote_shares=True)

    @validated
    def fit(self, votes: Any, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Skills, and shares of the weighted votes in place of probabilities."""
        data = prepare(votes, engine=engine, weights=weights)
        skill_j, _ = _agreement(data, np.ones(len(data.votes.workers)))
        posterior_ik, prior_k = weighted_shares(data, skill_j)
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, skill=skill_j)


@dataclass(frozen=True, slots=True, kw_only=True)
class IWMV:
    """Alternate between voting and weighting workers by K * accuracy - 1 against the winners, until nothing changes.

    Assumes that accuracy does not depend on the class; a worker below chance counts against the label given. A
    tied item gives equal credit to each of its best labels. `skill` is the agreement with the final labels; the shared
    `confusion` is built from its mean over votes; `trace` is that mean at each step.

    Parameters
    ----------
    max_iter, tol
        Stop after `max_iter` rounds, or when no weight changes by more than `tol`.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> IWMV().fit(votes).skill.tolist()
    [1.0, 1.0, 0.5]
    """

    name: ClassVar[str] = "iwmv"
    traits: ClassVar[Traits] = Traits(iterative=True, distributed=True, vote_shares=True)

    max_iter: int = 20
    tol: float = 1e-9

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Skills, shared confusion and labels; `start` provides the initial skills."""
        data = prepare(votes, **options)
        _, n_workers, n_classes = data.votes.shape

        def weigh(skill_j: FloatArray, *_: object) -> FloatArray:
            return n_classes * skill_j - 1 if n_classes > 1 else np.ones_like(skill_j)

        first_j = np.ones(n_workers) if data.start is None else n_classes * _start_skill(data.start, data) - 1
        solution = _vote_repeatedly(self, data, first_j, weigh)
        weight_j, skill_j = solution.params
        posterior_ik, prior_k = linear_posterior(data, weight_j)
        return data.fit_of(
            self,
            posterior=posterior_ik,
            prior=prior_k,
            confusion=coin_confusions(np.array(solution.trace[-1:]), n_classes)[0],
            skill=skill_j,
            **solution.steps,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroBasedSkill:
    """Move each skill step by step, from chance, towards the share of the worker's votes that win the weighted vote.

    This is gradient descent on the squared difference of skill and agreement. `trace` is the share of winning votes.

    Parameters
    ----------
    step, step_factor, step_every
        Initial step size, the factor that reduces it, and the number of rounds between reductions.
    max_iter, tol
        Stop after `max_iter` rounds, or when no skill changes by more than `tol`.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> ZeroBasedSkill().fit(votes).skill.tolist()
    [1.0, 1.0, 0.5]
    """

    name: ClassVar[str] = "zero-based-skill"
    traits: ClassVar[Traits] = Traits(iterative=True, distributed=True, vote_shares=True)

    max_iter: int = 100
    step: float = 1.0
    step_factor: float = 0.5
    step_every: int = 20
    tol: float = 1e-6

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Skills, and shares of the weighted votes in place of probabilities; `start` provides the initial skills."""
        data = prepare(votes, **options)
        _, n_workers, n_classes = data.votes.shape

        def step_towards(agreement_j: FloatArray, skill_j: FloatArray, n_iter: int) -> FloatArray:
            return skill_j + self.step * self.step_factor ** (n_iter // self.step_every) * (agreement_j - skill_j)

        first_j = np.full(n_workers, 1 / n_classes) if data.start is None else _start_skill(data.start, data)
        solution = _vote_repeatedly(self, data, first_j, step_towards)
        skill_j, _ = solution.params
        posterior_ik, prior_k = weighted_shares(data, skill_j)
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, skill=skill_j, **solution.steps)


def _vote_repeatedly(
    limits: IWMV | ZeroBasedSkill,
    data: VoteData,
    weight_j: FloatArray,
    reweigh: Callable[[FloatArray, FloatArray, int], FloatArray],
) -> Solution[tuple[FloatArray, FloatArray]]:
    """Alternate between voting and `reweigh`, which returns new weights, until the weights converge.

    The parameters are the last weights and agreements; the trace is the share of winning votes.
    """
    require_steps(limits.max_iter)
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < limits.max_iter:
        agreement_j, winning = _agreement(data, weight_j)
        trace.append(winning)
        if data.progress is not None:
            data.progress(len(trace), winning)
        new_j = reweigh(agreement_j, weight_j, len(trace))
        converged = bool(np.abs(new_j - weight_j).max(initial=0.0) <= limits.tol)
        weight_j = new_j
    return Solution((weight_j, agreement_j), tuple(trace), converged, len(trace))


def _agreement(data: VoteData, weight_j: FloatArray) -> tuple[FloatArray, float]:
    """The share of each worker's votes that win the weighted vote (chance if no votes), and the share of all votes."""
    totals = data.totals
    n_workers, n_classes = totals.n_workers, totals.n_labels
    largest = np.abs(weight_j).max(initial=0.0)
    table = weight_table(weight_j / largest if largest > 0 else weight_j, n_classes)
    credit_cl = data.engine.map_sum(lambda block: scatter(block, chances(gather(block, table))))
    right_j = np.asarray(np.einsum("jkk->j", credit_cl.reshape(-1, n_classes, n_classes)))
    votes_j = totals.votes_j
    share_j = np.divide(right_j, votes_j, out=np.full(n_workers, 1 / n_classes), where=votes_j > 0)
    return share_j, float(right_j.sum() / max(votes_j.sum(), 1.0))


def weighted_shares(data: VoteData, weight_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each label's share of an item's votes, where worker j's vote has weight_j >= 0; and the class shares."""
    table = weight_table(weight_j, data.totals.n_labels)
    return data.rows_and_prior(lambda block: shares(gather(block, table)))


def linear_posterior(data: VoteData, weight_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities from weights K * accuracy - 1, which may be negative; and the class shares.

    The weight in the one-coin model, log(p (K - 1) / (1 - p)), is K / (K - 1) * (K p - 1) to first order around
    p = 1 / K. Scaled in this way, weighted votes are log-probabilities; scaling does not change the order of labels.
    """
    n_classes = data.totals.n_labels
    scale = n_classes / max(n_classes - 1, 1)
    tables = Tables(weight_table(scale * weight_j, n_classes), np.zeros(n_classes))
    return data.rows_and_prior(lambda block: posterior(block, tables))


def weight_table(weight_j: FloatArray, n_classes: int) -> FloatArray:
    """A table in which a vote of worker j adds weight_j to its label."""
    return (weight_j[:, None, None] * np.eye(n_classes)).reshape(-1, n_classes)


def _start_skill(start: Fit, data: VoteData) -> FloatArray:
    """The skills of an earlier fit to the same workers."""
    n_workers = len(data.votes.workers)
    if start.skill is None or len(start.skill) != n_workers:
        raise ConfigError(f"start: a {start.method} fit has no skills for these {n_workers} workers.")
    return start.skill
