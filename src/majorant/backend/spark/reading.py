"""From files or a Spark frame to packed blocks: names to codes, one shuffle by item, one block a partition.

What a cell, a label, a status, a repeat and gold mean, and what the account counts, are the rules of `majorant.read`.
Only how an id gets its code stands here once more, as joins: rows of a frame have no order, so ids go by their names.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from majorant.backend.files import as_worker_counts, worker_query
from majorant.backend.spark.backend import SparkVotes
from majorant.backend.spark.pack import CHANGED, FACTS, Packing, Places, brought, mapped, pack, packed_schema
from majorant.errors import ConfigError, DataError
from majorant.filetypes import PACKINGS, type_of_ending, type_of_word
from majorant.limits import limit
from majorant.read.build import Coverage, Resolved, make_account, no_votes
from majorant.read.columns import find_roles
from majorant.read.encode import Coded, Span, too_many_labels
from majorant.read.formats import recognise_table
from majorant.read.gold import load_gold, match_gold, one_gold, spellings
from majorant.read.json_text import LAID_OUT
from majorant.read.layout import find_layout
from majorant.read.names import Gold, LabelCodes, name_labels, unclear_status
from majorant.read.notes import LISTED
from majorant.read.opening import open_rows, open_table, stamp
from majorant.read.options import ReadOptions
from majorant.read.table import RowSource, Table
from majorant.read.values import cell_values, is_empty, is_vote, single, voted
from majorant.votes import Account, IntArray

UNPACKED_BY_SPARK = (*PACKINGS, ".bz2")  # one more than we do
TABS = (".tsv", ".tab")
MOST_STATUSES = 1_000
HERE_BYTES = 1 << 28  # files up to this size may be laid out by the driver; larger ones are tables that Spark reads
VOTES_PER_PARTITION = 1_000_000  # more where there are many workers: a block's sums have an entry for each
MOST_PAIRS = 10_000_000  # pairs of a worker and a label that come to the driver before it knows whether they are that
LEAST_PER_PARTITION = 50_000  # fewer do not pay for the call
ORDERLESS = ("error", "each")  # policies on repeats that need no order of the rows
FRAME_ROLES = ("item", "worker", "label", "gold")


def read_votes(spark: Any, files: Sequence[str], options: ReadOptions) -> SparkVotes:
    """The votes of some files: a plain table is read by Spark, all else is laid out by the driver and sent."""
    before = [stamp(Path(file)) for file in files]
    votes = _read(spark, files, replace(options, seconds="", threads=None, progress=None))
    if [stamp(Path(file)) for file in files] != before:
        votes.close()
        raise DataError(CHANGED)
    return votes


def _read(spark: Any, files: Sequence[str], options: ReadOptions) -> SparkVotes:
    if _is_here(files):
        with open_rows(list(files), options) as every:
            plain = all(_is_plain(rows, options) for rows in every)
        if not plain:
            return _laid_out(spark, files, options)
    unread = [name for name in ("columns", "encoding", "wide", "workers", "several", "sheet") if getattr(options, name)]
    if unread:
        raise ConfigError(
            f"{unread[0]}= does not go with Spark for files that are not here, or are this large. Write a row per "
            "vote as Parquet first."
        )
    source = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    kind, tabs = _kind(files, options.format)
    frame = _frame(spark, list(files), kind, options.delimiter or ("\t" if tabs else ","))
    roles = {role: frame.columns[place] for role, place in find_roles(frame.columns, options.choice, source).items()}
    if "status" in roles:
        frame = _voted(frame, roles.pop("status"), roles["label"], source)
    ignored = tuple(name for name in frame.columns if name not in roles.values())
    table = Table(
        source=source, kind="text" if kind == "csv" else "typed", format="Spark", columns=roles, ignored=ignored,
        parts=iter(()),
    )  # fmt: skip
    return encode_table(frame, table, options)


def _is_here(files: Sequence[str]) -> bool:
    paths = [Path(file) for file in files]
    return all(path.is_file() for path in paths) and sum(path.stat().st_size for path in paths) <= HERE_BYTES


def _laid_out(spark: Any, files: Sequence[str], options: ReadOptions) -> SparkVotes:
    """The votes of a log, an export, a spreadsheet, a wide table or a file without a header."""
    import pyarrow as pa

    values: dict[str, list[Any]] = {}
    with open_table(list(files), options) as table:
        for part in table.parts:
            for role, column in part.columns.items():
                cells = cell_values(column, table.kind)
                values.setdefault(role, []).extend(map(single, cells) if table.kind == "json" else cells)
    columns = {role: pa.array(_alike(column)) for role, column in values.items()}
    columns = {role: column for role, column in columns.items() if not pa.types.is_null(column.type)}
    frame = spark.createDataFrame(pa.table(columns))
    if "status" in columns:
        frame = _voted(frame, "status", "label", table.source)
    roles = {role: role for role in columns if role != "status"}
    kind = "text" if table.kind == "text" else "typed"
    return encode_table(frame, replace(table, kind=kind, columns=roles, parts=iter(())), options)


def _is_plain(rows: RowSource, options: ReadOptions) -> bool:
    """Whether a file is a table with a row per vote, as Spark reads them."""
    if options.wide or options.workers or options.several or options.columns or options.encoding or not rows.named:
        return False
    if rows.unit == LAID_OUT or rows.format.startswith("spreadsheet") or recognise_table(rows.names) is not None:
        return False
    try:
        laid_out, layout = find_layout(rows, options)
    except DataError:
        return True
    return laid_out is rows and not layout.wide and not layout.notes


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type, text where they differ: a column on Spark has one."""
    kinds = {type(value) for value in values if value is not None}
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _kind(files: Sequence[str], word: str | None) -> tuple[str, bool]:
    """What the files are, by our table of endings or as the caller says, and whether tabs separate their fields."""
    names = [Path(Path(file).stem if Path(file).suffix in UNPACKED_BY_SPARK else file) for file in files]
    endings = {name.suffix.lower() for name in names}
    types = {type_of_ending(ending) for ending in endings} if word is None else {type_of_word(word)}
    found = types.pop() if len(types) == 1 else None
    kind = None if found is None else found.name
    if kind == "json" and word != "jsonl" and ".json" in endings:
        raise ConfigError("Spark reads JSON lines, one vote a line: format='jsonl'.")
    if kind not in ("csv", "json", "parquet"):
        raise ConfigError(f"{files[0]}: Spark reads CSV, TSV, JSON lines or Parquet. Say which with format=.")
    return kind, word == "tsv" or (word is None and endings <= set(TABS))


def _frame(spark: Any, files: list[str], kind: str, separator: str) -> Any:
    """The frame; text stays text, and a row that does not parse is an error."""
    reader = spark.read.option("mode", "FAILFAST")
    if kind == "parquet":
        return reader.parquet(*files)
    if kind == "json":
        return reader.json(files)
    return reader.option("quote", '"').option("escape", '"').csv(files, header=True, inferSchema=False, sep=separator)


def _voted(frame: Any, status: str, label: str, source: str) -> Any:
    """The frame without the labels of rows whose status says that there is no vote."""
    from pyspark.sql import functions as F

    column = frame[f"`{status}`"]
    values = [row[0] for row in frame.select(column).distinct().limit(MOST_STATUSES).collect()]
    meanings = {value: voted(value) for value in values}
    for value, meaning in meanings.items():
        if meaning is None:
            raise unclear_status(source, status, value)
    silent = [value for value, meaning in meanings.items() if not meaning]
    return (
        frame.withColumn(label, F.when(column.isin(silent), None).otherwise(frame[f"`{label}`"])) if silent else frame
    )


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

    coded: Coded  # what the frame holds, as the rules of reading see it
    named: LabelCodes
    gold: Gold | None
    workers: Any  # an Arrow array, sorted
    label_map: Any  # an Arrow table: the raw label and its code
    gold_map: Any  # the same of gold labels, or of items with gold from a file; None where there are none
    votes_jl: IntArray
    n_empty: int  # rows without a label

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The classes."""
        return tuple(self.named.labels)

    @property
    def n_rows(self) -> int:
        """All rows of the frame."""
        return int(self.votes_jl.sum()) + self.n_empty


def encode(
    frame: Any,
    columns: Columns | None = None,
    *,
    partitions: int | None = None,
    folder: str | None = None,
    **reading: Any,
) -> SparkVotes:
    """The votes of a frame as blocks, one a partition, kept by the executors or, with `folder`, as Parquet there.

    Few votes (the limit SPARK_DRIVER_VOTES) are one block that the driver packs and works on, unless it is told how
    many `partitions` there should be, or a `folder`.  A row without a label is no vote.  A vote that comes twice is
    merged, or counts twice with repeats="each"; rows of a frame have no order, so neither the first nor the last can be
    kept.  `reading` is as for `majorant.read`.
    """
    columns = columns or Columns()
    roles = {role: name for role in FRAME_ROLES if (name := getattr(columns, role)) is not None}
    ignored = tuple(name for name in frame.columns if name not in roles.values())
    table = Table(source="Spark frame", kind="typed", format="Spark", columns=roles, ignored=ignored, parts=iter(()))
    return encode_table(frame, table, ReadOptions.of(reading), partitions=partitions, folder=folder)


def encode_table(
    frame: Any, table: Table, options: ReadOptions, *, partitions: int | None = None, folder: str | None = None
) -> SparkVotes:
    """The same of a frame that a table describes: where it comes from, its columns, and what its cells are."""
    if options.repeats not in ORDERLESS:
        raise ConfigError(
            f"repeats={options.repeats}: rows of a Spark frame have no order. Choose one of {', '.join(ORDERLESS)}."
        )
    options = one_gold(options, table)
    raw = _raw(frame, table)
    words = vocabulary(raw, table, options)
    n_workers, n_classes = len(words.workers), len(words.labels)
    packing = Packing(n_workers=n_workers, n_classes=n_classes, repeats=options.repeats)
    few = partitions is None and folder is None and words.n_rows <= limit("SPARK_DRIVER_VOTES")
    rows = _brought_rows(raw) if few else None
    if rows is not None:
        packed = mapped(_coded_here(rows, words), partial(pack, packing=packing), None)
    else:
        n_parts = partitions or _n_partitions(frame, words.n_rows, n_workers, n_classes)
        packed = _kept(_coded(frame.sparkSession, raw, words).repartition(n_parts, "item"), packing, folder)
    facts = brought(packed.select([*FACTS])).sort_by("part").to_pydict()
    _refuse_trouble(facts, words)
    places = Places(
        part_b=np.array(facts["part"], dtype=np.int64),
        item_b=np.concatenate([[0], np.cumsum(facts["items"], dtype=np.int64)]),
        seal_b=np.array(facts["seal"], dtype=np.int64),
        n_workers=n_workers,
        n_classes=n_classes,
        has_gold=words.gold_map is not None,
    )
    return SparkVotes(
        blocks=packed,
        places=places,
        session=frame.sparkSession,
        item_type=raw.schema["item"].dataType,
        workers=tuple(words.workers.to_pylist()),
        labels=words.labels,
        n_votes=sum(facts["votes"]),
        account=_account(facts, words, options),
    )


def _raw(frame: Any, table: Table) -> Any:
    """The frame with the columns item, worker, label and gold."""
    from pyspark.sql import functions as F

    for role, name in table.columns.items():
        if name not in frame.columns:
            raise ConfigError(
                f"{table.source} has no column {name!r} to take for the {role}. Its columns are "
                f"{', '.join(frame.columns)}."
            )
    given = {role: frame[f"`{name}`"] for role, name in table.columns.items()}
    none = F.lit(None).cast("string")
    return frame.select(*(given.get(role, none).alias(role) for role in FRAME_ROLES))


def vocabulary(raw: Any, table: Table, options: ReadOptions) -> Vocabulary:
    """Workers and labels with their counts, by the SQL that DuckDB runs as well, named by the rules of all reading."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = raw.sparkSession.sql(worker_query("{votes}"), votes=raw)
    counts = counted.limit(MOST_PAIRS).toArrow()
    if len(counts) == MOST_PAIRS:  # many workers, or a column that holds no labels, whose values must not come here
        _distinct(counted, "label", table, options)
        counts = counted.toArrow()
    values = _few_values(pc.unique(counts.column("label")).to_pylist(), "label", table, options)
    workers = pc.unique(counts.column("worker")).drop_null()
    workers = workers.take(pc.sort_indices(workers))
    nobody = [v for v in workers.to_pylist() if is_empty(v)] if pa.types.is_string(workers.type) else []
    if nobody or counts.column("worker").null_count:
        raise DataError(
            f"{table.source}, column {table.columns['worker']!r}: some rows name no worker. Fill them in or leave them "
            "out."
        )
    known = {"label": values}
    if "gold" in table.columns:
        known["gold"] = _distinct(raw, "gold", table, options)
    coded = _as_coded(table, known)
    code_of = {value: code for code, value in enumerate(values)}
    label_r = np.array([code_of.get(v, -1) for v in counts.column("label").to_pylist()], dtype=np.int64)
    votes_r = counts.column("votes").to_numpy()
    voted_r = label_r >= 0
    uses = np.bincount(label_r[voted_r], weights=votes_r[voted_r], minlength=len(values)).astype(np.int64)
    uses *= [is_vote(value, options.no_vote) for value in values]
    if not uses.any():
        raise no_votes(coded)
    items, gold = _gold_of_file(raw, options)
    named = name_labels(coded, values, uses, gold, options, len(items))
    code_r = named.label_map[label_r]
    worker_r = pc.index_in(counts.column("worker"), workers).to_numpy()
    gold_map = None
    if named.gold_i is not None:
        gold_map = _code_table(items, named.gold_i)
    elif named.gold_map is not None:
        gold_map = _code_table(known["gold"], named.gold_map)
    return Vocabulary(
        coded=coded,
        named=named,
        gold=gold,
        workers=workers,
        label_map=_code_table(values, named.label_map),
        gold_map=gold_map,
        votes_jl=_worker_counts(worker_r, code_r, votes_r, (len(workers), len(named.labels))),
        n_empty=int(votes_r[code_r < 0].sum()),
    )


def _distinct(frame: Any, role: str, table: Table, options: ReadOptions) -> list[Any]:
    """The different values of a column, what is no vote among them; too many are refused."""
    first = frame.select(role).distinct().limit(options.most_labels + 2).collect()
    return _few_values([row[0] for row in first], role, table, options)


def _few_values(values: list[Any], role: str, table: Table, options: ReadOptions) -> list[Any]:
    most, name = options.most_labels, table.columns[role]
    filled = [value for value in values if is_vote(value, options.no_vote)]
    if len(filled) > most:
        raise too_many_labels(table.source, role, name, most, filled[0])
    return [value for value in values if value is not None]


def _as_coded(table: Table, known: dict[str, list[Any]]) -> Coded:
    """What the frame holds as a table that has been read: an entry for each different value, and no rows."""
    codes = {role: np.arange(len(values), dtype=np.int32) for role, values in known.items()}
    nothing = dict.fromkeys(known, np.empty(0, dtype=np.int32))
    span = Span(0, table.source, "value", 1, None)
    return Coded(
        table=table, n_rows=0, codes=codes, declared=nothing, known=dict(known), seconds_n=None, spans=[span],
        declared_spans=[span],
    )  # fmt: skip


def _gold_of_file(raw: Any, options: ReadOptions) -> tuple[list[Any], Gold | None]:
    """The items that a gold file may speak of, and what it says of them, by their places in that list."""
    if options.gold_file is None:
        return [], None
    import pyarrow as pa
    from pyspark.sql import functions as F

    file = load_gold(options.gold_file, options.for_gold())
    texts = raw.sparkSession.createDataFrame(pa.table({"text": pa.array(sorted(spellings(file.items)))}))
    asked = raw.join(F.broadcast(texts), raw["item"].cast("string") == texts["text"], "left_semi")
    items = [row[0] for row in asked.select("item").distinct().collect()]
    return items, match_gold(file, items)


def _code_table(values: Sequence[Any], code_map: IntArray) -> Any:
    """An Arrow table from values to codes, of those that have one."""
    import pyarrow as pa

    coded = [(value, int(code)) for value, code in zip(values, code_map, strict=False) if code >= 0]
    return pa.table({"raw": pa.array([v for v, _ in coded]), "code": pa.array([k for _, k in coded], pa.int32())})


def _worker_counts(worker_r: IntArray, label_r: IntArray, votes_r: IntArray, shape: tuple[int, int]) -> IntArray:
    used, n_classes = label_r >= 0, shape[1]
    keys, place = np.unique(worker_r[used] * np.int64(n_classes) + label_r[used], return_inverse=True)
    votes = np.bincount(place, weights=votes_r[used], minlength=len(keys)).astype(np.int64)
    return as_worker_counts([keys // n_classes, keys % n_classes, votes], *shape)


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
        by = "item" if words.named.gold_i is not None else "gold"
        joined = joined.join(F.broadcast(gold_map), raw[by] == gold_map["gold_raw"], "left")
        gold = F.coalesce("gold_code", none)
    return joined.select(
        raw["item"].alias("item"),
        F.col("number").alias("worker"),
        F.coalesce("code", none).alias("label"),
        gold.alias("gold"),
    )


def _brought_rows(raw: Any) -> Any:
    """The rows as an Arrow table in the driver; None where their names are too long for it."""
    try:
        return raw.toArrow()
    except Exception as error:  # Spark's own, or py4j's
        if "spark.driver.maxResultSize" not in str(error):
            raise
        return None


def _coded_here(rows: Any, words: Vocabulary) -> Any:
    """What `_coded` makes of a frame, of rows in the driver."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def codes(role: str, known: Any) -> Any:
        given = rows.column(role)
        if pa.types.is_floating(given.type):
            given = pc.add(given, 0.0)  # for Spark, -0 and 0 are one value
        place = pc.index_in(given, known.column("raw").cast(given.type))
        return pc.fill_null(known.column("code").combine_chunks().take(place), -1)

    numbers = pa.array(np.arange(len(words.workers), dtype=np.int32))
    worker = codes("worker", pa.table({"raw": words.workers, "code": numbers}))
    if len(rows) != words.n_rows or pc.any(pc.less(worker, 0)).as_py():
        raise DataError(CHANGED)
    gold = pa.array(np.full(len(rows), -1, dtype=np.int32))
    if words.gold_map is not None:
        gold = codes("item" if words.named.gold_i is not None else "gold", words.gold_map)
    return pa.table(
        {
            "item": rows.column("item"),
            "worker": worker,
            "label": codes("label", words.label_map),
            "gold": gold,
        }
    )


def _n_partitions(frame: Any, n_rows: int, n_workers: int, n_classes: int) -> int:
    """Enough for every core, but not so many that the sums of a block outgrow its votes."""
    votes = max(VOTES_PER_PARTITION, 4 * n_workers * n_classes)
    cores = int(frame.sparkSession.conf.get("spark.default.parallelism", "0")) or _cores(frame)
    return max(1, -(-n_rows // votes), min(2 * cores, n_rows // max(LEAST_PER_PARTITION, 4 * n_workers * n_classes)))


def _cores(frame: Any) -> int:
    from pyspark.sql.utils import is_remote

    return 2 if is_remote() else int(frame.sparkSession.sparkContext.defaultParallelism)


def _kept(parted: Any, packing: Packing, folder: str | None) -> Any:
    """The packed blocks, in the executors' memory (what does not fit on their disks) or as Parquet in a folder."""
    from pyspark import StorageLevel

    schema = packed_schema(parted.schema["item"].dataType)
    packed = mapped(parted, partial(pack, packing=packing), schema)
    if folder is None:
        return packed.persist(StorageLevel.MEMORY_AND_DISK)
    packed.write.mode("overwrite").parquet(folder)
    return parted.sparkSession.read.schema(schema).parquet(folder)


def _refuse_trouble(facts: dict[str, list[Any]], words: Vocabulary) -> None:
    """Rows without an item, workers who contradict themselves, items with two gold labels."""
    table = words.coded.table
    if sum(facts["nameless"]):
        raise DataError(
            f"{table.source}, column {table.columns['item']!r}: {sum(facts['nameless']):,} rows name no item."
        )
    for text in facts["trouble"]:
        if text is None:
            continue
        trouble = json.loads(text)
        if "gold" in trouble:
            both = " and ".join(repr(words.labels[k]) for k in trouble["gold"])
            raise DataError(f"{table.source}: item {trouble['item']!r} has two gold labels, {both}. Keep one.")
        labels = " and ".join(repr(words.labels[k]) for k in trouble["labels"])
        raise DataError(
            f"{table.source}: worker {words.workers[trouble['worker']].as_py()!r} labels item {trouble['item']!r} "
            f"twice, {labels}. Keep one vote per worker and item, or count both with repeats='each'."
        )


def _account(facts: dict[str, list[Any]], words: Vocabulary, options: ReadOptions) -> Account:
    silent = np.flatnonzero(words.votes_jl.sum(axis=1) == 0)
    n_classes = len(words.labels)
    coverage = Coverage(
        labels=words.labels,
        votes_l=np.sum([np.frombuffer(one, np.int64) for one in facts["by_label"]], axis=0),
        bare=[name for names in facts["bare_names"] for name in names][:LISTED],
        n_bare=sum(facts["bare"]),
        silent=[words.workers[int(j)].as_py() for j in silent[:LISTED]],
        n_silent=len(silent),
        gold_k=None if words.gold_map is None else np.sum(
            [np.frombuffer(one, np.int64) for one in facts["gold_by_label"]], axis=0
        )[:n_classes] > 0,
        n_compared=sum(facts["compared"]),
        n_disputed=sum(facts["disputed"]),
        workers=words.workers.to_pylist(),
    )  # fmt: skip
    coded = replace(words.coded, n_rows=sum(facts["rows"]))
    resolved = Resolved(None, sum(facts["merged"]), 0)
    return make_account(coded, coverage, words.named, resolved, options.repeats, words.gold)
