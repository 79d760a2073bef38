"""What methods outside EM share: rows for every item, weighted votes, and how well each worker agrees with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import as_weights
from majorant.errors import ConfigError
from majorant.estimate.em import Prepared
from majorant.estimate.fit import TIE_TOLERANCE, Fit
from majorant.estimate.tables import Tables, posterior
from majorant.kernels import Block, FloatArray, gather, scatter, shares, weighted_sum
from majorant.theory.checks import as_prior
from majorant.votes import Votes


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


def voted_shares(prepared: Prepared, weight_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Each label's share of an item's votes, where worker j counts weight_j >= 0 times; and the class shares."""
    table = weight_table(weight_j, prepared.totals.n_labels)
    return item_rows(prepared, lambda block: shares(gather(block, table)))


def linear_posterior(prepared: Prepared, weight_j: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities from weights C * accuracy - 1, which may be negative; and the class shares.

    The weight of the one-coin model, log(p (C - 1) / (1 - p)), is C / (C - 1) * (C p - 1) to first order around
    p = 1 / C: so scaled, weighted votes are log-probabilities.  The order of the labels is that of the weighted votes.
    """
    n_classes = prepared.totals.n_labels
    scale = n_classes / max(n_classes - 1, 1)
    tables = Tables(weight_table(scale * weight_j, n_classes), np.zeros(n_classes))
    return item_rows(prepared, lambda block: posterior(block, tables))


def agreements(prepared: Prepared, weight_j: FloatArray) -> FloatArray:
    """How many votes of each worker are for the label that wins the weighted vote; a tie credits each best evenly."""
    n_classes = prepared.totals.n_labels
    largest = np.abs(weight_j).max(initial=0.0)
    table = weight_table(weight_j / largest if largest > 0 else weight_j, n_classes)
    credit_cl = prepared.engine.map_sum(lambda block: scatter(block, winners(gather(block, table))))
    return np.asarray(np.einsum("jkk->j", credit_cl.reshape(-1, n_classes, n_classes)))


def winners(score_ik: FloatArray) -> FloatArray:
    """1 for the best class of each row, split evenly where several are best."""
    top_i = score_ik[:, 0].copy()
    for k in range(1, score_ik.shape[1]):
        np.maximum(top_i, score_ik[:, k], out=top_i)
    return shares((score_ik >= (top_i - TIE_TOLERANCE)[:, None]).astype(float))


def worker_totals(prepared: Prepared) -> FloatArray:
    """How many votes each worker gave, items counted as often as they weigh."""
    totals = prepared.totals
    return np.asarray(totals.votes_c.reshape(totals.n_workers, totals.n_labels).sum(axis=1))


def ratio(part_j: FloatArray, whole_j: FloatArray, otherwise: float) -> FloatArray:
    """part / whole, and `otherwise` where the whole is 0."""
    return np.asarray(np.divide(part_j, whole_j, out=np.full(len(part_j), otherwise), where=whole_j > 0))


def skill_of(start: Fit, votes: Votes) -> FloatArray:
    """The skills of an earlier fit to the same workers, to start from."""
    if start.skill is None or len(start.skill) != len(votes.workers):
        raise ConfigError(f"start: a {start.method} fit has no skills for these {len(votes.workers)} workers.")
    return start.skill
