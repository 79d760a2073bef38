"""Dawid & Skene 1979: each worker has a confusion matrix of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.errors import ConfigError
from majorant.estimate.em import Progress, prepare, run_em, table_fit
from majorant.estimate.fit import Fit
from majorant.estimate.tables import Counts, Tables
from majorant.kernels import FloatArray, shares
from majorant.theory.checks import safe_log
from majorant.votes import Votes


class ConfusionParams(NamedTuple):
    """P(label l | class k) of each worker, (J, K, K), and the probability of each class, (K,)."""

    confusion_jkl: FloatArray
    prior_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene:
    """Each worker labels by its own confusion matrix, independently given the class; maximum a posteriori by EM.

    `smoothing` imaginary votes stand in each cell of each worker's matrix and in each class: a Dirichlet prior, so
    that the objective (the log-posterior up to a constant) rises with every step; 0 is maximum likelihood.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> DawidSkene().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "dawid-skene"
    order_free: ClassVar[bool] = True
    stochastic: ClassVar[bool] = False
    monotone: ClassVar[bool] = True
    classes: ClassVar[int | None] = None
    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    smoothing: float = 0.01
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def tables(self, params: ConfusionParams) -> Tables:
        """Log-probabilities of each vote under each class."""
        n_workers, n_classes, n_labels = params.confusion_jkl.shape
        log_vote_cg = safe_log(params.confusion_jkl).transpose(0, 2, 1).reshape(n_workers * n_labels, n_classes)
        return Tables(log_vote_cg, safe_log(params.prior_k))

    def m_step(self, counts: Counts, params: ConfusionParams | None) -> ConfusionParams:  # noqa: ARG002
        """Shares of the expected votes, smoothed."""
        return ConfusionParams(shares(counts.votes_jgl + self.smoothing), shares(counts.items_g + self.smoothing))

    def log_prior(self, params: ConfusionParams) -> float:
        """The log-density of the Dirichlet prior, up to a constant."""
        if self.smoothing == 0:
            return 0.0
        return self.smoothing * float(np.log(params.confusion_jkl).sum() + np.log(params.prior_k).sum())

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Confusion matrices, prior and posterior; `start` continues from an earlier fit."""
        prepared = prepare(votes, engine, weights, clamp_gold=self.clamp_gold)
        solution = run_em(self, prepared, params_of(start, votes), progress)
        confusion_jkl, prior_k = solution.params
        return table_fit(self, votes, prepared, solution, confusion=confusion_jkl, prior=prior_k)


def params_of(start: Fit | None, votes: Votes) -> ConfusionParams | None:
    """The parameters of an earlier fit for the same workers and classes, to start from."""
    if start is None:
        return None
    _, n_workers, n_classes = votes.shape
    if start.confusion is None or start.confusion.shape[-1] != n_classes:
        raise ConfigError(f"start: a {start.method} fit has no confusion matrices for these {n_classes} classes.")
    shape = (n_workers, n_classes, n_classes)
    if start.confusion.ndim == 3 and start.confusion.shape != shape:
        raise ConfigError(f"start: was fitted to {len(start.confusion)} workers, these votes have {n_workers}.")
    return ConfusionParams(np.broadcast_to(start.confusion, shape), start.prior)
