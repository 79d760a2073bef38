"""How long does the whole product take, from the command line to its answer?

python benchmarks/product.py [large]        seconds of whole processes, beside yardsticks of the same run

`large` adds 1e6 votes in memory, and the runs of 1e7 and 2e7 votes that do not fit into `--memory`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import board
from clock import best_seconds, by_turns
from majorant.output import votes_table, write_table
from majorant.simulate import one_coin_crew, simulate

YARDSTICK = ["-c", "import scipy.optimize, duckdb, pyarrow"]
SORT = "import duckdb, sys; duckdb.sql(f\"COPY (FROM '{sys.argv[1]}' ORDER BY item) TO '{sys.argv[2]}'\")"
CROWD_KIT = """
import sys, pandas, crowdkit.aggregation as ck
table = pandas.read_parquet(sys.argv[1]).rename(columns={"item": "task"})
ck.DawidSkene(n_iter=100).fit_predict(table[["task", "worker", "label"]])
"""


def process(*arguments: str, codes: tuple[int, ...] = (0,)) -> None:
    """A Python process of its own, from start to end."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(done.stderr or f"{' '.join(arguments)}: exit code {done.returncode}.")


def majorant(*arguments: str, fails: bool = False) -> None:
    """The command line, as a user starts it."""
    process("-m", "majorant", *arguments, codes=(2,) if fails else (0, 1, 3))  # 1 and 3 are verdicts


def votes_file(folder: Path, n_votes: int, n_workers: int, n_classes: int = 2, per_item: int = 5) -> str:
    """A file of simulated votes of unequal workers."""
    path = folder / f"{n_votes}-{n_workers}-{n_classes}.parquet"
    skill_j = np.random.default_rng(0).uniform(0.55, 0.95, n_workers)
    prior_k = np.full(n_classes, 1 / n_classes)
    votes, _ = simulate(prior_k, one_coin_crew(skill_j, n_classes), n_votes // per_item, per_item, rng=0)
    write_table(path, votes_table(votes))
    return str(path)


def main() -> None:
    """Print each goal with its yardstick."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = votes_file(folder, 10_000, 100)
        ours, imports = by_turns(lambda: majorant("check", small), lambda: process(*YARDSTICK), repeats=3)
        board.at_most("check, 1e4 votes", f"{ours:.1f} s", f"imports {imports:.1f} s", ours / imports, 3)
        board.at_most("check, 1e4 votes", f"{ours:.1f} s", "2.5 s", ours / 2.5, 1)
        for n_classes, goal in ((2, 4.0), (4, 8.0)):
            path = votes_file(folder, 100_000, 1_000, n_classes)
            ours = best_seconds(lambda path=path: majorant("check", path), repeats=2)
            board.at_most(f"check, 1e5 votes, K = {n_classes}", f"{ours:.1f} s", f"{goal:g} s", ours / goal, 1)
        sparse = votes_file(folder, 100_000, 800)
        ours = best_seconds(lambda: majorant("certify", sparse), repeats=2)
        board.at_most("certify, 1e5 votes, 800 workers", f"{ours:.1f} s", "4 s", ours / 4, 1)
        (folder / "odd.csv").write_text("a,b,c\n1,2,3\n")
        wrong = {"a wrong path": str(folder / "none.csv"), "a wrong column": str(folder / "odd.csv")}
        for what, path in wrong.items():
            ours, usage = by_turns(
                lambda path=path: majorant("check", path, fails=True), lambda: majorant("check", "--help"), repeats=5
            )
            board.at_most(f"{what}, beyond --help", f"{ours - usage:.2f} s", "0.3 s", (ours - usage) / 0.3, 1)
        if sys.argv[1:] == ["large"]:
            large(folder)


def large(folder: Path) -> None:
    """Goals that take minutes."""
    million = votes_file(folder, 1_000_000, 1_000)
    ours, theirs = by_turns(lambda: majorant("check", million), lambda: process("-c", CROWD_KIT, million), repeats=1)
    board.at_most("check, 1e6 votes", f"{ours:.0f} s", f"crowd-kit's Dawid-Skene {theirs:.0f} s", ours / theirs, 1)
    ten = votes_file(folder, 10_000_000, 10_000)
    ours = best_seconds(lambda: majorant("check", ten, "--memory", "2GB"), repeats=1)
    board.at_most("check --memory 2GB, 1e7 votes", f"{ours:.0f} s", "90 s", ours / 90, 1)
    twenty = votes_file(folder, 20_000_000, 20_000)
    ours, theirs = by_turns(
        lambda: majorant("certify", twenty, "--memory", "2GB"),
        lambda: process("-c", SORT, twenty, str(folder / "sorted.parquet")),
        repeats=1,
    )
    board.at_most("certify --memory 2GB, 2e7 votes", f"{ours:.0f} s", f"DuckDB's sort {theirs:.0f} s", ours / theirs, 6)


if __name__ == "__main__":
    main()
