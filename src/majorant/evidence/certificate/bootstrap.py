"""Bootstrap over items: the model is refitted to items drawn with replacement, starting from the fit.

Each replicate gives log-odds of labels given who voted for what, and a loss of majority vote. Verdicts come from
quantiles of resampled margins, with an allowance for the Monte Carlo error of the replicates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.evidence.certificate.design import as_copies, leaders
from majorant.evidence.certificate.weighted_em import fit_weightings
from majorant.methods.fit import Fit
from majorant.values import Estimate, FloatArray, Missing, as_generator, safe_log
from majorant.votes import IntArray, Votes

N_REPLICATES = 200  # fewer, down to half, of many votes
LEAST = -1e9  # replaces a log-probability of -inf, so that differences stay finite


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicates:
    """Estimates of each replicate b: class probabilities, confusion matrices, and the loss of majority vote."""

    prior_bk: FloatArray
    confusion: FloatArray  # (B, workers, K, K), or (B, K, K) if all workers share one
    loss_b: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """Votes and their fit; `copies` is the number of items that each item stands for, if equal items were merged."""

    votes: Votes
    fit: Fit
    copies: ArrayLike | None = None


def bootstrap(case: Case, *, rng: int | np.random.Generator) -> Replicates:
    """Refit the model to items drawn with replacement, starting from the fit.

    Rows of confusion matrices with fewer than 5 expected votes in a cell are redrawn around the replicate (Dirichlet,
    with half a vote added to each cell). Otherwise a worker without errors in the data would have none in any replicate
    and appear perfect.
    """
    votes, fit = case.votes, case.fit
    if fit.confusion is None:
        raise ConfigError(f"A {fit.method} fit has no confusion matrices, which certify needs.")
    generator, copies_i = as_generator(rng), as_copies(votes, case.copies)
    top_ik = leaders(votes)
    expected = _expected_votes(votes, fit, copies_i)
    prior, confusion, loss = [], [], []
    n_replicates = int(np.clip(2e7 // max(votes.n_votes * len(votes.labels), 1), N_REPLICATES // 2, N_REPLICATES))
    at_once = max(1, 20_000_000 // max(1, len(votes.items)))  # limited by the memory for weights
    for start in range(0, n_replicates, at_once):
        weight_bi = resample_items(copies_i, min(at_once, n_replicates - start), generator)
        prior_bk, refitted = fit_weightings(votes, weight_bi, fit)
        prior.append(prior_bk)
        loss.append(majority_losses(votes, top_ik, weight_bi, prior_bk, refitted))
        confusion.append(_redraw_thin_rows(refitted, expected, generator))
    return Replicates(prior_bk=np.concatenate(prior), confusion=np.concatenate(confusion), loss_b=np.concatenate(loss))


def resample_items(copies_i: FloatArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Resample the items: how often each is drawn, (draws, items).  Item i stands for copies_i[i] items.

    >>> resample_items(np.array([1., 3.]), 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [4, 4]
    """
    n_items, n_rows = int(copies_i.sum()), len(copies_i)
    if n_items > 8 * n_rows:  # then this is faster than drawing items one by one
        return rng.multinomial(n_items, copies_i / n_items, size=n_draws)
    row_n = np.repeat(np.arange(n_rows), copies_i.astype(np.int64))
    weight_bi = np.empty((n_draws, n_rows), dtype=np.int32)
    for weight_i in weight_bi:
        weight_i[:] = np.bincount(row_n[rng.integers(n_items, size=n_items, dtype=np.uint32)], minlength=n_rows)
    return weight_bi


def loss_estimate(value: float, loss_b: FloatArray, level: float, *, refuted: bool) -> Estimate:
    """The loss with its bootstrap interval, whose ends are the more distant of the percentile and its reflection.

    A plug-in loss is never negative, so it is biased upwards if majority vote is optimal, and twice as much in
    replicates: percentiles alone would miss a true loss of 0 up to one time in five.  For the same reason, the interval
    starts at 0 unless it is `refuted` that majority vote is optimal.

    >>> loss_estimate(.02, np.linspace(.01, .025, 101), level=.9, refuted=True)
    Estimate(value=0.02, low=0.01..., high=0.029..., reason=None)
    """
    defined_b = loss_b[~np.isnan(loss_b)]
    if np.isnan(value) or not len(defined_b):
        return Estimate(None, reason=Missing.NO_VOTES)
    share = _quantile_share((1 - level) / 2, len(defined_b))
    low, high = (float(end) for end in np.quantile(defined_b, [share, 1 - share]))
    least = max(0.0, min(low, 2 * value - high)) if refuted else 0.0
    return Estimate(value, least, min(1.0, max(high, 2 * value - low)))


def _quantile_share(share: float, n_replicates: int) -> float:
    """The share at which another draw passes the quantile of so many replicates as often as that of N_REPLICATES.

    A draw passes the quantile at p of B others with probability (p (B - 1) + 1) / (B + 1).

    >>> round(_quantile_share(.025, 200), 12), round(_quantile_share(.025, 100), 4)
    (0.025, 0.0202)
    """
    passed = (share * (N_REPLICATES - 1) + 1) / (N_REPLICATES + 1)
    return max(0.0, (passed * (n_replicates + 1) - 1) / max(n_replicates - 1, 1))


def _expected_votes(votes: Votes, fit: Fit, copies_i: FloatArray) -> FloatArray:
    """Expected number of votes by each worker on items of each class, (J, K), or by all workers, (K,), under `fit`."""
    posterior_nk = (fit.posterior * copies_i[:, None])[votes.item_n]
    if fit.confusion is not None and fit.confusion.ndim == 2:
        return np.asarray(posterior_nk.sum(axis=0))
    _, n_workers, _ = votes.shape
    by_class = [np.bincount(votes.worker_n, weights=column_n, minlength=n_workers) for column_n in posterior_nk.T]
    return np.stack(by_class, axis=1)


def _redraw_thin_rows(confusion: FloatArray, expected: FloatArray, rng: np.random.Generator) -> FloatArray:
    cell = expected[..., None] * confusion
    thin = cell.min(axis=-1) < 5.0  # expected votes; with fewer, the bootstrap cannot distinguish a rate from 0
    if not thin.any():
        return confusion
    drawn = np.maximum(rng.standard_gamma(cell[thin] + 0.5), np.finfo(float).tiny)
    redrawn = np.array(confusion)
    redrawn[thin] = drawn / drawn.sum(axis=-1, keepdims=True)
    return redrawn


def vote_odds(votes: Votes, item: IntArray, label: IntArray, prior_bk: FloatArray, confusion: FloatArray) -> FloatArray:
    """Log-odds of each item's `label` against the best other class, given who voted for what, (models, items).

    `confusion` holds one matrix per worker, (B, J, K, K), or one for all workers, (B, K, K).

    >>> votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels="ny")
    >>> panel = np.array([[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]])
    >>> vote_odds(votes, np.array([0]), np.array([0]), np.array([[.5, .5]]), panel[None]).round(3).tolist()
    [[1.792]]
    """
    odds_bi = np.empty((len(prior_bk), len(item)))
    votes_ic = _vote_matrix(votes, shared=confusion.ndim == 3)[item]
    for rows, score_kib in _scores(votes_ic, prior_bk, confusion):
        odds_bi[:, rows] = _odds(score_kib, label[rows]).T
    return odds_bi


def majority_losses(
    votes: Votes, top_ik: NDArray[np.bool_], weight_bi: NDArray[Any], prior_bk: FloatArray, confusion: FloatArray
) -> FloatArray:
    """Loss of majority vote under each model on untied items, as a share of the items with votes.

    Item i counts weight_bi[b, i] times under model b; the loss is NaN if no item has votes. Most items can be skipped,
    because even the sum of the lowest log-odds of each vote under any model favours majority.

    >>> from majorant.evidence.certificate.design import leaders
    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels="ny")
    >>> worker = np.array([[[[.9, .1], [.9, .1]]]])
    >>> majority_losses(votes, leaders(votes), np.ones((1, 2)), np.array([[.7, .3]]), worker).round(3).tolist()
    [0.2]
    """
    votes_ic, majority_i = _vote_matrix(votes, shared=confusion.ndim == 3), top_ik.argmax(axis=1)
    voted_i = votes.votes_i > 0
    untied = np.flatnonzero(voted_i & (top_ik.sum(axis=1) == 1))
    at_stake = untied[_worst_odds(votes_ic[untied], majority_i[untied], prior_bk, confusion) < 0]
    lost_b = np.zeros(len(prior_bk))
    for rows, score_kib in _scores(votes_ic[at_stake], prior_bk, confusion):
        item, probability_kib = at_stake[rows], _probabilities(score_kib)
        own_ib = np.take_along_axis(probability_kib, majority_i[item][None, :, None], axis=0)[0]
        lost_b += ((probability_kib.max(axis=0) - own_ib) * weight_bi[:, item].T).sum(axis=0)
    total_b = weight_bi[:, voted_i].sum(axis=1, dtype=float)
    return np.asarray(np.divide(lost_b, total_b, out=np.full(len(total_b), np.nan), where=total_b > 0))


def _probabilities(score_kib: FloatArray) -> FloatArray:
    """Class probabilities from log scores, which are overwritten."""
    score_kib -= score_kib.max(axis=0)
    np.exp(score_kib, out=score_kib)
    score_kib /= score_kib.sum(axis=0)
    return score_kib


def _vote_matrix(votes: Votes, *, shared: bool) -> Any:
    """Sparse matrix of items x (worker, label); if workers share a confusion matrix, they count as one worker."""
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


def _scores(
    votes_ic: Any, prior_bk: FloatArray, confusion: FloatArray, *, entries: int = 250_000
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of items with their class scores, (K, items, models), relative to the first class.

    A block has at most `entries` items x models, which fit into the cache.
    """
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    log_vote_kcb -= log_vote_kcb[0].copy()
    n_items, n_models, n_classes = votes_ic.shape[0], *prior_bk.shape
    size = max(1, entries // n_models)
    for start in range(0, n_items, size):
        rows = slice(start, min(start + size, n_items))
        score_kib = np.zeros((n_classes, rows.stop - start, n_models))
        for k in range(1, n_classes):
            score_kib[k] = votes_ic[rows] @ log_vote_kcb[k]
            score_kib[k] += log_prior_kb[k] - log_prior_kb[0]
        yield rows, score_kib


def _odds(score_kib: FloatArray, label_i: IntArray) -> FloatArray:
    """Score of each label minus that of the best other label, (items, models)."""
    own_ib, best_ib = np.empty((2, *score_kib.shape[1:]))
    for k in np.unique(label_i):
        rows = np.flatnonzero(label_i == k)
        own_ib[rows] = score_kib[k, rows]
        best_ib[rows] = np.delete(score_kib, k, axis=0)[:, rows].max(axis=0, initial=-np.inf)
    return np.asarray(own_ib - best_ib)


def _worst_odds(votes_ic: Any, label_i: IntArray, prior_bk: FloatArray, confusion: FloatArray) -> FloatArray:
    """Lower bound on the log-odds of each label under all models: each vote counts as in the worst of them."""
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    worst_i = np.full(len(label_i), np.inf)
    for k, m in permutations(range(len(log_prior_kb)), 2):
        least_c = (log_vote_kcb[k] - log_vote_kcb[m]).min(axis=1)
        start = (log_prior_kb[k] - log_prior_kb[m]).min()
        rows = np.flatnonzero(label_i == k)
        worst_i[rows] = np.minimum(worst_i[rows], votes_ic[rows] @ least_c + start)
    return worst_i


def most_nonpositive(n_replicates: int, level: float) -> int:
    """Largest number of replicates at or below 0 with which a value still counts as above 0 at the level.

    With this number, the estimated probability of a replicate at or below 0 is two standard errors below 1 - level,
    which allows for Monte Carlo error.

    >>> most_nonpositive(200, .95), most_nonpositive(60, .95)
    (3, 0)
    """
    error = 1 - level
    return max(0, int(n_replicates * error - 2 * np.sqrt(n_replicates * error * level)))


def deviation(value_b: FloatArray) -> FloatArray:
    """Standard deviation over replicates (the first axis); inf if a value is infinite."""
    finite = np.isfinite(value_b).all(axis=0)
    return np.where(finite, np.where(finite, value_b, 0.0).std(axis=0, ddof=1), np.inf)


def fresh_to_tell_margin(margin: float, deviation: float, n_items: float, level: float) -> int | None:
    """Number of new items that would show a margin above 0 with 80% power; None if the margin is not above 0.

    >>> fresh_to_tell_margin(.2, .1, 1000, .95)
    1546
    """
    from scipy.special import ndtri

    if not margin > 0 or not 0 < deviation < np.inf:
        return None
    needed = n_items * ((ndtri(level) + ndtri(0.8)) * deviation / margin) ** 2
    return ceil(needed) if needed < 1e12 else None


def spread_upwards(value_bp: FloatArray) -> FloatArray:
    """Deviation of the replicates above their median; for a symmetric distribution, the standard deviation.

    The log-odds of a worker who hardly errs have a long tail away from 0, so their full standard deviation would hide
    how far from 0 they are. The result is inf if a value is infinite.

    >>> spread_upwards(np.array([[-9.], [-1.], [0.], [1.], [1.]])).round(3).tolist()
    [0.894]
    """
    finite_p = np.isfinite(value_bp).all(axis=0)
    finite_bp = np.where(finite_p, value_bp, 0.0)
    above_bp = np.maximum(finite_bp - np.median(finite_bp, axis=0), 0.0)
    return np.where(finite_p, np.sqrt(2 * (above_bp**2).mean(axis=0)), np.inf)


def clearly_negative(value_p: FloatArray, value_bp: FloatArray, n_tried: int, level: float) -> NDArray[np.bool_]:
    """Which log-odds are below 0 at the level, judged by their upward spread and corrected for `n_tried` (Bonferroni).

    All replicates must be below 0, too: with few items, the normal approximation alone would refute too often.

    >>> clearly_negative(np.array([-1.]), np.linspace(-1.5, -.5, 100)[:, None], 10, .95).tolist()
    [True]
    """
    from scipy.special import ndtri

    safe = 1 + 2 / np.sqrt(len(value_bp))  # two standard errors of a spread estimated from half of the replicates
    distance = safe * float(ndtri(1 - (1 - level) / max(n_tried, 1)))
    is_far_p = value_p + distance * spread_upwards(value_bp) < 0
    return np.asarray(is_far_p & (value_bp < 0).all(axis=0))
