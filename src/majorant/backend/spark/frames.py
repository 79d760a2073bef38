"""From a Spark frame of votes to packed blocks: names to codes, one shuffle by item, one block a partition."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from majorant.account import Account, Note
from majorant.backend.spark.pack import FACTS, Packing, Places, mapped, pack
from majorant.backend.spark.votes import SparkVotes
from majorant.backend.sql import as_worker_counts, worker_query
from majorant.errors import ConfigError, DataError
from majorant.io import MAX_CLASSES
from majorant.io.gold import match_labels
from majorant.io.values import is_empty, label_notes, numbers_if_all, sort_labels
from majorant.votes import IntArray

BLOCK_VOTES = 1_000_000  # of a partition, more where there are many workers: a block's sums have an entry for each
LEAST_VOTES = 50_000  # fewer in a partition do not pay for the call
POLICIES = ("error", "each")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a frame, by the caller's names."""

    item: str = "item"
    worker: str = "worker"
    label: str = "label"
    gold: str | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Vocabulary:
    """Workers and labels, the votes of each pair of them, and how raw values become codes."""

    workers: Any  # an Arrow array, sorted
    labels: tuple[Hashable, ...]
    label_map: Any  # an Arrow table: the raw label and its code
    gold_map: Any  # the same of gold labels; None where there are none
    votes_jl: IntArray
    n_empty: int  # rows without a label
    n_by_label: dict[Any, int]


def encode(
    frame: Any,
    columns: Columns | None = None,
    *,
    repeats: str = "error",
    empty: Sequence[str] = (),
    max_classes: int = MAX_CLASSES,
    partitions: int | None = None,
    folder: str | None = None,
    text: bool = False,
    source: str = "Spark frame",
) -> SparkVotes:
    """The votes of a frame as blocks, one a partition, kept by the executors or, with `folder`, as Parquet there.

    A row without a label is no vote.  A vote that comes twice is merged, or counts twice with repeats="each"; rows of
    a frame have no order, so neither the first nor the last can be kept.  `text` says that labels were read as text,
    which become numbers where all of them do.
    """
    if repeats not in POLICIES:
        raise ConfigError(
            f"repeats={repeats}: rows of a Spark frame have no order. Choose one of {', '.join(POLICIES)}."
        )
    columns = columns or Columns()
    raw = _raw(frame, columns, source)
    words = vocabulary(raw, columns, frozenset(empty), max_classes, source, text=text)
    n_workers, n_classes = len(words.workers), len(words.labels)
    coded = _coded(frame.sparkSession, raw, words)
    n_parts = partitions or _n_partitions(frame, int(words.votes_jl.sum()) + words.n_empty, n_workers, n_classes)
    packing = Packing(n_workers=n_workers, n_classes=n_classes, repeats=repeats)
    packed = _kept(coded.repartition(n_parts, "item"), packing, folder)
    facts = packed.select(*FACTS).toArrow().sort_by("part").to_pydict()
    _refuse_trouble(facts, words, columns, source)
    places = Places(
        part_b=np.array(facts["part"], dtype=np.int64),
        item_b=np.concatenate([[0], np.cumsum(facts["items"], dtype=np.int64)]),
        n_workers=n_workers,
        n_classes=n_classes,
        has_gold=columns.gold is not None,
    )
    return SparkVotes(
        frame=packed,
        places=places,
        workers=tuple(words.workers.to_pylist()),
        labels=words.labels,
        n_votes=sum(facts["votes"]),
        account=_account(facts, words, columns, repeats, source),
    )


def _raw(frame: Any, columns: Columns, source: str) -> Any:
    """The frame with the columns item, worker, label and gold."""
    from pyspark.sql import functions as F

    named = {"item": columns.item, "worker": columns.worker, "label": columns.label, "gold": columns.gold}
    for role, name in named.items():
        if name is not None and name not in frame.columns:
            raise ConfigError(
                f"{source} has no column {name!r} to take for the {role}. Its columns are {', '.join(frame.columns)}."
            )
    gold = F.lit(None).cast("string") if columns.gold is None else frame[f"`{columns.gold}`"]
    kept = (frame[f"`{named[role]}`"].alias(role) for role in ("item", "worker", "label"))
    return frame.select(*kept, gold.alias("gold"))


def vocabulary(
    raw: Any, columns: Columns, empty: frozenset[str], max_classes: int, source: str, *, text: bool
) -> Vocabulary:
    """Workers and labels with their counts, by the SQL that DuckDB runs as well: one pass over the frame."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = raw.sparkSession.sql(worker_query("{votes}"), votes=raw).persist()
    try:
        values = [row[0] for row in counted.select("label").distinct().limit(max_classes + 2).collect()]
        filled = [v for v in values if not is_empty(v) and str(v) not in empty]
        if len(filled) > max_classes:
            raise DataError(
                f"{source}, column {columns.label!r}: more than {max_classes:,} different labels, e.g. {filled[0]!r}; "
                "it is probably not the column of labels. Say which is with label='NAME', or raise max_classes=."
            )
        if not filled:
            raise DataError(f"{source}: no row holds a vote; column {columns.label!r} is empty throughout.")
        table = counted.toArrow().combine_chunks()
    finally:
        counted.unpersist()
    workers = pc.unique(table.column("worker")).drop_null()
    workers = workers.take(pc.sort_indices(workers))
    nobody = [v for v in workers.to_pylist() if is_empty(v)] if pa.types.is_string(workers.type) else []
    if nobody or table.column("worker").null_count:
        raise DataError(
            f"{source}, column {columns.worker!r}: some rows name no worker. Fill them in or leave them out."
        )
    golds = [] if columns.gold is None else _gold_values(raw, empty, max_classes, columns, source)
    labels, code_of, gold_code_of = _named(filled, golds, text=text)
    votes_jl, n_empty = _worker_counts(table, workers, code_of, len(labels))
    return Vocabulary(
        workers=workers,
        labels=tuple(labels),
        label_map=_code_table(code_of),
        gold_map=_code_table(gold_code_of) if golds else None,
        votes_jl=votes_jl,
        n_empty=n_empty,
        n_by_label=dict(zip(labels, votes_jl.sum(axis=0).tolist(), strict=True)),
    )


def _code_table(code_of: dict[Any, int]) -> Any:
    import pyarrow as pa

    return pa.table({"raw": pa.array([*code_of]), "code": pa.array([*code_of.values()], pa.int32())})


def _gold_values(raw: Any, empty: frozenset[str], max_classes: int, columns: Columns, source: str) -> list[Any]:
    values = [row[0] for row in raw.select("gold").distinct().limit(max_classes + 2).collect()]
    filled = [v for v in values if not is_empty(v) and str(v) not in empty]
    if len(filled) > max_classes:
        raise DataError(f"{source}, column {columns.gold!r}: more than {max_classes:,} different gold labels.")
    return filled


def _named(filled: list[Any], golds: list[Any], *, text: bool) -> tuple[list[Any], dict[Any, int], dict[Any, int]]:
    """The labels in their order, and the code of each raw label and gold; gold may name labels that nobody gave."""
    numbers = numbers_if_all([*filled, *golds]) if text else {}
    given = [numbers.get(v, v) for v in filled]
    gold_labels = match_labels([numbers.get(v, v) for v in golds], given)
    labels = sort_labels(dict.fromkeys([*given, *gold_labels]))
    code = {label: k for k, label in enumerate(labels)}
    return (
        labels,
        {value: code[label] for value, label in zip(filled, given, strict=True)},
        {value: code[label] for value, label in zip(golds, gold_labels, strict=True)},
    )


def _worker_counts(table: Any, workers: Any, code_of: dict[Any, int], n_classes: int) -> tuple[IntArray, int]:
    import pyarrow.compute as pc

    worker_r = pc.index_in(table.column("worker"), workers).to_numpy()
    label_r = np.array([code_of.get(v, -1) for v in table.column("label").to_pylist()])
    votes_r = table.column("votes").to_numpy()
    used = label_r >= 0
    keys, place = np.unique(worker_r[used] * np.int64(n_classes) + label_r[used], return_inverse=True)
    votes = np.bincount(place, weights=votes_r[used], minlength=len(keys)).astype(np.int64)
    votes_jl = as_worker_counts([keys // n_classes, keys % n_classes, votes], len(workers), n_classes)
    return votes_jl, int(votes_r[~used].sum())


def _coded(spark: Any, raw: Any, words: Vocabulary) -> Any:
    """The frame with codes for workers, labels and gold, by joins with what every executor is sent; -1 for none."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    numbers = pa.array(np.arange(len(words.workers), dtype=np.int32))
    worker_map = spark.createDataFrame(pa.table({"name": words.workers, "number": numbers}))
    label_map = spark.createDataFrame(words.label_map)
    joined = raw.join(F.broadcast(worker_map), raw["worker"] == worker_map["name"]).join(
        F.broadcast(label_map), raw["label"] == label_map["raw"], "left"
    )
    none = F.lit(-1)
    gold = none
    if words.gold_map is not None:
        gold_map = spark.createDataFrame(words.gold_map).toDF("gold_raw", "gold_code")
        joined = joined.join(F.broadcast(gold_map), raw["gold"] == gold_map["gold_raw"], "left")
        gold = F.coalesce("gold_code", none)
    return joined.select(
        raw["item"].alias("item"),
        F.col("number").alias("worker"),
        F.coalesce("code", none).alias("label"),
        gold.alias("gold"),
    )


def _n_partitions(frame: Any, n_rows: int, n_workers: int, n_classes: int) -> int:
    """Enough for every core, but not so many that the sums of a block outgrow its votes."""
    votes = max(BLOCK_VOTES, 4 * n_workers * n_classes)
    cores = int(frame.sparkSession.conf.get("spark.default.parallelism", "0")) or _cores(frame)
    return max(1, -(-n_rows // votes), min(2 * cores, n_rows // max(LEAST_VOTES, 4 * n_workers * n_classes)))


def _cores(frame: Any) -> int:
    from pyspark.sql.utils import is_remote

    return 2 if is_remote() else int(frame.sparkSession.sparkContext.defaultParallelism)


def _kept(parted: Any, packing: Packing, folder: str | None) -> Any:
    """The packed blocks, in the executors' memory (what does not fit on their disks) or as Parquet in a folder."""
    from pyspark import StorageLevel
    from pyspark.sql import types as T

    schema = T.StructType(
        [
            T.StructField("part", T.IntegerType()),
            *(T.StructField(name, T.LongType()) for name in FACTS[1:-1]),
            T.StructField("trouble", T.StringType()),
            *(T.StructField(name, T.BinaryType()) for name in ("columns", "offsets", "gold")),
            T.StructField("names", T.ArrayType(parted.schema["item"].dataType)),
        ]
    )
    packed = mapped(parted, partial(pack, packing=packing), schema)
    if folder is None:
        return packed.persist(StorageLevel.MEMORY_AND_DISK)
    packed.write.mode("overwrite").parquet(folder)
    return parted.sparkSession.read.schema(schema).parquet(folder)


def _refuse_trouble(facts: dict[str, list[Any]], words: Vocabulary, columns: Columns, source: str) -> None:
    """Rows without an item, workers who contradict themselves, items with two gold labels."""
    if sum(facts["nameless"]):
        raise DataError(f"{source}, column {columns.item!r}: {sum(facts['nameless']):,} rows name no item.")
    for told in facts["trouble"]:
        if told is None:
            continue
        found = json.loads(told)
        if "gold" in found:
            both = " and ".join(repr(words.labels[k]) for k in found["gold"])
            raise DataError(f"{source}: item {found['item']!r} has two gold labels, {both}. Keep one.")
        said = " and ".join(repr(words.labels[k]) for k in found["labels"])
        raise DataError(
            f"{source}: worker {words.workers[found['worker']].as_py()!r} labels item {found['item']!r} twice, {said}. "
            "Keep one vote per worker and item, or count both with repeats='each'."
        )


def _account(facts: dict[str, list[Any]], words: Vocabulary, columns: Columns, repeats: str, source: str) -> Account:
    roles = {"item": columns.item, "worker": columns.worker, "label": columns.label, "gold": columns.gold}
    votes, merged, rows = (sum(facts[name]) for name in ("votes", "merged", "rows"))
    notes = []
    if merged:
        notes.append(Note("merged", f"{merged:,} exact {'copy' if merged == 1 else 'copies'} of other votes merged."))
    return Account(
        source=source,
        format="Spark",
        columns={role: name for role, name in roles.items() if name is not None},
        rows=rows,
        votes=votes,
        abstained=rows - votes - merged,
        merged=merged,
        repeats=repeats,
        notes=(*notes, *label_notes(words.labels, words.n_by_label)),
    )
