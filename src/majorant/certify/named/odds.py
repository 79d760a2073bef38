"""The log-odds of labels given who voted what, and what majority vote loses by them, under many models at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.certify.named.design import FloatArray
from majorant.theory.checks import safe_log
from majorant.votes import IntArray, Votes

ENTRIES_AT_ONCE = 250_000  # items x models: so many numbers stay in the cache
LEAST = -1e9  # log-probability of the impossible: finite, so that differences are


def vote_odds(votes: Votes, item: IntArray, label: IntArray, prior_bk: FloatArray, confusion: FloatArray) -> FloatArray:
    """The log-odds of each item's `label` against the best other class, given who voted what, (models, items).

    `confusion` holds a matrix for each worker, (B, J, K, K), or one for all, (B, K, K).

    >>> votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels="ny")
    >>> crew = np.array([[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]])
    >>> vote_odds(votes, np.array([0]), np.array([0]), np.array([[.5, .5]]), crew[None]).round(3).tolist()
    [[1.792]]
    """
    odds_bi = np.empty((len(prior_bk), len(item)))
    said_ic = _said(votes, shared=confusion.ndim == 3)[item]
    for rows, score_kib in _scores(said_ic, prior_bk, confusion):
        odds_bi[:, rows] = _odds(score_kib, label[rows]).T
    return odds_bi


def majority_right(votes: Votes, majority_i: IntArray, prior_k: FloatArray, confusion: FloatArray) -> FloatArray:
    """P(the class is majority's label), given who voted what, for each item; NaN for ties, where `majority_i` is -1.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels="ny")
    >>> worker = np.array([[[.9, .1], [.2, .8]]])
    >>> majority_right(votes, np.array([0, 1]), np.array([.5, .5]), worker).round(3).tolist()
    [0.818, 0.889]
    """
    right_i, untied = np.full(len(majority_i), np.nan), np.flatnonzero(majority_i >= 0)
    said_ic = _said(votes, shared=confusion.ndim == 2)[untied]
    for rows, score_ki1 in _scores(said_ic, prior_k[None], confusion[None]):
        item, score_ki = untied[rows], score_ki1[..., 0]
        own_i = score_ki[majority_i[item], np.arange(len(item))]
        right_i[item] = 1 / np.exp(score_ki - own_i).sum(axis=0)
    return right_i


def majority_losses(
    votes: Votes, majority_i: IntArray, weight_bi: NDArray[Any], prior_bk: FloatArray, confusion: FloatArray
) -> FloatArray:
    """What majority gives away under each model: mean of max_k q_ik - q_i,majority over untied items; NaN without any.

    Item i counts weight_bi[b, i] times under model b; `majority_i` is -1 for ties.  Most items are never lost: the
    worst that any model says of each vote, added up, still speaks for majority.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels="ny")
    >>> worker = np.array([[[[.9, .1], [.9, .1]]]])
    >>> majority_losses(votes, np.array([0, 1]), np.ones((1, 2)), np.array([[.7, .3]]), worker).round(3).tolist()
    [0.2]
    """
    said_ic = _said(votes, shared=confusion.ndim == 3)
    untied = np.flatnonzero(majority_i >= 0)
    at_stake = untied[_worst_odds(said_ic[untied], majority_i[untied], prior_bk, confusion) < 0]
    lost_b = np.zeros(len(prior_bk))
    for rows, score_kib in _scores(said_ic[at_stake], prior_bk, confusion):
        item = at_stake[rows]
        odds_ib = _odds(score_kib, majority_i[item])
        score_kib -= score_kib.max(axis=0)
        best_ib = 1 / np.exp(score_kib).sum(axis=0)  # the highest probability of a class
        lost_ib = best_ib * -np.expm1(np.minimum(odds_ib, 0))
        lost_b += (lost_ib * weight_bi[:, item].T).sum(axis=0)
    total_b = weight_bi.sum(axis=1, dtype=float) - weight_bi[:, majority_i < 0].sum(axis=1, dtype=float)
    return np.asarray(np.divide(lost_b, total_b, out=np.full(len(lost_b), np.nan), where=total_b > 0))


def _said(votes: Votes, *, shared: bool) -> Any:
    """Items x (worker, label); one worker stands for all if they share a confusion."""
    from scipy.sparse import csr_array

    _, n_workers, n_classes = votes.shape
    column_n = votes.label_n if shared else votes.worker_n * np.int64(n_classes) + votes.label_n
    shape = (len(votes.items), n_classes if shared else n_workers * n_classes)
    return csr_array((np.ones(votes.n_votes), column_n, votes.offsets_i), shape=shape)


def _tables(prior_bk: FloatArray, confusion: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log-probabilities of the classes, (K, B), and of each vote given the class, (K, workers * labels, B)."""
    n_models, n_classes = prior_bk.shape
    log_bjkl = np.maximum(safe_log(confusion), LEAST).reshape(n_models, -1, n_classes, n_classes)
    log_vote_kcb = log_bjkl.transpose(2, 1, 3, 0).reshape(n_classes, -1, n_models)
    return np.maximum(safe_log(prior_bk), LEAST).T, log_vote_kcb


def _scores(said_ic: Any, prior_bk: FloatArray, confusion: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Some items at a time, and their scores of each class, (K, items, models), relative to the first class."""
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    n_items, n_models, n_classes = said_ic.shape[0], *prior_bk.shape
    size = max(1, ENTRIES_AT_ONCE // n_models)
    for start in range(0, n_items, size):
        rows = slice(start, min(start + size, n_items))
        score_kib = np.zeros((n_classes, rows.stop - start, n_models))
        for k in range(1, n_classes):
            score_kib[k] = said_ic[rows] @ (log_vote_kcb[k] - log_vote_kcb[0])
            score_kib[k] += log_prior_kb[k] - log_prior_kb[0]
        yield rows, score_kib


def _odds(score_kib: FloatArray, label_i: IntArray) -> FloatArray:
    """Each label's score less the best other, (items, models)."""
    own_ib, best_ib = np.empty((2, *score_kib.shape[1:]))
    for k in np.unique(label_i):
        rows = np.flatnonzero(label_i == k)
        own_ib[rows] = score_kib[k, rows]
        best_ib[rows] = np.delete(score_kib, k, axis=0)[:, rows].max(axis=0, initial=-np.inf)
    return np.asarray(own_ib - best_ib)


def _worst_odds(said_ic: Any, label_i: IntArray, prior_bk: FloatArray, confusion: FloatArray) -> FloatArray:
    """A lower bound for each label's odds under all models: every vote as bad for it as under any of them."""
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    worst_i = np.full(len(label_i), np.inf)
    for k, m in permutations(range(len(log_prior_kb)), 2):
        least_c = (log_vote_kcb[k] - log_vote_kcb[m]).min(axis=1)
        start = (log_prior_kb[k] - log_prior_kb[m]).min()
        rows = np.flatnonzero(label_i == k)
        worst_i[rows] = np.minimum(worst_i[rows], said_ic[rows] @ least_c + start)
    return worst_i
