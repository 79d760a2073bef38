"""Generated tables, read by `majorant.read` and by a naive reader, which follows docs/input.md cell by cell.

Refusing a table is allowed, reading other votes than the naive reader is not. A second comparison is between ways of
reading.
"""

from __future__ import annotations

import atexit
import csv
import io
import json
import math
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import majorant
from awkward_tables import SPOILED, TEXTS, VALUES, _columns, _pick, _spoil, draw_table
from corpus import fuzz
from majorant.errors import ConfigError, DataNote, MajorantError

ACCOUNTED = ("rows", "votes", "abstained", "merged", "dropped")
ROLES = ("item", "worker", "label", "gold", "status")


class Refused(Exception):
    """The naive reader sees that this cannot be read."""


@dataclass
class Written:
    """A table as it was written: where, how it is to be read, and its cells."""

    source: Any
    rows: list[dict[str, Any]]
    text: bool  # whether cells have no types
    settings: dict[str, Any] = field(default_factory=dict)
    wide: bool = False
    unreadable: bool = False  # an encoding that nobody declared


def typed(value: Any) -> tuple[str, Any]:
    """A value with its type; NaN equals itself."""
    return type(value).__name__, "nan" if isinstance(value, float) and math.isnan(value) else value


def content(votes: Any) -> tuple[Any, ...]:
    """What was read: votes, gold labels, names and counts of rows, regardless of the order of items and workers."""
    items, workers, labels = ([typed(name) for name in names] for names in (votes.items, votes.workers, votes.labels))
    ballots = Counter(
        (items[i], workers[j], labels[k])
        for i, j, k in zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True)
    )
    gold = {} if votes.gold_i is None else dict(zip(items, votes.gold_i.tolist(), strict=True))
    counts = {name: getattr(votes.account, name) for name in ACCOUNTED}
    return ballots, gold, Counter(items), Counter(workers), labels, counts


# The naive reader


def _empty(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, (float, Decimal)) and value != value)
    )


def _kind(value: Any) -> tuple[str, Any]:
    """1 and 1.0 are one label, 1, "1" and True three."""
    if isinstance(value, bool):
        return "bool", value
    return ("number" if isinstance(value, (int, float, Decimal)) else "text"), value


def _as_number(text: str) -> Any:
    for make in (int, float):
        try:
            number = make(text)
        except (ValueError, OverflowError):
            continue
        if repr(number) == text and math.isfinite(number) and (make is float or len(text.lstrip("-")) <= 18):
            return number
    return None


def naive(table: Written) -> tuple[Counter[Any], dict[Any, Any], dict[str, int]]:
    """The votes, gold labels and counts of a table, by the rules of docs/input.md."""
    if table.unreadable:
        raise Refused("encoding")
    no_vote = {table.settings["empty"]} if "empty" in table.settings else set()
    votes, gold, merged, abstained = [], {}, 0, 0
    said: dict[Any, Any] = {}
    rows = [row for row in table.rows if not _is_header(row, table.text)]
    for row in rows:
        if any(isinstance(row.get(role), (list, dict, tuple)) for role in ROLES):
            raise Refused("nested")
        item, worker, label = (row.get(role) for role in ROLES[:3])
        if _empty(item) or _empty(worker):
            raise Refused("no item or worker")
        truth = row.get("gold")
        known = not _empty(truth) and str(truth) not in no_vote
        if known and gold.setdefault(_kind(item), truth) != truth:
            raise Refused("two gold labels")
        status = re.sub(r"\W", "", str(row.get("status") or ""))
        if _empty(label) or str(label) in no_vote or status not in ("", "ok"):
            abstained += not (table.wide and _empty(label))  # there, a worker was perhaps never asked
            continue
        key = (_kind(item), _kind(worker))
        if table.settings.get("repeats", "error") == "error" and key in said:
            if _kind(said[key]) != _kind(label):
                raise Refused("a worker contradicts itself")
            merged += 1
            continue
        said[key] = label
        votes.append((item, worker, label))
    if table.text:
        texts = {label for _, _, label in votes} | set(gold.values())
        numbers = {text: _as_number(text) for text in texts}
        if None not in numbers.values():
            votes = [(item, worker, numbers[label]) for item, worker, label in votes]
            gold = {item: numbers[label] for item, label in gold.items()}
    ballots = Counter((_kind(item), _kind(worker), _kind(label)) for item, worker, label in votes)
    counts = {"votes": len(votes), "abstained": abstained, "merged": merged}
    return ballots, {item: _kind(label) for item, label in gold.items()}, counts


def _is_header(row: dict[str, Any], text: bool) -> bool:
    return text and all(str(value).strip().casefold() == name for name, value in row.items())


def read_ballots(votes: Any) -> tuple[Counter[Any], dict[Any, Any], dict[str, int]]:
    """The same of what was read."""
    items, workers, labels = ([_kind(name) for name in names] for names in (votes.items, votes.workers, votes.labels))
    said = zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True)
    gold_i = [] if votes.gold_i is None else votes.gold_i.tolist()
    return (
        Counter((items[i], workers[j], labels[k]) for i, j, k in said),
        {items[i]: labels[k] for i, k in enumerate(gold_i) if k >= 0},
        {name: getattr(votes.account, name) for name in ("votes", "abstained", "merged")},
    )


# The tables


def write_case(folder: Path, number: int) -> Written:
    """Table `number`, written to the folder."""
    rng = np.random.default_rng([5, number])
    kinds: dict[str, Callable[..., Written]] = {
        "csv": _text, "wide": _wide, "jsonl": _json, "json": _json, "parquet": _arrow, "frame": _frame,
    }  # fmt: skip
    kind = str(rng.choice(list(kinds), p=[0.45, 0.12, 0.15, 0.05, 0.13, 0.1]))
    table = kinds[kind](rng, folder / f"t{number}", kind)
    table.settings |= {"repeats": str(rng.choice(["error", "each"]))} if not table.wide else {}
    if rng.random() < 0.2:
        table.settings["empty"] = str(rng.choice(["NA", "1", "a", "null"]))
    return table


def _rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _text(rng: np.random.Generator, path: Path, _: str) -> Written:
    columns = {name: ["" if v is None else v for v in values] for name, values in _columns(rng, TEXTS).items()}
    out = io.StringIO(newline="")
    ends, sign = str(rng.choice(["\n", "\n", "\r\n"])), str(rng.choice([",", ",", ";", "\t", "|"]))
    quoting = csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=sign, lineterminator=ends, quoting=quoting)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    text = out.getvalue()
    spoiled = rng.random() < 0.15
    if spoiled:
        text = _spoil(rng, text, sign, ends, str(rng.choice(SPOILED)))
    code = str(rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"]))
    coded = text.encode(code, errors="replace")
    path = path.with_suffix(".csv")
    path.write_bytes(coded)
    text = coded.decode(code)
    settings = {"encoding": code} if code in ("latin-1", "cp1252") and rng.random() < 0.5 else {}
    unreadable = code in ("latin-1", "cp1252") and not settings and not coded.isascii()
    table = Written(str(path), [], text=True, settings=settings, unreadable=unreadable)
    try:
        table.rows = _parsed(text, sign, zeros="encoding" in settings)
    except (csv.Error, Refused):
        table.unreadable = True
    return table


def _parsed(text: str, sign: str, *, zeros: bool) -> list[dict[str, Any]]:
    names, *rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=sign, strict=True))
    rows = [row for row in rows if row]
    for row in rows:
        while len(row) > len(names) and not row[-1]:
            row.pop()
        if len(row) != len(names) or (not zeros and any("\0" in cell for cell in row)):
            raise Refused("fields")
    return [dict(zip(names, row, strict=True)) for row in rows]


def _wide(rng: np.random.Generator, path: Path, _: str) -> Written:
    n_items, workers = int(rng.integers(3, 9)), ["ana", "bo", "cy", "di"][: int(rng.integers(2, 5))]
    items = [f"i{n}" for n in range(n_items)]
    if rng.random() < 0.4:
        items[0] = str(rng.choice([text for text in TEXTS if text.strip()]))
    pool = ["yes", "no", "unsure", *(_pick(rng, TEXTS, 2) if rng.random() < 0.5 else [])]
    cells = {worker: _pick(rng, pool, n_items) for worker in workers}
    gold = {"gold": _pick(rng, ["yes", "no", ""], n_items)} if rng.random() < 0.3 else {}
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    columns = {"item": items, **cells, **gold}
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path = path.with_suffix(".csv")
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    rows = [
        {
            "item": items[n],
            "worker": worker,
            "label": cells[worker][n],
            **{key: truth[n] for key, truth in gold.items()},
        }
        for n in range(n_items)
        for worker in workers
    ]
    settings = {"workers": workers} if rng.random() < 0.6 else {"wide": True} if rng.random() < 0.5 else {}
    return Written(str(path), rows, text=True, settings=settings, wide=True)


def _json(rng: np.random.Generator, path: Path, kind: str) -> Written:
    rows = _rows_of(_columns(rng, VALUES))
    lines = [json.dumps(row, ensure_ascii=bool(rng.integers(2))) for row in rows]
    path = path.with_suffix(f".{kind}")
    whole = "\n".join(lines) if kind == "jsonl" else f"[{', '.join(lines)}]"
    path.write_text(whole, encoding=str(rng.choice(["utf-8", "utf-8-sig", "utf-16"])))
    for row in rows:  # as documented: a list of one is its value, integers beyond 64 bits are text
        for name, value in row.items():
            if isinstance(value, list) and len(value) < 2:
                value = value[0] if value else None
            row[name] = str(value) if type(value) is int and not -(2**63) <= value < 2**64 else value
    return Written(str(path), rows, text=False)


def _arrow(rng: np.random.Generator, path: Path, _: str) -> Written:
    import pyarrow.parquet as pq

    drawn = draw_table(path.parent, int(rng.integers(10**6)))
    while not drawn.source.endswith(".parquet"):
        Path(drawn.source).unlink()
        drawn = draw_table(path.parent, int(rng.integers(10**6)))
    rows = pq.read_table(drawn.source).to_pylist()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float) and value.is_integer():
                row[name] = value
    return Written(drawn.source, rows, text=False)


def _frame(rng: np.random.Generator, path: Path, _: str) -> Written:
    import pandas as pd

    columns = _columns(rng, [value for value in VALUES if not isinstance(value, (list, dict))])
    rows = _rows_of(columns)
    match int(rng.integers(4)):
        case 0:
            return Written(columns, rows, text=False)
        case 1:
            return Written([dict(row) for row in rows], rows, text=False)
        case 2:
            return Written([tuple(row[role] for role in ROLES[:3]) for row in rows],
                           [{role: row[role] for role in ROLES[:3]} for row in rows], text=False)  # fmt: skip
        case _:
            return Written(pd.DataFrame(columns, dtype=object), rows, text=False)


OUTCOMES: Counter[str] = Counter()  # of this process


def run_reading(number: int) -> tuple[int, str | None]:
    """Table `number` against the naive reader."""
    by_duckdb = fuzz.read_by_duckdb(number % 2 == 1)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), by_duckdb:
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataNote)
        table = write_case(Path(folder), number)
        try:
            votes = majorant.read(table.source, **table.settings)
            found: Any = read_ballots(votes)
            told = {name for note in votes.account.notes for name in note.facts.get("left_out", ())}
            table.rows = [row for row in table.rows if row.get("worker") not in told]  # a note names the column
        except MajorantError as error:
            found = str(error)
        except Exception as error:
            return number, fuzz.describe_error(error)
        try:
            expected: Any = naive(table)
        except Refused as error:
            expected = str(error)
    if isinstance(found, str):
        OUTCOMES["refused by both" if isinstance(expected, str) else "refused"] += 1
        return number, None
    if isinstance(expected, str):
        return number, f"read, though the naive reader refuses it: {expected}"
    OUTCOMES["same"] += found == expected
    return number, None if found == expected else f"read {_difference(found, expected)}"


def _difference(found: Any, expected: Any) -> str:
    for what, one, other in zip(("votes", "gold", "counts"), found, expected, strict=True):
        if one != other:
            if isinstance(one, Counter):
                more, less = (list((a - b).items())[:3] for a, b in ((one, other), (other, one)))
                return f"{what}: {str(more)[:150]} for {str(less)[:150]}"
            return f"{what}: {str(one)[:150]} for {str(other)[:150]}"
    return ""


# Where the votes are read


def compare(table: Any, read: Callable[[Any], Any]) -> bool | None:
    """Whether another way of reading gives what memory gives; None where it refuses."""
    try:
        expected: Any = content(majorant.read(table.source, **table.settings))
    except MajorantError as error:
        expected = str(error)
    try:
        found = content(read(table))
    except MajorantError:
        return None
    assert not isinstance(expected, str), f"{table.source}: memory refuses it ({expected})"
    assert found == expected, table.source
    return True


def run_files(number: int) -> tuple[int, str | None]:
    """Table `number` read in memory and from sorted files."""
    from majorant.read.options import ReadOptions
    from majorant.read.sort import prepare

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        return number, _compared(
            draw_table(Path(folder), number),
            lambda table: prepare(table.source, work, ReadOptions(**table.settings), memory=10**9),
        )


def run_spark(number: int) -> tuple[int, str | None]:
    """Table `number` read in memory and on Spark, in one session for all tables."""
    from majorant.read.options import ReadOptions
    from majorant.read.spark import read_files

    def read(table: Any) -> Any:
        try:
            return read_files(_spark(), [table.source], ReadOptions(**table.settings), partitions=2)
        except ConfigError as error:  # Spark itself broke down: that is no refusal of a table
            raise AssertionError(str(error)) from None

    with tempfile.TemporaryDirectory() as folder:
        return number, _compared(draw_table(Path(folder), number), read)


def _compared(table: Any, read: Callable[[Any], Any]) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compare(table, read)
        except AssertionError as error:
            return f"the two differ: {str(error)[:200]}"
        except Exception as error:
            return fuzz.describe_error(error)
    return None


OPEN = ExitStack()  # keeps the session until this process ends
atexit.register(OPEN.close)


@cache
def _spark() -> Any:
    from majorant.read import spark

    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
    }
    return OPEN.enter_context(spark.spark_session("local[2]", memory="1g", settings=settings))


def has_spark() -> bool:
    """Whether PySpark and Java are here."""
    from majorant.read import spark

    try:
        spark.require_spark()
    except MajorantError:
        return False
    return True
