"""iBCC, Kim & Ghahramani 2012: Dawid-Skene with priors, by variational Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from majorant.kernels import shares
from majorant.methods.base import learned_of, start_counts
from majorant.methods.em import Prepared
from majorant.methods.fit import Fit
from majorant.methods.online import OnlineModel
from majorant.methods.tables import ExpectedCounts, Tables, by_worker, divergence, expected_log, vote_rows
from majorant.values import FloatArray
from majorant.votes import Votes


class DirichletParams(NamedTuple):
    """Dirichlet parameters of each worker's rows, (J, K, K), and of the class probabilities, (K,)."""

    votes_jkl: FloatArray
    items_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class IBCC(OnlineModel):
    """Each worker's confusion rows have a Dirichlet prior that leans to the diagonal; variational Bayes.

    `right` and `wrong` are the prior's imaginary votes on and off the diagonal, `items` those of each class.  The
    objective is the evidence lower bound.  `confusion` and `prior` are means of the approximate posterior, whose
    parameters are `learned["votes"]` and `learned["items"]`.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> IBCC().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "ibcc"
    tables_per_worker: ClassVar[int] = 1

    right: float = 4.0
    wrong: float = 1.0
    items: float = 1.0

    def base(self, n_classes: int) -> FloatArray:
        """The prior's imaginary votes by class and label."""
        return np.where(np.eye(n_classes, dtype=bool), self.right, self.wrong)

    def tables(self, params: DirichletParams) -> Tables:
        """Expected log-probabilities."""
        return Tables(vote_rows(expected_log(params.votes_jkl)), expected_log(params.items_k))

    def m_step(self, counts: ExpectedCounts, params: DirichletParams | None) -> DirichletParams:  # noqa: ARG002
        """Expected votes added to the imaginary ones."""
        return DirichletParams(counts.votes_jgl + self.base(len(counts.items_g)), counts.items_g + self.items)

    def log_prior(self, params: DirichletParams, tables: Tables) -> float:
        """Minus the divergence of the approximate posterior from the prior."""
        n_classes = len(params.items_k)
        items = divergence(params.items_k, np.full(n_classes, self.items))
        return -divergence(params.votes_jkl, self.base(n_classes), by_worker(tables.log_vote_cg, n_classes)) - items

    def learned(self, params: DirichletParams) -> dict[str, Any]:
        """What a Fit says of the parameters."""
        votes_jkl, items_k = params
        means = {"confusion": shares(votes_jkl), "prior": shares(items_k)}
        return {**means, "learned": {"votes": votes_jkl, "items": items_k}}

    def begin(self, votes: Votes, prepared: Prepared, start: Fit | None) -> DirichletParams:
        """What an earlier fit of this method learned, or the counts under another or under the vote shares."""
        earlier = learned_of(start, self.name, votes, "votes", "items")
        if earlier is not None:
            return DirichletParams(*earlier)
        return self.m_step(start_counts(start, votes, prepared), None)
