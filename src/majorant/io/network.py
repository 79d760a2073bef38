"""Object stores and addresses: fetched by DuckDB, and only where the caller allows it."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.scan import literal

STORES = ("s3", "gs", "gcs", "r2", "az", "azure", "abfss", "hf", "http", "https")
EXTENSION = {"az": "azure", "azure": "azure", "abfss": "azure"}


def is_address(name: str) -> bool:
    """Whether a name is an address such as s3://bucket/votes.parquet.

    >>> is_address("s3://bucket/votes.parquet"), is_address("votes.csv")
    (True, False)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", name) is not None


def refuse(name: str) -> ConfigError:
    """The error for an address that the caller did not allow."""
    return ConfigError(
        f"{name} is an address, and majorant opens no connection by itself. Allow it with allow_network=True, or "
        "download the file first."
    )


def fetch(name: str, folder: Path) -> list[tuple[str, Path]]:
    """The files behind an address, a pattern too, copied into `folder`, each with its address."""
    import duckdb

    scheme = name.split("://")[0].casefold()
    if scheme not in STORES:
        raise ConfigError(f"{name}: {scheme}:// is no store that DuckDB reads. Download the file first.")
    connection = duckdb.connect(":memory:")
    try:
        _prepare(connection, scheme)
        blobs = connection.execute(f"SELECT filename, content FROM read_blob({literal(name)}) ORDER BY filename")
        found: list[tuple[str, Path]] = []
        while (row := blobs.fetchone()) is not None:
            path = folder / f"{len(found):06}-{row[0].rsplit('/', 1)[-1]}"
            path.write_bytes(row[1])
            found.append((row[0], path))
    except duckdb.Error as error:
        raise DataError(
            f"{name} cannot be fetched: {str(error).splitlines()[0]} Check the address and your credentials."
        ) from None
    finally:
        connection.close()
    if not found:
        raise DataError(f"{name}: no file matches. Check the bucket and the pattern.")
    return found


def _prepare(connection: Any, scheme: str) -> None:
    extension = EXTENSION.get(scheme, "httpfs")
    connection.execute(f"INSTALL {extension}")
    connection.execute(f"LOAD {extension}")
    if scheme == "s3":
        connection.execute("INSTALL aws")
        connection.execute("LOAD aws")
        connection.execute("CREATE SECRET (TYPE s3, PROVIDER credential_chain)")


def fetched(name: str, stack: ExitStack) -> list[tuple[str, Path]]:
    """The same, in a folder that goes when `stack` closes."""
    import tempfile

    return fetch(name, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="majorant-"))))
