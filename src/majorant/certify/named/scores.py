"""Scores of the independent model for each vote pattern: of its parameters, and of the correlation of each pair."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.certify.named.design import FloatArray
from majorant.theory.checks import safe_log
from majorant.votes import IntArray, Votes

NO_VOTE = -1
Pairs = list[tuple[int, int]]


class WorkerModel(NamedTuple):
    """Class probabilities (K,) and one confusion matrix per worker (J, K, K), votes independent given the class."""

    prior_k: FloatArray
    confusion_jkl: FloatArray


class PatternScores(NamedTuple):
    """For each pattern r the derivatives of its log-probability: by each pair's correlation, by each parameter."""

    pair_rq: FloatArray
    own_rp: FloatArray
    probability_r: FloatArray


def label_matrix(votes: Votes) -> IntArray:
    """What each worker said on each item, (I, J), -1 for no vote; of several votes on an item the last."""
    label_ij = np.full((len(votes.items), len(votes.workers)), NO_VOTE, dtype=np.int32)
    label_ij[votes.item_n, votes.worker_n] = votes.label_n
    return label_ij


def every_pattern(worker_h: IntArray, n_workers: int, n_classes: int) -> IntArray:
    """All ways in which these workers can label an item, (K ** H, J)."""
    label_rj = np.full((n_classes ** len(worker_h), n_workers), NO_VOTE, dtype=np.int32)
    label_rj[:, worker_h] = list(product(range(n_classes), repeat=len(worker_h)))
    return label_rj


def drawn_patterns(voted_rj: NDArray[np.bool_], model: WorkerModel, rng: np.random.Generator) -> IntArray:
    """Labels drawn from the model for those who voted, (R, J)."""
    class_r = rng.choice(len(model.prior_k), size=len(voted_rj), p=model.prior_k)
    threshold_rjl = np.cumsum(model.confusion_jkl, axis=2)[:, class_r, :-1].transpose(1, 0, 2)
    label_rj = (rng.random(voted_rj.shape)[:, :, None] > threshold_rjl).sum(axis=2)
    return np.where(voted_rj, label_rj, NO_VOTE)


def scores(label_rj: IntArray, model: WorkerModel, pairs: Pairs) -> PatternScores:
    """The scores at independence.

    A correlation rho of workers a and b multiplies P(votes | class k) by 1 + rho g_k(their labels), where g_k is the
    excess of their agreement over what independence expects, scaled to variance 1; for two classes rho is the
    correlation of their votes given the class.
    """
    posterior_rk, probability_r = _posterior(label_rj, model)
    pair_rq = np.zeros((len(label_rj), len(pairs)))
    for q, (a, b) in enumerate(pairs):
        both = np.flatnonzero((label_rj[:, a] != NO_VOTE) & (label_rj[:, b] != NO_VOTE))
        excess_lmk = _excess_agreement(model.confusion_jkl[a], model.confusion_jkl[b])
        excess_rk = excess_lmk[label_rj[both, a], label_rj[both, b]]
        pair_rq[both, q] = np.einsum("rk,rk->r", posterior_rk[both], excess_rk)
    return PatternScores(pair_rq, _own_scores(label_rj, posterior_rk, model), probability_r)


def _posterior(label_rj: IntArray, model: WorkerModel) -> tuple[FloatArray, FloatArray]:
    """P(class | pattern), (R, K), and P(pattern) among all patterns of the same workers."""
    score_rk = np.tile(safe_log(model.prior_k), (len(label_rj), 1))
    for label_r, confusion_kl in zip(label_rj.T, model.confusion_jkl, strict=True):
        voted = np.flatnonzero(label_r != NO_VOTE)
        score_rk[voted] += safe_log(confusion_kl).T[label_r[voted]]
    joint_rk = np.exp(score_rk)
    best_r = score_rk.max(axis=1, keepdims=True)
    likely_rk = np.exp(score_rk - np.where(np.isfinite(best_r), best_r, 0.0))
    total_r = likely_rk.sum(axis=1, keepdims=True)
    return np.asarray(likely_rk / np.where(total_r > 0, total_r, 1.0)), joint_rk.sum(axis=1)


def _excess_agreement(one_kl: FloatArray, two_kl: FloatArray) -> FloatArray:
    """g_k(l, m) of `scores`, (L, M, K); 0 for a class in which the two cannot but agree, or never vary."""
    n_classes = len(one_kl)
    expected_k = np.einsum("kl,kl->k", one_kl, two_kl)
    excess_lmk = np.eye(n_classes)[:, :, None] - two_kl.T[:, None, :] - one_kl.T[None, :, :] + expected_k
    variance_k = np.einsum("kl,km,lmk->k", one_kl, two_kl, excess_lmk**2)
    scaled = np.divide(excess_lmk, np.sqrt(variance_k), out=np.zeros_like(excess_lmk), where=variance_k > 0)
    return np.asarray(scaled)


def _own_scores(label_rj: IntArray, posterior_rk: FloatArray, model: WorkerModel) -> FloatArray:
    """Derivatives by the log-odds of the prior and of each row of each matrix, the last entry of each left out."""
    columns = [posterior_rk[:, :-1] - model.prior_k[:-1]]
    for label_r, confusion_kl in zip(label_rj.T, model.confusion_jkl, strict=True):
        said_rl = np.eye(len(confusion_kl))[label_r]
        residual_rkl = said_rl[:, None, :-1] - confusion_kl[None, :, :-1]
        residual_rkl *= (posterior_rk * (label_r != NO_VOTE)[:, None])[:, :, None]
        columns.append(residual_rkl.reshape(len(label_r), -1))
    return np.concatenate(columns, axis=1)
