"""DuckDB, always with the same locked settings: no network, no extensions, no files that nobody named."""

from __future__ import annotations

from typing import Any

from majorant.threads import thread_count

LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # a table's name is never one of Python's variables
    "preserve_insertion_order": "true",
}
QUIET = "SET enable_progress_bar = false"  # which it draws in notebooks, across what others print
LOCK = "SET lock_configuration = true"  # no query can change any of these


def connect(threads: int | None = None, **settings: str) -> Any:
    """A private in-memory DuckDB that fetches nothing and keeps rows in order.

    >>> connect(1).sql("SELECT current_setting('autoload_known_extensions')").fetchall()
    [(False,)]
    """
    import duckdb

    connection = duckdb.connect(":memory:", config={**LOCKED, "threads": str(thread_count(threads)), **settings})
    connection.execute(f"{QUIET}; {LOCK}")
    return connection
