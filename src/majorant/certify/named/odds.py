"""The log-odds of labels given who voted what, and what majority vote loses by them, under many models at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any, NamedTuple

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
    votes_ic = _vote_matrix(votes, shared=confusion.ndim == 3)[item]
    for rows, score_kib in _scores(votes_ic, prior_bk, confusion):
        odds_bi[:, rows] = _odds(score_kib, label[rows]).T
    return odds_bi


class Losses(NamedTuple):
    """What majority gives away per item under each model, and the part of it that a fair draw on ties does."""

    all_b: FloatArray
    tied_b: FloatArray


def least_deserving(
    votes: Votes, top_ik: NDArray[np.bool_], prior_bk: FloatArray, confusion: FloatArray
) -> NDArray[np.int64]:
    """Majority's label of each item; of tied labels the one that is least probable under the (one) model.

    >>> from majorant.certify.named.design import leaders
    >>> votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels="ny")
    >>> crew = np.array([[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]])
    >>> least_deserving(votes, leaders(votes), np.array([[.5, .5]]), crew[None]).tolist()
    [1]
    """
    label_i, tied = top_ik.argmax(axis=1), np.flatnonzero((top_ik.sum(axis=1) > 1) & (votes.votes_i > 0))
    votes_ic = _vote_matrix(votes, shared=confusion.ndim == 3)[tied]
    for rows, score_ki1 in _scores(votes_ic, prior_bk, confusion):
        label_i[tied[rows]] = np.where(top_ik[tied[rows]], score_ki1[..., 0].T, np.inf).argmin(axis=1)
    return np.asarray(label_i, dtype=np.int64)


def majority_right(votes: Votes, top_ik: NDArray[np.bool_], prior_k: FloatArray, confusion: FloatArray) -> FloatArray:
    """P(majority's label is the class), given who voted what, for each item; NaN without votes.

    `top_ik` are the classes with the most votes, among which majority draws.

    >>> from majorant.certify.named.design import leaders
    >>> votes = Votes.from_codes([0, 1, 2, 2], [0, 0, 0, 1], [0, 1, 0, 1], items="abc", workers="wx", labels="ny")
    >>> crew = np.array([[[.9, .1], [.2, .8]]] * 2)
    >>> majority_right(votes, leaders(votes), np.array([.5, .5]), crew).round(3).tolist()
    [0.818, 0.889, 0.5]
    """
    right_i, voted = np.full(len(top_ik), np.nan), np.flatnonzero(votes.votes_i > 0)
    votes_ic = _vote_matrix(votes, shared=confusion.ndim == 2)[voted]
    for rows, score_ki1 in _scores(votes_ic, prior_k[None], confusion[None]):
        right_i[voted[rows]] = _drawn(_probabilities(score_ki1), top_ik[voted[rows]])[:, 0]
    return right_i


def majority_losses(
    votes: Votes, top_ik: NDArray[np.bool_], weight_bi: NDArray[Any], prior_bk: FloatArray, confusion: FloatArray
) -> Losses:
    """What majority gives away under each model: mean over items of max_k q_ik less that of the classes it draws from.

    Item i counts weight_bi[b, i] times under model b; NaN where no item has votes.  Most items are never lost: the
    worst that any model says of each vote, added up, still speaks for majority.

    >>> from majorant.certify.named.design import leaders
    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels="ny")
    >>> worker = np.array([[[[.9, .1], [.9, .1]]]])
    >>> majority_losses(votes, leaders(votes), np.ones((1, 2)), np.array([[.7, .3]]), worker).all_b.round(3).tolist()
    [0.2]
    """
    votes_ic, tied_i, majority_i = (
        _vote_matrix(votes, shared=confusion.ndim == 3),
        top_ik.sum(axis=1) > 1,
        top_ik.argmax(axis=1),
    )
    voted_i = votes.votes_i > 0
    untied = np.flatnonzero(voted_i & ~tied_i)
    at_stake = untied[_worst_odds(votes_ic[untied], majority_i[untied], prior_bk, confusion) < 0]
    lost_pb = np.zeros((2, len(prior_bk)))
    for part, item_p in enumerate((at_stake, np.flatnonzero(voted_i & tied_i))):
        for rows, score_kib in _scores(votes_ic[item_p], prior_bk, confusion):
            item, probability_kib = item_p[rows], _probabilities(score_kib)
            lost_ib = probability_kib.max(axis=0) - _drawn(probability_kib, top_ik[item])
            lost_pb[part] += (lost_ib * weight_bi[:, item].T).sum(axis=0)
    total_b = weight_bi[:, voted_i].sum(axis=1, dtype=float)
    all_b, tied_b = (
        np.divide(lost_b, total_b, out=np.full(len(total_b), np.nan), where=total_b > 0)
        for lost_b in (lost_pb.sum(axis=0), lost_pb[1])
    )
    return Losses(all_b, tied_b)


def _probabilities(score_kib: FloatArray) -> FloatArray:
    """Of each class, from scores up to a constant; these are overwritten."""
    score_kib -= score_kib.max(axis=0)
    np.exp(score_kib, out=score_kib)
    score_kib /= score_kib.sum(axis=0)
    return score_kib


def _drawn(probability_kib: FloatArray, top_ik: NDArray[np.bool_]) -> FloatArray:
    """The probability of a class drawn from those with the most votes, (items, models)."""
    return np.asarray(np.einsum("kib,ik->ib", probability_kib, top_ik / top_ik.sum(axis=1, keepdims=True)))


def _vote_matrix(votes: Votes, *, shared: bool) -> Any:
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


def _scores(votes_ic: Any, prior_bk: FloatArray, confusion: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Some items at a time, and their scores of each class, (K, items, models), relative to the first class."""
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    n_items, n_models, n_classes = votes_ic.shape[0], *prior_bk.shape
    size = max(1, ENTRIES_AT_ONCE // n_models)
    for start in range(0, n_items, size):
        rows = slice(start, min(start + size, n_items))
        score_kib = np.zeros((n_classes, rows.stop - start, n_models))
        for k in range(1, n_classes):
            score_kib[k] = votes_ic[rows] @ (log_vote_kcb[k] - log_vote_kcb[0])
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


def _worst_odds(votes_ic: Any, label_i: IntArray, prior_bk: FloatArray, confusion: FloatArray) -> FloatArray:
    """A lower bound for each label's odds under all models: every vote as bad for it as under any of them."""
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    worst_i = np.full(len(label_i), np.inf)
    for k, m in permutations(range(len(log_prior_kb)), 2):
        least_c = (log_vote_kcb[k] - log_vote_kcb[m]).min(axis=1)
        start = (log_prior_kb[k] - log_prior_kb[m]).min()
        rows = np.flatnonzero(label_i == k)
        worst_i[rows] = np.minimum(worst_i[rows], votes_ic[rows] @ least_c + start)
    return worst_i
