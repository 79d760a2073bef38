"""LA (Yang et al. 2024): one pass over the items in order, with running estimates of worker accuracies."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.items import take_items
from majorant.kernels import as_weights, shares
from majorant.methods.agreement_weights import linear_posterior
from majorant.methods.fit import TIE_TOLERANCE, Fit, Traits, fit_of
from majorant.methods.tables import prepare
from majorant.read import as_votes
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class LaOnePass:
    """Label items in order, weighting votes by the worker's accuracy so far, (right + 1) / (given + 2).

    The accuracies are updated after each item, so the result depends on the order of the items, an argument of `fit`.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [1, 1, 0, 0, 1], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> LaOnePass().fit(votes).labels(), LaOnePass().fit(votes, order=[1, 0]).labels()
    (['yes', 'no'], ['yes', None])
    """

    name: ClassVar[str] = "la-one-pass"
    traits: ClassVar[Traits] = Traits(order_free=False, vote_shares=True)

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        order: ArrayLike | None = None,
    ) -> Fit:
        """Label each item when it is visited; `skill` is the accuracy after the last one.

        Parameters
        ----------
        votes
            Votes, or anything that `read` accepts.
        weights
            How often each item counts; once by default.
        order
            Item codes in the order to visit them; by default, ascending.
        """
        votes = as_votes(votes)
        done = run_pass(votes, weights, order)
        posterior_ik = shares(done.score_ik)
        weight_i = np.ones(len(votes.items)) if weights is None else as_weights(weights, len(votes.items))
        prior_k = shares((weight_i * (votes.votes_i > 0)) @ posterior_ik)
        facts = {"posterior": posterior_ik, "prior": prior_k, "skill": done.accuracy_j, "n_iter": 1}
        return fit_of(self.name, votes, **facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaTwoPass:
    """After one pass over the items in order, label all items again with weights K * accuracy - 1.

    The first pass is that of la-one-pass and depends on the order of the items, an argument of `fit`.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [1, 1, 0, 0, 1], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> LaTwoPass().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "la-two-pass"
    traits: ClassVar[Traits] = Traits(order_free=False, vote_shares=True)

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        order: ArrayLike | None = None,
    ) -> Fit:
        """Label items using the accuracies at the end of the first pass; takes the arguments of `LaOnePass.fit`."""
        votes = as_votes(votes)
        done = run_pass(votes, weights, order)
        weight_j = len(votes.labels) * done.accuracy_j - 1
        posterior_ik, prior_k = linear_posterior(prepare(votes, weights=weights), weight_j)
        facts = {"posterior": posterior_ik, "prior": prior_k, "skill": done.accuracy_j, "n_iter": 2}
        return fit_of(self.name, votes, **facts)


class Pass(NamedTuple):
    """The result of one pass: each item's weighted votes when it was seen, and the accuracies afterwards."""

    score_ik: FloatArray
    accuracy_j: FloatArray


def run_pass(votes: Votes, weights: ArrayLike | None, order: ArrayLike | None) -> Pass:
    """Vote item by item with weights a_j = (c_j + 1) / (t_j + 2), where c_j of the worker's t_j votes so far agreed.

    An item that counts w times adds w to the counts. A tied item gives equal credit to each of its best labels.
    """
    n_items = len(votes.items)
    item_v = np.arange(n_items) if order is None else np.asarray(order)
    if not np.array_equal(np.sort(item_v), np.arange(n_items)):
        raise ConfigError(f"order must contain each item code 0..{n_items - 1} once.")
    weight_i = np.ones(n_items) if weights is None else as_weights(weights, n_items)
    right_j, given_j = np.zeros(len(votes.workers)), np.zeros(len(votes.workers))
    score_ik = _visit(votes, item_v, weight_i, right_j, given_j)
    return Pass(score_ik, (right_j + 1) / (given_j + 2))


def _visit(
    votes: Votes, item_v: IntArray, weight_i: FloatArray, right_j: FloatArray, given_j: FloatArray
) -> FloatArray:
    """Visit the items one by one, adding to right_j and given_j in place; return each item's weighted votes.

    The loop is plain Python because each item depends on the previous one, and lists are faster than tiny arrays.
    """
    right, given = right_j.tolist(), given_j.tolist()
    accuracy = ((right_j + 1) / (given_j + 2)).tolist()
    score_ik = np.empty((len(item_v), len(votes.labels)))
    none = [0.0] * len(votes.labels)
    at_once = 1 << 16  # items whose votes are held as lists
    for start in range(0, len(item_v), at_once):
        item_c = item_v[start : start + at_once]
        some = take_items(votes, item_c)
        pairs = list(zip(some.worker_n.tolist(), some.label_n.tolist(), strict=True))
        scores = []
        for (first, last), times in zip(pairwise(some.offsets_i.tolist()), weight_i[item_c].tolist(), strict=True):
            ballot, score_k = pairs[first:last], none.copy()
            for j, l in ballot:
                score_k[l] += accuracy[j]
            scores.append(score_k)
            least = max(score_k) - TIE_TOLERANCE
            credit = times / len([score for score in score_k if score >= least])
            for j, l in ballot:
                if score_k[l] >= least:
                    right[j] += credit
                given[j] += times
                accuracy[j] = (right[j] + 1) / (given[j] + 2)
        score_ik[item_c] = scores
    right_j[:], given_j[:] = right, given
    return score_ik
