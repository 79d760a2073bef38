"""Open any source of votes (files, standard input, a frame, columns, a list) as one Table.

A preview shows what the source was recognised as, the role of each column, and the first rows.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from majorant.errors import ConfigError, DataError, MajorantError
from majorant.read.files import File, find_files, identify, partitions, stem_of
from majorant.read.formats.inspect_log import tell_logs_apart
from majorant.read.frames import open_frame, open_matrix
from majorant.read.options import ALIASES, VOTE_ROLES, Choice, Reading, ReadOptions
from majorant.read.pairs import lay_out_pairs
from majorant.read.reshape import (
    add_constants,
    join_columns,
    lay_out_votes,
    split_labels,
    unwrap_answers,
    wide_parts,
)
from majorant.read.roles import (
    FILE,
    JUDGES,
    Layout,
    bare_word,
    find_roles,
    has_vote_columns,
    layout_by_content,
    list_names,
    missing_header,
    table_tool,
    wide_layout,
)
from majorant.read.table import (
    RowSource,
    Table,
    TableRows,
    cell_values,
    column_length,
    header_rows,
    named_faults,
    take_rows,
)
from majorant.votes import Note, NoteKind


@contextmanager
def open_table(source: Any, how: ReadOptions) -> Iterator[Table]:
    """Open the source as a Table; temporary files are removed when the context ends."""
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[1] != len(VOTE_ROLES):
        yield open_matrix(source, None, None)  # three columns could also be item, worker and label
        return
    with named_faults(source), open_rows(source, how) as every:
        yield _as_table(source, every, how)


@contextmanager
def open_rows(source: Any, how: ReadOptions) -> Iterator[list[RowSource]]:
    """Open the rows of each file or frame of the source, with all their columns."""
    with ExitStack() as stack:
        if _is_path(source) or (isinstance(source, (list, tuple)) and source and all(map(_is_path, source))):
            named = find_files(source, stack, how)
            before = [_stamp(path) for _, path in named]
            files = tell_logs_apart([identify(name, path, how) for name, path in named])
            opened = [_open_file(file, how, stack) for file in files]
            by_file = FILE in how.choice.named.values()
            names = _file_names(opened) if by_file else [None] * len(opened)
            yield [
                add_constants(rows, partitions(rows.source) | ({FILE: name} if by_file else {}))
                for rows, name in zip(opened, names, strict=True)
            ]
            for (name, path), earlier in zip(named, before, strict=True):
                if _stamp(path) != earlier:
                    raise DataError(
                        f"{name} changed while it was read. Run the command again once the file is complete."
                    )
        else:
            for option in ("encoding", "delimiter", "format"):
                if getattr(how, option) is not None:
                    raise ConfigError(f"{option}= is for files; these votes are in memory already.")
            yield [open_frame(source, how.choice)]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Fingerprint that changes when a file is modified; None if it is gone (readers report that)."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_rereadable(source: Any) -> bool:
    """Whether a source can be read twice: a frame or a dict can, standard input and a stream cannot."""
    if isinstance(source, str):
        return source != "-"
    return hasattr(source, "__fspath__") or hasattr(source, "__getitem__")


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _file_names(every: Sequence[RowSource]) -> list[str]:
    """Name each file: its name without extensions, with its folder if the names alone are not unique.

    >>> from types import SimpleNamespace as Rows
    >>> _file_names([Rows(source="a/run.csv"), Rows(source="b/run.csv")])
    ['a/run', 'b/run']
    """
    paths = [Path(rows.source) for rows in every]
    stems = [stem_of(path) for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{path.parent.name}/{stem}" for path, stem in zip(paths, stems, strict=True)]


def _open_file(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:
    if how.delimiter is not None and file.type.name != "csv":
        raise ConfigError(
            f"delimiter= is for delimited text, and {file.name} is {file.type.description}. Leave it out."
        )
    module, function = file.type.reader.split(":")
    rows: RowSource = getattr(import_module(f"majorant.read.{module}"), function)(file, how, stack)
    return rows


def _as_table(source: Any, every: Sequence[RowSource], how: ReadOptions) -> Table:
    """One table of all files: each gets a layout, and its rows become one row per vote."""
    every = [rows if has_vote_columns(rows.names) else lay_out_pairs(lay_out_votes(rows, how), how) for rows in every]
    first = every[0]
    other = next((rows for rows in every if rows.kind != first.kind), None)
    if other is not None:
        raise DataError(
            f"{first.source} is {first.format} and {other.source} is {other.format}. "
            "Files that are read together must be of one kind."
        )
    laid_out = _workers_by_file([find_layout(rows, how, n_files=len(every)) for rows in every], how)
    laid_out = [_one_label_per_row(rows, layout, how) for rows, layout in laid_out]
    columns: dict[str, str] = {}
    used: set[str] = set()
    formats, notes, judges = [], [], False
    for rows, layout in laid_out:
        columns |= {role: rows.names[p] for role, p in layout.roles.items()}
        used |= {rows.names[p] for p in layout.positions} | set(layout.key)
        tool = table_tool(rows)
        formats.append(rows.format if tool is None else f"{tool.name} ({rows.format})")
        judges = judges or rows.judges or (tool is not None and tool.judges)
        notes += [*rows.notes, *layout.notes]
    wide = laid_out[0][1].wide
    judges = judges or bare_word(columns.get("worker", "")) in JUDGES
    if wide:
        columns |= {"worker": "the other columns' names", "label": "their cells"}
    name = first.source if len(every) == 1 else f"{source if _is_path(source) else first.source} ({len(every)} files)"
    skipped: Counter[str] = Counter()
    return Table(
        source=name,
        kind=laid_out[0][0].kind,
        format="; ".join(dict.fromkeys(formats)) + ", wide" * wide,
        wide=wide,
        columns=columns,
        key=laid_out[0][1].key,
        ignored=tuple(dict.fromkeys(name for rows in every if rows.named for name in rows.names if name not in used)),
        parts=chain.from_iterable(_parts(rows, layout, skipped) for rows, layout in laid_out),
        notes=tuple(note for n, note in enumerate(notes) if note not in notes[:n]),  # several files may give the same
        judges=judges,
        skipped=skipped,
    )


def find_layout(rows: RowSource, how: ReadOptions, *, n_files: int = 1) -> tuple[RowSource, Layout]:
    """Find the layout of a table; a column that names the items may be added to its rows."""
    choice = how.choice
    if choice.columns is not None and rows.named:
        raise ConfigError(
            f"{rows.source} has column names ({', '.join(rows.names[:6])}); columns= is for tables without. "
            "Name the columns with item=, worker= and label=."
        )
    tool = None if how.wide else table_tool(rows)
    workers = how.worker_columns
    if tool is not None:
        choice = replace(choice, named={**tool.roles(rows.names), **choice.named})
        if tool.workers is not None and workers is None and choice.needed == VOTE_ROLES:
            workers = tuple(map(glob.escape, tool.workers(rows.names)))
    if how.gold_key and "item" not in choice.named and set(how.gold_key) <= set(rows.names):
        named = how.gold_key[0] if len(how.gold_key) == 1 else how.gold_key
        choice = replace(choice, named={**choice.named, "item": named})
    key = choice.key_columns(rows.names) if rows.named else None
    if key is not None:
        rows, name = _join_key(rows, key)
        choice = replace(choice, named={**choice.named, "item": name})
    if how.wide or workers is not None:
        layout = wide_layout(rows, choice, workers)
    else:
        layout = _layout_of_votes(rows, choice, n_files)
        rows, layout = _join_subject(rows, layout, choice)
    own = key or layout.key or ((rows.names[layout.roles["item"]],) if rows.named else ())
    return rows, replace(layout, key=own)


def _layout_of_votes(rows: RowSource, choice: Choice, n_files: int) -> Layout:
    """The layout by the names of columns, or by their content where names do not tell."""
    try:
        return Layout(find_roles(rows.names, choice, rows.source))
    except DataError as error:
        trouble = error.with_traceback(None)
    if choice.needed != VOTE_ROLES or choice.columns is not None or not rows.named:
        raise trouble
    layout = layout_by_content(rows, choice, n_files)
    if layout is None:
        raise missing_header(rows, choice) or trouble
    return layout


def _join_key(rows: RowSource, key: Sequence[str]) -> tuple[RowSource, str]:
    """The rows with a column that joins some others, and its name."""
    unknown = [name for name in key if name not in rows.names]
    if unknown:
        listed = list_names(rows.names)
        raise ConfigError(f"{rows.source} has no column {unknown[0]!r} to take for the item. Its columns are {listed}.")
    name = ",".join(key)
    return join_columns(rows, [rows.names.index(part) for part in key], name), name


def _join_subject(rows: RowSource, layout: Layout, choice: Choice) -> tuple[RowSource, Layout]:
    """Where judges look at the answers of several models, an item is a question and a model."""
    roles = layout.roles
    if choice.needed != VOTE_ROLES or "item" in choice.named or not rows.named or not rows.again or layout.wide:
        return rows, layout
    subject = ("model", "modelname", "system", "candidate", "provider")
    taken = [p for role, p in roles.items() if role != "slice"]
    free = [p for p in range(len(rows.names)) if p not in taken and bare_word(rows.names[p]) in subject]
    if len(free) != 1 or "worker" not in roles:
        return rows, layout
    seen: dict[tuple[Any, Any], Any] = {}
    columns = next(iter(rows.stream([roles["item"], roles["worker"], free[0]])), None)
    for item, worker, model in zip(*map(cell_values, columns), strict=True) if columns is not None else ():
        if seen.setdefault((item, worker), model) != model:
            key = (rows.names[roles["item"]], rows.names[free[0]])
            joined = {**roles, "item": len(rows.names)}
            note = Note(NoteKind.JOINED_ITEMS, {"columns": list(key)})
            return _join_key(rows, key)[0], replace(layout, roles=joined, notes=(*layout.notes, note), key=key)
    return rows, layout


def _workers_by_file(laid_out: list[tuple[RowSource, Layout]], how: ReadOptions) -> list[tuple[RowSource, Layout]]:
    """Name workers after files that hold one worker each.

    Such files have no column for the worker, or one that holds the same model everywhere.
    """
    if how.choice.needed != VOTE_ROLES or "worker" in how.choice.named or len(laid_out) == 1:
        return laid_out
    without = [rows.source for rows, layout in laid_out if not layout.wide and "worker" not in layout.roles]
    if 0 < len(without) < len(laid_out):
        raise DataError(f"{without[0]} has no column for the worker, and other files have. Say worker='NAME'.")
    if not without and not _same_model(laid_out):
        return laid_out
    names = _file_names([rows for rows, _ in laid_out])
    note = Note(NoteKind.FILE_WORKERS, {"workers": names})
    by_file = []
    for name, (rows, layout) in zip(names, laid_out, strict=True):
        roles = {**layout.roles, "worker": len(rows.names)}
        in_order = {role: roles[role] for role in ALIASES if role in roles}
        by_file.append(
            (add_constants(rows, {FILE: name}), replace(layout, roles=in_order, notes=(*layout.notes, note)))
        )
    return by_file


def _same_model(laid_out: Sequence[tuple[RowSource, Layout]]) -> bool:
    """Whether the worker is a column `model` with one value in all files: the model that was judged."""
    values: set[Any] = set()
    for rows, layout in laid_out:
        place = layout.roles.get("worker")
        if place is None or not rows.named or not rows.again or bare_word(rows.names[place]) != "model":
            return False
        columns = next(iter(rows.stream([place])), None)
        values |= set(cell_values(columns[0])) if columns is not None else set()
        if len(values) > 1:
            return False
    return True


def _one_label_per_row(rows: RowSource, layout: Layout, how: ReadOptions) -> tuple[RowSource, Layout]:
    """The rows with answers taken out of a tool's cells, and with several=True, one row per item, worker and label."""
    tool = table_tool(rows)
    if tool is not None and tool.answer is not None and "label" in layout.roles and rows.kind == "text":
        rows = unwrap_answers(rows, layout.roles["label"], tool)
    if how.several and how.choice.needed == VOTE_ROLES:
        if layout.wide:
            raise ConfigError("several=True is for a row per vote. Turn the wide table into that first.")
        rows, roles = split_labels(rows, layout.roles)
        layout = replace(layout, roles=roles, notes=(*layout.notes, Note(NoteKind.SEVERAL)))
    for role in ("item", "worker"):
        place = layout.roles.get(role)
        if place is not None and place in rows.rounded:
            raise DataError(
                f"{rows.source}, column {rows.names[place]!r}: {rows.rounded[place]:.0f} has more than 15 digits, and "
                f"spreadsheets keep only 15: different {role}s have become one. Export the ids as text, such as CSV."
            )
    return rows, layout


def _parts(rows: RowSource, layout: Layout, skipped: Counter[str]) -> Iterator[TableRows]:
    """Stream the votes without rows that repeat the header, as when files were concatenated."""
    if layout.wide:
        yield from wide_parts(rows, layout.roles, layout.workers, skipped)
        return
    roles, first = layout.roles, rows.first_row
    names = [rows.names[p] for p in roles.values()]
    for columns in rows.stream(list(roles.values())):
        n_rows, row_n = column_length(columns[0]), None
        if rows.named and rows.kind != "json" and len(headers := header_rows(columns, names)):
            row_n = np.delete(np.arange(n_rows), headers)
            columns = [take_rows(column, row_n) for column in columns]
            skipped["headers"] += len(headers)
        yield TableRows(
            source=rows.source,
            unit=rows.unit,
            first_row=first,
            n_rows=n_rows if row_n is None else len(row_n),
            columns=dict(zip(roles, columns, strict=True)),
            row_n=None if row_n is None else row_n + first,
        )
        first += n_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a table looks like; if it cannot be understood yet, `trouble` says why."""

    format: str
    names: tuple[str, ...]
    named: bool  # False: the file has no header, and columns are known by their positions
    rows: tuple[tuple[str, ...], ...]
    columns: dict[str, str]  # role -> column, as far as known
    workers: tuple[str, ...] = ()  # the columns of workers, in a wide table
    ignored: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    trouble: str = ""


def preview(source: Any, *, rows: int = 6, **reading: Unpack[Reading]) -> Preview:
    """The first rows of a source, and how its columns are understood; `reading` is as for `read`.

    >>> table = {"text": ["a", "b"], "annotator": ["w", "x"], "stars": [1, 0]}
    >>> looked = preview(table)
    >>> looked.names, looked.rows[0], "the item or the label" in looked.trouble
    (('text', 'annotator', 'stars'), ('a', 'w', '1'), True)
    >>> preview(table, item="text", label="stars").columns
    {'item': 'text', 'worker': 'annotator', 'label': 'stars'}
    """
    how = ReadOptions.of(reading)
    with named_faults(source), open_rows(source, how) as every:
        first = every[0]
        columns = next(iter(first.stream(range(len(first.names)))), ())
        cells = [[_shorten(value) for value in cell_values(column, first.kind, rows)] for column in columns]
        seen = Preview(
            format=first.format,
            names=first.names,
            named=first.named,
            rows=tuple(zip(*cells, strict=True)),
            columns={},
        )
    try:
        with open_table(source, how) as table:
            others = {*table.columns.values(), *table.key, *table.ignored}
            workers = tuple(name for name in seen.names if name not in others) if table.wide else ()
            return replace(
                seen,
                format=table.format,
                columns=dict(table.columns),
                workers=workers,
                ignored=table.ignored,
                notes=table.notes,
            )
    except MajorantError as error:
        return replace(seen, columns=_roles_by_name(seen.names, how.choice), trouble=str(error))


def _roles_by_name(names: Sequence[str], choice: Choice) -> dict[str, str]:
    """The roles that could be assigned."""
    roles: dict[str, str] = {}
    for role in () if choice.columns is not None else VOTE_ROLES:
        alone = {other: "" for other in ALIASES if other != role}
        named = {**alone, **({role: choice.named[role]} if role in choice.named else {})}
        with suppress(MajorantError):
            roles |= {role: names[p] for role, p in find_roles(names, Choice(named=named, needed=()), "").items()}
    return roles


def _shorten(value: Any, most: int = 160) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"
