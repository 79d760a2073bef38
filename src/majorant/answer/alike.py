"""Can workers be told apart by their votes, or could any of an item's voters have given any of its votes?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from majorant.kernels import FloatArray
from majorant.votes import Votes

CLEAR = 2.0  # standard deviations; workers who are alike seem to differ in about one of a hundred cases
REAL = 2.0  # times the variance of noise: half of what sets workers apart is then their own


def told_apart(votes: Votes) -> bool:
    """Whether workers differ in agreeing with others, or giving some label, clearly and by more than noise does.

    If workers are alike, an item's votes could as well be passed around among its voters: worker j's total excess over
    the means of the items is then a sum of independent draws of known variance, whatever the items are like.  The
    squares of these totals, in units of the variance, are added up and compared with their mean.  Where they
    are not twice that, a model that sets workers apart by their own votes alone follows noise more than workers.

    >>> from majorant.simulate import one_coin_crew, simulate
    >>> alike, _ = simulate([.5, .5], one_coin_crew([.8] * 6), n_items=300, n_votes=4, rng=0)
    >>> unequal, _ = simulate([.5, .5], one_coin_crew([.9, .9, .8, .7, .6, .6]), n_items=300, n_votes=4, rng=0)
    >>> told_apart(alike), told_apart(unequal)
    (False, True)
    """
    if not (votes.votes_i > 1).any():
        return False
    distance_f, noise_f, variance_f = np.array([_distance(value_n, votes) for value_n in _features(votes)]).T
    mean_votes = votes.votes_i[votes.votes_i > 1].mean()
    fellows = mean_votes / (mean_votes - 1)  # the totals of an item's voters add up to 0
    clear = distance_f.sum() > noise_f.sum() + CLEAR * np.sqrt(fellows * variance_f.sum())
    return bool(clear and (distance_f > REAL * noise_f).any())


def _features(votes: Votes) -> Iterator[FloatArray]:
    """How many votes on its item agree with each vote, and for each label but the most frequent whether it is that."""
    n_classes = len(votes.labels)
    key_n = votes.item_n.astype(np.int64) * n_classes + votes.label_n
    yield np.bincount(key_n, minlength=len(votes.items) * n_classes)[key_n].astype(float)
    for label in np.argsort(np.bincount(votes.label_n, minlength=n_classes))[:-1]:
        yield (votes.label_n == label).astype(float)


def _distance(value_n: FloatArray, votes: Votes) -> tuple[float, float, float]:
    """The workers' squared total excesses in units of their variance, added up, with the mean and variance of that."""

    def by_worker(value_n: FloatArray) -> FloatArray:
        return np.bincount(votes.worker_n, weights=value_n, minlength=len(votes.workers)).astype(float)

    excess_n = value_n - _item_mean(value_n, votes)
    square_n = excess_n**2
    mean_n = _item_mean(square_n, votes)
    total_j, square_j = by_worker(excess_n), by_worker(mean_n)
    beyond_j = by_worker(_item_mean(square_n**2, votes) - 3 * mean_n**2)
    known_j = square_j > 0
    unit_j = np.where(known_j, square_j, 1.0)
    variance_j = np.where(known_j, 2 + beyond_j / unit_j**2, 0.0)
    return float((total_j**2 / unit_j).sum()), float(known_j.sum()), float(variance_j.sum())


def _item_mean(value_n: FloatArray, votes: Votes) -> FloatArray:
    """For each vote the mean over all votes of its item."""
    votes_i = votes.votes_i[votes.votes_i > 0]
    return np.repeat(np.add.reduceat(value_n, votes.offsets_i[:-1][votes.votes_i > 0]) / votes_i, votes_i)
