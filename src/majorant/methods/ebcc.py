"""EBCC, Li, Rubinstein & Cohn 2019: subtypes within each class, shared by all workers, so that errors correlate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.kernels import Block, shares
from majorant.methods.base import DrawnEmModel, learned_of, start_counts
from majorant.methods.em import Prepared, Progress, most_promising, run_starts, thinned
from majorant.methods.fit import Fit, fit_of
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    by_worker,
    divergence,
    expect,
    expected_log,
    live_columns,
    posterior,
    share_counts,
    vote_rows,
)
from majorant.theory.checks import safe_log
from majorant.values import FloatArray
from majorant.votes import Votes

SCOUTED_VOTES = 30_000  # of more, some items tell which of the drawn starts is the most promising
LEAST_ITEMS = 0.01  # imaginary items of a class that nobody voted for
START_NOISE = 0.1  # in nats a vote: enough to set subtypes apart, small against what votes say about classes


class SubtypeParams(NamedTuple):
    """Dirichlet parameters: votes of each worker by class, subtype and label; subtypes of each class; classes."""

    votes_jkml: FloatArray
    subtypes_km: FloatArray
    items_k: FloatArray
    base_k: FloatArray  # those of the classes before any vote; they stay as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class EBCC(DrawnEmModel):
    """An item is of a class and, within it, of one of `subtypes`; workers have a row of habits for each; VB.

    Workers who stumble over the same subtype err together, so their votes are not independent given the class.
    `right` and `wrong` are imaginary votes on and off the diagonal, `concentration` imaginary items over the subtypes
    of a class; those of the classes are `items` each, or the vote shares summed over items.  The objective is the
    evidence lower bound; of `restarts` drawn starts the highest bound wins.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 1, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> EBCC().fit(votes, rng=0).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "ebcc"
    tables_per_worker: ClassVar[int] = 10  # one for each subtype of a class

    subtypes: int = 10
    concentration: float = 0.1
    right: float = 4.0
    wrong: float = 1.0
    items: float | None = None
    restarts: int = 5
    tol: float = 1e-3

    def tables(self, params: SubtypeParams) -> Tables:
        """Expected log-probabilities under each subtype of each class."""
        n_workers, n_classes, n_subtypes, n_labels = params.votes_jkml.shape
        live_km, habit_kml = self._live(params), expected_log(self.base(n_classes))
        log_vote_jkml = np.empty(params.votes_jkml.shape)
        log_vote_jkml[:, ~live_km] = np.repeat(habit_kml, n_subtypes, axis=1)[~live_km]
        log_vote_jkml[:, live_km] = expected_log(params.votes_jkml[:, live_km])
        log_vote_jgl = log_vote_jkml.reshape(n_workers, n_classes * n_subtypes, n_labels)
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
        live_km, base_kml = self._live(params), self.base(len(params.items_k))
        log_vote_jgl = by_worker(tables.log_vote_cg, len(base_kml))
        return -(
            divergence(
                params.votes_jkml[:, live_km],
                np.repeat(base_kml, self.subtypes, axis=1)[live_km],
                log_vote_jgl[:, live_km.ravel()],
            )
            + divergence(params.subtypes_km, even_m)
            + divergence(params.items_k, params.base_k)
        )

    def _live(self, params: SubtypeParams) -> NDArray[np.bool_]:
        """Which subtypes hold a part of some item; the others have no votes but imaginary ones, (K, M)."""
        return np.asarray(params.subtypes_km != self.concentration / self.subtypes)

    def base(self, n_classes: int) -> FloatArray:
        """The imaginary votes by class, subtype (one stands for all) and label."""
        return np.where(np.eye(n_classes, dtype=bool), self.right, self.wrong)[:, None, :]

    def starts(
        self, counts: ExpectedCounts, base_k: FloatArray, prepared: Prepared, rng: np.random.Generator
    ) -> Iterator[SubtypeParams]:
        """From the given counts: all items of a class in one subtype, then subtypes set apart by random votes."""
        base = SubtypeParams(np.empty(0), np.empty(0), np.empty(0), base_k)
        first_m = np.eye(self.subtypes)[0]
        votes_jkml = counts.votes_jgl[:, :, None, :] * first_m[:, None]
        votes_jgl = votes_jkml.reshape(len(votes_jkml), -1, len(base_k))
        yield self.m_step(ExpectedCounts(votes_jgl, np.outer(counts.items_g, first_m).ravel(), 0.0), base)
        log_vote_jkl = np.log(shares(counts.votes_jgl + self.base(len(base_k))[:, 0]))
        log_prior_g = np.repeat(safe_log(shares(base_k)), self.subtypes)
        for _ in range(self.restarts):
            noise_jgl = rng.normal(scale=START_NOISE, size=(len(log_vote_jkl), len(log_prior_g), len(base_k)))
            tables = Tables(vote_rows(np.repeat(log_vote_jkl, self.subtypes, axis=1) + noise_jgl), log_prior_g)
            yield self.m_step(expect(prepared.engine, tables, prepared.totals), base)

    def _scouted(
        self,
        start: Fit | None,
        votes: Votes,
        prepared: Prepared,
        few: Prepared | None,
        base_k: FloatArray,
        rng: np.random.Generator,
    ) -> Iterator[SubtypeParams]:
        """The first start; the drawn ones, or of many votes the one that does best on a `few` of the items.

        One that has come back there to one subtype a class is the first start again, and left out.
        """
        starts = self.starts(start_counts(start, votes, prepared), base_k, prepared, rng)
        if few is None:
            yield from starts
            return
        yield next(starts)
        few_k = np.maximum(share_counts(few.engine, few.totals).items_g, LEAST_ITEMS)
        drawn = self.starts(start_counts(start, votes, few), few_k, few, rng)
        next(drawn)
        best = most_promising(self, few, drawn)._replace(base_k=base_k)
        live_g = live_columns(self.tables(best), few.totals)
        if live_g is None or len(live_g) > len(base_k):
            yield best

    def fit_prepared(
        self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None, rng: np.random.Generator
    ) -> Fit:
        """Posterior of classes and, in `learned["subtypes"]`, of subtypes (I, K, M)."""
        earlier = learned_of(start, self.name, votes, *SubtypeParams._fields)
        base_k = np.maximum(share_counts(prepared.engine, prepared.totals).items_g, LEAST_ITEMS)
        if self.items is not None:
            base_k = np.full(len(votes.labels), self.items)
        starts: Iterable[SubtypeParams]
        if earlier is None:
            alone = (
                not prepared.weighted and self.restarts > 1
            )  # an item with a weight stands for many: none is left out
            few = thinned(prepared, SCOUTED_VOTES) if alone else None
            starts = self._scouted(start, votes, prepared, few, base_k, rng)
        else:
            starts = [SubtypeParams(*earlier)._replace(base_k=base_k)]
        solution = run_starts(self, prepared, starts, progress)
        params = solution.params
        tables, n_classes, n_subtypes = self.tables(params), len(votes.labels), self.subtypes

        live_g = live_columns(tables, prepared.totals)
        live = tables if live_g is None else tables.columns(live_g)

        def classes(block: Block) -> FloatArray:
            posterior_ig = posterior(block, live)
            if posterior_ig.shape[1] == n_classes:
                return posterior_ig
            return np.asarray(posterior_ig.reshape(len(posterior_ig), n_classes, -1).sum(axis=2))

        def subtypes(block: Block) -> FloatArray:
            posterior_ig = np.zeros((block.stop - block.start, n_classes * n_subtypes))
            posterior_ig[:, slice(None) if live_g is None else live_g] = posterior(block, live)
            return posterior_ig.reshape(-1, n_classes, n_subtypes)

        share_km = shares(params.subtypes_km)
        return fit_of(
            self.name,
            votes,
            posterior=prepared.rows(classes),
            prior=shares(params.items_k),
            confusion=np.einsum("jkml,km->jkl", shares(params.votes_jkml), share_km),
            learned={"subtypes": prepared.rows(subtypes), **params._asdict()},
            **solution.steps,
        )
