"""The bootstrap over items: the model refitted to items drawn with replacement, from where the fit stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from majorant.certify.named.design import FloatArray, as_copies, majority_codes
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.interval import Estimate
from majorant.randomness import as_generator
from majorant.votes import IntArray, Votes

Refit = Callable[[FloatArray, Fit], Sequence[Fit]]  # (weights (B, items), where to start) -> B fits of the same votes
N_REPLICATES = 200
ENTRIES_AT_ONCE = 4_000_000  # of the posteriors held at a time
THIN_CELL = 5.0  # expected votes; a bootstrap of fewer cannot tell a rate from 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicates:
    """What each replicate b estimated: class probabilities, confusions, and what majority vote loses."""

    prior_bk: FloatArray
    confusion: FloatArray  # (B, workers, K, K), or (B, K, K) where all share one
    loss_b: FloatArray


def bootstrap(
    votes: Votes,
    fit: Fit,
    refit: Refit,
    *,
    rng: int | np.random.Generator,
    copies: ArrayLike | None = None,
    n_replicates: int = N_REPLICATES,
) -> Replicates:
    """Refit to items drawn with replacement; item i of `votes` stands for copies[i] items.

    A row of a confusion matrix with a cell of less than THIN_CELL expected votes is drawn anew around the replicate
    (Dirichlet, half a vote more in each cell): a worker without an error in the data has none in any replicate, and
    would pass for perfect.
    """
    if fit.confusion is None:
        raise ConfigError(f"a {fit.method} fit has no confusion matrices: certify needs them.")
    generator, copies_i = as_generator(rng), as_copies(votes, copies)
    n_items = int(copies_i.sum())
    majority_i = majority_codes(votes)
    expected = _expected_votes(votes, fit, copies_i)
    prior, confusion, loss = [], [], []
    at_once = max(1, ENTRIES_AT_ONCE // fit.posterior.size)
    for start in range(0, n_replicates, at_once):
        size = min(at_once, n_replicates - start)
        weight_bi = generator.multinomial(n_items, copies_i / n_items, size=size).astype(float)
        for again, weight_i in zip(refit(weight_bi, fit), weight_bi, strict=True):
            if again.confusion is None or again.confusion.shape != fit.confusion.shape:
                raise ConfigError("refit must give confusion matrices of the shape of the fit's.")
            prior.append(again.prior)
            confusion.append(_redraw_thin_rows(again.confusion, expected, generator))
            loss.append(majority_loss(again.posterior, majority_i, weight_i))
    return Replicates(prior_bk=np.array(prior), confusion=np.array(confusion), loss_b=np.array(loss))


def majority_loss(posterior_ik: FloatArray, majority_i: IntArray, weight_i: FloatArray) -> float:
    """Mean of max_k q_ik - q_i,majority over untied items: what majority gives away if the model is right.

    >>> round(majority_loss(np.array([[.9, .1], [.3, .7]]), np.array([0, 0]), np.ones(2)), 3)
    0.2
    """
    kept = np.flatnonzero(majority_i >= 0)
    total = weight_i[kept].sum()
    if not total:
        return np.nan
    best_i = posterior_ik[:, 0].copy()
    for k in range(1, posterior_ik.shape[1]):
        np.maximum(best_i, posterior_ik[:, k], out=best_i)
    lost_i = best_i[kept] - posterior_ik[kept, majority_i[kept]]
    return float((weight_i[kept] * lost_i).sum() / total)


def loss_estimate(value: float, loss_b: FloatArray, level: float, *, refuted: bool) -> Estimate:
    """The loss with its bootstrap interval: at each end the farther of the percentile and its reflection.

    A plug-in loss is never negative and so too large where majority vote is optimal, in replicates twice over:
    percentiles alone then miss a true loss of 0 up to one time in five.  For the same reason the interval reaches
    down to 0 unless it is `refuted` that majority vote is optimal.

    >>> loss_estimate(.02, np.linspace(.01, .025, 101), level=.9, refuted=True)
    Estimate(value=0.02, low=0.01..., high=0.029..., reason='')
    """
    defined_b = loss_b[~np.isnan(loss_b)]
    if np.isnan(value) or not len(defined_b):
        return Estimate(None, reason="every item is tied")
    low, high = (float(end) for end in np.quantile(defined_b, [(1 - level) / 2, (1 + level) / 2]))
    least = max(0.0, min(low, 2 * value - high)) if refuted else 0.0
    return Estimate(value, least, min(1.0, max(high, 2 * value - low)))


def _expected_votes(votes: Votes, fit: Fit, copies_i: FloatArray) -> FloatArray:
    """How many votes each worker gave on items of each class, (J, K), or all together, (K,), as `fit` sees it."""
    posterior_nk = (fit.posterior * copies_i[:, None])[votes.item_n]
    if fit.confusion is not None and fit.confusion.ndim == 2:
        return np.asarray(posterior_nk.sum(axis=0))
    _, n_workers, _ = votes.shape
    by_class = [np.bincount(votes.worker_n, weights=column_n, minlength=n_workers) for column_n in posterior_nk.T]
    return np.stack(by_class, axis=1)


def _redraw_thin_rows(confusion: FloatArray, expected: FloatArray, rng: np.random.Generator) -> FloatArray:
    cell = expected[..., None] * confusion
    thin = cell.min(axis=-1) < THIN_CELL
    if not thin.any():
        return confusion
    drawn = np.maximum(rng.standard_gamma(cell[thin] + 0.5), np.finfo(float).tiny)
    redrawn = np.array(confusion)
    redrawn[thin] = drawn / drawn.sum(axis=-1, keepdims=True)
    return redrawn
