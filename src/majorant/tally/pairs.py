"""What each two workers said on the items they share, in chunks of workers so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ENTRIES_PER_CHUNK = 2_000_000


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


def pair_counts(votes: Votes, *, chunk_entries: int = ENTRIES_PER_CHUNK, min_items: int = 1) -> Iterator[PairCounts]:
    """The tables of all pairs of workers with an item in common, chunk by chunk; a worker is never his own pair.

    Each chunk is one product of sparse matrices.  Its result holds at most `chunk_entries` entries, or those of one
    worker: no more than his `partner_votes`, nor than K * K * J.  At about 100 bytes an entry that bounds the memory,
    beside 50 bytes a vote for the matrices.  Time grows with the sum of `partner_votes`.  Chunks without a pair of
    workers with `min_items` items in common are passed over.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> [pairs] = pair_counts(votes)
    >>> pairs.items_p.tolist(), pairs.agreed_p.tolist(), pairs.table_pc.toarray().tolist()
    ([2], [1], [[0, 1, 0, 1]])
    """
    _, n_workers, n_classes = votes.shape
    said_ic = _incidence(votes, np.int64(n_classes) * votes.worker_n + votes.label_n, n_workers * n_classes)
    voted_ij = _incidence(votes, votes.worker_n, n_workers)
    voted_ij.data[:] = 1
    said_ci, voted_ji = said_ic.T.tocsr(), voted_ij.T.tocsr()
    entries_j = np.minimum(partner_votes(votes), n_classes * n_classes * n_workers)
    for start, stop in _chunks(entries_j, chunk_entries):
        items_ab = voted_ji[start:stop] @ voted_ij
        if min_items > 1 and not _any_pair(items_ab, start, min_items):
            continue
        said_cd = said_ci[start * n_classes : stop * n_classes] @ said_ic
        yield _pairs(items_ab, said_cd, start, n_classes)


def _any_pair(items_ab: csr_array[Any], start: int, min_items: int) -> bool:
    """Whether two workers, not one and himself, have so many items in common."""
    enough = np.flatnonzero(items_ab.data >= min_items)
    row_e = np.searchsorted(items_ab.indptr, enough, side="right") - 1
    return bool((items_ab.indices[enough] != row_e + start).any())


def _incidence(votes: Votes, column_n: IntArray, n_columns: int) -> csr_array[Any]:
    """Items x columns, how often each occurs."""
    from scipy.sparse import csr_array

    # Products with 32-bit indices run twice as fast; sum_duplicates works in place, on copies.
    index = np.int32 if max(votes.n_votes, n_columns) <= np.iinfo(np.int32).max else np.int64
    entries: Any = (np.ones(votes.n_votes, dtype=np.int64), column_n.astype(index), votes.offsets_i.astype(index))
    matrix: csr_array[Any] = csr_array(entries, shape=(len(votes.items), n_columns))
    matrix.sum_duplicates()
    return matrix


def _chunks(entries_j: IntArray, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of workers with at most `limit` entries together, or a single worker with more."""
    end_j = np.concatenate([[0], np.cumsum(entries_j)])
    start, n_workers = 0, len(entries_j)
    while start < n_workers:
        stop = max(start + 1, int(np.searchsorted(end_j, end_j[start] + limit, side="right")) - 1)
        yield start, stop
        start = stop


def _pairs(items_ab: csr_array[Any], said_cd: csr_array[Any], start: int, n_classes: int) -> PairCounts:
    """The pairs a < b of a chunk whose first worker is `start`, each with its table."""
    from scipy.sparse import csr_array

    n_workers = items_ab.shape[1]
    items_ab.sort_indices()
    items = items_ab.tocoo()
    key_p, items_p = _above_diagonal(items.row.astype(np.int64) + start, items.col, n_workers, items.data)
    said_cd.sort_indices()  # neighbours then look for neighbours: the search stays in the cache
    said = said_cd.tocoo()
    a_e, b_e = said.row // n_classes + np.int64(start), said.col // n_classes
    label_e = said.row % n_classes * n_classes + said.col % n_classes
    key_e, cell_e, count_e = _above_diagonal(a_e, b_e, n_workers, label_e, said.data)
    pair_e = np.searchsorted(key_p, key_e)
    table_pc = csr_array((count_e, (pair_e, cell_e)), shape=(len(key_p), n_classes * n_classes))
    a_p, b_p = np.divmod(key_p, n_workers)
    return PairCounts(a_p.astype(np.int32), b_p.astype(np.int32), items_p, table_pc)


def _above_diagonal(a: IntArray, b: IntArray, n_workers: int, *values: IntArray) -> list[IntArray]:
    """Where a < b: the pair as one number, and the values that go with it."""
    above = b > a
    return [a[above] * n_workers + b[above], *(value[above] for value in values)]
