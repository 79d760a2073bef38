"""Anybody's votes, opened: a file, many files, standard input, a frame, columns or a list, all as one Table.

A preview is a first look at it: what it was recognised as, which column was taken for what, its first rows.
"""

from __future__ import annotations

import glob
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

from majorant.errors import ConfigError, DataError, MajorantError
from majorant.read.columns import ALIASES, VOTE_ROLES, Choice, find_roles
from majorant.read.delimited import open_delimited
from majorant.read.faults import named_faults
from majorant.read.files import File, find_files, identify, partitions
from majorant.read.formats import cvat, inspect_log, recognise, recognise_table
from majorant.read.formats.base import Apart, Format, TableFormat, told_apart
from majorant.read.frames import open_excel, open_frame
from majorant.read.json_text import open_json, open_votes
from majorant.read.options import Reading, ReadOptions
from majorant.read.pairs import lay_out_pairs
from majorant.read.parquet import open_parquet
from majorant.read.reshape import (
    Wide,
    detect_wide,
    join_items,
    joined_note,
    judged_subject,
    read_wide,
    split_labels,
    wide_parts,
    with_answers,
    with_partitions,
)
from majorant.read.table import Column, NotCodedError, RowSource, Table, TableRows, column_length, from_row
from majorant.read.values import cell_values, loads
from majorant.votes import Note

Layout = dict[str, int] | Wide
FILE = "file"  # what a column is called that holds the name of the file, without its endings
SHOWN_ROWS, SHOWN_SIGNS = 6, 160  # of a preview, and of each of its cells


@contextmanager
def open_table(source: Any, how: ReadOptions, *, coded: bool = False) -> Iterator[Table]:
    """The source as a Table; temporary files go when the context ends.

    With `coded`, text comes coded where a reader does that at once, else with hashes.
    """
    with named_faults(source), open_rows(source, how) as every:
        yield _table(source, every, how, coded=coded)


@contextmanager
def open_rows(source: Any, how: ReadOptions) -> Iterator[list[RowSource]]:
    """The rows of each file or frame of the source, with all their columns."""
    with ExitStack() as stack:
        if _is_path(source) or (isinstance(source, (list, tuple)) and source and all(map(_is_path, source))):
            named = find_files(source, stack, how)
            before = [stamp(path) for _, path in named]
            files = [identify(name, path, how) for name, path in named]
            apart = _told_apart(files)
            opened = (_open_file(file, how, stack, log) for file, log in zip(files, apart, strict=True))
            yield [with_partitions(rows, partitions(rows.source) | _file_name(rows, how.choice)) for rows in opened]
            for (name, path), earlier in zip(named, before, strict=True):
                if stamp(path) != earlier:
                    raise DataError(f"{name} changed while it was read. Run again when nothing writes to it any more.")
        else:
            _refuse_file_settings(how)
            yield [open_frame(source, how.choice)]


def stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written to or replaced; None where it is gone, which readers tell themselves."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _file_name(rows: RowSource, choice: Choice) -> dict[str, str | None]:
    """A column with the name of the file, where the caller asks for it: one file per worker is a usual layout."""
    return {FILE: Path(rows.source).name.split(".")[0]} if FILE in choice.named.values() else {}


def again(source: Any) -> bool:
    """Whether a source can be looked at twice: a frame or a dict can, standard input and a stream cannot."""
    if isinstance(source, str):
        return source != "-"
    return hasattr(source, "__fspath__") or hasattr(source, "__getitem__")


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _refuse_file_settings(how: ReadOptions) -> None:
    for name in ("encoding", "delimiter", "format"):
        if getattr(how, name) is not None:
            raise ConfigError(f"{name}= is for files; these votes are in memory already.")


def _told_apart(files: Sequence[File]) -> list[Apart]:
    """How the items and judges of several logs are told apart."""
    if len(files) == 1:
        return [("", "")]
    return told_apart([file.name for file in files], [_header(file) for file in files])


def _header(file: File) -> Mapping[str, Any] | None:
    if file.format == "eval":
        return inspect_log.header(inspect_log.document(file.path, file.name))
    if file.format != "json" or b'"eval"' not in file.head:
        return None
    try:
        with file.open() as raw:
            log = loads(raw.read())
    except ValueError:
        return None
    return inspect_log.header(log) if isinstance(log, dict) and inspect_log.LOG.recognise(frozenset(log), log) else None


def _open_file(file: File, how: ReadOptions, stack: ExitStack, apart: Apart) -> RowSource:
    if how.delimiter is not None and file.format != "csv":
        raise ConfigError(f"delimiter= is for delimited text, and {file.name} holds {file.format}. Leave it out.")
    return READERS[file.format](file, how, stack, apart)


def _open_inspect(file: File, how: ReadOptions, stack: ExitStack, apart: Apart) -> RowSource:
    return _open_votes(inspect_log.LOG, [inspect_log.document(file.path, file.name)], file, how, stack, apart)


def _open_cvat(file: File, how: ReadOptions, stack: ExitStack, apart: Apart) -> RowSource:
    return _open_votes(cvat.IMAGES, _cvat_images(file), file, how, stack, apart)


def _open_votes(
    format: Format, records: list[dict[str, Any]], file: File, how: ReadOptions, stack: ExitStack, apart: Apart
) -> RowSource:
    recognise(list(records[0]), records[0], file.name)
    return open_votes(file, format, records, how, stack, apart)


READERS: Mapping[str, Callable[[File, ReadOptions, ExitStack, Apart], RowSource]] = {  # by the name of the FileKind
    "csv": open_delimited,
    "parquet": open_parquet,
    "excel": open_excel,
    "json": open_json,
    "eval": _open_inspect,
    "cvat": _open_cvat,
}


def _cvat_images(file: File) -> list[dict[str, Any]]:
    from xml.etree.ElementTree import ParseError

    try:
        if file.head.startswith(b"PK"):
            with zipfile.ZipFile(file.path) as archive, archive.open("annotations.xml") as stream:
                images = list(cvat.images(stream))
        else:
            with file.open() as stream:
                images = list(cvat.images(stream))
    except ParseError as error:
        raise DataError(f"{file.name} is a CVAT export that breaks off ({error}). Export it again.") from None
    if not images:
        raise DataError(f"{file.name} is a CVAT export without images. Export the job as CVAT for images.")
    return images


def _table(source: Any, every: Sequence[RowSource], how: ReadOptions, *, coded: bool) -> Table:
    every = [lay_out_pairs(rows, how) for rows in every]
    first = every[0]
    other = next((rows for rows in every if rows.kind != first.kind), None)
    if other is not None:
        raise DataError(
            f"{first.source} is {first.format} and {other.source} is {other.format}. "
            "Files that are read together must be of one kind."
        )
    layouts = [layout_of(rows, how) for rows in every]
    every = [_unwrapped(rows, layout) for rows, layout in zip(every, layouts, strict=True)]
    before, used = every, _names_used(every, layouts)
    every, layouts, notes = _joined(every, layouts, how)
    first, used = every[0], used | _names_used(every, layouts)
    ignored = tuple(dict.fromkeys(name for rows in before if rows.named for name in rows.names if name not in used))
    columns: dict[str, str] = {}
    for rows, layout in zip(every, layouts, strict=True):
        columns |= {role: rows.names[p] for role, p in roles_of(layout).items()}
        notes += layout.notes if isinstance(layout, Wide) else ()
    wide = isinstance(layouts[0], Wide)
    if wide:
        columns |= {"worker": "the other columns' names", "label": "their cells"}
    name = first.source if len(every) == 1 else f"{source if _is_path(source) else first.source} ({len(every)} files)"
    return Table(
        source=name,
        kind=first.kind,
        format="; ".join(dict.fromkeys(map(_described, every))) + (", wide" if wide else ""),
        wide=wide,
        columns=columns,
        ignored=ignored,
        parts=chain.from_iterable(_parts(*both, coded=coded) for both in zip(every, layouts, strict=True)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _joined(
    every: Sequence[RowSource], layouts_before: list[Layout], how: ReadOptions
) -> tuple[list[RowSource], list[Layout], list[Note]]:
    """Items made of a question and the model that answered it, where judges look at several models."""
    rows_of, layouts, notes = list(every), list(layouts_before), []
    for n, (rows, layout) in enumerate(zip(every, layouts_before, strict=True)):
        if how.choice.needed != VOTE_ROLES or (not rows.named and not how.several):
            continue
        if isinstance(layout, Wide):
            if how.several:
                raise ConfigError("several=True is for a row per vote. Turn the wide table into that first.")
            continue
        subject = judged_subject(rows, layout, how.choice)
        if subject is not None:
            notes.append(joined_note(rows, subject))
            rows_of[n], place = join_items(rows, [layout["item"], subject])
            layouts[n] = layout = {**layout, "item": place}
        if how.several:
            rows_of[n], layouts[n] = split_labels(rows_of[n], layout)
            notes.append(Note("several", "Every claim is about one label at a time: is it given, yes or no?"))
    return rows_of, layouts, notes


def _unwrapped(rows: RowSource, layout: Layout) -> RowSource:
    """The rows of a tool's table with what its cells of labels say, where JSON stands in them."""
    tool = _tool(rows)
    if tool is None or tool.answer is None or isinstance(layout, Wide) or "label" not in layout or rows.kind != "text":
        return rows
    return with_answers(rows, layout["label"], tool)


def _tool(rows: RowSource) -> TableFormat | None:
    return recognise_table(rows.names) if rows.named else None


def _described(rows: RowSource) -> str:
    tool = _tool(rows)
    return rows.format if tool is None else f"{tool.name} ({rows.format})"


def _names_used(every: Sequence[RowSource], layouts: Sequence[Layout]) -> set[str]:
    return {rows.names[p] for rows, layout in zip(every, layouts, strict=True) for p in positions_of(layout)}


def roles_of(layout: Layout) -> dict[str, int]:
    """Which column is what, those of workers apart."""
    return layout.roles if isinstance(layout, Wide) else layout


def positions_of(layout: Layout) -> list[int]:
    """The columns that take part in votes."""
    return [*roles_of(layout).values(), *(layout.workers if isinstance(layout, Wide) else ())]


def layout_of(rows: RowSource, how: ReadOptions) -> Layout:
    """Which column is what: as the caller says, as a tool's table has it, by names, or a column per worker."""
    if how.choice.columns is not None and rows.named:
        raise ConfigError(
            f"{rows.source} has column names ({', '.join(rows.names[:6])}); columns= is for tables without. "
            "Name the columns with item=, worker= and label=."
        )
    choice, workers = how.choice, how.worker_columns
    tool = None if how.wide else _tool(rows)
    if tool is not None:
        choice = replace(choice, named={**tool.roles(rows.names), **choice.named})
        if tool.workers is not None and workers is None and choice.needed == VOTE_ROLES:
            workers = tuple(map(glob.escape, tool.workers(rows.names)))
    if how.wide or workers is not None:
        return read_wide(rows, choice, workers)
    by_name = _by_name(rows, choice)
    if isinstance(by_name, dict):
        return by_name
    wide = detect_wide(rows, choice) if choice.needed == VOTE_ROLES and choice.columns is None else None
    if wide is None:
        raise by_name
    return wide


def _by_name(rows: RowSource, choice: Choice) -> dict[str, int] | DataError:
    try:
        return find_roles(rows.names, choice, rows.source)
    except DataError as error:
        return error.with_traceback(None)


def _parts(rows: RowSource, layout: Layout, *, coded: bool) -> Iterator[TableRows]:
    if isinstance(layout, Wide):
        yield from wide_parts(rows, layout)
        return
    roles = layout
    first = rows.first_row
    hashed = [role in ("item", "worker") for role in roles].index(False)  # ids come first, and may be many
    positions = list(roles.values())
    streams = _coded_first(rows, positions, hashed) if coded else rows.stream(positions, hashed)
    for columns in streams:
        n_rows = column_length(columns[0])
        yield TableRows(
            source=rows.source, unit=rows.unit, first_row=first, n_rows=n_rows,
            columns=dict(zip(roles, columns, strict=True)),
        )  # fmt: skip
        first += n_rows


def _coded_first(rows: RowSource, positions: Sequence[int], hashed: int) -> Iterator[list[Column]]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a table looks like; where it cannot be understood yet, `trouble` says why, and the columns stand anyway."""

    format: str
    names: tuple[str, ...]
    named: bool  # False: the file has no header, and columns are known by their positions
    rows: tuple[tuple[str, ...], ...]
    columns: dict[str, str]  # role -> column, as far as it is understood
    workers: tuple[str, ...]  # the columns of workers, in a wide table
    ignored: tuple[str, ...]
    notes: tuple[Note, ...]
    trouble: str


def preview(source: Any, *, rows: int = SHOWN_ROWS, **reading: Unpack[Reading]) -> Preview:
    """The first rows of a source, and how its columns are understood; `reading` is as for `read`.

    >>> table = {"text": ["a", "b"], "annotator": ["w", "x"], "stars": [1, 0]}
    >>> found = preview(table)
    >>> found.names, found.rows[0], "the item or the label" in found.trouble
    (('text', 'annotator', 'stars'), ('a', 'w', '1'), True)
    >>> preview(table, item="text", label="stars").columns
    {'item': 'text', 'worker': 'annotator', 'label': 'stars'}
    """
    how = ReadOptions.of(reading)
    with named_faults(source), open_rows(source, how) as every:
        first = every[0]
        shown = _first_rows(first, rows)
        form, names, named = first.format, first.names, first.named
    try:
        with open_table(source, how) as table:
            workers = [name for name in names if name not in {*table.columns.values(), *table.ignored}]
            return Preview(
                format=table.format,
                names=names,
                named=named,
                rows=shown,
                columns=dict(table.columns),
                workers=tuple(workers) if table.wide else (),
                ignored=table.ignored,
                notes=table.notes,
                trouble="",
            )
    except MajorantError as error:
        roles = _as_far(names, how.choice)
        return Preview(
            format=form, names=names, named=named, rows=shown, columns=roles, workers=(), ignored=(), notes=(),
            trouble=str(error),
        )  # fmt: skip


def _as_far(names: Sequence[str], choice: Choice) -> dict[str, str]:
    """The roles that can be told, where others cannot."""
    roles: dict[str, str] = {}
    for role in () if choice.columns is not None else VOTE_ROLES:
        alone = {other: "" for other in ALIASES if other != role}
        named = {**alone, **({role: choice.named[role]} if role in choice.named else {})}
        with suppress(MajorantError):
            roles |= {role: names[p] for role, p in find_roles(names, Choice(named=named, needed=()), "").items()}
    return roles


def _first_rows(rows: RowSource, most: int) -> tuple[tuple[str, ...], ...]:
    columns = next(iter(rows.stream(range(len(rows.names)), 0)), None)
    if columns is None:
        return ()
    cells = [[_shown(value) for value in cell_values(column, rows.kind, most)] for column in columns]
    return tuple(zip(*cells, strict=True))


def _shown(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= SHOWN_SIGNS else text[: SHOWN_SIGNS - 1] + "…"
