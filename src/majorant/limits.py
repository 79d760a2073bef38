"""Limits on sizes, threads and memory.

Each size limit has a name, which error messages use. If exceeding a limit only leaves something out, the result says
so. docs/limits.md has the measurements behind each. The number of threads is that of the argument, else of
MAJORANT_THREADS, else all available cores.
"""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, wraps
from threading import current_thread
from typing import ParamSpec, TypeVar

from majorant.errors import ConfigError, DataError, use

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

LIMITS = {
    "CONFUSION_CELLS": 250_000,  # workers x classes^2, if votes are few: time depends on cells
    "CELLS_A_VOTE": 20,  # the same, if votes are many
    "METHOD_CELLS": 20_000_000,  # in one method's tables; `compare` skips methods with more
    "POSTERIOR_CELLS": 200_000_000,  # items x classes
    "COUNT_CELLS": 2_000,  # distinct vote counts of an item, over all numbers of votes
    "RESAMPLED_CLASSES": 20,  # with a shared confusion matrix that has more cells than there are items
    "SLICES": 100,
    "NAME_LENGTH": 1_000_000,  # characters in the name of an item, a worker or a label
    "NESTING": 500,  # depth of lists and objects in a JSON value
    "SPARK_DRIVER_VOTES": 2_000_000,  # up to so many rows of a Spark frame are processed on the driver
    "UNPACKED_RATIO": 300,  # unpacked bytes per byte of a compressed file
    "ARCHIVE_MEMBERS": 200_000,  # files in an archive
    "MEMBER_BYTES": 100_000_000,  # bytes of one file in an archive
    "SHEET_MEMORY": 4_000_000_000,  # bytes of memory for the process that reads a spreadsheet
    "STREAM_BYTES": 20_000_000_000,  # bytes of standard input or a pipe
}
THREADS_VARIABLE = "MAJORANT_THREADS"
POOL = "majorant"  # the names of our threads start with this
BASE = 400_000_000  # memory that Python, NumPy, Arrow and DuckDB take, with the batches passed between them


def refuse_beyond(name: str, size: float, what: str, instead: str) -> None:
    """Raise an error if a size exceeds a limit.

    >>> refuse_beyond("SLICES", 5_000, "slices", "Slice by a column with fewer values")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: 5,000 slices: the limit SLICES is 100. Slice by a column with fewer values.
    """
    if size > LIMITS[name]:
        raise DataError(f"{size:,.0f} {what}: the limit {name} is {LIMITS[name]:,}. {instead}.")


def refuse_size(n_items: int, n_workers: int, n_classes: int, n_votes: int) -> None:
    """Refuse votes whose models would take far more time or memory than the votes themselves."""
    few = "Merge rare labels, check that labels are labels, or label with majorant aggregate --method one-coin"
    n_cells = n_workers * n_classes**2
    if n_cells > LIMITS["CELLS_A_VOTE"] * n_votes:
        what = f"cells in {n_workers:,} confusion matrices of {n_classes:,} classes, for {n_votes:,} votes"
        refuse_beyond("CONFUSION_CELLS", n_cells, what, few)
    refuse_beyond("POSTERIOR_CELLS", n_items * n_classes, f"probabilities of {n_classes:,} classes", few)


def refuse_slices(n_slices: int) -> None:
    """Refuse more slices than the error level can be divided among."""
    what = "slices leave each too little of the error level"
    refuse_beyond("SLICES", n_slices, what, "Slice by a column with fewer values")


def too_many_classes(n_classes: int, n_items: int) -> bool:
    """Whether a confusion matrix is large and has more cells than there are items to learn it from."""
    return n_classes > max(LIMITS["RESAMPLED_CLASSES"], math.isqrt(n_items))


def sizes_within(items_h: Mapping[int, float]) -> list[int]:
    """The most common numbers of votes per item, as many of them as COUNT_CELLS allows.

    >>> sizes_within({3: 900, 5: 80, 100_000: 1})
    [3, 5]
    """
    room, kept = LIMITS["COUNT_CELLS"], []
    for h in sorted(items_h, key=lambda h: (-items_h[h], h)):
        room -= h + 1
        if room < 0:
            break
        kept.append(h)
    return sorted(kept)


def limit_native_threads(fn: Callable[P, T]) -> Callable[P, T]:
    """Limit BLAS to one thread while `fn` runs: our matrices are too small to gain from more.

    The host process keeps its own setting before and after.
    """

    @wraps(fn)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return fn(*args, **kwargs)

    return limited


def thread_count(threads: int | None = None) -> int:
    """The number of threads to use, at least 1.

    >>> thread_count(3)
    3
    """
    if threads is not None:
        return _positive("threads", threads)
    if setting := os.environ.get(THREADS_VARIABLE):
        return _positive(THREADS_VARIABLE, setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _positive(name: str, value: int | str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f"{name} must be a whole number of at least 1, not {value!r}.")
    return number


def in_order(fn: Callable[[S], T], things: Sequence[S], threads: int, *, ahead: int = 0) -> Iterator[T]:
    """Map `fn` over `things` on threads, in order, keeping few results in memory at a time."""
    if threads == 1 or len(things) == 1 or current_thread().name.startswith(POOL):  # a pool that waits for itself hangs
        yield from map(fn, things)
        return
    pool, under_way = _pool(threads), deque[Future[T]]()
    try:
        for thing in things:
            under_way.append(pool.submit(fn, thing))
            if len(under_way) > threads + ahead:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    """One shared pool per size, because starting threads costs more than processing a small block."""
    return ThreadPoolExecutor(threads, thread_name_prefix=POOL)


def parse_memory(text: str) -> int:
    """Parse a memory limit such as 2GB, 500MB or 1.5GiB, in bytes.

    >>> parse_memory("2GB"), parse_memory("1.5 GiB")
    (2000000000, 1610612736)
    """
    memory = parse_size(text, "memory")
    require(BASE, memory, "to read votes at all")
    return memory


def parse_size(text: str, argument: str) -> int:
    """Parse a size in bytes; `argument` is its name in error messages.

    >>> parse_size("20kB", "limit")
    20000
    """
    units = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12,
             "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip
    matched = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z]*)\s*", text)
    if matched is None or matched[2].lower() not in units:
        raise ConfigError(f"{argument}={text!r}: write a size such as 2GB or 500MB.")
    return int(float(matched[1]) * units[matched[2].lower()])


def require(needed: float, memory: int, what: str) -> None:
    """Raise an error if a memory limit is too small; the message says how much is needed."""
    if needed > memory:
        raise ConfigError(
            f"{use('memory', spell(memory))} is too little {what}: at least {spell(needed, up=True)} "
            "is needed. Allow more, "
            "or work on a part of the items."
        )


def spell(n_bytes: float, *, up: bool = False) -> str:
    """A size as text that `parse_memory` reads, rounded up if `up`.

    >>> spell(2_000_000_000), spell(1_234_000_000, up=True)
    ('2GB', '1.3GB')
    """
    unit, name = (10**9, "GB") if n_bytes >= 10**9 else (10**6, "MB")
    size = n_bytes / unit
    if up:
        size = -(-size * 10 // 1) / 10 if unit == 10**9 else -(-size // 1)
    return f"{round(size, 2):g}{name}"
