"""The SQL that DuckDB and Spark share, run in DuckDB, against counting in memory."""

import duckdb
import numpy as np
import pyarrow as pa

from majorant.backend.files import as_worker_counts, worker_query
from majorant.tally import tally
from majorant.votes import Votes


def drawn(rng: np.random.Generator, n_classes: int) -> Votes:
    item_n = np.repeat(rng.choice(400, 300, replace=False), rng.integers(1, 6, 300))  # a quarter holds no vote
    worker_n, label_n = rng.integers(9, size=len(item_n)), rng.integers(n_classes, size=len(item_n))
    labels = tuple(range(n_classes))
    return Votes.from_codes(item_n, worker_n, label_n, items=range(400), workers=range(9), labels=labels)


def answer(sql: str, votes: Votes) -> list[np.ndarray]:
    table = pa.table({"item": votes.item_n, "worker": votes.worker_n, "label": votes.label_n})
    with duckdb.connect() as connection:
        connection.register("votes", table)
        return list(connection.sql(sql).fetchnumpy().values())


def test_counting_in_sql_is_counting_in_memory() -> None:
    rng = np.random.default_rng(4)
    for n_classes in (1, 2, 5):
        votes = drawn(rng, n_classes)
        votes_jl = as_worker_counts(answer(worker_query(), votes), 9, n_classes)
        np.testing.assert_array_equal(votes_jl, tally(votes).votes_jl)
