"""DuckDB connections with locked-down settings: no network, no extensions, no files that the user did not name.

The exception is `connect_to_store`, for an object store or a web address, if the caller allows it.
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
    "python_enable_replacements": "false",  # a table name never refers to a Python variable
    "preserve_insertion_order": "true",
}
BATCH_ROWS = 1 << 18
STORES = ("s3", "gs", "gcs", "r2", "az", "azure", "abfss", "hf", "http", "https")


def connect(threads: int | None = None, **settings: str) -> Any:
    """Open a private in-memory database that never uses the network and keeps rows in order.

    >>> connect(1).sql("SELECT current_setting('autoload_known_extensions')").fetchall()
    [(False,)]
    """
    import duckdb

    lock = "SET lock_configuration = true"  # no query can change the settings
    quiet = "SET enable_progress_bar = false"  # it would be drawn over other output in notebooks
    connection = duckdb.connect(":memory:", config={**LOCKED, "threads": str(thread_count(threads)), **settings})
    connection.execute(f"{quiet}; {lock}")
    return connection


def connect_to_store(scheme: str) -> Any:
    """Open a database that can read from a store, with the credentials in the user's environment."""
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
    connection = _shared(thread_count(threads), os.getpid()).cursor()  # opening a new database takes 30 ms of CPU time
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
    """Run a query; a path that is not Unicode raises DuckDB's own error, as it does from DuckDB 1.5 on."""
    import duckdb

    try:
        return connection.sql(sql)
    except UnicodeEncodeError as error:
        raise duckdb.InvalidInputException(str(error)) from error


def literal(text: str) -> str:
    """Quote text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def path_literal(path: Path) -> str:
    """Quote a path as an SQL literal, with wildcard characters escaped."""
    return literal(glob.escape(str(path)))
