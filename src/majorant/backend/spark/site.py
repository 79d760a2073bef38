"""Votes in a Spark frame, as the line sees them: blocks are the parts, and labels stay on the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from majorant.backend.counting import merged_patterns
from majorant.backend.spark.labels import label_frame
from majorant.backend.spark.pack import Places, mapped, part_of
from majorant.backend.spark.votes import SparkVotes
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS, Estimator
from majorant.estimate.em import Progress
from majorant.estimate.fit import Fit
from majorant.kernels import Block, FloatArray
from majorant.lots import drawn_of_part
from majorant.output import Columns
from majorant.site import LabelFiles, Part, Table
from majorant.tally import Patterns, counts, distinct_counts, votes_by_worker
from majorant.votes import IntArray, Votes

T = TypeVar("T")
LABELS = "labels.parquet"
NEEDS = {"confusion": "needs confusion matrices", "gold": "needs gold labels"}  # which a frame of votes does not hold


def methods() -> list[str]:
    """The methods that run on Spark."""
    return [name for name in ESTIMATORS if not _why_not(name)]


def _why_not(method: str) -> str:
    """Why a method does not run on a cluster; empty if it does."""
    estimator = ESTIMATORS[method]
    if estimator.needs in NEEDS:
        return NEEDS[estimator.needs]
    if estimator.keeps_items:
        return f"keeps the {estimator.keeps_items} of every item at the driver"
    return "" if estimator.distributed else "needs all votes in memory"


def refuse_method(method: str) -> None:
    """Refuse a method that is unknown, or that does not run on a cluster, with those that do."""
    if method in methods():
        return
    if method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. On Spark choose one of: {', '.join(methods())}.")
    raise ConfigError(
        f"{method} {_why_not(method)}, so it does not run on Spark. Choose one of: {', '.join(methods())}."
    )


@dataclass(frozen=True, slots=True, eq=False)
class SparkSite:
    """Votes on a cluster.  What is mapped over them is sent there with all that it holds: it should hold little."""

    votes: SparkVotes

    @property
    def whole(self) -> None:
        """The votes stay on the cluster."""

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.places.has_gold

    @property
    def methods(self) -> Sequence[str]:
        """The methods that run on blocks and keep nothing of items at the driver."""
        return methods()

    def refuse(self, method: str) -> None:
        """Refuse a method that does not run on a cluster."""
        if method != "combination":
            refuse_method(method)

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """What `fn` returns for each block."""
        return self.votes.engine.map_blocks(partial(_on_part, fn), gold=True)

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:  # noqa: ARG002
        """The sum over blocks of what `fn` returns."""
        return self.votes.engine.map_sum(partial(_on_part, fn), gold=True)

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items."""
        return merged_patterns(self.map(partial(_part_patterns, rows), doing="counting"))

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, (J, K)."""
        return self.sum(_worker_counts, doing="counting")

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items, in the driver's memory."""
        return self.votes.take_items(item_p)

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of items drawn by their names, on the cluster."""
        named = self.votes.frame.select("part", "names")
        table = mapped(named, partial(_draw, self.votes.places, share, seed), "code bigint, lot bigint").toArrow()
        code_p, lot_p = (table.column(name).to_numpy() for name in ("code", "lot"))
        return np.asarray(code_p[np.argsort(lot_p.view(np.uint64), kind="stable")])

    def fit(self, method: str, seed: int) -> Fit:
        """The fit of a method by its name; its probabilities are computed where the items are."""
        refuse_method(method)
        return self.fit_estimator(ESTIMATORS[method](), seed)

    def fit_estimator(self, estimator: Estimator, seed: int | None, progress: Progress | None = None) -> Fit:
        """The fit of a method with its settings."""
        more = {"rng": seed} if estimator.stochastic else {}
        told = {"progress": progress} if estimator.iterative and progress is not None else {}
        # Given an engine, estimators ask votes for their shape, names and counts alone, and SparkVotes has these.
        return estimator.fit(cast("Votes", self.votes), engine=self.votes.engine, **more, **told)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of each item, to be computed where the item is."""
        return self.votes.engine.rows(fn)

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


def _part_patterns(rows: Callable[[Votes], IntArray], part: Part) -> Patterns:
    return distinct_counts(rows(part.votes))


def _worker_counts(part: Part) -> NDArray[np.int64]:
    return votes_by_worker(part.votes)


def _of_votes(table: Table, part: Part, fit: Fit) -> Columns:
    return table(part.votes, fit)
