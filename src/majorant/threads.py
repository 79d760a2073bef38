"""How many threads to use (the argument, else MAJORANT_THREADS, else every core allowed), and results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from majorant.errors import ConfigError

S = TypeVar("S")
T = TypeVar("T")

THREADS_VARIABLE = "MAJORANT_THREADS"


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
    """What `fn` returns for each thing, in their order, by threads; few results wait at a time."""
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
