"""Votes in a Spark frame: blocks are the parts, and labels stay on the cluster.

Labels of votes in a Spark frame, as a frame: they are computed where the items are, when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from majorant.backend.base import Backend, LabelFiles, Part, Table, rows_alone
from majorant.backend.spark.pack import PACKED, Places, blocks_of, brought, mapped, part_of
from majorant.backend.spark.votes import SparkEngine, SparkVotes, ship
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.items import drawn_of_part
from majorant.kernels import Block
from majorant.limits import limit
from majorant.output import Columns
from majorant.votes import IntArray, Votes

PartTable = Callable[[Part, Fit], Columns]  # from some items and their part of a fit: the table of their labels


def label_frame(votes: SparkVotes, fit: Fit, table: PartTable) -> Any:
    """The labels as a frame, with the columns of labels.csv; nothing is computed before it is asked for."""
    from pyspark.sql import types as T

    packed, kind = votes.frame.select(*PACKED, "names"), _kind(votes.labels)
    spark_type = {"string": T.StringType, "int64": T.LongType, "double": T.DoubleType, "bool": T.BooleanType}
    kinds = label_kinds(kind)
    item = T.StructField("item", votes.item_type)
    schema = T.StructType([item, *(T.StructField(name, spark_type[one]()) for name, one in kinds.items())])
    values = tuple(str(v) for v in votes.labels) if kind == "string" else votes.labels
    sent = ship(packed, partial(_table_of, replace(rows_alone(fit), label_values=values), table))
    return mapped(packed, partial(_label_rows, sent, votes.places, kind), schema)


def label_kinds(kind: str) -> dict[str, str]:
    """The type of each column of labels beside the item; `kind` is that of a label."""
    named = {"label": kind, "confidence": "double", "runner_up": kind, "margin": "double"}
    return {**named, "votes": "int64", "tied": "bool", "changed": "string"}


def _table_of(fit: Fit, table: PartTable, part: Part) -> Columns:
    return table(part, part.of(fit))


def _label_rows(sent: Any, places: Places, kind: str, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the labels of each block."""
    import pyarrow as pa

    fn = None
    for batch in batches:
        fn = fn or sent()
        for row, block in enumerate(blocks_of(batch, places)):
            table = fn(part_of(block))
            kinds = label_kinds(kind)
            columns = {name: pa.array(table[name], pa.type_for_alias(kinds[name]), from_pandas=True) for name in kinds}
            yield pa.record_batch({"item": batch.column("names")[row].values, **columns})


def _kind(labels: tuple[Any, ...]) -> str:
    """The type of a column of labels; labels of several types are written as text."""
    kinds = {type(label) for label in labels}
    if kinds == {int, float}:
        return "double"
    known = {str: "string", int: "int64", float: "double", bool: "bool"}
    return known.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


T = TypeVar("T")
LABELS = "labels.parquet"


@dataclass(frozen=True, slots=True, eq=False)
class SparkBackend(Backend):
    """Votes on a cluster: blocks are the parts, and labels stay there."""

    votes: SparkVotes
    place: ClassVar[str] = "on Spark"
    keeps_items: ClassVar[bool] = False
    teaches: ClassVar[bool] = False

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.places.has_gold

    @property
    def at_hand(self) -> int:
        """Votes, up to which `check` works in the driver's memory: a pass over blocks costs what millions do there."""
        return limit("SPARK_DRIVER_VOTES")

    @property
    def engine(self) -> SparkEngine:
        """The blocks, in the partitions of the frame."""
        return self.votes.engine

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """What `fn` returns for each block."""
        return self.votes.engine.map_blocks(partial(_on_part, fn), gold=True)

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:  # noqa: ARG002
        """The sum over blocks of what `fn` returns."""
        return self.votes.engine.map_sum(partial(_on_part, fn), gold=True)

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items, in the driver's memory."""
        return self.votes.take_items(item_p)

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of items drawn by their names, on the cluster."""
        named = self.votes.blocks.select(["part", "names"])
        lots = mapped(named, partial(_draw, self.votes.places, share, seed), "code bigint, lot bigint")
        table = brought(lots)
        code_p, lot_p = (table.column(name).to_numpy() for name in ("code", "lot"))
        return np.asarray(code_p[np.argsort(lot_p.view(np.uint64), kind="stable")])

    def label_files(self, folder: Path, fit: Fit, table: Table) -> LabelFiles:
        """A folder that Spark fills, at once: the labels of a cluster need not fit through its driver."""
        place = folder / LABELS
        if place.is_file():
            raise ConfigError(f"Cannot write {place}: it is a file, and Spark writes a folder. Move it away.")
        label_frame(self.votes, fit, partial(_of_votes, table)).write.mode("overwrite").parquet(str(place))
        return LabelFiles([place], {})


def _on_part(fn: Callable[[Part], T], block: Block) -> T:
    return fn(part_of(block))


def _draw(places: Places, share: float, seed: int, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the items of each block that are drawn; Spark has no numbers without a sign."""
    import pyarrow as pa

    for batch in batches:
        for row in range(batch.num_rows):
            start = places.item_b[np.searchsorted(places.part_b, batch.column("part")[row].as_py())]
            code_p, lot_p = drawn_of_part(int(start), batch.column("names")[row].values, share, seed)
            yield pa.record_batch({"code": pa.array(code_p), "lot": pa.array(lot_p.view(np.int64))})


def _of_votes(table: Table, part: Part, fit: Fit) -> Columns:
    return table(part.votes, fit)
