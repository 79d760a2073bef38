"""The simulations of the paper, with counts: three workers who vote on every item and share a confusion matrix.

Three votes of two classes make eight patterns, so a data set of any size is eight numbers: drawing, estimating and
certifying cost the same for a hundred items as for a million.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from majorant.evidence.certificate.anonymous import ratio_cut, weigh
from majorant.evidence.certificate.count_models import (
    HistogramCells,
    contradictions,
    flatten,
    log_likelihood,
    suprema,
)
from majorant.methods import ESTIMATORS
from majorant.methods.ebcc import EBCC
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.theory import majority_margins
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

VOTES = 3
LEVEL = 0.95
PATTERN_PJ = np.array([[pattern >> worker & 1 for worker in range(VOTES)] for pattern in range(2**VOTES)])


class Model(NamedTuple):
    """The prior of class 0 and the accuracies on both classes."""

    nu0: float
    t00: float
    t11: float

    @property
    def prior(self) -> list[float]:
        return [self.nu0, 1 - self.nu0]

    @property
    def confusion(self) -> list[list[float]]:
        return [[self.t00, 1 - self.t00], [1 - self.t11, self.t11]]


class Estimate(NamedTuple):
    """An estimated prior and shared confusion matrix."""

    prior_k: FloatArray
    confusion_kl: FloatArray


def pattern_shares(model: Model) -> FloatArray:
    """The probability of each pattern of votes, (8,)."""
    given_0 = np.where(PATTERN_PJ == 0, model.t00, 1 - model.t00).prod(axis=1)
    given_1 = np.where(PATTERN_PJ == 1, model.t11, 1 - model.t11).prod(axis=1)
    return np.asarray(model.nu0 * given_0 + (1 - model.nu0) * given_1)


def draw_patterns(model: Model, n_items: int, rng: np.random.Generator, n_sets: int) -> IntArray:
    """How many items show each pattern, for several data sets, (R, 8)."""
    return rng.multinomial(n_items, pattern_shares(model), size=n_sets)


def histograms(items_rp: FloatArray | IntArray) -> FloatArray:
    """Numbers of items by votes for class 0, (R, 4)."""
    zeros_p = (PATTERN_PJ == 0).sum(axis=1)
    return np.asarray(items_rp @ np.eye(VOTES + 1)[zeros_p], dtype=float)


@cache
def _votes() -> Votes:
    """One item for each pattern, weighted by how often it occurs."""
    n_patterns = len(PATTERN_PJ)
    item_n, worker_n = np.repeat(np.arange(n_patterns), VOTES), np.tile(np.arange(VOTES), n_patterns)
    items, workers = tuple(range(n_patterns)), tuple(range(VOTES))
    return Votes.from_codes(item_n, worker_n, PATTERN_PJ.ravel(), items=items, workers=workers, labels=(0, 1))


def _ebcc(votes: Votes, weight_p: FloatArray) -> Fit:
    """EBCC with one pseudo-item per class and at most 500 steps, as the paper's script has it.

    Ours imagines as many items as there are, by the vote shares: three steps of it give a start.  The usual tolerance
    would stop too near to that start.
    """
    first = EBCC(subtypes=1, max_iter=3).fit(votes, weights=weight_p)
    return EBCC(subtypes=1, items=1.0, max_iter=500, tol=1e-5).fit(votes, weights=weight_p, start=first)


METHODS: dict[str, Callable[[Votes, FloatArray], Fit]] = {
    "IAA": lambda votes, weight_p: ESTIMATORS["iaa"]().fit(votes, weights=weight_p),
    "EBCC": _ebcc,
    "IWMV": lambda votes, weight_p: ESTIMATORS["iwmv"]().fit(votes, weights=weight_p),
    "one shared matrix": lambda votes, weight_p: ESTIMATORS["shared"]().fit(votes, weights=weight_p),
}


def estimate(method: str, items_p: FloatArray | IntArray) -> Estimate:
    """A method's estimate of the prior and one confusion matrix.

    >>> estimate("IAA", 1e6 * pattern_shares(Model(.5, .8, .8))).confusion_kl.round(3).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    votes = _votes()
    return Estimate(*shared_model(votes, METHODS[method](votes, np.asarray(items_p, dtype=float))))


def shared_model(votes: Votes, fit: Fit) -> tuple[FloatArray, FloatArray]:
    """The prior and one confusion matrix for all workers, from any fit.

    Matrices per worker are averaged, weighted by their votes.  For a method without matrices, its posterior says how
    often label l is among the votes on items of class k.
    """
    if fit.confusion is None:
        confusion_kl = fit.posterior.T @ counts(votes)
    elif fit.confusion.ndim == 3:
        confusion_kl = np.tensordot(np.bincount(votes.worker_n), fit.confusion, axes=1)
    else:
        confusion_kl = fit.confusion
    total_k = confusion_kl.sum(axis=1, keepdims=True)
    unused_k = total_k == 0  # a class without votes: nothing is known about its row
    confusion_kl = np.where(unused_k, 1 / len(fit.prior), confusion_kl / np.where(unused_k, 1, total_k))
    return np.asarray(fit.prior / fit.prior.sum()), confusion_kl


def optimal_at(estimates: list[Estimate]) -> np.ndarray:
    """Whether majority vote is optimal at each estimate: Theorem 3.4 with the estimate for the truth."""
    prior_rk = np.array([one.prior_k for one in estimates])
    return np.asarray(majority_margins(prior_rk, np.array([one.confusion_kl for one in estimates]), VOTES)) > 0


def certified(histogram_rk: FloatArray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Which data sets are proved, and which are at least supported, if votes are independent; level .95."""
    proved_r, supported_r = (np.zeros(len(histogram_rk), dtype=bool) for _ in range(2))
    for held_k in np.unique(histogram_rk > 0, axis=0):
        of_r = ((histogram_rk > 0) == held_k).all(axis=1)
        cells, _ = flatten({VOTES: np.ones(VOTES + 1)})
        held = type(cells)(cells.votes_c[held_k], cells.zeros_c[held_k])
        items_bk = histogram_rk[of_r][:, held_k]
        proved_r[of_r] = _log_e_values(held, items_bk, rng) >= -np.log1p(-LEVEL)
        supported_r[of_r] = weigh(held, items_bk, [VOTES]).ratio_b > ratio_cut(LEVEL)
    return proved_r, proved_r | supported_r


def _log_e_values(cells: HistogramCells, items_bc: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The log of the split e-value of each data set against "majority vote is not optimal".

    A quarter of the items suggests a model; its likelihood on the others, over the largest of any model in which
    majority vote is not optimal, is an e-value (universal inference). The mean over ten splits is one, too.
    """
    items_sbc = np.broadcast_to(items_bc, (10, *items_bc.shape))
    train_sbc = rng.binomial(items_sbc.astype(np.int64), 0.25).astype(float)
    test_sbc = items_sbc - train_sbc
    _, theta = suprema(cells, train_sbc.reshape(-1, items_bc.shape[1]))
    value_sb = log_likelihood(cells, test_sbc, theta[:, 0].reshape(10, len(items_bc), 3))
    null, _ = suprema(cells, test_sbc.reshape(-1, items_bc.shape[1]), contradictions([VOTES]))
    log_e_sb = value_sb - null.max(axis=1).reshape(10, -1)
    return np.asarray(np.logaddexp.reduce(log_e_sb, axis=0) - np.log(10))


def vote_shares(models: Sequence[Model]) -> tuple[FloatArray, np.ndarray]:
    """P(k votes for class 0), and whether majority and the optimal rule differ there, both (R, 4).

    >>> share_rk, differ_rk = vote_shares([Model(.2, .7, .7)])
    >>> differ_rk.tolist(), round(float(share_rk[differ_rk].sum()), 3)
    ([[False, False, True, False]], 0.239)
    """
    nu_r1, t00_r1, t11_r1 = np.array(models, dtype=float).T[:, :, None]
    zeros_k, orders_k = np.arange(VOTES + 1), np.array([1, 3, 3, 1])
    joint_0 = nu_r1 * orders_k * t00_r1**zeros_k * (1 - t00_r1) ** (VOTES - zeros_k)
    joint_1 = (1 - nu_r1) * orders_k * (1 - t11_r1) ** zeros_k * t11_r1 ** (VOTES - zeros_k)
    return joint_0 + joint_1, (joint_0 > joint_1) != (zeros_k > VOTES / 2)


def simulated_gap(model: Model, n_items: int, rng: np.random.Generator) -> tuple[float, float]:
    """The gap between oracle MAP and majority vote on the same simulated items, and its standard error."""
    share_rk, differ_rk = vote_shares([model])
    joint_0 = model.nu0 * np.array([1, 3, 3, 1]) * model.t00 ** np.arange(4) * (1 - model.t00) ** np.arange(3, -1, -1)
    differ_k, majority_0 = differ_rk[0], np.arange(VOTES + 1) > VOTES / 2
    majority_right = (np.where(majority_0, joint_0, share_rk[0] - joint_0) * differ_k).sum()
    map_right = (share_rk[0] * differ_k).sum() - majority_right  # two classes: where they differ, one of them is right
    won, lost, _ = rng.multinomial(n_items, [map_right, majority_right, 1 - map_right - majority_right])
    mean = (won - lost) / n_items
    return float(mean), float(np.sqrt(max((won + lost) / n_items - mean**2, 0) / n_items))
