"""Files read by Spark: CSV, JSON lines and Parquet, their columns found as everywhere else."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from majorant.backend.spark.frames import encode_table
from majorant.backend.spark.pack import CHANGED
from majorant.backend.spark.votes import SparkVotes
from majorant.errors import ConfigError, DataError
from majorant.io.columns import find_roles
from majorant.io.files import ENDINGS, PACKINGS
from majorant.io.formats import recognise_table
from majorant.io.joined import values_of
from majorant.io.json_text import LAID_OUT
from majorant.io.opening import open_rows, open_table, stamp
from majorant.io.options import ReadOptions
from majorant.io.table import RowSource, Table
from majorant.io.values import voted
from majorant.io.wide import detect_wide

PACKED = (*PACKINGS, ".bz2")  # Spark unpacks one more than we do
TABS = (".tsv", ".tab")
MOST_STATUSES = 1_000
NO_SPACE = "No space left on device"
MORE_SPACE = "It sorts votes in its folder for temporary files: make room there, or name another by SPARK_LOCAL_DIRS."
HERE_BYTES = 1 << 28  # files up to this size may be laid out by the driver; larger ones are tables that Spark reads


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
    told = [name for name in ("columns", "encoding", "wide", "workers", "several", "sheet") if getattr(options, name)]
    if told:
        raise ConfigError(
            f"{told[0]}= does not go with Spark for files that are not here, or are this large. Write a row per "
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
                given = values_of(column)
                values.setdefault(role, []).extend(map(_decoded, given) if table.kind == "json" else given)
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
        return bool(find_roles(rows.names, options.choice, rows.source))
    except DataError:
        return detect_wide(rows, options.choice) is None


def _decoded(cell: Any) -> Any:
    value = None if cell is None else json.loads(cell)
    return (value[0] if value else None) if isinstance(value, list) and len(value) < 2 else value


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type, text where they differ: a column on Spark has one."""
    kinds = {type(value) for value in values if value is not None}
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _kind(files: Sequence[str], told: str | None) -> tuple[str, bool]:
    """What the files are, by our table of endings or as the caller says, and whether tabs separate their fields."""
    names = [Path(Path(file).stem if Path(file).suffix in PACKED else file) for file in files]
    endings = {name.suffix.lower() for name in names}
    kinds = {ENDINGS.get(ending) for ending in endings} if told is None else {told.replace("tsv", "csv")}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind == "json" and told != "jsonl" and ".json" in endings:
        raise ConfigError("Spark reads JSON lines, one vote a line: format='jsonl'.")
    if kind not in ("csv", "json", "jsonl", "parquet"):
        raise ConfigError(f"{files[0]}: Spark reads CSV, TSV, JSON lines or Parquet. Say which with format=.")
    return kind, told == "tsv" or (told is None and endings <= set(TABS))


def _frame(spark: Any, files: list[str], kind: str, separator: str) -> Any:
    """The frame; text stays text, and a row that does not parse is an error."""
    reader = spark.read.option("mode", "FAILFAST")
    if kind == "parquet":
        return reader.parquet(*files)
    if kind in ("json", "jsonl"):
        return reader.json(files)
    return reader.option("quote", '"').option("escape", '"').csv(files, header=True, inferSchema=False, sep=separator)


def _voted(frame: Any, status: str, label: str, source: str) -> Any:
    """The frame without the labels of rows whose status says that there is no vote."""
    from pyspark.sql import functions as F

    column = frame[f"`{status}`"]
    values = [row[0] for row in frame.select(column).distinct().limit(MOST_STATUSES).collect()]
    meanings = {value: voted(value) for value in values}
    unclear = [value for value, meaning in meanings.items() if meaning is None]
    if unclear:
        raise DataError(
            f"{source}, column {status!r}: cannot tell whether {unclear[0]!r} means a vote. Use ok, abstain or error, "
            "or leave it out with status=''."
        )
    silent = [value for value, meaning in meanings.items() if not meaning]
    return (
        frame.withColumn(label, F.when(column.isin(silent), None).otherwise(frame[f"`{label}`"])) if silent else frame
    )


@contextlib.contextmanager
def spark_errors() -> Iterator[None]:
    """What Spark throws as an error of ours: its first line says what happened."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        raise DataError(f"Spark cannot read the votes: {_first_line(error)}") from None
    except OSError as error:  # of PySpark itself, which keeps what it sends in a file; other files have errors of ours
        if error.errno != errno.ENOSPC:
            raise
        raise ConfigError(f"Spark gave up: {NO_SPACE}. {MORE_SPACE}") from error
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if CHANGED in str(error):
            raise DataError(CHANGED) from None
        if NO_SPACE in str(error):
            raise ConfigError(f"Spark gave up: {NO_SPACE}. {MORE_SPACE}") from error
        raise ConfigError(f"Spark gave up: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:400]
