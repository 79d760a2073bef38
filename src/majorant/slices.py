"""A verdict for each slice of the items, such as a language or a batch, the level shared among them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from majorant.certify.certificate import Certificate
from majorant.claims import certify
from majorant.errors import ConfigError
from majorant.interval import as_level
from majorant.merge import take_items
from majorant.randomness import as_seed
from majorant.votes import Votes

MOST_SLICES = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slice:
    """The items with one value, and what can be claimed of them."""

    value: Hashable
    n_items: int
    n_votes: int
    certificate: Certificate


def certify_slices(votes: Votes, *, level: float = 0.95, rng: int | np.random.Generator) -> tuple[Slice, ...]:
    """Certify each slice so that all verdicts together are wrong with probability at most 1 - level (Bonferroni).

    Every slice starts from the same seed.  Items without a value belong to no slice.

    >>> from majorant.encode import read
    >>> votes = read({"item": [1, 1, 2, 2], "worker": list("wxwx"), "label": list("abaa"), "lang": ["de", "de", "en",
    ...              "en"]}, by="lang")
    >>> [(one.value, one.n_items, round(one.certificate.level, 3)) for one in certify_slices(votes, rng=0)]
    [('de', 1, 0.975), ('en', 1, 0.975)]
    """
    if votes.slice_i is None:
        return ()
    if len(votes.slices) > MOST_SLICES:
        raise ConfigError(
            f"{len(votes.slices):,} slices are more than {MOST_SLICES}: too little of the level is left for each. "
            "Slice by a column with fewer values."
        )
    shared = 1 - (1 - as_level(level)) / max(1, len(votes.slices))
    seed = as_seed(rng)
    parts = [(value, take_items(votes, np.flatnonzero(votes.slice_i == s))) for s, value in enumerate(votes.slices)]
    return tuple(
        Slice(
            value=value,
            n_items=len(part.items),
            n_votes=part.n_votes,
            certificate=certify(part, level=shared, rng=seed),
        )
        for value, part in parts
    )
