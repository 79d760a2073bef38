"""Votes on a Spark cluster: a table too large for one machine is coded, sorted and written out, or fitted there.

Two jobs.  `read_frame` and `read_files` prepare votes: workers and labels get their codes by joins, each partition is
packed into a block of whole items, and the blocks are written to a folder of memory-mapped votes on the driver.
`on_cluster` gives an engine that runs the sums of a fit on the executors, where the labels stay.  Each pass sends a
function to the packed blocks and adds up the results in order.

In a block, items are sorted by name and votes by code, so a partition that is recomputed gives the same block, in
whatever order its rows arrive.

Files that this machine can open go through our own reader, so they are interpreted as in memory, and Spark gets them as
Parquet.  Up to SPARK_DRIVER_VOTES rows are processed in the driver's memory.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import weakref
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from majorant.database import connect
from majorant.errors import ConfigError, DataError, use
from majorant.filetypes import type_of_ending
from majorant.kernels import Block, Engine, add_up, make_block
from majorant.limits import LIMITS, T, parse_memory
from majorant.read import read_with
from majorant.read.build import (
    Coded,
    Gold,
    LabelCodes,
    Resolved,
    Span,
    first_per_item,
    make_account,
    name_labels,
    no_votes,
    resolve,
    too_many_labels,
    unclear_status,
    with_ratings,
)
from majorant.read.gold import load_gold, match_gold, one_gold, spellings
from majorant.read.opening import open_table
from majorant.read.options import ReadOptions, find_roles
from majorant.read.sort import temporary_scratch
from majorant.read.stage import (
    PartFacts,
    Staged,
    count_labels,
    count_part,
    find_workers,
    is_empty_name,
    locate_labels,
    measure_coverage,
    stage_table,
    view_rows,
    voted_by_status,
)
from majorant.read.table import Table, arrow_view, decode, is_empty, is_vote, voted
from majorant.store import ITEMS_FILE, StoreWriter, mapped_votes, write_names
from majorant.values import FloatArray
from majorant.votes import Account, IntArray, Scratch, Votes
from majorant.workfolder import WorkFolder

CHANGED = "The votes changed while Spark worked on them. Run again once nothing writes to them."
PACKED = ("part", "content")  # the columns that a pass needs
SUM = "part int, total binary"


@contextlib.contextmanager
def spark_session(master: str, *, memory: str = "2g", settings: dict[str, str] | None = None) -> Iterator[Any]:
    """Start a Spark session and stop it at the end; if one is already active, use it and leave it running.

    `memory` is for the driver, which does all the work with a master such as local[2].  `settings` are Spark's own.
    """
    require_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the one with majorant
    with tempfile.TemporaryDirectory(prefix="majorant-spark-") as folder:
        log = Path(folder) / "log4j2.properties"
        log_settings = (
            "rootLogger.level = fatal",
            "rootLogger.appenderRef.stderr.ref = stderr",
            "appender.stderr.type = Console",
            "appender.stderr.name = stderr",
            "appender.stderr.target = SYSTEM_ERR",
            "appender.stderr.layout.type = PatternLayout",
            "appender.stderr.layout.pattern = %m%n",
        )
        log.write_text("\n".join(log_settings) + "\n", encoding="utf-8")
        wanted = _settings(master, memory, log, Path(folder)) | (settings or {})
        session = _start(SparkSession.builder.master(master).appName("majorant"), master, wanted)
        try:
            yield session
        finally:
            session.stop()


def require_spark() -> None:
    """Raise an error if a part of Spark is missing, with the command that installs it."""
    least_java = 17
    for package in ("pyspark", "pandas"):  # PySpark needs pandas to exchange Arrow data, although we never use pandas
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"Spark needs the Python package {package}, which is not installed: pip install 'pyspark[sql]>=4'"
            )
    version = java_version()
    if version is None or version < least_java:
        which = "none was found" if version is None else f"this is {version}"
        raise ConfigError(
            f"Spark needs Java {least_java} or newer, and {which}. Install it (Debian: apt install "
            f"openjdk-{least_java}-jre-headless; macOS: brew install openjdk@{least_java}), or set JAVA_HOME."
        )


def java_version() -> int | None:
    """The version of Java that Spark would use; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return None
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return None
    matched = re.search(r'version "(?:1\.)?([0-9]+)', answer.stderr + answer.stdout)
    return int(matched[1]) if matched else None


def _settings(master: str, memory: str, log: Path, folder: Path) -> dict[str, str]:
    local = "127.0.0.1"  # a laptop's host name may not resolve, or may point to another network
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log}",
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",
    }
    if master.startswith("local"):
        settings |= {
            # Otherwise half of the startup time is spent on optimising code that runs once.
            "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": local,
            "spark.driver.bindAddress": local,
            "spark.sql.adaptive.enabled": "false",  # planning a pass is a third faster without it
            "spark.sql.shuffle.partitions": str(_cores(master)),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    return settings


def _cores(master: str) -> int:
    """The number of cores of a local master.

    >>> _cores("local"), _cores("local[3,2]")
    (1, 3)
    """
    matched = re.search(r"\[\s*([0-9]+|\*)", master)
    if matched is None:
        return 1
    return os.cpu_count() or 1 if matched[1] == "*" else int(matched[1])


def _start(builder: Any, master: str, settings: dict[str, str]) -> Any:
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _silent():
            return builder.getOrCreate()
    except Exception as error:  # an exception of PySpark, or a Java exception from py4j
        raise ConfigError(f"Spark did not start with {use('master', master)}: {_first_line(error)}") from None


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Discard what the launcher writes to standard error before it reads the log settings."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def spark_errors() -> Iterator[None]:
    """Turn Spark's exceptions into our errors, with the first line of their message."""
    from pyspark.errors import AnalysisException

    no_space = "No space left on device"
    disk_full = ConfigError(
        f"Spark gave up: {no_space}. It sorts votes in its folder for temporary files. Free some space there, or set "
        "SPARK_LOCAL_DIRS to another folder."
    )
    try:
        yield
    except AnalysisException as error:
        raise DataError(f"Spark cannot read the votes: {_first_line(error)}") from None
    except OSError as error:  # PySpark writes the data that it sends to a file
        if error.errno != errno.ENOSPC:
            raise
        raise disk_full from error
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if CHANGED in str(error):
            raise DataError(CHANGED) from None
        if no_space in str(error):
            raise disk_full from error
        raise ConfigError(f"Spark gave up: {_first_line(error)}") from error


def collect(frame: Any) -> Any:
    """Load the rows of a frame into the driver as an Arrow table."""
    with spark_errors():
        return frame.toArrow()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:400]


def map_batches(frame: Any, fn: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
    """A frame with the results of `fn` for the Arrow batches of each partition."""
    with warnings.catch_warnings():  # PySpark warns about new pandas versions, but pandas is not used here
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(fn, schema)


class BlockFacts(NamedTuple):
    """What the driver learns about the votes in a block; facts about several blocks can be added."""

    rows: int
    merged: int
    nameless: int  # rows without an item
    trouble: list[dict[str, Any]]  # the first contradiction between votes or gold labels
    counts: PartFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How raw codes are turned into votes; the last entry of each map is for -1, an empty cell."""

    n_workers: int
    n_classes: int
    repeats: str  # error or each
    worker_map: NDArray[np.int32] | None = None  # None if the column already holds final codes
    label_map: NDArray[np.int32] | None = None
    gold_map: NDArray[np.int32] | None = None
    voted: NDArray[np.bool_] | None = None  # whether each status means a vote


def pack(batches: Iterator[Any], packing: Packing) -> Iterator[Any]:
    """Pack the rows of a partition (item and codes of worker, label, gold, status) into one row."""
    import pyarrow as pa
    from pyspark import TaskContext

    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return
    context = TaskContext.get()
    part = 0 if context is None else context.partitionId()
    facts, arrays, items = pack_table(pa.Table.from_batches(filled), packing)
    content = pickle.dumps(arrays)
    yield pa.record_batch(
        {
            "part": pa.array([part], pa.int32()),
            "facts": pa.array([pickle.dumps((zlib.crc32(content), facts))], pa.binary()),
            "content": pa.array([content], pa.binary()),
            "names": one_list(items),
        }
    )


def pack_table(table: Any, packing: Packing) -> tuple[BlockFacts, tuple[NDArray[Any], ...], Any]:
    """Facts, votes (see `blocks_of`) and item names of a block."""
    n_workers, n_classes = packing.n_workers, packing.n_classes
    empty = is_empty_name(table.column("item"))
    nameless = int(empty.sum())
    if nameless:
        table = table.filter(~empty)
    item_n, items = _item_codes(table.column("item"))
    worker_n, label_n, gold_n = (
        _codes(table, name, code_map)
        for name, code_map in (
            ("worker", packing.worker_map), ("label", packing.label_map), ("gold", packing.gold_map),
        )
    )  # fmt: skip
    if packing.voted is not None:
        label_n = np.where(packing.voted[_codes(table, "status")], label_n, -1)
    voted_n = label_n >= 0
    key_m = np.sort(((item_n * n_workers + worker_n) * n_classes + label_n)[voted_n])  # rows arrive in any order
    pair_m, label_m = np.divmod(key_m, n_classes)
    item_m, worker_m = np.divmod(pair_m, n_workers)
    trouble: list[dict[str, Any]] = []

    def labels_differ(earlier: int, later: int) -> None:
        both = [int(label_m[earlier]), int(label_m[later])]
        trouble.append({"item": _text(items, item_m[later]), "worker": int(worker_m[later]), "labels": both})

    def gold_differs(earlier: int, later: int) -> None:
        both = sorted([int(gold_n[earlier]), int(gold_n[later])])
        trouble.append({"item": _text(items, item_n[later]), "gold": both})

    resolved = resolve(
        item_m, worker_m, label_m, n_items=len(items), n_workers=n_workers, policy=packing.repeats, refuse=labels_differ
    )
    gold_i = first_per_item(item_n, gold_n, len(items), gold_differs)
    if resolved.kept_n is not None:
        item_m, worker_m, label_m = (code_m[resolved.kept_n] for code_m in (item_m, worker_m, label_m))
    size = len(items), n_workers, n_classes
    counts = count_part(
        item_m, worker_m, label_m, gold_i, size, lambda code_p: items.take(arrow_view(code_p)).to_pylist()
    )
    facts = BlockFacts(table.num_rows + nameless, resolved.merged, nameless, trouble[:1], counts)
    votes_i = np.bincount(item_m, minlength=len(items))
    kind = np.int32 if n_workers * n_classes <= np.iinfo(np.int32).max else np.int64
    offsets_i = np.concatenate([[0], np.cumsum(votes_i)])
    return facts, ((worker_m * n_classes + label_m).astype(kind), offsets_i.astype(kind), gold_i), items


def _text(items: Any, code: np.integer[Any]) -> str:
    return str(items[int(code)].as_py())


def one_list(values: Any) -> Any:
    """A column with a single row that holds a list of values."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _item_codes(column: Any) -> tuple[NDArray[np.int64], Any]:
    """The code of each row's item, and the sorted items."""
    import pyarrow.compute as pc

    encoded = column.combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    order_i = pc.sort_indices(encoded.dictionary).to_numpy(zero_copy_only=False)
    place_i = np.empty(len(order_i), dtype=np.int64)
    place_i[order_i] = np.arange(len(order_i))
    return place_i[encoded.indices.to_numpy(zero_copy_only=False)], encoded.dictionary.take(order_i)


def _codes(table: Any, name: str, code_map: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
    code_n = np.asarray(table.column(name).combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)
    return code_n if code_map is None else code_map[code_n].astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where each block starts; this determines the codes of its items."""

    part_b: NDArray[np.int64]  # ascending
    item_b: NDArray[np.int64]  # the first item of each block, then the number of items
    seal_b: NDArray[np.int64]  # its checksum
    n_workers: int
    n_classes: int
    has_gold: bool


def blocks_of(batch: Any, places: Places) -> Iterator[Block]:
    """Unpack a batch of rows into blocks: matrix columns of the votes, offsets of the items, and gold labels."""
    for row in range(batch.num_rows):
        part = batch.column("part")[row].as_py()
        index = int(np.searchsorted(places.part_b, part))
        content = batch.column("content")[row].as_buffer()
        if part not in places.part_b or zlib.crc32(content) != places.seal_b[index]:
            raise DataError(CHANGED)
        column_n, offsets_i, gold_i = pickle.loads(content)
        entries = np.ones(len(column_n)), column_n, offsets_i
        size, known_i = (places.n_workers, places.n_classes), gold_i if places.has_gold else None
        yield make_block(index, int(places.item_b[index]), entries, size, gold_i=known_i)


def without_gold(block: Block) -> Block:
    """The block without gold labels, for models that learn from votes alone."""
    return replace(block, gold_i=None)


@dataclass(frozen=True, slots=True, eq=False)
class SparkEngine(Engine):
    """The engine of votes in a Spark frame.

    If there are many blocks and large sums, runs of blocks are first added up on the cluster.
    """

    votes: SparkVotes
    to_driver: int = 1 << 28  # bytes of sums sent to the driver at once; beyond, two rounds

    @property
    def places(self) -> Places:
        """Where each block starts."""
        return self.votes.places

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
        return ClusterRows(self, fn)  # type: ignore[return-value]

    def _passed(self, fn: Callable[[Block], Any], *, gold: bool = False) -> Any:
        """A frame with the result of `fn` for each block."""

        def call(block: Block) -> bytes:
            return pickle.dumps(fn(block if gold else without_gold(block)), protocol=pickle.HIGHEST_PROTOCOL)

        sent = ship(self.votes.blocks, call)
        return map_batches(self.votes.blocks.select(*PACKED), partial(run_pass, sent, self.places), SUM)


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


class ClusterRows(NDArrayOperatorsMixin):
    """An array with a row per item that stays on the cluster; its rows are collected when they are first used."""

    def __init__(self, engine: SparkEngine, of_block: Callable[[Block], FloatArray]) -> None:
        self.engine, self.of_block = engine, of_block
        self.local: FloatArray | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        if self.local is None:
            self.local = np.concatenate(list(self.engine.map_blocks(self.of_block)))
            self.local.flags.writeable = False
        return self.local if dtype is None else self.local.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        given = [np.asarray(one) if isinstance(one, ClusterRows) else one for one in inputs]
        return getattr(ufunc, method)(*given, **how)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]

    def __len__(self) -> int:
        return self.engine.shape[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def frame(self, of_rows: Callable[[FloatArray, IntArray], dict[str, Any]], labels: Sequence[Any]) -> Any:
        """A lazy frame of the items and the columns label and confidence that `of_rows` makes of rows and votes."""
        import pyarrow as pa
        from pyspark.sql import types as T
        from pyspark.sql.pandas.types import from_arrow_type

        votes, of_block = self.engine.votes, self.of_block
        columns = pa.schema({"label": _label_type(labels), "confidence": pa.float64()})
        fields = [T.StructField(field.name, from_arrow_type(field.type)) for field in columns]
        schema = T.StructType([T.StructField("item", votes.item_type), *fields])
        packed = votes.blocks.select(*PACKED, "names")
        sent = ship(packed, lambda block: of_rows(of_block(block), np.diff(block.matrix.indptr)))
        return map_batches(packed, partial(_label_rows, sent, votes.places, columns), schema)


class ClusterNames(Sequence[Hashable]):
    """The names of items on a cluster, which are collected when they are first used."""

    def __init__(self, votes: SparkVotes) -> None:
        self.votes = votes
        self.local: list[Hashable] | None = None

    def __len__(self) -> int:
        return self.votes.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if self.local is None:
            table = collect(self.votes.blocks.select("part", "names")).sort_by("part")
            self.local = [name for part in table.column("names").to_pylist() for name in part]
        return self.local[index]


class SparkVotes(Votes):
    """Votes packed on the cluster; when this object is deleted, the executors' memory is freed.

    Estimators that get an engine read only the shape, names and counts of the votes.
    """

    __slots__ = ("__weakref__", "blocks", "item_type", "n_votes", "places")
    blocks: Any  # a frame with one row per block
    places: Places
    item_type: Any  # the Spark type of the items

    def __init__(
        self, *, blocks: Any, places: Places, item_type: Any, workers: tuple[Hashable, ...],
        labels: tuple[Hashable, ...], n_votes: int, account: Account,
    ) -> None:  # fmt: skip
        facts = {"workers": workers, "labels": labels, "n_votes": n_votes, "account": account}
        facts |= {"blocks": blocks, "places": places, "item_type": item_type, "slices": (), "ordered": False}
        unknown = ("gold_i", "abstained_i", "seconds_n", "slice_i", "label_type", "text")  # models do not use gold here
        for name, value in {**facts, **dict.fromkeys(unknown)}.items():
            object.__setattr__(self, name, value)
        weakref.finalize(self, _free, blocks).atexit = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return int(self.places.item_b[-1]), len(self.workers), len(self.labels)

    @property
    def items(self) -> Sequence[Hashable]:
        """The names of the items."""
        return ClusterNames(self)

    @property
    def votes_i(self) -> Any:
        """The number of votes on each item."""
        return self.engine.rows(lambda block: np.diff(block.matrix.indptr))

    def __repr__(self) -> str:
        n_items, n_workers, _ = self.shape
        return f"Votes on a cluster: {self.n_votes:,} by {n_workers:,} workers on {n_items:,} items"

    @property
    def engine(self) -> SparkEngine:
        """The engine for these blocks."""
        return SparkEngine(self)

    def to_folder(self, work: WorkFolder) -> Votes:
        """Write the votes to a folder of this machine, block by block."""
        import pyarrow as pa

        schema = "part int, content binary, names binary"
        writer, places = StoreWriter(work), self.places
        rows = map_batches(self.blocks.select(*PACKED, "names"), _with_name_bytes, schema).toLocalIterator(True)

        def names() -> Iterator[Any]:
            for index, (part, content, item_bytes) in enumerate(rows):
                if int(places.part_b[index]) != part or zlib.crc32(content) != places.seal_b[index]:
                    raise DataError(CHANGED)
                column_n, offsets_i, gold_i = pickle.loads(content)
                worker_n, label_n = np.divmod(column_n, places.n_classes)
                arrays = {"votes_i": np.diff(offsets_i), "worker_n": worker_n, "label_n": label_n}
                writer.add(int(places.item_b[index]), arrays | ({"gold_i": gold_i} if places.has_gold else {}))
                yield pa.ipc.open_stream(item_bytes).read_all().column("name").combine_chunks()

        with spark_errors():
            n_items = write_names(work.claim(ITEMS_FILE), names())
        writer.finish()
        return mapped_votes(work.path, writer.files, n_items, self.account, workers=self.workers, labels=self.labels)


def _with_name_bytes(batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: each block with the names of its items as Arrow bytes."""
    import pyarrow as pa

    for batch in batches:
        for row in range(batch.num_rows):
            names, sink = batch.column("names")[row].values, pa.BufferOutputStream()
            names = names.cast(pa.large_string()) if pa.types.is_string(names.type) else names
            with pa.ipc.new_stream(sink, pa.schema({"name": names.type})) as writer:
                writer.write_batch(pa.record_batch({"name": names}))
            content = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.record_batch(
                [*(batch.column(name).slice(row, 1) for name in PACKED), content], ["part", "content", "names"]
            )


def _free(blocks: Any) -> None:
    with contextlib.suppress(Exception):  # the session may already be closed
        blocks.unpersist()


def _label_rows(sent: Any, places: Places, schema: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """On a Spark worker: the label and confidence of each item of each block."""
    import pyarrow as pa

    fn = None
    for batch in batches:
        fn = fn or sent()
        for row, block in enumerate(blocks_of(batch, places)):
            table = fn(without_gold(block))
            columns = [pa.array(table[name], schema.field(name).type, from_pandas=True) for name in table]
            yield pa.record_batch([batch.column("names")[row].values, *columns], ["item", *table])


def _label_type(labels: Sequence[Any]) -> Any:
    """The Arrow type of a column of labels; labels of mixed types are written as text."""
    import pyarrow as pa

    kinds = {type(label) for label in labels}
    if kinds == {int, float}:
        return pa.float64()
    known = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return known.get(kinds.pop(), pa.string()) if len(kinds) == 1 else pa.string()


def read_frame(frame: Any, options: ReadOptions) -> Votes:
    """Prepare the votes of a Spark frame on the cluster, and write them to a folder of this machine if there are many.

    Columns are found by name, as in any table.
    """
    return _here(pack_frame(frame, options), options)


def read_files(spark: Any, files: Sequence[str], options: ReadOptions, *, partitions: int | None = None) -> Votes:
    """Prepare the votes of some files on the cluster; see `pack_files`."""
    return _here(pack_files(spark, files, options, partitions=partitions), options)


def on_cluster(votes: Any, options: ReadOptions) -> tuple[Votes, Engine | None]:
    """Votes to fit a method to, with an engine that runs its sums on the executors if there are many."""
    packed = pack_frame(votes, options)
    return packed, packed.engine if isinstance(packed, SparkVotes) else None


def _here(packed: Votes, options: ReadOptions) -> Votes:
    """Votes in arrays; those on the cluster are written to a folder, which is a cache and can be deleted."""
    if not isinstance(packed, SparkVotes):
        return packed
    memory = None if options.memory is None else parse_memory(str(options.memory))
    scratch = temporary_scratch(memory) if options.work is None else Scratch(Path(options.work), memory)
    assert scratch.folder is not None
    work = WorkFolder.open(scratch.folder)
    work.clear()
    return with_ratings(replace(packed.to_folder(work), scratch=scratch), options)


def pack_files(spark: Any, files: Sequence[str], options: ReadOptions, *, partitions: int | None = None) -> Votes:
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
        return pack_frame(frame, replace(options, format=None), source=", ".join(files), partitions=partitions)
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="majorant-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        with open_table(list(files), options) as table:
            staged = None if table.wide else stage_table(table, folder / "rows.parquet", options)
        if staged is None or (partitions is None and staged.coded.n_rows <= LIMITS["SPARK_DRIVER_VOTES"]):
            return read_with(list(files), options)
        with spark_errors():
            votes = _encode_staged(spark, staged, one_gold(options, table), partitions)
        weakref.finalize(votes, stack.pop_all().close)  # if blocks are lost, they are recomputed from the staged file
        return votes


def pack_frame(
    frame: Any, options: ReadOptions, *, source: str = "Spark frame", partitions: int | None = None
) -> Votes:
    """Read the votes of a Spark frame with a row per vote; `partitions` as in `pack_files`."""
    options = _without_order(options)
    with spark_errors():
        if partitions is None and frame.count() <= LIMITS["SPARK_DRIVER_VOTES"]:
            with suppress(_TooLargeForDriver):
                return _read_here(frame, options, source)
        return _encode_frame(frame, options, source, partitions)


def _without_order(options: ReadOptions) -> ReadOptions:
    """The options for Spark; policies for repeated votes that depend on the order of rows are refused."""
    if options.repeats not in ("error", "each"):
        raise ConfigError(f"{use('repeats')}{options.repeats}: rows on Spark have no order. Choose one of error, each.")
    if options.trust_column is not None:
        raise ConfigError(f"{use('trust_column')} weighs votes that are read into memory. Leave it out on Spark.")
    return replace(options, seconds="", threads=None, progress=None, memory=None)


class _TooLargeForDriver(Exception):
    """Too many bytes for the driver, although there are few rows."""


def _read_here(frame: Any, options: ReadOptions, source: str) -> Votes:
    try:
        table = frame.toArrow()
    except Exception as error:  # Spark's own, or py4j's
        if "spark.driver.maxResultSize" not in str(error):
            raise
        raise _TooLargeForDriver from None
    votes = read_with(table, options)
    return replace(votes, account=replace(votes.account, source=source))


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
                f"{use(name)} works only for votes in memory, and {source} is too large. Convert it to "
                "one row per vote."
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
            f"{both}. Keep one vote per worker and item, or count both with {use('repeats', 'each')}."
        )


def _account(facts: BlockFacts, words: _Vocabulary, options: ReadOptions) -> Account:
    coverage = measure_coverage(facts.counts, words.named, words.workers)
    coded = replace(words.coded, n_rows=facts.rows)
    return make_account(coded, coverage, words.named, Resolved(None, facts.merged, 0), options.repeats, words.gold)
