"""Fit Dawid-Skene to the same votes under many weightings of their items at once, for the bootstrap.

Weightings are columns, so one sparse product serves them all. The algorithm is EM with SQUAREM leaps, which starts from
the fit of the unweighted votes and stops when no parameter moves by more than a small part of its standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.kernels import vote_columns
from majorant.methods.em import largest_change, squarem
from majorant.methods.fit import Fit
from majorant.values import FloatArray
from majorant.votes import Votes

EM_SMOOTHING = 0.01  # pseudo-votes in each cell, as in the fit of the certificate
CYCLES = 40  # of three EM steps; weightings that have not converged by then are within a fraction of a standard error
ENTRIES = 2_000_000  # items x weightings x classes held at once


class Params(NamedTuple):
    """Confusions (J, L, K, B) and class probabilities (K, B) of every weighting b."""

    confusion: FloatArray
    prior: FloatArray


def fit_weightings(votes: Votes, weight_bi: NDArray[Any], start: Fit) -> tuple[FloatArray, FloatArray]:
    """Class probabilities (B, K) and confusion matrices, (B, J, K, L) or (B, K, L) if all workers share one.

    >>> from majorant.methods.dawid_skene import DawidSkene
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> converged = DawidSkene(smoothing=.01, min_rise=None).fit(votes)
    >>> prior_bk, confusion_bjkl = fit_weightings(votes, np.array([[1, 1], [3, 1]]), converged)
    >>> prior_bk.round(2).tolist(), confusion_bjkl.shape
    ([[0.5, 0.5], [0.25, 0.75]], (2, 3, 2, 2))
    """
    from scipy.sparse import csr_array

    assert start.confusion is not None
    n_items, n_workers, n_classes = votes.shape
    shared = start.confusion.ndim == 2
    column_n = votes.label_n if shared else vote_columns(votes)
    n_columns = n_classes * (1 if shared else n_workers)
    votes_ic = csr_array((np.ones(votes.n_votes), column_n, votes.offsets_i), shape=(n_items, n_columns))
    confusion_jkl = start.confusion.reshape(-1, n_classes, n_classes)
    begin = Params(confusion_jkl.transpose(0, 2, 1)[..., None], start.prior[:, None])
    size = max(1, ENTRIES // max(1, n_items * n_classes))
    parts = [
        _run(votes_ic, weight_bi[first : first + size].T.astype(float), begin)
        for first in range(0, len(weight_bi), size)
    ]
    confusion = np.concatenate([part.confusion for part in parts], axis=3).transpose(3, 0, 2, 1)
    return np.concatenate([part.prior for part in parts], axis=1).T, confusion[:, 0] if shared else confusion


def em_step(votes_ic: Any, weight_ib: FloatArray, params: Params) -> Params:
    """One step of EM for every weighting: class probabilities of the items, then shares of the weighted counts."""
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    log_ckb = np.log(params.confusion).reshape(n_workers * n_labels, n_classes, -1)
    score_kib = [votes_ic @ log_ckb[:, k] + np.log(params.prior[k]) for k in range(n_classes)]
    top_ib = np.maximum.reduce(score_kib)
    part_kib = [np.exp(score_ib - top_ib) for score_ib in score_kib]
    share_ib = weight_ib / sum(part_kib)
    items_kb, count_kcb = [], []
    for part_ib in part_kib:
        part_ib = part_ib * share_ib
        items_kb.append(part_ib.sum(axis=0) + EM_SMOOTHING)
        count_kcb.append(votes_ic.T @ part_ib + EM_SMOOTHING)
    count = np.stack(count_kcb, axis=1).reshape(n_workers, n_labels, n_classes, -1)
    prior_kb = np.array(items_kb)
    return Params(count / count.sum(axis=1, keepdims=True), prior_kb / prior_kb.sum(axis=0))


def _run(votes_ic: Any, weight_ib: FloatArray, begin: Params) -> Params:
    """EM in cycles of two steps, a leap and a step, for all weightings that still move."""
    n_weightings = weight_ib.shape[1]
    params = Params(*(np.repeat(part, n_weightings, axis=-1) for part in begin))
    done = Params(*(part.copy() for part in params))
    tol = 1e-3 / np.sqrt(max(1.0, float((votes_ic.T @ weight_ib).max(initial=1.0))))
    active_b, moved_b = np.arange(n_weightings), np.full(n_weightings, np.inf)
    plain_b = np.zeros(n_weightings, dtype=bool)  # the leap diverged: go on without it
    for _ in range(CYCLES):
        first = em_step(votes_ic, weight_ib, params)
        second = em_step(votes_ic, weight_ib, first)
        change_b = largest_change(first, second, len(active_b))
        done.confusion[..., active_b], done.prior[:, active_b] = second
        plain_b, moved_b, moving_b = plain_b | (change_b > 2 * moved_b), change_b, change_b > tol
        if not moving_b.any():
            break
        three = [Params(*(part[..., moving_b] for part in point)) for point in (params, first, second)]
        active_b, moved_b, plain_b = active_b[moving_b], moved_b[moving_b], plain_b[moving_b]
        weight_ib = weight_ib[:, moving_b]
        params = em_step(votes_ic, weight_ib, _leap(three, plain_b))
    return done


def _leap(three: Sequence[Params], plain_b: NDArray[np.bool_]) -> Params:
    """The SQUAREM step from three successive points; the last of them if it leaves the range of probabilities."""
    old, first, second = three
    n = len(plain_b)

    def norm(parts: Sequence[FloatArray]) -> list[FloatArray]:
        return [np.sqrt(sum((part**2).reshape(-1, n).sum(axis=0) for part in parts))] * len(parts)

    leap, _ = squarem(old, first, second, norm, longest=16.0)
    outside_b = plain_b | np.any([(part <= 0).reshape(-1, n).any(axis=0) for part in leap], axis=0)
    return Params(*(np.where(outside_b, end, part) for end, part in zip(second, leap, strict=True)))
