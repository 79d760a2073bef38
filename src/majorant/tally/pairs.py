"""What each two workers said on the items they share, in chunks of workers so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PAIRS_PER_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Pairs of workers with an item in common, a before b in `votes.workers`.

    Row p of `table_pc` is the K x K table of the pair, flattened (c = label of a * K + label of b), sparse: so many
    pairs of votes on the same item.  Where a worker voted more than once on an item, each of the votes counts there,
    while `items_p` counts the item once.
    """

    worker_a_p: IntArray
    worker_b_p: IntArray
    items_p: IntArray
    table_pc: csr_array[Any]

    @property
    def vote_pairs_p(self) -> NDArray[np.int64]:
        """How many pairs of votes on the same item the two workers gave."""
        return np.asarray(self.table_pc.sum(axis=1))

    @property
    def agreed_p(self) -> NDArray[np.int64]:
        """In how many of these pairs the two votes are the same label."""
        n_classes = round(self.table_pc.shape[1] ** 0.5)
        return np.asarray(self.table_pc @ np.eye(n_classes, dtype=np.int64).ravel())


def partner_votes(votes: Votes) -> NDArray[np.int64]:
    """For each worker the number of votes on the items he voted on, once for each of his votes: the work of pairing.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
    >>> partner_votes(votes).tolist()
    [3, 2]
    """
    shared_n = votes.votes_i[votes.item_n]
    return np.bincount(votes.worker_n, weights=shared_n, minlength=len(votes.workers)).astype(np.int64)


def pair_counts(votes: Votes, *, chunk_pairs: int = PAIRS_PER_CHUNK, min_items: int = 1) -> Iterator[PairCounts]:
    """The tables of all pairs of workers with `min_items` items in common, chunk by chunk; nobody is his own pair.

    Each two votes on an item are listed as one number, pair and labels, and the numbers sorted, `chunk_pairs` at once
    or those of one vote.  At some 30 bytes each that bounds the memory, beside 50 bytes a vote and the K * K * J cells
    of one worker.  Time grows with the sum of `partner_votes`.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> [pairs] = pair_counts(votes)
    >>> pairs.items_p.tolist(), pairs.agreed_p.tolist(), pairs.table_pc.toarray().tolist()
    ([2], [1], [[0, 1, 0, 1]])
    """
    from scipy.sparse import csr_array

    _, n_workers, n_classes = votes.shape
    voted_n = (votes.item_n.astype(np.int64) * n_workers + votes.worker_n) * n_classes + votes.label_n
    voted_n.sort()
    first_n = np.diff(voted_n // n_classes, prepend=-1) != 0  # the worker's first vote on the item
    every = _listing(voted_n, first_n, votes.shape)
    once = None if first_n.all() else _listing(voted_n[first_n], first_n[first_n], votes.shape)
    pairs_j = np.bincount(every.worker_n, weights=every.partners_n, minlength=n_workers).astype(np.int64)
    for start, stop in _chunks(pairs_j, chunk_pairs):
        key_e, count_e = _cells(every, start, stop, chunk_pairs)
        pair_p, first_p, items_p = _by_pair(key_e, count_e, n_classes)
        if once is not None:
            *_, items_p = _by_pair(*_cells(once, start, stop, chunk_pairs), n_classes)
        enough_p = items_p >= min_items
        if enough_p.any():
            entries = (count_e, key_e % n_classes**2, np.append(first_p, len(key_e)))
            table_pc = csr_array(entries, shape=(len(first_p), n_classes**2))
            a_p, b_p = np.divmod(pair_p[enough_p], n_workers)
            yield PairCounts(a_p.astype(np.int32), b_p.astype(np.int32), items_p[enough_p], table_pc[enough_p])


class _Listing(NamedTuple):
    """Votes in the order of items and, within each, of workers."""

    worker_n: IntArray
    next_n: IntArray  # the first vote of the item's next worker,
    partners_n: IntArray  # and how many votes follow from there on
    as_first_n: IntArray  # what a vote adds to the number of a cell, (a, b, label of a, label of b), as the first,
    as_second_n: IntArray  # and as the second of two


def _listing(voted_n: IntArray, first_n: NDArray[np.bool_], shape: tuple[int, int, int]) -> _Listing:
    """The votes from their sorted numbers, (item, worker, label)."""
    n_items, n_workers, n_classes = shape
    item_n, column_n = np.divmod(voted_n, n_workers * n_classes)
    worker_n, label_n = np.divmod(column_n, n_classes)
    next_n = np.append(np.flatnonzero(first_n), len(voted_n))[np.cumsum(first_n)]
    stop_i = np.cumsum(np.bincount(item_n, minlength=n_items))
    as_first_n = worker_n * (n_workers * n_classes**2) + label_n * n_classes
    return _Listing(worker_n, next_n, stop_i[item_n] - next_n, as_first_n, worker_n * n_classes**2 + label_n)


def _cells(listing: _Listing, start: int, stop: int, at_once: int) -> tuple[IntArray, IntArray]:
    """The numbers of the cells of pairs whose first worker lies from `start` to `stop`, and how often each occurs."""
    chosen = np.flatnonzero((listing.worker_n >= start) & (listing.worker_n < stop))
    found = []
    for first, last in _chunks(listing.partners_n[chosen], at_once):
        place, further, keys = chosen[first:last], 0, [np.empty(0, dtype=np.int64)]
        while len(place := place[listing.partners_n[place] > further]):
            keys.append(listing.as_first_n[place] + listing.as_second_n[listing.next_n[place] + further])
            further += 1
        found.append(np.unique(np.concatenate(keys), return_counts=True))
    if len(found) < 2:
        return found[0] if found else (chosen, chosen)
    key_e, place_f = np.unique(np.concatenate([key for key, _ in found]), return_inverse=True)
    return key_e, np.bincount(place_f, weights=np.concatenate([count for _, count in found])).astype(np.int64)


def _by_pair(key_e: IntArray, count_e: IntArray, n_classes: int) -> tuple[IntArray, IntArray, IntArray]:
    """The pairs of workers, a * J + b, where the cells of each begin, and how many votes they hold together."""
    pair_e = key_e // n_classes**2
    first_p = np.flatnonzero(np.diff(pair_e, prepend=-1))
    return pair_e[first_p], first_p, np.add.reduceat(count_e, first_p) if len(first_p) else count_e


def _chunks(entries_j: IntArray, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of workers with at most `limit` entries together, or a single worker with more."""
    end_j = np.concatenate([[0], np.cumsum(entries_j)])
    start, n_workers = 0, len(entries_j)
    while start < n_workers:
        stop = max(start + 1, int(np.searchsorted(end_j, end_j[start] + limit, side="right")) - 1)
        yield start, stop
        start = stop
