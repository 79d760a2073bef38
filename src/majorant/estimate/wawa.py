"""Wawa, worker agreement with aggregate: votes weighed by how often a worker agrees with the majority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.em import prepare
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.weighted import agreements, ratio, voted_shares, worker_totals
from majorant.votes import Votes, names_of


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
        _, n_workers, n_classes = votes.shape
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        skill_j = ratio(agreements(prepared, np.ones(n_workers)), worker_totals(prepared), 1 / n_classes)
        posterior_ik, prior_k = voted_shares(prepared, skill_j)
        return Fit(
            method=self.name,
            posterior=posterior_ik,
            prior=prior_k,
            skill=skill_j,
            votes_i=votes.votes_i,
            label_values=votes.labels,
            names=names_of(votes),
        )
