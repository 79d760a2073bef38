"""Dawid & Skene (1979): each worker has its own confusion matrix, learned by EM.

Given that item i is of class k, its votes (worker j, label l) are independent with probability confusion[j, k, l].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Unpack

import numpy as np

from majorant.kernels import shares
from majorant.methods.em import ConfusionParams, pseudo_votes, run_em, start_confusions, stop_early, weigh_logs
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
from majorant.values import FloatArray, safe_log
from majorant.votes import Votes

NO_VOTES = 1e-10  # keeps the logarithm of an impossible vote finite; too little to matter after thousands of steps


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkene:
    """Each worker has its own confusion matrix, and votes are independent given the class; fitted by EM.

    Parameters
    ----------
    smoothing
        Pseudo-votes in each cell of each worker's matrix, a Dirichlet prior: one number, which also counts as
        pseudo-items in each class, or an array of classes by labels. By default, half a pseudo-vote per class (more if
        workers gave fewer than ten votes per class), spread over the labels like the votes of the whole crowd. 0 is
        maximum likelihood.
    min_rise
        Stop when a step improves the fit by less than this per vote, counting the class of an item once for each of its
        votes. This is well before convergence, which often makes labels worse. None runs EM until it converges.
    max_iter, tol
        Stop after `max_iter` steps, or when no parameter moves by more than `tol`.
    accelerate
        Whether to use SQUAREM steps if `min_rise` is None.
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
        iterative=True, monotone=True, distributed=True, naive_bayes=True, tables_per_worker=1
    )

    smoothing: float | FloatArray | None = None
    min_rise: float | None = 1e-5
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Confusion matrices, prior and posterior; EM starts from the vote shares, or from an earlier fit."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        counts = share_counts(data)
        model = self if self.smoothing is not None else replace(self, smoothing=crowd_smoothing(counts))
        first = model.m_step(counts) if data.start is None else start_confusions(data.start, data.votes)
        stop = None if self.min_rise is None else stop_early(data, self.tables, self.min_rise)
        solution = run_em(model, data, first, stop=stop)
        confusion_jkl, prior_k = solution.params
        posterior_ik = data.posterior(self.tables(solution.params))
        return data.fit_of(self, posterior=posterior_ik, confusion=confusion_jkl, prior=prior_k, **solution.steps)

    def e_step(self, data: VoteData, params: ConfusionParams) -> ExpectedCounts:
        """Expected counts by class: P(class k | votes of i) is proportional to prior[k] ∏ confusion[j, k, l]."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: ConfusionParams | None = None) -> ConfusionParams:  # noqa: ARG002
        """Each label's smoothed share of a worker's expected votes on a class, and each class's of the items."""
        return ConfusionParams(shares(counts.votes_jgl + self._cells), shares(counts.items_g + self._items))

    def objective(self, params: ConfusionParams, counts: ExpectedCounts) -> float:
        """The log-posterior of the parameters up to a constant: log-likelihood of the votes plus log-prior."""
        if not np.any(self._cells):
            return counts.evidence
        return (
            counts.evidence
            + weigh_logs(self._cells, safe_log(params.confusion_jkl))
            + self._items * sum_logs(params.prior_k)
        )

    @property
    def _cells(self) -> FloatArray:
        """Pseudo-votes by class and label."""
        return np.asarray(0.0 if self.smoothing is None else self.smoothing)

    @property
    def _items(self) -> float:
        """Pseudo-items in each class."""
        return float(self._cells) if self._cells.ndim == 0 else NO_VOTES

    def tables(self, params: ConfusionParams) -> Tables:
        """The log-probability of each vote under each class."""
        return confusion_tables(params.confusion_jkl, params.prior_k)


def crowd_smoothing(counts: ExpectedCounts) -> FloatArray:
    """Pseudo-votes of each class, spread over the labels like the votes of the whole crowd, (K, K).

    With `counts` of the vote shares, the prior agrees with every item that has a single vote.
    """
    return np.maximum(pseudo_votes(counts) * shares(counts.votes_jgl.sum(axis=0)), NO_VOTES)
