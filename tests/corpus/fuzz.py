"""Mutated inputs through every reader, and small random tables through `check`; what breaks is made small and kept.

    python -m corpus.fuzz --inputs 200000 --tables 5000 --minutes 600 --processes 4

Case n is drawn from seed n alone, so a campaign can be cut off and taken up again (`--state`), split over processes,
and a single case repeated (`--only n`). Findings go to tests/corpus/found, which tests/io/test_faults.py reads.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from corpus import CASES, FOUND, TABLE
from majorant.errors import MajorantError

PIECES = (
    b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b'"', b"'", b"\\", b",", b";", b"\t", b"\n", b"\r", b"{", b"}", b"[",
    b"]", b":", b"null", b"NaN", b"-", b"1e999", b"9" * 40, b"=1+1", b"\xed\xa0\x80", b"<!DOCTYPE html>", b"PAR1",
)  # fmt: skip
SMALLER_TRIES = 60


@cache
def seeds() -> dict[str, bytes]:
    """Sound inputs of every format, and those that once broke a reader."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [dict(zip(("item", "worker", "label"), line.split(","), strict=True)) for line in TABLE.split()[1:]]
    found = {
        "a.csv": TABLE.encode(),
        "a.tsv": TABLE.replace(",", "\t").encode(),
        "utf16.csv": TABLE.encode("utf-16"),
        "a.csv.gz": gzip.compress(TABLE.encode(), mtime=0),
        "a.json": json.dumps(rows).encode(),
        "a.jsonl": "\n".join(map(json.dumps, rows)).encode(),
        "gold.jsonl": "\n".join(json.dumps({**row, "gold": "y", "status": "ok"}) for row in rows).encode(),
        "wide.csv": b"item,ana,bo,cy\na,1,0,1\nb,0,0,1\nc,1,1,1\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        found["a.parquet"] = path.read_bytes()
    return {**found, **{name: make() for name, make in CASES.items() if "deep" not in name}}


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The input with a few bytes flipped, cut, repeated, swapped or put in."""
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, len(found) + 1))
        end = min(len(found), at + int(rng.integers(1, 40)))
        match int(rng.integers(0, 5)):
            case 0 if at < len(found):
                found[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                del found[at:end]
            case 2:
                found[at:at] = found[at:end] * int(rng.integers(1, 4))
            case 3:
                found[at:at] = PIECES[int(rng.integers(0, len(PIECES)))]
            case _:
                found = found[: max(at, 1)]
    return bytes(found)


def read_fault(name: str, content: bytes) -> str | None:
    """What leaves `read` that should not; None where it reads the votes or refuses them in its own words."""
    import majorant as mj

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            votes = mj.read(path, wide=name.startswith("wide"))
            for value in (*votes.items, *votes.workers, *votes.labels):
                str(value).encode()
        except MajorantError:
            return None
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def table(rng: np.random.Generator) -> dict[str, list[Any]]:
    """A small table of votes with odd names."""
    names = [
        "a",
        "=1+1",
        "gpt-4.1234",
        "gpt-4.1235",
        "font: 1px",
        'x id="y',
        "é",
        "a,b",
        "two\nlines",
        "#",
        "0.10",
        "1e5",
    ]
    n_items, n_workers, n_classes = (int(rng.integers(1, most)) for most in (40, 8, 5))
    workers = rng.permutation(names)[:n_workers].tolist()
    labels = rng.permutation(names)[:n_classes].tolist()
    cells = [(i, w) for i in range(n_items) for w in range(n_workers) if rng.random() < rng.choice([0.4, 0.9, 1.0])]
    if not cells:
        cells = [(0, 0)]
    truth = rng.integers(0, n_classes, n_items)
    label = [int(truth[i]) if rng.random() < 0.7 else int(rng.integers(0, n_classes)) for i, _ in cells]
    columns: dict[str, list[Any]] = {
        "item": [f"{names[i % len(names)]}{i}" for i, _ in cells],
        "worker": [workers[w] for _, w in cells],
        "label": [labels[k] for k in label],
    }
    if rng.random() < 0.4:
        shown = rng.random(n_items) < 0.5
        columns["gold"] = [labels[truth[i]] if shown[i] else None for i, _ in cells]
    return columns


def check_fault(columns: dict[str, list[Any]]) -> str | None:
    """What a result of `check` breaks: no foreign error, no NaN, values in their intervals, names unchanged."""
    import csv

    import majorant as mj
    from majorant.report.files import write_result
    from majorant.report.summary import result_summary

    try:
        with tempfile.TemporaryDirectory() as folder:
            result = mj.check(columns, rng=0)
            summary = result_summary(result)
            write_result(result, summary, folder)
            json.dumps(summary, allow_nan=False)
            for name, role in (("labels.csv", "item"), ("workers.csv", "worker")):
                with (Path(folder) / name).open(encoding="utf-8", newline="") as file:
                    found = {row[role] for row in csv.DictReader(file)}
                if found != set(columns[role]):
                    return f"{name}: {role}s {sorted(found ^ set(columns[role]))[:4]}"
            return next(_broken(summary, ""), None)
    except MajorantError:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def _broken(facts: Any, where: str) -> Iterator[str]:
    """Estimates outside their intervals, and numbers that are none, wherever they stand."""
    if isinstance(facts, float) and math.isnan(facts):
        yield f"{where}: NaN"
    elif isinstance(facts, list):
        for n, part in enumerate(facts):
            yield from _broken(part, f"{where}[{n}]")
    elif isinstance(facts, dict):
        low, value, high = (facts.get(name) for name in ("low", "value", "high"))
        if all(isinstance(x, (int, float)) for x in (low, value, high)) and not low - 1e-9 <= value <= high + 1e-9:
            yield f"{where}: {value} outside [{low}, {high}]"
        for name, part in facts.items():
            yield from _broken(part, f"{where}.{name}")


def smaller(content: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """The input without the parts that the fault does not need."""
    size, tries = len(content) // 2, 0
    while size and tries < SMALLER_TRIES:
        for at in range(0, len(content), size):
            tries += 1
            less = content[:at] + content[at + size :]
            if less and tries < SMALLER_TRIES and fails(less):
                content = less
                break
        else:
            size //= 2
    return content


def run_input(number: int) -> tuple[int, str | None]:
    """Case `number` of the mutated inputs; a fault is made small and kept."""
    rng = np.random.default_rng([1, number])
    name = list(seeds())[int(rng.integers(0, len(seeds())))]
    content = mutated(seeds()[name], rng)
    fault = read_fault(name, content)
    if fault is not None:
        kind = fault.partition(":")[0]
        content = smaller(content, lambda less: (read_fault(name, less) or "").partition(":")[0] == kind)
        FOUND.mkdir(exist_ok=True)
        prefix = "wide-" if name.startswith("wide") else ""
        ending = name[name.index(".") :]
        (FOUND / f"{prefix}{hashlib.sha256(content).hexdigest()[:12]}{ending}").write_bytes(content)
    return number, fault


def run_table(number: int) -> tuple[int, str | None]:
    """Case `number` of the tables."""
    return number, check_fault(table(np.random.default_rng([2, number])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--tables", type=int, default=5_000)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--state", type=Path, help="a file that remembers how far the campaign is")
    parser.add_argument("--only", type=int, help="one mutated input, by its number")
    given = parser.parse_args()
    if given.only is not None:
        print(run_input(given.only)[1] or "no fault")
        return
    done = json.loads(given.state.read_text()) if given.state and given.state.exists() else {"inputs": 0, "tables": 0}
    stop, faults = time.monotonic() + 60 * given.minutes, 0
    with ProcessPoolExecutor(given.processes) as pool:
        for kind, run, most, chunk in (
            ("inputs", run_input, given.inputs, 200),
            ("tables", run_table, given.tables, 10),
        ):
            while done[kind] < most and time.monotonic() < stop:
                batch = range(done[kind], min(done[kind] + chunk * given.processes, most))
                for number, fault in pool.map(run, batch, chunksize=max(1, chunk // 10)):
                    if fault is not None:
                        faults += 1
                        print(f"{kind} {number}: {fault}", flush=True)
                done[kind] = batch.stop
                if given.state:
                    given.state.write_text(json.dumps(done))
    print(f"{done['inputs']:,} mutated inputs, {done['tables']:,} tables, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
