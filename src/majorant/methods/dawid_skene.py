"""Dawid & Skene 1979: each worker has a confusion matrix of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from majorant.methods.base import ConfusionModel, ConfusionParams, params_of
from majorant.methods.em import Prepared
from majorant.methods.fit import Fit
from majorant.methods.online import OnlineModel
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene(ConfusionModel, OnlineModel):
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

    def learned(self, params: ConfusionParams) -> dict[str, Any]:
        """What a Fit says of the parameters."""
        return {"confusion": params.confusion_jkl, "prior": params.prior_k}

    def begin(self, votes: Votes, prepared: Prepared, start: Fit | None) -> ConfusionParams | None:
        """The parameters of an earlier fit; by default the vote shares say."""
        del prepared
        return params_of(start, votes)
