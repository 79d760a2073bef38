"""Blocks in the partitions of a Spark frame: a pass sends a function out and adds up what comes back, in order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from majorant.backend.spark.pack import PACKED, Places, blocks_of, mapped, without_gold
from majorant.blocks import Rows, add_up
from majorant.kernels import Block, FloatArray

T = TypeVar("T")
TO_DRIVER = 1 << 28  # bytes of sums that may come to the driver at once; above, they are added up in two rounds
SUM = "part int, total binary"


@dataclass(frozen=True, slots=True, eq=False)
class SparkEngine:
    """The engine of votes in a Spark frame.

    Sums are added block by block in the order of the blocks, so neither the number of executors nor a task that runs
    again changes a digit.  Where there are many blocks and large sums, neighbours are added up on the cluster first.
    """

    frame: Any  # a row for each block, as `pack` makes them
    places: Places
    to_driver: int = TO_DRIVER

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return int(self.places.item_b[-1]), self.places.n_workers, self.places.n_classes

    def map_sum(self, fn: Callable[[Block], T], *, gold: bool = False) -> T:
        """The sum over blocks of what `fn` returns."""
        n_blocks, (_, n_workers, n_classes) = len(self.places.part_b), self.shape
        most = 8 * n_workers * n_classes**2 * n_blocks
        if most <= self.to_driver:
            return add_up(self.map_blocks(fn, gold=gold))
        n_groups = max(1, min(n_blocks, round(n_blocks**0.5)))
        total: T = add_up(_results(self._passed(fn, gold=gold), n_groups, self.places))
        return total

    def map_blocks(self, fn: Callable[[Block], T], *, gold: bool = False) -> Iterator[T]:
        """What `fn` returns for each block, in the order of the items; with `gold`, blocks show their gold labels."""
        yield from _results(self._passed(fn, gold=gold), None, self.places)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of each item, to be computed where the item is."""
        return Rows(fn)  # type: ignore[return-value]

    def _passed(self, fn: Callable[[Block], Any], *, gold: bool = False) -> Any:
        """A frame with what `fn` returns for each block."""
        sent = ship(self.frame, partial(_call, fn, gold))
        return mapped(self.frame.select(*PACKED), partial(run_pass, sent, self.places), SUM)


def _call(fn: Callable[[Block], Any], gold: bool, block: Block) -> bytes:
    return pickle.dumps(fn(block if gold else without_gold(block)), protocol=pickle.HIGHEST_PROTOCOL)


def ship(frame: Any, fn: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """A small function that, on a worker, gives `fn`: its parameters are broadcast, once to each executor."""
    from pyspark import cloudpickle
    from pyspark.sql.utils import is_remote

    content = cloudpickle.dumps(fn)
    if is_remote():  # Spark Connect has no broadcast of its own: the function travels with the plan
        return partial(pickle.loads, content)
    return partial(_open, frame.sparkSession.sparkContext.broadcast(content))


def _open(broadcast: Any) -> Callable[..., Any]:
    fn: Callable[..., Any] = pickle.loads(broadcast.value)
    return fn


def run_pass(sent: Callable[[], Callable[[Block], bytes]], places: Places, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the result for each block of a partition."""
    import pyarrow as pa

    fn = None
    for batch in batches:
        fn = fn or sent()
        for block in blocks_of(batch, places):
            part, result = int(places.part_b[block.index]), fn(block)
            yield pa.record_batch({"part": pa.array([part], pa.int32()), "total": pa.array([result], pa.binary())})


def _results(frame: Any, n_groups: int | None, places: Places) -> Iterator[Any]:
    """The results in the order of the blocks; with groups, the sums over runs of blocks, added up on the cluster."""
    if n_groups is not None:
        from pyspark.sql import functions as F

        edges = [int(run[0]) for run in np.array_split(places.part_b, n_groups)][1:]
        group = F.lit(0)
        for number, edge in enumerate(edges, start=1):
            group = F.when(F.col("part") >= edge, number).otherwise(group)
        grouped = frame.withColumn("run", group).repartition(n_groups, "run").select("run", "part", "total")
        frame = mapped(grouped, _add_runs, SUM)
    table = frame.toArrow()
    order = np.argsort(table.column("part").to_numpy())
    total = table.column("total")
    for row in order.tolist():
        yield pickle.loads(total[row].as_py())


def _add_runs(batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the results of each run of blocks, added up in order."""
    import pyarrow as pa

    found: dict[int, list[tuple[int, bytes]]] = {}
    for batch in batches:
        for run, part, total in zip(*(batch.column(n).to_pylist() for n in ("run", "part", "total")), strict=True):
            found.setdefault(run, []).append((part, total))
    for parts in found.values():
        parts.sort()
        total = pickle.dumps(add_up(pickle.loads(content) for _, content in parts))
        yield pa.record_batch({"part": pa.array([parts[0][0]], pa.int32()), "total": pa.array([total], pa.binary())})
