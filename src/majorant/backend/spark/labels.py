"""Labels of votes in a Spark frame, as a frame: they are computed where the items are, when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from majorant.backend import Part, rows_alone
from majorant.backend.spark.engine import ship
from majorant.backend.spark.pack import PACKED, Places, blocks_of, mapped, part_of
from majorant.backend.spark.votes import SparkVotes
from majorant.estimate.fit import Fit
from majorant.output import Columns

PartTable = Callable[[Part, Fit], Columns]  # from some items and their part of a fit: the table of their labels


def label_frame(votes: SparkVotes, fit: Fit, table: PartTable) -> Any:
    """The labels as a frame, with the columns of labels.csv; nothing is computed before it is asked for."""
    from pyspark.sql import types as T

    packed, kind = votes.frame.select(*PACKED, "names"), _kind(votes.labels)
    spark_type = {"string": T.StringType, "int64": T.LongType, "double": T.DoubleType, "bool": T.BooleanType}
    kinds = label_kinds(kind)
    item = T.StructField("item", votes.frame.schema["names"].dataType.elementType)
    schema = T.StructType([item, *(T.StructField(name, spark_type[one]()) for name, one in kinds.items())])
    values = tuple(str(v) for v in votes.labels) if kind == "string" else votes.labels
    sent = ship(votes.frame, partial(_table_of, replace(rows_alone(fit), label_values=values), table))
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
