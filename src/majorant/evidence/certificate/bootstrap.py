"""The bootstrap over items: the model refitted to items drawn with replacement, starting from the fit.

Each replicate has log-odds of the labels given who voted what, and a loss of majority vote. Verdicts come from limits
of resampled margins, with room for the Monte Carlo error of the replicates.
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
from majorant.methods.fit import Fit
from majorant.methods.refit import refit_dawid_skene
from majorant.values import Estimate, FloatArray, Missing, as_generator, safe_log
from majorant.votes import IntArray, Votes

N_REPLICATES = 200
SCORES_AT_ONCE = 250_000  # items x models, few enough to stay in the cache
LEAST = -1e9  # log-probability of the impossible: finite, so that differences are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicates:
    """Estimates of each replicate b: class probabilities, confusion matrices, and the loss of majority vote."""

    prior_bk: FloatArray
    confusion: FloatArray  # (B, workers, K, K), or (B, K, K) where all share one
    loss_b: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """Votes and a fit of them; `copies` says how many items each item stands for, if equal items were merged."""

    votes: Votes
    fit: Fit
    copies: ArrayLike | None = None


def bootstrap(case: Case, *, rng: int | np.random.Generator) -> Replicates:
    """Refit to items drawn with replacement, starting from the fit.

    A row of a confusion matrix with a cell of less than 5 expected votes is redrawn around the replicate
    (Dirichlet, half a vote more in each cell): a worker without an error in the data has none in any replicate, and
    would pass for perfect.
    """
    votes, fit = case.votes, case.fit
    if fit.confusion is None:
        raise ConfigError(f"a {fit.method} fit has no confusion matrices: certify needs them.")
    generator, copies_i = as_generator(rng), as_copies(votes, case.copies)
    top_ik = leaders(votes)
    expected = _expected_votes(votes, fit, copies_i)
    prior, confusion, loss = [], [], []
    at_once = max(1, 20_000_000 // max(1, len(votes.items)))  # of the weights held at a time
    for start in range(0, N_REPLICATES, at_once):
        weight_bi = drawn_items(copies_i, min(at_once, N_REPLICATES - start), generator)
        again = refit_dawid_skene(votes, weight_bi, fit)
        prior.append(again.prior_bk)
        loss.append(majority_losses(votes, top_ik, weight_bi, again.prior_bk, again.confusion))
        confusion.append(_redraw_thin_rows(again.confusion, expected, generator))
    return Replicates(prior_bk=np.concatenate(prior), confusion=np.concatenate(confusion), loss_b=np.concatenate(loss))


def drawn_items(copies_i: FloatArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Resample the items: how often each is drawn, (draws, items); item i stands for copies_i[i] items.

    >>> drawn_items(np.array([1., 3.]), 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [4, 4]
    """
    n_items, n_rows = int(copies_i.sum()), len(copies_i)
    if n_items > 8 * n_rows:  # items that an item stands for on average, up to which they are drawn one by one
        return rng.multinomial(n_items, copies_i / n_items, size=n_draws)
    row_n = np.repeat(np.arange(n_rows), copies_i.astype(np.int64))
    weight_bi = np.empty((n_draws, n_rows), dtype=np.int32)
    for weight_i in weight_bi:
        weight_i[:] = np.bincount(row_n[rng.integers(n_items, size=n_items, dtype=np.uint32)], minlength=n_rows)
    return weight_bi


def loss_estimate(value: float, loss_b: FloatArray, level: float, *, refuted: bool) -> Estimate:
    """The loss with its bootstrap interval: at each end the farther of the percentile and its reflection.

    A plug-in loss is never negative and so too large where majority vote is optimal, in replicates twice over:
    percentiles alone then miss a true loss of 0 up to one time in five.  For the same reason the interval reaches
    down to 0 unless it is `refuted` that majority vote is optimal.

    >>> loss_estimate(.02, np.linspace(.01, .025, 101), level=.9, refuted=True)
    Estimate(value=0.02, low=0.01..., high=0.029..., reason=None)
    """
    defined_b = loss_b[~np.isnan(loss_b)]
    if np.isnan(value) or not len(defined_b):
        return Estimate(None, reason=Missing.NO_VOTES)
    share = (1 - level) / 2
    low, high = (float(end) for end in np.quantile(defined_b, [share, 1 - share]))
    least = max(0.0, min(low, 2 * value - high)) if refuted else 0.0
    return Estimate(value, least, min(1.0, max(high, 2 * value - low)))


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
    thin = cell.min(axis=-1) < 5.0  # expected votes; a bootstrap of fewer cannot tell a rate from 0
    if not thin.any():
        return confusion
    drawn = np.maximum(rng.standard_gamma(cell[thin] + 0.5), np.finfo(float).tiny)
    redrawn = np.array(confusion)
    redrawn[thin] = drawn / drawn.sum(axis=-1, keepdims=True)
    return redrawn


def vote_odds(votes: Votes, item: IntArray, label: IntArray, prior_bk: FloatArray, confusion: FloatArray) -> FloatArray:
    """The log-odds of each item's `label` against the best other class, given who voted what, (models, items).

    `confusion` holds a matrix for each worker, (B, J, K, K), or one for all, (B, K, K).

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
    """The loss of majority vote under each model on untied items, as a share of the items with votes.

    Item i counts weight_bi[b, i] times under model b; NaN if no item has votes. Most items are never lost: the worst
    that any model says of each vote, added up, still favours majority.

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
    """Yield blocks of items with their class scores, (K, items, models), relative to the first class."""
    log_prior_kb, log_vote_kcb = _tables(prior_bk, confusion)
    log_vote_kcb -= log_vote_kcb[0].copy()
    n_items, n_models, n_classes = votes_ic.shape[0], *prior_bk.shape
    size = max(1, SCORES_AT_ONCE // n_models)
    for start in range(0, n_items, size):
        rows = slice(start, min(start + size, n_items))
        score_kib = np.zeros((n_classes, rows.stop - start, n_models))
        for k in range(1, n_classes):
            score_kib[k] = votes_ic[rows] @ log_vote_kcb[k]
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


def most_against(n_replicates: int, level: float) -> int:
    """How many replicates may be at 0 or below for a value to be above 0 at the level, safe from Monte Carlo error.

    With this many, the chance that a replicate is at 0 or below is less than 1 - level by two standard errors.

    >>> most_against(200, .95), most_against(60, .95)
    (3, 0)
    """
    error = 1 - level
    return max(0, int(n_replicates * error - 2 * np.sqrt(n_replicates * error * level)))


def deviation(value_b: FloatArray) -> FloatArray:
    """The bootstrap's standard deviation along the first axis, inf where a value is infinite."""
    finite = np.isfinite(value_b).all(axis=0)
    return np.where(finite, np.where(finite, value_b, 0.0).std(axis=0, ddof=1), np.inf)


def fresh_to_tell_margin(margin: float, deviation: float, n_items: float, level: float) -> int | None:
    """New items needed to show that the margin is above 0 with 80% power; None if it is not above 0.

    >>> fresh_to_tell_margin(.2, .1, 1000, .95)
    1546
    """
    from scipy.special import ndtri

    if not margin > 0 or not 0 < deviation < np.inf:
        return None
    needed = n_items * ((ndtri(level) + ndtri(0.8)) * deviation / margin) ** 2
    return ceil(needed) if needed < 1e12 else None


def spread_upwards(value_bp: FloatArray) -> FloatArray:
    """The deviation of the replicates above their median, which for a symmetric law is the standard deviation.

    Log-odds of a worker who hardly errs have a long tail away from 0, and their whole deviation would hide how far they
    stay from it; inf where a value is infinite.

    >>> spread_upwards(np.array([[-9.], [-1.], [0.], [1.], [1.]])).round(3).tolist()
    [0.894]
    """
    finite_p = np.isfinite(value_bp).all(axis=0)
    shown_bp = np.where(finite_p, value_bp, 0.0)
    above_bp = np.maximum(shown_bp - np.median(shown_bp, axis=0), 0.0)
    return np.where(finite_p, np.sqrt(2 * (above_bp**2).mean(axis=0)), np.inf)


def clearly_negative(value_p: FloatArray, value_bp: FloatArray, n_tried: int, level: float) -> NDArray[np.bool_]:
    """Which log-odds are below 0 at the level, all `n_tried` taken together (Bonferroni), by their spread upwards.

    No replicate may be at 0 or above: with few items the spread alone, a normal law's, refutes too often.

    >>> clearly_negative(np.array([-1.]), np.linspace(-1.5, -.5, 100)[:, None], 10, .95).tolist()
    [True]
    """
    from scipy.special import ndtri

    safe = 1 + 2 / np.sqrt(len(value_bp))  # two standard errors of a spread that half of the replicates tell
    far = safe * float(ndtri(1 - (1 - level) / max(n_tried, 1)))
    far_p = value_p + far * spread_upwards(value_bp) < 0
    return np.asarray(far_p & (value_bp < 0).all(axis=0))
