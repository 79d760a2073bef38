"""Fit Dawid-Skene under many item weightings in one pass, for the bootstrap.

Weightings are columns: a table of log-odds with a column for each is gathered over the votes, one block of items after
the other, so that the arrays of a block stay in the cache.

A bootstrap weighting moves the maximum by a few standard errors, over which the observed information hardly changes:
one matrix serves all weightings (Newton's method with a fixed matrix), and a few steps suffice. A step is the step of
EM, multiplied by what EM loses to the missing labels; for labels that are seen, it is exact. Anderson acceleration (the
combination of the last residuals that is smallest) takes care of directions in which the information does change. If
that does not converge, EM finishes the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.kernels import row_maxima, vote_columns
from majorant.limits import in_order, thread_count
from majorant.methods.em import largest_change, squarem
from majorant.methods.fit import Fit
from majorant.values import TINY, FloatArray, lock
from majorant.votes import Votes

T = TypeVar("T", bound=tuple[Any, ...])
ITEMS_AT_ONCE = 1_024
SINGLE_FROM = 300_000  # items x weightings from which single precision is used; see `VoteMatrix`
WEIGHTINGS_AT_ONCE = 200  # weightings per thread
LONGEST_LEAP = 16.0
MOST_INVERTED = 250  # parameters; beyond, bounded EM takes a twentieth of the time, and spreads agree within 5%
# When EM ends: precision and most steps. A parameter may move by the precision over the square root of a cell's votes.
FINE = (5e-4, 600)
# With more than MOST_INVERTED parameters the precision is in standard errors (root mean square). What is left is a
# twentieth of one, and the spread of the fits is within one percent of that of converged ones.
COARSE = (0.01, 30)
CLOSE = 1e-4  # standard errors that may be left to the maximum, in the worst direction


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Refits:
    """What was learned from the same votes under many weightings b of their items."""

    prior_bk: FloatArray
    confusion: FloatArray  # (B, workers, classes, labels), or (B, classes, labels) if all workers share one
    converged_b: NDArray[np.bool_]

    def __post_init__(self) -> None:
        lock(self)


def refit_dawid_skene(votes: Votes, weights: ArrayLike, start: Fit, *, smoothing: float = 0.01) -> Refits:
    """Fit `DawidSkene(smoothing)` to the same votes under many weightings.

    The fits agree with the estimator's to within a fraction of a standard error, unless the likelihood has another
    maximum nearer to `start`. With very many workers the information is too large to invert: EM then takes a bounded
    number of steps, with a separate leap for each worker.

    Parameters
    ----------
    votes
        The votes.
    weights
        How often each item counts in each weighting, (weightings, items).
    start
        The fit of the same votes under their mean weights, or close to it. One confusion matrix per worker, or one for
        all, as in the refits.
    smoothing
        Pseudo-votes in each cell and pseudo-items in each class.

    Returns
    -------
    Refits
        Priors and confusion matrices of each weighting, and whether they converged.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> from majorant.methods.dawid_skene import DawidSkene
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
    matrices, params = make_vote_matrix(votes, len(weight_bi), shared=shared), _as_params(start)
    near = None
    if params.confusion.size <= MOST_INVERTED:
        near = plan_newton(matrices, weight_bi.mean(axis=0), start.posterior, params, smoothing)
    threads = thread_count() if weight_bi.size > 200_000 else 1  # fewer take less time than starting a thread
    cached = 1_000_000 // params.confusion.size  # the confusion matrices of more weightings leave the cache
    size = max(1, min(WEIGHTINGS_AT_ONCE, -(-len(weight_bi) // threads), cached))
    parts = [weight_bi[first : first + size] for first in range(0, len(weight_bi), size)]
    fits = list(in_order(lambda part_bi: _fit_weightings(matrices, part_bi, params, near, smoothing), parts, threads))
    confusion = np.concatenate([fitted.confusion for fitted, _ in fits], axis=3).transpose(3, 0, 2, 1)
    prior_bk = np.concatenate([fitted.prior for fitted, _ in fits], axis=1).T
    converged_b = np.concatenate([converged for _, converged in fits])
    return Refits(prior_bk=prior_bk, confusion=confusion[:, 0] if shared else confusion, converged_b=converged_b)


def _as_params(fit: Fit) -> Params:
    assert fit.confusion is not None
    confusion_jkl = fit.confusion.reshape(-1, *fit.confusion.shape[-2:])
    return Params(confusion_jkl.transpose(0, 2, 1)[..., None], fit.prior[:, None])


def _fit_weightings(
    matrix: VoteMatrix, weight_bi: NDArray[np.number], start: Params, near: NewtonMethod | None, smoothing: float
) -> tuple[Params, NDArray[np.bool_]]:
    """The parameters of each weighting, and whether they converged: by Newton's method, else by EM."""
    wanted = make_weighting(matrix, weight_bi)
    if near is None:
        return _run_em(matrix, wanted, start, smoothing)
    params, converged_b = run_newton(near, matrix, wanted, smoothing)
    rest = np.flatnonzero(~converged_b)
    if len(rest):
        slow, converged_b[rest] = _run_em(matrix, choose(wanted, ~converged_b), start, smoothing)
        params.confusion[..., rest], params.prior[:, rest] = slow
    return params, converged_b


class Params(NamedTuple):
    """Confusions (J, L, K, B) and class probabilities (K, B) of every weighting b, or of all of them (B = 1)."""

    confusion: FloatArray
    prior: FloatArray


class VoteMatrix(NamedTuple):
    """The votes as a matrix, items x (worker, label), whole and in blocks, each with its transpose.

    With very many items and weightings the blocks are in single precision: a rounding of 1e-7 in each posterior moves a
    sum of n votes by at most 1e-7 n, which is nothing against the chance deviation of sqrt(n) between weightings.
    """

    whole: Any
    blocks: tuple[tuple[Any, Any], ...]

    @property
    def single(self) -> bool:
        """Whether the blocks are in single precision."""
        return any(block.dtype == np.float32 for block, _ in self.blocks)


class Weighting(NamedTuple):
    """How often each item counts, (items of the block, B) for each block, and weighted numbers of votes and items."""

    weights: tuple[NDArray[Any], ...]  # in the precision of the blocks
    votes_cb: FloatArray  # by (worker, label)
    items_b: FloatArray


def make_vote_matrix(votes: Votes, n_weightings: int, *, shared: bool) -> VoteMatrix:
    """The votes as sparse matrices; a single worker gives all votes if they share a confusion matrix."""
    from scipy.sparse import csr_array

    n_items, n_workers, n_classes = votes.shape
    column_n = votes.label_n if shared else vote_columns(votes)
    n_columns = n_classes if shared else n_workers * n_classes
    dtype = np.float32 if n_items * n_weightings > SINGLE_FROM else np.float64

    def matrix(start: int, stop: int, dtype: Any) -> Any:
        first, last = votes.offsets_i[start], votes.offsets_i[stop]
        offsets_i = (votes.offsets_i[start : stop + 1] - first).astype(column_n.dtype)
        entries = (np.ones(last - first, dtype), column_n[first:last], offsets_i)
        return csr_array(entries, shape=(stop - start, n_columns))

    # The sums by (worker, label) of a block are dense: it should hold at least four votes for each.
    enough = int(4 * n_columns * n_items / max(1, votes.n_votes))
    edges = [*range(0, n_items, max(ITEMS_AT_ONCE, enough)), n_items]
    blocks = [matrix(start, stop, dtype) for start, stop in pairwise(edges)]
    return VoteMatrix(matrix(0, n_items, float), tuple((block, block.T) for block in blocks))


def make_weighting(matrix: VoteMatrix, weight_bi: NDArray[Any]) -> Weighting:
    """Turn rows of weights, (B, items), into the form that an EM step needs."""
    weights, votes_cb, start = [], np.zeros((matrix.whole.shape[1], len(weight_bi))), 0
    for block, transpose in matrix.blocks:
        stop = start + block.shape[0]
        weight_ib = np.ascontiguousarray(weight_bi[:, start:stop].T, dtype=block.dtype)
        votes_cb += transpose @ weight_ib
        weights.append(weight_ib)
        start = stop
    return Weighting(tuple(weights), votes_cb, weight_bi.sum(axis=1, dtype=float))


def choose(weighting: Weighting, kept_b: NDArray[np.bool_]) -> Weighting:
    """Keep some of the weightings."""
    weights = tuple(weight_ib[:, kept_b] for weight_ib in weighting.weights)
    return Weighting(weights, weighting.votes_cb[:, kept_b], weighting.items_b[kept_b])


def choose_columns(arrays: T, kept_b: NDArray[np.bool_]) -> T:
    """Keep some of the weightings, the last axis of each array of a (named) tuple."""
    return type(arrays)(*(part[..., kept_b] for part in arrays))


def em_step(matrix: VoteMatrix, weighting: Weighting, params: Params, smoothing: float) -> Params:
    """The next parameters of every weighting, with `smoothing` pseudo-votes in each cell and items in each class.

    All classes but the first, whose sums follow from the totals, go through a block side by side.
    """
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    n_others, n_weightings, dtype = n_classes - 1, len(weighting.items_b), matrix.blocks[0][0].dtype
    log_ckb = np.log(params.confusion, dtype=dtype).reshape(n_workers * n_labels, n_classes, -1)
    odds_cx = (log_ckb[:, 1:] - log_ckb[:, :1]).reshape(len(log_ckb), -1)  # x: classes and weightings
    start_kb = (np.log(params.prior[1:]) - np.log(params.prior[0])).astype(dtype)
    others_cx = np.zeros((len(log_ckb), n_others * n_weightings), dtype)
    items_kb = np.zeros((n_classes, n_weightings))
    for (block, transpose), weight_ib in zip(matrix.blocks, weighting.weights, strict=True):
        score_ikb = (block @ odds_cx).reshape(-1, *start_kb.shape) + start_kb
        part_ikb = _weighted_posterior(score_ikb, weight_ib)
        others_cx += transpose @ part_ikb.reshape(len(part_ikb), -1)
        items_kb[1:] += np.einsum("ikb->kb", part_ikb)
    count_ckb = np.empty((len(log_ckb), n_classes, n_weightings))
    count_ckb[:, 1:] = others_cx.reshape(-1, n_others, n_weightings)
    count_ckb[:, 0] = np.maximum(weighting.votes_cb - np.einsum("ckb->cb", count_ckb[:, 1:]), 0.0)
    items_kb[0] = np.maximum(weighting.items_b - items_kb[1:].sum(axis=0), 0.0)
    count_ckb += smoothing
    items_kb += smoothing
    count = count_ckb.reshape(n_workers, n_labels, n_classes, n_weightings)
    count /= np.einsum("jlkb->jkb", count)[:, None]
    return Params(count, items_kb / items_kb.sum(axis=0))


def _weighted_posterior(score_ikb: FloatArray, weight_ib: FloatArray) -> FloatArray:
    """Weight times P(class k) for all classes but the first, from log-odds against the first (overwritten)."""
    if score_ikb.shape[1] == 1:
        np.negative(score_ikb, out=score_ikb)
        np.minimum(score_ikb, 80.0, out=score_ikb)  # beyond, nothing changes until exp overflows
        np.exp(score_ikb, out=score_ikb)
        score_ikb += 1
        return np.asarray(weight_ib[:, None] / score_ikb)
    top_ib = np.maximum(row_maxima(score_ikb), 0)
    score_ikb -= top_ib[:, None]
    np.exp(score_ikb, out=score_ikb)
    share_ib = weight_ib / (np.exp(-top_ib) + np.einsum("ikb->ib", score_ikb))
    return np.asarray(score_ikb * share_ib[:, None])


class NewtonMethod(NamedTuple):
    """A fit, and the matrix that turns EM's residual near it into a Newton step.

    Parameters p are a column: each confusion matrix without its last label, (worker, label, class), then the class
    probabilities without the last. `count_p` is the number of votes, or items, of which share p is taken.
    """

    params: Params  # of one weighting
    count_p: FloatArray
    inverse_pp: FloatArray  # of the observed information, by the log-odds of each share against the last


class _Point(NamedTuple):
    """The parameters of each weighting, EM's residual there times counts, and the Newton step, in log-odds."""

    share_pb: FloatArray
    residual_pb: FloatArray
    step_pb: FloatArray


def plan_newton(
    matrix: VoteMatrix, weight_i: FloatArray, posterior_ik: FloatArray, params: Params, smoothing: float
) -> NewtonMethod | None:
    """Invert the observed information at a fit; None if it is not positive definite, so that the fit is no maximum."""
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    expected_ck = matrix.whole.T @ (posterior_ik * weight_i[:, None])
    votes_jk = expected_ck.reshape(n_workers, n_labels, n_classes).sum(axis=1) + n_labels * smoothing
    items = float(weight_i.sum()) + n_classes * smoothing
    count_p = np.append(np.repeat(votes_jk[:, None], n_labels - 1, axis=1), np.full(n_classes - 1, items))
    complete_pp = _complete_information(params, votes_jk, items)
    information_pp = complete_pp - _missing_information(matrix, weight_i, posterior_ik, params)
    try:
        np.linalg.cholesky(information_pp)
        return NewtonMethod(params, count_p, np.asarray(np.linalg.inv(information_pp), dtype=float))
    except np.linalg.LinAlgError:
        return None


def run_newton(
    newton: NewtonMethod, matrix: VoteMatrix, weighting: Weighting, smoothing: float
) -> tuple[Params, NDArray[np.bool_]]:
    """The parameters of each weighting at the maximum nearest to the fit, and whether it was found."""
    n_weightings = len(weighting.items_b)
    params = newton.params  # the first step is cheap: one posterior serves all weightings
    done = Params(*(np.repeat(part, n_weightings, axis=-1) for part in params))
    converged_b, active = np.zeros(n_weightings, dtype=bool), np.arange(n_weightings)
    past: list[_Point] = []
    before_b = np.zeros(n_weightings)
    close = 0.01 if matrix.single else CLOSE  # rounding in single precision leaves little less
    for _ in range(60):
        plain = em_step(matrix, weighting, params, smoothing)
        point = _point(newton, params, plain)
        distance_b = np.sqrt(np.maximum(np.einsum("pb,pb->b", point.residual_pb, point.step_pb), 0.0))
        params = _keep_inside(_accelerate(newton, point, past), plain)
        done.confusion[..., active], done.prior[:, active] = params
        close_b = distance_b**2 <= close * np.maximum(distance_b, before_b)  # if it shrinks again as it did last
        converged_b[active] = close_b
        if close_b.all():
            break
        past, before_b = [*past, point][-3:], distance_b
        if 2 * close_b.sum() >= len(active):  # copying the rest pays
            active, before_b, params = active[~close_b], before_b[~close_b], choose_columns(params, ~close_b)
            weighting, past = choose(weighting, ~close_b), [choose_columns(point, ~close_b) for point in past]
    return done, converged_b


def _point(newton: NewtonMethod, params: Params, plain: Params) -> _Point:
    share_pb, next_pb = _pack(params), _pack(plain)
    residual_pb = newton.count_p[:, None] * (next_pb - share_pb)
    return _Point(np.broadcast_to(share_pb, residual_pb.shape), residual_pb, newton.inverse_pp @ residual_pb)


def _accelerate(newton: NewtonMethod, point: _Point, past: list[_Point]) -> Params:
    """Take the step, with the residual reduced by what the last steps have shown of how it changes (Anderson)."""
    share_pb, step_pb = point.share_pb, point.step_pb
    if past:
        change = [_Point(*(now - then for now, then in zip(point, before, strict=True))) for before in past]
        inner_mmb = np.array([[(a.step_pb * b.residual_pb).sum(axis=0) for b in change] for a in change])
        wanted_mb = np.array([(a.step_pb * point.residual_pb).sum(axis=0) for a in change])
        scale_b = np.einsum("mmb->b", inner_mmb) + TINY
        ridge_bmm = 1e-10 * scale_b[:, None, None] * np.eye(len(past))
        factor_bm = np.linalg.solve(inner_mmb.transpose(2, 0, 1) + ridge_bmm, wanted_mb.T[..., None])[..., 0]
        for factor_b, move in zip(factor_bm.T, change, strict=True):
            share_pb, step_pb = share_pb - factor_b * move.share_pb, step_pb - factor_b * move.step_pb
    return _unpack(share_pb + _as_shares(newton.params, step_pb), newton.params)


def _keep_inside(params: Params, plain: Params) -> Params:
    """Replace rows that left the range of probabilities by those of an EM step."""
    outside = [(part <= 0).any(axis=axis, keepdims=True) for part, axis in zip(params, (1, 0), strict=True)]
    return Params(*(np.where(out, em, part) for out, em, part in zip(outside, plain, params, strict=True)))


def _pack(params: Params) -> FloatArray:
    confusion = params.confusion[:, :-1]
    return np.concatenate([confusion.reshape(-1, confusion.shape[-1]), params.prior[:-1]])


def _unpack(share_pb: FloatArray, like: Params) -> Params:
    n_workers, n_labels, n_classes, _ = like.confusion.shape
    cut = len(share_pb) - (n_classes - 1)
    confusion = share_pb[:cut].reshape(n_workers, n_labels - 1, n_classes, -1)
    prior_kb = share_pb[cut:]
    last = 1 - confusion.sum(axis=1, keepdims=True)
    return Params(np.concatenate([confusion, last], axis=1), np.vstack([prior_kb, 1 - prior_kb.sum(axis=0)]))


def _as_shares(params: Params, step_pb: FloatArray) -> FloatArray:
    """Turn a small step in log-odds against the last label, or class, into a step in shares."""
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    cut = len(step_pb) - (n_classes - 1)
    confusion, prior_kb = params.confusion[:, :-1], params.prior[:-1]
    step = step_pb[:cut].reshape(n_workers, n_labels - 1, n_classes, -1)
    own = confusion * (step - (confusion * step).sum(axis=1, keepdims=True))
    of_prior = prior_kb * (step_pb[cut:] - (prior_kb * step_pb[cut:]).sum(axis=0))
    return np.concatenate([own.reshape(cut, -1), of_prior])


def _complete_information(params: Params, votes_jk: FloatArray, items: float) -> FloatArray:
    """The information if the classes were known: counts times the covariance of each row of shares."""
    confusion_jlk, prior_k = params.confusion[:, :-1, :, 0], params.prior[:-1, 0]
    n_workers, n_free, n_classes = confusion_jlk.shape
    size = n_workers * n_free * n_classes
    covariance_jklm = -np.einsum("jlk,jmk->jklm", confusion_jlk, confusion_jlk)
    covariance_jklm[:, :, range(n_free), range(n_free)] += confusion_jlk.transpose(0, 2, 1)
    covariance_jklm *= votes_jk[:, :, None, None]
    total = np.zeros((size + len(prior_k), size + len(prior_k)))
    place_jlk = np.arange(size).reshape(confusion_jlk.shape)
    total[place_jlk.transpose(0, 2, 1)[..., None], place_jlk.transpose(0, 2, 1)[:, :, None]] = covariance_jklm
    total[size:, size:] = items * (np.diag(prior_k) - np.outer(prior_k, prior_k))
    return total


def _missing_information(
    matrix: VoteMatrix, weight_i: FloatArray, posterior_ik: FloatArray, params: Params
) -> FloatArray:
    """Missing information: the covariance of the scores given the votes, summed over items.

    The score of a share in class k is 0 if the item is of another class, else the label given less its expectation.
    """
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    n_free = n_labels - 1
    size = n_workers * n_free * n_classes
    total = np.zeros((size + n_classes - 1, size + n_classes - 1))
    cells = total[:size, :size].reshape(n_workers, n_free, n_classes, n_workers, n_free, n_classes)
    border = total[:size, size:].reshape(n_workers, n_free, n_classes, n_classes - 1)
    transpose = matrix.whole.T.tocsr()
    for k, m in combinations(range(n_classes), 2):  # the covariances of a class with itself follow: rows add up to 0
        weight = weight_i * posterior_ik[:, k] * posterior_ik[:, m]
        both_cc = (transpose @ matrix.whole.multiply(weight[:, None]).tocsr()).toarray()
        one_c = (transpose @ weight)[:, None]
        for a, b, sign in ((k, k, 1), (k, m, -1), (m, k, -1), (m, m, 1)):
            left = _surplus(both_cc, params.confusion[..., a, 0])
            block = _surplus(left.T, params.confusion[..., b, 0]).T
            cells[:, :, a, :, :, b] += sign * block.reshape(n_workers, n_free, n_workers, n_free)
            if b < n_classes - 1:
                border[:, :, a, b] += sign * _surplus(one_c, params.confusion[..., a, 0]).reshape(n_workers, n_free)
            if max(a, b) < n_classes - 1:
                total[size + a, size + b] += sign * weight.sum()
    total[size:, :size] = total[:size, size:].T
    return total


def _surplus(sum_cx: FloatArray, confusion_jl: FloatArray) -> FloatArray:
    """Sums by (worker, label) less their expectation by each worker's share of the label, without the last label."""
    n_workers, n_labels = confusion_jl.shape
    sum_jlx = sum_cx.reshape(n_workers, n_labels, -1)
    surplus = sum_jlx - confusion_jl[:, :, None] * sum_jlx.sum(axis=1, keepdims=True)
    return np.asarray(surplus[:, :-1].reshape(n_workers * (n_labels - 1), -1))


def _run_em(
    matrix: VoteMatrix, weighting: Weighting, start: Params, smoothing: float
) -> tuple[Params, NDArray[np.bool_]]:
    """EM in SQUAREM cycles (two steps, a leap, a step) for all weightings that still move, within their range."""
    n_weightings = len(weighting.items_b)
    params = Params(*(np.repeat(part, n_weightings, axis=-1) for part in start))
    done = Params(*(part.copy() for part in params))
    if many := start.confusion.size > MOST_INVERTED:
        (tol, max_iter), leap = COARSE, _leap_by_worker
    else:
        (precision, max_iter), leap = FINE, _leap
        tol = precision / np.sqrt(max(1.0, float(weighting.votes_cb.max(initial=1.0))))
    information = _information(weighting, start) if many else None
    active = np.arange(n_weightings)
    moved_b = np.full(n_weightings, np.inf)
    plain_b = np.zeros(n_weightings, dtype=bool)  # the leap diverged: continue without it
    for cycle in range(max_iter // 3):
        first = em_step(matrix, weighting, params if cycle else start, smoothing)  # one posterior serves all at first
        second = em_step(matrix, weighting, first, smoothing)
        change_b = (
            largest_change(first, second, len(active)) if information is None else _distance(first, second, information)
        )
        plain_b |= change_b > 2 * moved_b
        moved_b = change_b
        done.confusion[..., active], done.prior[:, active] = second
        moving_b = change_b > tol
        if not moving_b.any():
            active = active[:0]
            break
        if not moving_b.all():
            active, moved_b, plain_b = active[moving_b], moved_b[moving_b], plain_b[moving_b]
            weighting = choose(weighting, moving_b)
        three = tuple(choose_columns(point, moving_b) for point in (params, first, second))
        params = em_step(matrix, weighting, leap(three, plain_b), smoothing)
    converged_b = np.ones(n_weightings, dtype=bool)
    converged_b[active] = False
    return done, converged_b


def _leap(three: tuple[Params, ...], plain_b: NDArray[np.bool_]) -> Params:
    """The SQUAREM step from three successive points; the last of them if it leaves the range of probabilities."""
    old, first, second = three
    n = len(plain_b)

    def norm(parts: Sequence[FloatArray]) -> list[FloatArray]:
        return [np.sqrt(sum((part**2).reshape(-1, n).sum(axis=0) for part in parts))] * len(parts)

    leap, _ = squarem(old, first, second, norm, LONGEST_LEAP)
    outside_b = plain_b | np.any([(part <= 0).reshape(-1, n).any(axis=0) for part in leap], axis=0)
    return Params(*(np.where(outside_b, c, part) for c, part in zip(second, leap, strict=True)))


def _leap_by_worker(three: tuple[Params, ...], plain_b: NDArray[np.bool_]) -> Params:
    """As `_leap`, with one step length per worker and one for the prior; only rows that would leave the range stay."""
    confusion, prior = ([params[n] for params in three] for n in (0, 1))
    return Params(_leap_together(confusion, plain_b, (1, 2), row=1), _leap_together(prior, plain_b, (0,), row=0))


def _leap_together(
    three: Sequence[FloatArray], plain_b: NDArray[np.bool_], together: tuple[int, ...], *, row: int
) -> FloatArray:
    old, first, second = three

    def norm(parts: Sequence[FloatArray]) -> list[FloatArray]:
        return [np.sqrt((part**2).sum(axis=together, keepdims=True)) for part in parts]

    [leap], _ = squarem([old], [first], [second], norm, LONGEST_LEAP)
    outside = plain_b | (leap <= 0).any(axis=row, keepdims=True)
    return np.where(outside, second, leap)


def _information(weighting: Weighting, start: Params) -> FloatArray:
    """One over the variance of each confusion's shares, (J, L, K, 1), as if the classes were known.

    However small a share is, it is not known better than to one vote.
    """
    confusion = start.confusion
    votes_jl = weighting.votes_cb.mean(axis=1).reshape(confusion.shape[:2])
    joint_jlk = confusion[..., 0] * start.prior[:, 0]
    votes_jk = np.einsum("jl,jlk->jk", votes_jl, joint_jlk / joint_jlk.sum(axis=2, keepdims=True)) + 1.0
    vote = 1 / votes_jk[:, None, :, None]
    return np.asarray(1 / (confusion * (1 - confusion) * vote + vote**2))


def _distance(old: Params, new: Params, information: FloatArray) -> FloatArray:
    """The distance between two points of each weighting, in standard errors (root mean square)."""
    apart = new.confusion - old.confusion
    apart *= apart
    apart *= information
    return np.asarray(np.sqrt(apart.mean(axis=(0, 1, 2))))
