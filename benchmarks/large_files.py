"""Simulate a crowd straight into a Parquet file, in batches: 5 votes per item, 1,000 per worker."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

VOTES_PER_ITEM, VOTES_PER_WORKER = 5, 1000
ITEMS_AT_ONCE = 1 << 18
PRIMES = (7_368_787, 15_485_863, 32_452_843, 49_979_687, 67_867_967)  # a round each: no round is like another, shifted


def most_votes(default: str) -> int:
    """The largest number of votes, from the first argument, MAJORANT_BENCH_VOTES or the default."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MAJORANT_BENCH_VOTES", default)
    return int(float(given))


def write_crowd(path: Path, n_votes: int, *, shuffled: bool = False, text: bool = False, seed: int = 0) -> None:
    """Write votes of two classes, by workers with different accuracies between .6 and .95.

    Items are integers or text.  `shuffled` shuffles the whole file, so that the votes on an item are far apart.
    """
    rng = np.random.default_rng(seed)
    n_items, n_workers = n_votes // VOTES_PER_ITEM, max(n_votes // VOTES_PER_WORKER, 2 * VOTES_PER_ITEM)
    skill_j = rng.uniform(0.6, 0.95, n_workers)
    kind = pa.string() if text else pa.int64()
    schema = pa.schema({"item": kind, "worker": kind, "label": pa.int32()})
    n_rounds = VOTES_PER_ITEM if shuffled else 1
    with pq.ParquetWriter(path, schema) as file:
        for part in range(n_rounds):
            for start in range(0, n_items, ITEMS_AT_ONCE):
                item_i = np.arange(start, min(start + ITEMS_AT_ONCE, n_items))
                if shuffled:  # one vote of each item in each round, the items in another order each time
                    item_n = item_i * PRIMES[part] % n_items
                    first_n, place_n = _first_worker(item_n, n_workers), np.full(len(item_n), part)
                else:
                    item_n = np.repeat(item_i, VOTES_PER_ITEM)
                    first_n, place_n = _first_worker(item_n, n_workers), np.tile(np.arange(5), len(item_i))
                worker_n = (first_n + place_n * (n_workers // VOTES_PER_ITEM)) % n_workers
                right_n = rng.random(len(item_n)) < skill_j[worker_n]
                label_n = np.where(right_n, item_n % 2, 1 - item_n % 2).astype(np.int32)
                file.write_table(pa.table([_names(item_n, text), _names(worker_n, text), label_n], schema=schema))


def _first_worker(item_n: np.ndarray, n_workers: int) -> np.ndarray:
    mixed = item_n.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(20)) % np.uint64(n_workers)).astype(np.int64)


def _names(code_n: np.ndarray, text: bool) -> pa.Array:
    numbers = pa.array(code_n.astype(np.int64))
    return pc.binary_join_element_wise("id_", numbers.cast(pa.string()), "") if text else numbers
