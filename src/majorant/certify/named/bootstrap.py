"""The bootstrap over items: the model refitted to items drawn with replacement, from where the fit stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.certify.certificate import Claim, ClaimKind
from majorant.certify.named.design import FloatArray, as_copies, leaders
from majorant.certify.named.odds import majority_losses, majority_right
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit, Refits
from majorant.values import Estimate, as_generator, as_level
from majorant.votes import IntArray, Votes
from majorant.wording import NO_THREE_VOTES

Refit = Callable[[IntArray, Fit], Refits]  # (weights (B, items), where to start) -> B fits of the same votes
N_REPLICATES, FEWEST_REPLICATES = 200, 100
MOST_WORK = 20_000_000  # votes x classes x replicates; of more, fewer replicates, whose ends are as likely to be passed
ENTRIES_AT_ONCE = 20_000_000  # of the weights held at a time
FEW_COPIES = 8  # items that an item stands for on average, up to which they are drawn one by one
THIN_CELL = 5.0  # expected votes; a bootstrap of fewer cannot tell a rate from 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicates:
    """What each replicate b estimated: class probabilities, confusions, and what majority vote loses, and by ties."""

    prior_bk: FloatArray
    confusion: FloatArray  # (B, workers, K, K), or (B, K, K) where all share one
    loss_b: FloatArray
    tie_loss_b: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """What a claim by the bootstrap is made from: votes, a fit of them, and how to fit them again.

    refit(weights, start) must fit the same votes with weighted items; `copies` says how many items each item stands
    for, where equal items were merged (do: it makes panels cheap); `replicates` are given where the bootstrap was done
    before.
    """

    votes: Votes
    fit: Fit
    refit: Refit
    copies: ArrayLike | None = None
    replicates: Replicates | None = None


def identified(case: Case, level: float, *, per_worker: bool) -> bool:
    """Whether some item has three votes; refuses a level, or a fit, that no claim can be made with."""
    as_level(level)
    if case.votes.votes_i.max(initial=0) < 3:
        return False
    wanted = 3 if per_worker else 2
    if case.fit.confusion is None or case.fit.confusion.ndim != wanted:
        whose = "one confusion matrix per worker" if per_worker else "one confusion matrix for all"
        raise ConfigError(f"this claim needs {whose}; a {case.fit.method} fit has none.")
    return True


def unidentified(kind: ClaimKind, model: str, assumptions: tuple[str, ...]) -> Claim:
    """The claim on votes without an item of three."""
    return cannot_tell(kind, NO_THREE_VOTES, model, assumptions)


def cannot_tell(kind: ClaimKind, why: str, model: str, assumptions: tuple[str, ...]) -> Claim:
    """A claim of which these votes say nothing, nor test what it assumes."""
    return Claim(
        kind=kind, verdict="unidentified", why=why, model=model, assumptions=assumptions, not_tested=assumptions
    )


def replicates_of(case: Case, rng: int | np.random.Generator) -> Replicates:
    """The replicates of a case, drawn if there are none yet."""
    return bootstrap(case, rng=rng) if case.replicates is None else case.replicates


def bootstrap(case: Case, *, rng: int | np.random.Generator, n_replicates: int | None = None) -> Replicates:
    """Refit to items drawn with replacement, 200 times, or fewer where there are many votes.

    A row of a confusion matrix with a cell of less than THIN_CELL expected votes is drawn anew around the replicate
    (Dirichlet, half a vote more in each cell): a worker without an error in the data has none in any replicate, and
    would pass for perfect.
    """
    votes, fit = case.votes, case.fit
    if fit.confusion is None:
        raise ConfigError(f"a {fit.method} fit has no confusion matrices: certify needs them.")
    n_replicates = n_replicates or affordable_replicates(votes)
    generator, copies_i = as_generator(rng), as_copies(votes, case.copies)
    top_ik = leaders(votes)
    expected = _expected_votes(votes, fit, copies_i)
    prior, confusion, loss, tie_loss = [], [], [], []
    at_once = max(1, ENTRIES_AT_ONCE // max(1, len(votes.items)))
    for start in range(0, n_replicates, at_once):
        weight_bi = drawn_items(copies_i, min(at_once, n_replicates - start), generator)
        again = case.refit(weight_bi, fit)
        if again.confusion.shape[1:] != fit.confusion.shape:
            raise ConfigError("refit must give confusion matrices of the shape of the fit's.")
        prior.append(again.prior_bk)
        lost = majority_losses(votes, top_ik, weight_bi, again.prior_bk, again.confusion)
        loss.append(lost.all_b)
        tie_loss.append(lost.tied_b)
        confusion.append(_redraw_thin_rows(again.confusion, expected, generator))
    return Replicates(
        prior_bk=np.concatenate(prior),
        confusion=np.concatenate(confusion),
        loss_b=np.concatenate(loss),
        tie_loss_b=np.concatenate(tie_loss),
    )


def affordable_replicates(votes: Votes) -> int:
    """As many replicates as the work allows, 100 at least.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels="ny")
    >>> affordable_replicates(votes)
    200
    """
    work = max(votes.n_votes * len(votes.labels), 1)
    return int(np.clip(MOST_WORK // work, FEWEST_REPLICATES, N_REPLICATES))


def drawn_items(copies_i: FloatArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """How often each item comes up when all are drawn with replacement, (draws, items); item i stands for copies_i[i].

    >>> drawn_items(np.array([1., 3.]), 2, np.random.default_rng(0)).sum(axis=1).tolist()
    [4, 4]
    """
    n_items, n_rows = int(copies_i.sum()), len(copies_i)
    if n_items > FEW_COPIES * n_rows:
        return rng.multinomial(n_items, copies_i / n_items, size=n_draws)
    row_n = np.repeat(np.arange(n_rows), copies_i.astype(np.int64))
    weight_bi = np.empty((n_draws, n_rows), dtype=np.int32)
    for weight_i in weight_bi:
        weight_i[:] = np.bincount(row_n[rng.integers(n_items, size=n_items, dtype=np.uint32)], minlength=n_rows)
    return weight_bi


class FittedLoss(NamedTuple):
    """What majority gives away by a fit, the part of it by ties, and how many items are tied."""

    all: float
    tied: float
    tied_share: float


def fitted_loss(votes: Votes, fit: Fit, copies_i: FloatArray) -> FittedLoss:
    """What majority, a fair draw where votes are tied, gives away by the fit."""
    assert fit.confusion is not None
    top_ik, voted_i = leaders(votes), votes.votes_i > 0
    lost = majority_losses(votes, top_ik, copies_i[None], fit.prior[None], fit.confusion[None])
    tied = float(copies_i[voted_i & (top_ik.sum(axis=1) > 1)].sum())
    return FittedLoss(float(lost.all_b[0]), float(lost.tied_b[0]), tied / float(copies_i[voted_i].sum()))


def fitted_accuracy(votes: Votes, fit: Fit, copies_i: FloatArray, lost: float) -> dict[str, float]:
    """How often majority, and the best rule, are right by the fit; a tie is a fair draw.  `lost` is the fitted loss."""
    assert fit.confusion is not None
    right_i = majority_right(votes, leaders(votes), np.asarray(fit.prior), np.asarray(fit.confusion))
    voted = np.flatnonzero(votes.votes_i > 0)
    right = float(copies_i[voted] @ right_i[voted] / copies_i[voted].sum())
    return {"majority_accuracy": right, "best_accuracy": right + lost}


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
        return Estimate(None, reason="no item has a vote")
    share = as_likely_passed((1 - level) / 2, len(defined_b))
    low, high = (float(end) for end in np.quantile(defined_b, [share, 1 - share]))
    least = max(0.0, min(low, 2 * value - high)) if refuted else 0.0
    return Estimate(value, least, min(1.0, max(high, 2 * value - low)))


def as_likely_passed(share: float, n_replicates: int) -> float:
    """The share at which a quantile of so many replicates is as likely to be passed as one of N_REPLICATES.

    The quantile at p of B draws from a law is passed by another draw with probability (p (B - 1) + 1) / (B + 1).

    >>> round(as_likely_passed(.025, 200), 12), round(as_likely_passed(.025, 100), 4)
    (0.025, 0.0202)
    """
    passed = (share * (N_REPLICATES - 1) + 1) / (N_REPLICATES + 1)
    return max(0.0, (passed * (n_replicates + 1) - 1) / max(n_replicates - 1, 1))


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
