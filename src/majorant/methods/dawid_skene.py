"""Dawid & Skene (1979): each worker has its own confusion matrix, learned by EM.

Given that item i is of class k, its votes (worker j, label l) are independent with probability confusion[j, k, l].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Unpack

from majorant.kernels import shares
from majorant.methods.em import ConfusionParams, run_em, start_confusions
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    confusion_tables,
    expect,
    prepare,
    share_counts,
    sum_logs,
)
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene:
    """Each worker has its own confusion matrix, and votes are independent given the class; fitted by EM.

    Parameters
    ----------
    smoothing
        Pseudo-votes in each cell of each worker's matrix, and pseudo-items in each class: a Dirichlet prior. 0 is
        maximum likelihood.
    max_iter, tol
        Stop after `max_iter` steps, or when no parameter moves by more than `tol`.
    accelerate
        Whether to use SQUAREM steps.
    clamp_gold
        Whether to take the classes of items with gold labels as known.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> DawidSkene().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "dawid-skene"
    traits: ClassVar[Traits] = Traits(
        iterative=True, monotone=True, distributed=True, online="votes", tables_per_worker=1
    )

    smoothing: float = 0.01
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Confusion matrices, prior and posterior; EM starts from the vote shares, or from an earlier fit."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        first = self.m_step(share_counts(data)) if data.start is None else start_confusions(data.start, data.votes)
        solution = run_em(self, data, first)
        confusion_jkl, prior_k = solution.params
        posterior_ik = data.posterior(self.tables(solution.params))
        return data.fit_of(self, posterior=posterior_ik, confusion=confusion_jkl, prior=prior_k, **solution.steps)

    def e_step(self, data: VoteData, params: ConfusionParams) -> ExpectedCounts:
        """Expected counts by class: P(class k | votes of i) is proportional to prior[k] ∏ confusion[j, k, l]."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: ConfusionParams | None = None) -> ConfusionParams:  # noqa: ARG002
        """Each label's smoothed share of a worker's expected votes on a class, and each class's of the items."""
        return ConfusionParams(shares(counts.votes_jgl + self.smoothing), shares(counts.items_g + self.smoothing))

    def objective(self, params: ConfusionParams, counts: ExpectedCounts) -> float:
        """The log-posterior of the parameters up to a constant: log-likelihood of the votes plus log-prior."""
        if self.smoothing == 0:
            return counts.evidence
        log_prior = sum_logs(params.confusion_jkl) + sum_logs(params.prior_k)
        return counts.evidence + self.smoothing * log_prior

    def tables(self, params: ConfusionParams) -> Tables:
        """The log-probability of each vote under each class."""
        return confusion_tables(params.confusion_jkl, params.prior_k)
