"""Majority vote: the label with the most votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.kernels import Engine, gather, shares, weighted_sum
from majorant.methods.fit import Fit, Traits, fit_of
from majorant.read import as_votes
from majorant.tally import counts
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority:
    """The label with the most votes; `posterior` holds each label's share of an item's votes.

    Ties are reported, never broken silently; `Fit.labels` can break them. `prior` is each label's share of all votes.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 1, 0, 0, 1], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Majority().fit(votes).labels(), Majority().fit(votes).labels(ties="first")
    (['yes', None], ['yes', 'no'])
    """

    name: ClassVar[str] = "majority"
    traits: ClassVar[Traits] = Traits(distributed=True, vote_shares=True)

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Compute each label's share of the votes on each item; an item without votes gets equal shares."""
        if engine is not None:
            if weights is not None:
                raise ConfigError("weights are part of the engine: give them to in_memory(votes, weights=...).")
            _, n_workers, n_classes = engine.shape
            one_hot = np.tile(np.eye(n_classes), (n_workers, 1))
            label_votes_k = engine.map_sum(lambda block: weighted_sum(block, gather(block, one_hot)))
            share_ik = engine.rows(lambda block: shares(gather(block, one_hot)))
            return fit_of(self.name, votes, posterior=share_ik, prior=shares(label_votes_k))
        votes = as_votes(votes)
        count_ik, votes_i = counts(votes), votes.votes_i
        weight_i = np.ones(len(votes_i)) if weights is None else np.asarray(weights, dtype=float)
        share_ik = count_ik / np.maximum(votes_i, 1)[:, None]
        share_ik[votes_i == 0] = 1 / len(votes.labels)
        return fit_of(self.name, votes, posterior=share_ik, prior=shares(np.einsum("i,ik->k", weight_i, count_ik)))
