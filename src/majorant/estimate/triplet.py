"""Triangular estimation (Bonald & Combes 2017): skill from the agreement of three workers, for two classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import NotIdentified
from majorant.estimate.binary import PairAgreement, agreement, most, require_two_classes, theta_fit
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.weighted import item_weights
from majorant.kernels import FloatArray
from majorant.votes import IntArray, Votes

EVEN = 1e-9  # two pairs whose informativeness differs by a smaller share are equally good
SIGN_ROUNDS = 50
DENSE_UP_TO = 2_048  # partners whose agreements are held as a dense matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Triplet(Estimator):
    """Two workers agree as often as their skills allow, so three pairs of agreements give three skills.

    Two classes; worker j is right with probability (1 + theta_j) / 2 whatever the class.  With C_ab the mean product of
    two workers' signs, theta_j squared is C_ja C_jb / C_ab; of the pairs (a, b) the one with the largest
    |C_ab| * sqrt(fewest common items) is taken, which is the largest |C_ab| where all voted on all items; equally good
    pairs are averaged.  Signs are such that informative workers are right on the whole.  Then weighted majority with an
    even prior.  `skill` is theta; a worker whom no triangle reaches has 0, and his votes do not count.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 1, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Triplet().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "triplet"
    classes: ClassVar[int | None] = 2
    needs: ClassVar[str] = "overlap"

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """theta of each worker, and the posterior of each item; NotIdentified without three workers who overlap."""
        require_two_classes(self.name, votes)
        found = agreement(self.name, votes, item_weights(weights, len(votes.items)))
        size_j = sizes(found)
        if np.isnan(size_j).all():
            raise NotIdentified(
                "triplet compares three workers who share items two by two and do not agree merely by chance, "
                "and there are none: use majority."
            )
        size_j = np.nan_to_num(size_j)
        return theta_fit(self.name, votes, weights, size_j * directions(found, size_j))


def sizes(found: PairAgreement) -> FloatArray:
    """|theta| of each worker, NaN where no triangle reaches him."""
    mean_ab, items_ab = found
    size_j = np.full(mean_ab.shape[0], np.nan)
    own_j = [a + most(items_ab.data[a:b]) for a, b in pairwise(mean_ab.indptr)]
    look_up = _between(found, np.unique(mean_ab.indices[np.concatenate(own_j)]))
    for j, own in enumerate(own_j):
        mean_p, items_p = mean_ab.data[own], items_ab.data[own]
        among_pq, common_pq = look_up(mean_ab.indices[own])
        among_pq = np.abs(among_pq)
        worth_pq = among_pq * np.sqrt(np.minimum(common_pq, np.minimum.outer(items_p, items_p)))
        best = worth_pq.max(initial=0.0)
        if best > 0:
            row, column = np.nonzero(worth_pq >= best * (1 - EVEN))
            square = np.abs(mean_p[row] * mean_p[column]) / among_pq[row, column]
            size_j[j] = min(np.sqrt(square.mean()), 1.0)
    return size_j


def _between(found: PairAgreement, worker_u: IntArray) -> Callable[[IntArray], tuple[FloatArray, FloatArray]]:
    """A function from workers among `worker_u` to their agreements with each other and their common items."""

    def slice_out(worker_p: IntArray) -> tuple[FloatArray, FloatArray]:
        return found.mean_ab[worker_p][:, worker_p].toarray(), found.items_ab[worker_p][:, worker_p].toarray()

    if len(worker_u) > DENSE_UP_TO:
        return slice_out
    mean_uu, items_uu = slice_out(worker_u)
    place_j = np.zeros(found.mean_ab.shape[0], dtype=np.int64)
    place_j[worker_u] = np.arange(len(worker_u))

    def look_up(worker_p: IntArray) -> tuple[FloatArray, FloatArray]:
        both = np.ix_(place_j[worker_p], place_j[worker_p])
        return mean_uu[both], items_uu[both]

    return look_up


def directions(found: PairAgreement, size_j: FloatArray) -> FloatArray:
    """+1 for workers who side with the informative majority, -1 for those against it, 0 where that cannot be told.

    Every worker starts on the side of truth and moves, round by round, to where his agreement with the others puts
    him; parts of the crowd without a common item settle apart.
    """
    pull_ab = found.mean_ab * found.items_ab.sqrt()
    side_j = size_j.copy()
    for _ in range(SIGN_ROUNDS):
        force_j, most_j = pull_ab @ side_j, abs(pull_ab) @ np.abs(side_j)
        side_j = (side_j + size_j * np.divide(force_j, most_j, out=np.zeros_like(force_j), where=most_j > 0)) / 2
    return np.where(np.abs(side_j) > EVEN, np.sign(side_j), 0.0)
