"""Anybody's votes, opened: a file, many files, standard input, a frame, columns or a list, all as one Table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.columns import Choice, find_roles
from majorant.io.delimited import open_delimited
from majorant.io.files import File, find_files, identify
from majorant.io.frames import open_frame
from majorant.io.json_text import open_json
from majorant.io.parquet import open_parquet
from majorant.io.table import Column, NotCodedError, Part, Rows, Table, column_length, from_row
from majorant.io.wide import wide_parts, wide_roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How to open a source; what is None is told from the content."""

    choice: Choice
    encoding: str | None = None
    delimiter: str | None = None
    format: str | None = None
    wide: bool = False
    threads: int | None = None
    coded: bool = False  # text comes coded where a reader does that at once, else with hashes


@contextmanager
def open_table(source: Any, how: Opening) -> Iterator[Table]:
    """The source as a Table; temporary files go when the context ends."""
    with open_rows(source, how) as every:
        yield _table(source, every, how)


@contextmanager
def open_rows(source: Any, how: Opening) -> Iterator[list[Rows]]:
    """The rows of each file or frame of the source, with all their columns."""
    with ExitStack() as stack:
        if _is_path(source) or (isinstance(source, (list, tuple)) and source and all(map(_is_path, source))):
            yield [_open_file(identify(*f, encoding=how.encoding, format=how.format), how, stack)
                   for f in find_files(source, stack)]  # fmt: skip
        else:
            _refuse_file_settings(how)
            yield [open_frame(source, how.choice)]


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _refuse_file_settings(how: Opening) -> None:
    for name in ("encoding", "delimiter", "format"):
        if getattr(how, name) is not None:
            raise ConfigError(f"{name}= is for files; these votes are in memory already.")


def _open_file(file: File, how: Opening, stack: ExitStack) -> Rows:
    if how.delimiter is not None and file.format != "csv":
        raise ConfigError(f"delimiter= is for delimited text, and {file.name} holds {file.format}. Leave it out.")
    if file.format == "csv":
        delimiter = how.delimiter or ("\t" if how.format == "tsv" else None)
        return open_delimited(file, how.choice, stack, delimiter=delimiter, threads=how.threads)
    if file.format == "json":
        return open_json(file, how.choice, stack, threads=how.threads)
    return open_parquet(file, threads=how.threads)


def _table(source: Any, every: Sequence[Rows], how: Opening) -> Table:
    first = every[0]
    other = next((rows for rows in every if rows.kind != first.kind), None)
    if other is not None:
        raise DataError(
            f"{first.source} is {first.format} and {other.source} is {other.format}. "
            "Files that are read together must be of one kind."
        )
    found = [_roles(rows, how) for rows in every]
    used = {rows.names[p] for rows, roles in zip(every, found, strict=True) for p in roles.values()}
    ignored = () if how.wide else tuple(
        dict.fromkeys(name for rows in every if rows.named for name in rows.names if name not in used)
    )  # fmt: skip
    columns = {role: rows.names[p] for rows, roles in zip(every, found, strict=True) for role, p in roles.items()}
    if how.wide:
        columns |= {"worker": "the other columns' names", "label": "their cells"}
    name = first.source if len(every) == 1 else f"{source if _is_path(source) else first.source} ({len(every)} files)"
    formats = dict.fromkeys(rows.format for rows in every)
    return Table(
        source=name,
        kind=first.kind,
        format="; ".join(formats) + (", wide" if how.wide else ""),
        columns=columns,
        ignored=ignored,
        parts=(part for rows, roles in zip(every, found, strict=True) for part in _parts(rows, roles, how)),
    )


def _roles(rows: Rows, how: Opening) -> dict[str, int]:
    if how.wide:
        return wide_roles(rows, how.choice)
    if how.choice.columns is not None and rows.named:
        raise ConfigError(
            f"{rows.source} has column names ({', '.join(rows.names[:6])}); columns= is for tables without. "
            "Name the columns with item=, worker= and label=."
        )
    return find_roles(rows.names, how.choice, rows.source)


def _parts(rows: Rows, roles: dict[str, int], how: Opening) -> Iterator[Part]:
    if how.wide:
        yield from wide_parts(rows, roles)
        return
    first = rows.first_row
    hashed = [role in ("item", "worker") for role in roles].index(False)  # ids come first, and may be many
    positions = list(roles.values())
    streams = _coded_first(rows, positions, hashed) if how.coded else rows.stream(positions, hashed)
    for columns in streams:
        n_rows = column_length(columns[0])
        yield Part(
            source=rows.source, unit=rows.unit, first_row=first, n_rows=n_rows,
            columns=dict(zip(roles, columns, strict=True)),
        )  # fmt: skip
        first += n_rows


def _coded_first(rows: Rows, positions: Sequence[int], hashed: int) -> Iterator[list[Column]]:
    """The columns with codes as far as the reader can, and from there on by the reader that refuses nothing."""
    done = 0
    if rows.coded is not None:
        try:
            for columns in rows.coded(positions):
                yield columns
                done += column_length(columns[0])
            return
        except NotCodedError:
            pass
    for columns in rows.stream(positions, hashed):
        n_rows = column_length(columns[0])
        if n_rows > done:
            yield [from_row(column, done) for column in columns] if done else columns
        done = max(done - n_rows, 0)
