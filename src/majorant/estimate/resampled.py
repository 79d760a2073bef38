"""Dawid-Skene fits of the same votes under many weightings of the items, all in one pass: what a bootstrap needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.estimate.batched import Params, VoteMatrix, Weighting, columns, em_step, some, vote_matrix, weighting
from majorant.estimate.fit import Fit, Refits
from majorant.estimate.newton import MOST_PARAMETERS, NewtonMethod, converge, newton_method
from majorant.estimate.squarem import squarem
from majorant.kernels import FloatArray
from majorant.threads import in_order, thread_count
from majorant.votes import Votes

AT_ONCE = 200  # weightings that a thread works on
ENTRIES_AT_ONCE = 1_000_000  # of their confusion matrices together: more do not stay in the cache
WORTH_THREADS = 200_000  # items x weightings; fewer take less time than it takes to start a thread
LONGEST_LEAP = 16.0
PRECISION = 5e-4  # EM ends when no parameter moves by more than this over the root of a cell's votes
MAX_ITER = 600
PRECISION_OF_MANY = (
    0.01  # standard errors, root mean square, beyond MOST_PARAMETERS: what is left is a twentieth of one,
)
MAX_ITER_OF_MANY = 30  # and the spread of the replicates is that of fits run to the end within a hundredth


def refit_dawid_skene(votes: Votes, weights: ArrayLike, start: Fit, *, smoothing: float = 0.01) -> Refits:
    """The fit of `DawidSkene(smoothing)` for each row of `weights`, (weightings, items), from `start`.

    One confusion matrix per worker, or one for all if `start` has one.  `start` should be the fit of the same votes
    to their mean weights, or close: most fits then take a few steps of Newton's method (newton.py),
    and only where these do not converge EM goes the whole way.  The fits agree with those of the estimator to a small
    part of a standard error, unless the likelihood has another maximum nearer to `start`.  Of very many workers the
    information is too large: EM goes a bounded number of steps, with a leap of its own for each worker.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> from majorant.estimate.dawid_skene import DawidSkene
    >>> refits = refit_dawid_skene(votes, [[1, 1], [3, 1]], DawidSkene().fit(votes))
    >>> refits.prior_bk.round(2).tolist(), refits.confusion.shape
    ([[0.5, 0.5], [0.25, 0.75]], (2, 3, 2, 2))
    """
    weight_bi = np.asarray(weights)
    if weight_bi.ndim != 2 or weight_bi.shape[1] != len(votes.items) or not (weight_bi >= 0).all():
        raise ConfigError(f"weights must be (weightings, {len(votes.items)} items) and not negative.")
    if start.confusion is None or smoothing <= 0:
        raise ConfigError("start must hold confusion matrices, and smoothing must be positive.")
    shared = start.confusion.ndim == 2
    matrices, params = vote_matrix(votes, len(weight_bi), shared=shared), _params(start)
    near = None
    if params.confusion.size <= MOST_PARAMETERS:
        near = newton_method(matrices, weight_bi.mean(axis=0), start.posterior, params, smoothing)
    threads = thread_count() if weight_bi.size > WORTH_THREADS else 1
    size = max(1, min(AT_ONCE, -(-len(weight_bi) // threads), ENTRIES_AT_ONCE // params.confusion.size))
    parts = [weight_bi[first : first + size] for first in range(0, len(weight_bi), size)]
    found = list(in_order(lambda part_bi: _fit_all(matrices, part_bi, params, near, smoothing), parts, threads))
    confusion = np.concatenate([one.confusion for one, _ in found], axis=3).transpose(3, 0, 2, 1)
    prior_bk = np.concatenate([one.prior for one, _ in found], axis=1).T
    converged_b = np.concatenate([converged for _, converged in found])
    return Refits(prior_bk=prior_bk, confusion=confusion[:, 0] if shared else confusion, converged_b=converged_b)


def _params(fit: Fit) -> Params:
    assert fit.confusion is not None
    confusion_jkl = fit.confusion.reshape(-1, *fit.confusion.shape[-2:])
    return Params(confusion_jkl.transpose(0, 2, 1)[..., None], fit.prior[:, None])


def _fit_all(
    matrix: VoteMatrix, weight_bi: NDArray[np.number], start: Params, near: NewtonMethod | None, smoothing: float
) -> tuple[Params, NDArray[np.bool_]]:
    """The parameters of each weighting, and whether they converged: by the chord method, else by EM."""
    wanted = weighting(matrix, weight_bi)
    if near is None:
        return _converge_by_em(matrix, wanted, start, smoothing)
    params, found_b = converge(near, matrix, wanted, smoothing)
    rest = np.flatnonzero(~found_b)
    if len(rest):
        slow, found_b[rest] = _converge_by_em(matrix, some(wanted, ~found_b), start, smoothing)
        params.confusion[..., rest], params.prior[:, rest] = slow
    return params, found_b


def _converge_by_em(
    matrix: VoteMatrix, weighting: Weighting, start: Params, smoothing: float
) -> tuple[Params, NDArray[np.bool_]]:
    """EM in SQUAREM cycles (two steps, a leap, a step) for all weightings that still move; leaps must stay inside."""
    n_weightings = len(weighting.items_b)
    params = Params(*(np.repeat(part, n_weightings, axis=-1) for part in start))
    done = Params(*(part.copy() for part in params))
    if many := start.confusion.size > MOST_PARAMETERS:
        tol, max_iter, leap = PRECISION_OF_MANY, MAX_ITER_OF_MANY, _leap_of_each_worker
    else:
        tol = PRECISION / np.sqrt(max(1.0, float(weighting.votes_cb.max(initial=1.0))))
        max_iter, leap = MAX_ITER, _leap
    information = _information(weighting, start) if many else None
    active = np.arange(n_weightings)
    moved_b = np.full(n_weightings, np.inf)
    plain_b = np.zeros(n_weightings, dtype=bool)  # where a leap has led away: go on without
    for cycle in range(max_iter // 3):
        first = em_step(matrix, weighting, params if cycle else start, smoothing)  # one posterior serves all at first
        second = em_step(matrix, weighting, first, smoothing)
        change_b = _largest(second, first) if information is None else _movement(second, first, information)
        plain_b |= change_b > 2 * moved_b
        moved_b = change_b
        done.confusion[..., active], done.prior[:, active] = second
        moving_b = change_b > tol
        if not moving_b.any():
            active = active[:0]
            break
        if not moving_b.all():
            active, moved_b, plain_b = active[moving_b], moved_b[moving_b], plain_b[moving_b]
            weighting = some(weighting, moving_b)
        three = tuple(columns(one, moving_b) for one in (params, first, second))
        params = em_step(matrix, weighting, leap(three, plain_b), smoothing)
    converged_b = np.ones(n_weightings, dtype=bool)
    converged_b[active] = False
    return done, converged_b


def _leap(three: tuple[Params, ...], plain_b: NDArray[np.bool_]) -> Params:
    """The SQUAREM step from three successive points; the last of them where it leaves the range of probabilities."""
    old, first, second = three
    n = len(plain_b)

    def norm(parts: Sequence[FloatArray]) -> list[FloatArray]:
        return [np.sqrt(sum((part**2).reshape(-1, n).sum(axis=0) for part in parts))] * len(parts)

    leap, _ = squarem(old, first, second, norm, LONGEST_LEAP)
    outside_b = plain_b | np.any([(part <= 0).reshape(-1, n).any(axis=0) for part in leap], axis=0)
    return Params(*(np.where(outside_b, c, part) for c, part in zip(second, leap, strict=True)))


def _largest(one: Params, two: Params) -> FloatArray:
    n = one.prior.shape[1]
    return np.asarray(np.max([np.abs(a - b).reshape(-1, n).max(axis=0) for a, b in zip(one, two, strict=True)], axis=0))


def _leap_of_each_worker(three: tuple[Params, ...], plain_b: NDArray[np.bool_]) -> Params:
    """The same with a length for each worker, and one for the classes; only rows that it leads outside stay behind."""
    confusion, prior = ([params[n] for params in three] for n in (0, 1))
    return Params(_leap_by(confusion, plain_b, (1, 2), row=1), _leap_by(prior, plain_b, (0,), row=0))


def _leap_by(
    three: Sequence[FloatArray], plain_b: NDArray[np.bool_], together: tuple[int, ...], *, row: int
) -> FloatArray:
    old, first, second = three

    def norm(parts: Sequence[FloatArray]) -> list[FloatArray]:
        return [np.sqrt((part**2).sum(axis=together, keepdims=True)) for part in parts]

    [leap], _ = squarem([old], [first], [second], norm, LONGEST_LEAP)
    outside = plain_b | (leap <= 0).any(axis=row, keepdims=True)
    return np.where(outside, second, leap)


def _information(weighting: Weighting, start: Params) -> FloatArray:
    """One over the variance of each confusion's shares, (J, L, K, 1), as if the labels were seen.

    However small a share is, it is not known better than to one vote.
    """
    confusion = start.confusion
    votes_jl = weighting.votes_cb.mean(axis=1).reshape(confusion.shape[:2])
    joint_jlk = confusion[..., 0] * start.prior[:, 0]
    votes_jk = np.einsum("jl,jlk->jk", votes_jl, joint_jlk / joint_jlk.sum(axis=2, keepdims=True)) + 1.0
    vote = 1 / votes_jk[:, None, :, None]
    return np.asarray(1 / (confusion * (1 - confusion) * vote + vote**2))


def _movement(one: Params, two: Params, information: FloatArray) -> FloatArray:
    """How far each weighting's confusions lie apart, in standard errors (root mean square)."""
    apart = one.confusion - two.confusion
    apart *= apart
    apart *= information
    return np.asarray(np.sqrt(apart.mean(axis=(0, 1, 2))))
