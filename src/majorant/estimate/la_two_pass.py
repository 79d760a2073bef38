"""LA two-pass (Yang et al. 2024): a second vote with what the first pass learned of the workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from numpy.typing import ArrayLike

from majorant.estimate.em import prepare
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.online import State, kept
from majorant.estimate.streaming import run_pass
from majorant.estimate.weighted import linear_posterior
from majorant.votes import Votes, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LaTwoPass(Estimator):
    """After one pass over the items in their order, all items vote again with weights C * accuracy - 1.

    The first pass is that of la-one-pass and depends on the order of the items, an argument of `fit`.  Online:
    `update(fit.state(), new_votes)` goes on with the accuracies so far and labels the new items.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [1, 1, 0, 0, 1], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> LaTwoPass().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "la-two-pass"
    vote_shares: ClassVar[bool] = True
    weight_above_chance: ClassVar[bool] = True
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
        """Labels by the second vote, and accuracies after the first pass; `state` goes on from earlier votes."""
        done = run_pass(self.name, votes, weights, order, state)
        n_classes = len(done.state.labels)  # labels of earlier batches count too
        prepared = prepare(votes, None, weights, clamp_gold=False)
        posterior_ik, prior_k = linear_posterior(prepared, n_classes * done.accuracy_j - 1)
        return Fit(
            method=self.name,
            posterior=posterior_ik,
            prior=prior_k,
            skill=done.accuracy_j,
            votes_i=votes.votes_i,
            label_values=votes.labels,
            names=names_of(votes),
            n_iter=2,
            online=partial(kept, done.state),
        )
