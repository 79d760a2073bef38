"""Votes in a Spark frame: blocks are the parts, and labels stay on the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from majorant.backend.base import Backend, LabelFiles, Part, Table
from majorant.backend.spark.engine import SparkEngine
from majorant.backend.spark.labels import label_frame
from majorant.backend.spark.pack import Places, mapped, part_of
from majorant.backend.spark.votes import SparkVotes
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.hash_sampling import drawn_of_part
from majorant.kernels import Block
from majorant.output import Columns
from majorant.votes import IntArray, Votes

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
        named = self.votes.frame.select("part", "names")
        table = mapped(named, partial(_draw, self.votes.places, share, seed), "code bigint, lot bigint").toArrow()
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
