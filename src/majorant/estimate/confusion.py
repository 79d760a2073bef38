"""Confusion matrices as parameters: the model of them, and where a fit starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from majorant.errors import ConfigError
from majorant.estimate.em import Prepared
from majorant.estimate.fit import Fit, fit_of
from majorant.estimate.tables import ExpectedCounts, Tables, expect, share_counts, sum_of_logs
from majorant.kernels import FloatArray, shares
from majorant.theory.checks import safe_log
from majorant.votes import Votes


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


def confusion_tables(confusion_jkl: FloatArray, prior_k: FloatArray) -> Tables:
    """Log-probabilities of each vote under each class, and of the classes."""
    return Tables(vote_rows(safe_log(confusion_jkl)), safe_log(prior_k))


def vote_rows(value_jgl: FloatArray) -> FloatArray:
    """An array by worker, latent class and label as a table: a row for each (worker, label), a column a class."""
    n_workers, n_latent, n_labels = value_jgl.shape
    return value_jgl.transpose(0, 2, 1).reshape(n_workers * n_labels, n_latent)


def map_fit(method: str, votes: Votes, prepared: Prepared, confusion: FloatArray, prior_k: FloatArray) -> Fit:
    """The most probable classes under confusion matrices, one for each worker or, (K, K), one for all."""
    _, n_workers, n_classes = votes.shape
    each_jkl = np.broadcast_to(confusion, (n_workers, n_classes, n_classes))
    posterior_ik = prepared.posterior(confusion_tables(each_jkl, prior_k))
    return fit_of(method, votes, posterior=posterior_ik, prior=prior_k, confusion=confusion)


def coin_confusions(accuracy_j: FloatArray, n_classes: int) -> FloatArray:
    """The confusion matrices, (J, K, K), of workers right with accuracy_j and else giving any wrong label alike."""
    if n_classes == 1:
        return np.ones((len(accuracy_j), 1, 1))
    wrong_j = (1 - accuracy_j) / (n_classes - 1)
    return wrong_j[:, None, None] + (accuracy_j - wrong_j)[:, None, None] * np.eye(n_classes)


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


def expected_log(alpha: FloatArray) -> FloatArray:
    """E log p for p drawn from Dirichlet(alpha).

    >>> expected_log(np.array([1.0, 1.0])).tolist()
    [-1.0, -1.0]
    """
    from scipy.special import digamma

    total = alpha @ np.ones(alpha.shape[-1])
    return np.asarray(digamma(alpha) - digamma(total)[..., None])


def divergence(alpha: FloatArray, base: FloatArray, log_alpha: FloatArray | None = None) -> float:
    """The sum over rows of KL(Dirichlet(alpha) || Dirichlet(base)); `base` may have fewer rows and is repeated.

    `log_alpha` is `expected_log(alpha)`, where it is known already.

    >>> round(divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])), 6)  # log 2 - 1/2, and nothing
    0.193147
    """
    from scipy.special import gammaln

    ones_l = np.ones(alpha.shape[-1])
    rows = gammaln(alpha @ ones_l) - gammaln(alpha) @ ones_l
    rows = rows - (gammaln(base @ ones_l) - gammaln(base) @ ones_l)
    log_alpha = expected_log(alpha) if log_alpha is None else log_alpha
    return float(rows.sum() + ((alpha - base) * log_alpha).sum())
