"""The largest likelihood among models in which majority vote is optimal, under every comparison at once: a search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.certify.universal_inference.comparison import Comparisons, class_logs, margins, odds
from majorant.certify.universal_inference.learn import best_named
from majorant.certify.universal_inference.table import (
    LOG_ZERO,
    Models,
    Table,
    class_scores,
    log_likelihood,
    log_sum,
    logarithm,
)
from majorant.theory.checks import FloatArray

FARTHEST = 30.0  # logits: probabilities from 1e-13, which cost 1e6 votes less than a millionth of a nat
SAFE_SKILL = 0.4  # over chance: the symmetric model that climbs may start from
TOWARDS_SAFE = (0.0, 0.5, 1.0)
SLACK = 1e-6  # nats by which odds may miss 0
MAX_STEPS = 300


class _Point(NamedTuple):
    """A model and the derivatives of what is asked of it, by logarithms of probabilities."""

    models: Models
    shape: tuple[int, int, int]  # classes, voters, labels

    def through(self, by_prior_k: FloatArray, by_table_kf: FloatArray) -> FloatArray:
        """Derivatives by the logits, (..., K + K * F)."""
        n_classes, n_voters, n_labels = self.shape
        prior_k = np.exp(self.models.log_prior_bk[0])
        table_khl = np.exp(self.models.log_table_bkf[0]).reshape(self.shape)
        lead = by_prior_k.shape[:-1]
        by_table = by_table_kf.reshape(*lead, n_classes, n_voters, n_labels)
        by_prior_k = by_prior_k - by_prior_k.sum(axis=-1, keepdims=True) * prior_k
        by_table = by_table - by_table.sum(axis=-1, keepdims=True) * table_khl
        return np.concatenate([by_prior_k, by_table.reshape(*lead, -1)], axis=-1)


def optimal(table: Table, items_p: FloatArray, comparisons: Comparisons, top: Models, share: float) -> float:
    """The largest log-likelihood found among models with odds of at least 0 in every comparison; -inf where none was.

    `top` is the likeliest of all models; the climb (sequential quadratic programming) starts `share` of the way from
    it to a symmetric model in which majority is optimal.
    """
    if margins(comparisons, top)[0] >= 0:
        return float(log_likelihood(table, items_p[None], top)[0])
    return _climb(table, items_p, comparisons, _mixed(best_named(top, table), share, table))


def _climb(table: Table, items_p: FloatArray, comparisons: Comparisons, start: Models) -> float:
    from scipy.optimize import NonlinearConstraint, minimize

    shape = (table.n_classes, table.n_voters, table.n_classes)
    total = float(items_p.sum())

    def loss(logit: FloatArray) -> tuple[float, FloatArray]:
        point = _Point(_model(logit, shape), shape)
        score_kp = class_scores(table, point.models)[0]
        log_p = log_sum(score_kp, axis=0)
        weight_kp = items_p * np.exp(score_kp - log_p)
        slope = point.through(weight_kp.sum(axis=1), weight_kp @ table.said_pf)
        return -float(items_p @ log_p) / total, -slope / total

    def won(logit: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(odds(comparisons, class_logs(comparisons, _model(logit, shape)))[0], LOG_ZERO))

    def won_slope(logit: FloatArray) -> FloatArray:
        point = _Point(_model(logit, shape), shape)
        return point.through(*_odds_slopes(comparisons, point.models))

    start_logit = np.clip(np.concatenate([start.log_prior_bk[0], start.log_table_bkf[0].ravel()]), -FARTHEST, 0)
    found = minimize(
        loss,
        start_logit,
        jac=True,
        method="SLSQP",
        bounds=[(-FARTHEST, FARTHEST)] * len(start_logit),
        constraints=NonlinearConstraint(won, 0, np.inf, jac=won_slope),
        options={"maxiter": MAX_STEPS, "ftol": 1e-11},
    )
    return -float(found.fun) * total if won(found.x).min() >= -SLACK else -np.inf


def _model(logit: FloatArray, shape: tuple[int, int, int]) -> Models:
    n_classes = shape[0]
    table_khl = logit[n_classes:].reshape(shape)
    table_khl = table_khl - log_sum(table_khl, axis=2)[..., None]
    return Models((logit[:n_classes] - log_sum(logit[:n_classes], axis=0))[None], table_khl.reshape(1, n_classes, -1))


def _odds_slopes(comparisons: Comparisons, models: Models) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the odds by log prior, (Q, K), and by log table, (Q, K, F)."""
    n_comparisons, n_classes = len(comparisons), models.log_prior_bk.shape[1]
    q = np.arange(n_comparisons)
    by_prior_qk = np.zeros((n_comparisons, n_classes))
    by_table_qkf = np.zeros((n_comparisons, n_classes, comparisons.ballot_qrf.shape[2]))
    for k, sign in ((comparisons.winner_q, 1.0), (comparisons.rival_q, -1.0)):
        score_qr = (
            np.einsum("qf,qrf->qr", models.log_table_bkf[0, k], comparisons.ballot_qrf) + comparisons.log_share_qr
        )
        share_qr = np.exp(score_qr - log_sum(score_qr, axis=1)[:, None])
        by_prior_qk[q, k] = sign
        by_table_qkf[q, k] = sign * np.einsum("qr,qrf->qf", share_qr, comparisons.ballot_qrf)
    return by_prior_qk, by_table_qkf


def _mixed(models: Models, share: float, table: Table) -> Models:
    """So far on the way to the symmetric model."""
    n_classes = table.n_classes
    safe_kl = SAFE_SKILL * np.eye(n_classes) + (1 - SAFE_SKILL) / n_classes
    safe_kf = np.tile(safe_kl, table.n_voters)
    prior = (1 - share) * np.exp(models.log_prior_bk) + share / n_classes
    return Models(logarithm(prior), logarithm((1 - share) * np.exp(models.log_table_bkf) + share * safe_kf))
