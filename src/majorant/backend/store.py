"""Votes in a folder: codes sorted by item in row groups of whole items, names and counts beside them.

Names of items and workers lie in a file each: written as they are learned, read some at a time.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from majorant.atomic import whole_file
from majorant.backend.workfolder import WorkFolder
from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.read.build import mask_account
from majorant.read.table import arrow_view, numpy_view
from majorant.read.values import decode, is_plain
from majorant.votes import Account, IntArray, ItemTexts, Note, Votes

PER_GROUP = 1 << 16


class NameWriter:
    """Writes names in the order of their codes, PER_GROUP to a row group, so that a code tells where its name lies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.waiting: list[Any] = []
        self.n_waiting = self.n_names = 0
        self.file: Any = None

    def add(self, names: Any) -> None:
        """The next names, an Arrow array; integers of any width are written as 64 bits.  All are of one type."""
        import pyarrow as pa

        if pa.types.is_integer(names.type) and names.type != pa.uint64():
            names = names.cast(pa.int64())
        if self.waiting and names.type != self.waiting[0].type:
            raise TypeError(f"{names.type} after {self.waiting[0].type}")
        self.waiting.append(names)
        self.n_waiting += len(names)
        self.n_names += len(names)
        if self.n_waiting >= PER_GROUP:
            self._write(self.n_waiting // PER_GROUP * PER_GROUP)

    def close(self) -> None:
        """Write what waits and end the file."""
        if self.n_waiting or self.file is None:
            self._write(self.n_waiting)
        self.file.close()

    def _write(self, n_names: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        every = pa.concat_arrays(self.waiting) if self.waiting else pa.nulls(0, pa.large_string())
        table = pa.table({"name": every.slice(0, n_names)})
        if self.file is None:
            whole = pa.types.is_integer(every.type)  # differences pack ids that rise, and cost little where they do not
            self.file = pq.ParquetWriter(
                self.path, table.schema, write_page_checksum=True, compression="zstd", use_dictionary=False,
                column_encoding={"name": "DELTA_BINARY_PACKED" if whole else "PLAIN"},
            )  # fmt: skip
        self.file.write_table(table, row_group_size=PER_GROUP)
        self.waiting, self.n_waiting = [every.slice(n_names)], self.n_waiting - n_names


class StoredNames(Sequence[Hashable]):
    """The names in a file, as the user's own values; a few row groups at a time are in memory."""

    def __init__(self, path: Path, n_names: int, kind: str) -> None:
        self.path, self.n_names, self.kind = path, n_names, kind

    def __len__(self) -> int:
        return self.n_names

    @overload
    def __getitem__(self, index: int) -> Hashable: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hashable]: ...
    def __getitem__(self, index: int | slice) -> Hashable | list[Hashable]:
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.n_names)
            return self.take(np.arange(start, stop))
        return self.take(np.array([index % self.n_names]))[0]

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, self.n_names, PER_GROUP):
            yield from self[start : start + PER_GROUP]

    def parts(self) -> Iterator[tuple[int, Any]]:
        """All names, a row group at a time with its first code: as Arrow holds them where these are the user's own."""
        for group, start in enumerate(range(0, self.n_names, PER_GROUP)):
            names = self._group(group)
            yield start, names if self.kind != "json" and is_plain(names) else decode(names, self.kind)

    def take(self, code_p: IntArray) -> list[Hashable]:
        """The names of some codes, which must rise."""
        names_p: list[Hashable] = []
        group_p = np.asarray(code_p) // PER_GROUP
        for group in np.unique(group_p):
            names = self._group(int(group))
            names_p += decode(names.take(arrow_view(code_p[group_p == group] - group * PER_GROUP)), self.kind)
        return names_p

    def _group(self, group: int) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                column = file.read_row_group(group).column("name")
                return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        except (OSError, pa.ArrowException, IndexError) as error:
            raise damaged(self.path, error) from None


def no_room(folder: Path, error: OSError) -> ConfigError:
    """The error for a folder of our own that cannot be written, with the system's reason."""
    return ConfigError(
        f"Cannot write to {folder}: {error.strerror or error}. Sorting takes some 15 bytes of disk a vote; name a "
        "folder with more room with work='DIR'."
    )


def damaged(path: Path, error: Exception) -> DataError:
    """The error for a file of our own that does not read back as it was written."""
    return DataError(
        f"{path} is damaged ({str(error).splitlines()[0]}). Remove {path.parent} and run again without resume=True."
    )


FOLDER_FORMAT = 1  # of the folder; rises when its files change their meaning
STORE_MANIFEST = "store.json"  # written last: a folder with it is complete
GROUP_FILE = "votes.parquet"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredVotes:
    """Votes that need not fit into memory.

    It answers to the names that estimators use of `Votes` when they are given an engine: shape, items, workers, labels,
    votes_i and gold_i.  What is long lies in files: `items` is read some at a time, arrays per item are mapped.
    """

    folder: Path
    account: Account
    items: StoredNames
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    slices: tuple[Hashable, ...]
    item_g: NDArray[np.int64]  # where each row group starts among the items, and the end
    vote_g: NDArray[np.int64]  # ... among the votes
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
        """How many votes there are."""
        return int(self.vote_g[-1])

    @property
    def n_groups(self) -> int:
        """How many row groups there are."""
        return len(self.item_g) - 1

    def columns(self, first: int, last: int, *names: str) -> list[NDArray[Any]]:
        """Columns of the row groups from first to last; a group that does not read back is an error."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / GROUP_FILE
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                table = file.read_row_groups(range(first, last), columns=list(names), use_threads=False)
        except (OSError, pa.ArrowException, ValueError, KeyError) as error:
            raise damaged(path, OSError(f"row groups {first} to {last - 1}: {error}")) from None
        if table.num_rows != self.vote_g[last] - self.vote_g[first]:
            raise damaged(path, OSError(f"row groups {first} to {last - 1} hold {table.num_rows} votes"))
        return [_joined(table.column(name)) for name in names]

    def group(self, first: int, last: int) -> Votes:
        """The votes of some row groups in memory; items are known by their codes there."""
        start, stop = int(self.item_g[first]), int(self.item_g[last])
        names = ("item", "worker", "label", *(["seconds"] if self.has_seconds else []))
        item_n, worker_n, label_n, *seconds_n = self.columns(first, last, *names)
        votes_i = np.asarray(self.votes_i[start:stop])
        return Votes(
            item_n=item_n - np.int32(start),
            worker_n=worker_n,
            label_n=label_n,
            offsets_i=np.concatenate([[0], np.cumsum(votes_i, dtype=np.int64)]),
            items=cast("tuple[Hashable, ...]", range(start, stop)),
            workers=self.workers,
            labels=self.labels,
            account=self.account,
            gold_i=None if self.gold_i is None else self.gold_i[start:stop],
            abstained_i=None if self.abstained_i is None else self.abstained_i[start:stop],
            seconds_n=seconds_n[0] if seconds_n else None,
            slice_i=None if self.slice_i is None else self.slice_i[start:stop],
            slices=self.slices,
        )

    def groups(self) -> Iterator[Votes]:
        """The votes, one row group after the other."""
        for group in range(self.n_groups):
            yield self.group(group, group + 1)

    def take_items(self, code_p: IntArray) -> Votes:
        """The votes of the chosen items, whose codes must rise, in memory: as if they had been taken there."""
        code_p = np.asarray(code_p)
        group_p = np.searchsorted(self.item_g, code_p, side="right") - 1
        parts = []
        for group in np.unique(group_p):
            votes = self.group(int(group), int(group) + 1)
            parts.append(take_items(votes, code_p[group_p == group] - self.item_g[group]))
        return _concatenate(parts, tuple(self.items.take(code_p)), self)


def _concatenate(parts: list[Votes], items: tuple[Hashable, ...], stored: StoredVotes) -> Votes:
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
        votes, slice_i=joined("slice_i") if stored.slice_i is not None else None, slices=stored.slices, text=stored.text
    )


def write_manifest(work: WorkFolder, facts: dict[str, Any], account: Account) -> None:
    """Say that the folder is complete, and what it holds."""
    kept = {field.name: getattr(account, field.name) for field in fields(account)}
    kept |= {"columns": dict(account.columns), "notes": [asdict(note) for note in account.notes]}
    content = {"format": FOLDER_FORMAT, **facts, "account": kept}
    with whole_file(work.claim(STORE_MANIFEST), guard=False) as part:
        part.write_text(json.dumps(content), encoding="utf-8")


def open_store(folder: Path) -> StoredVotes | None:
    """The votes in a folder; None where it is not complete or of another format."""
    path = folder / STORE_MANIFEST
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise damaged(path, error) from None
    if facts.get("format") != FOLDER_FORMAT:
        return None
    n_items, n_workers, n_classes = facts["shape"]
    items = StoredNames(folder / "items.parquet", n_items, facts["kind"])
    arrays = {name: _mapped(folder / f"{name}_i", n_items) for name in facts["arrays"]}
    return StoredVotes(
        folder=folder,
        account=_account(facts["account"]),
        items=items,
        workers=tuple(StoredNames(folder / "workers.parquet", n_workers, facts["kind"])),
        labels=tuple(StoredNames(folder / "labels.parquet", n_classes, facts["label_kind"])),
        slices=tuple(StoredNames(folder / "slices.parquet", facts["n_slices"], facts["slice_kind"])),
        item_g=np.array(facts["item_g"], dtype=np.int64),
        vote_g=np.array(facts["vote_g"], dtype=np.int64),
        votes_i=arrays["votes"],
        gold_i=arrays.get("gold"),
        abstained_i=arrays.get("abstained"),
        slice_i=arrays.get("slice"),
        has_seconds=facts["has_seconds"],
        fingerprint=facts["fingerprint"],
    )


def write_values(path: Path, values: list[Any]) -> str:
    """Write a short list of the user's values; the kind by which it is read back, each value with its type."""
    import pyarrow as pa

    writer, kind = NameWriter(path), "typed"
    try:
        names = pa.array(values)
        same = names.to_pylist() == values and len({type(value) for value in values}) <= 1
    except (pa.ArrowException, OverflowError):
        same = False
    if not same:
        kind = "json"
        if any(not isinstance(value, str | int | float | bool) for value in values):
            raise DataError(
                f"With a limit on memory, labels must be text, numbers or truth values; {values!r} are not all."
            )
        names = pa.array([json.dumps(value) for value in values], pa.large_string())
    if len(names):
        writer.add(names)
    writer.close()
    return kind


def _mapped(path: Path, n_items: int) -> NDArray[np.int32]:
    try:
        if path.stat().st_size != 4 * n_items:
            raise OSError(f"{path.stat().st_size} bytes where {4 * n_items} are expected")
        return np.memmap(path, np.int32, mode="r") if n_items else np.empty(0, np.int32)
    except OSError as error:
        raise damaged(path, error) from None


def _account(facts: dict[str, Any]) -> Account:
    notes = tuple(Note(**note) for note in facts["notes"])
    return Account(**{**facts, "notes": notes, "ignored": tuple(facts["ignored"])})


def _joined(column: Any) -> NDArray[Any]:
    dtype = np.float64 if str(column.type) == "double" else np.int32
    parts = [numpy_view(chunk, dtype) for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])


class NumberedNames(StoredNames):
    """1, 2, ... in place of the names in a file."""

    def take(self, code_p: IntArray) -> list[Hashable]:
        """The numbers of some codes."""
        return [int(code) + 1 for code in code_p]


def mask_stored(stored: StoredVotes) -> StoredVotes:
    """The same votes, items and workers numbered from 1 in the order in which they first appear; labels stay."""
    names = stored.items
    items, workers = NumberedNames(names.path, names.n_names, names.kind), tuple(range(1, len(stored.workers) + 1))
    return replace(stored, items=items, workers=workers, account=mask_account(stored.account), text=None)
