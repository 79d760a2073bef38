"""How many threads to use: the argument, else MAJORANT_THREADS, else every core this process may run on."""

from __future__ import annotations

import os

from majorant.errors import ConfigError

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
