"""How much does Spark cost for reading a Parquet file into blocks, a step of Dawid-Skene, and writing the labels?

    python benchmarks/spark.py [votes ...]     1e5, 1e6 and 1e7 by default: a quarter of an hour, Java 17, PySpark

A crowd (5 votes per item, 1,000 per worker, two classes) in a shuffled file.  Each line is a separate process.
`encode` reads the file into blocks, `step` is one step of Dawid-Skene on them, `labels` writes the labels as Parquet,
and `step in memory` is the same step without Spark.  Each cell has the wall time and the CPU time of all cores, Java
and Python together, which other programs affect less.  Below the table is the cost of a vote beyond the fixed cost of
Spark, and of 10^10 votes at that rate.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clock import work_by_program
from large_files import write_crowd
from majorant.limits import LIMITS
from majorant.methods.dawid_skene import DawidSkene

FEW, MANY = 1, 6
TASKS = ("encode", "step", "labels")
MANY_VOTES, STEPS = 10**10, 50
Taken = tuple[float, float]  # seconds that passed, seconds that cores worked


def measure(path: Path, cores: int, partitions: int | None) -> dict[str, Any]:
    """Measure one line of the table."""
    from majorant.read.options import ReadOptions
    from majorant.read.spark import pack_files, spark_session

    def steps(n_steps: int) -> Any:
        return DawidSkene(max_iter=n_steps, min_rise=None, tol=0.0, accelerate=False).fit(votes, engine=votes.engine)

    with spark_session(f"local[{cores}]", memory="2g") as spark:
        spark.range(1).count()
        encoding, votes = clock(lambda: pack_files(spark, [str(path)], ReadOptions(), partitions=partitions))
        few, _ = clock(lambda: steps(FEW))
        many, fit = clock(lambda: steps(MANY))
        out = path.with_name(f"labels-{path.stem}-{cores}-{partitions}")
        writing, _ = clock(lambda: fit.to_spark().write.parquet(str(out)))
        step = tuple((m - f) / (MANY - FEW) for m, f in zip(many, few, strict=True))
        blocks = len(votes.places.part_b)
    return {"blocks": blocks, "encode": encoding, "step": step, "labels": writing}


def clock(call: Callable[[], Any]) -> tuple[Taken, Any]:
    """Wall time, CPU time of this process and its descendants, and the result of a call."""
    start, worked = time.perf_counter(), sum(work_by_program())
    found = call()
    return (time.perf_counter() - start, sum(work_by_program()) - worked), found


def in_memory(path: Path) -> float:
    """CPU seconds of a step in memory."""
    from majorant.read import read

    votes = read(str(path))
    steps = (10 * FEW, 10 * MANY)  # a step is too short to be told from few
    few, many = (
        clock(lambda s=s: DawidSkene(max_iter=s, min_rise=None, tol=0.0, accelerate=False).fit(votes))[0] for s in steps
    )
    return (many[1] - few[1]) / (steps[1] - steps[0])


def line(path: Path, cores: int, partitions: int | None) -> dict[str, Any] | str:
    """The measurements of a separate Spark process, or why it failed."""
    command = [sys.executable, __file__, "--one", str(path), str(cores), str(partitions or 0)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"ended with {done.returncode}: {' '.join(done.stderr.strip().splitlines()[-3:])[:600]}"
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(sizes: list[int]) -> None:
    """Print a row for each size, number of cores and number of blocks, and the extrapolation."""
    print("seconds that passed (seconds that cores worked)\n")
    heads = ("votes", "cores", "blocks", *TASKS, "step in memory")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    one_core = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_votes in sizes:
            path = Path(folder) / f"{n_votes}.parquet"
            write_crowd(path, n_votes, shuffled=True)
            beside = in_memory(path)
            for cores, partitions in ((1, None), (2, None), (2, 16 * max(n_votes // 1_000_000, 1))):
                found = line(path, cores, partitions)
                if isinstance(found, str):
                    print(f"| {n_votes:,} | {cores} | {partitions or ''} | {found} |", flush=True)
                    continue
                cells = (f"{found[name][0]:.2f} ({found[name][1]:.2f})" for name in TASKS)
                print(f"| {n_votes:,} | {cores} | {found['blocks']} | {' | '.join(cells)} | {beside:.3f} |", flush=True)
                if cores == 1:
                    one_core[n_votes] = found
    if len(one_core) > 1:
        extrapolate(one_core)


def extrapolate(found: dict[int, dict[str, Any]]) -> None:
    """Print the cost of a vote beyond Spark's fixed cost, and of very many votes."""
    least, most = min(found), max(found)
    hours = 0.0
    print(f"\nwork of the cores, one core, from {least:,} to {most:,} votes:")
    for name in TASKS:
        own, all_of_it = found[least][name][1], found[most][name][1]
        rate = max(all_of_it - own, 0.0) / (most - least)
        times = STEPS if name == "step" else 1
        hours += times * rate * MANY_VOTES / 3600
        print(f"{name}: {own:.2f} s whatever the votes, and {1e9 * rate:.0f} ns a vote")
    print(f"{MANY_VOTES:.0e} votes at that rate, {STEPS} steps: {hours:.0f} core-hours, all told; not measured")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        LIMITS["SPARK_DRIVER_VOTES"] = 0  # what the driver would do alone is no question here
        print(json.dumps(measure(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) or None)))
    else:
        main([int(float(size)) for size in sys.argv[1:] or ["1e5", "1e6", "1e7"]])
