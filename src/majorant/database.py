"""DuckDB, always with the same locked settings: no network, no extensions, no files that nobody named.

The exception is the connection to an object store or a web address, if the caller allows it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from majorant.limits import thread_count

LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # a table's name is never one of Python's variables
    "preserve_insertion_order": "true",
}
BATCH_ROWS = 1 << 18
STORES = ("s3", "gs", "gcs", "r2", "az", "azure", "abfss", "hf", "http", "https")


def connect(threads: int | None = None, **settings: str) -> Any:
    """A private in-memory DuckDB that fetches nothing and keeps rows in order.

    >>> connect(1).sql("SELECT current_setting('autoload_known_extensions')").fetchall()
    [(False,)]
    """
    import duckdb

    lock = "SET lock_configuration = true"  # no query can change any of these
    quiet = "SET enable_progress_bar = false"  # which it draws in notebooks, across what others print
    connection = duckdb.connect(":memory:", config={**LOCKED, "threads": str(thread_count(threads)), **settings})
    connection.execute(f"{quiet}; {lock}")
    return connection


def connect_to_store(scheme: str) -> Any:
    """A DuckDB that fetches from a store, with the credentials of the user's own surroundings."""
    import duckdb

    connection = duckdb.connect(":memory:")
    own = "azure" if scheme in ("az", "azure", "abfss") else "httpfs"
    for extension in (own, *(["aws"] if scheme == "s3" else [])):
        connection.execute(f"INSTALL {extension}")
        connection.execute(f"LOAD {extension}")
    if scheme == "s3":
        connection.execute("CREATE SECRET (TYPE s3, PROVIDER credential_chain)")
    return connection


def batches(sql: str, threads: int | None) -> Iterator[Any]:
    """The result of a query as Arrow record batches, streamed."""
    connection = _shared(thread_count(threads), os.getpid()).cursor()  # a new database takes 30 ms of CPU
    try:
        yield from stream(connection, sql)
    finally:
        connection.close()


@cache
def _shared(threads: int, process: int) -> Any:  # noqa: ARG001  (a database does not survive a fork)
    return connect(threads)


def stream(connection: Any, sql: str) -> Iterator[Any]:
    """The result of a query as Arrow record batches, streamed."""
    relation = _query(connection, sql)
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # before DuckDB 1.5
    yield from reader(BATCH_ROWS)


def _query(connection: Any, sql: str) -> Any:
    """The query; a path that is no Unicode is DuckDB's own error, as it is from DuckDB 1.5 on."""
    import duckdb

    try:
        return connection.sql(sql)
    except UnicodeEncodeError as error:
        raise duckdb.InvalidInputException(str(error)) from error


def literal(text: str) -> str:
    """A text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """A path as an SQL literal in which no sign is a wildcard."""
    return literal(glob.escape(str(path)))
