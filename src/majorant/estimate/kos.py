"""KOS (Karger, Oh & Shah 2014): messages between items and workers, for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.estimate.binary import require_two_classes, sign_shares, signs
from majorant.estimate.fit import Estimator, Fit, fit_of
from majorant.estimate.weighted import class_shares, item_weights
from majorant.kernels import FloatArray
from majorant.randomness import as_generator
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class KOS(Estimator):
    """Item and worker send each other messages, each made of all that they heard from others, for two classes.

    An item tells a worker how the other workers' votes sum up; a worker tells an item how far his other votes agree.
    Messages start near 1 (normal, by `rng`) and are brought to mean square 1 each round.  A sum of 0 is a tie, as for
    an item whose workers voted on nothing else.  `skill` is the mean message of a worker; messages weigh busy workers
    more, so that a few busy ones near chance may decide.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 1], items="abc",
    ...                          workers="xyz", labels=("no", "yes"))
    >>> KOS().fit(votes, rng=0).labels()
    ['yes', 'no', 'yes']
    """

    name: ClassVar[str] = "kos"
    stochastic: ClassVar[bool] = True
    classes: ClassVar[int | None] = 2

    max_iter: int = 100
    tol: float = 1e-6

    def fit(self, votes: Votes, *, rng: int | np.random.Generator, weights: ArrayLike | None = None) -> Fit:
        """Scores as probabilities: each class's share of the messages that an item's workers send it."""
        require_two_classes(self.name, votes)
        weight_n = item_weights(weights, len(votes.items))[votes.item_n]
        message_n = self._start(votes, rng)
        converged, n_iter = False, 0
        while not converged and n_iter < self.max_iter:
            updated_n = _normalised(_round(votes, message_n, weight_n))
            converged = bool(np.abs(updated_n - message_n).max(initial=0.0) <= self.tol)
            message_n, n_iter = updated_n, n_iter + 1
        posterior_ik = sign_shares(votes, message_n)
        n_workers = len(votes.workers)
        votes_j = np.bincount(votes.worker_n, minlength=n_workers)
        sent_j = np.bincount(votes.worker_n, weights=message_n, minlength=n_workers)
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=class_shares(posterior_ik, votes, weights),
            skill=sent_j / np.maximum(votes_j, 1),
            converged=converged,
            n_iter=n_iter,
        )

    def _start(self, votes: Votes, rng: int | np.random.Generator) -> FloatArray:
        """One draw for each vote, the same whatever the order in which an item's votes are stored."""
        draw_n = as_generator(rng).normal(1.0, 1.0, size=votes.n_votes)
        start_n = np.empty(votes.n_votes)
        start_n[np.lexsort((votes.label_n, votes.worker_n, votes.item_n))] = draw_n
        return start_n


def _round(votes: Votes, message_n: FloatArray, weight_n: FloatArray) -> FloatArray:
    """The workers' next messages to items, one for each vote."""
    n_items, n_workers, _ = votes.shape
    sign_n = signs(votes)
    heard_n = sign_n * message_n
    sum_i = np.bincount(votes.item_n, weights=heard_n, minlength=n_items)
    told_n = sign_n * (sum_i[votes.item_n] - heard_n)  # what an item tells a worker leaves out what he told it
    sum_j = np.bincount(votes.worker_n, weights=weight_n * told_n, minlength=n_workers)
    return sum_j[votes.worker_n] - np.minimum(weight_n, 1.0) * told_n


def _normalised(message_n: FloatArray) -> FloatArray:
    size = np.sqrt(np.mean(message_n**2)) if len(message_n) else 0.0
    return message_n / size if size > 0 else message_n
