"""Counts of stored votes: row group by row group, and of workers by the SQL that Spark runs as well.

The query sees a table with the columns item, worker and label, where a label is its code, 0 to classes - 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.backend.budget import spell
from majorant.backend.spill import Report, silent
from majorant.backend.store import GROUP_FILE, StoredVotes
from majorant.database import connect
from majorant.errors import ConfigError
from majorant.io.scan import path_literal
from majorant.tally import Patterns, counts, distinct_counts, label_counts, merged_patterns
from majorant.threads import in_order, thread_count
from majorant.votes import IntArray, Votes


def worker_query(table: str = "votes") -> str:
    """How often each worker gave each label: worker, label, votes.

    >>> worker_query()
    'SELECT worker, label, count(*) AS votes FROM votes GROUP BY worker, label'
    """
    return f"SELECT worker, label, count(*) AS votes FROM {table} GROUP BY worker, label"


def as_worker_counts(columns: Sequence[ArrayLike], n_workers: int, n_classes: int) -> IntArray:
    """The columns of `worker_query`, workers as codes, as an array (workers, classes).

    >>> as_worker_counts([[1, 0], [0, 1], [3, 4]], n_workers=2, n_classes=2).tolist()
    [[0, 4], [3, 0]]
    """
    worker, label, votes = (np.asarray(column, dtype=np.int64) for column in columns)
    votes_jl = np.zeros((n_workers, n_classes), dtype=np.int64)
    votes_jl[worker, label] = votes
    return votes_jl


def stored_patterns(
    stored: StoredVotes, rows: Callable[[Votes], IntArray] = counts, *, report: Report = silent
) -> Patterns:
    """The distinct rows of counts of all items, as `distinct_counts` gives them.

    `rows` says what is counted, by default the votes for each class.  The file is sorted by item, so this takes one
    pass and the memory of a few row groups.
    """

    def of_group(group: int) -> tuple[int, Patterns]:
        found = _votes_by_class(stored, group) if rows is counts else rows(stored.group(group, group + 1))
        return group, distinct_counts(found)

    def parts() -> Iterable[Patterns]:
        for group, part in in_order(of_group, range(stored.n_groups), thread_count()):
            report("counting", int(stored.vote_g[group + 1]), stored.n_votes)
            yield part

    return merged_patterns(parts())


def _votes_by_class(stored: StoredVotes, group: int) -> IntArray:
    """The counts of the items of a row group, which need its labels and nothing else."""
    [label_n] = stored.columns(group, group + 1, "label")
    votes_i = stored.votes_i[stored.item_g[group] : stored.item_g[group + 1]]
    return label_counts(label_n, np.concatenate([[0], np.cumsum(votes_i, dtype=np.int64)]), stored.shape[2])


def stored_votes_by_worker(stored: StoredVotes, *, memory: int) -> IntArray:
    """How often worker j gave label l, (J, K), by the SQL that Spark runs as well."""
    _, n_workers, n_classes = stored.shape
    return as_worker_counts(query(stored, worker_query(), memory=memory), n_workers, n_classes)


def query(stored: StoredVotes, sql: str, *, memory: int) -> list[NDArray[Any]]:
    """The columns of a query on the table `votes` (item, worker, label: codes), which spills to the folder."""
    import duckdb

    settings: dict[str, Any] = {
        "memory_limit": f"{memory // 2}B",
        "temp_directory": str(stored.folder / "spill"),
    }
    try:
        with connect(**settings) as connection:
            path = path_literal(stored.folder / GROUP_FILE)
            connection.execute(f"CREATE VIEW votes AS SELECT item, worker, label FROM read_parquet({path})")
            return [np.ma.getdata(column) for column in connection.sql(sql).fetchnumpy().values()]
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        raise ConfigError(
            f"Counting within memory='{spell(memory)}' does not go: {str(error).splitlines()[0]} Give more memory, or "
            f"more room on the disk of {stored.folder}."
        ) from None
