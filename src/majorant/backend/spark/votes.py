"""Votes in a Spark frame: packed blocks on the cluster, and beside them what is small."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from majorant.account import Account
from majorant.backend.spark.engine import SparkEngine, ship
from majorant.backend.spark.pack import PACKED, Places, as_list, blocks_of, mapped, votes_of
from majorant.blocks import Rows
from majorant.merge import take_items
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparkVotes:
    """Votes that stay on the cluster.

    It answers to the names that estimators use of `Votes` when they are given an engine.  Items are known by their
    codes, in the order of the blocks; their names are with their block.
    """

    frame: Any  # a row for each block
    places: Places
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    n_votes: int
    account: Account

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return int(self.places.item_b[-1]), len(self.workers), len(self.labels)

    @property
    def items(self) -> range:
        """The codes of the items."""
        return range(self.shape[0])

    @property
    def votes_i(self) -> Any:
        """How many votes each item holds, to be computed where the items are."""
        return Rows(votes_per_item)

    @property
    def gold_i(self) -> None:
        """Models on the cluster take no class as known."""

    @property
    def slices(self) -> tuple[Hashable, ...]:
        """Items in a frame are not sliced."""
        return ()

    @property
    def slice_i(self) -> None:
        """Items in a frame are not sliced."""

    @property
    def engine(self) -> SparkEngine:
        """The engine that works on these blocks."""
        return SparkEngine(self.frame, self.places)

    def take_items(self, item_p: IntArray) -> Votes:
        """The votes of the chosen items, whose codes must rise, in the driver's memory."""
        code_p = np.asarray(item_p, dtype=np.int64)
        chosen = ship(self.frame, partial(_chosen, code_p))
        fields = "part int, items array<int>, workers array<int>, labels array<int>, gold array<int>"
        names = self.frame.schema["names"].dataType.simpleString()
        packed = self.frame.select(*PACKED, "names")
        taken = mapped(packed, partial(_take, chosen, self.places), f"{fields}, names {names}")
        table = taken.toArrow().sort_by("part").combine_chunks()
        item_n, worker_n, label_n, gold_i = (_flat(table, name) for name in ("items", "workers", "labels", "gold"))
        return Votes.from_codes(
            item_n,
            worker_n,
            label_n,
            items=[name for part in table.column("names").to_pylist() for name in part],
            workers=self.workers,
            labels=self.labels,
            account=self.account,
            gold=gold_i if self.places.has_gold else None,
        )

    def close(self) -> None:
        """Free what the executors hold."""
        self.frame.unpersist()


def votes_per_item(block: Any) -> Any:
    """How many votes each item of a block holds."""
    return np.diff(block.matrix.indptr)


def _chosen(code_p: IntArray) -> IntArray:
    return code_p


def _take(sent: Any, places: Places, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the votes of the chosen items of each block, items numbered as they were chosen."""
    import pyarrow as pa

    code_p = sent()()
    for batch in batches:
        for row, block in enumerate(blocks_of(batch, places)):
            first, last = np.searchsorted(code_p, [block.start, block.stop])
            if first == last:
                continue
            local_p = code_p[first:last] - block.start
            votes = take_items(votes_of(block), local_p)
            gold_i = np.full(len(local_p), -1) if votes.gold_i is None else votes.gold_i
            lists = {
                "items": votes.item_n + first,
                "workers": votes.worker_n,
                "labels": votes.label_n,
                "gold": gold_i,
            }
            yield pa.record_batch(
                {
                    "part": pa.array([places.part_b[block.index]], pa.int32()),
                    **{name: as_list(pa.array(array, pa.int32())) for name, array in lists.items()},
                    "names": as_list(batch.column("names")[row].values.take(pa.array(local_p))),
                }
            )


def _flat(table: Any, name: str) -> IntArray:
    import pyarrow.compute as pc

    found: IntArray = pc.list_flatten(table.column(name)).to_numpy()
    return found
