"""Threads (the argument, else MAJORANT_THREADS, else all available cores) and memory limits."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from majorant.errors import ConfigError

S = TypeVar("S")
T = TypeVar("T")
P = ParamSpec("P")

THREADS_VARIABLE = "MAJORANT_THREADS"
UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12,
         "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip
BASE = 400_000_000  # Python, NumPy, Arrow and DuckDB, and the batches on their way between them


def limit_native_threads(fn: Callable[P, T]) -> Callable[P, T]:
    """Limit BLAS to one thread while `fn` runs: our matrices are small, and more threads would only wait.

    The host process keeps its own setting before and after.
    """

    @wraps(fn)
    def calm(*args: P.args, **kwargs: P.kwargs) -> T:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return fn(*args, **kwargs)

    return calm


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
    """Map `fn` over `things` on threads, in order, with few results waiting at a time."""
    if threads == 1 or len(things) == 1:
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
    """One pool per size for the whole process: starting threads costs more than a small block's work."""
    return ThreadPoolExecutor(threads, thread_name_prefix="majorant")


def parse_memory(text: str) -> int:
    """Bytes from a text such as 2GB, 500MB or 1.5GiB.

    >>> parse_memory("2GB"), parse_memory("1.5 GiB")
    (2000000000, 1610612736)
    """
    memory = parse_size(text, "memory")
    require(BASE, memory, "to read votes at all")
    return memory


def parse_size(text: str, argument: str) -> int:
    """Bytes from a text; `argument` is what a message calls it.

    >>> parse_size("20kB", "limit")
    20000
    """
    matched = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zA-Z]*)\s*", text)
    if matched is None or matched[2].lower() not in UNITS:
        raise ConfigError(f"{argument}={text!r}: give a size such as 2GB or 500MB.")
    return int(float(matched[1]) * UNITS[matched[2].lower()])


def require(needed: float, memory: int, what: str) -> None:
    """Raise an error if a memory limit is too small; the message says how much is needed."""
    if needed > memory:
        raise ConfigError(
            f"memory='{spell(memory)}' is too little {what}: it takes at least {spell(needed, up=True)}. Give more, or "
            "work on a part of the items."
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
