"""Time (the shortest of a few runs, because noise only adds), CPU time and peak memory of a call."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

REPEATS = 5


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of a few calls."""
    return min(seconds(call) for _ in range(repeats))


def by_turns(*calls: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """The shortest time of each call; the calls alternate, so that other load affects all of them alike."""
    taken = [[seconds(call) for call in calls] for _ in range(repeats)]
    return [min(column) for column in zip(*taken, strict=True)]


def peak_bytes(call: Callable[[], object]) -> int:
    """Peak memory of Python and NumPy during a call, beyond what was allocated before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def work_by_program() -> tuple[float, float, float]:
    """CPU time of this process, of its Java child, and of all other descendants, including those that have ended."""
    stats = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:  # it has just ended; who waited for it counts its time
            continue
        name, fields = text[text.index("(") + 1 : text.rindex(")")], text.rsplit(")", 1)[1].split()
        stats[int(entry.parent.name)] = name, int(fields[1]), sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    me = os.getpid()
    family, grown = {me}, True
    while grown:
        more = {pid for pid, (_, parent, _, _) in stats.items() if parent in family} - family
        family, grown = family | more, bool(more)
    here = java = other = 0
    for pid in family & set(stats):
        name, _, own, ended = stats[pid]
        other += ended
        if pid == me:
            here += own
        elif name == "java":
            java += own
        else:
            other += own
    tick = os.sysconf("SC_CLK_TCK")
    return here / tick, java / tick, other / tick
