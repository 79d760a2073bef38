"""Votes on disk: codes sorted by item in a Parquet file, with names and counts in files beside it.

`StoreWriter` fills a folder.  The manifest is written last and holds a digest of every file and of itself, so
`open_store` notices an incomplete or damaged folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from majorant import __version__
from majorant.atomic import whole_file
from majorant.backend.workfolder import WorkFolder
from majorant.errors import DataError
from majorant.items import take_items
from majorant.ownership import digest_of
from majorant.read.build import SortedVotes, mask_account
from majorant.read.table import arrow_view, numpy_view
from majorant.votes import Account, IntArray, ItemTexts, Note, Votes

VOTES_FILE, ITEMS_FILE, STORE_MANIFEST = "votes.parquet", "items.parquet", "store.json"
NAMES_PER_GROUP = 1 << 16


class StoredNames(Sequence[Hashable]):
    """Names in a Parquet file, in the order of their codes, read one row group at a time."""

    def __init__(self, path: Path, n_names: int) -> None:
        self.path, self.n_names = path, n_names
        self.last: tuple[int, Any] = -1, None  # the row group read last

    def __len__(self) -> int:
        return self.n_names

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.take(np.arange(*index.indices(self.n_names)))
        return self.take(np.array([index % self.n_names]))[0]

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, self.n_names, NAMES_PER_GROUP):
            yield from self[start : start + NAMES_PER_GROUP]

    def take(self, code_p: IntArray) -> list[Hashable]:
        """The names for some codes, which must be in ascending order."""
        names_p: list[Hashable] = []
        group_p = np.asarray(code_p) // NAMES_PER_GROUP
        for group in np.unique(group_p):
            at_p = code_p[group_p == group] - group * NAMES_PER_GROUP
            names_p += self._group(int(group)).take(arrow_view(at_p)).to_pylist()
        return names_p

    def _group(self, group: int) -> Any:
        number, names = self.last
        if number != group:
            [column] = read_groups(self.path, [group], ["name"])
            names = column.combine_chunks()
            self.last = group, names
        return names


class NameSlice(Sequence[Hashable]):
    """A range of names, read lazily."""

    def __init__(self, names: Sequence[Hashable], start: int, stop: int) -> None:
        self.names, self.start, self.stop = names, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.names[self.start + int(index)]


def write_names(path: Path, parts: Iterator[Any]) -> int:
    """Write Arrow arrays of names to a Parquet file for `StoredNames`, and return how many there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, n_names, waiting = None, 0, pa.chunked_array([], pa.large_string())
    try:
        for part in parts:
            writer = writer or pq.ParquetWriter(
                path, pa.schema({"name": part.type}), compression="zstd", use_dictionary=False, write_page_checksum=True
            )
            n_names += len(part)
            waiting = pa.chunked_array([*waiting.chunks, part], part.type)
            full = len(waiting) // NAMES_PER_GROUP * NAMES_PER_GROUP
            if full:
                writer.write_table(pa.table({"name": waiting[:full]}), row_group_size=NAMES_PER_GROUP)
                waiting = waiting[full:]
        if writer is not None and len(waiting):
            writer.write_table(pa.table({"name": waiting}))
    finally:
        if writer is not None:
            writer.close()
    return n_names


def read_groups(path: Path, groups: Sequence[int], columns: Sequence[str]) -> list[Any]:
    """Columns of some row groups of a stored file, as Arrow arrays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read_row_groups(groups, columns=list(columns), use_threads=False)
    except (OSError, pa.ArrowException, ValueError, KeyError, IndexError) as error:
        raise damaged(path, f"row groups {list(groups)}: {error}") from None
    return [table.column(name) for name in columns]


def damaged(path: Path, reason: str) -> DataError:
    """The error for a stored file that was changed after it was written."""
    return DataError(
        f"{path} is damaged ({reason.splitlines()[0] if reason else 'unreadable'}). Remove {path.parent} and run again "
        "without resume=True."
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredVotes:
    """Votes in a folder, possibly more than fit in memory.

    Estimators that get an engine read only the shape, names, `votes_i` and `gold_i`, which are the same here as in
    `Votes`.  `items` are read lazily, and arrays with one entry per item are memory-mapped.
    """

    folder: Path
    account: Account
    items: Sequence[Hashable]
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    slices: tuple[Hashable, ...]
    ordered: bool
    item_g: NDArray[np.int64]  # the first item of each row group, then the number of items
    vote_g: NDArray[np.int64]  # the first vote of each row group, then the number of votes
    votes_i: NDArray[np.int32]
    gold_i: NDArray[np.int32] | None
    abstained_i: NDArray[np.int32] | None
    slice_i: NDArray[np.int32] | None
    has_seconds: bool
    fingerprint: str
    text: ItemTexts | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return len(self.items), len(self.workers), len(self.labels)

    @property
    def n_votes(self) -> int:
        """The number of votes."""
        return int(self.vote_g[-1])

    @property
    def n_groups(self) -> int:
        """The number of row groups."""
        return len(self.item_g) - 1

    def columns(self, first: int, last: int, *names: str) -> list[NDArray[Any]]:
        """Columns of the row groups from first to last."""
        path, groups = self.folder / VOTES_FILE, range(first, last)
        arrays = [_as_numpy(column) for column in read_groups(path, groups, names)]
        n_votes = self.vote_g[last] - self.vote_g[first]
        if any(len(array) != n_votes for array in arrays):
            raise damaged(path, f"{len(arrays[0])} votes in row groups {first} to {last - 1} instead of {n_votes}")
        return arrays

    def group(self, first: int, last: int) -> Votes:
        """Load the votes in some row groups into memory; item names are read lazily."""
        start, stop = int(self.item_g[first]), int(self.item_g[last])
        worker_n, label_n, *seconds_n = self.columns(
            first, last, "worker", "label", *(["seconds"] if self.has_seconds else [])
        )
        votes_i = np.asarray(self.votes_i[start:stop])
        return Votes(
            item_n=np.repeat(np.arange(stop - start, dtype=np.int32), votes_i),
            worker_n=worker_n,
            label_n=label_n,
            offsets_i=np.concatenate([[0], np.cumsum(votes_i, dtype=np.int64)]),
            items=cast("tuple[Hashable, ...]", NameSlice(self.items, start, stop)),
            workers=self.workers,
            labels=self.labels,
            account=self.account,
            gold_i=None if self.gold_i is None else self.gold_i[start:stop],
            abstained_i=None if self.abstained_i is None else self.abstained_i[start:stop],
            seconds_n=seconds_n[0] if seconds_n else None,
            slice_i=None if self.slice_i is None else self.slice_i[start:stop],
            slices=self.slices,
            ordered=self.ordered,
        )

    def take_items(self, code_p: IntArray) -> Votes:
        """Load the votes on the items with these codes (in ascending order) into memory."""
        code_p = np.asarray(code_p)
        group_p = np.searchsorted(self.item_g, code_p, side="right") - 1
        parts = []
        for group in np.unique(group_p):
            votes = replace(self, items=range(len(self.items))).group(int(group), int(group) + 1)
            parts.append(take_items(votes, code_p[group_p == group] - self.item_g[group]))
        names = self.items.take(code_p) if isinstance(self.items, StoredNames) else [self.items[c] for c in code_p]
        return _concatenate(parts, names, self)


def _concatenate(parts: list[Votes], items: list[Hashable], stored: StoredVotes) -> Votes:
    def joined(name: str, dtype: Any = np.int32) -> Any:
        return np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in parts)])

    start_p = np.cumsum([0, *(len(part.items) for part in parts)])
    item_n = [part.item_n + np.int32(start) for part, start in zip(parts, start_p, strict=False)]
    votes = Votes.from_codes(
        np.concatenate([np.empty(0, np.int32), *item_n]),
        joined("worker_n"),
        joined("label_n"),
        items=items,
        workers=stored.workers,
        labels=stored.labels,
        account=stored.account,
        gold=joined("gold_i") if stored.gold_i is not None else None,
        abstained=joined("abstained_i") if stored.abstained_i is not None else None,
        seconds=joined("seconds_n", np.float64) if stored.has_seconds else None,
    )
    return replace(
        votes, slice_i=joined("slice_i") if stored.slice_i is not None else None, slices=stored.slices,
        text=stored.text, ordered=stored.ordered,
    )  # fmt: skip


def _as_numpy(column: Any) -> NDArray[Any]:
    dtype = np.float64 if str(column.type) == "double" else np.int32
    parts = [numpy_view(chunk, dtype) for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


@dataclass(slots=True)
class StoreWriter:
    """Writes votes sorted by item, in row groups of whole items."""

    work: WorkFolder
    has_seconds: bool
    item_g: list[int] = field(default_factory=lambda: [0])
    vote_g: list[int] = field(default_factory=lambda: [0])
    arrays: set[str] = field(default_factory=set)
    file: Any = None

    def add(self, start: int, votes: SortedVotes, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Append the votes on the items from code `start` on, and arrays with an entry per item."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, NDArray[Any]] = {"worker": votes.worker_n, "label": votes.label_n}
        packed = dict.fromkeys(columns, "DELTA_BINARY_PACKED")  # smaller and faster than dictionary or plain encoding
        if self.has_seconds and votes.seconds_n is not None:
            columns["seconds"] = votes.seconds_n
        table = pa.table({name: pa.array(array_n) for name, array_n in columns.items()})
        self.file = self.file or pq.ParquetWriter(
            self.work.claim(VOTES_FILE), table.schema, compression="none", use_dictionary=False, column_encoding=packed,
            write_statistics=False, write_page_checksum=True,
        )  # fmt: skip
        for name, value_i in arrays.items():
            with self.work.claim(f"{name}_i").open("ab") as out:
                out.write(value_i.astype(np.int32).tobytes())
        self.arrays |= arrays.keys()
        if len(table):
            self.file.write_table(table, row_group_size=len(table))
            self.item_g.append(start + len(arrays["votes"]))
            self.vote_g.append(self.vote_g[-1] + len(table))
        else:  # a row group cannot be empty, so these items are added to the previous one
            self.item_g[-1] = start + len(arrays["votes"]) if len(self.item_g) > 1 else 0

    def close(self, n_items: int, facts: Mapping[str, Any], account: Account) -> None:
        """Write the manifest, which completes the folder."""
        self.file.close()
        self.item_g[-1] = n_items
        kept = {entry.name: getattr(account, entry.name) for entry in fields(account)}
        kept |= {"columns": dict(account.columns), "notes": [asdict(note) for note in account.notes]}
        names = [VOTES_FILE, ITEMS_FILE, *(f"{name}_i" for name in sorted(self.arrays))]
        content = json.dumps(
            {
                "version": __version__,
                **facts,
                "n_items": n_items,
                "item_g": self.item_g,
                "vote_g": self.vote_g,
                "arrays": sorted(self.arrays),
                "has_seconds": self.has_seconds,
                "account": kept,
                "files": {name: digest_of(self.work.path / name) for name in names},
            }
        )
        with whole_file(self.work.claim(STORE_MANIFEST), guard=False) as part:
            seal = hashlib.sha256(content.encode()).hexdigest()
            part.write_text(f"{seal}\n{content}\n", encoding="utf-8")


def open_store(folder: Path, *, verify: bool = True) -> StoredVotes | None:
    """Open the votes in a folder; None if it is incomplete or was written by another version.

    Parameters
    ----------
    folder
        A folder that `prepare` has filled.
    verify
        Whether to compare every file with its digest.

    Raises
    ------
    DataError
        If a file is missing or was changed.
    """
    path = folder / STORE_MANIFEST
    try:
        seal, _, content = path.read_text(encoding="utf-8").rstrip("\n").partition("\n")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from None
    if hashlib.sha256(content.encode()).hexdigest() != seal:
        raise damaged(path, "its digest does not match")
    facts = json.loads(content)
    if facts["version"] != __version__:
        return None
    for name, digest in facts["files"].items() if verify else ():
        try:
            same = digest_of(folder / name) == digest
        except OSError as error:
            raise damaged(folder / name, error.strerror or str(error)) from None
        if not same:
            raise damaged(folder / name, "its digest does not match")
    n_items = facts["n_items"]
    arrays = {name: np.memmap(folder / f"{name}_i", np.int32, mode="r", shape=(n_items,)) for name in facts["arrays"]}
    account = facts["account"]
    account |= {"notes": tuple(Note(**note) for note in account["notes"]), "ignored": tuple(account["ignored"])}
    return StoredVotes(
        folder=folder,
        account=Account(**account),
        items=StoredNames(folder / ITEMS_FILE, n_items),
        workers=tuple(facts["workers"]),
        labels=tuple(facts["labels"]),
        slices=tuple(facts["slices"]),
        ordered=facts["ordered"],
        item_g=np.array(facts["item_g"], dtype=np.int64),
        vote_g=np.array(facts["vote_g"], dtype=np.int64),
        votes_i=arrays["votes"],
        gold_i=arrays.get("gold"),
        abstained_i=arrays.get("abstained"),
        slice_i=arrays.get("slice"),
        has_seconds=facts["has_seconds"],
        fingerprint=facts["fingerprint"],
    )


def mask_stored(stored: StoredVotes) -> StoredVotes:
    """The same votes, with items and workers numbered from 1 in order of appearance."""
    n_items, n_workers, _ = stored.shape
    items, workers = range(1, n_items + 1), tuple(range(1, n_workers + 1))
    return replace(stored, items=items, workers=workers, account=mask_account(stored.account), text=None)
