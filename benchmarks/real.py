"""How many CPU and wall seconds do the commands take on every public set, compared with crowd-kit's Dawid-Skene?

MAJORANT_DATA=FOLDER python benchmarks/real.py [part of a name]      one process, one thread; two minutes

The votes are in memory; `check`, `certify` and `ask` see no gold, `rate` sees the gold labels of 100 items.  `check` is
the answer, `+ results` also the labels with their confidence, the workers and the review, as `check --out` writes them.
Each runs as a call from Python, after one call on a small set that loads the code.  crowd-kit's Dawid-Skene takes
100 iterations.  Each time is the shortest of two runs in CPU seconds; the wall time is of the same run.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from threadpoolctl import threadpool_limits

import board
import majorant as mj
from majorant import datasets
from majorant.votes import Votes
from public_sets import data_sets

SLOWEST, TIMES_CROWD_KIT = 3.0, 4.0  # goals: CPU seconds of `check` on a set; in all, beside crowd-kit's Dawid-Skene


def cost(call: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of the faster of two runs."""

    def once() -> tuple[float, float]:
        wall, cpu = perf_counter(), process_time()
        call()
        return process_time() - cpu, perf_counter() - wall

    return min(once(), once())


def some_gold(votes: Votes, n: int = 100) -> dict[object, object]:
    """The gold labels of a few items, drawn at random."""
    gold_i = np.full(votes.shape[0], -1) if votes.gold_i is None else votes.gold_i
    known = np.flatnonzero((gold_i >= 0) & (votes.votes_i > 0))
    drawn = np.random.default_rng(0).permutation(known)[:n]
    return {votes.items[i]: votes.labels[gold_i[i]] for i in drawn}


def everything(votes: Votes) -> None:
    """The answer and all tables that `check --out` writes."""
    result = mj.check(votes)
    _ = result.labels, result.workers, result.removal, result.reviewed


def commands(votes: Votes) -> dict[str, Callable[[], object]]:
    """The calls to measure on a set."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    blind, gold = replace(votes, gold_i=None), some_gold(votes)
    common = votes.labels[int(np.bincount(votes.label_n).argmax())]
    frame = pd.DataFrame({"task": votes.item_n, "worker": votes.worker_n, "label": votes.label_n})
    return {
        "check": lambda: mj.check(blind),
        "+ results": lambda: everything(blind),
        "certify": lambda: mj.certify(blind),
        "ask": lambda: mj.ask(blind),
        "rate": lambda: mj.rate(blind, gold, label=common),
        "crowd-kit": lambda: DawidSkene(n_iter=100).fit_predict(frame),
    }


def main() -> None:
    """Print a row per set, the sums, and whether the goals are met."""
    warnings.simplefilter("ignore")
    folder, part = os.environ.get("MAJORANT_DATA"), sys.argv[1] if len(sys.argv) > 1 else ""
    if not folder:
        sys.exit("Name the folder of the public sets in MAJORANT_DATA.")
    for call in commands(datasets.load("judges")).values():
        call()  # loads the code
    names = ("check", "+ results", "certify", "ask", "rate", "crowd-kit")
    print(f"{'CPU seconds (wall)':<26}{'items':>8}{'votes':>9}" + "".join(f"{name:>15}" for name in names))
    total = dict.fromkeys(names, (0.0, 0.0))
    slowest = (0.0, "")
    for name, votes in data_sets(Path(folder)):
        if part not in name:
            continue
        row = {command: cost(call) for command, call in commands(votes).items()}
        total = {
            command: (total[command][0] + row[command][0], total[command][1] + row[command][1]) for command in names
        }
        slowest = max(slowest, (row["+ results"][0], name))
        print(line(name, f"{votes.shape[0]:,}", f"{votes.n_votes:,}", row), flush=True)
    print(line("all", "", "", total))
    theirs = total["crowd-kit"][0]
    for what in names[:2]:
        ours = total[what][0]
        title = "check, all public sets" if what == "check" else "check with its tables, all public sets"
        board.at_most(title, f"{ours:.1f} s", f"crowd-kit {theirs:.1f} s", ours / theirs, TIMES_CROWD_KIT)
    board.at_most("check with its tables, slowest public set", f"{slowest[0]:.1f} s ({slowest[1]})", f"{SLOWEST:g} s",
                  slowest[0] / SLOWEST, 1)  # fmt: skip


def line(name: str, items: str, votes: str, row: dict[str, tuple[float, float]]) -> str:
    """A row of the table."""
    cells = "".join(f"{f'{cpu:.2f} ({wall:.2f})':>15}" for cpu, wall in row.values())
    return f"{name:<26}{items:>8}{votes:>9}{cells}"


if __name__ == "__main__":
    os.environ["MAJORANT_THREADS"] = "1"
    with threadpool_limits(1):
        main()
