"""Can workers be told apart by their votes, or could any of an item's voters have given any of its votes?"""

from __future__ import annotations

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
    excess_nf, several = _excess(votes), int((votes.votes_i > 1).sum())
    if not several:
        return False
    total_jf, square_jf, fourth_jf = (
        _by_worker(value_nf, votes)
        for value_nf in (excess_nf, _item_mean(excess_nf**2, votes), _item_mean(excess_nf**4, votes))
    )
    beyond_jf = fourth_jf - 3 * _by_worker(_item_mean(excess_nf**2, votes) ** 2, votes)
    known_jf = square_jf > 0
    unit_jf = np.where(known_jf, square_jf, 1.0)
    distance_f, noise_f = (total_jf**2 / unit_jf).sum(axis=0), known_jf.sum(axis=0)
    variance_jf = np.where(known_jf, 2 + beyond_jf / unit_jf**2, 0.0)
    mean_votes = votes.votes_i[votes.votes_i > 1].mean()
    fellows = mean_votes / (mean_votes - 1)  # the totals of an item's voters add up to 0
    clear = distance_f.sum() > noise_f.sum() + CLEAR * np.sqrt(fellows * variance_jf.sum())
    return bool(clear and (distance_f > REAL * noise_f).any())


def _excess(votes: Votes) -> FloatArray:
    """By how much a vote agrees more with its item's others, and gives a label more often, than its fellows do."""
    n_classes = len(votes.labels)
    key_n = votes.item_n.astype(np.int64) * n_classes + votes.label_n
    same_n = np.bincount(key_n, minlength=len(votes.items) * n_classes)[key_n].astype(float)
    rarer = np.argsort(np.bincount(votes.label_n, minlength=n_classes))[:-1]  # what is left goes to the most frequent
    value_nf = np.column_stack([same_n, votes.label_n[:, None] == rarer])
    return np.asarray(value_nf - _item_mean(value_nf, votes))


def _item_mean(value_nf: FloatArray, votes: Votes) -> FloatArray:
    """For each vote the mean over all votes of its item."""
    voted = votes.votes_i > 0
    sum_if = np.add.reduceat(value_nf, votes.offsets_i[:-1][voted], axis=0)
    return np.repeat(sum_if / votes.votes_i[voted, None], votes.votes_i[voted], axis=0)


def _by_worker(value_nf: FloatArray, votes: Votes) -> FloatArray:
    n_workers = len(votes.workers)
    return np.stack([np.bincount(votes.worker_n, weights=v_n, minlength=n_workers) for v_n in value_nf.T], axis=1)
