"""Time of a call, the shortest of a few runs, since all else is noise from outside; and its peak of memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

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
    """The shortest time of each call, taken in turn, so that a busy moment hits all alike."""
    taken = [[seconds(call) for call in calls] for _ in range(repeats)]
    return [min(column) for column in zip(*taken, strict=True)]


def peak_bytes(call: Callable[[], object]) -> int:
    """The most memory that Python and NumPy held at a time during a call, beside what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
