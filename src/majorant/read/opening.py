"""Open any source of votes (files, standard input, a frame, a dict, a list) as a Table with a role for each column."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from majorant.errors import ConfigError, DataError, use
from majorant.read.files import find_files, identify, partitions, stem_of
from majorant.read.formats import recognise_table
from majorant.read.formats.inspect_log import tell_logs_apart
from majorant.read.guess import layout_by_content, missing_header, wide_layout
from majorant.read.matrix import open_matrix
from majorant.read.options import (
    ALIASES,
    FILE,
    JUDGES,
    VOTE_ROLES,
    Choice,
    ReadOptions,
    bare_word,
    find_column,
    find_roles,
    has_vote_columns,
    means,
)
from majorant.read.pairs import lay_out_pairs
from majorant.read.reshape import add_constants, join_columns, lay_out_votes, split_labels, unwrap_answers, wide_parts
from majorant.read.table import (
    Column,
    Layout,
    RowSource,
    Table,
    TableRows,
    column_length,
    drop_headers,
    in_batches,
    named_faults,
    open_columns,
)
from majorant.votes import Note, NoteKind


@contextmanager
def open_table(source: Any, how: ReadOptions) -> Iterator[Table]:
    """Open the source as a Table; temporary files are removed when the context ends."""
    with named_faults(source):
        if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[1] != len(VOTE_ROLES):
            yield open_matrix(source, None, None)  # but not three columns, which may be item, worker and label
            return
        with open_rows(source, how) as every:
            yield _as_table(source, every, how)


@contextmanager
def open_rows(source: Any, how: ReadOptions) -> Iterator[list[RowSource]]:
    """Open the rows of each file or frame in the source, with all columns."""
    if not (_is_path(source) or (isinstance(source, (list, tuple)) and source and all(map(_is_path, source)))):
        for option in ("encoding", "delimiter", "format"):
            if getattr(how, option) is not None:
                raise ConfigError(f"{use(option)} is for files; these votes are in memory already.")
        yield [open_frame(source, how.choice)]
        return
    with ExitStack() as stack:
        named = find_files(source, stack, how)
        before = [_stamp(path) for _, path in named]
        every = []
        for file in tell_logs_apart([identify(name, path, how) for name, path in named]):
            if how.delimiter is not None and file.type.name != "csv":
                raise ConfigError(
                    f"{use('delimiter')} is for delimited text, and {file.name} is "
                    f"{file.type.description}. Leave it out."
                )
            module, function = file.type.reader.split(":")
            rows: RowSource = getattr(import_module(f"majorant.read.{module}"), function)(file, how, stack)
            every.append(add_constants(rows, partitions(rows.source)))
        if FILE in how.choice.named.values():
            every = [add_constants(rows, {FILE: name}) for rows, name in zip(every, _file_names(every), strict=True)]
        yield every
        for (name, path), earlier in zip(named, before, strict=True):
            if _stamp(path) != earlier:
                raise DataError(f"{name} changed while it was read. Run the command again once the file is complete.")


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """A fingerprint that changes when a file is modified; None if it is gone, which readers report."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def is_rereadable(source: Any) -> bool:
    """Whether a source can be read twice here, like a frame or a dict, but not standard input, a stream or Spark."""
    if isinstance(source, str):
        return source != "-"
    return not is_on_spark(source) and (hasattr(source, "__fspath__") or hasattr(source, "__getitem__"))


def is_on_spark(source: Any) -> bool:
    """Whether a source is a Spark frame."""
    return type(source).__module__.startswith("pyspark.sql")


def _file_names(every: Sequence[RowSource]) -> list[str]:
    """Name each file by its name without extensions, and by its folder too if names are not unique.

    >>> from types import SimpleNamespace as Rows
    >>> _file_names([Rows(source="a/run.csv"), Rows(source="b/run.csv")])
    ['a/run', 'b/run']
    """
    paths = [Path(rows.source) for rows in every]
    stems = [stem_of(path) for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [f"{path.parent.name}/{stem}" for path, stem in zip(paths, stems, strict=True)]


# Tables in memory


def open_frame(source: Any, choice: Choice) -> RowSource:
    """The rows of a table in memory, numbered from 0."""
    module = type(source).__module__.split(".")[0]
    if module == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if module == "pandas":
        source = _with_index(source, choice)
    if module in ("pandas", "polars"):
        return open_columns(f"{module} {type(source).__name__}", list(source.columns), source)
    if hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source, f"{module.lstrip('_')} {type(source).__name__}")
    if isinstance(source, Mapping):
        if source and all(isinstance(value, Mapping) for value in source.values()):
            if all(any(means(str(key), role) for key in source) for role in VOTE_ROLES):  # pandas: frame.to_dict()
                source = {key: list(cells.values()) for key, cells in source.items()}
            else:
                votes = [(item, worker, label) for item, given in source.items() for worker, label in given.items()]
                columns = zip(*votes, strict=True) if votes else ()
                source = dict(zip(VOTE_ROLES, map(list, columns), strict=bool(votes)))
                return open_columns("dict of items", list(source), source)
        return open_columns("dict of columns", list(source), source)
    if isinstance(source, np.ndarray) and source.dtype.names is not None:
        return open_columns("NumPy array", list(source.dtype.names), source)
    if isinstance(source, np.ndarray):
        raise ConfigError(
            f"an array of shape {source.shape} may be a matrix or a list of votes. majorant.from_matrix(array) reads "
            "items x workers; a list of (item, worker, label) is read as votes."
        )
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _open_records(list(source), choice)
    raise ConfigError(
        f"cannot read votes from {type(source).__name__}. Give a file name, a pandas, polars, pyarrow or DuckDB table, "
        "a dict of columns, or a list of (item, worker, label)."
    )


def label_type(source: Any, column: str) -> Any:
    """The type of the labels in a pandas or polars frame; None for common types."""
    module = type(source).__module__.split(".")[0]
    if module not in ("pandas", "polars") or not hasattr(type(source), "columns"):
        return None
    kind = (source.dtypes if module == "pandas" else source.collect_schema()).get(column)
    usual = ("object", "str", "int64", "float64", "bool", "Int64", "Float64", "Boolean", "String")
    return None if kind is None or str(kind) in usual else kind


def _with_index(frame: Any, choice: Choice) -> Any:
    """Turn index levels into columns if the caller named them, or if they have a role that no column has."""
    if not hasattr(frame, "columns"):  # a Series of labels, indexed by item and worker
        frame = frame.to_frame(name="label" if frame.name is None else frame.name)
    taken = list(map(str, frame.columns))
    missing = [role for role in VOTE_ROLES if role not in choice.named and not any(means(c, role) for c in taken)]
    wanted = {}
    for level, name in enumerate(frame.index.names):
        if name is not None and str(name) not in taken:
            if str(name) in choice.named.values() or any(means(str(name), role) for role in missing):
                wanted[level] = str(name)
        elif name is None and "item" in missing and frame.index.get_level_values(level).dtype.kind not in "iuf":
            wanted[level] = "item"
    frame = frame.copy(deep=False)
    for level, name in reversed(wanted.items()):
        frame.insert(0, name, frame.index.get_level_values(level))
    return frame


def _open_stream(source: Any, name: str) -> RowSource:
    import pyarrow as pa

    once = not isinstance(source, (pa.Table, pa.RecordBatch))  # other objects may allow only one pass
    reader = pa.RecordBatchReader.from_stream(source)

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        for batch in reader if once else pa.RecordBatchReader.from_stream(source):
            yield from in_batches([batch.column(p) for p in positions])

    names = tuple(reader.schema.names)
    return RowSource(source=name, names=names, kind="typed", format=name, stream=stream, first_row=0, again=not once)


def _open_records(records: list[Any], choice: Choice) -> RowSource:
    if records and all(isinstance(record, Mapping) for record in records):
        names = list(dict.fromkeys(key for record in records for key in record))
        return open_columns("list of dicts", names, {key: [record.get(key) for record in records] for key in names})
    roles = choice.columns or VOTE_ROLES
    for row, record in enumerate(records):
        if isinstance(record, (str, bytes)) or not isinstance(record, Sequence) or len(record) != len(roles):
            raise DataError(f"list of votes, row {row}: {record!r} is not ({', '.join(roles)}).")
    columns = {role: [record[p] for record in records] for p, role in enumerate(roles)}
    return replace(open_columns("list of votes", list(roles), columns), named=choice.columns is None)


# Roles of the columns


def _as_table(source: Any, every: Sequence[RowSource], how: ReadOptions) -> Table:
    """Combine all files into one table: find the layout of each, and convert it to one row per vote."""
    every = [rows if has_vote_columns(rows.names) else lay_out_pairs(lay_out_votes(rows, how), how) for rows in every]
    first = every[0]
    if other := next((rows for rows in every if rows.kind != first.kind), None):
        raise DataError(
            f"{first.source} is {first.format} and {other.source} is {other.format}. "
            "Files that are read together must be of one kind."
        )
    laid_out = _workers_by_file([find_layout(rows, how, n_files=len(every)) for rows in every], how)
    laid_out = [_one_label_per_row(rows, layout, how) for rows, layout in laid_out]
    columns: dict[str, str] = {}
    used: set[str] = set()
    formats, notes = [], []
    for rows, layout in laid_out:
        columns |= {role: rows.names[p] for role, p in layout.roles.items()}
        used |= {rows.names[p] for p in layout.positions} | set(layout.key)
        formats.append(rows.format if layout.tool is None else f"{layout.tool.name} ({rows.format})")
        notes += [note for note in (*rows.notes, *layout.notes) if note not in notes]  # without repeats
    judges = any(rows.judges or (layout.tool is not None and layout.tool.judges) for rows, layout in laid_out)
    judges = judges or bare_word(columns.get("worker", "")) in JUDGES
    wide = laid_out[0][1].wide
    if wide:
        columns |= {"worker": "the other columns' names", "label": "their cells"}
    skipped: Counter[str] = Counter()
    name = source if _is_path(source) else first.source
    return Table(
        source=first.source if len(every) == 1 else f"{name} ({len(every)} files)",
        kind=laid_out[0][0].kind,
        format="; ".join(dict.fromkeys(formats)) + ", wide" * wide,
        wide=wide,
        columns=columns,
        key=laid_out[0][1].key,
        ignored=tuple(dict.fromkeys(name for rows in every if rows.named for name in rows.names if name not in used)),
        parts=chain.from_iterable(_parts(rows, layout, skipped) for rows, layout in laid_out),
        notes=tuple(notes),
        judges=judges,
        skipped=skipped,
    )


def find_layout(rows: RowSource, how: ReadOptions, *, n_files: int = 1) -> tuple[RowSource, Layout]:
    """Find the layout of a table; also returns its rows, to which an item column may have been added."""
    choice, workers = how.choice, how.worker_columns
    if choice.columns is not None and rows.named:
        raise ConfigError(
            f"{rows.source} has column names ({', '.join(rows.names[:6])}); {use('columns')} is for tables without. "
            f"Name the columns with {use('item')}, {use('worker')} and {use('label')}."
        )
    tool = None if how.wide or not rows.named or has_vote_columns(rows.names) else recognise_table(rows.names)
    if tool is not None:
        choice = replace(choice, named={**tool.roles(rows.names), **choice.named})
        if tool.workers is not None and workers is None and choice.needed == VOTE_ROLES:
            workers = tuple(map(glob.escape, tool.workers(rows.names)))
    if how.gold_key and "item" not in choice.named and set(how.gold_key) <= set(rows.names):
        named = how.gold_key[0] if len(how.gold_key) == 1 else how.gold_key
        choice = replace(choice, named={**choice.named, "item": named})
    key = choice.key_columns(rows.names) if rows.named else None
    if key is not None:
        rows = _join_key(rows, key)
        choice = replace(choice, named={**choice.named, "item": rows.names[-1]})
    if how.wide or workers is not None:
        layout = wide_layout(rows, choice, workers)
    else:
        layout = _layout_of_votes(rows, choice, n_files)
        rows, layout = _join_subject(rows, layout, choice)
    own = key or layout.key or ((rows.names[layout.roles["item"]],) if rows.named else ())
    return rows, replace(layout, key=own, tool=tool)


def _layout_of_votes(rows: RowSource, choice: Choice, n_files: int) -> Layout:
    """Find the layout by column names or, if these give no clue, by content."""
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


def _join_key(rows: RowSource, key: Sequence[str]) -> RowSource:
    """Add a last column that joins some others."""
    return join_columns(rows, [find_column(rows.names, part, "item", rows.source) for part in key], ",".join(key))


def _join_subject(rows: RowSource, layout: Layout, choice: Choice) -> tuple[RowSource, Layout]:
    """If judges assess the answers of several models, make each question and model an item."""
    roles = layout.roles
    if choice.needed != VOTE_ROLES or "item" in choice.named or not rows.named or not rows.again or layout.wide:
        return rows, layout
    subject = ("model", "modelname", "system", "candidate", "provider")
    taken = [p for role, p in roles.items() if role != "slice"]
    free = [p for p in range(len(rows.names)) if p not in taken and bare_word(rows.names[p]) in subject]
    if len(free) != 1 or "worker" not in roles:
        return rows, layout
    seen: dict[tuple[Any, Any], Any] = {}
    for item, worker, model in zip(*rows.first_cells([roles["item"], roles["worker"], free[0]]), strict=True):
        if seen.setdefault((item, worker), model) != model:
            key = (rows.names[roles["item"]], rows.names[free[0]])
            note = Note(NoteKind.JOINED_ITEMS, {"columns": list(key)})
            joined = {**roles, "item": len(rows.names)}
            return _join_key(rows, key), replace(layout, roles=joined, notes=(*layout.notes, note), key=key)
    return rows, layout


def _workers_by_file(laid_out: list[tuple[RowSource, Layout]], how: ReadOptions) -> list[tuple[RowSource, Layout]]:
    """Name workers after their files, if each file holds one worker.

    Such files have no worker column, or one that always holds the same model, namely the one that was judged.
    """
    if how.choice.needed != VOTE_ROLES or "worker" in how.choice.named or len(laid_out) == 1:
        return laid_out
    without = [rows.source for rows, layout in laid_out if not layout.wide and "worker" not in layout.roles]
    if 0 < len(without) < len(laid_out):
        raise DataError(
            f"{without[0]} has no column for the worker, and other files have. Pass {use('worker', 'NAME')}."
        )
    if not without:
        models: set[Any] = set()
        for rows, layout in laid_out:
            place = layout.roles.get("worker")
            if place is None or not rows.named or not rows.again or bare_word(rows.names[place]) != "model":
                return laid_out
            models.update(rows.first_cells([place])[0])
            if len(models) > 1:
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


def _one_label_per_row(rows: RowSource, layout: Layout, how: ReadOptions) -> tuple[RowSource, Layout]:
    """Extract answers from a tool's cells and, with several=True, make one row per item, worker and label."""
    if layout.tool is not None and layout.tool.answer is not None and "label" in layout.roles and rows.kind == "text":
        rows = unwrap_answers(rows, layout.roles["label"], layout.tool.answer)
    if how.several and how.choice.needed == VOTE_ROLES:
        if layout.wide:
            raise ConfigError(
                f"{use('several', True)} is for tables with a row per vote. Reshape the wide table first."
            )
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
    """Stream the votes, skipping repeated headers from concatenated files."""
    if layout.wide:
        yield from wide_parts(rows, layout.roles, layout.workers, skipped)
        return
    first, positions = rows.first_row, list(layout.roles.values())
    for columns in rows.stream(positions):
        n_rows = column_length(columns[0])
        columns, row_n = drop_headers(rows, columns, positions)
        skipped["headers"] += n_rows - column_length(columns[0])
        yield TableRows(
            source=rows.source,
            unit=rows.unit,
            first_row=first,
            n_rows=column_length(columns[0]),
            columns=dict(zip(layout.roles, columns, strict=True)),
            row_n=None if row_n is None else row_n + first,
        )
        first += n_rows
