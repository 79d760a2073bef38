"""Ties: what one more vote on each tied item would be worth."""

from __future__ import annotations

from functools import partial

import numpy as np

from majorant.backend import Backend, of_fits
from majorant.methods.fit import Fit
from majorant.tally import counts, tied
from majorant.values import FloatArray
from majorant.votes import Votes


def worth_of_vote(backend: Backend, weighted: Fit) -> float | None:
    """The accuracy that one more vote on each tied item would gain over a coin, as a share of all items with votes.

    It is an estimate by the models of the weighted vote: the new vote comes from an average worker, and a vote for a
    class that is not among the tied ones leaves the tie.  None where there are no models of the workers.

    >>> from majorant.backend import as_backend
    >>> from majorant.methods.hierarchical import Hierarchical
    >>> votes = as_backend([(n, worker, (n + (worker == n % 3)) % 2) for n in range(40) for worker in range(3)])
    >>> worth_of_vote(votes, Hierarchical().fit(votes.votes))  # no ties
    0.0
    """
    if weighted.confusion is None or weighted.confusion.ndim != 3:
        return None
    votes_j = backend.votes_by_worker().sum(axis=1)
    crowd_kl = np.einsum("j,jkl->kl", votes_j / max(votes_j.sum(), 1), weighted.confusion)
    gain, items = backend.sum(of_fits(partial(_worth, crowd_kl), weighted), doing="comparing")
    return float(gain / items) if items else None


def _worth(crowd_kl: FloatArray, votes: Votes, fit: Fit) -> tuple[float, int]:
    """What a vote gains on the tied items of a part, and how many items have votes."""
    count_ik = counts(votes)
    t = np.flatnonzero(tied(count_ik))
    best_tk = (count_ik[t] == count_ik[t].max(axis=1, keepdims=True)).astype(float)
    belief_tk = np.asarray(fit.posterior)[t] * best_tk
    belief_tk /= np.maximum(belief_tk.sum(axis=1, keepdims=True), 1e-12)
    fair_t = 1 / best_tk.sum(axis=1)
    elsewhere_tk = 1 - best_tk @ crowd_kl.T  # a vote for none of the tied classes, given the true one
    right_t = (belief_tk * (np.diag(crowd_kl) + elsewhere_tk * fair_t[:, None])).sum(axis=1)
    return float((right_t - fair_t).sum()), int((votes.votes_i > 0).sum())
