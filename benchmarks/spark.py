"""What does Spark cost: time against votes, cores and blocks, from a Parquet file to blocks, and for a pass over them.

python benchmarks/spark.py [votes ...]     1e6 and 1e7 by default, ten quiet minutes; needs Java 17 and majorant[spark]

Each number of cores is a process of its own.  `encode` is from the file to blocks in memory (names to codes, a shuffle
by item, packing), `step` one step of Dawid-Skene on them, `labels` the labels written as Parquet; beside them the step
of the engine in memory, on the same machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from large_files import write_crowd
from majorant.estimate.dawid_skene import DawidSkene

FEW, MANY = 1, 4


def measure(path: Path, cores: int, partitions: int | None) -> str:
    """One line of the table."""
    from majorant.engines.spark import aggregate, encode, spark_session

    with spark_session(f"local[{cores}]", memory="2g") as spark:
        frame = spark.read.parquet(str(path))
        frame.count()
        encoding, votes = clock(lambda: encode(frame, partitions=partitions))
        few, _ = clock(lambda: aggregate(votes, DawidSkene(max_iter=FEW, tol=0.0, accelerate=False)))
        many, found = clock(lambda: aggregate(votes, DawidSkene(max_iter=MANY, tol=0.0, accelerate=False)))
        out = path.with_name(f"labels-{cores}-{partitions}")
        writing, _ = clock(lambda: found.labels.write.parquet(str(out)))
        step = (many - few) / (MANY - FEW)
        blocks = len(votes.places.part_b)
        return f"{votes.n_votes:12,}{cores:7}{blocks:8}{encoding:11.1f}{step:9.2f}{writing:11.1f}"


def clock(call):  # type: ignore[no-untyped-def]
    """Seconds, and what the call gives."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def in_memory(path: Path) -> float:
    """Seconds of a step in memory."""
    from majorant.encode import read

    votes = read(str(path))
    steps = (10 * FEW, 10 * MANY)  # a step is too short to be told from few
    few, many = (clock(lambda s=s: DawidSkene(max_iter=s, tol=0.0, accelerate=False).fit(votes))[0] for s in steps)
    return (many - few) / (steps[1] - steps[0])


def main(sizes: list[int]) -> None:
    """Print a row for each size, number of cores and number of blocks."""
    print(f"{'votes':>12}{'cores':>7}{'blocks':>8}{'encode, s':>11}{'step, s':>9}{'labels, s':>11}{'in memory':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for n_votes in sizes:
            path = Path(folder) / f"{n_votes}.parquet"
            write_crowd(path, n_votes, shuffled=True)
            beside = in_memory(path)
            for cores, partitions in ((1, None), (2, None), (2, 4 * max(n_votes // 1_000_000, 1))):
                command = [sys.executable, __file__, "--one", str(path), str(cores), str(partitions or 0)]
                line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip()
                print(f"{line}{beside:11.3f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(measure(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) or None))
    else:
        main([int(float(size)) for size in sys.argv[1:] or ["1e6", "1e7"]])
