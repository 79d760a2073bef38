"""Files read by Spark: CSV, JSON lines and Parquet, their columns found as everywhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from majorant.backend.spark.frames import Columns, encode
from majorant.backend.spark.votes import SparkVotes
from majorant.errors import ConfigError, DataError
from majorant.io.columns import Choice, find_roles
from majorant.io.values import is_empty, voted

ENDINGS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
PACKED = (".gz", ".zst", ".bz2")
NOT_HERE = ("gold_file", "columns", "wide", "encoding")  # settings of reading that need all of a file at once
MOST_STATUSES = 1_000


def read_votes(spark: Any, files: Sequence[str], settings: Mapping[str, Any]) -> SparkVotes:
    """The votes of some files of one kind; `settings` are those of `majorant.read`."""
    for name in NOT_HERE:
        if settings.get(name):
            raise ConfigError(f"{name}= does not go with Spark. Write the votes as Parquet first.")
    source = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
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
