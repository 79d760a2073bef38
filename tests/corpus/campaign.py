"""The parts of `make fuzz`; an interrupted campaign resumes where it stopped.

    python -m corpus.campaign --state .fuzz-state.json --minutes 60
    python -m corpus.campaign --part uploads --cases 500
    python -m corpus.campaign --only inputs:1234

Case n of a part is drawn from its number alone, so that it can be repeated, and the parts can be split over processes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from corpus import fuzz, readings


class Part(NamedTuple):
    """A kind of case."""

    run: str  # module:function, from the number of a case to that number and the fault, or None
    cases: int
    batch: int  # cases that a process takes at a time
    what: str
    shared: bool = True  # whether cases share a DuckDB, which takes longer to start than a small table to read


PARTS = {
    "inputs": Part("fuzz:run_input", 100_000, 400, "mutated files and frames through every reader"),
    "containers": Part(
        "containers:run_container", 60_000, 200, "packed files, archives, sheets, Parquet: cut off, edited, too large"
    ),
    "calls": Part("calls:run_call", 120_000, 400, "public functions with up to three arguments of any type"),
    "uploads": Part("uploads:run_upload", 5_000, 40, "sessions of the local page: uploads and forms of any content"),
    "readings": Part("readings:run_reading", 5_000, 100, "generated tables against a naive reader"),
    "files": Part("readings:run_files", 2_000, 40, "generated tables, in memory and from sorted files"),
    "spark": Part("readings:run_spark", 2_000, 20, "generated tables, in memory and on Spark", shared=False),
    "tables": Part("fuzz:run_table", 5_000, 10, "small odd tables through check, with all invariants of its files"),
    "orders": Part("orders:run_order", 2_000, 10, "small odd tables, shuffled and renamed"),
    "objects": Part("objects:run_method", 50_000, 400, "methods of all objects with one argument of any type"),
    "faults": Part("faults:run_fault", 200, 2, "commands, of whose system calls every 40th fails", shared=False),
    "kills": Part("kills:run_kill", 60, 4, "labelling sessions, each killed once and interrupted once"),
}  # fmt: skip


def run_case(part: str, number: int) -> tuple[int, str | None]:
    """One case, in this process."""
    module, function = PARTS[part].run.split(":")
    found: tuple[int, str | None] = getattr(importlib.import_module(f"corpus.{module}"), function)(number)
    return found


def run_batch(part: str, numbers: range) -> tuple[list[tuple[int, str]], float]:
    """The faults of some cases, and the processor time that they took."""
    if PARTS[part].shared:
        fuzz.hurry()
    before = _seconds()
    faults = [(number, fault) for number, fault in (run_case(part, n) for n in numbers) if fault is not None]
    return faults, _seconds() - before


def _seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))  # threads do not outlive a fork


def _fatal_case(part: str, numbers: range) -> tuple[int, str]:
    """The case in which a process dies, found by halving."""
    while len(numbers) > 1:
        half = numbers[: len(numbers) // 2]
        with _pool(1) as pool:
            try:
                pool.submit(run_batch, part, half).result()
                numbers = numbers[len(half) :]
            except BrokenProcessPool:
                numbers = half
    return numbers[0], "the process died"


def run_part(part: str, done: dict[str, Any], most: int, processes: int, stop: float, save: Any) -> None:
    """Cases of a part from where it was left, until enough are done or time is up."""
    batch = PARTS[part].batch
    while done["cases"] < most and time.monotonic() < stop:
        numbers = range(done["cases"], min(done["cases"] + batch * processes, most))
        pieces = [numbers[at : at + batch] for at in range(0, len(numbers), batch)]
        with _pool(processes) as pool:
            jobs = [pool.submit(run_batch, part, piece) for piece in pieces]
            while True:
                faults: list[tuple[int, str]] = []
                for piece, job in zip(pieces, jobs, strict=True):
                    try:
                        found, seconds = job.result()
                        done["seconds"] += seconds
                    except BrokenProcessPool:
                        found = [_fatal_case(part, piece)]
                    faults += found
                done["faults"] += len(faults)
                done["cases"] = numbers.stop
                for number, fault in faults:
                    print(f"{part}:{number}: {fault}", flush=True)
                save()
                if done["cases"] >= most or time.monotonic() >= stop or faults:
                    break
                numbers = range(done["cases"], min(done["cases"] + batch * processes, most))
                pieces = [numbers[at : at + batch] for at in range(0, len(numbers), batch)]
                jobs = [pool.submit(run_batch, part, piece) for piece in pieces]


def main() -> None:
    """Run the campaign, or a part of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--cases", type=int, help="so many cases of each part, rather than its own number")
    parser.add_argument("--minutes", type=float, default=600, help="in all, shared among the parts that are left")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--state", type=Path, help="a file that remembers how far the campaign is")
    parser.add_argument("--only", metavar="PART:NUMBER", help="one case, in this process")
    given = parser.parse_args()
    if given.only is not None:
        part, _, number = given.only.partition(":")
        print(run_case(part, int(number))[1] or "no fault")
        return
    state: dict[str, dict[str, Any]] = {}
    if given.state is not None and given.state.exists():
        state = json.loads(given.state.read_text())

    def save() -> None:
        if given.state is not None:
            part = given.state.with_suffix(".part")
            part.write_text(json.dumps(state, indent=1))
            part.replace(given.state)

    names = given.part or list(PARTS)
    stop = time.monotonic() + 60 * given.minutes
    if "spark" in names and not readings.has_spark():
        print("spark: PySpark or Java is not here; left out")
        names.remove("spark")
    for at, part in enumerate(names):
        done = state.setdefault(part, {"cases": 0, "faults": 0, "seconds": 0.0})
        share = (stop - time.monotonic()) / (len(names) - at)
        most = PARTS[part].cases if given.cases is None else given.cases
        run_part(part, done, most, given.processes, time.monotonic() + share, save)
    for part, done in state.items():
        print(f"{done['cases']:>8,} {part}: {PARTS[part].what}; {done['faults']} faults, {done['seconds']:,.0f} s")
    sys.exit(1 if any(done["faults"] for done in state.values()) else 0)


if __name__ == "__main__":
    main()
