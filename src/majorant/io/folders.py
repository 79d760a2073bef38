"""A folder of files as one table, its Hive partitions (`date=2026-01-01/`) as columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from majorant.errors import DataError
from majorant.io.table import Column, Rows, column_length

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
PACKED = (".gz", ".zst")


def files_in(name: str, folder: Path, endings: Sequence[str]) -> list[Path]:
    """The files below a folder whose endings are known, in sorted order; hidden and marker files are left out."""
    if (folder / "_delta_log").is_dir() or (folder / ".hoodie").is_dir() or _is_iceberg(folder):
        raise DataError(
            f"{name} is a Delta, Iceberg or Hudi table: some of its files may be deleted rows. Read it with its own "
            "library and hand the frame over, or export it as Parquet."
        )
    found = []
    for path in sorted(folder.rglob("*")):
        own = path.relative_to(folder).parts
        if any(part.startswith((".", "_")) for part in own) or not path.is_file():
            continue
        stem = path.with_suffix("") if path.suffix in PACKED else path
        if stem.suffix.lower() in endings:
            found.append(path)
    if not found:
        raise DataError(
            f"{name} is a directory without files of votes ({', '.join(endings)}). Name the files in it, e.g. "
            f"{str(Path(name) / '*.csv')!r}."
        )
    return found


def _is_iceberg(folder: Path) -> bool:
    return any((folder / "metadata").glob("*.metadata.json")) if (folder / "metadata").is_dir() else False


def partitions(path: str) -> dict[str, str | None]:
    """What the folders of a path say, as Hive names them.

    >>> partitions("votes/lang=en/day=2026-01-01/part-0.parquet")
    {'lang': 'en', 'day': '2026-01-01'}
    """
    found = {}
    for part in Path(path).parts[:-1]:
        if match := re.fullmatch(r"([A-Za-z_]\w*)=(.+)", part):
            value = unquote(match[2])
            found[match[1]] = None if value == NO_VALUE else value
    return found


def with_partitions(rows: Rows, values: Mapping[str, str | None]) -> Rows:
    """The rows with a column for each partition that is not a column already."""
    import json

    own = {name: value for name, value in values.items() if name not in rows.names}
    if not own or not rows.named:
        return rows
    n_own = len(rows.names)
    cells = [json.dumps(v) if rows.kind == "json" and v is not None else v for v in own.values()]

    def stream(positions: Sequence[int], hashed: int) -> Iterator[list[Column]]:
        import pyarrow as pa

        inner = [p for p in positions if p < n_own] or [0]
        as_before = hashed if all(p < n_own for p in positions) else 0
        for columns in rows.stream(inner, as_before):
            given = dict(zip(inner, columns, strict=True))
            n_rows = column_length(columns[0])
            yield [
                given[p] if p < n_own else pa.array([cells[p - n_own]] * n_rows, pa.large_string()) for p in positions
            ]

    return replace(rows, names=(*rows.names, *own), stream=stream, coded=None)
