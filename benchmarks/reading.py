"""File to Votes: how much slower than DuckDB's parse alone, and how much memory beyond the result?

Votes of a crowd (5 per item, 1,000 per worker, string ids) are written as CSV and Parquet, in the order of items and
shuffled.  "Parse alone" means that DuckDB returns the three columns as Arrow batches, which are discarded.  Both run in
the same process, alternating, best of `REPEATS`; memory is the peak of a separate process that only reads.

    python benchmarks/reading.py [1e6 1e7]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import board
from majorant.database import batches, path_literal
from majorant.read import read
from majorant.votes import Votes

REPEATS = 3
GOAL_TIME, GOAL_BYTES = 4.0, 60.0


def write_files(folder: Path, n_votes: int) -> dict[str, Path]:
    """CSV and Parquet files of a crowd, sorted by item and shuffled; no worker votes twice on an item."""
    n_workers = max(n_votes // 1000, 5)
    worker = f"(hash(i // 5) % {n_workers} + (i % 5) * {n_workers // 5}) % {n_workers}"
    connection = duckdb.connect()
    connection.execute(
        f"""CREATE TABLE votes AS SELECT 'item_' || lpad((i // 5)::VARCHAR, 9, '0') AS item,
        'worker_' || ({worker})::VARCHAR AS worker,
        CASE WHEN hash(i * 7) % 10 < 6 THEN 'yes' ELSE 'no' END AS label FROM range({n_votes}) AS r(i)"""
    ).fetchall()
    paths = {}
    for order, sql in (("sorted", "FROM votes"), ("shuffled", "FROM votes ORDER BY hash(item || worker)")):
        connection.execute(f"CREATE OR REPLACE TABLE ordered AS {sql}").fetchall()
        for ending in ("csv", "parquet"):
            path = folder / f"{order}.{ending}"
            connection.execute(f"COPY ordered TO {path_literal(path)}").fetchall()
            paths[f"{ending}, {order}"] = path
    connection.close()
    return paths


def parse_alone(path: Path) -> int:
    """Parse the file with DuckDB into Arrow batches, and discard them."""
    scan = f"read_parquet({path_literal(path)})"
    if path.suffix == ".csv":
        scan = (
            f"read_csv({path_literal(path)}, auto_detect = false, header = true, delim = ',', quote = '\"', "
            "columns = {'item': 'VARCHAR', 'worker': 'VARCHAR', 'label': 'VARCHAR'})"
        )
    return sum(batch.num_rows for batch in batches(f"SELECT item, worker, label FROM {scan}", None))


def clock(job: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - wall, time.process_time() - cpu


def best(path: Path) -> tuple[tuple[float, float], tuple[float, float]]:
    """The best times of parsing alone and of reading, alternating."""
    parse, whole = zip(
        *((clock(lambda: parse_alone(path)), clock(lambda: read(path))) for _ in range(REPEATS)), strict=True
    )
    return tuple(map(min, zip(*parse, strict=True))), tuple(map(min, zip(*whole, strict=True)))  # type: ignore[return-value]


def result_bytes(votes: Votes) -> int:
    """Size of the result."""
    arrays = (votes.item_n, votes.worker_n, votes.label_n, votes.offsets_i)
    names = sum(sys.getsizeof(name) for names in (votes.items, votes.workers) for name in names)
    return sum(array.nbytes for array in arrays) + names + 8 * (len(votes.items) + len(votes.workers))


def peak_beyond_result(path: Path) -> float:
    """Peak bytes per vote, beyond the result and beyond what the process holds after reading a tiny table."""
    tiny = path.with_name("tiny" + path.suffix)
    duckdb.sql(f"COPY (SELECT 'a' AS item, 'b' AS worker, 'c' AS label) TO {path_literal(tiny)}")
    read(tiny)
    before = peak_bytes()
    votes = read(path)
    return (peak_bytes() - before - result_bytes(votes)) / votes.n_votes


def peak_bytes() -> int:
    """Peak memory of this process: the kernel's high-water mark, which does not include the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(sizes: list[int]) -> None:
    """Print the table."""
    print(
        f"{'file':24} {'votes':>10} {'MB':>6} {'parse s':>8} {'read s':>8} {'ratio':>6} {'cpu':>6} {'peak B/vote':>12}"
    )
    at_1e7: list[tuple[str, float, float, float]] = []
    for n_votes in sizes:
        with tempfile.TemporaryDirectory() as folder:
            for name, path in write_files(Path(folder), n_votes).items():
                (parse, parse_cpu), (whole, whole_cpu) = best(path)
                command = [sys.executable, __file__, "--peak", str(path)]
                peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                print(
                    f"{name:24} {n_votes:10,} {path.stat().st_size / 1e6:6.0f} {parse:8.2f} {whole:8.2f} "
                    f"{whole / parse:6.1f} {whole_cpu / parse_cpu:6.1f} {peak:12.0f}",
                    flush=True,
                )
                if n_votes == 10_000_000:
                    at_1e7.append((name, whole, parse, peak))
    if at_1e7:
        name, whole, parse, _ = max(at_1e7, key=lambda row: row[1] / row[2])
        ours, beside = f"{whole:.1f} s ({name})", f"DuckDB's parse alone {parse:.1f} s"
        board.at_most("file to Votes, 1e7 votes, slowest of four files", ours, beside, whole / parse, GOAL_TIME)
        name, _, _, peak = max(at_1e7, key=lambda row: row[3])
        ours = f"{peak:.0f} bytes per vote ({name})"
        board.at_most("its peak memory, largest of four files", ours, "beyond the result", peak, GOAL_BYTES)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print(peak_beyond_result(Path(sys.argv[2])))
    else:
        main([int(float(size)) for size in sys.argv[1:] or ["1e6", "1e7"]])
