"""MAP with given confusion matrices: the Bayes rule of a crowd that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.errors import ConfigError
from majorant.estimate.confusion import map_fit
from majorant.estimate.em import prepare
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.weighted import class_prior
from majorant.kernels import FloatArray
from majorant.theory.checks import as_confusion, as_crew
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenMap(Estimator):
    """The most probable class under given confusion matrices and prior; votes independent given the class.

    `confusion[k, l]` is P(label l | class k), shared by all workers, (K, K), or one matrix for each worker in the
    order of `votes.workers`, (J, K, K).  `prior` is uniform by default.  A probability of 0 means what it says; votes
    that no class could have produced leave the item tied.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> GivenMap(confusion=[[.8, .2], [.2, .8]], prior=[.9, .1]).fit(votes).labels()
    ['no']
    """

    name: ClassVar[str] = "map"
    distributed: ClassVar[bool] = True
    needs: ClassVar[str] = "confusion"

    confusion: ArrayLike | None = None  # without a default that would be right for anyone
    prior: ArrayLike | None = None

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """The posterior of each item; nothing is learned."""
        _, n_workers, n_classes = votes.shape
        prior_k = class_prior(self.prior, votes)
        confusion = self._matrices(n_workers, n_classes)
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        return map_fit(self.name, votes, prepared, confusion, prior_k)

    def _matrices(self, n_workers: int, n_classes: int) -> FloatArray:
        if self.confusion is None:
            raise ConfigError(
                "map judges by confusion matrices that are known: give confusion. "
                "To learn them use dawid-skene, or anchor-map with gold labels."
            )
        if np.ndim(self.confusion) < 3:
            return as_confusion(self.confusion, n_classes)
        confusion_jkl = as_crew(self.confusion, n_classes)
        if len(confusion_jkl) != n_workers:
            raise ConfigError(f"confusion holds {len(confusion_jkl)} matrices, these votes have {n_workers} workers.")
        return confusion_jkl
