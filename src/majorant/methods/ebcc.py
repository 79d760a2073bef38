"""EBCC (Li, Rubinstein & Cohn 2019): classes have subtypes, shared by all workers, so that errors correlate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import Block, shares
from majorant.methods.em import run_starts, start_counts, start_params
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
    posterior,
    prepare,
    share_counts,
    vote_rows,
)
from majorant.values import TINY, FloatArray, safe_log
from majorant.votes import Votes


class SubtypeParams(NamedTuple):
    """Dirichlet parameters of each worker's votes by class, subtype and label; of each class's subtypes; of classes."""

    votes_jkml: FloatArray
    subtypes_km: FloatArray
    items_k: FloatArray
    base_k: FloatArray  # the prior of `items_k`, which is not updated


@dataclass(frozen=True, slots=True, kw_only=True)
class EBCC:
    """Items have a class and a subtype of it; a rare label may lose although it is an item's only vote.

    Each worker has a row of label probabilities per subtype.

    Workers who struggle with the same subtype make the same mistakes, so votes are dependent given the class. Fitted by
    variational Bayes from two starts, one subtype per class and subtypes that range from harder to easier items; the
    result with the higher bound is kept.

    Parameters
    ----------
    subtypes
        Number of subtypes per class; the authors use 10.
    concentration
        The prior's number of pseudo-items per class, spread over its subtypes.
    right, wrong
        The prior's pseudo-votes on and off the diagonal.
    items
        The prior's pseudo-items of each class; by default, the vote shares summed over items.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "ebcc"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, tables_per_worker=2)

    subtypes: int = 2
    concentration: float = 0.1
    right: float = 4.0
    wrong: float = 1.0
    items: float | None = None
    max_iter: int = 1_000
    tol: float = 1e-3
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Posterior of classes and, in `learned["subtypes"]`, of subtypes, (I, K, M)."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        n_classes, n_subtypes = len(data.votes.labels), self.subtypes
        earlier = start_params(data, self.name, *SubtypeParams._fields)
        # A class without votes still gets .01 pseudo-items.
        shares_k = np.maximum(share_counts(data).items_g, 0.01)
        base_k = shares_k if self.items is None else np.full(n_classes, self.items)
        starts: Iterable[SubtypeParams]
        if earlier is None:
            starts = self.starts(data, start_counts(data), base_k)
        else:
            starts = [SubtypeParams(*earlier)._replace(base_k=base_k)]
        solution = run_starts(self, data, starts)
        params = solution.params
        tables = self.tables(params)

        def subtypes(block: Block) -> FloatArray:
            return posterior(block, tables).reshape(-1, n_classes, n_subtypes)

        return data.fit_of(
            self,
            posterior=data.rows(lambda block: subtypes(block).sum(axis=2)),
            prior=shares(params.items_k),
            confusion=np.einsum("jkml,km->jkl", shares(params.votes_jkml), shares(params.subtypes_km)),
            learned={"subtypes": data.rows(subtypes), **params._asdict()},
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: SubtypeParams) -> ExpectedCounts:
        """The posterior of each item over classes and subtypes, and the expected votes under it."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: SubtypeParams | None) -> SubtypeParams:
        """Add the expected votes and items to those of the prior."""
        items_km = counts.items_g.reshape(-1, self.subtypes)
        n_classes, n_labels = len(items_km), counts.votes_jgl.shape[2]
        base_k = np.ones(n_classes) if params is None else params.base_k
        return SubtypeParams(
            counts.votes_jgl.reshape(-1, n_classes, self.subtypes, n_labels) + self._base(n_classes),
            items_km + self.concentration / self.subtypes,
            items_km.sum(axis=1) + base_k,
            base_k,
        )

    def objective(self, params: SubtypeParams, counts: ExpectedCounts) -> float:
        """The evidence lower bound: the evidence minus the divergence of the approximate posterior from the prior."""
        assert counts.tables is not None
        n_classes = len(params.items_k)
        log_vote_jkml = by_worker(counts.tables.log_vote_cg, n_classes).reshape(params.votes_jkml.shape)
        even_m = np.full(self.subtypes, self.concentration / self.subtypes)
        return counts.evidence - (
            divergence(params.votes_jkml, self._base(n_classes), log_vote_jkml)
            + divergence(params.subtypes_km, even_m)
            + divergence(params.items_k, params.base_k)
        )

    def tables(self, params: SubtypeParams) -> Tables:
        """The expected log-probability of each vote under each subtype of each class."""
        n_workers, n_classes, n_subtypes, n_labels = params.votes_jkml.shape
        log_vote_jgl = expected_log(params.votes_jkml).reshape(n_workers, n_classes * n_subtypes, n_labels)
        log_prior_km = expected_log(params.items_k)[:, None] + expected_log(params.subtypes_km)
        return Tables(vote_rows(log_vote_jgl), log_prior_km.ravel())

    def starts(self, data: VoteData, counts: ExpectedCounts, base_k: FloatArray) -> Iterator[SubtypeParams]:
        """Parameters to start from, given the expected votes by class.

        First with all items of a class in one subtype, then with subtypes from harder to easier items: items of a class
        are separated by how much their votes agree with it.
        """
        prior = SubtypeParams(np.empty(0), np.empty(0), np.empty(0), base_k)
        n_classes, first_m = len(base_k), np.eye(self.subtypes)[0]
        votes_jkml = counts.votes_jgl[:, :, None, :] * first_m[:, None]
        votes_jgl = votes_jkml.reshape(len(votes_jkml), -1, n_classes)
        yield self.m_step(ExpectedCounts(votes_jgl, np.outer(counts.items_g, first_m).ravel()), prior)
        if self.subtypes == 1:
            return
        confusion_jkl = shares(counts.votes_jgl + self._base(n_classes)[:, 0])
        agrees_jkl = np.eye(n_classes) - np.einsum("jkk->jk", confusion_jkl)[:, :, None]
        votes_jkl = counts.votes_jgl.sum(axis=2, keepdims=True) * confusion_jkl
        variance_k = (votes_jkl * agrees_jkl**2).sum(axis=(0, 2)) / np.maximum(votes_jkl.sum(axis=(0, 2)), TINY)
        agrees_jkl /= np.sqrt(np.maximum(variance_k, TINY))[:, None]
        # A tenth of a nat per vote separates subtypes, and is small compared with what votes say about classes.
        easier_m = np.linspace(-0.1, 0.1, self.subtypes)
        log_vote_jkml = np.log(confusion_jkl)[:, :, None] + easier_m[:, None] * agrees_jkl[:, :, None]
        log_vote_jgl = log_vote_jkml.reshape(len(confusion_jkl), -1, n_classes)
        tables = Tables(vote_rows(log_vote_jgl), np.repeat(safe_log(shares(base_k)), self.subtypes))
        yield self.m_step(expect(data, tables), prior)

    def _base(self, n_classes: int) -> FloatArray:
        """The prior's pseudo-votes by class, subtype (a single row, the same for all) and label."""
        return lean_to_diagonal(n_classes, self.right, self.wrong)[:, None, :]
