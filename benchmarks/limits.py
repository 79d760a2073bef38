"""CPU time and peak memory of `check` on tables that are large in an unusual way, each in its own process.

python benchmarks/limits.py [docs/limits.md] [--only JSON]    a few minutes; given a file, updates its rows

Each case used to run for hours, exhaust memory or be rejected late.  Now `check --out` succeeds, or rejects it with
the name of a limit.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

BOUND = 120  # seconds of processor time, and
ROOM = 4_000_000_000  # bytes, that no case may exceed


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    """A table of votes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def votes_of(
    name: str, make: Callable[[np.random.Generator], Iterable[Iterable[object]]], *more: str
) -> Callable[[Path], Path]:
    """A function that writes the votes of a case."""
    columns = ("item", "worker", "label", *more)
    return lambda folder: write_csv(folder / f"{name}.csv", columns, make(np.random.default_rng(0)))


def nested(folder: Path) -> Path:
    """A label that is a nested list, 1,200 levels deep."""
    path = folder / "deep.jsonl"
    path.write_text('{"item": "a", "worker": "w", "label": ' + "[" * 1_200 + "]" * 1_200 + "}\n")
    return path


def packed(folder: Path) -> Path:
    """A few kilobytes that unpack to half a gigabyte of votes."""
    path = folder / "bomb.csv.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(b"item,worker,label\n")
        for _ in range(500):
            file.write(b"a,w,y\n" * 170_000)
    return path


def repeated(folder: Path) -> Path:
    """A few kilobytes of Parquet with gigabytes of text: one label, many times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, path = 3_000, folder / "bomb.parquet"
    label = pa.DictionaryArray.from_arrays(pa.array([i % 2 for i in range(n)]), ["x" * 1_000_000, "y" * 1_000_000])
    item, worker = [f"i{i // 3}" for i in range(n)], [f"w{i % 3}" for i in range(n)]
    pq.write_table(pa.table({"item": item, "worker": worker, "label": label}), path, compression="zstd")
    return path


def long_json(folder: Path) -> Path:
    """One label of 50 megabytes."""
    path = folder / "long.json"
    path.write_text(json.dumps([{"item": "a", "worker": "w", "label": "x" * 50_000_000}]))
    return path


def noisy(truth: int, rng: np.random.Generator, n_classes: int = 2) -> int:
    """A vote that is right with probability .7, otherwise a guess."""
    return truth if rng.random() < 0.7 else int(rng.integers(n_classes))


CASES: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "900 classes, 2,700 votes": (
        votes_of("classes", lambda rng: ((n // 3, n % 30, noisy(n // 3, rng, 900)) for n in range(2_700))), ()),
    "one item, 100,000 votes": (votes_of("one", lambda rng: (("a", n, noisy(1, rng)) for n in range(100_000))), ()),
    "100,000 workers with one vote": (
        votes_of("workers", lambda rng: ((n // 5, n, noisy(n // 5 % 2, rng)) for n in range(100_000))), ()),
    "1,000,000 items with one vote": (
        votes_of("items", lambda rng: ((n, n % 50, noisy(n % 2, rng)) for n in range(1_000_000))), ()),
    "labels of 1 MB": (
        votes_of("long", lambda rng: ((n // 3, n % 3, "xy"[noisy(n // 3 % 2, rng)] * 10**6) for n in range(300))), ()),
    "5,000 slices": (
        votes_of("slices", lambda rng: ((n // 3, n % 3, noisy(0, rng), n // 12) for n in range(60_000)), "batch"),
        ("--by", "batch")),
    "JSON 1,200 deep": (nested, ()),
    "one JSON label of 50 MB": (long_json, ()),
    "gzip bomb, 510 MB of votes": (packed, ()),
    "Parquet bomb, 3 GB of labels": (repeated, ()),
}  # fmt: skip


def measured(source: Path, more: tuple[str, ...], folder: Path) -> tuple[float, float, str]:
    """CPU time, peak memory and outcome of `check` in its own process."""
    command = [sys.executable, "-c", RUN, "check", str(source), *more, "--out", str(folder / "out")]
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]  # a child's peak begins with that of its parent, here a small one
    done = subprocess.run([*shell, *command], capture_output=True, text=True)
    cost = json.loads(done.stdout.splitlines()[-1])
    if done.returncode == 0:
        return cost["seconds"], cost["peak"], "answered"
    refusal = re.search(r"the limit (\w+)", done.stderr)
    if refusal is None:
        sys.exit(done.stderr)
    return cost["seconds"], cost["peak"], f"rejected: {refusal[1]}"


RUN = """
import atexit, json, resource, sys, time
atexit.register(lambda: print(json.dumps({"seconds": time.process_time(),
    "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss})))
from majorant.cli import main
main()
"""


def main() -> None:
    """Print the table or the selected rows, and write them into a page if one is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (30 * 60, 30 * 60))
    print("| table | outcome | CPU time | peak memory |", "|---|---|---|---|", sep="\n")
    failed, rows = [], {}
    for name, (make, more) in [(name, case) for name, case in CASES.items() if given.only in name]:
        with tempfile.TemporaryDirectory() as place:
            seconds, peak, ends = measured(make(Path(place)), more, Path(place))
        rows[name] = f"| {name} | {ends} | {seconds:.1f} s | {peak / 1e9:.2f} GB |"
        print(rows[name], flush=True)
        if seconds > BOUND or peak > ROOM:
            failed.append(name)
    if given.page is not None:
        lines = given.page.read_text(encoding="utf-8").split("\n")
        measured_rows = {line: rows.get(line.split(" | ")[0].removeprefix("| "), line) for line in lines}
        given.page.write_text("\n".join(measured_rows[line] for line in lines), encoding="utf-8")
    sys.exit(f"Beyond the bound: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
