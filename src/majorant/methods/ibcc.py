"""iBCC (Kim & Ghahramani 2012): Dawid-Skene with priors on the confusion matrices, by variational Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import shares
from majorant.methods.em import run_em, start_counts, start_params
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    by_worker,
    divergence,
    expect,
    expected_log,
    lean_to_diagonal,
    prepare,
    vote_rows,
)
from majorant.values import FloatArray
from majorant.votes import Votes


class DirichletParams(NamedTuple):
    """Dirichlet parameters of each worker's rows, (J, K, K), and of the class probabilities, (K,)."""

    votes_jkl: FloatArray
    items_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class IBCC:
    """Dawid-Skene with a prior that favours the diagonal; a rare label may lose although it is an item's only vote.

    Each worker's rows have a Dirichlet prior; fitted by variational Bayes.

    `confusion` and `prior` are means of the approximate posterior, whose parameters are `learned["votes"]` and
    `learned["items"]`.

    Parameters
    ----------
    right, wrong
        The prior's pseudo-votes on and off the diagonal.
    items
        The prior's pseudo-items of each class.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "ibcc"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, tables_per_worker=1)

    right: float = 4.0
    wrong: float = 1.0
    items: float = 1.0
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Mean confusion matrices, mean prior and posterior; starts from the vote shares, or from an earlier fit."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        earlier = start_params(data, self.name, "votes", "items")
        begin = self.m_step(start_counts(data)) if earlier is None else DirichletParams(*earlier)
        solution = run_em(self, data, begin)
        votes_jkl, items_k = solution.params
        return data.fit_of(
            self,
            posterior=data.posterior(self.tables(solution.params)),
            prior=shares(items_k),
            confusion=shares(votes_jkl),
            learned={"votes": votes_jkl, "items": items_k},
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: DirichletParams) -> ExpectedCounts:
        """The posterior of each item under expected log-probabilities, and the expected votes under it."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: DirichletParams | None = None) -> DirichletParams:  # noqa: ARG002
        """Add the expected votes and items to those of the prior."""
        base_kl = lean_to_diagonal(len(counts.items_g), self.right, self.wrong)
        return DirichletParams(counts.votes_jgl + base_kl, counts.items_g + self.items)

    def objective(self, params: DirichletParams, counts: ExpectedCounts) -> float:
        """The evidence lower bound: the evidence minus the divergence of the approximate posterior from the prior."""
        assert counts.tables is not None
        n_classes = len(params.items_k)
        log_vote_jkl = by_worker(counts.tables.log_vote_cg, n_classes)
        of_rows = divergence(params.votes_jkl, lean_to_diagonal(n_classes, self.right, self.wrong), log_vote_jkl)
        return counts.evidence + (-of_rows - divergence(params.items_k, np.full(n_classes, self.items)))

    def tables(self, params: DirichletParams) -> Tables:
        """The expected log-probability of each vote under each class."""
        return Tables(vote_rows(expected_log(params.votes_jkl)), expected_log(params.items_k))
