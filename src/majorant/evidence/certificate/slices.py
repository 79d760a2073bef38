"""A certificate for each slice of the items, such as a language or a batch, with the error shared among them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.backend import Backend, Countable, MemoryBackend, Part, as_backend
from majorant.defaults import LEVEL
from majorant.evidence.certificate.certificate import Certificate, Claim, Family
from majorant.evidence.certificate.claims import claim_inputs, examine, make_certificate
from majorant.items import take_items
from majorant.limits import refuse_beyond
from majorant.tabular import Records
from majorant.tally import Patterns, counts, votes_by_worker
from majorant.values import as_level, as_seed
from majorant.votes import Account, IntArray, Votes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slice:
    """The items with one value of a column, and what can be claimed about them.

    Parameters
    ----------
    value : hashable
        The value of the column.
    n_items, n_votes : int
        Size of the slice.
    certificate : Certificate
        The claims about majority vote on these items.
    """

    value: Hashable
    n_items: int
    n_votes: int
    certificate: Certificate

    def row(self) -> dict[str, Any]:
        """The slice, its size, the verdict of each claim and how sure it is, and what majority vote loses."""
        row: dict[str, Any] = {"slice": self.value, "items": self.n_items, "votes": self.n_votes}
        for family in Family:
            claim: Claim | None = getattr(self.certificate, family)
            row[str(family)] = None if claim is None else str(claim.verdict)
            row[f"{family}_certainty"] = None if claim is None or claim.certainty is None else str(claim.certainty)
        loss = self.certificate.anonymous.loss
        return {**row, "loss": loss.value, "loss_low": loss.low, "loss_high": loss.high}


def refuse_slices(n_slices: int) -> None:
    """Refuse more slices than the level can be shared among."""
    refuse_beyond(
        "SLICES", n_slices, "slices, too little of the level is left for each", "Slice by a column with fewer values"
    )


def certify_slices(votes: Any, *, level: float = LEVEL, rng: int | np.random.Generator) -> Records[Slice]:
    """Certify each slice so that all verdicts together are wrong with probability at most 1 - level (Bonferroni).

    Every slice starts from the same seed. Items without a value belong to no slice.

    >>> from majorant.read import read
    >>> votes = read({"item": [1, 1, 2, 2], "worker": list("wxwx"), "label": list("abaa"), "lang": ["de", "de", "en",
    ...              "en"]}, by="lang")
    >>> [(one.value, one.n_items, round(one.certificate.level, 3)) for one in certify_slices(votes, rng=0)]
    [('de', 1, 0.975), ('en', 1, 0.975)]
    """
    backend, seed = as_backend(votes), as_seed(rng)
    refuse_slices(len(backend.votes.slices))
    shared = 1 - (1 - as_level(level)) / max(1, len(backend.votes.slices))
    return Records(
        Slice(
            value=value,
            n_items=part.votes.shape[0],
            n_votes=part.votes.n_votes,
            certificate=make_certificate(
                examine(claim_inputs(part, rng=seed), level=shared, rng=seed), intervals=False
            ),
        )
        for value, part in slices_of(backend)
    )


def slices_of(backend: Backend) -> list[tuple[Hashable, Countable]]:
    """Each slice with its votes, as far as claims look at them."""
    slice_i = backend.votes.slice_i
    if slice_i is None:
        return []
    return [(value, _slice(backend, s, np.flatnonzero(slice_i == s))) for s, value in enumerate(backend.votes.slices)]


def _slice(backend: Backend, code: int, item_p: IntArray) -> Countable:
    if backend.whole is not None:
        return MemoryBackend(take_items(backend.whole, item_p))
    votes_jl = backend.sum(partial(_worker_counts, code), doing="counting")
    shape = (len(item_p), *backend.votes.shape[1:])
    known = backend.votes
    votes = _SliceVotes(shape, int(votes_jl.sum()), known.workers, known.labels, known.account, (), None)
    return _SliceElsewhere(backend, code, item_p, votes_jl, votes)


class _SliceVotes(NamedTuple):
    shape: tuple[int, int, int]
    n_votes: int
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    account: Account
    slices: tuple[Hashable, ...]
    slice_i: None


@dataclass(frozen=True, slots=True, eq=False)
class _SliceElsewhere:
    """The items of one slice, as far as claims look at them, where they need not fit into memory."""

    backend: Backend
    code: int
    item_p: IntArray
    votes_jl: NDArray[np.int64]
    votes: _SliceVotes

    @property
    def whole(self) -> None:
        """The votes need not fit into memory."""

    @property
    def has_gold(self) -> bool:
        """Whether there may be gold labels."""
        return self.backend.has_gold

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of the slice."""
        return self.backend.patterns(partial(_rows_in_slice, rows, self.code))

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l in the slice."""
        return self.votes_jl

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items of the slice."""
        return self.backend.take(self.item_p[item_p])

    def draw(self, share: float, seed: int) -> IntArray:
        """The places in the slice of items drawn by their names."""
        code_p = self.backend.draw(share, seed)
        place_p = np.minimum(np.searchsorted(self.item_p, code_p), len(self.item_p) - 1)
        return np.asarray(place_p[self.item_p[place_p] == code_p])


def _in_slice(votes: Votes, code: int) -> Votes:
    assert votes.slice_i is not None
    return take_items(votes, np.flatnonzero(votes.slice_i == code))


def _rows_in_slice(rows: Callable[[Votes], IntArray], code: int, votes: Votes) -> IntArray:
    return rows(_in_slice(votes, code))


def _worker_counts(code: int, part: Part) -> NDArray[np.int64]:
    return votes_by_worker(_in_slice(part.votes, code))
