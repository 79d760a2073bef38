"""Do time and memory grow in proportion to the votes, from 1e5 to 1e8?

The crowd of `out_of_core.py`, in files sorted by item, under its limit of 2 GB.  Time is the work of all cores together
in nanoseconds a vote (for Dawid-Skene a vote and step); memory is the peak of a process of its own less that of one
which only loads the code, and no less than 16 MB, about what allocators keep.  Growth is the most that a vote costs at
some size beside the least that it costs at a smaller one: 1 where cost is in proportion to the votes, or grows less.

    python benchmarks/growth.py [1e8] [docs/growth.svg]      five minutes; 1e7: one minute
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import board
from large_files import most_votes, write_crowd
from out_of_core import MEMORY, measure

GOAL = 2.0  # growth of the cost of a vote over all sizes; timings jitter by 30 %
LEAST_ROOM = 16_000_000
TASKS = {
    "sort": "sort by item",
    "count": "tally",
    "certificate": "certificate",
    "majority": "majority vote",
    "dawid-skene": "Dawid-Skene, a step",
}
SMALLEST = 100_000


def sizes(largest: int) -> list[int]:
    """1e5, 1e6, ... up to the largest."""
    return [size for size in (SMALLEST * 10**power for power in range(8)) if size <= largest]


def table(largest: int, folder: Path) -> dict[str, list[tuple[int, float, float]]]:
    """For each task (votes, ns a vote, bytes a vote), one size after the other."""
    found: dict[str, list[tuple[int, float, float]]] = {name: [] for name in TASKS}
    print("| what | votes | ns a vote | peak GB | bytes a vote |\n|---|---|---|---|---|")
    for n_votes in sizes(largest):
        source, work = folder / "votes.parquet", folder / "work"
        write_crowd(source, n_votes)
        bare = measure("nothing", source, work)["peak"]
        for name, shown in TASKS.items():
            one = measure(name, source, work)
            time = 1e9 * one["work"] / n_votes / max(one["steps"], 1)
            room = max(one["peak"] - bare, LEAST_ROOM) / n_votes
            found[name].append((n_votes, time, room))
            print(f"| {shown} | {n_votes:.0e} | {time:.1f} | {one['peak'] / 1e9:.2f} | {room:.1f} |", flush=True)
    return found


def growth(costs: list[float]) -> float:
    """The most that a cost has grown over some smaller size's.

    >>> growth([9.0, 3.0, 2.0, 3.0, 2.5])
    1.5
    """
    least, worst = costs[0], 1.0
    for cost in costs[1:]:
        worst, least = max(worst, cost / least), min(least, cost)
    return worst


def goals(found: dict[str, list[tuple[int, float, float]]]) -> None:
    """Print how the goals are met."""
    print()
    for name, rows in found.items():
        first, last = f"{rows[0][0]:.0e}", f"{rows[-1][0]:.0e}"
        for column, what, unit in ((1, "time", "ns"), (2, "memory", "bytes")):
            costs = [row[column] for row in rows]
            board.at_most(
                f"growth of {what} a vote, {TASKS[name]}, {first} to {last} votes", f"{costs[-1]:.1f} {unit} at {last}",
                f"least {min(costs):.1f} {unit}", growth(costs), GOAL,
            )  # fmt: skip


def plot(found: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    """Time and memory a vote against votes; what grows in proportion is level."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "majorant"  # the same numbers, the same file
    figure, both = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axes, column, name in zip(both, (1, 2), ("nanoseconds a vote", "bytes of memory a vote"), strict=True):
        for task, rows in found.items():
            axes.loglog([row[0] for row in rows], [max(row[column], 0.1) for row in rows], "o-", label=TASKS[task])
        axes.set(xlabel="votes", ylabel=name)
        axes.grid(alpha=0.3)
    limit = [MEMORY / row[0] for row in found["count"]]
    both[1].loglog([row[0] for row in found["count"]], limit, "k--", linewidth=1, label="the limit of 2 GB")
    both[1].legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        measured = table(most_votes("1e8"), Path(name))
    goals(measured)
    if len(sys.argv) > 2:
        plot(measured, Path(sys.argv[2]))
