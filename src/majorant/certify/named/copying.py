"""Which worker of a small panel repeats another: every pair is tried as copier and source."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from majorant.certify.named.design import FloatArray
from majorant.certify.named.scores import NO_VOTE
from majorant.votes import IntArray

MOST_WORK = 20_000  # vote patterns x ordered pairs
MAX_ITER = 500
TOLERANCE = 1e-5  # nats by which the likelihood must still rise
SMOOTHING = 0.01  # imaginary votes in each cell


class Copying(NamedTuple):
    """Worker `copier` gives the vote of `source` on a `share` of the items; `lead` in nats over any other two."""

    copier: int
    source: int
    share: float
    log_likelihood: float
    lead: float


class _CopyingModels(NamedTuple):
    """One model for each ordered pair m: class probabilities, confusions (labels before classes), share copied."""

    prior_mk: FloatArray
    confusion_mjlk: FloatArray
    share_m: FloatArray


class _PatternPairs(NamedTuple):
    """Vote patterns r, how often each came up, and for each ordered pair who might copy and where the two agree."""

    said_rjl: FloatArray
    weight_r: FloatArray
    copier_m: IntArray
    both_mr: FloatArray
    equal_mr: FloatArray


def find_copying(label_rj: IntArray, weight_r: FloatArray, n_classes: int) -> Copying | None:
    """The pair whose copying explains the patterns best; None for panels of too many patterns and pairs.

    With probability `share` the copier repeats the source's vote, else labels by a matrix of its own; all else is
    independent given the class.  Maximum likelihood by EM, which starts from the votes of all but the copier: with both
    counted, two who always agree are taken for the truth, and nothing seems copied.
    """
    pairs = np.array(list(permutations(range(label_rj.shape[1]), 2)))
    if len(pairs) * len(label_rj) > MOST_WORK or len(pairs) < 6:
        return None
    copier_m, source_m = pairs.T
    own_mr, other_mr = label_rj.T[copier_m], label_rj.T[source_m]
    both_mr = ((own_mr != NO_VOTE) & (other_mr != NO_VOTE)).astype(float)
    said_rjl = (label_rj[:, :, None] == np.arange(n_classes)).astype(float)
    panel = _PatternPairs(said_rjl, weight_r, copier_m, both_mr, both_mr * (own_mr == other_mr))
    tables, height_m = _climb(panel)
    best = int(height_m.argmax())
    same_two = (np.sort(pairs, axis=1) == np.sort(pairs[best])).all(axis=1)
    lead = float(height_m[best] - height_m[~same_two].max())
    copier, source = pairs[best].tolist()
    return Copying(copier, source, float(tables.share_m[best]), float(height_m[best]), lead)


def _climb(panel: _PatternPairs) -> tuple[_CopyingModels, FloatArray]:
    """The models after EM, and the log-likelihood of each."""
    others_mrl = panel.said_rjl.sum(axis=1) - panel.said_rjl[:, panel.copier_m].transpose(1, 0, 2)
    posterior_mrk = (others_mrl + SMOOTHING) / (others_mrl + SMOOTHING).sum(axis=2, keepdims=True)
    tables = _m_step(panel, posterior_mrk, 0.5 * panel.equal_mr[..., None] * np.ones(posterior_mrk.shape[2]))
    height_m = np.full(len(panel.copier_m), -np.inf)
    for _ in range(MAX_ITER):
        posterior_mrk, copied_mrk, log_total_mr = _e_step(panel, tables)
        before_m, height_m = height_m, log_total_mr @ panel.weight_r
        if (height_m - before_m).max() < TOLERANCE:
            break
        tables = _m_step(panel, posterior_mrk, copied_mrk)
    return tables, height_m


def _e_step(panel: _PatternPairs, tables: _CopyingModels) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P(class), P(copied | class) and the log-probability of each pattern under each model."""
    n_patterns, n_workers, n_labels = panel.said_rjl.shape
    log_mjlk = np.log(tables.confusion_mjlk)
    said_rc = panel.said_rjl.reshape(n_patterns, -1)
    score_mrk = said_rc @ log_mjlk.reshape(len(log_mjlk), n_workers * n_labels, -1) + np.log(tables.prior_mk)[:, None]
    model = np.arange(len(log_mjlk))
    own_mrk = np.einsum("mrl,mlk->mrk", _of_copiers(panel), tables.confusion_mjlk[model, panel.copier_m])
    own_mrk = np.where(panel.both_mr[..., None] > 0, own_mrk, 1.0)
    copied_mrk = (tables.share_m[:, None] * panel.equal_mr)[..., None] * np.ones(own_mrk.shape[2])
    either_mrk = copied_mrk + (1 - tables.share_m[:, None] * panel.both_mr)[..., None] * own_mrk
    score_mrk += np.log(either_mrk) - np.log(own_mrk)
    top_mr = score_mrk.max(axis=2)
    posterior_mrk = np.exp(score_mrk - top_mr[..., None])
    total_mr = posterior_mrk.sum(axis=2)
    return posterior_mrk / total_mr[..., None], copied_mrk / either_mrk, top_mr + np.log(total_mr)


def _m_step(panel: _PatternPairs, posterior_mrk: FloatArray, copied_mrk: FloatArray) -> _CopyingModels:
    weight_mrk = posterior_mrk * panel.weight_r[:, None]
    n_patterns, n_workers, n_labels = panel.said_rjl.shape
    count_mck = panel.said_rjl.reshape(n_patterns, -1).T @ weight_mrk
    count_mjlk = count_mck.reshape(-1, n_workers, n_labels, weight_mrk.shape[2])
    own_mrk = weight_mrk * (1 - copied_mrk)
    model = np.arange(len(count_mjlk))
    count_mjlk[model, panel.copier_m] = np.einsum("mrl,mrk->mlk", _of_copiers(panel), own_mrk)
    count_mjlk += SMOOTHING
    together_m = (panel.both_mr * panel.weight_r).sum(axis=1)
    copied_m = np.einsum("mrk,mrk->m", weight_mrk, copied_mrk)
    share_m = (copied_m + SMOOTHING) / (together_m + 2 * SMOOTHING)
    items_mk = weight_mrk.sum(axis=1) + SMOOTHING
    return _CopyingModels(
        items_mk / items_mk.sum(axis=1, keepdims=True), count_mjlk / count_mjlk.sum(axis=2, keepdims=True), share_m
    )


def _of_copiers(panel: _PatternPairs) -> FloatArray:
    return np.asarray(panel.said_rjl[:, panel.copier_m].transpose(1, 0, 2))
