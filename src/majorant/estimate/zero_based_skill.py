"""Zero-based skill: weighted votes and skills that follow them by steps of falling length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.em import Progress, prepare
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.weighted import agreements, ratio, skill_of, voted_shares, worker_totals
from majorant.votes import Votes, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroBasedSkill(Estimator):
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
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    max_iter: int = 100
    step: float = 1.0
    step_factor: float = 0.5
    step_every: int = 20
    tol: float = 1e-6

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Skills, and shares of the weighted votes as probabilities; `start` begins with an earlier fit's skills."""
        _, n_workers, n_classes = votes.shape
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        votes_j = worker_totals(prepared)
        skill_j = np.full(n_workers, 1 / n_classes) if start is None else skill_of(start, votes)
        trace: list[float] = []
        converged, step = False, self.step
        while not converged and len(trace) < self.max_iter:
            right_j = agreements(prepared, skill_j)
            trace.append(float(right_j.sum() / max(votes_j.sum(), 1.0)))
            if progress is not None:
                progress(len(trace), trace[-1])
            if len(trace) % self.step_every == 0:
                step *= self.step_factor
            move_j = step * (ratio(right_j, votes_j, 1 / n_classes) - skill_j)
            skill_j = skill_j + move_j
            converged = bool(np.abs(move_j).max(initial=0.0) <= self.tol)
        posterior_ik, prior_k = voted_shares(prepared, skill_j)
        return Fit(
            method=self.name,
            posterior=posterior_ik,
            prior=prior_k,
            skill=skill_j,
            votes_i=votes.votes_i,
            label_values=votes.labels,
            names=names_of(votes),
            trace=tuple(trace),
            converged=converged,
            n_iter=len(trace),
        )
