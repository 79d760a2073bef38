"""What methods share: how they are called, where a climb starts, and how votes become rows of an answer.

A method that climbs adds `fit_prepared`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.kernels import Block, Engine, as_weights, shares, weighted_sum
from majorant.methods.em import Prepared, Progress, prepare
from majorant.methods.fit import Estimator, Fit, fit_of
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    confusion_tables,
    expect,
    posterior,
    share_counts,
    sum_of_logs,
)
from majorant.theory.checks import as_prior
from majorant.values import FloatArray
from majorant.votes import Votes


class Iterative(Estimator):
    """A method that goes over the votes until nothing changes, from the votes alone or from an earlier fit."""

    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    def prepare(self, votes: Votes, engine: Engine | None, weights: ArrayLike | None) -> Prepared:
        """The votes as the loop sees them."""
        return prepare(votes, engine, weights, clamp_gold=False)

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """The answer for these votes; `start` continues from an earlier fit, `progress` hears of every step."""
        return self.fit_prepared(votes, self.prepare(votes, engine, weights), start, progress)

    @abstractmethod
    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """The method's own part."""


@dataclass(frozen=True, kw_only=True)
class EmSettings:
    """Settings of the loop in em.py, whose objective never falls: as many steps, until no parameter moves by more."""

    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True  # by SQUAREM steps
    clamp_gold: bool = False  # the classes of gold items are known

    def prepare(self, votes: Votes, engine: Engine | None, weights: ArrayLike | None) -> Prepared:
        """The votes as the loop sees them."""
        return prepare(votes, engine, weights, clamp_gold=self.clamp_gold)


@dataclass(frozen=True, kw_only=True)
class EmModel(EmSettings, Iterative):
    """A model that climbs from the votes alone, or from an earlier fit."""


class ConfusionParams(NamedTuple):
    """P(label l | class k) of each worker, (J, K, K), and the probability of each class, (K,)."""

    confusion_jkl: FloatArray
    prior_k: FloatArray


@dataclass(frozen=True, kw_only=True)
class ConfusionModel:
    """Votes follow confusion matrices, with `smoothing` imaginary ones in each cell and each class."""

    smoothing: float = 0.01

    def tables(self, params: ConfusionParams) -> Tables:
        """Log-probabilities of each vote under each class."""
        return confusion_tables(*params)

    def m_step(self, counts: ExpectedCounts, params: ConfusionParams | None) -> ConfusionParams:  # noqa: ARG002
        """Shares of the expected votes, smoothed."""
        return ConfusionParams(shares(counts.votes_jgl + self.smoothing), shares(counts.items_g + self.smoothing))

    def log_prior(self, params: ConfusionParams, tables: Tables) -> float:  # noqa: ARG002
        """The log-density of the Dirichlet prior, up to a constant."""
        if self.smoothing == 0:
            return 0.0
        return self.smoothing * (sum_of_logs(params.confusion_jkl) + sum_of_logs(params.prior_k))


def start_counts(start: Fit | None, votes: Votes, prepared: Prepared) -> ExpectedCounts:
    """Expected counts under the confusion matrices of an earlier fit, by default under the vote shares."""
    params = params_of(start, votes)
    if params is None:
        return share_counts(prepared.engine, prepared.totals)
    return expect(prepared.engine, confusion_tables(*params), prepared.totals)


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


def learned_of(start: Fit | None, method: str, votes: Votes, *names: str) -> tuple[FloatArray, ...] | None:
    """What an earlier fit of the same method learned, by name, the first with a row per worker; None without one."""
    if start is None or start.method != method:
        return None
    learned = tuple(start.learned[name] for name in names)
    if len(start.label_values) != len(votes.labels):
        raise ConfigError(
            f"start: was fitted to {len(start.label_values)} classes, these votes have {len(votes.labels)}."
        )
    if len(learned[0]) != len(votes.workers):
        raise ConfigError(f"start: was fitted to {len(learned[0])} workers, these votes have {len(votes.workers)}.")
    return learned


def map_fit(method: str, votes: Votes, prepared: Prepared, confusion: FloatArray, prior_k: FloatArray) -> Fit:
    """The most probable classes under confusion matrices, one for each worker or, (K, K), one for all."""
    _, n_workers, n_classes = votes.shape
    each_jkl = np.broadcast_to(confusion, (n_workers, n_classes, n_classes))
    posterior_ik = prepared.posterior(confusion_tables(each_jkl, prior_k))
    return fit_of(method, votes, posterior=posterior_ik, prior=prior_k, confusion=confusion)


def item_rows(prepared: Prepared, rows: Callable[[Block], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """What `rows` says of each of the user's items, (items, K), and the shares of the classes where there are votes."""

    def voted(block: Block) -> FloatArray:
        voted_i = np.diff(block.matrix.indptr) > 0
        return weighted_sum(block, rows(block) * voted_i[:, None])

    return prepared.rows(rows), shares(prepared.engine.map_sum(voted))


def item_weights(weights: ArrayLike | None, n_items: int) -> FloatArray:
    """How often each item counts: once by default."""
    return np.ones(n_items) if weights is None else as_weights(weights, n_items)


def class_shares(posterior_ik: FloatArray, votes: Votes, weights: ArrayLike | None) -> FloatArray:
    """The mean probability of each class over the items with votes."""
    weight_i = item_weights(weights, len(votes.items))
    return shares((weight_i * (votes.votes_i > 0)) @ posterior_ik)


def class_prior(prior: ArrayLike | None, votes: Votes) -> FloatArray:
    """A given prior over the classes of these votes, uniform by default."""
    n_classes = len(votes.labels)
    if prior is None:
        return np.full(n_classes, 1 / n_classes)
    prior_k = as_prior(prior)
    if len(prior_k) != n_classes:
        raise ConfigError(f"prior has {len(prior_k)} classes, these votes have {n_classes}: {votes.labels!r}.")
    return prior_k


def weight_table(weight_j: FloatArray, n_classes: int) -> FloatArray:
    """The table by which a vote of worker j adds weight_j to its own label and nothing to the others."""
    return (weight_j[:, None, None] * np.eye(n_classes)).reshape(-1, n_classes)


def linear_posterior(prepared: Prepared, weight_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities from weights C * accuracy - 1, which may be negative; and the class shares.

    The weight of the one-coin model, log(p (C - 1) / (1 - p)), is C / (C - 1) * (C p - 1) to first order around
    p = 1 / C: so scaled, weighted votes are log-probabilities.  The order of the labels is that of the weighted votes.
    """
    n_classes = prepared.totals.n_labels
    scale = n_classes / max(n_classes - 1, 1)
    tables = Tables(weight_table(scale * weight_j, n_classes), np.zeros(n_classes))
    return item_rows(prepared, lambda block: posterior(block, tables))
