"""Votes larger than memory: nanoseconds per vote and peak memory under a limit of 2 GB, compared with reading the file.

A crowd (5 votes per item, 1,000 per worker, two classes) is simulated straight into Parquet, sorted by item and
shuffled. Each task runs in its own process, whose peak of anonymous memory is
measured.  `sort` runs once, first; the other tasks
use its result.  `read` is one pass of Arrow over the sorted file.  Goals and ratios are about CPU time over all cores,
which other programs on the machine affect less.  Modules are imported before the clock starts.

    python benchmarks/out_of_core.py [1e8] [FOLDER]      ten minutes and 6 GB of disk; 1e7: one minute
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

import board
from large_files import most_votes, write_crowd

MEMORY = 2_000_000_000
TASKS = ("count", "certificate", "majority", "dawid-skene", "labels", "check")
GOAL_TOTAL, GOAL_RATIO = 600.0, 2.5  # ns a vote from the file to the certificate; certificate / reading
FEW, ENOUGH = 10_000, 10_000_000  # votes to warm up with; votes at which what each run costs is small beside theirs


def task(name: str, source: Path, work: Path) -> Callable[[], object]:
    """The code that is timed, without imports and opening."""
    from majorant.evidence.certificate.anonymous import as_histograms, certify_counts
    from majorant.output import write_table
    from majorant.pipeline import aggregate, check
    from majorant.read.sort import prepare
    from majorant.render.files import tables_of
    from majorant.results.labels import label_table
    from majorant.store import open_store
    from majorant.tally import find_patterns, two_class_histograms

    if name == "nothing":
        return lambda: None
    if name == "sort":
        return lambda: prepare(str(source), work, memory=MEMORY)
    votes = open_store(work, memory=MEMORY)
    assert votes is not None
    if name == "read":
        file = pq.ParquetFile(source)
        return lambda: sum(len(batch) for batch in file.iter_batches(1 << 18, columns=["item", "worker", "label"]))
    if name == "count":
        return lambda: find_patterns(votes)
    if name == "certificate":
        return lambda: certify_counts(as_histograms(two_class_histograms(find_patterns(votes))), rng=0)
    if name == "labels":
        fit = aggregate(votes, "majority")
        return lambda: write_table(work / "labels.csv", tables_of(label_table, votes, fit))
    if name == "check":
        return lambda: check(votes).labels
    return lambda: aggregate(votes, name)


def measure(name: str, source: Path, work: Path) -> dict[str, float]:
    """Seconds and peak bytes of a task in its own process."""
    arguments = [sys.executable, __file__, "--task", name, str(source), str(work)]
    return dict(json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout))


def run_task(name: str, source: Path, work: Path) -> None:
    """Run one task and print its cost, after running it on a few votes to load everything it needs."""
    threading.Thread(target=watch, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        few, place = Path(folder) / "few.parquet", Path(folder) / "work"
        write_crowd(few, FEW)
        task("sort", few, place)()
        task(name, few, place)()
    call = task(name, source, work)
    start, busy = time.perf_counter(), time.process_time()
    found = call()
    seconds, work_seconds = time.perf_counter() - start, time.process_time() - busy
    steps = getattr(found, "n_iter", 0)
    print(json.dumps({"seconds": seconds, "work": work_seconds, "peak": peak_bytes(), "steps": steps}))


def peak_bytes() -> int:
    """The most anonymous memory of this process so far; mapped pages belong to the page cache."""
    return MOST[0]


MOST = [0]


def watch() -> None:
    """Look at the anonymous memory twenty times a second."""
    while True:
        [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon")]
        MOST[0] = max(MOST[0], 1024 * int(line.split()[1]))
        time.sleep(0.05)


def main(n_votes: int, folder: Path) -> None:
    """Print the table."""
    source, shuffled, work = folder / "sorted.parquet", folder / "shuffled.parquet", folder / "work"
    write_crowd(source, n_votes)
    write_crowd(shuffled, n_votes, shuffled=True)
    print(f"{n_votes:.0e} votes, limit {MEMORY / 1e9:g} GB")
    print("| what | ns a vote | of all cores | peak GB |\n|---|---|---|---|")
    found = {}
    for name, path in [("sort", shuffled), *((name, source) for name in ("sort", *TASKS, "read"))]:
        shown = f"{name}, shuffled file" if path == shuffled else name
        one = found[shown] = measure(name, path, work)
        steps = f" ({one['steps']:.0f} steps)" if one["steps"] else ""
        passed, worked = (1e9 * one[name] / n_votes for name in ("seconds", "work"))
        print(f"| {shown}{steps} | {passed:.0f} | {worked:.0f} | {one['peak'] / 1e9:.2f} |", flush=True)
    if n_votes >= ENOUGH:
        goals(n_votes, found)


def goals(n_votes: int, found: dict[str, dict[str, float]]) -> None:
    """Print whether the goals are met."""
    ns = {name: 1e9 * one["work"] / n_votes for name, one in found.items()}
    print()
    board.at_most(
        f"certificate from a sorted Parquet file, {n_votes:.0e} votes", f"{ns['certificate']:.0f} ns a vote",
        f"reading it {ns['read']:.0f} ns", ns["certificate"] / ns["read"], GOAL_RATIO,
    )  # fmt: skip
    for name, shown in (("sort", "in order"), ("sort, shuffled file", "shuffled")):
        total = ns[name] + ns["certificate"]
        board.at_most(
            f"new file, {shown}, to certificate, {n_votes:.0e} votes, 2 GB, ns a vote", f"{total:.0f} ns",
            f"peak {found[name]['peak'] / 1e9:.2f} GB", total, GOAL_TOTAL,
        )  # fmt: skip
    most = max(one["peak"] for one in found.values())
    board.at_most(
        f"peak memory, {n_votes:.0e} votes", f"{most / 1e9:.2f} GB", f"limit {MEMORY / 1e9:g} GB", most / MEMORY, 1.0
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--task"]:
        run_task(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    elif len(sys.argv) > 2:
        main(most_votes("1e8"), Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(most_votes("1e8"), Path(name))
