"""LA one-pass (Yang et al. 2024): each item is labelled once, when it is seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from numpy.typing import ArrayLike

from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.online import State, kept
from majorant.estimate.streaming import run_pass
from majorant.estimate.weighted import class_shares
from majorant.kernels import shares
from majorant.votes import Votes, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LaOnePass(Estimator):
    """Items in their order; votes weigh the worker's accuracy so far, (right + 1) / (given + 2), which then moves on.

    The answer depends on the order of the items, an argument of `fit`.  Online: `fit.state()` holds two numbers a
    worker, and `update(state, new_votes)` goes on from there as if all votes had come at once.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [1, 1, 0, 0, 1], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> LaOnePass().fit(votes).labels(), LaOnePass().fit(votes, order=[1, 0]).labels()
    (['yes', 'no'], ['yes', None])
    """

    name: ClassVar[str] = "la-one-pass"
    vote_shares: ClassVar[bool] = True
    order_free: ClassVar[bool] = False
    online: ClassVar[bool] = True
    remembers: ClassVar[tuple[str, ...]] = ("right", "given")

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        order: ArrayLike | None = None,
        state: State | None = None,
    ) -> Fit:
        """Labels as they were when each item was seen, and accuracies after the last; `state` goes on from earlier."""
        done = run_pass(self.name, votes, weights, order, state)
        posterior_ik = shares(done.score_ik)
        return Fit(
            method=self.name,
            posterior=posterior_ik,
            prior=class_shares(posterior_ik, votes, weights),
            skill=done.accuracy_j,
            votes_i=votes.votes_i,
            label_values=votes.labels,
            names=names_of(votes),
            n_iter=1,
            online=partial(kept, done.state),
        )
