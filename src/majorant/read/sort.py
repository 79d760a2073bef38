"""Sort the votes of a file by item, once, with DuckDB, into a folder of memory-mapped arrays.

Our own reader stages the table as Parquet.  DuckDB then lists the items and sorts the rows by the first appearance of
their item, within a memory limit.  The sorted rows go through the same rules as votes in memory, a few items at a time,
and are stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant import database
from majorant.database import connect, stream
from majorant.errors import ConfigError, DataError, use
from majorant.kernels import add_up
from majorant.limits import BASE, parse_memory, require, spell, thread_count
from majorant.read.build import (
    Coded,
    Codes,
    Ids,
    LabelCodes,
    Resolved,
    SortedVotes,
    abstained,
    empty_id,
    gold_codes,
    make_account,
    name_labels,
    no_votes,
    refuse_long,
    resolve_votes,
    slices_of_items,
    vote_mask,
    with_ratings,
)
from majorant.read.files import STANDARD_INPUT, expanded, files_of, is_address
from majorant.read.gold import gold_of_file, one_gold
from majorant.read.item_columns import item_text
from majorant.read.opening import open_table
from majorant.read.options import ReadOptions
from majorant.read.stage import (
    PartFacts,
    Report,
    Staged,
    count_labels,
    count_part,
    find_workers,
    is_empty_name,
    locate_labels,
    measure_coverage,
    silent,
    stage_table,
    view_rows,
    wide_table,
)
from majorant.read.table import decode
from majorant.store import ITEMS_FILE, StoredNames, StoreWriter, open_store, write_names
from majorant.version import __version__
from majorant.votes import IntArray, Scratch, Votes, no_room
from majorant.workfolder import WorkFolder, locked

Stamp = list[tuple[str, int, int]]  # path, size and modification time of each file


def prepare(
    source: str | os.PathLike[str] | Sequence[str], folder: str | os.PathLike[str],
    options: ReadOptions | None = None, *, memory: int, resume: bool = False, report: Report = silent,
) -> Votes:  # fmt: skip
    """Sort the votes of a file into a folder, which is a cache: it can be deleted.

    Parameters
    ----------
    source
        A file, a folder or pattern of files, or a list of these.
    folder
        A folder: new, empty, or filled by an earlier call.
    options
        How to read the table.
    memory
        Limit on memory, in bytes.
    resume
        Whether to reuse votes that were already sorted, if the files and options are unchanged.
    report
        Called with the current step, how much of it is done, and out of how much.

    Raises
    ------
    ConfigError
        If there is too little memory or disk space.
    DataError
        If the table cannot be read, or a stored file is damaged.
    """
    options = options or ReadOptions()
    if options.trust_column is not None:
        raise ConfigError(
            f"{use('trust_column')} weighs votes that are read into memory. Leave out {use('memory')}, or the column."
        )
    require(BASE, memory, "to read votes at all")
    files, stamp = _stamp(source, options)
    work = WorkFolder.open(folder, inputs=[path for path, *_ in stamp])
    fingerprint = _fingerprint(stamp, options)
    if resume and (found := open_store(work.path, memory=memory, fingerprint=fingerprint)) is not None:
        return with_ratings(replace(found, text=item_text(source, options, found.account)), options)
    work.clear()
    try:
        _build(source, work, fingerprint, memory, report, options)
        if _stamp(source, options)[1] != stamp:
            raise DataError(f"{_spell_files(files)} changed while it was read. Run again once the file is complete.")
    except OSError as error:
        work.clear()
        raise no_room(work.path, error.strerror or str(error)) from error
    except BaseException:
        work.clear()
        raise
    stored = open_store(work.path, memory=memory)
    assert stored is not None
    return with_ratings(replace(stored, text=item_text(source, options, stored.account)), options)


def read_sorted(source: Any, options: ReadOptions) -> Votes:
    """Sort the votes of files into a folder for `read`; without `work`, it is deleted with the votes.

    Votes that are in memory already stay there, but what is computed from them is bounded.
    """
    memory, rows_read = parse_memory(str(options.memory)), options.progress or (lambda _: None)
    if not all(
        isinstance(one, str | os.PathLike) for one in (source if isinstance(source, list | tuple) else [source])
    ):
        from majorant.read import read_with  # imported here because it imports this module

        votes = read_with(source, replace(options, memory=None))
        return replace(votes, scratch=temporary_scratch(memory))

    def report(step: str, done: int, total: int | None) -> None:  # noqa: ARG001
        rows_read(done)

    if options.work is not None:
        with locked(options.work):
            return prepare(source, options.work, options, memory=memory, resume=True, report=report)
    scratch = temporary_scratch(memory)
    assert scratch.folder is not None
    return replace(prepare(source, scratch.folder, options, memory=memory, report=report), scratch=scratch)


def temporary_scratch(memory: int | None) -> Scratch:
    """A new folder that is deleted with the votes that use it."""
    place = os.environ.get("TMPDIR") or ("/var/tmp" if os.access("/var/tmp", os.W_OK) else None)
    folder = Path(tempfile.mkdtemp(prefix="majorant-votes-", dir=place))
    scratch = Scratch(folder, memory)
    weakref.finalize(scratch, shutil.rmtree, folder, ignore_errors=True)
    return scratch


def _stamp(source: Any, options: ReadOptions) -> tuple[list[str], Stamp]:
    """The files of a source with their current size and time; standard input has none."""
    names: list[Any] = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if options.gold_file is not None:
        names.append(options.gold_file)
    given = [os.fspath(name) for name in names if isinstance(name, (str, os.PathLike))]
    paths = [path for name in given if not is_address(name) for path in files_of(name, expanded(name))]
    stats = [(path, path.stat()) for path in paths if path.exists()]
    stamp = [(str(path.resolve()), stat.st_size, stat.st_mtime_ns) for path, stat in stats]
    return [str(path) for path, _ in stats] or [STANDARD_INPUT], stamp


def _fingerprint(stamp: Stamp, options: ReadOptions) -> str:
    content = json.dumps(
        [__version__, stamp, repr(replace(options, threads=None, memory=None, work=None, trust=None, ratings=None))]
    )
    return hashlib.sha256(content.encode()).hexdigest()


def _spell_files(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} or one of {len(files) - 1} other files"


def _build(source: Any, work: WorkFolder, fingerprint: str, memory: int, report: Report, options: ReadOptions) -> None:
    if options.wide or options.workers:
        raise wide_table()
    with open_table(source, options) as table:
        options = one_gold(options, table)
        staged = stage_table(table, work.claim("rows.parquet"), options, report)
    with _sorter(staged, work, memory, options.threads) as connection:
        items = _find_items(connection, staged, work)
        workers, worker_of = find_workers(connection, staged.coded)
        _refuse_other_types("workers", workers)
        uses = count_labels(connection, staged.coded, options)
        if not uses.any():
            raise no_votes(staged.coded)
        gold = gold_of_file(options, items)
        labels = decode(staged.coded.known["label"], staged.coded.table.kind)
        named = name_labels(locate_labels(connection, staged.coded), labels, uses, gold, options, len(items))
        _refuse_other_types("labels", named.labels)
        has_abstentions = int(uses.sum()) < staged.coded.n_rows
        resolver = _Resolver(staged.coded, named, options, items, workers, worker_of, has_abstentions)
        writer = StoreWriter(work)
        facts: PartFacts | None = None
        in_order = staged.n_runs == len(items)
        for rows in _whole_items(_staged_rows(staged) if in_order else _sorted_rows(connection, staged)):
            start, votes, arrays = resolver.resolve(rows)
            writer.add(start, arrays)
            part = resolver.count(start, votes, arrays.get("gold_i"), len(arrays["votes_i"]))
            facts = part if facts is None else add_up([facts, part])
            report("sorting", int(facts.votes_l.sum()), int(uses.sum()))
    staged.path.unlink()
    resolved = Resolved(None, resolver.merged, resolver.dropped)
    assert facts is not None
    listed = list(items) if len(items) <= 200_000 else ()  # comparing more names takes long
    coverage = measure_coverage(facts, named, workers, listed)
    account = make_account(staged.coded, coverage, named, resolved, options.repeats, gold)
    _refuse_other_types("values", resolver.slices)
    about = {
        "fingerprint": fingerprint,
        "workers": workers,
        "labels": named.labels,
        "slices": resolver.slices,
        "ordered": options.scale.order is not None,
    }
    writer.close(len(items), about, account)


@contextmanager
def _sorter(staged: Staged, work: WorkFolder, memory: int, threads: int | None) -> Iterator[Any]:
    """A DuckDB connection with the staged rows as a view, a memory limit, and the working folder to spill to."""
    import duckdb

    settings: dict[str, Any] = {
        "memory_limit": f"{max(memory // 2, memory - BASE)}B",
        "temp_directory": str(work.claim("spill/")),
        "preserve_insertion_order": "false",
    }
    try:
        # Every thread needs its own buffers, so little memory means few threads.
        with connect(max(1, min(thread_count(threads), memory // 500_000_000)), **settings) as connection:
            view_rows(connection, staged)
            yield connection
    except duckdb.OutOfMemoryException as error:
        if "max_temp_directory_size" in str(error) or "No space left" in str(error):
            raise no_room(work.path, str(error).splitlines()[0]) from None
        raise ConfigError(
            f"{use('memory', spell(memory))} is too little to sort these votes. Allow more, or work on "
            "a part of the items."
        ) from None
    except duckdb.IOException as error:
        raise no_room(work.path, str(error).splitlines()[0]) from None


def _find_items(connection: Any, staged: Staged, work: WorkFolder) -> StoredNames:
    """Make a table of items with the first row of each, and write their names in that order."""
    connection.execute("CREATE TABLE items AS SELECT item AS name, min(row) AS first FROM rows GROUP BY item")
    source, column = staged.coded.table.source, staged.coded.table.columns["item"]

    def names() -> Iterator[Any]:
        for batch in stream(connection, "SELECT name, first FROM items ORDER BY first"):
            name, first = batch.columns
            refuse_long(name, source, column)
            if (empty := is_empty_name(name)).any():
                raise empty_id(staged.coded.where(first[int(np.argmax(empty))].as_py()), column, "item")
            yield name

    path = work.claim(ITEMS_FILE)
    return StoredNames(path, 0, write_names(path, names()))


Rows = dict[str, NDArray[Any]]  # by column; `item` is an ascending item number, `row` the row of the table


def _sorted_rows(connection: Any, staged: Staged) -> Iterator[Rows]:
    """All rows sorted by item; rows of one item keep the order of the table."""
    others = [f"rows.{role}" for role in staged.coded.table.columns if role != "item"]
    sql = f"""
        SELECT items.first AS item, {", ".join(others)}, row FROM rows JOIN items ON rows.item = items.name
        ORDER BY items.first, row
    """
    return map(_as_arrays, stream(connection, sql))


def _staged_rows(staged: Staged) -> Iterator[Rows]:
    """All rows in their order, for a table that already keeps the rows of each item together."""
    import pyarrow.parquet as pq

    n_rows, others = 0, [role for role in staged.coded.table.columns if role != "item"]
    with pq.ParquetFile(staged.path) as file:
        for batch in file.iter_batches(database.BATCH_ROWS, columns=["run", *others]):
            arrays = _as_arrays(batch)
            yield {"item": arrays.pop("run"), **arrays, "row": np.arange(n_rows, n_rows + len(batch))}
            n_rows += len(batch)


def _as_arrays(batch: Any) -> Rows:
    return {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}


def _whole_items(batches: Iterator[Rows]) -> Iterator[Rows]:
    """The rows of sorted batches, cut at item boundaries."""
    rest: Rows = {}
    for arrays in batches:
        rows = {name: np.concatenate([rest[name], array]) for name, array in arrays.items()} if rest else arrays
        cut = int(np.searchsorted(rows["item"], rows["item"][-1]))
        if cut:
            yield {name: array[:cut] for name, array in rows.items()}
        rest = {name: array[cut:] for name, array in rows.items()}
    if rest:
        yield rest


class _Resolver:
    """Applies the reading rules to a few items at a time."""

    def __init__(
        self, coded: Coded, named: LabelCodes, options: ReadOptions, items: StoredNames, workers: Sequence[Any],
        worker_of: Codes, has_abstentions: bool,
    ) -> None:  # fmt: skip
        self.coded, self.named, self.options, self.items, self.workers = coded, named, options, items, workers
        self.worker_of, self.has_abstentions = worker_of, has_abstentions
        self.labels = decode(coded.known["label"], coded.table.kind)
        self.n_items = self.merged = self.dropped = 0
        self.slices: tuple[Any, ...] = ()

    def resolve(self, rows: Mapping[str, NDArray[Any]]) -> tuple[int, SortedVotes, dict[str, NDArray[Any]]]:
        """The code of the first item, the votes on these items, and arrays with one entry per item."""
        item_n = np.cumsum(np.diff(rows["item"], prepend=rows["item"][0]) > 0, dtype=np.int32)
        start, stop = self.n_items, self.n_items + int(item_n[-1]) + 1
        self.n_items = stop
        worker_n = self.worker_of[rows["worker"]]
        coded = replace(
            self.coded,
            n_rows=len(item_n),
            codes={**{role: rows[role] for role in self.coded.known}, "item": item_n, "worker": worker_n},
            seconds_n=rows.get("seconds"),
            row_n=rows["row"],
        )
        nothing = np.empty(0, dtype=np.int32)
        items = Ids(code_n=item_n, declared_n=nothing, values=self.items[start:stop])
        workers = Ids(code_n=worker_n, declared_n=nothing, values=self.workers)
        vote_n = vote_mask(coded, self.labels, self.options.no_vote)
        votes, resolved = resolve_votes(coded, items, workers, self.named, vote_n, self.options.repeats)
        self.merged += resolved.merged
        self.dropped += resolved.dropped
        votes_i = np.bincount(votes.item_n, minlength=stop - start)
        arrays: dict[str, Any] = {"votes_i": votes_i, "worker_n": votes.worker_n, "label_n": votes.label_n}
        if votes.seconds_n is not None:
            arrays["seconds_n"] = votes.seconds_n
        if self.has_abstentions:
            none_i = np.zeros(stop - start, dtype=np.int32)
            arrays["abstained_i"] = none_i if vote_n is None else abstained(items, workers, vote_n)
        if self.named.gold_map is not None:
            arrays["gold_i"] = gold_codes(coded, items, self.named)
        elif self.named.gold_i is not None:
            arrays["gold_i"] = self.named.gold_i[start:stop]
        slice_i, self.slices = slices_of_items(coded, items)
        if slice_i is not None:
            arrays["slice_i"] = slice_i
        return start, votes, arrays

    def count(self, start: int, votes: SortedVotes, gold_i: IntArray | None, n_items: int) -> PartFacts:
        """Count what the account reports about these votes."""
        size = n_items, len(self.workers), len(self.named.labels)
        return count_part(
            votes.item_n, votes.worker_n, votes.label_n, gold_i, size, lambda code_p: self.items.take(start + code_p)
        )


def _refuse_other_types(what: str, values: Sequence[Any]) -> None:
    if any(not isinstance(value, str | int | float | bool) for value in values):
        raise DataError(f"With {use('memory')}, {what} must be text, numbers or booleans, not {list(values)!r:.200}.")
