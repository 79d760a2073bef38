"""Majority vote: the label with the most votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from majorant.arguments import validated
from majorant.kernels import Engine, shares
from majorant.methods.fit import Fit, Traits
from majorant.methods.tables import prepare, vote_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority:
    """The label with the most votes; `posterior` holds each label's share of an item's votes.

    Ties are reported, never broken silently; `Fit.labels` can break them. `prior` is each label's share of all votes.

    Examples
    --------
    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 1, 0, 0, 1], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Majority().fit(votes).labels(), Majority().fit(votes).labels(ties="first")
    (['yes', None], ['yes', 'no'])
    """

    name: ClassVar[str] = "majority"
    traits: ClassVar[Traits] = Traits(distributed=True, vote_shares=True)

    @validated
    def fit(self, votes: Any, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Compute each label's share of the votes on each item; an item without votes gets equal shares."""
        data = prepare(votes, weights=weights, engine=engine, merge=False)
        totals, engine = data.totals, data.engine
        prior_k = shares(totals.votes_c.reshape(totals.n_workers, totals.n_labels).sum(axis=0))
        return data.fit_of(self, posterior=engine.rows(lambda block: vote_shares(block, totals)), prior=prior_k)
