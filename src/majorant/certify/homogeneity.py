"""Do the workers differ at all?  If not, who voted does not matter, and the anonymous claim says it all."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from majorant.certify.certificate import AssumptionTest
from majorant.items import draw_items, take_items
from majorant.tally import counts
from majorant.values import LEVEL, FloatArray, as_generator
from majorant.votes import IntArray, Votes
from majorant.wording import ALIKE_TEST, ALL_VOTED_ALIKE, workers_alike

N_PERMUTATIONS = 499
FEW_PERMUTATIONS, MANY_SHUFFLED = 199, 30_000  # of so many votes: whatever the number, the test is exact
ENOUGH_EXTREME = 25  # permutations at least as extreme: the test stops (Besag & Clifford 1991)
MOST_SHUFFLED = 100_000  # beyond, items are drawn at random: a valid test of fewer items
LISTED_ORDERS = 6  # votes on an item, up to which one of all their orders is drawn at once,
MOST_STEPS = 1_000  # and up to which all items are shuffled together, step by step


def workers_differ(
    votes: Votes,
    *,
    rng: int | np.random.Generator,
    level: float = LEVEL,
    n_permutations: int | None = None,
) -> AssumptionTest:
    """Whether all workers vote alike, `passed` if that cannot be refuted, by an exact permutation test.

    If all workers share one confusion matrix, the votes of an item are exchangeable: who gave which is chance, also
    where items differ in difficulty.  The test shuffles votes among the workers of each item and asks how often the
    workers' shares of each label, and of agreement with their fellow voters, spread as widely as they do.  The p-value
    is exact at any number of items and of permutations (by default 499, of many votes 199).  `votes` must hold the
    items one by one, not merged.

    >>> votes = Votes.from_codes([i for i in range(30) for _ in "abc"], [0, 1, 2] * 30, ([0, 0, 1] + [1, 1, 0]) * 15,
    ...                          items=range(30), workers="abc", labels="ny")
    >>> gate = workers_differ(votes, rng=0)
    >>> gate.passed, gate.p_value
    (False, 0.002)
    """
    generator = as_generator(rng)
    split_p = np.flatnonzero((counts(votes) > 0).sum(axis=1) > 1)  # items with different votes alone say something
    split = take_items(votes, draw_items(votes, split_p, MOST_SHUFFLED, rng=generator))
    if not split.n_votes:
        return AssumptionTest(name=ALIKE_TEST, passed=None, p_value=None, text=ALL_VOTED_ALIKE)
    if n_permutations is None:
        n_permutations = N_PERMUTATIONS if split.n_votes <= MANY_SHUFFLED else FEW_PERMUTATIONS
    feature_fn = _centred_features(split)
    scale_fj = _scale(split, feature_fn)
    seen = _spread(feature_fn, split.worker_n, scale_fj)
    places = _places(split)
    extreme = tried = 0
    worker_n = split.worker_n.astype(np.intp)
    while tried < n_permutations and extreme < ENOUGH_EXTREME:
        shuffled_n = worker_n[_shuffled(places, generator)]
        extreme += _spread(feature_fn, shuffled_n, scale_fj) >= seen * (1 - 1e-12)
        tried += 1
    p_value = extreme / tried if extreme >= ENOUGH_EXTREME else (extreme + 1) / (tried + 1)
    text = workers_alike(p_value, passed=p_value > 1 - level)
    return AssumptionTest(name=ALIKE_TEST, passed=p_value > 1 - level, p_value=p_value, text=text)


def _places(votes: Votes) -> list[NDArray[np.int64]]:
    """The votes of the items with each number of votes, a row for each item."""
    return [
        votes.offsets_i[:-1][votes.votes_i == n_votes][:, None] + np.arange(n_votes)
        for n_votes in np.unique(votes.votes_i)
    ]


def _shuffled(places: list[NDArray[np.int64]], rng: np.random.Generator) -> NDArray[np.int64]:
    """An order that mixes the votes of each item among themselves, all orders alike."""
    order_n = np.empty(sum(place_ih.size for place_ih in places), dtype=np.int64)
    for place_ih in places:
        n_items, n_votes = place_ih.shape
        if n_votes <= LISTED_ORDERS:
            order_oh = _orders(n_votes)
            mixed_ih = order_oh[rng.integers(len(order_oh), size=n_items, dtype=np.int32)]
            mixed_ih += place_ih[:, :1]
        elif n_votes <= MOST_STEPS:
            mixed_ih = _fisher_yates(place_ih, rng)
        else:
            mixed_ih = rng.permuted(place_ih, axis=1)
        order_n[place_ih] = mixed_ih
    return order_n


@cache
def _orders(n_votes: int) -> NDArray[np.int64]:
    """All orders of some votes, a row each."""
    return np.array(list(permutations(range(n_votes))), dtype=np.int64)


def _fisher_yates(place_ih: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Each row shuffled, by Fisher and Yates on all rows at once."""
    mixed_hi, column = place_ih.T.copy(), np.arange(len(place_ih))
    for last in range(len(mixed_hi) - 1, 0, -1):
        other_i = rng.integers(last + 1, size=len(column))
        mixed_hi[last], mixed_hi[other_i, column] = mixed_hi[other_i, column], mixed_hi[last].copy()
    return mixed_hi.T


def _centred_features(votes: Votes) -> FloatArray:
    """For each vote, which label it is (all but the last) and how many fellow votes agree, less the item's mean."""
    counts_ik = counts(votes)
    agreeing_n = (counts_ik[votes.item_n, votes.label_n] - 1) / (votes.votes_i[votes.item_n] - 1)
    label_fn = np.eye(len(votes.labels))[: max(1, len(votes.labels) - 1), votes.label_n]
    feature_fn = np.vstack([label_fn, agreeing_n])
    total_fi = np.add.reduceat(feature_fn, votes.offsets_i[:-1], axis=1)
    return np.asarray(feature_fn - (total_fi / votes.votes_i)[:, votes.item_n])


def _scale(votes: Votes, feature_fn: FloatArray) -> FloatArray:
    """One over the variance of each worker's sum when votes are shuffled; 0 where there is none."""
    variance_fi = np.add.reduceat(feature_fn**2, votes.offsets_i[:-1], axis=1) / votes.votes_i
    n_workers = len(votes.workers)
    variance_fj = np.stack([_by_worker(row_i[votes.item_n], votes.worker_n, n_workers) for row_i in variance_fi])
    return np.divide(1.0, variance_fj, out=np.zeros_like(variance_fj), where=variance_fj > 1e-12)


def _spread(feature_fn: FloatArray, worker_n: IntArray, scale_fj: FloatArray) -> float:
    """Squared standardised sums of the workers, added up."""
    sums = (_by_worker(row_n, worker_n, scale_fj.shape[1]) for row_n in feature_fn)
    return float(sum((sum_j**2 * scale_j).sum() for sum_j, scale_j in zip(sums, scale_fj, strict=True)))


def _by_worker(value_n: FloatArray, worker_n: IntArray, n_workers: int) -> FloatArray:
    return np.bincount(worker_n, weights=value_n, minlength=n_workers).astype(float)
