"""Iterative weighted majority vote (Li & Yu 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.confusion import coin_confusions
from majorant.estimate.em import Progress, prepare
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.weighted import agreements, linear_posterior, ratio, skill_of, worker_totals
from majorant.votes import Votes, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class IWMV(Estimator):
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
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    max_iter: int = 20
    tol: float = 1e-9

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Skills, shared confusion and labels; `start` begins with the skills of an earlier fit."""
        n_classes = len(votes.labels)
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        votes_j = worker_totals(prepared)
        weight_j = np.ones(len(votes.workers)) if start is None else n_classes * skill_of(start, votes) - 1
        trace: list[float] = []
        converged = False
        while not converged and len(trace) < self.max_iter:
            right_j = agreements(prepared, weight_j)
            skill_j = ratio(right_j, votes_j, 1 / n_classes)
            trace.append(float(right_j.sum() / max(votes_j.sum(), 1.0)))
            if progress is not None:
                progress(len(trace), trace[-1])
            new_j = n_classes * skill_j - 1 if n_classes > 1 else np.ones_like(skill_j)
            converged = bool(np.abs(new_j - weight_j).max(initial=0.0) <= self.tol)
            weight_j = new_j
        posterior_ik, prior_k = linear_posterior(prepared, weight_j)
        return Fit(
            method=self.name,
            posterior=posterior_ik,
            prior=prior_k,
            confusion=coin_confusions(np.array(trace[-1:]), n_classes)[0],
            skill=skill_j,
            votes_i=votes.votes_i,
            label_values=votes.labels,
            names=names_of(votes),
            trace=tuple(trace),
            converged=converged,
            n_iter=len(trace),
        )
