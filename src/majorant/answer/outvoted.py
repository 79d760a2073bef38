"""Which majorities do counts alone show to be wrong?  Where workers are alike, nothing else could.

With three votes an item and a class that is more frequent, prior and confusion matrix are hardly known apart: a small
error in them turns every vote of a kind over at once.  So a majority is turned over only where its odds are surely
against it, by the standard error of the odds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray, softmax_rows
from majorant.tally import Patterns, tied
from majorant.votes import IntArray

SURE = 1.645  # standard errors: 95 %, one-sided
MOST_CLASSES = 12  # beyond, what is known of the matrix is too large a table
SMALLEST = 1e-6  # information, in items: what is not known at all has a large variance
AT_ONCE = 1 << 13  # rows


class CountModel(NamedTuple):
    """One confusion matrix and prior for all workers, and the information that count patterns hold of both."""

    prior_k: FloatArray
    crowd_kl: FloatArray
    information_aa: FloatArray  # of the logits of the prior, then of those of each row

    def shows_wrong(self, count_ik: FloatArray) -> NDArray[np.bool_]:
        """Items whose leading class is surely not the most probable one."""
        odds_ik = np.log(self.prior_k) + count_ik @ np.log(self.crowd_kl).T
        rows, n_classes = np.arange(len(count_ik)), len(self.prior_k)
        best_i, leader_i = odds_ik.argmax(axis=1), count_ik.argmax(axis=1)
        moved_ikl = _moved(count_ik, self.crowd_kl)
        turn_ia = np.zeros((len(count_ik), n_classes + n_classes**2))
        turn_ikl = turn_ia[:, n_classes:].reshape(len(count_ik), n_classes, n_classes)
        for class_i, sign in ((best_i, 1.0), (leader_i, -1.0)):
            turn_ia[rows, class_i] += sign
            turn_ikl[rows, class_i] += sign * moved_ikl[rows, class_i]
        variance_i = np.einsum("ia,ai->i", turn_ia, np.linalg.solve(self.information_aa, turn_ia.T))
        lead_i = odds_ik[rows, best_i] - odds_ik[rows, leader_i]
        return np.asarray((best_i != leader_i) & (lead_i > SURE * np.sqrt(np.maximum(variance_i, 0.0))))


def count_model(patterns: Patterns, fit: Fit) -> CountModel | None:
    """What count patterns tell of one matrix for all near its fit; None where there are too many classes.

    >>> from majorant.estimate.shared import SharedConfusion
    >>> from majorant.simulate import simulate
    >>> from majorant.tally import counts, distinct_counts
    >>> for n_items in (300, 30_000):
    ...     votes, _ = simulate([.85, .15], [[.75, .25], [.25, .75]], n_items=n_items, n_votes=3, rng=0)
    ...     model = count_model(distinct_counts(counts(votes)), SharedConfusion().fit(votes))
    ...     print(model.shows_wrong(np.array([[1.0, 2.0], [0.0, 3.0]])))
    [False False]
    [ True False]
    """
    n_classes, prior_k, crowd_kl = len(fit.prior), fit.prior, fit.confusion
    if n_classes > MOST_CLASSES or crowd_kl is None:
        return None
    information_aa = SMALLEST * np.eye(n_classes + n_classes**2)
    for start in range(0, len(patterns.items_p), AT_ONCE):
        count_pk = patterns.counts_pk[start : start + AT_ONCE].astype(float)
        posterior_pk, _ = softmax_rows(np.log(prior_k) + count_pk @ np.log(crowd_kl).T)
        by_row_pkl = posterior_pk[:, :, None] * _moved(count_pk, crowd_kl)
        score_pa = np.concatenate([posterior_pk - prior_k, by_row_pkl.reshape(len(count_pk), -1)], axis=1)
        information_aa += (score_pa * patterns.items_p[start : start + AT_ONCE, None]).T @ score_pa
    return CountModel(prior_k, crowd_kl, information_aa)


def _moved(count_ik: FloatArray, crowd_kl: FloatArray) -> FloatArray:
    """The derivative of an item's log-probability given class k by the logits of row k."""
    return np.asarray(count_ik[:, None, :] - count_ik.sum(axis=1)[:, None, None] * crowd_kl)


def keep_majorities(model: CountModel, mean_ik: FloatArray, shares_ik: FloatArray, votes_i: IntArray) -> FloatArray:
    """The mean of several beliefs, but the shares of votes where it turns a majority over that nothing shows wrong."""
    turned = np.flatnonzero((mean_ik.argmax(axis=1) != shares_ik.argmax(axis=1)) & (votes_i > 0))
    for d in np.split(turned, range(AT_ONCE, len(turned), AT_ONCE)):
        count_dk = np.rint(shares_ik[d] * votes_i[d, None])
        kept = d[~tied(count_dk.astype(np.int64)) & ~model.shows_wrong(count_dk)]
        mean_ik[kept] = shares_ik[kept]
    return mean_ik
