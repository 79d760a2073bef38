"""Mutated inputs for every reader, and small random tables for `check`; failures are minimised and kept.

Findings go to tests/corpus/found, whose inputs tests/read/test_faults.py reads again and whose tables
tests/test_fuzz.py checks again. campaign.py runs these cases and others.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import importlib
import inspect
import json
import math
import os
import pkgutil
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest import mock
from xml.etree import ElementTree

import numpy as np

from corpus import CASES, FOUND, READERS, TABLE, reader_of
from majorant.errors import DataNote, MajorantError
from majorant.tabular import unguard_cell

PIECES = (
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b'"', b"'", b"\\", b",", b";", b"\t", b"\n", b"\r", b"{", b"}", b"[",
    b"]", b":", b"null", b"NaN", b"-", b"1e999", b"9" * 40, b"=1+1", b"\xed\xa0\x80", b"<!DOCTYPE html>", b"PAR1",
    b"\\ud800", b"true", b"[]", b"{}", b'""', b"&lol;", b"<!--", b"]]>", b"\x1f\x8b", b"PK\x03\x04", b"\x1b[2J",
)  # fmt: skip
SMALLER_TRIES = 200
SLOW = {"page": 0.25, ".xlsx": 0.1, ".ods": 0.1}  # readers and files that take long, and how often they are tried
LONGEST = 60  # seconds of processor time of a case
FIXTURES = Path(__file__).parent.parent / "read" / "fixtures"
SCHEMA = Path(__file__).parent.parent.parent / "docs" / "result.schema.json"
WHOLE = 20  # one table in so many is checked with the usual budgets
ODD_NAMES = (
    "a", "=1+1", "+1", "-1", "@x", "\tx", "'=1", "gpt-4.1234", "gpt-4.1235", "font: 1px", 'x id="y', "é", "e\u0301",
    "a,b", "two\nlines", "#", "0.10", "1e5", " padded ", "NULL", "null", "nan", "<script>alert(1)</script>", "]]>",
    "&amp;", "\u202egpj.exe", "\x1b[2J", "🦆", "a very long name that no figure has the room for, however wide it is",
    "$x^2$", "\\", "{{7*7}}",
)  # fmt: skip


class Case(NamedTuple):
    """What goes in: the reader, the name of the file, and its content."""

    reader: str
    name: str
    content: bytes


@cache
def seeds() -> tuple[Case, ...]:
    """Sound inputs of every format and reader, and those that once broke one."""
    return tuple(_seeds())


def _seeds() -> Iterator[Case]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [dict(zip(("item", "worker", "label"), line.split(","), strict=True)) for line in TABLE.split()[1:]]
    plain = {
        "a.csv": TABLE.encode(),
        "a.tsv": TABLE.replace(",", "\t").encode(),
        "utf16.csv": TABLE.encode("utf-16"),
        "a.csv.gz": gzip.compress(TABLE.encode(), mtime=0),
        "a.json": json.dumps(rows).encode(),
        "a.jsonl": "\n".join(map(json.dumps, rows)).encode(),
        "gold.jsonl": "\n".join(json.dumps({**row, "gold": "y", "status": "ok"}) for row in rows).encode(),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        plain["a.parquet"] = path.read_bytes()
    for name, content in plain.items():
        yield Case("votes", name, content)
    for path in sorted(FIXTURES.rglob("*.*")):
        yield Case("several" if path.name == "several.jsonl" else "votes", path.name, path.read_bytes())
    yield Case("wide", "wide.csv", b"item,ana,bo,cy\na,1,0,1\nb,0,0,1\nc,1,1,1\n")
    yield Case("wide", "wide.json", json.dumps([{"item": i, "ana": 1, "bo": 0} for i in "abc"]).encode())
    for name in ("a.csv", "a.jsonl"):
        yield Case("gold", name, plain[name].replace(b"label", b"gold"))
        yield Case("export", name, plain[name])
    for name in ("label_studio.json", "argilla.json", "prodigy.jsonl"):
        yield Case("answers", name, (FIXTURES / name).read_bytes())
        yield Case("export", name, (FIXTURES / name).read_bytes())
    yield Case("answers", "tasks.csv", b"draw,item,label,expert\n1,i1,y,ana\n2,i2,n,ana\n3,i3,,bo\n")
    yield from _own_files()
    for name, make in CASES.items():
        if "deep" not in name:
            yield Case(*reader_of(name), make())
    for number in range(3):
        yield Case("frame", "frame.json", json.dumps(_frame(np.random.default_rng(number))).encode())


def _own_files() -> Iterator[Case]:
    """Files that majorant writes and reads again: a rule, a design, a result, its page."""
    import majorant as mj
    from majorant.render.files import write_result
    from majorant.render.summary import result_summary

    columns = {
        name: [line.split(",")[p] for line in TABLE.split()[1:]] for p, name in enumerate(("item", "worker", "label"))
    }
    yield Case("rule", "rule.json", mj.aggregate(columns, "dawid-skene").rule().to_json().encode())
    crowd = {
        "item": [f"i{n // 5}" for n in range(300)],
        "worker": [f"w{n % 5}" for n in range(300)],
        "label": [("ny"[(n // 5) % 2] if n % 7 else "ny"[n % 2]) for n in range(300)],
    }
    yield Case("design", "a.design.json", mj.ask(mj.read(crowd), rng=0).to_json().encode())
    with tempfile.TemporaryDirectory() as folder:
        result = mj.check(columns, rng=0)
        write_result(result, result_summary(result), folder)
        yield Case("result", "result.json", (Path(folder) / "result.json").read_bytes())
        yield Case("result", "report.html", (Path(folder) / "report.html").read_bytes())
        yield Case("page", "result.json", (Path(folder) / "result.json").read_bytes())


def _frame(rng: np.random.Generator) -> dict[str, Any]:
    """A frame of odd values, as tests/corpus/__init__.py builds it: a kind, and indexes of values by column."""
    n_rows = int(rng.integers(1, 6))
    odd = rng.choice([0.05, 0.5, 1.0])
    most = {name: 70 if rng.random() < odd else 3 for name in ("item", "worker", "label", "gold", "status")}
    kept = ["item", "worker", "label", *(name for name in ("gold", "status") if rng.random() < 0.3)]
    return {
        "kind": int(rng.integers(0, 9)),
        **{name: rng.integers(0, most[name], n_rows).tolist() for name in kept},
    }


def mutated(case: Case, rng: np.random.Generator) -> Case:
    """The input with a few bytes flipped, cut, repeated or inserted (in archives, those of a member); new frames."""
    if case.reader == "frame":
        return case._replace(content=json.dumps(_frame(rng)).encode())
    if case.content[:2] == b"PK" and rng.random() < 0.8:
        return case._replace(content=_with_members_mutated(case.content, rng))
    if case.content[:2] == b"\x1f\x8b" and rng.random() < 0.5:
        try:
            return case._replace(content=gzip.compress(_mutated(gzip.decompress(case.content), rng), mtime=0))
        except Exception:  # damaged already
            return case._replace(content=_mutated(case.content, rng))
    return case._replace(content=_mutated(case.content, rng))


def _mutated(content: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, len(found) + 1))
        end = min(len(found), at + int(rng.integers(1, 40)))
        match int(rng.integers(0, 6)):
            case 0 if at < len(found):
                found[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                del found[at:end]
            case 2:
                found[at:at] = found[at:end] * int(rng.integers(1, 4))
            case 3:
                found[at:at] = PIECES[int(rng.integers(0, len(PIECES)))]
            case 4:
                found = _value_swapped(found, at, rng)
            case _ if rng.random() < 0.3:
                found = found[: max(at, 1)]
            case _:
                found[at:end] = PIECES[int(rng.integers(0, len(PIECES)))]
    return bytes(found)


JSON_VALUE = re.compile(rb'"[^"\n]{0,80}"|-?\d+(\.\d+)?|true|false|null|\{\}|\[\]')
JSON_PIECES = (
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b"-1",
    b"1e999",
    b'"a"',
    b'[["x"]]',
    b'{"a": {"b": 1}}',
    b"9" * 400,
)


def _value_swapped(content: bytearray, at: int, rng: np.random.Generator) -> bytearray:
    """One value of JSON for another, of another type: what is well formed goes deeper than what is not."""
    found = JSON_VALUE.search(content, at)
    if found is None:
        return content
    return content[: found.start()] + JSON_PIECES[int(rng.integers(0, len(JSON_PIECES)))] + content[found.end() :]


def _with_members_mutated(content: bytes, rng: np.random.Generator) -> bytes:
    import io
    import zipfile

    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
            which = int(rng.integers(0, len(old.namelist())))
            for number, name in enumerate(old.namelist()):
                member = old.read(name)
                new.writestr(name, _mutated(member, rng) if number == which else member)
            new.comment = old.comment
    except (zipfile.BadZipFile, ValueError, UnicodeError):
        return _mutated(content, rng)
    return out.getvalue()


class TooLong(Exception):
    """A case that does not end."""


@contextmanager
def _bounded(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong(f"over {seconds} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


BUDGETS = {  # a table takes a third of the time where searches end early and resamples are few
    "N_BOOT": 100, "N_REPLICATES": 20, "POINTS": 20,
}  # fmt: skip
SPENDING = ("results", "evidence")  # the rooms that have such budgets
DATABASES: dict[tuple[object, ...], Any] = {}  # of this process, by their settings


@cache
def hurry() -> None:
    """Share one DuckDB among the cases of this process, since starting it takes longer than reading; use one thread."""
    from majorant import database

    for name in ("read.json_text", "read.parquet", "output"):
        importlib.import_module(f"majorant.{name}")
    start = database.connect

    def shared(threads: int | None = None, **settings: str) -> Any:
        key = (threads, *sorted(settings.items()))
        if key not in DATABASES:
            DATABASES[key] = start(threads, **settings)
        return DATABASES[key].cursor()

    os.environ["MAJORANT_THREADS"] = "1"
    os.environ["RUST_BACKTRACE"] = "0"  # polars panics over odd frames, before we see them
    for module in [module for name, module in sys.modules.items() if name.startswith("majorant")]:
        if getattr(module, "connect", None) is start:
            module.connect = shared  # type: ignore[attr-defined]


@contextmanager
def read_by_duckdb(yes: bool) -> Iterator[None]:
    """Read delimited text with DuckDB, as large files are; small ones are usually left to Python's csv."""
    from majorant.read import delimited

    with mock.patch.object(delimited, "_is_small", (lambda file: False) if yes else delimited._is_small):
        yield


def read_fault(case: Case) -> str | None:
    """What leaves a reader that should not; None where it reads its input or refuses it in its own words."""
    fault, refusal = _read_outcome(case)
    if DATABASES and (fault or "invalidated" in refusal):  # a shared database may have been hurt by a case before
        DATABASES.clear()
        fault, _ = _read_outcome(case)
    return fault


def _read_outcome(case: Case) -> tuple[str | None, str]:
    """The fault, and the refusal where there is none."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataNote)
        path = Path(folder) / case.name
        path.write_bytes(case.content)
        try:
            with _bounded(LONGEST):
                READERS[case.reader](path)
        except MajorantError as error:
            return None, str(error)
        except Exception as error:
            return describe_error(error), ""
    return None, ""


def describe_error(error: Exception) -> str:
    """The kind of error and where it came from: what makes two findings one."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "majorant" in frame.filename]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else "?"
    return f"{type(error).__name__} in {where}: {str(error)[:200]}"


@cache
def budgeted() -> list[tuple[Any, str]]:
    """The modules with a budget, and its name."""
    for room in SPENDING:
        package = importlib.import_module(f"majorant.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"majorant.{room}."):
            importlib.import_module(module.name)
    modules = [
        module for name, module in sys.modules.items() if name.startswith(tuple(f"majorant.{r}" for r in SPENDING))
    ]
    return [
        (module, budget) for module in modules for budget in BUDGETS if isinstance(getattr(module, budget, None), int)
    ]


@contextmanager
def small_budgets() -> Iterator[None]:
    """The budgets of searches and resampling, made small; where functions took them for defaults, there too."""
    with ExitStack() as stack:
        for module, name in budgeted():
            usual, small = getattr(module, name), BUDGETS[name]
            stack.enter_context(mock.patch.object(module, name, small))
            for function in [one for one in vars(module).values() if inspect.isfunction(one)]:
                named = {key: small for key, given in (function.__kwdefaults__ or {}).items() if given is usual}
                if named:
                    stack.enter_context(mock.patch.dict(function.__kwdefaults__, named))
        yield


def table(rng: np.random.Generator) -> dict[str, list[Any]]:
    """A small table of votes with odd names, of one of several shapes."""
    n_items, n_workers = (int(most ** rng.random()) for most in (40, 15))
    n_classes = int(rng.integers(1, 6))
    names = rng.permutation(ODD_NAMES).tolist()
    workers = [names[j] for j in range(n_workers)]
    labels = [names[-1 - k] for k in range(n_classes)]
    density = rng.choice([0.1, 0.4, 0.9, 1.0])
    cells = [(i, j) for i in range(n_items) for j in range(n_workers) if rng.random() < density] or [(0, 0)]
    truth_i = rng.integers(0, n_classes, n_items)
    skill_j = rng.choice([rng.random(n_workers), np.full(n_workers, 0.8), np.ones(n_workers), np.zeros(n_workers)])
    label_n = [int(truth_i[i]) if rng.random() < skill_j[j] else int(rng.integers(0, n_classes)) for i, j in cells]
    columns: dict[str, list[Any]] = {
        "item": [f"{names[i % len(names)]}{i}" for i, _ in cells],
        "worker": [workers[j] for _, j in cells],
        "label": [labels[k] for k in label_n],
    }
    if rng.random() < 0.4:
        shown_i = rng.random(n_items) < rng.choice([0.1, 0.5, 1.0])
        columns["gold"] = [labels[truth_i[i]] if shown_i[i] else None for i, _ in cells]
    return columns


def check_fault(columns: dict[str, list[Any]], level: float = 0.95, *, whole: bool = True) -> str | None:
    """What a result of `check` breaks: schema, no NaN, values in their intervals, names unchanged, no foreign error.

    In a hurry, budgets are small; what breaks then must break with the usual budgets too.
    """
    if whole:
        return _check_outcome(columns, level)
    with small_budgets():
        fault = _check_outcome(columns, level)
    return None if fault is None else _check_outcome(columns, level)


def _check_outcome(columns: dict[str, list[Any]], level: float) -> str | None:
    import majorant as mj
    from majorant.render.files import write_result
    from majorant.render.summary import result_summary

    try:
        with tempfile.TemporaryDirectory() as folder, _bounded(LONGEST), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DataNote)
            result = mj.check(columns, rng=0, level=level)
            write_result(result, result_summary(result), folder)
            return next(broken_set(Path(folder), columns), None)
    except MajorantError as error:
        return f"refused: {error}"
    except Exception as error:
        return describe_error(error)


def broken_set(folder: Path, columns: dict[str, list[Any]]) -> Iterator[str]:
    """What is wrong with the files of a result."""
    facts = json.loads((folder / "result.json").read_text(encoding="utf-8"), parse_constant=lambda text: math.nan)
    yield from (f"schema: {error.message[:150]}" for error in _validator().iter_errors(facts))
    yield from broken_numbers(facts)
    labels = {*columns["label"], *(label for label in columns.get("gold", ()) if label is not None)}
    yield from _broken_labels(_rows(folder / "labels.csv"), columns, labels)
    yield from _broken_workers(_rows(folder / "workers.csv"), columns)
    strange = {unguard_cell(row["item"]) for row in _rows(folder / "review.csv")} - {*columns["item"]}
    if strange:
        yield f"review.csv: items {sorted(strange)[:4]}"
    page = (folder / "report.html").read_text(encoding="utf-8")
    yield from _broken_figures(page, {*columns["worker"]}, {row["label"] for row in facts["votes"]["label_votes"]})


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _broken_labels(rows: list[dict[str, str]], columns: dict[str, list[Any]], labels: set[str]) -> Iterator[str]:
    """Items that are missing or there twice, labels that nobody gave, columns that contradict each other."""
    if sorted(row["item"] for row in rows) != sorted({*columns["item"]}):
        yield f"labels.csv: items {sorted({row['item'] for row in rows} ^ {*columns['item']})[:4]}"
    given = {row[key] or "" for row in rows for key in ("label", "majority", "weighted_vote", "runner_up")}
    if given - labels - {""}:
        yield f"labels.csv: labels {sorted(given - labels - {''})[:4]}"
    votes_i = {item: Counter() for item in columns["item"]}
    for item, label in zip(columns["item"], columns["label"], strict=True):
        votes_i[item][label] += 1
    for row in rows:
        item = row["item"]
        count_k = votes_i.get(item, Counter())
        if row["votes"] != str(count_k.total()):
            yield f"labels.csv: {row['votes']} votes on {item}"
        first = [label for label, n in count_k.items() if n == max(count_k.values())]
        if row["tied"] != str(len(first) > 1).lower():
            yield f"labels.csv: tied={row['tied']} on {item} with {dict(count_k)}"
        if len(first) == 1 and row["majority"] != first[0]:
            yield f"labels.csv: majority {row['majority']!r} on {item} with {dict(count_k)}"
        if row["source"] not in ("expert", "gold", "rule", "tie"):
            yield f"labels.csv: source {row['source']!r}"
        if row["changed"] != str(row["label"] != row["majority"] != "").lower():
            yield f"labels.csv: changed={row['changed']} on {item}: {row['label']!r}, majority {row['majority']!r}"
        if row["confidence"]:
            yield from broken_numbers({"confidence": float(row["confidence"])}, "labels.csv")


def _broken_workers(rows: list[dict[str, str]], columns: dict[str, list[Any]]) -> Iterator[str]:
    """Workers that are missing, strange or there twice, and rates outside their intervals or [0, 1]."""
    if sorted(row["worker"] for row in rows) != sorted({*columns["worker"]}):
        yield f"workers.csv: workers {sorted({row['worker'] for row in rows} ^ {*columns['worker']})[:4]}"
    votes_j = Counter(columns["worker"])
    for row in rows:
        if row["votes"] != str(votes_j[row["worker"]]):
            yield f"workers.csv: {row['votes']} votes by {row['worker']}"
        for kind in ("", "estimated_"):  # by gold labels, from votes alone
            ends = {key: float(row[kind + key]) for key in ("accuracy", "low", "high") if row.get(kind + key)}
            yield from broken_numbers(ends, "workers.csv")
        rates = {key: float(row[key]) for key in ("chance", "agreement") if row.get(key)}
        said = [float(row[key]) for key in row if " labelled " in key and row[key]]
        yield from broken_numbers({**rates, "probability": said}, "workers.csv")


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _broken_figures(page: str, workers: set[str], labels: set[str]) -> Iterator[str]:
    """Pictures that are not XML, and workers and labels that the tables of the page do not name."""
    from majorant.render.figures.charts import clipped

    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        try:
            ElementTree.fromstring(svg)
        except ElementTree.ParseError as error:
            yield f"a figure is not XML: {error}"
    shown = {html.unescape(name) for name in re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', page)}
    missing = {clipped(worker, 40) for worker in workers} - shown
    if len(workers) <= 12 and missing:
        yield f"figures: workers {sorted(missing)[:4]} are not named"
    matrices = "".join(re.findall(r'<table class="grid.*?</table>', page, re.DOTALL))
    missing = {clipped(label, 7) for label in labels} - {
        html.unescape(n) for n in re.findall("<bdi>(.*?)</bdi>", matrices)
    }
    if matrices and missing:
        yield f"figures: labels {sorted(missing)[:4]} are not named"


PROBABILITIES = frozenset(
    (
        "accuracy", "accuracy_0", "accuracy_1", "agreed", "agreement", "best", "best_accuracy", "chance", "confidence",
        "confusion", "covered", "ece", "expected_now", "gain_expert", "gain_vote", "loss",
        "loss_anonymous", "loss_named", "majority", "majority_accuracy", "matrix", "mean_confidence",
        "observed_now", "other", "p_not_optimal", "p_optimal", "p_value", "percent", "prior", "prior_0", "probability",
        "share", "slip", "tie_loss", "tied_share",
    )
)  # fmt: skip
SUMS_TO_1 = ("confusion", "matrix", "prior")  # each row
ROUNDING = 1e-9


def broken_numbers(facts: Any, where: str = "", name: str = "") -> Iterator[str]:
    """Estimates outside their intervals, probabilities outside [0, 1] or not of sum 1, and numbers that are none."""
    if isinstance(facts, float) and not math.isfinite(facts):
        yield f"{where}: {facts}"
    elif isinstance(facts, (int, float)) and not isinstance(facts, bool):
        if name in PROBABILITIES and not -ROUNDING <= facts <= 1 + ROUNDING:
            yield f"{where}: {facts} is no probability"
    elif isinstance(facts, list):
        if name in SUMS_TO_1 and facts and isinstance(facts[0], float) and abs(sum(facts) - 1) > 1e-4 * len(facts):
            yield f"{where}: {facts} do not add up to 1"
        for n, part in enumerate(facts):
            yield from broken_numbers(part, f"{where}[{n}]", name)
    elif isinstance(facts, dict):
        value = next((facts[key] for key in ("value", "accuracy", "mean_confidence") if key in facts), None)
        low, high = facts.get("low"), facts.get("high")
        for one, other in ((low, value), (value, high), (low, high)):
            if isinstance(one, (int, float)) and isinstance(other, (int, float)) and one > other + ROUNDING:
                yield f"{where}: {value} outside [{low}, {high}]"
                break
        for key, part in facts.items():
            yield from broken_numbers(part, f"{where}.{key}", name if key in ("low", "value", "high") else key)


Parts = TypeVar("Parts", bytes, list[Any])


def fewer(parts: Parts, fails: Callable[[Parts], bool], tries: int = SMALLER_TRIES) -> Parts:
    """Bytes or a list without the parts that the fault does not need: halves are left out, then quarters, and so on."""
    size = max(1, len(parts) // 2)
    while size and tries > 0:
        for at in range(0, len(parts), size):
            tries -= 1
            less = parts[:at] + parts[at + size :]
            if less and tries > 0 and fails(less):
                parts = less
                break
        else:
            size //= 2
    return parts


def fewer_members(value: Any, fails: Callable[[Any], bool]) -> Any:
    """A value of JSON without the members, at any depth, that the fault does not need."""
    if isinstance(value, dict):
        value = dict(fewer(list(value.items()), lambda less: fails(dict(less))))
    elif isinstance(value, list):
        value = fewer(value, fails)
    else:
        return value
    for key in value if isinstance(value, dict) else range(len(value)):
        others = partial(_with, value, key)
        value = others(fewer_members(value[key], lambda inner, others=others: fails(others(inner))))
    return value


def _with(value: Any, key: Any, inner: Any) -> Any:
    whole = value.copy()
    whole[key] = inner
    return whole


def smaller(content: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """The input without what the fault does not need: members of JSON or of its lines, then bytes."""
    for parse, text in ((json.loads, _dumped), (_lines, _dumped_lines)):
        with suppress(ValueError, RecursionError):
            value = parse(content)
            if fails(text(value)):
                content = text(fewer_members(value, lambda less, text=text: fails(text(less))))
                break
    return fewer(content, fails)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]


def _dumped_lines(values: list[Any]) -> bytes:
    return b"".join(_dumped(value) + b"\n" for value in values)


def smaller_table(columns: dict[str, list[Any]], fails: Callable[[dict[str, list[Any]]], bool]) -> dict[str, list[Any]]:
    """The table without the rows that the fault does not need."""
    rows = list(zip(*columns.values(), strict=True))
    return _columns(columns, fewer(rows, lambda less: fails(_columns(columns, less)), SMALLER_TRIES // 4))


def _columns(like: dict[str, Any], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[p] for row in rows] for p, name in enumerate(like)}


def _kind(fault: str | None) -> str:
    return "" if fault is None else re.split(r": |\[|\d", fault)[0]


def keep_case(prefix: str, content: bytes, ending: str) -> None:
    FOUND.mkdir(exist_ok=True)
    (FOUND / f"{prefix}-{hashlib.sha256(content).hexdigest()[:12]}{ending}").write_bytes(content)


def input_case(number: int) -> Case:
    """Mutated input `number`."""
    rng = np.random.default_rng([1, number])
    case = seeds()[int(rng.integers(0, len(seeds())))]
    while rng.random() > min(SLOW.get(case.reader, 1), SLOW.get(Path(case.name).suffix, 1)):
        case = seeds()[int(rng.integers(0, len(seeds())))]
    return mutated(case, rng)


def run_input(number: int, *, keep: bool = True) -> tuple[int, str | None]:
    """Case `number` of the mutated inputs; a fault is made small and kept."""
    case = input_case(number)
    with read_by_duckdb(number % 2 == 1):
        fault = read_fault(case)
        if fault is None or not keep:
            return number, fault
        same = _kind(fault)
        less = smaller(case.content, lambda content: _kind(read_fault(case._replace(content=content))) == same)
    keep_case(case.reader, less, case.name[case.name.index(".") :])
    return number, fault


def run_table(number: int, *, keep: bool = True) -> tuple[int, str | None]:
    """Case `number` of the tables; a fault is made small and kept."""
    rng = np.random.default_rng([2, number])
    columns, level = table(rng), float(rng.choice([0.95, 0.9, 0.51, 0.999]))
    fault = check_fault(columns, level, whole=number % WHOLE == 0)
    if fault is not None and keep:
        same = _kind(fault)
        less = smaller_table(columns, lambda some: _kind(check_fault(some, level)) == same)
        keep_case("table", json.dumps({"level": level, **less}).encode(), ".json")
    return number, fault
