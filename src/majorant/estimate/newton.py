"""Newton's method for many weightings of the same items at once, all with the information at the unweighted fit.

A weighting drawn by a bootstrap moves the maximum by a few standard errors, over which the observed information hardly
changes: one matrix serves all weightings (the chord method), and few steps do.  A step is the step of EM, multiplied
by what EM loses to the missing labels; for labels that were seen, it is exact.  Anderson acceleration (the last
residuals combined to the smallest) takes care of directions in which the information does change.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.estimate.batched import Params, VoteMatrix, Weighting, columns, em_step, some
from majorant.kernels import FloatArray

MOST_PARAMETERS = 1_200  # beyond, the information takes longer to invert than EM takes
MOST_STEPS = 60
MEMORY = 3  # steps that the acceleration looks back on
CLOSE = 1e-4  # standard errors, in the direction where it is worst, that may be left to the maximum
CLOSE_SINGLE = 0.01  # the same in single precision, whose rounding leaves little less
RIDGE = 1e-10


class NewtonMethod(NamedTuple):
    """The unweighted fit, and how far EM's residual there says that the maximum lies.

    Parameters p in a column: each confusion matrix without its last label, (worker, label, class), then the class
    probabilities without the last.  `count_p` is the number of votes, or items, that EM's share p is taken of.
    """

    params: Params  # of one weighting
    count_p: FloatArray
    inverse_pp: FloatArray  # of the observed information, by the log-odds of each share against the last


class _Point(NamedTuple):
    """The parameters of each weighting, EM's residual there times counts, and the step that it asks for (log-odds)."""

    share_pb: FloatArray
    residual_pb: FloatArray
    step_pb: FloatArray


def newton_method(
    matrix: VoteMatrix, weight_i: FloatArray, posterior_ik: FloatArray, params: Params, smoothing: float
) -> NewtonMethod | None:
    """The chord method around a fit; None where its information is not positive, as at no maximum."""
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    expected_ck = matrix.whole.T @ (posterior_ik * weight_i[:, None])
    votes_jk = expected_ck.reshape(n_workers, n_labels, n_classes).sum(axis=1) + n_labels * smoothing
    items = float(weight_i.sum()) + n_classes * smoothing
    count_p = np.append(np.repeat(votes_jk[:, None], n_labels - 1, axis=1), np.full(n_classes - 1, items))
    complete_pp = _block_diagonal(params, votes_jk, items)
    information_pp = complete_pp - _missing_information(matrix, weight_i, posterior_ik, params)
    try:
        np.linalg.cholesky(information_pp)
        return NewtonMethod(params, count_p, np.asarray(np.linalg.inv(information_pp), dtype=float))
    except np.linalg.LinAlgError:
        return None


def converge(
    newton: NewtonMethod, matrix: VoteMatrix, weighting: Weighting, smoothing: float
) -> tuple[Params, NDArray[np.bool_]]:
    """The parameters of each weighting at the maximum nearest to the fit, and whether it was found."""
    n_weightings = len(weighting.items_b)
    params = newton.params  # the first step is cheap: one posterior serves all weightings
    done = Params(*(np.repeat(part, n_weightings, axis=-1) for part in params))
    found_b, active = np.zeros(n_weightings, dtype=bool), np.arange(n_weightings)
    past: list[_Point] = []
    before_b = np.zeros(n_weightings)
    close = CLOSE_SINGLE if matrix.single else CLOSE
    for _ in range(MOST_STEPS):
        plain = em_step(matrix, weighting, params, smoothing)
        point = _point(newton, params, plain)
        distance_b = np.sqrt(np.maximum(np.einsum("pb,pb->b", point.residual_pb, point.step_pb), 0.0))
        params = _inside(_accelerated(newton, point, past), plain)
        done.confusion[..., active], done.prior[:, active] = params
        close_b = distance_b**2 <= close * np.maximum(distance_b, before_b)  # if it shrinks again as it did last
        found_b[active] = close_b
        if close_b.all():
            break
        past, before_b = [*past, point][-MEMORY:], distance_b
        if 2 * close_b.sum() >= len(active):  # copying the rest pays
            active, before_b, params = active[~close_b], before_b[~close_b], columns(params, ~close_b)
            weighting, past = some(weighting, ~close_b), [columns(one, ~close_b) for one in past]
    return done, found_b


def _point(newton: NewtonMethod, params: Params, plain: Params) -> _Point:
    share_pb, next_pb = _packed(params), _packed(plain)
    residual_pb = newton.count_p[:, None] * (next_pb - share_pb)
    return _Point(np.broadcast_to(share_pb, residual_pb.shape), residual_pb, newton.inverse_pp @ residual_pb)


def _accelerated(newton: NewtonMethod, point: _Point, past: list[_Point]) -> Params:
    """Where the step leads, the residual lessened by what the last steps have shown of how it changes."""
    share_pb, step_pb = point.share_pb, point.step_pb
    if past:
        change = [_Point(*(now - then for now, then in zip(point, one, strict=True))) for one in past]
        inner_mmb = np.array([[(a.step_pb * b.residual_pb).sum(axis=0) for b in change] for a in change])
        wanted_mb = np.array([(a.step_pb * point.residual_pb).sum(axis=0) for a in change])
        scale_b = np.einsum("mmb->b", inner_mmb) + np.finfo(float).tiny
        ridge_bmm = RIDGE * scale_b[:, None, None] * np.eye(len(past))
        factor_bm = np.linalg.solve(inner_mmb.transpose(2, 0, 1) + ridge_bmm, wanted_mb.T[..., None])[..., 0]
        for factor_b, one in zip(factor_bm.T, change, strict=True):
            share_pb, step_pb = share_pb - factor_b * one.share_pb, step_pb - factor_b * one.step_pb
    return _unpacked(share_pb + _as_shares(newton.params, step_pb), newton.params)


def _inside(params: Params, plain: Params) -> Params:
    """Rows of probabilities that a step leads out of their range go on as EM says."""
    outside = [(part <= 0).any(axis=axis, keepdims=True) for part, axis in zip(params, (1, 0), strict=True)]
    return Params(*(np.where(out, em, part) for out, em, part in zip(outside, plain, params, strict=True)))


def _packed(params: Params) -> FloatArray:
    confusion = params.confusion[:, :-1]
    return np.concatenate([confusion.reshape(-1, confusion.shape[-1]), params.prior[:-1]])


def _unpacked(share_pb: FloatArray, like: Params) -> Params:
    n_workers, n_labels, n_classes, _ = like.confusion.shape
    cut = len(share_pb) - (n_classes - 1)
    confusion = share_pb[:cut].reshape(n_workers, n_labels - 1, n_classes, -1)
    prior_kb = share_pb[cut:]
    last = 1 - confusion.sum(axis=1, keepdims=True)
    return Params(np.concatenate([confusion, last], axis=1), np.vstack([prior_kb, 1 - prior_kb.sum(axis=0)]))


def _as_shares(params: Params, step_pb: FloatArray) -> FloatArray:
    """A small step in log-odds against the last label, or class, as a step in shares."""
    n_workers, n_labels, n_classes, _ = params.confusion.shape
    cut = len(step_pb) - (n_classes - 1)
    confusion, prior_kb = params.confusion[:, :-1], params.prior[:-1]
    step = step_pb[:cut].reshape(n_workers, n_labels - 1, n_classes, -1)
    own = confusion * (step - (confusion * step).sum(axis=1, keepdims=True))
    of_prior = prior_kb * (step_pb[cut:] - (prior_kb * step_pb[cut:]).sum(axis=0))
    return np.concatenate([own.reshape(cut, -1), of_prior])


def _block_diagonal(params: Params, votes_jk: FloatArray, items: float) -> FloatArray:
    """The information if the labels were seen: counts times the covariance of each row of shares."""
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
    """What not seeing the labels takes away: the covariance of the scores given the votes, added up over items.

    The score of a share in class k is 0 where the item is of another class, else what was said less what was expected.
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
    """Sums by (worker, label) less what each worker's share of the label leads to expect, without the last label."""
    n_workers, n_labels = confusion_jl.shape
    sum_jlx = sum_cx.reshape(n_workers, n_labels, -1)
    surplus = sum_jlx - confusion_jl[:, :, None] * sum_jlx.sum(axis=1, keepdims=True)
    return np.asarray(surplus[:, :-1].reshape(n_workers * (n_labels - 1), -1))
