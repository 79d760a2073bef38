"""Votes weighed by how often their worker agrees with the label that wins: once (wawa), or over and over.

Iterative weighted majority vote is Li and Yu's (2014); wawa, worker agreement with aggregate, and zero-based skill are
those of crowd-kit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.kernels import Engine, gather, scatter, shares
from majorant.methods.base import Iterative, item_rows, linear_posterior, weight_table
from majorant.methods.em import Prepared, Progress, Solution, prepare
from majorant.methods.fit import Estimator, Fit, chances, fit_of
from majorant.methods.tables import coin_confusions
from majorant.values import FloatArray
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wawa(Estimator):
    """Each vote weighs its worker's `skill`: the share of his votes that the majority shares.

    One round.  Where labels tie, each of them is majority in part.  A worker without votes has the skill of chance.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Wawa().fit(votes).posterior[0].tolist()
    [0.2, 0.8]
    """

    name: ClassVar[str] = "wawa"
    vote_shares: ClassVar[bool] = True
    distributed: ClassVar[bool] = True

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Skills, and shares of the weighted votes as probabilities."""
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        skill_j = _agreement(prepared, np.ones(len(votes.workers)))[0]
        posterior_ik, prior_k = voted_shares(prepared, skill_j)
        return fit_of(self.name, votes, posterior=posterior_ik, prior=prior_k, skill=skill_j)


@dataclass(frozen=True, slots=True, kw_only=True)
class IWMV(Iterative):
    """Vote with weights, measure each worker against the winners, weigh by C * accuracy - 1, until nothing changes.

    Assumes workers who are right with one probability whatever the class; a worker below chance votes against his
    label.  A tied item credits each of its best labels evenly.  `skill` is the agreement with the final labels, the
    shared `confusion` holds its mean over votes; `trace` is that mean at each step.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> IWMV().fit(votes).skill.tolist()
    [1.0, 1.0, 0.5]
    """

    name: ClassVar[str] = "iwmv"
    vote_shares: ClassVar[bool] = True
    weight_above_chance: ClassVar[bool] = True

    max_iter: int = 20
    tol: float = 1e-9

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """Skills, shared confusion and labels; `start` gives the first skills."""
        n_classes = len(votes.labels)

        def weigh(skill_j: FloatArray, *_: object) -> FloatArray:
            return n_classes * skill_j - 1 if n_classes > 1 else np.ones_like(skill_j)

        first_j = np.ones(len(votes.workers)) if start is None else n_classes * skill_of(start, votes) - 1
        done = _rounds(self, prepared, first_j, weigh, progress)
        weight_j, skill_j = done.params
        posterior_ik, prior_k = linear_posterior(prepared, weight_j)
        confusion_kl = coin_confusions(np.array(done.trace[-1:]), n_classes)[0]
        facts = {"posterior": posterior_ik, "prior": prior_k, "confusion": confusion_kl, "skill": skill_j}
        return fit_of(self.name, votes, **facts, **done.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroBasedSkill(Iterative):
    """Skills step towards the share of a worker's votes that win the vote weighted by skill, from chance for all.

    Gradient descent on the squared distance between skill and agreement: steps of length `step`, times `step_factor`
    at every `step_every`-th round, until no skill moves by more than `tol`.  `trace` is the share of winning votes.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> ZeroBasedSkill().fit(votes).skill.tolist()
    [1.0, 1.0, 0.5]
    """

    name: ClassVar[str] = "zero-based-skill"
    vote_shares: ClassVar[bool] = True

    max_iter: int = 100
    step: float = 1.0
    step_factor: float = 0.5
    step_every: int = 20
    tol: float = 1e-6

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """Skills, and shares of the weighted votes as probabilities; `start` gives the first skills."""
        _, n_workers, n_classes = votes.shape

        def step_towards(agreement_j: FloatArray, skill_j: FloatArray, n_iter: int) -> FloatArray:
            return skill_j + self.step * self.step_factor ** (n_iter // self.step_every) * (agreement_j - skill_j)

        first_j = np.full(n_workers, 1 / n_classes) if start is None else skill_of(start, votes)
        done = _rounds(self, prepared, first_j, step_towards, progress)
        posterior_ik, prior_k = voted_shares(prepared, done.params[0])
        return fit_of(self.name, votes, posterior=posterior_ik, prior=prior_k, skill=done.params[0], **done.steps)


def _rounds(
    limits: IWMV | ZeroBasedSkill,
    prepared: Prepared,
    weight_j: FloatArray,
    renew: Callable[[FloatArray, FloatArray, int], FloatArray],
    progress: Progress | None,
) -> Solution[tuple[FloatArray, FloatArray]]:
    """Vote, and `renew` the weights by (agreement with the winners, weights, round), until they stand still.

    The parameters are the last weights and the last agreements; the trace is the share of winning votes.
    """
    trace: list[float] = []
    converged = False
    while not converged and len(trace) < limits.max_iter:
        agreement_j, winning = _agreement(prepared, weight_j)
        trace.append(winning)
        if progress is not None:
            progress(len(trace), winning)
        new_j = renew(agreement_j, weight_j, len(trace))
        converged = bool(np.abs(new_j - weight_j).max(initial=0.0) <= limits.tol)
        weight_j = new_j
    return Solution((weight_j, agreement_j), tuple(trace), converged, len(trace))


def _agreement(prepared: Prepared, weight_j: FloatArray) -> tuple[FloatArray, float]:
    """The share of each worker's votes that win the weighted vote (chance where there are none), and that of all."""
    totals, right_j = prepared.totals, agreements(prepared, weight_j)
    votes_j = totals.votes_c.reshape(totals.n_workers, totals.n_labels).sum(axis=1)
    chance_j = np.full(totals.n_workers, 1 / totals.n_labels)
    share_j = np.divide(right_j, votes_j, out=chance_j, where=votes_j > 0)
    return share_j, float(right_j.sum() / max(votes_j.sum(), 1.0))


def voted_shares(prepared: Prepared, weight_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each label's share of an item's votes, where worker j counts weight_j >= 0 times; and the class shares."""
    table = weight_table(weight_j, prepared.totals.n_labels)
    return item_rows(prepared, lambda block: shares(gather(block, table)))


def agreements(prepared: Prepared, weight_j: FloatArray) -> FloatArray:
    """How many votes of each worker are for the label that wins the weighted vote; a tie credits each best evenly."""
    n_classes = prepared.totals.n_labels
    largest = np.abs(weight_j).max(initial=0.0)
    table = weight_table(weight_j / largest if largest > 0 else weight_j, n_classes)
    credit_cl = prepared.engine.map_sum(lambda block: scatter(block, chances(gather(block, table))))
    return np.asarray(np.einsum("jkk->j", credit_cl.reshape(-1, n_classes, n_classes)))


def skill_of(start: Fit, votes: Votes) -> FloatArray:
    """The skills of an earlier fit to the same workers, to start from."""
    if start.skill is None or len(start.skill) != len(votes.workers):
        raise ConfigError(f"start: a {start.method} fit has no skills for these {len(votes.workers)} workers.")
    return start.skill
