"""Dawid & Skene 1979: each worker has a confusion matrix of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.confusion import (
    ConfusionParams,
    confusion_tables,
    params_of,
    smoothed_confusions,
    smoothing_log_prior,
)
from majorant.estimate.em import Progress
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.incremental import fit_table_model, go_on
from majorant.estimate.online import COUNTED, State
from majorant.estimate.tables import Counts, Tables
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene(Estimator):
    """Each worker labels by its own confusion matrix, independently given the class; maximum a posteriori by EM.

    `smoothing` imaginary votes stand in each cell of each worker's matrix and in each class: a Dirichlet prior, so
    that the objective (the log-posterior up to a constant) rises with every step; 0 is maximum likelihood.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> DawidSkene().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "dawid-skene"
    tables_per_worker: ClassVar[int] = 1
    monotone: ClassVar[bool] = True
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True
    online: ClassVar[bool] = True
    remembers: ClassVar[tuple[str, ...]] = COUNTED

    smoothing: float = 0.01
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def tables(self, params: ConfusionParams) -> Tables:
        """Log-probabilities of each vote under each class."""
        return confusion_tables(*params)

    def m_step(self, counts: Counts, params: ConfusionParams | None) -> ConfusionParams:  # noqa: ARG002
        """Shares of the expected votes, smoothed."""
        return smoothed_confusions(counts, self.smoothing)

    def log_prior(self, params: ConfusionParams) -> float:
        """The log-density of the Dirichlet prior, up to a constant."""
        return smoothing_log_prior(params, self.smoothing)

    def learned(self, params: ConfusionParams) -> dict[str, Any]:
        """What a Fit says of the parameters."""
        return {"confusion": params.confusion_jkl, "prior": params.prior_k}

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        state: State | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Confusion matrices, prior and posterior; `start` continues from a fit, `state` from earlier votes."""
        if state is not None:
            return go_on(self, state, votes, progress)
        return fit_table_model(self, votes, weights, engine, progress, lambda _: params_of(start, votes))
