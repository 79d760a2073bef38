"""Where does a `check` on Spark spend its time: in which stage, in which program, in how many jobs, shuffles, collects?

    python benchmarks/spark_check.py [votes:cores[:most] ...]     Java 17, PySpark; half an hour for the default

A case is a number of votes (5 an item, 1,000 a worker at least a thousand workers, two classes, by item), Spark's
cores, and the limit SPARK_DRIVER_VOTES: 0 leaves all votes on the cluster.  Each is a process of its own that reads a
Parquet file, checks it and writes the files of the result.  A row says the seconds that passed, and those that cores
worked: this Python, Java, the Python workers.  Jobs, stages, bytes shuffled and bytes brought to the driver are from
Spark's event log.  `session` is the start of Spark with a first job that does nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from clock import work_by_program

CASES = ("1e6:2", "1e6:2:0", "1e7:1", "1e7:2", "1e7:2:1e7")
HEADS = ("stage", "passed", "driver", "Java", "workers", "jobs", "stages", "shuffled", "brought")
Mark = tuple[str, float, tuple[float, float, float]]  # what begins, when, and the work until then


def measure(path: str, cores: int) -> list[dict[str, Any]]:
    """A row for each stage of a check."""
    marks: list[Mark] = []

    def mark(what: str) -> None:
        marks.append((what, time.time(), work_by_program()))

    mark("importing")
    from majorant.backend.spark.backend import SparkBackend
    from majorant.backend.spark.reading import read_votes
    from majorant.backend.spark.session import spark_session
    from majorant.pipeline import check
    from majorant.read.options import ReadOptions
    from majorant.render.files import write_result
    from majorant.render.summary import result_summary

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.mkdir()
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": log.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        mark("session")
        with spark_session(f"local[{cores}]", settings=settings) as spark:
            spark.range(1).count()
            mark("reading")
            votes = read_votes(spark, [path], ReadOptions())
            result = check(SparkBackend(votes), stage=mark)
            mark("writing")
            write_result(result, result_summary(result), Path(folder) / "out")
            mark("end")
            votes.close()
        [file] = log.iterdir()
        events = [json.loads(line) for line in file.open(encoding="utf-8")]
    return rows_of(marks, events)


def rows_of(marks: list[Mark], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What passed between the marks, and what Spark logged meanwhile."""
    begun = [when for _, when, _ in marks]
    counted: dict[str, Counter[int]] = {name: Counter() for name in HEADS[5:]}
    place: dict[int, int] = {}  # of a stage of Spark's: the mark before it
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            counted["jobs"][_before(begun, event["Submission Time"])] += 1
        elif event["Event"] == "SparkListenerStageSubmitted":
            stage = event["Stage Info"]
            place[stage["Stage ID"]] = _before(begun, stage["Submission Time"])
            counted["stages"][place[stage["Stage ID"]]] += 1
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            at, metrics = place[event["Stage ID"]], event["Task Metrics"]
            counted["shuffled"][at] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            counted["brought"][at] += metrics["Result Size"]
    rows = []
    for number, ((what, start, before), (_, stop, after)) in enumerate(pairwise(marks)):
        worked = (y - x for x, y in zip(before, after, strict=True))
        cells = (what, stop - start, *worked, *(counted[name][number] for name in HEADS[5:]))
        rows.append(dict(zip(HEADS, cells, strict=True)))
    return rows


def _before(begun: list[float], milliseconds: int) -> int:
    return max(sum(when <= milliseconds / 1000 for when in begun) - 1, 0)


def show(rows: list[dict[str, Any]]) -> None:
    """The rows as a table, with their sum."""
    total = {name: sum(row[name] for row in rows) for name in HEADS[1:]}
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for row in [*rows, {"stage": "all", **total}]:
        seconds = (f"{row[name]:.1f} s" for name in HEADS[1:5])
        sizes = (f"{row[name] / 1e6:.0f} MB" for name in HEADS[7:])
        print(f"| {' | '.join((row['stage'], *seconds, *(str(row[name]) for name in HEADS[5:7]), *sizes))} |")


def main(cases: list[str]) -> None:
    """Print a table for each case."""
    from product import votes_file

    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            size, cores, *most = case.split(":")
            n_votes = int(float(size))
            path = votes_file(Path(folder), n_votes, max(n_votes // 1_000, 1_000))
            known = {**os.environ, **({"MAJORANT_SPARK_DRIVER_VOTES": most[0]} if most else {})}
            command = [sys.executable, __file__, "--one", path, cores]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=known)
            told = f", SPARK_DRIVER_VOTES {float(most[0]):,.0f}" if most else ""
            load = f"load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
            print(f"\n{n_votes:,} votes, local[{cores}]{told}; {load}\n", flush=True)
            if done.returncode:
                print(f"ended with {done.returncode}: {done.stderr[-600:]}", flush=True)
            else:
                show(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main(sys.argv[1:] or list(CASES))
