"""Read votes from files or a Spark frame into blocks on the cluster.

Files that this machine can open go through our own reader, so they are interpreted as in memory, and Spark gets them as
Parquet.  In frames, and in Parquet files that only the cluster can open, workers and labels get their codes by joins.
Up to SPARK_DRIVER_VOTES rows are processed in the driver's memory.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
import weakref
from collections.abc import Hashable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from majorant.backend.base import Backend, MemoryBackend
from majorant.backend.spark.backend import SparkBackend, SparkVotes
from majorant.backend.spark.pack import BlockFacts, Packing, Places, map_batches, pack
from majorant.backend.spark.session import collect, spark_errors
from majorant.backend.stage import (
    Staged,
    count_labels,
    find_workers,
    locate_labels,
    measure_coverage,
    stage_table,
    view_rows,
    voted_by_status,
)
from majorant.database import connect
from majorant.errors import ConfigError, DataError
from majorant.filetypes import type_of_ending
from majorant.kernels import add_up
from majorant.limits import limit
from majorant.read import read_with
from majorant.read.build import (
    Coded,
    Gold,
    LabelCodes,
    Resolved,
    Span,
    make_account,
    name_labels,
    no_votes,
    too_many_labels,
    unclear_status,
)
from majorant.read.gold import load_gold, match_gold, one_gold, spellings
from majorant.read.opening import open_table
from majorant.read.options import ReadOptions, find_roles
from majorant.read.table import Table, decode, is_empty, is_vote, voted
from majorant.votes import Account, IntArray


def read_files(spark: Any, files: Sequence[str], options: ReadOptions, *, partitions: int | None = None) -> Backend:
    """Read the votes of some files for a Spark session.

    Parameters
    ----------
    spark
        The session.
    files
        Files, folders or patterns on this machine, or addresses of Parquet files that the cluster can open.
    options
        How to read them.
    partitions
        The number of blocks on the cluster; by default as many as needed, or none if there are few votes.
    """
    options = _without_order(options)
    if any("://" in file for file in files):
        types = [type_of_ending(Path(file.rstrip("/")).suffix) for file in files]
        if options.format != "parquet" and any(one is not None and one.name != "parquet" for one in types):
            raise ConfigError(
                f"{files[0]}: from an address, Spark reads only Parquet. Write the votes as Parquet first, or pass a "
                "Spark frame to majorant.check."
            )
        with spark_errors():
            frame = spark.read.parquet(*files)
        return read_frame(frame, replace(options, format=None), source=", ".join(files), partitions=partitions)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="majorant-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        with open_table(list(files), options) as table:
            staged = None if table.wide else stage_table(table, folder / "rows.parquet", options)
        if staged is None:
            return MemoryBackend(read_with(list(files), options))
        if partitions is None and staged.coded.n_rows <= limit("SPARK_DRIVER_VOTES"):
            return MemoryBackend(read_with(list(files), options))
        with spark_errors():
            votes = _encode_staged(spark, staged, one_gold(options, table), partitions)
        weakref.finalize(votes, stack.pop_all().close)  # if blocks are lost, they are recomputed from the staged file
        return SparkBackend(votes)


def read_frame(
    frame: Any, options: ReadOptions, *, source: str = "Spark frame", partitions: int | None = None
) -> Backend:
    """Read the votes of a Spark frame with a row per vote.

    Parameters
    ----------
    frame
        The frame.
    options
        How to read the frame; columns are found by name, as in any table.
    source
        The name of the frame in messages.
    partitions
        The number of blocks on the cluster; by default as many as needed, or none if there are few votes.
    """
    options = _without_order(options)
    with spark_errors():
        if partitions is None and frame.count() <= limit("SPARK_DRIVER_VOTES"):
            with suppress(_TooLargeForDriver):
                return _read_here(frame, options, source)
        return SparkBackend(_encode_frame(frame, options, source, partitions))


def _without_order(options: ReadOptions) -> ReadOptions:
    """The options for Spark; policies for repeated votes that depend on the order of rows are refused."""
    if options.repeats not in ("error", "each"):
        raise ConfigError(f"repeats={options.repeats}: rows on Spark have no order. Choose one of error, each.")
    return replace(options, seconds="", threads=None, progress=None)


class _TooLargeForDriver(Exception):
    """Too many bytes for the driver, although there are few rows."""


def _read_here(frame: Any, options: ReadOptions, source: str) -> Backend:
    try:
        table = frame.toArrow()
    except Exception as error:  # Spark's own, or py4j's
        if "spark.driver.maxResultSize" not in str(error):
            raise
        raise _TooLargeForDriver from None
    votes = read_with(table, options)
    return MemoryBackend(replace(votes, account=replace(votes.account, source=source)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Vocabulary:
    """Workers, labels and gold labels of votes on the cluster."""

    coded: Coded
    named: LabelCodes
    gold: Gold | None
    workers: Sequence[Hashable]

    @property
    def has_gold(self) -> bool:
        return self.named.gold_map is not None or self.named.gold_i is not None


def _encode_staged(spark: Any, staged: Staged, options: ReadOptions, partitions: int | None) -> SparkVotes:
    """Make blocks from votes staged as Parquet."""
    from pyspark.sql import functions as F

    coded = staged.coded
    with connect() as connection:
        view_rows(connection, staged)
        workers, worker_of = find_workers(connection, coded)
        voted_s = voted_by_status(connection, coded)
        uses = count_labels(connection, coded, options)
        located = locate_labels(connection, coded)
    if not uses.any():
        raise no_votes(coded)
    frame = _staged_frame(spark, staged)
    items, gold = _gold_of_file(frame, options)
    named = name_labels(located, decode(coded.known["label"], coded.table.kind), uses, gold, options, len(items))
    given = {role: F.col(role) if role in coded.known else F.lit(-1) for role in ("worker", "label", "gold", "status")}
    rows = frame.select("item", *(column.alias(role) for role, column in given.items()))
    if named.gold_i is not None:
        rows = _join_codes(rows.drop("gold"), "item", "gold", items, named.gold_i)
    packing = Packing(
        n_workers=len(workers),
        n_classes=len(named.labels),
        repeats=options.repeats,
        worker_map=worker_of,
        label_map=named.label_map,
        gold_map=named.gold_map,
        voted=voted_s,
    )
    words = _Vocabulary(coded=coded, named=named, gold=gold, workers=workers)
    n_parts = partitions or _choose_partitions(spark, coded.n_rows, packing)
    return _pack_rows(rows.repartition(n_parts, "item"), packing, words, options)


def _staged_frame(spark: Any, staged: Staged) -> Any:
    """The staged file as a frame; a cluster on other machines cannot open it, so its rows are sent."""
    import pyarrow.parquet as pq
    from pyspark.sql.utils import is_remote

    schema = pq.read_schema(staged.path)
    if str(schema.field("item").type) == "uint64":
        raise DataError(
            f"{staged.coded.table.source}, column {staged.coded.table.columns['item']!r}: unsigned 64-bit integers, "
            "which Spark does not have. Write all items as text."
        )
    if not is_remote() and spark.sparkContext.master.startswith("local"):
        return spark.read.parquet(str(staged.path))
    size = staged.path.stat().st_size
    if size > 1 << 28:  # more than a driver can easily send
        raise ConfigError(
            f"{staged.coded.table.source} is too large to send to the cluster. Store the votes as Parquet where the "
            "cluster can open them, and name that address."
        )
    return spark.createDataFrame(pq.read_table(staged.path))


def _encode_frame(frame: Any, options: ReadOptions, source: str, partitions: int | None) -> SparkVotes:
    """Make blocks from the votes in a frame."""
    from pyspark.sql import functions as F

    for name in ("columns", "wide", "workers", "several", "by"):
        if getattr(options, name):
            raise ConfigError(
                f"{name}= works only for votes in memory, and {source} is too large. Convert it to one row per vote."
            )
    roles = {role: frame.columns[place] for role, place in find_roles(frame.columns, options.choice, source).items()}
    _refuse_types(frame, roles, source)
    ignored = tuple(name for name in frame.columns if name not in roles.values())
    table = Table(source=source, kind="typed", format="Spark", columns=roles, ignored=ignored, parts=iter(()))
    options = one_gold(options, table)
    given = {role: frame[f"`{name}`"] for role, name in roles.items()}
    if "status" in given:
        silent = _silent_statuses(frame, given["status"], source, roles["status"])
        if silent:
            given["label"] = F.when(given["status"].isin(silent), None).otherwise(given["label"])
    rows = frame.select(*(column.alias(role) for role, column in given.items() if role != "status"))
    counts = _count_votes(rows, table, options)
    words, items = _name_all(rows, table, options, counts)
    numbers = np.arange(len(words.workers), dtype=np.int32)
    coded = _join_codes(rows, "worker", "worker_code", words.workers, numbers)
    coded = _join_codes(coded, "label", "label_code", words.coded.known["label"], words.named.label_map)
    gold = F.lit(-1)
    if words.named.gold_i is not None:
        coded, gold = _join_codes(coded, "item", "gold_code", items, words.named.gold_i), F.col("gold_code")
    elif words.named.gold_map is not None:
        known = words.coded.known["gold"]
        coded, gold = _join_codes(coded, "gold", "gold_code", known, words.named.gold_map), F.col("gold_code")
    coded = coded.select(
        "item", F.col("worker_code").alias("worker"), F.col("label_code").alias("label"), gold.alias("gold")
    )
    packing = Packing(n_workers=len(words.workers), n_classes=len(words.named.labels), repeats=options.repeats)
    n_rows = sum(counts.column("votes").to_pylist())
    n_parts = partitions or _choose_partitions(frame.sparkSession, n_rows, packing)
    return _pack_rows(coded.repartition(n_parts, "item"), packing, words, options)


def _refuse_types(frame: Any, roles: dict[str, str], source: str) -> None:
    """Refuse types whose values differ between Spark and memory."""
    plain = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "void")
    for role, name in roles.items():
        kind = frame.schema[name].dataType.simpleString()
        if kind not in plain and not kind.startswith(("varchar", "char")):
            raise DataError(f"{source}, column {name!r}: the {role} is of type {kind}. Cast it to text or to a number.")


def _silent_statuses(frame: Any, column: Any, source: str, name: str) -> list[Any]:
    """The status values that mean "no vote"."""
    most = 1_000
    values = [row[0] for row in frame.select(column).distinct().limit(most).collect()]
    meanings = {value: voted(value) for value in values}
    for value, meaning in meanings.items():
        if meaning is None:
            raise unclear_status(source, name, value)
    return [value for value, meaning in meanings.items() if not meaning]


def _count_votes(rows: Any, table: Table, options: ReadOptions) -> Any:
    """How often each worker gave each label, as an Arrow table."""
    counted = rows.groupBy("worker", "label").count().withColumnRenamed("count", "votes")
    most = 10_000_000  # pairs; more means that the column does not hold labels
    counts = counted.limit(most).toArrow()
    if len(counts) == most:
        _distinct(rows, "label", table, options)
        counts = counted.toArrow()
    return counts


def _name_all(rows: Any, table: Table, options: ReadOptions, counts: Any) -> tuple[_Vocabulary, list[Any]]:
    """Sort workers by name, interpret labels by the usual rules, and look up the items in the gold file."""
    import pyarrow.compute as pc

    values = _few_values(pc.unique(counts.column("label")).to_pylist(), "label", table, options)
    names = pc.unique(counts.column("worker"))
    workers = names.take(pc.sort_indices(names)).to_pylist()
    if any(is_empty(worker) for worker in workers):
        raise DataError(
            f"{table.source}, column {table.columns['worker']!r}: the worker is empty in some rows. Every row needs "
            "one; fill it in or remove the row."
        )
    known = {"label": values}
    if "gold" in table.columns:
        known["gold"] = _distinct(rows, "gold", table, options)
    coded = _as_coded(table, known)
    code_of = {value: code for code, value in enumerate(values)}
    uses = np.zeros(len(values), dtype=np.int64)
    for label, votes in zip(counts.column("label").to_pylist(), counts.column("votes").to_pylist(), strict=True):
        if is_vote(label, options.no_vote):
            uses[code_of[label]] += votes
    if not uses.any():
        raise no_votes(coded)
    items, gold = _gold_of_file(rows, options)
    named = name_labels(coded, values, uses, gold, options, len(items))
    return _Vocabulary(coded=coded, named=named, gold=gold, workers=workers), items


def _distinct(rows: Any, role: str, table: Table, options: ReadOptions) -> list[Any]:
    """The distinct values of a column; too many are refused."""
    first = rows.select(role).distinct().limit(options.most_labels + 2).collect()
    return _few_values([row[0] for row in first], role, table, options)


def _few_values(values: list[Any], role: str, table: Table, options: ReadOptions) -> list[Any]:
    filled = [value for value in values if is_vote(value, options.no_vote)]
    if len(filled) > options.most_labels:
        raise too_many_labels(table.source, role, table.columns[role], options.most_labels, filled[0])
    return filled


def _as_coded(table: Table, known: dict[str, list[Any]]) -> Coded:
    """The vocabularies of a frame, as if read from a table with one row per value."""
    codes = {role: np.arange(len(values), dtype=np.int32) for role, values in known.items()}
    nothing = dict.fromkeys(known, np.empty(0, dtype=np.int32))
    span = Span(0, table.source, "value", 1, None)
    return Coded(
        table=table, n_rows=0, codes=codes, declared=nothing, known=dict(known), seconds_n=None, spans=[span],
        declared_spans=[span],
    )  # fmt: skip


def _gold_of_file(rows: Any, options: ReadOptions) -> tuple[list[Any], Gold | None]:
    """The items in the gold file, and the gold label of each."""
    if options.gold_file is None:
        return [], None
    import pyarrow as pa
    from pyspark.sql import functions as F

    file = load_gold(options.gold_file, options.for_gold())
    texts = rows.sparkSession.createDataFrame(pa.table({"text": pa.array(sorted(spellings(file.items)))}))
    asked = rows.join(F.broadcast(texts), rows["item"].cast("string") == texts["text"], "left_semi")
    items = [row[0] for row in asked.select("item").distinct().collect()]
    return items, match_gold(file, items)


def _join_codes(rows: Any, column: str, name: str, values: Sequence[Any], code_v: IntArray) -> Any:
    """Add a column with the codes of another column, -1 for values without a code."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    used = [(value, int(code)) for value, code in zip(values, code_v, strict=False) if code >= 0]
    if not used:
        return rows.withColumn(name, F.lit(-1))
    table = pa.table({"value": pa.array([v for v, _ in used]), "code": pa.array([c for _, c in used], pa.int32())})
    codes = rows.sparkSession.createDataFrame(table).toDF("value of code", "code of value")
    joined = rows.join(F.broadcast(codes), rows[column] == codes["value of code"], "left")
    kept = [F.col(other) for other in rows.columns]
    return joined.select(*kept, F.coalesce(F.col("code of value"), F.lit(-1)).alias(name))


def _pack_rows(rows: Any, packing: Packing, words: _Vocabulary, options: ReadOptions) -> SparkVotes:
    """Pack each partition of whole items, and keep the blocks with the executors."""
    from pyspark import StorageLevel

    item_type = rows.schema["item"].dataType
    schema = f"part int, facts binary, content binary, names array<{item_type.simpleString()}>"
    blocks = map_batches(rows, partial(pack, packing=packing), schema).persist(StorageLevel.MEMORY_AND_DISK)
    described = collect(blocks.select("part", "facts")).sort_by("part")
    seal_b, facts_b = zip(*map(pickle.loads, described.column("facts").to_pylist()), strict=True)
    facts: BlockFacts = add_up(facts_b)
    _refuse_trouble(facts, words)
    return SparkVotes(
        blocks=blocks,
        places=Places(
            part_b=described.column("part").to_numpy().astype(np.int64),
            item_b=np.concatenate([[0], np.cumsum([one.counts.items for one in facts_b], dtype=np.int64)]),
            seal_b=np.array(seal_b, dtype=np.int64),
            n_workers=packing.n_workers,
            n_classes=packing.n_classes,
            has_gold=words.has_gold,
        ),
        item_type=item_type,
        workers=tuple(words.workers),
        labels=tuple(words.named.labels),
        n_votes=int(facts.counts.votes_l.sum()),
        account=_account(facts, words, options),
    )


def _choose_partitions(spark: Any, n_rows: int, packing: Packing) -> int:
    """The number of blocks: enough for all cores, but each with more votes than sums."""
    from pyspark.sql.utils import is_remote

    cores = int(spark.conf.get("spark.default.parallelism", "0"))
    cores = cores or (2 if is_remote() else int(spark.sparkContext.defaultParallelism))
    n_sums = 4 * packing.n_workers * packing.n_classes
    # At most as many votes per block as a Spark worker can hold, and at least enough to be worth a block.
    most, least = max(1_000_000, n_sums), max(50_000, n_sums)
    return max(1, -(-n_rows // most), min(2 * cores, n_rows // least))


def _refuse_trouble(facts: BlockFacts, words: _Vocabulary) -> None:
    """Refuse rows without an item, workers who contradict themselves, and items with several gold labels."""
    table, labels = words.coded.table, words.named.labels
    if facts.nameless:
        raise DataError(
            f"{table.source}, column {table.columns['item']!r}: the item is empty in {facts.nameless:,} rows. Every "
            "row needs one; fill it in or remove the row."
        )
    for trouble in facts.trouble:
        if "gold" in trouble:
            both = " and ".join(repr(labels[k]) for k in trouble["gold"])
            raise DataError(f"{table.source}: item {trouble['item']!r} has two gold labels, {both}. Keep one.")
        both = " and ".join(repr(labels[k]) for k in trouble["labels"])
        raise DataError(
            f"{table.source}: worker {words.workers[trouble['worker']]!r} labels item {trouble['item']!r} twice, "
            f"{both}. Keep one vote per worker and item, or count both with repeats='each'."
        )


def _account(facts: BlockFacts, words: _Vocabulary, options: ReadOptions) -> Account:
    coverage = measure_coverage(facts.counts, words.named, words.workers)
    coded = replace(words.coded, n_rows=facts.rows)
    return make_account(coded, coverage, words.named, Resolved(None, facts.merged, 0), options.repeats, words.gold)
