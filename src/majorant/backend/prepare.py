"""From a file to stored votes: read once, sorted once, whole or not at all, used again where nothing has changed.

Each bucket of rows is resolved in memory by the rules of all reading, and becomes row groups of whole items.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from majorant import __version__
from majorant.backend.spill import (
    LABEL_BITS,
    LABEL_MASK,
    WORKER_MASK,
    Records,
    Report,
    Spilled,
    any_repeat,
    grouped,
    items_of,
    silent,
    spill,
    unpack_keys,
)
from majorant.backend.store import (
    PER_GROUP,
    StoredNames,
    StoredVotes,
    no_room,
    open_store,
    write_manifest,
    write_values,
)
from majorant.backend.workfolder import WorkFolder
from majorant.errors import ConfigError, DataError
from majorant.read.build import (
    LISTED,
    Coverage,
    Resolved,
    SortedVotes,
    abstained,
    gold_codes,
    make_account,
    no_votes,
    resolve_votes,
)
from majorant.read.encode import Coded, Codes
from majorant.read.files import STANDARD_INPUT, expanded, files_of, is_address
from majorant.read.gold import gold_of_file, one_gold
from majorant.read.item_columns import item_text
from majorant.read.names import Ids, LabelCodes, name_labels, slices_of_items, vote_mask
from majorant.read.opening import open_table
from majorant.read.options import ReadOptions
from majorant.read.values import decode
from majorant.resources import BASE, in_order, require, thread_count

Stamp = list[tuple[str, int, int]]  # path, size and time of change of each file
UNDECLARED = np.empty(0, dtype=np.int32)  # tables that are stored declare no ids
BYTES_PER_ROW = 120  # of a bucket while it is resolved
MOST_ROWS = 1 << 24  # of a row group


def prepare(
    source: str | os.PathLike[str] | Sequence[str], folder: str | os.PathLike[str],
    options: ReadOptions | None = None, *, memory: int, resume: bool = False, report: Report = silent,
) -> StoredVotes:  # fmt: skip
    """The votes of a file, sorted into `folder`.

    With `resume`, votes that an earlier run has sorted from the same, unchanged files are used again.
    """
    options = options or ReadOptions()
    require(BASE, memory, "to read votes at all")
    files, stamp = _stamp(source, options)
    work = WorkFolder.open(folder, inputs=[path for path, *_ in stamp])
    place = work.path
    fingerprint = _fingerprint(stamp, options)
    if resume and (found := open_store(place)) is not None:
        if found.fingerprint == fingerprint:
            return replace(found, text=item_text(source, options, found.account))
        raise ConfigError(
            f"{_and(files)} or the options changed since {place} was made: leave out resume=True to start anew."
        )
    work.clear()
    try:
        build = partial(_build, source, work, fingerprint, memory, report, options)
        try:
            build(rows=not all(Path(file).is_file() for file in files))  # what can be read once only has no second try
        except RowsWanted:  # some row is bad, and which ones they are is worth a second look
            work.clear()
            build(rows=True)
        if _stamp(source, options)[1] != stamp:
            raise DataError(f"{_and(files)} changed while it was read. Run again when nothing writes to it any more.")
    except OSError as error:
        work.clear()
        raise no_room(place, error) from error
    except BaseException:
        work.clear()
        raise
    stored = open_store(place)
    assert stored is not None
    return replace(stored, text=item_text(source, options, stored.account))


def _build(
    source: Any, work: WorkFolder, fingerprint: str, memory: int, report: Report, options: ReadOptions, *, rows: bool
) -> None:
    if options.wide or options.workers:
        raise _wide()
    with open_table(source, options) as table:
        if table.wide:
            raise _wide()
        options = one_gold(options, table)
        spilled = spill(table, work, options, memory=memory, rows=rows, report=report)
    if not spilled.uses.any():
        raise no_votes(spilled.coded)
    items = StoredNames(work.path / "items.parquet", spilled.n_ids["item"], spilled.coded.table.kind)
    gold = gold_of_file(options, items)
    labels = decode(spilled.coded.known["label"], spilled.coded.table.kind)
    named = name_labels(spilled.coded, labels, spilled.uses, gold, options, spilled.n_ids["item"])
    stored = sort_votes(spilled, named, work, options, memory=memory, report=report)
    assert stored.coverage is not None
    resolved = Resolved(None, stored.merged, stored.dropped)
    account = make_account(spilled.coded, stored.coverage, named, resolved, options.repeats, gold)
    write_manifest(work, _facts(spilled, named, stored, fingerprint, work), account)


def _wide() -> ConfigError:
    return ConfigError("a wide table is read in memory. Leave out memory=, or write a row per vote first.")


def _facts(spilled: Spilled, named: LabelCodes, stored: Sorted, fingerprint: str, work: WorkFolder) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint,
        "shape": [spilled.n_ids["item"], spilled.n_ids["worker"], len(named.labels)],
        "kind": spilled.coded.table.kind,
        "label_kind": write_values(work.claim("labels.parquet"), named.labels),
        "slice_kind": write_values(work.claim("slices.parquet"), list(stored.slices)),
        "n_slices": len(stored.slices),
        "item_g": stored.item_g,
        "vote_g": stored.vote_g,
        "arrays": sorted(stored.arrays),
        "has_seconds": "seconds" in (spilled.dtype.names or ()),
    }


def _stamp(source: Any, options: ReadOptions) -> tuple[list[str], Stamp]:
    """The files of a source as they are now; standard input has none."""
    names: list[Any] = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if options.gold_file is not None:
        names.append(options.gold_file)
    paths = [path for name in _file_names(names) if not is_address(name) for path in files_of(name, expanded(name))]
    stats = [(path, path.stat()) for path in paths if path.exists()]
    stamp = [(str(path.resolve()), stat.st_size, stat.st_mtime_ns) for path, stat in stats]
    return [str(path) for path, _ in stats] or [STANDARD_INPUT], stamp


def _file_names(names: Sequence[Any]) -> list[str]:
    return [os.fspath(name) for name in names if isinstance(name, (str, os.PathLike))]


def _fingerprint(stamp: Stamp, options: ReadOptions) -> str:
    content = json.dumps([__version__, stamp, repr(replace(options, threads=None))])
    return hashlib.sha256(content.encode()).hexdigest()


def _and(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} or one of {len(files) - 1} other files"


class RowsWanted(Exception):
    """A message is to name rows, and these were not kept: read the table again, with them."""


@dataclass(frozen=True, slots=True)
class ResolvedItems:
    """The votes of the items from start to stop, and one array a file for what is known of these items."""

    start: int
    stop: int
    ballots: SortedVotes
    resolved: Resolved
    arrays: dict[str, NDArray[np.int32]]
    abstaining: bool
    slices: tuple[Any, ...]


class Resolver:
    """What does not change from bucket to bucket; buckets may be resolved by several threads at once."""

    def __init__(self, spilled: Spilled, named: LabelCodes, options: ReadOptions) -> None:
        self.spilled, self.named, self.options = spilled, named, options
        kind = spilled.coded.table.kind
        self.items = StoredNames(spilled.folder / "items.parquet", spilled.n_ids["item"], kind)
        self.workers = list(StoredNames(spilled.folder / "workers.parquet", spilled.n_ids["worker"], kind))
        self.label_values = decode(spilled.coded.known["label"], kind)
        self.label_of = np.roll(named.label_map, 1)  # by raw code plus one, as a key holds it
        self.all_votes = bool(spilled.uses.all())  # no raw label means that there is no vote

    def resolve(self, start: int, stop: int, records: Records, first: int) -> ResolvedItems:
        """The records of the items from start to stop, whose bucket begins with item `first`."""
        plain = self._plain(records, start - first, stop - first)
        if plain is None:
            return self._by_the_rules(records, start, stop, first)
        ballots, votes_i = plain
        arrays = {"votes": votes_i, "abstained": np.zeros(stop - start, dtype=np.int32)}
        if self.named.gold_i is not None:
            arrays["gold"] = self.named.gold_i[start:stop]
        return ResolvedItems(start, stop, ballots, Resolved(), arrays, False, ())

    def _plain(self, records: Records, start: int, stop: int) -> tuple[SortedVotes, Codes] | None:
        """The usual case in few passes: every row is a vote and nothing else, and nobody votes on an item twice."""
        if records.dtype.names != ("key",) or not self.all_votes:
            return None
        item_n = items_of(records["key"]) - np.int32(start)
        ordered, begin_i = grouped(records, item_n, stop - start)
        votes_i = np.diff(begin_i).astype(np.int32)
        pair_n = ordered["key"] >> LABEL_BITS
        if self.options.repeats != "each" and any_repeat(pair_n, int(votes_i.max(initial=0))):
            return None
        raw_n = ordered["key"] & LABEL_MASK
        if raw_n.min(initial=1) < 1:
            return None
        return SortedVotes(
            item_n=np.repeat(np.arange(stop - start, dtype=np.int32), votes_i),
            worker_n=(pair_n & WORKER_MASK).astype(np.int32),
            label_n=self.label_of.take(raw_n),
            seconds_n=None,
            row_n=None,
        ), votes_i

    def _by_the_rules(self, records: Records, start: int, stop: int, first: int) -> ResolvedItems:
        coded = self._coded(records)
        item_n = coded.codes["item"] - np.int32(start - first)
        items = Ids(code_n=item_n, declared_n=UNDECLARED, values=_Some(self.items, start, stop))
        workers = Ids(code_n=coded.codes["worker"], declared_n=UNDECLARED, values=self.workers)
        vote_n = vote_mask(coded, self.label_values, self.options.no_vote)
        ballots, resolved = resolve_votes(coded, items, workers, self.named, vote_n, self.options.repeats)
        votes_i = np.bincount(ballots.item_n, minlength=stop - start)
        arrays: dict[str, Any] = {"votes": votes_i, "abstained": np.zeros(stop - start, dtype=np.int32)}
        if vote_n is not None:
            arrays["abstained"] = abstained(items, workers, vote_n)
        if self.named.gold_map is not None:
            arrays["gold"] = gold_codes(coded, items, self.named)
        elif self.named.gold_i is not None:
            arrays["gold"] = self.named.gold_i[start:stop]
        slice_i, slices = slices_of_items(coded, items)
        if slice_i is not None:
            arrays["slice"] = slice_i
        return ResolvedItems(start, stop, ballots, resolved, arrays, vote_n is not None, slices)

    def _coded(self, records: Records) -> Coded:
        names = records.dtype.names or ()
        codes = dict(zip(("item", "worker", "label"), unpack_keys(records["key"]), strict=True))
        codes |= {role: np.ascontiguousarray(records[role]) for role in self.spilled.coded.codes if role in names}
        return replace(
            self.spilled.coded,
            n_rows=len(records),
            codes=codes,
            seconds_n=np.ascontiguousarray(records["seconds"]) if "seconds" in names else None,
            row_n=records["row"] if "row" in names else cast("NDArray[np.int64]", _NoRows()),
        )


class _Some(Sequence[Any]):
    """The names of some items: how many they are is known, what they are is read only for a message."""

    def __init__(self, names: StoredNames, start: int, stop: int) -> None:
        self.names, self.start, self.stop = names, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index: Any) -> Any:
        return self.names[self.start + int(index)]


class _NoRows:
    """In place of the numbers of rows, which a message would need."""

    def __getitem__(self, index: int) -> int:
        raise RowsWanted


@dataclass(slots=True)
class Sorted:
    """What the sorted file turned out to hold."""

    item_g: list[int] = field(default_factory=lambda: [0])  # where each row group starts among the items, and the end
    vote_g: list[int] = field(default_factory=lambda: [0])  # ... among the votes
    merged: int = 0
    dropped: int = 0
    slices: tuple[Any, ...] = ()
    arrays: set[str] = field(default_factory=set)
    coverage: Coverage | None = None


class _BucketPiece(NamedTuple):
    """Some items of a bucket whose rows fit into memory together."""

    bucket: int
    start: int
    stop: int
    whole: bool  # all of the bucket
    last: bool


def sort_votes(
    spilled: Spilled, named: LabelCodes, work: WorkFolder, options: ReadOptions, *, memory: int, report: Report = silent
) -> Sorted:
    """Write votes.parquet, a row group for some whole items each, and one file for each number that items have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_threads = thread_count(options.threads)
    limit = min(memory // 2 // (n_threads + 1) // BYTES_PER_ROW, MOST_ROWS)
    resolver, stored, coverage = Resolver(spilled, named, options), Sorted(), _CoverageCounter(spilled, named)
    columns = {"item": pa.int32(), "worker": pa.int32(), "label": pa.int32()}
    packed = dict.fromkeys(columns, "DELTA_BINARY_PACKED")  # smaller and faster than a dictionary, or than no packing
    if "seconds" in (spilled.dtype.names or ()):
        columns["seconds"] = pa.float64()

    def resolved(piece: _BucketPiece) -> ResolvedItems:
        return resolver.resolve(piece.start, piece.stop, _rows(spilled, piece), piece.bucket * PER_GROUP)

    pieces = list(_pieces(spilled, limit))
    with pq.ParquetWriter(
        work.claim("votes.parquet"), pa.schema(columns), compression="none", use_dictionary=False,
        column_encoding=packed, write_page_checksum=True, write_statistics=False,
    ) as file:  # fmt: skip
        for piece, part in zip(pieces, in_order(resolved, pieces, n_threads), strict=True):
            _write(file, work, part, stored)
            coverage.add(part)
            report("sorting", stored.vote_g[-1], int(spilled.uses.sum()))
            if piece.last:
                spilled.bucket(piece.bucket).unlink(missing_ok=True)
    stored.item_g[-1] = spilled.n_ids["item"]
    stored.coverage = coverage.found(resolver)
    return stored


class _CoverageCounter:
    """Which labels, items and workers the votes reach, counted as they pass by."""

    def __init__(self, spilled: Spilled, named: LabelCodes) -> None:
        self.named = named
        self.votes_l = np.zeros(len(named.labels), dtype=np.int64)
        self.heard_j = np.zeros(spilled.n_ids["worker"], dtype=bool)
        self.gold_k = np.zeros(len(named.labels), dtype=bool)
        self.bare: list[int] = []
        self.n_bare = 0

    def add(self, part: ResolvedItems) -> None:
        """Count some votes."""
        self.votes_l += np.bincount(part.ballots.label_n, minlength=len(self.votes_l))
        self.heard_j[part.ballots.worker_n] = True
        bare = np.flatnonzero(part.arrays["votes"] == 0)
        self.n_bare += len(bare)
        self.bare += [part.start + int(i) for i in bare[: LISTED - len(self.bare)]]
        if "gold" in part.arrays:
            self.gold_k[part.arrays["gold"][part.arrays["gold"] >= 0]] = True

    def found(self, resolver: Resolver) -> Coverage:
        """What the account needs."""
        silent_j = np.flatnonzero(~self.heard_j)
        has_gold = self.named.gold_map is not None or self.named.gold_i is not None
        return Coverage(
            labels=self.named.labels,
            votes_l=self.votes_l,
            bare=resolver.items.take(np.array(self.bare, dtype=np.int64)),
            n_bare=self.n_bare,
            silent=[resolver.workers[j] for j in silent_j[:LISTED]],
            n_silent=len(silent_j),
            gold_k=self.gold_k if has_gold else None,
        )


def _pieces(spilled: Spilled, limit: int) -> Iterator[_BucketPiece]:
    """The buckets, each in as many ranges of whole items as it takes for one to fit into memory."""
    for number in range(spilled.n_buckets):
        start = number * PER_GROUP
        stop = min(start + PER_GROUP, spilled.n_ids["item"])
        path = spilled.bucket(number)
        n_rows = path.stat().st_size // spilled.dtype.itemsize if path.exists() else 0
        if n_rows <= limit:
            yield _BucketPiece(number, start, stop, True, True)
            continue
        rows_i = sum(np.bincount(items_of(chunk["key"]), minlength=stop - start) for chunk in _chunks(spilled, number))
        end_i = np.concatenate([[0], np.cumsum(rows_i)])
        first = 0
        while first < stop - start:
            last = max(first + 1, int(np.searchsorted(end_i, end_i[first] + limit, side="right")) - 1)
            yield _BucketPiece(number, start + first, start + last, False, last == stop - start)
            first = last


def _rows(spilled: Spilled, piece: _BucketPiece) -> Records:
    """The rows of the items of a piece, in their order."""
    if piece.whole:
        path = spilled.bucket(piece.bucket)
        return np.fromfile(path, spilled.dtype) if path.exists() else np.empty(0, spilled.dtype)
    low, high = piece.start - piece.bucket * PER_GROUP, piece.stop - piece.bucket * PER_GROUP
    chunks = []
    for chunk in _chunks(spilled, piece.bucket):
        item_n = items_of(chunk["key"])
        chunks.append(chunk[(item_n >= low) & (item_n < high)])
    return np.concatenate(chunks)


def _chunks(spilled: Spilled, bucket: int) -> Iterator[Records]:
    step = spilled.dtype.itemsize * (1 << 18)
    with spilled.bucket(bucket).open("rb") as file:
        while content := file.read(step):
            yield np.frombuffer(content, spilled.dtype)


def _write(file: Any, work: WorkFolder, part: ResolvedItems, stored: Sorted) -> None:
    import pyarrow as pa

    ballots = part.ballots
    columns: list[NDArray[Any]] = [ballots.item_n + np.int32(part.start), ballots.worker_n, ballots.label_n]
    if ballots.seconds_n is not None:
        columns.append(ballots.seconds_n)
    n_votes = len(ballots.item_n)
    if n_votes:
        table = pa.Table.from_arrays([pa.array(array_n) for array_n in columns], schema=file.schema)
        file.write_table(table, row_group_size=n_votes)
    for name, value_i in part.arrays.items():
        with work.claim(f"{name}_i").open("ab") as out:
            out.write(value_i.astype(np.int32).tobytes())
    if n_votes:  # items without votes have no row group of their own: they belong to the one that follows
        stored.item_g.append(part.stop)
        stored.vote_g.append(stored.vote_g[-1] + n_votes)
    stored.merged += part.resolved.merged
    stored.dropped += part.resolved.dropped
    stored.slices = part.slices
    stored.arrays |= part.arrays.keys() - (set() if part.abstaining else {"abstained"})
