"""Rules by name: a method, the weighted vote, a judge, or a panel of some of the judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from majorant.backend import Backend
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.kernels import Block, shares
from majorant.methods import ESTIMATORS, method_named
from majorant.methods.fit import Fit
from majorant.results.rules import AUTO, rule_fit
from majorant.values import FloatArray

BETWEEN_JUDGES = "+"


def fit_named_rule(backend: Backend, rule: str, seed: int) -> Fit:
    """Fit a rule by its name to all votes, wherever they are.

    Parameters
    ----------
    backend : Backend
        All votes.
    rule : str
        A method, `weighted-vote` (also `auto`), the name of a worker, or names of workers joined by "+": the majority
        of these.  Where none of them voted on an item the majority of all counts.
    seed : int
        Random seed.

    Examples
    --------
    >>> from majorant.backend import as_backend
    >>> votes = as_backend([("q", "gpt", "no"), ("q", "gemini", "yes"), ("q", "claude", "yes"), ("r", "gpt", "no")])
    >>> fit_named_rule(votes, "gpt", 0).labels(), fit_named_rule(votes, "gemini+claude", 0).labels()
    (['no', 'no'], ['yes', 'no'])
    """
    if rule in ESTIMATORS or rule in (AUTO, WEIGHTED_VOTE):
        return rule_fit(backend, WEIGHTED_VOTE if rule == AUTO else rule, seed)
    if judges := find_judges(backend, rule):
        weight_j = np.zeros(len(backend.votes.workers))
        weight_j[list(judges)] = 1.0
        majority = backend.fit(MAJORITY, seed)
        return replace(majority, method=rule, posterior=backend.rows(partial(_judge_shares, weight_j)))
    try:
        return rule_fit(backend, method_named(rule, beside=[AUTO, WEIGHTED_VOTE]), seed)
    except ConfigError as error:
        few = list(map(str, backend.votes.workers[:12]))
        more = ", ..." if len(backend.votes.workers) > len(few) else ""
        raise ConfigError(f"{error} Or name workers: {', '.join(few)}{more}.") from None


def find_judges(backend: Backend, rule: str) -> tuple[int, ...]:
    """The codes of the workers that a rule names, empty where it names none."""
    place = {str(worker): j for j, worker in enumerate(backend.votes.workers)}
    names = [rule] if rule in place else rule.split(BETWEEN_JUDGES)
    return tuple(place[name] for name in names) if all(name in place for name in names) else ()


def full_judges(backend: Backend, *, share: float = 0.9) -> Sequence[str]:
    """The names of the workers who vote on nearly all items, those with most votes first."""
    votes_j = backend.votes_by_worker().sum(axis=1)
    busy = [int(j) for j in np.argsort(-votes_j, kind="stable") if votes_j[j] >= share * backend.votes.shape[0]]
    return [str(backend.votes.workers[j]) for j in busy]


def _judge_shares(weight_j: FloatArray, block: Block) -> FloatArray:
    """The shares of the votes of some workers on each item, of all workers where these did not vote."""
    matrix, n_classes = block.matrix, block.n_classes
    item_n = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    worker_n, label_n = np.divmod(matrix.indices, n_classes)
    cell_n, size = item_n * n_classes + label_n, (matrix.shape[0], n_classes)
    own_ik = np.bincount(cell_n, matrix.data * weight_j[worker_n], size[0] * size[1]).reshape(size).astype(float)
    all_ik = np.bincount(cell_n, matrix.data, size[0] * size[1]).reshape(size).astype(float)
    return shares(np.where(own_ik.any(axis=1, keepdims=True), own_ik, all_ik))
