"""Votes on a Spark cluster: each pass sends a function to the packed blocks and adds up the results in order.

Labels stay on the cluster; only sums, and the votes on a sample of items, are sent to the driver.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from majorant.atomic import record_folder
from majorant.backend.base import Backend, LabelFiles, LabelTable, Part, of_fits
from majorant.backend.spark.pack import (
    CHANGED,
    PACKED,
    Places,
    blocks_of,
    map_batches,
    one_list,
    part_of,
    votes_of,
    without_gold,
)
from majorant.backend.spark.session import collect, spark_errors
from majorant.errors import ConfigError, DataError
from majorant.items import draw_of_part, take_items
from majorant.kernels import Block, Engine, Rows, add_up
from majorant.limits import T
from majorant.methods.fit import Fit
from majorant.ownership import refuse_unsafe
from majorant.values import FloatArray
from majorant.votes import Account, IntArray, Votes

SUM = "part int, total binary"


@dataclass(frozen=True, slots=True, eq=False)
class SparkEngine(Engine):
    """The engine of votes in a Spark frame.

    If there are many blocks and large sums, runs of blocks are first added up on the cluster.
    """

    blocks: Any  # a frame with one row per block, made by `pack`
    places: Places
    to_driver: int = 1 << 28  # bytes of sums sent to the driver at once; beyond, two rounds

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return int(self.places.item_b[-1]), self.places.n_workers, self.places.n_classes

    def map_sum(self, fn: Callable[[Block], T], *, gold: bool = False) -> T:
        """The sum of the results of `fn` over all blocks."""
        n_blocks, (_, n_workers, n_classes) = len(self.places.part_b), self.shape
        most = 8 * n_workers * n_classes**2 * n_blocks
        if most <= self.to_driver:
            return add_up(self.map_blocks(fn, gold=gold))
        n_groups = max(1, min(n_blocks, round(n_blocks**0.5)))
        total: T = add_up(_results(self._passed(fn, gold=gold), n_groups, self.places))
        return total

    def map_blocks(self, fn: Callable[[Block], T], *, gold: bool = False) -> Iterator[T]:
        """The results of `fn` for each block, in the order of the items; with `gold`, blocks include gold labels."""
        yield from _results(self._passed(fn, gold=gold), None, self.places)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """The results of `fn` for each item, computed on demand where the item is stored."""
        return Rows(fn)  # type: ignore[return-value]

    def _passed(self, fn: Callable[[Block], Any], *, gold: bool = False) -> Any:
        """A frame with the result of `fn` for each block."""

        def call(block: Block) -> bytes:
            return pickle.dumps(fn(block if gold else without_gold(block)), protocol=pickle.HIGHEST_PROTOCOL)

        sent = ship(self.blocks, call)
        return map_batches(self.blocks.select(*PACKED), partial(run_pass, sent, self.places), SUM)


def ship(blocks: Any, content: Any) -> Callable[[], Any]:
    """A small function that returns `content` on a Spark worker; it is broadcast once to each executor."""
    from pyspark import cloudpickle
    from pyspark.sql.utils import is_remote

    pickled = cloudpickle.dumps(content)
    if is_remote():  # Spark Connect has no broadcast, so the content is part of the plan
        return partial(_unpickle, pickled)
    broadcast = blocks.sparkSession.sparkContext.broadcast(pickled)
    return lambda: _unpickle(broadcast.value)


def _unpickle(pickled: bytes) -> Any:
    content = pickle.loads(pickled)
    _freeze()
    return content


@cache
def _freeze() -> None:
    """Exclude everything imported so far from garbage collection, once per Spark worker.

    Spark collects garbage after each task, which takes ten times as long as a pass over a block.
    """
    gc.freeze()


def run_pass(sent: Callable[[], Callable[[Block], bytes]], places: Places, batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: the result for each block of a partition."""
    import pyarrow as pa

    fn = None
    for batch in batches:
        fn = fn or sent()
        for block in blocks_of(batch, places):
            part, result = int(places.part_b[block.index]), fn(block)
            yield pa.record_batch({"part": pa.array([part], pa.int32()), "total": pa.array([result], pa.binary())})


def _results(frame: Any, n_groups: int | None, places: Places) -> Iterator[Any]:
    """The results in the order of the blocks or, with groups, their sums over runs of blocks."""
    if n_groups is not None:
        from pyspark.sql import functions as F

        edges = [int(run[0]) for run in np.array_split(places.part_b, n_groups)][1:]
        group = F.lit(0)
        for number, edge in enumerate(edges, start=1):
            group = F.when(F.col("part") >= edge, number).otherwise(group)
        grouped = frame.withColumn("run", group).repartition(n_groups, "run").select("run", "part", "total")
        frame = map_batches(grouped, _add_runs, SUM)
    table = collect(frame)
    if table.num_rows != (len(places.part_b) if n_groups is None else n_groups):
        raise DataError(CHANGED)  # a block has no votes left
    order = np.argsort(table.column("part").to_numpy())
    total = table.column("total")
    for row in order.tolist():
        yield pickle.loads(total[row].as_py())


def _add_runs(batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: the results of each run of blocks, added up in order."""
    import pyarrow as pa

    parts_of: dict[int, list[tuple[int, bytes]]] = {}
    for batch in batches:
        for run, part, total in zip(*(batch.column(n).to_pylist() for n in ("run", "part", "total")), strict=True):
            parts_of.setdefault(run, []).append((part, total))
    for parts in parts_of.values():
        parts.sort()
        total = pickle.dumps(add_up(pickle.loads(content) for _, content in parts))
        yield pa.record_batch({"part": pa.array([parts[0][0]], pa.int32()), "total": pa.array([total], pa.binary())})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, weakref_slot=True)
class SparkVotes:
    """Votes that stay on the cluster; when this object is deleted, the executors' memory is freed.

    Estimators that get an engine read only the shape, names and counts of the votes.  Items are identified by their
    codes, in the order of the blocks; their names are stored in the blocks.
    """

    blocks: Any  # a frame with one row per block
    places: Places
    item_type: Any  # the Spark type of the items
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    n_votes: int
    account: Account
    gold_i: None = None  # on the cluster, models do not use gold labels
    slices: tuple[Hashable, ...] = ()  # items in a frame are not sliced
    slice_i: None = None

    def __post_init__(self) -> None:
        weakref.finalize(self, _free, self.blocks).atexit = False

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
        """The number of votes on each item, computed on demand where the items are stored."""
        return Rows(lambda block: np.diff(block.matrix.indptr))

    @property
    def engine(self) -> SparkEngine:
        """The engine for these blocks."""
        return SparkEngine(self.blocks, self.places)

    def take_items(self, item_p: IntArray) -> Votes:
        """Load the votes on the items with these codes (in ascending order) into the driver's memory."""
        import pyarrow.compute as pc

        code_p = np.asarray(item_p, dtype=np.int64)
        chosen = ship(self.blocks, code_p)
        fields = "part int, items array<int>, workers array<int>, labels array<int>, gold array<int>"
        names = f"array<{self.item_type.simpleString()}>"
        packed = self.blocks.select(*PACKED, "names")
        taken = map_batches(packed, partial(_take, chosen, self.places), f"{fields}, names {names}")
        table = collect(taken).sort_by("part").combine_chunks()
        item_n, worker_n, label_n, gold_i = (
            pc.list_flatten(table.column(name)).to_numpy() for name in ("items", "workers", "labels", "gold")
        )
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


def _free(blocks: Any) -> None:
    with contextlib.suppress(Exception):  # the session may already be closed
        blocks.unpersist()


def _take(sent: Any, places: Places, batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: the votes on the chosen items of each block, which are renumbered from 0."""
    import pyarrow as pa

    code_p = sent()
    for batch in batches:
        for row, block in enumerate(blocks_of(batch, places)):
            first, last = np.searchsorted(code_p, [block.start, block.stop])
            if first == last and block.index > 0:  # the first block always returns something, so that there is a table
                continue
            local_p = code_p[first:last] - block.start
            votes = take_items(votes_of(block), local_p)
            gold_i = np.full(len(local_p), -1) if votes.gold_i is None else votes.gold_i
            lists = {
                "items": votes.item_n + first, "workers": votes.worker_n, "labels": votes.label_n, "gold": gold_i,
            }  # fmt: skip
            yield pa.record_batch(
                {
                    "part": pa.array([places.part_b[block.index]], pa.int32()),
                    **{name: one_list(pa.array(array, pa.int32())) for name, array in lists.items()},
                    "names": one_list(batch.column("names")[row].values.take(pa.array(local_p))),
                }
            )


def label_frame(votes: SparkVotes, fits: Sequence[Fit], table: LabelTable) -> Any:
    """The labels as a lazy frame with the columns of labels.csv."""
    from pyspark.sql import types as T

    packed, kind = votes.blocks.select(*PACKED, "names"), _kind(votes.labels)
    spark_type = {"string": T.StringType, "int64": T.LongType, "double": T.DoubleType, "bool": T.BooleanType}
    kinds = label_kinds(kind)
    item = T.StructField("item", votes.item_type)
    schema = T.StructType([item, *(T.StructField(name, spark_type[one]()) for name, one in kinds.items())])
    values = tuple(str(v) for v in votes.labels) if kind == "string" else votes.labels
    sent = ship(packed, of_fits(table, *(replace(fit, label_values=values) for fit in fits)))
    return map_batches(packed, partial(_label_rows, sent, votes.places, kind), schema)


def label_kinds(kind: str) -> dict[str, str]:
    """The type of each column in the label table except the item; `kind` is the type of a label."""
    rules = {"label": kind, "source": "string", "confidence": "double", "majority": kind, "weighted_vote": kind}
    return {**rules, "runner_up": kind, "votes": "int64", "tied": "bool", "changed": "bool"}


def _label_rows(sent: Any, places: Places, kind: str, batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: the labels of each block."""
    import pyarrow as pa

    fn = None
    for batch in batches:
        fn = fn or sent()
        for row, block in enumerate(blocks_of(batch, places)):
            part = part_of(block)
            names = batch.column("names")[row].values
            table = fn(replace(part, votes=replace(part.votes, items=tuple(names.to_pylist()))))
            kinds = label_kinds(kind)
            columns = {name: pa.array(table[name], pa.type_for_alias(kinds[name]), from_pandas=True) for name in kinds}
            yield pa.record_batch({"item": names, **columns})


def _kind(labels: tuple[Any, ...]) -> str:
    """The Spark type of the label columns; labels of mixed types are written as text."""
    kinds = {type(label) for label in labels}
    if kinds == {int, float}:
        return "double"
    known = {str: "string", int: "int64", float: "double", bool: "bool"}
    return known.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


@dataclass(frozen=True, slots=True, eq=False)
class SparkBackend(Backend):
    """Votes on a cluster: the parts are blocks, and labels stay on the cluster."""

    votes: SparkVotes
    place: ClassVar[str] = "on Spark"
    keeps_items: ClassVar[bool] = False
    teaches: ClassVar[bool] = False

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.places.has_gold

    @property
    def engine(self) -> SparkEngine:
        """The blocks in the partitions of the frame."""
        return self.votes.engine

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """The results of `fn` for each block."""
        return self.votes.engine.map_blocks(lambda block: fn(part_of(block)), gold=True)

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:  # noqa: ARG002
        """The sum of the results of `fn` over all blocks."""
        return self.votes.engine.map_sum(lambda block: fn(part_of(block)), gold=True)

    def take(self, item_p: IntArray) -> Votes:
        """Load the votes on some items into the driver's memory."""
        return self.votes.take_items(item_p)

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of a random sample of items, drawn by name on the cluster."""
        named = self.votes.blocks.select("part", "names")
        lots = map_batches(named, partial(_draw, self.votes.places, share, seed), "code bigint, lot bigint")
        table = collect(lots)
        code_p, hash_p = (table.column(name).to_numpy() for name in ("code", "lot"))
        return np.asarray(code_p[np.argsort(hash_p.view(np.uint64), kind="stable")])

    def label_files(self, folder: Path, fits: Sequence[Fit], table: LabelTable) -> LabelFiles:
        """Let Spark write a Parquet folder now, because the labels may not fit into the driver's memory."""
        place = folder / "labels.parquet"
        if place.is_file():
            raise ConfigError(f"Cannot write {place}: it is a file, but Spark writes a folder. Move the file away.")
        refuse_unsafe([place])
        with spark_errors():
            label_frame(self.votes, fits, table).write.mode("overwrite").parquet(str(place))
        record_folder(place)
        return LabelFiles([place], {})


def _draw(places: Places, share: float, seed: int, batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: the items drawn from each block, with hashes as signed integers, the only kind in Spark."""
    import pyarrow as pa

    for batch in batches:
        for row in range(batch.num_rows):
            start = places.item_b[np.searchsorted(places.part_b, batch.column("part")[row].as_py())]
            code_p, hash_p = draw_of_part(int(start), batch.column("names")[row].values, share, seed)
            yield pa.record_batch({"code": pa.array(code_p), "lot": pa.array(hash_p.view(np.int64))})
