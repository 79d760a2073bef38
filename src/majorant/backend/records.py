"""Rows on disk: a vote is one number, and rows are moved to their group by a counting sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.io.vocabulary import Codes

LABEL_BITS, WORKER_BITS = 16, 31  # of 63: what is left is for the items of a bucket
LABEL_MASK, WORKER_MASK = (1 << LABEL_BITS) - 1, (1 << WORKER_BITS) - 1
MOST_LABELS = LABEL_MASK - 1
MOST_SHIFTS = 16  # beyond, sorting is faster than comparing each number with those that follow
Keys = NDArray[np.int64]
Records = NDArray[np.void]  # a key, and what else a row says: gold, status, slice, seconds, its number


def pack(item_n: Codes, worker_n: Codes, label_n: Codes) -> Keys:
    """A vote as one number: which item of its bucket, which worker, which raw label (-1 for none)."""
    key_n = item_n.astype(np.int64)
    key_n <<= WORKER_BITS
    key_n |= worker_n
    key_n <<= LABEL_BITS
    key_n |= label_n + np.int32(1)
    return key_n


def items_of(key_n: Keys) -> Codes:
    """The item of each vote, counted from the first of its bucket."""
    return (key_n >> (WORKER_BITS + LABEL_BITS)).astype(np.int32)


def unpack(key_n: Keys) -> tuple[Codes, Codes, Codes]:
    """Item, counted from the first of its bucket, worker and raw label of each vote.

    >>> [code_n.tolist() for code_n in unpack(pack(*np.array([[3, 65535], [7, 2**31 - 1], [-1, 65533]], np.int32)))]
    [[3, 65535], [7, 2147483647], [-1, 65533]]
    """
    worker_n = (key_n >> LABEL_BITS & WORKER_MASK).astype(np.int32)
    label_n = (key_n & LABEL_MASK).astype(np.int32)
    label_n -= 1
    return items_of(key_n), worker_n, label_n


def grouped(records: Records, group_n: Codes, n_groups: int) -> tuple[Records, NDArray[np.integer[Any]]]:
    """The records group by group, in their order within each, and where each group begins, and the end.

    Transposing a sparse matrix is a stable counting sort; records that are one number are moved by it as they are.
    """
    from scipy.sparse import csr_array

    if (group_n[1:] >= group_n[:-1]).all():
        return records, np.concatenate([[0], np.cumsum(np.bincount(group_n, minlength=n_groups))])
    alone = records.dtype.names == ("key",)
    moved_n = records["key"] if alone else np.arange(len(records), dtype=np.int32)
    by_group = csr_array((moved_n, group_n, np.array([0, len(records)], np.int32)), shape=(1, n_groups)).tocsc()
    return by_group.data.view(records.dtype) if alone else records.take(by_group.data), by_group.indptr


def any_repeat(pair_n: Keys, most: int) -> bool:
    """Whether a number occurs twice, where equal numbers are less than `most` places apart, or numbers rise by groups.

    >>> any_repeat(np.array([3, 1, 3, 7]), most=3), any_repeat(np.array([3, 1, 2, 7]), most=3)
    (True, False)
    """
    if most > MOST_SHIFTS:
        pair_n = np.sort(pair_n)
        most = 2
    return any(bool((pair_n[apart:] == pair_n[:-apart]).any()) for apart in range(1, min(most, len(pair_n))))
