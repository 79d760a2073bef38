"""Counting in SQL: one text for DuckDB and Spark.

The queries see a table with the columns item, worker and label, where a label is its code, 0 to classes - 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from majorant.tally import Patterns
from majorant.votes import IntArray


def item_counts_query(n_classes: int, table: str = "votes") -> str:
    """For each item the number of votes for each class: item, n0, n1, ...

    >>> item_counts_query(2)
    'SELECT item, count(CASE WHEN label = 0 THEN 1 END) AS n0, count(CASE WHEN label = 1 THEN 1 END) AS n1 FROM votes GROUP BY item'
    """  # noqa: E501
    counted = ", ".join(f"count(CASE WHEN label = {k} THEN 1 END) AS n{k}" for k in range(n_classes))
    return f"SELECT item, {counted} FROM {table} GROUP BY item"


def patterns_query(n_classes: int, table: str = "votes") -> str:
    """The distinct rows of counts, in order, and how many items have each: n0, n1, ..., items.

    >>> patterns_query(2)[-46:]
    'AS item_counts GROUP BY n0, n1 ORDER BY n0, n1'
    """
    columns = ", ".join(f"n{k}" for k in range(n_classes))
    inner = item_counts_query(n_classes, table)
    return f"SELECT {columns}, count(*) AS items FROM ({inner}) AS item_counts GROUP BY {columns} ORDER BY {columns}"


def worker_query(table: str = "votes") -> str:
    """How often each worker gave each label: worker, label, votes.

    >>> worker_query()
    'SELECT worker, label, count(*) AS votes FROM votes GROUP BY worker, label'
    """
    return f"SELECT worker, label, count(*) AS votes FROM {table} GROUP BY worker, label"


def as_patterns(columns: Sequence[ArrayLike], n_items: int) -> Patterns:
    """The columns of `patterns_query` as Patterns; of `n_items` items those that hold no vote come first.

    >>> patterns = as_patterns([[0, 2], [1, 1], [5, 3]], n_items=10)
    >>> patterns.counts_pk.tolist(), patterns.items_p.tolist()
    ([[0, 0], [0, 1], [2, 1]], [2, 5, 3])
    """
    *count, items = (np.asarray(column, dtype=np.int64) for column in columns)
    counts_pk, items_p = np.stack(count, axis=1), items
    bare = n_items - int(items_p.sum())
    if bare:
        counts_pk = np.concatenate([np.zeros((1, counts_pk.shape[1]), dtype=np.int64), counts_pk])
        items_p = np.concatenate([[bare], items_p])
    return Patterns(counts_pk, items_p)


def as_worker_counts(columns: Sequence[ArrayLike], n_workers: int, n_classes: int) -> IntArray:
    """The columns of `worker_query`, workers as codes, as an array (workers, classes).

    >>> as_worker_counts([[1, 0], [0, 1], [3, 4]], n_workers=2, n_classes=2).tolist()
    [[0, 4], [3, 0]]
    """
    worker, label, votes = (np.asarray(column, dtype=np.int64) for column in columns)
    votes_jl = np.zeros((n_workers, n_classes), dtype=np.int64)
    votes_jl[worker, label] = votes
    return votes_jl
