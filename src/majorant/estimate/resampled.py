"""Dawid-Skene fits of the same votes under many weightings of the items, all in one pass: what a bootstrap needs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.blocks import vote_columns
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray
from majorant.threads import thread_count
from majorant.votes import Votes

ENTRIES_AT_ONCE = 500_000  # items x classes x weightings that a thread works on
LONGEST_LEAP = 16.0
PRECISION = 0.002  # a fit ends when no parameter moves by more than this over the root of a cell's votes
MAX_ITER = 300


class _Weighting(NamedTuple):
    """How often each item counts, (I, B), and what follows: votes by (worker, label), (J * L, B), and items, (B,)."""

    weight_ib: FloatArray
    votes_cb: FloatArray
    items_b: FloatArray


class _Params(NamedTuple):
    """Confusions (J, L, K, B) and class probabilities (K, B) of every weighting b."""

    confusion: FloatArray
    prior: FloatArray


def refit_dawid_skene(votes: Votes, weights: ArrayLike, start: Fit, *, smoothing: float = 0.01) -> list[Fit]:
    """The fit of `DawidSkene(smoothing)` for each row of `weights`, (weightings, items), by EM from `start`.

    One confusion matrix per worker, or one for all if `start` has one.  The fits agree with those of the estimator to
    the tolerance of the loop, unless the likelihood has another maximum nearer to `start`.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> from majorant.estimate.dawid_skene import DawidSkene
    >>> fits = refit_dawid_skene(votes, [[1, 1], [2, 0]], DawidSkene().fit(votes))
    >>> [fit.labels() for fit in fits]
    [['yes', 'no'], ['yes', 'no']]
    """
    weight_bi = np.asarray(weights, dtype=float)
    if weight_bi.ndim != 2 or weight_bi.shape[1] != len(votes.items) or not (weight_bi >= 0).all():
        raise ConfigError(f"weights must be (weightings, {len(votes.items)} items) and not negative.")
    if start.confusion is None or smoothing <= 0:
        raise ConfigError("start must hold confusion matrices, and smoothing must be positive.")
    size = max(1, ENTRIES_AT_ONCE // max(1, len(votes.items) * len(votes.labels)))
    said = _incidence(votes, shared=start.confusion.ndim == 2)
    with ThreadPoolExecutor(thread_count()) as pool:  # NumPy and SciPy let other threads run
        parts = pool.map(
            lambda first: _fit_all(votes, said, weight_bi[first : first + size].T, start, smoothing),
            range(0, len(weight_bi), size),
        )
        return [fit for part in parts for fit in part]


def _incidence(votes: Votes, *, shared: bool) -> Any:
    """Items x (worker, label); one worker stands for all if they share a confusion."""
    from scipy.sparse import csr_array

    _, n_workers, n_classes = votes.shape
    column_n = votes.label_n if shared else vote_columns(votes)
    shape = (len(votes.items), n_classes if shared else n_workers * n_classes)
    offsets_i = votes.offsets_i.astype(column_n.dtype)
    return csr_array((np.ones(votes.n_votes), column_n, offsets_i), shape=shape)


def _fit_all(votes: Votes, said: Any, weight_ib: FloatArray, start: Fit, smoothing: float) -> list[Fit]:
    params, converged_b = _settle(said, weight_ib, _start(start, weight_ib.shape[1]), smoothing)
    posterior_kib = _posterior(said, params)
    posterior_kib = np.concatenate([1 - posterior_kib.sum(axis=0, keepdims=True), posterior_kib])
    shared = start.confusion is not None and start.confusion.ndim == 2
    confusion_bjkl = params.confusion.transpose(3, 0, 2, 1)
    return [
        Fit(
            method=start.method,
            posterior=posterior_kib[:, :, b].T,
            prior=params.prior[:, b],
            votes_i=votes.votes_i,
            label_values=votes.labels,
            confusion=confusion_bjkl[b, 0] if shared else confusion_bjkl[b],
            converged=bool(converged_b[b]),
        )
        for b in range(weight_ib.shape[1])
    ]


def _start(start: Fit, n_weightings: int) -> _Params:
    assert start.confusion is not None
    confusion_jkl = start.confusion.reshape(-1, *start.confusion.shape[-2:])
    confusion = np.repeat(confusion_jkl.transpose(0, 2, 1)[..., None], n_weightings, axis=3)
    return _Params(confusion, np.repeat(start.prior[:, None], n_weightings, axis=1))


def _weighting(said: Any, weight_ib: FloatArray) -> _Weighting:
    return _Weighting(weight_ib, said.T @ weight_ib, weight_ib.sum(axis=0))


def _settle(said: Any, weight_ib: FloatArray, params: _Params, smoothing: float) -> tuple[_Params, NDArray[np.bool_]]:
    """EM in SQUAREM cycles (two steps, a leap, a step) for all weightings that still move; leaps must stay inside."""
    done = _Params(params.confusion.copy(), params.prior.copy())
    weighting = _weighting(said, weight_ib)
    tol = PRECISION / np.sqrt(max(1.0, float(weighting.votes_cb.max(initial=1.0))))
    active = np.arange(weight_ib.shape[1])
    moved_b = np.full(len(active), np.inf)
    plain_b = np.zeros(len(active), dtype=bool)  # where a leap has led away: go on without
    for _ in range(MAX_ITER // 3):
        first = _em_step(said, weighting, params, smoothing)
        second = _em_step(said, weighting, first, smoothing)
        change_b = _largest(second, first)
        plain_b |= change_b > 2 * moved_b
        moved_b = change_b
        done.confusion[..., active], done.prior[:, active] = second
        moving_b = change_b > tol
        if not moving_b.any():
            active = active[:0]
            break
        active, moved_b, plain_b = active[moving_b], moved_b[moving_b], plain_b[moving_b]
        weighting = _Weighting(*(part[..., moving_b] for part in weighting))
        three = tuple(_Params(*(part[..., moving_b] for part in one)) for one in (params, first, second))
        params = _em_step(said, weighting, _leap(three, plain_b), smoothing)
    converged_b = np.ones(done.prior.shape[1], dtype=bool)
    converged_b[active] = False
    return done, converged_b


def _posterior(said: Any, params: _Params) -> FloatArray:
    """P(class k of item i) under each weighting's parameters, (K - 1, I, B): all classes but class 0, the rest."""
    _, _, n_classes, n_weightings = params.confusion.shape
    log_table = np.log(params.confusion).reshape(-1, n_classes, n_weightings)
    log_prior_kb = np.log(params.prior)
    score_kib = np.stack(
        [said @ (log_table[:, k] - log_table[:, 0]) + (log_prior_kb[k] - log_prior_kb[0]) for k in range(1, n_classes)]
    )
    if n_classes == 2:
        from scipy.special import expit

        return np.asarray(expit(score_kib, out=score_kib))
    top_ib = np.maximum(score_kib.max(axis=0), 0.0)
    score_kib -= top_ib
    np.exp(score_kib, out=score_kib)
    score_kib /= np.exp(-top_ib) + score_kib.sum(axis=0)
    return score_kib


def _em_step(said: Any, weighting: _Weighting, params: _Params, smoothing: float) -> _Params:
    posterior_kib = _posterior(said, params)
    posterior_kib *= weighting.weight_ib
    n_workers, n_labels, n_classes, n_weightings = params.confusion.shape
    count = np.empty((n_workers * n_labels, n_classes, n_weightings))
    for k, part_ib in enumerate(posterior_kib, start=1):
        count[:, k] = said.T @ part_ib
    count[:, 0] = np.maximum(weighting.votes_cb - count[:, 1:].sum(axis=1), 0.0)
    count += smoothing
    others_kb = np.einsum("kib->kb", posterior_kib)
    first_b = np.maximum(weighting.items_b - others_kb.sum(axis=0), 0.0)
    prior_kb = np.vstack([first_b, others_kb]) + smoothing
    count = count.reshape(params.confusion.shape)
    return _Params(count / count.sum(axis=1, keepdims=True), prior_kb / prior_kb.sum(axis=0))


def _leap(three: tuple[_Params, ...], plain_b: NDArray[np.bool_]) -> _Params:
    """The SQUAREM step from three successive points; the last of them where it leaves the range of probabilities."""
    old, first, second = three
    rise = [b - a for a, b in zip(old, first, strict=True)]
    bend = [c - b - r for b, c, r in zip(first, second, rise, strict=True)]
    n = len(plain_b)
    rise_b, bend_b = (np.sqrt(sum((part**2).reshape(-1, n).sum(axis=0) for part in one)) for one in (rise, bend))
    length_b = np.clip(rise_b / np.maximum(bend_b, np.finfo(float).tiny), 1.0, LONGEST_LEAP)
    leap = [a + 2 * length_b * r + length_b**2 * v for a, r, v in zip(old, rise, bend, strict=True)]
    outside_b = plain_b | np.any([(part <= 0).reshape(-1, n).any(axis=0) for part in leap], axis=0)
    return _Params(*(np.where(outside_b, c, part) for c, part in zip(second, leap, strict=True)))


def _largest(one: _Params, two: _Params) -> FloatArray:
    n = one.prior.shape[1]
    return np.asarray(np.max([np.abs(a - b).reshape(-1, n).max(axis=0) for a, b in zip(one, two, strict=True)], axis=0))
