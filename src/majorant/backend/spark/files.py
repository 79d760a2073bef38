"""Files read by Spark: CSV, JSON lines and Parquet, their columns found as everywhere else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from majorant.backend.spark.frames import Columns, encode
from majorant.backend.spark.votes import SparkVotes
from majorant.errors import ConfigError, DataError
from majorant.io.columns import Choice, find_roles
from majorant.io.formats import recognise_table
from majorant.io.joined import values_of
from majorant.io.json_text import LAID_OUT
from majorant.io.opening import Opening, open_rows, open_table, opening_of
from majorant.io.table import Rows
from majorant.io.values import is_empty, voted
from majorant.io.wide import detect_wide

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
PACKED = (".gz", ".zst", ".bz2")
NOT_HERE = (
    "gold_file",
    "columns",
    "order",
    "threshold",
    "codes",
    "encoding",
)  # settings of reading that need all of a file at once
MOST_STATUSES = 1_000
LAID_OUT_BYTES = 1 << 28  # larger files are tables, or belong into memory first


def read_votes(spark: Any, files: Sequence[str], settings: Mapping[str, Any]) -> SparkVotes:
    """The votes of some files of one kind; `settings` are those of `majorant.read`."""
    for name in NOT_HERE:
        if settings.get(name):
            raise ConfigError(f"{name}= does not go with Spark. Write the votes as Parquet first.")
    source = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
    if (laid := _laid_out(spark, files, settings)) is not None:
        return laid
    kind = settings.get("format") or _kind(files)
    frame = _frame(spark, list(files), kind, settings.get("delimiter"))
    words = {role: settings.get(role) for role in ("item", "worker", "label", "gold", "status")}
    roles = find_roles(frame.columns, Choice.of(None, **words, seconds=""), source)
    named = {role: frame.columns[place] for role, place in roles.items()}
    if "status" in named:
        frame = _voted(frame, named.pop("status"), named["label"], source)
    return encode(
        frame,
        Columns(**named),
        repeats=settings.get("repeats", "error"),
        empty=settings.get("empty", ()),
        max_classes=settings.get("max_classes", 1_000),
        text=kind in ("csv", "tsv"),
        source=source,
    )


def _laid_out(spark: Any, files: Sequence[str], settings: Mapping[str, Any]) -> SparkVotes | None:
    """The votes of a log, an export, a spreadsheet or a wide table, laid out here and sent; None for a row per vote."""
    paths = [Path(file) for file in files]
    is_wide = bool(settings.get("wide") or settings.get("workers"))
    if not all(path.is_file() for path in paths) or sum(path.stat().st_size for path in paths) > LAID_OUT_BYTES:
        if is_wide:
            raise ConfigError("a wide table of this size does not go with Spark. Write a row per vote as Parquet.")
        return None
    told = {name: value for name, value in settings.items() if name not in ("by", "seconds", "encoding", "columns")}
    how = opening_of({**told, "seconds": ""})
    with open_rows(list(files), how) as every:
        if not is_wide and not how.several and all(_is_plain(rows, how) for rows in every):
            return None
    import pyarrow as pa

    values: dict[str, list[Any]] = {}
    with open_table(list(files), how) as table:
        for part in table.parts:
            for role, column in part.columns.items():
                given = values_of(column)
                values.setdefault(role, []).extend(map(_decoded, given) if table.kind == "json" else given)
    columns = {role: pa.array(_alike(column)) for role, column in values.items()}
    frame = spark.createDataFrame(pa.table(columns))
    if "status" in columns:
        frame = _voted(frame, "status", "label", table.source)
    return encode(
        frame,
        Columns(gold="gold" if "gold" in columns and not pa.types.is_null(columns["gold"].type) else None),
        repeats=settings.get("repeats", "error"),
        empty=settings.get("empty", ()),
        max_classes=settings.get("max_classes", 1_000),
        source=f"{table.source}, {table.format}",
    )


def _is_plain(rows: Rows, how: Opening) -> bool:
    """Whether a file is a table with a row per vote, as Spark reads them."""
    if rows.unit == LAID_OUT or rows.format.startswith("spreadsheet") or recognise_table(rows.names) is not None:
        return False
    try:
        return bool(find_roles(rows.names, how.choice, rows.source))
    except DataError:
        return detect_wide(rows, how.choice) is None


def _decoded(cell: Any) -> Any:
    value = None if cell is None else json.loads(cell)
    return (value[0] if value else None) if isinstance(value, list) and len(value) < 2 else value


def _alike(values: list[Any]) -> list[Any]:
    """Values of one type, text where they differ: a column on Spark has one."""
    kinds = {type(value) for value in values if value is not None}
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _kind(files: Sequence[str]) -> str:
    kinds = set()
    for file in files:
        path = Path(file)
        ending = Path(path.stem).suffix if path.suffix in PACKED else path.suffix
        kinds.add(ENDINGS.get(ending.lower()))
    if len(kinds) != 1 or None in kinds:
        raise ConfigError(f"{files[0]}: Spark reads CSV, TSV, JSON lines or Parquet. Say which with format=.")
    return str(kinds.pop())


def _frame(spark: Any, files: list[str], kind: str, delimiter: str | None) -> Any:
    """The frame; text stays text, and a row that does not parse is an error."""
    if kind == "json":
        raise ConfigError("Spark reads JSON lines, one vote a line: format='jsonl'.")
    reader = spark.read.option("mode", "FAILFAST")
    if kind == "parquet":
        return reader.parquet(*files)
    if kind == "jsonl":
        return reader.json(files)
    separator = delimiter or ("\t" if kind == "tsv" else ",")
    return reader.option("quote", '"').option("escape", '"').csv(files, header=True, inferSchema=False, sep=separator)


def _voted(frame: Any, status: str, label: str, source: str) -> Any:
    """The frame without the labels of rows whose status says that there is no vote."""
    from pyspark.sql import functions as F

    column = frame[f"`{status}`"]
    values = [row[0] for row in frame.select(column).distinct().limit(MOST_STATUSES).collect()]
    said = {value: True if is_empty(value) else voted(value) for value in values}
    unclear = [value for value, meaning in said.items() if meaning is None]
    if unclear:
        raise DataError(
            f"{source}, column {status!r}: cannot tell whether {unclear[0]!r} means a vote. Use ok, abstain or error, "
            "or leave it out with status=''."
        )
    silent = [value for value, meaning in said.items() if not meaning]
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
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise ConfigError(f"Spark gave up: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:400]
