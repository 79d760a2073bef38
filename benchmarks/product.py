"""How long does the whole product take, from the command line to its answer?

python benchmarks/product.py [row ...]        seconds of whole processes, compared with yardsticks in the same run

Rows: small, classes, certify, errors and million, which run by default (three minutes on two quiet cores); memory,
larger, spark and huge, which take ten more, 2 GB of disk and, to make the votes for huge, 8 GB of memory; or all.  Each
has its own file of votes and can be run alone.  Modules are compiled in advance, as in an installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import board
from clock import best_seconds, by_turns
from majorant.output import votes_table, write_table
from majorant.simulate import one_coin_workers, simulate

IMPORTS = "import scipy.optimize, duckdb, pyarrow"
SORT = "import duckdb, sys; duckdb.sql(f\"COPY (FROM '{sys.argv[1]}' ORDER BY item) TO '{sys.argv[2]}'\")"
SESSION = """
from majorant.read.spark import spark_session
with spark_session('local[2]') as spark: spark.range(1).count()
"""
CROWD_KIT = """
import sys, pandas, crowdkit.aggregation as ck
table = pandas.read_parquet(sys.argv[1]).rename(columns={"item": "task"})
ck.DawidSkene(n_iter=100).fit_predict(table[["task", "worker", "label"]])
"""


def process(*arguments: str, codes: tuple[int, ...] = (0,)) -> None:
    """Run a separate Python process from start to end."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(done.stderr or f"{' '.join(arguments)}: exit code {done.returncode}.")


def majorant(*arguments: str, fails: bool = False) -> None:
    """Run the command line as a user would."""
    process("-m", "majorant", *arguments, codes=(2,) if fails else (0, 1, 3))  # 1 and 3 are verdicts


def votes_file(folder: Path, n_votes: int, n_workers: int, n_classes: int = 2, per_item: int = 5) -> str:
    """A file of simulated votes by workers of different skill."""
    path = folder / f"{n_votes}-{n_workers}-{n_classes}.parquet"
    if not path.exists():
        skill_j = np.random.default_rng(0).uniform(0.55, 0.95, n_workers)
        prior_k = np.full(n_classes, 1 / n_classes)
        votes, _ = simulate(prior_k, one_coin_workers(skill_j, n_classes), n_votes // per_item, per_item, rng=0)
        write_table(path, votes_table(votes))
    return str(path)


def small(folder: Path) -> None:
    """1e4 votes, compared with the imports that are needed in any case."""
    path = votes_file(folder, 10_000, 100)
    ours, imports = by_turns(lambda: majorant("check", path), lambda: process("-c", IMPORTS), repeats=3)
    board.at_most("check, 1e4 votes", f"{ours:.1f} s", f"imports {imports:.1f} s", ours / imports, 3)
    board.at_most("check, 1e4 votes, whole process", f"{ours:.1f} s", "2.5 s", ours / 2.5, 1)


def classes(folder: Path) -> None:
    """1e5 votes by 1,000 workers, with two and with four classes."""
    for n_classes, goal in ((2, 4.0), (4, 8.0)):
        path = votes_file(folder, 100_000, 1_000, n_classes)
        ours = best_seconds(lambda path=path: majorant("check", path), repeats=2)
        board.at_most(f"check, 1e5 votes, K = {n_classes}", f"{ours:.1f} s", f"{goal:g} s", ours / goal, 1)


def certify(folder: Path) -> None:
    """The certificate of a sparse crowd."""
    path = votes_file(folder, 100_000, 800)
    ours = best_seconds(lambda: majorant("certify", path), repeats=2)
    board.at_most("certify, 1e5 votes, 800 workers", f"{ours:.1f} s", "4 s", ours / 4, 1)


def errors(folder: Path) -> None:
    """A wrong path and a wrong column, compared with the help page."""
    (folder / "odd.csv").write_text("a,b,c\n1,2,3\n")
    wrong = {"a wrong path": str(folder / "none.csv"), "a wrong column": str(folder / "odd.csv")}
    for what, path in wrong.items():
        ours, usage = by_turns(
            lambda path=path: majorant("check", path, fails=True), lambda: majorant("check", "--help"), repeats=5
        )
        board.at_most(f"{what}, beyond --help", f"{ours - usage:.2f} s", "0.3 s", (ours - usage) / 0.3, 1)


def million(folder: Path) -> None:
    """1e6 votes, compared with one method of crowd-kit."""
    path = votes_file(folder, 1_000_000, 1_000)
    ours, theirs = by_turns(lambda: majorant("check", path), lambda: process("-c", CROWD_KIT, path), repeats=3)
    board.at_most("check, 1e6 votes", f"{ours:.0f} s", f"crowd-kit's Dawid-Skene {theirs:.0f} s", ours / theirs, 1)


def memory(folder: Path) -> None:
    """1e7 votes within 2 GB."""
    path = votes_file(folder, 10_000_000, 10_000)
    ours = best_seconds(lambda: majorant("check", path, "--memory", "2GB"), repeats=1)
    board.at_most("check --memory 2GB, 1e7 votes", f"{ours:.0f} s", "90 s", ours / 90, 1)


def huge(folder: Path) -> None:
    """1e8 votes within 2 GB: they should take no more than ten times as long as 1e7."""
    small, large = (votes_file(folder, n_votes, 10_000) for n_votes in (10_000_000, 100_000_000))
    plain, ours = (
        best_seconds(lambda path=path: majorant("check", path, "--memory", "2GB"), repeats=1) for path in (small, large)
    )
    board.at_most("check --memory 2GB, 1e8 votes", f"{ours:.0f} s", f"1e7 votes {plain:.0f} s", ours / plain, 10)


def larger(folder: Path) -> None:
    """The certificate of 2e7 votes, compared with sorting their file."""
    path = votes_file(folder, 20_000_000, 20_000)
    ours, theirs = by_turns(
        lambda: majorant("certify", path, "--memory", "2GB"),
        lambda: process("-c", SORT, path, str(folder / "sorted.parquet")),
        repeats=1,
    )
    board.at_most("certify --memory 2GB, 2e7 votes", f"{ours:.0f} s", f"DuckDB's sort {theirs:.0f} s", ours / theirs, 6)


def spark(folder: Path) -> None:
    """1e6 votes on Spark, compared with in memory; starting the session is Spark's own cost."""
    path = votes_file(folder, 1_000_000, 1_000)
    ours, plain, start = by_turns(
        lambda: majorant("check", path, "--engine", "spark", "--master", "local[2]"),
        lambda: majorant("check", path),
        lambda: process("-c", SESSION),
        repeats=1,
    )
    beside = f"memory {plain:.0f} s, session {start:.0f} s"
    board.at_most("check --engine spark, 1e6 votes", f"{ours:.0f} s", beside, (ours - start) / plain, 3)


QUICK = (small, classes, certify, errors, million)
SLOW = (memory, larger, spark, huge)


def main() -> None:
    """Print the goals of the selected rows, each with its yardstick."""
    rows: dict[str, Callable[[Path], None]] = {row.__name__: row for row in (*QUICK, *SLOW)}
    asked = sys.argv[1:] or [row.__name__ for row in QUICK]
    if asked == ["all"]:
        asked = list(rows)
    if unknown := [name for name in asked if name not in rows]:
        sys.exit(f"No row {', '.join(unknown)}: choose among {', '.join(rows)}, all.")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        majorant("check", votes_file(Path(name), 1_000, 20))  # compiles
        for row in asked:
            rows[row](Path(name))


if __name__ == "__main__":
    main()
