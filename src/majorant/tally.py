"""Count votes: per item, per number of votes, per worker, and per pair of workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError
from majorant.items import map_parts
from majorant.kernels import vote_columns
from majorant.values import lock
from majorant.votes import IntArray, Votes, cut

if TYPE_CHECKING:
    from scipy.sparse import csr_array

VOTES_PER_BLOCK = 1 << 18  # a block of votes and its counts fit in the processor's cache
ROWS_PER_BLOCK = 1 << 13
KEY_LIMIT = 1 << 62  # keys of count patterns must fit in 64-bit integers, with room to spare


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """The distinct rows of counts, in lexicographic order, and how many items have each."""

    counts_pk: IntArray
    items_p: IntArray

    def __post_init__(self) -> None:
        lock(self)

    @property
    def votes_p(self) -> NDArray[np.int64]:
        """The number of votes on an item of each pattern."""
        return _row_sums(self.counts_pk)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """All counts of the votes, computed once by `check`.

    `histograms` is None if there are more than two classes; `patterns` holds the same facts.
    """

    counts_ik: NDArray[np.int32]
    votes_i: NDArray[np.int64]
    tied_i: NDArray[np.bool_]
    patterns: Patterns
    histograms: Mapping[int, IntArray] | None
    votes_jl: NDArray[np.int64]

    def __post_init__(self) -> None:
        lock(self)

    @property
    def votes_j(self) -> NDArray[np.int64]:
        """How many votes each worker gave."""
        return _row_sums(self.votes_jl)


def tally(votes: Votes) -> Tally:
    """Compute all counts that later steps need, in two passes over the votes.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1], items="abc", workers="wx", labels="ny")
    >>> t = tally(votes)
    >>> t.counts_ik.tolist(), t.tied_i.tolist(), t.votes_jl.tolist()
    ([[1, 1], [0, 2], [0, 0]], [True, False, False], [[1, 1], [0, 2]])
    >>> {n_votes: items.tolist() for n_votes, items in t.histograms.items()}
    {2: [1, 1, 0]}
    """
    counts_ik = counts(votes)
    patterns = distinct_counts(counts_ik)
    two_classes = counts_ik.shape[1] <= 2
    return Tally(
        counts_ik=counts_ik,
        votes_i=votes.votes_i,
        tied_i=tied(counts_ik),
        patterns=patterns,
        histograms=two_class_histograms(patterns) if two_classes else None,
        votes_jl=votes_by_worker(votes),
    )


def counts(votes: Votes) -> NDArray[np.int32]:
    """The number of votes for class k on item i, (I, K); zeros for an item without votes.

    Processes the votes in blocks: apart from the result, it needs a few megabytes, however many votes there are.

    >>> votes = Votes.from_codes([0, 0, 2], [0, 1, 0], [1, 1, 0], items="abc", workers="wx", labels=("no", "yes"))
    >>> counts(votes).tolist()
    [[0, 2], [0, 0], [1, 0]]
    """
    return label_counts(votes.label_n, votes.offsets_i, len(votes.labels))


def label_counts(label_n: IntArray, offsets_i: IntArray, n_classes: int) -> NDArray[np.int32]:
    """`counts` from labels sorted by item, where item i has those from offsets_i[i] to offsets_i[i + 1].

    >>> label_counts(np.array([1, 1, 0]), np.array([0, 2, 2, 3]), 2).tolist()
    [[0, 2], [0, 0], [1, 0]]
    """
    from scipy.sparse import csr_array

    counts_ik = np.zeros((len(offsets_i) - 1, n_classes), dtype=np.int32)
    ones_n = np.ones(max(VOTES_PER_BLOCK, int(np.diff(offsets_i).max(initial=0))), dtype=np.int32)
    for start, stop in cut(offsets_i, VOTES_PER_BLOCK):
        first, last = offsets_i[start], offsets_i[stop]
        begin_i = (offsets_i[start : stop + 1] - first).astype(np.int32)
        entries = (ones_n[: last - first], label_n[first:last], begin_i)
        # Converting a sparse matrix to a dense one adds up repeated entries: one pass in C, without int64 keys.
        csr_array(entries, shape=(stop - start, n_classes)).toarray(out=counts_ik[start:stop])
    return counts_ik


def tied(counts_ik: IntArray) -> NDArray[np.bool_]:
    """Whether two or more classes share the most votes on an item; an item without votes is not tied.

    >>> tied(np.array([[1, 1, 0], [0, 1, 2], [0, 0, 0]])).tolist()
    [True, False, False]
    """
    tied_i = np.zeros(len(counts_ik), dtype=bool)
    for start, counts_kb in _class_blocks(counts_ik):
        tied_b, top_b = tied_i[start : start + ROWS_PER_BLOCK], np.zeros(counts_kb.shape[1], dtype=counts_ik.dtype)
        for count_b in counts_kb:  # a running maximum: reducing along the short axis is many times slower
            tied_b &= count_b <= top_b
            tied_b |= (count_b == top_b) & (count_b > 0)
            np.maximum(top_b, count_b, out=top_b)
    return tied_i


def distinct_counts(counts_ik: IntArray) -> Patterns:
    """The distinct rows of `counts_ik`, including items without votes, and the number of items of each.

    >>> patterns = distinct_counts(np.array([[1, 2], [3, 0], [1, 2]]))
    >>> patterns.counts_pk.tolist(), patterns.items_p.tolist()
    ([[1, 2], [3, 0]], [2, 1])
    """
    n_items, n_classes = counts_ik.shape
    base = int(counts_ik.max(initial=0)) + 1
    if base**n_classes > KEY_LIMIT:
        key_i = _ranked_row_keys(counts_ik, base)
        _, item_p, items_p = np.unique(key_i, return_index=True, return_counts=True)
        return Patterns(counts_ik[item_p], items_p)
    key_i = _row_keys(counts_ik, base)
    if base**n_classes > 4 * n_items:
        key_p, items_p = np.unique(key_i, return_counts=True)
    else:
        items_q = np.bincount(key_i, minlength=base**n_classes)
        key_p = np.flatnonzero(items_q)
        items_p = items_q[key_p]
    power_k = base ** np.arange(n_classes - 1, -1, -1, dtype=np.int64)
    return Patterns((key_p[:, None] // power_k % base).astype(counts_ik.dtype), items_p)


def by_votes(patterns: Patterns) -> dict[int, Patterns]:
    """The patterns grouped by number of votes, for any number of classes; items without votes are left out.

    >>> grouped = by_votes(distinct_counts(np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 1]])))
    >>> {n_votes: (group.counts_pk.tolist(), group.items_p.tolist()) for n_votes, group in grouped.items()}
    {1: ([[1, 0, 0]], [1]), 2: ([[1, 0, 1]], [2])}
    """
    votes_p = patterns.votes_p
    order_p = np.argsort(votes_p, kind="stable")
    values, starts = np.unique(votes_p[order_p], return_index=True)
    groups = np.split(order_p, starts[1:])
    return {
        int(n_votes): Patterns(patterns.counts_pk[row_p], patterns.items_p[row_p])
        for n_votes, row_p in zip(values, groups, strict=False)  # if there are no items, there is one empty group
        if n_votes > 0
    }


def histograms(votes: Votes) -> dict[int, IntArray]:
    """For each number of votes H, how many items have 0, 1, ..., H votes for the first class, for `certify_counts`.

    For one or two classes; items without votes are left out.

    >>> votes = Votes.from_codes([0, 0, 1, 2, 2], [0, 1, 0, 0, 1], [1, 1, 0, 0, 1],
    ...                          items="abc", workers="wx", labels=("no", "yes"))
    >>> {n_votes: items.tolist() for n_votes, items in histograms(votes).items()}
    {1: [0, 1], 2: [1, 1, 0]}
    """
    if len(votes.labels) > 2:
        raise ConfigError(
            f"histograms are for two classes, these votes have {len(votes.labels)}: "
            "use by_votes(distinct_counts(counts(votes)))."
        )
    return two_class_histograms(distinct_counts(counts(votes)))


def votes_by_worker(votes: Votes) -> NDArray[np.int64]:
    """How often worker j gave label l, (J, K).

    >>> votes = Votes.from_codes([0, 1, 0], [0, 0, 1], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
    >>> votes_by_worker(votes).tolist()
    [[0, 2], [1, 0]]
    """
    _, n_workers, n_classes = votes.shape
    size = n_workers * n_classes
    total_c = np.zeros(size, dtype=np.int64)
    step = max(VOTES_PER_BLOCK, size)  # a block has at least as many votes as there are counts
    for start in range(0, votes.n_votes, step):
        column_n = votes.worker_n[start : start + step].astype(np.int64)
        column_n *= n_classes
        column_n += votes.label_n[start : start + step]
        total_c += np.bincount(column_n, minlength=size)
    return total_c.reshape(n_workers, n_classes)


def two_class_histograms(patterns: Patterns) -> dict[int, IntArray]:
    """`histograms` from the distinct counts."""
    return {
        n_votes: np.bincount(group.counts_pk[:, 0], weights=group.items_p, minlength=n_votes + 1).astype(np.int64)
        for n_votes, group in by_votes(patterns).items()
    }


def _class_blocks(counts_ik: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Blocks of items that fit in the cache: the first item, and contiguous counts class by class."""
    for start in range(0, len(counts_ik), ROWS_PER_BLOCK):
        yield start, np.ascontiguousarray(counts_ik[start : start + ROWS_PER_BLOCK].T)


def _row_keys(counts_ik: IntArray, base: int) -> NDArray[np.int64]:
    """Each row as one number with its counts as digits; keys sort in the lexicographic order of the rows."""
    key_i = np.zeros(len(counts_ik), dtype=np.int64)
    for start, counts_kb in _class_blocks(counts_ik):
        key_b = key_i[start : start + ROWS_PER_BLOCK]
        for count_b in counts_kb:
            key_b *= base
            key_b += count_b
    return key_i


def _ranked_row_keys(counts_ik: IntArray, base: int) -> NDArray[np.int64]:
    """Keys for rows whose digits would overflow: add one class at a time and replace keys by their ranks."""
    key_i = np.zeros(len(counts_ik), dtype=np.int64)
    for count_i in counts_ik.T:
        _, key_i = np.unique(key_i * base + count_i, return_inverse=True)
    return key_i


def _row_sums(count_rk: IntArray) -> NDArray[np.int64]:
    """Sum along the short axis by a matrix product, which is many times faster than `sum`."""
    return np.asarray(count_rk @ np.ones(count_rk.shape[1], dtype=np.int64), dtype=np.int64)


def find_patterns(votes: Votes, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
    """The distinct rows of vote counts over all items; `rows` counts the votes on each item of a part."""
    return merge_patterns(map_parts(lambda part: distinct_counts(rows(part)), votes))


def merge_patterns(parts: Iterable[Patterns]) -> Patterns:
    """Combine the patterns of several parts of the items.

    >>> part = Patterns(np.array([[0, 2], [1, 1]]), np.array([5, 3]))
    >>> both = merge_patterns([part, Patterns(np.array([[1, 1]]), np.array([4]))])
    >>> both.counts_pk.tolist(), both.items_p.tolist()
    ([[0, 2], [1, 1]], [5, 7])
    """
    waiting: list[Patterns] = []
    for part in parts:
        waiting.append(part)
        # Equal rows are combined once there are a quarter of a million or more.
        if sum(len(rows.items_p) for rows in waiting) > (1 << 18) + 2 * len(waiting[0].items_p):
            waiting = [_together(waiting)]
    return _together(waiting)


def _together(parts: list[Patterns]) -> Patterns:
    every = np.concatenate([part.counts_pk for part in parts])
    items = np.concatenate([part.items_p for part in parts])
    counts_pk, pattern = np.unique(every, axis=0, return_inverse=True)
    items_p = np.zeros(len(counts_pk), dtype=np.int64)
    np.add.at(items_p, pattern.ravel(), items)
    return Patterns(counts_pk, items_p)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Pairs of workers with an item in common, a before b in `votes.workers`.

    Row p of the sparse `table_pc` counts the pair's votes on the same item by their labels: the K x K table, flattened
    (c = label of a * K + label of b).  If a worker voted several times on an item, every vote counts in the table,
    while `items_p` counts the item once.
    """

    worker_a_p: IntArray
    worker_b_p: IntArray
    items_p: IntArray
    table_pc: csr_array[Any]

    @property
    def vote_pairs_p(self) -> NDArray[np.int64]:
        """The number of pairs of votes by the two workers on the same item."""
        return np.asarray(self.table_pc.sum(axis=1))

    @property
    def agreed_p(self) -> NDArray[np.int64]:
        """The number of these pairs in which both votes have the same label."""
        n_classes = round(self.table_pc.shape[1] ** 0.5)
        return np.asarray(self.table_pc @ np.eye(n_classes, dtype=np.int64).ravel())


def pair_counts(votes: Votes, *, chunk_pairs: int = 4_000_000, min_items: int = 1) -> Iterator[PairCounts]:
    """The tables of all pairs of workers with `min_items` items in common, in chunks of workers.

    Each chunk multiplies the sparse matrix of votes, items x (worker, label), by itself, for as many workers as have
    `chunk_pairs` pairs of votes in total, or for a single one.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> [pairs] = pair_counts(votes)
    >>> pairs.items_p.tolist(), pairs.agreed_p.tolist(), pairs.table_pc.toarray().tolist()
    ([2], [1], [[0, 1, 0, 1]])
    """
    from scipy.sparse import csr_array

    n_items, n_workers, n_classes = votes.shape

    def by_item(column_n: IntArray, n_columns: int) -> csr_array[Any]:
        entries = (np.ones(votes.n_votes, dtype=np.int64), column_n, votes.offsets_i)
        matrix = csr_array(entries, shape=(n_items, n_columns), copy=True)
        matrix.sum_duplicates()
        return matrix

    cell_ic, voted_ij = by_item(vote_columns(votes), n_workers * n_classes), by_item(votes.worker_n, n_workers)
    voted_ij.data[:] = 1  # an item counts once, however often a worker voted on it
    cell_ci, voted_ji = cell_ic.T.tocsr(), voted_ij.T.tocsr()
    pairs_j = np.bincount(votes.worker_n, weights=votes.votes_i[votes.item_n], minlength=n_workers).astype(np.int64)
    for start, stop in cut(np.append(0, np.cumsum(pairs_j)), chunk_pairs):
        common = voted_ji[start:stop] @ voted_ij
        common.sort_indices()
        common = common.tocoo()
        chosen_m = (common.col > common.row + start) & (common.data >= min_items)
        a_p, b_p, items_p = common.row[chosen_m] + start, common.col[chosen_m], common.data[chosen_m]
        if not len(items_p):
            continue
        cells = cell_ci[start * n_classes : stop * n_classes] @ cell_ic
        cells.sort_indices()
        cells = cells.tocoo()
        later_e = cells.col >= (cells.row // n_classes + start + 1) * n_classes  # each pair once
        (a_e, k_e), (b_e, l_e) = (np.divmod(cells.coords[axis][later_e], n_classes) for axis in (0, 1))
        pair_p = a_p.astype(np.int64) * n_workers + b_p
        pair_e = (a_e.astype(np.int64) + start) * n_workers + b_e
        place_e = np.minimum(np.searchsorted(pair_p, pair_e), len(pair_p) - 1)
        kept_e = pair_p[place_e] == pair_e
        entries = (cells.data[later_e][kept_e], (place_e[kept_e], k_e[kept_e] * n_classes + l_e[kept_e]))
        yield PairCounts(a_p, b_p, items_p, csr_array(entries, shape=(len(pair_p), n_classes**2)))
