"""EBCC, Li, Rubinstein & Cohn 2019: subtypes within each class, shared by all workers, so that errors correlate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from majorant.kernels import Block, shares
from majorant.methods.base import EmModel, learned_of, start_counts
from majorant.methods.em import Prepared, Progress, run_starts
from majorant.methods.fit import Fit, fit_of
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    by_worker,
    divergence,
    expect,
    expected_log,
    posterior,
    share_counts,
    vote_rows,
)
from majorant.theory.checks import safe_log
from majorant.values import TINY, FloatArray
from majorant.votes import Votes

LEAST_ITEMS = 0.01  # imaginary items of a class that nobody voted for
START_SPREAD = 0.1  # in nats a vote: enough to set subtypes apart, small against what votes say about classes


class SubtypeParams(NamedTuple):
    """Dirichlet parameters: votes of each worker by class, subtype and label; subtypes of each class; classes."""

    votes_jkml: FloatArray
    subtypes_km: FloatArray
    items_k: FloatArray
    base_k: FloatArray  # those of the classes before any vote; they stay as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class EBCC(EmModel):
    """An item is of a class and, within it, of one of `subtypes`; workers have a row of habits for each; VB.

    Workers who stumble over the same subtype err together, so their votes are not independent given the class.
    `right` and `wrong` are imaginary votes on and off the diagonal, `concentration` imaginary items over the subtypes
    of a class; those of the classes are `items` each, or the vote shares summed over items.  The objective is the
    evidence lower bound; of two starts, one subtype a class and subtypes from harder to easier items, the better wins.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 1, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> EBCC().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "ebcc"
    tables_per_worker: ClassVar[int] = 2  # one for each subtype of a class

    subtypes: int = 2
    concentration: float = 0.1
    right: float = 4.0
    wrong: float = 1.0
    items: float | None = None
    tol: float = 1e-3

    def tables(self, params: SubtypeParams) -> Tables:
        """Expected log-probabilities under each subtype of each class."""
        n_workers, n_classes, n_subtypes, n_labels = params.votes_jkml.shape
        log_vote_jgl = expected_log(params.votes_jkml).reshape(n_workers, n_classes * n_subtypes, n_labels)
        log_prior_km = expected_log(params.items_k)[:, None] + expected_log(params.subtypes_km)
        return Tables(vote_rows(log_vote_jgl), log_prior_km.ravel())

    def m_step(self, counts: ExpectedCounts, params: SubtypeParams | None) -> SubtypeParams:
        """Expected votes and items added to the imaginary ones."""
        items_km = counts.items_g.reshape(-1, self.subtypes)
        n_classes, n_labels = len(items_km), counts.votes_jgl.shape[2]
        base_k = np.ones(n_classes) if params is None else params.base_k
        return SubtypeParams(
            counts.votes_jgl.reshape(-1, n_classes, self.subtypes, n_labels) + self.base(n_classes),
            items_km + self.concentration / self.subtypes,
            items_km.sum(axis=1) + base_k,
            base_k,
        )

    def log_prior(self, params: SubtypeParams, tables: Tables) -> float:
        """Minus the divergence of the approximate posterior from the prior."""
        even_m = np.full(self.subtypes, self.concentration / self.subtypes)
        log_vote_jkml = by_worker(tables.log_vote_cg, len(params.items_k)).reshape(params.votes_jkml.shape)
        return -(
            divergence(params.votes_jkml, self.base(len(params.items_k)), log_vote_jkml)
            + divergence(params.subtypes_km, even_m)
            + divergence(params.items_k, params.base_k)
        )

    def base(self, n_classes: int) -> FloatArray:
        """The imaginary votes by class, subtype (one stands for all) and label."""
        return np.where(np.eye(n_classes, dtype=bool), self.right, self.wrong)[:, None, :]

    def starts(self, counts: ExpectedCounts, base_k: FloatArray, prepared: Prepared) -> Iterator[SubtypeParams]:
        """From the given counts: all items of a class in one subtype, then subtypes from harder to easier items.

        A class's items are set apart by how much their votes agree with the class, so nothing has to be drawn.
        """
        n_classes = len(base_k)
        first_m = np.eye(self.subtypes)[0]
        votes_jkml = counts.votes_jgl[:, :, None, :] * first_m[:, None]
        votes_jgl = votes_jkml.reshape(len(votes_jkml), -1, n_classes)
        yield self._from_counts(ExpectedCounts(votes_jgl, np.outer(counts.items_g, first_m).ravel(), 0.0), base_k)
        if self.subtypes == 1:
            return
        confusion_jkl = shares(counts.votes_jgl + self.base(n_classes)[:, 0])
        agrees_jkl = np.eye(n_classes) - np.einsum("jkk->jk", confusion_jkl)[:, :, None]
        votes_jkl = counts.votes_jgl.sum(axis=2, keepdims=True) * confusion_jkl
        variance_k = (votes_jkl * agrees_jkl**2).sum(axis=(0, 2)) / np.maximum(votes_jkl.sum(axis=(0, 2)), TINY)
        agrees_jkl /= np.sqrt(np.maximum(variance_k, TINY))[:, None]
        easier_m = np.linspace(-START_SPREAD, START_SPREAD, self.subtypes)
        log_vote_jkml = np.log(confusion_jkl)[:, :, None] + easier_m[:, None] * agrees_jkl[:, :, None]
        log_vote_jgl = log_vote_jkml.reshape(len(confusion_jkl), -1, n_classes)
        tables = Tables(vote_rows(log_vote_jgl), np.repeat(safe_log(shares(base_k)), self.subtypes))
        yield self._from_counts(expect(prepared.engine, tables, prepared.totals), base_k)

    def _from_counts(self, counts: ExpectedCounts, base_k: FloatArray) -> SubtypeParams:
        return self.m_step(counts, SubtypeParams(np.empty(0), np.empty(0), np.empty(0), base_k))

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """Posterior of classes and, in `learned["subtypes"]`, of subtypes (I, K, M)."""
        earlier = learned_of(start, self.name, votes, *SubtypeParams._fields)
        base_k = np.maximum(share_counts(prepared.engine, prepared.totals).items_g, LEAST_ITEMS)
        if self.items is not None:
            base_k = np.full(len(votes.labels), self.items)
        starts: Iterable[SubtypeParams]
        if earlier is None:
            starts = self.starts(start_counts(start, votes, prepared), base_k, prepared)
        else:
            starts = [SubtypeParams(*earlier)._replace(base_k=base_k)]
        solution = run_starts(self, prepared, starts, progress)
        params = solution.params
        tables, n_classes, n_subtypes = self.tables(params), len(votes.labels), self.subtypes

        def subtypes(block: Block) -> FloatArray:
            return posterior(block, tables).reshape(-1, n_classes, n_subtypes)

        return fit_of(
            self.name,
            votes,
            posterior=prepared.rows(lambda block: subtypes(block).sum(axis=2)),
            prior=shares(params.items_k),
            confusion=np.einsum("jkml,km->jkl", shares(params.votes_jkml), shares(params.subtypes_km)),
            learned={"subtypes": prepared.rows(subtypes), **params._asdict()},
            **solution.steps,
        )
