"""The simulations of the paper, with counts: three workers who vote on every item and share a confusion matrix.

Three votes of two classes make eight patterns, so a data set of any size is eight numbers: drawing, estimating and
certifying cost the same for a hundred items as for a million.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from majorant.evidence.certificate.anonymous import is_proved, verdict_by_ratios, weigh
from majorant.evidence.certificate.certificate import Verdict
from majorant.evidence.certificate.count_models import nonempty_cells
from majorant.evidence.certificate.radius import shared_model
from majorant.methods import ESTIMATORS
from majorant.methods.ebcc import EBCC
from majorant.methods.fit import Fit
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


def optimal_at(estimates: list[Estimate]) -> np.ndarray:
    """Whether majority vote is optimal at each estimate: Theorem 3.4 with the estimate for the truth."""
    prior_rk = np.array([one.prior_k for one in estimates])
    return np.asarray(majority_margins(prior_rk, np.array([one.confusion_kl for one in estimates]), VOTES)) > 0


def certified(histogram_rk: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Which data sets `certify_counts` proves, and which it at least supports, if votes are independent; level .95.

    With three votes per item it cannot test that they are, so as it answers, all of these sets are open.
    """
    proved_r, supported_r = (np.zeros(len(histogram_rk), dtype=bool) for _ in range(2))
    for r, items_k in enumerate(histogram_rk):
        cells, items_c = nonempty_cells({VOTES: items_k})
        evidence = weigh(cells, items_c[None], [VOTES])
        verdict = verdict_by_ratios(float(evidence.ratio_b[0]), float(evidence.against_b[0]), LEVEL)
        supported_r[r] = verdict == Verdict.OPTIMAL
        proved_r[r] = supported_r[r] and is_proved({VOTES: items_k}, evidence, LEVEL)
    return proved_r, supported_r


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
