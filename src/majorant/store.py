"""Votes on disk: a folder of memory-mapped arrays sorted by item, with the names of the items as an Arrow file.

`StoreWriter` fills a folder.  Its description is written last, so `open_store` notices an incomplete folder.  The
folder is a cache: it can be deleted, and made again from the votes.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.version import __version__
from majorant.votes import Account, IntArray, Note, Scratch, Votes
from majorant.workfolder import WorkFolder

ITEMS_FILE, STORE_FILE, TAG_FILE = "items.arrow", "votes.json", "CACHEDIR.TAG"
TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This folder is a cache of majorant: votes sorted by item. It can be deleted; the votes are then sorted again.
"""
NAMES_READ = 1 << 16  # names that are read together
DTYPES = {"offsets_i": np.int64, "seconds_n": np.float64}  # the others are codes or counts


class StoredNames(Sequence[Hashable]):
    """Names in an Arrow file, or a range of them; the file is memory-mapped, and names are read when asked for."""

    def __init__(self, path: Path, start: int, stop: int, column: Any = None) -> None:
        self.path, self.start, self.stop = path, start, stop
        self.column = _open_names(path) if column is None else column

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return StoredNames(self.path, self.start + start, self.start + max(start, stop), self.column)
            return self.take(np.arange(start, stop, step))
        code = int(index)
        if not -len(self) <= code < len(self):
            raise IndexError(code)
        return self.column[self.start + code % len(self)].as_py()

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, len(self), NAMES_READ):
            yield from self[start : start + NAMES_READ].__arrow_array__().to_pylist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(lambda a, b: a == b, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return StoredNames, (self.path, self.start, self.stop)

    def __arrow_array__(self, type: Any = None) -> Any:
        names = self.column.slice(self.start, len(self)).combine_chunks()
        names = names.combine_chunks() if hasattr(names, "combine_chunks") else names
        return names if type is None else names.cast(type)

    def take(self, code_p: IntArray) -> list[Hashable]:
        """The names for some codes."""
        import pyarrow as pa

        chosen = np.ascontiguousarray(code_p, dtype=np.int64) + self.start
        names: list[Hashable] = []
        for start in range(0, len(chosen), NAMES_READ):
            some = chosen[start : start + NAMES_READ]
            places = pa.Array.from_buffers(pa.int64(), len(some), [None, pa.py_buffer(some)])
            names += self.column.take(places).to_pylist()
        return names


def _open_names(path: Path) -> Any:
    import pyarrow as pa

    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all().column("name")
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, str(error)) from None


def write_names(path: Path, parts: Iterable[Any]) -> int:
    """Write Arrow arrays of names to a file for `StoredNames`, and return how many there are."""
    import pyarrow as pa

    writer, n_names = None, 0
    try:
        for part in parts:
            writer = writer or pa.ipc.new_file(str(path), pa.schema({"name": part.type}))
            writer.write_batch(pa.record_batch({"name": part}))
            n_names += len(part)
    finally:
        if writer is not None:
            writer.close()
    return n_names


def damaged(path: Path, reason: str) -> DataError:
    """The error for a stored file, or a folder of them, that was changed after it was written."""
    folder, why = path if path.is_dir() else path.parent, reason.splitlines()[0].rstrip(".") if reason else "unreadable"
    return DataError(f"{path} is damaged ({why}). Remove {folder}, which is a cache, and run again.")


@dataclass(slots=True)
class StoreWriter:
    """Writes votes sorted by item."""

    work: WorkFolder
    n_votes: int = 0
    names: set[str] = field(default_factory=set)
    files: dict[str, Any] = field(default_factory=dict)

    def add(self, start: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Append arrays about the votes on the items from code `start` on, and about these items.

        Names end in their axis, as in `Votes`: `votes_i` counts the votes on each item.
        """
        if not self.n_votes and not start:
            self._append("offsets_i", np.zeros(1))
        self._append("offsets_i", self.n_votes + np.cumsum(arrays["votes_i"]))
        self._append("item_n", np.repeat(np.arange(start, start + len(arrays["votes_i"])), arrays["votes_i"]))
        for name, values in arrays.items():
            if name != "votes_i":
                self._append(name, values)
        self.n_votes += int(arrays["votes_i"].sum())

    def _append(self, name: str, values: NDArray[Any]) -> None:
        if name not in self.files:
            self.files[name] = self.work.claim(name).open("wb")
        self.files[name].write(np.ascontiguousarray(values, dtype=DTYPES.get(name, np.int32)).tobytes())

    def finish(self) -> None:
        """Close the arrays."""
        for file in self.files.values():
            file.close()
        self.work.claim(TAG_FILE).write_text(TAG, encoding="utf-8")

    def close(self, n_items: int, facts: Mapping[str, Any], account: Account) -> None:
        """Write the description, which completes the folder."""
        self.finish()
        kept = {entry.name: getattr(account, entry.name) for entry in fields(account)}
        kept |= {"columns": dict(account.columns), "notes": [asdict(note) for note in account.notes]}
        sizes = {name: (self.work.path / name).stat().st_size for name in (ITEMS_FILE, *self.files)}
        content = {"version": __version__, **facts, "n_items": n_items, "account": kept, "files": sizes}
        part = self.work.claim(f"{STORE_FILE}.part")
        part.write_text(json.dumps(content), encoding="utf-8")
        self.work.claim(STORE_FILE)
        part.replace(self.work.path / STORE_FILE)


def open_store(folder: Path, *, memory: int | None = None, fingerprint: str | None = None) -> Votes | None:
    """Open the votes in a folder; None if it is incomplete, or was written by another version or from other votes.

    Raises
    ------
    DataError
        If a file is missing or was changed.
    """
    path = folder / STORE_FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged(path, str(error)) from None
    if facts["version"] != __version__ or (fingerprint is not None and facts["fingerprint"] != fingerprint):
        return None
    for name, size in facts["files"].items():
        try:
            found = (folder / name).stat().st_size
        except OSError as error:
            raise damaged(folder / name, error.strerror or str(error)) from None
        if found != size:
            raise damaged(folder / name, f"{found:,} bytes instead of {size:,}")
    account = facts["account"]
    account |= {"notes": tuple(Note(**note) for note in account["notes"]), "ignored": tuple(account["ignored"])}
    names = {name: tuple(facts[name]) for name in ("workers", "labels", "slices")}
    try:
        votes = mapped_votes(folder, [*facts["files"]], facts["n_items"], Account(**account), memory=memory, **names)
    except DataError as error:
        raise damaged(folder, str(error)) from None
    return replace(votes, ordered=facts["ordered"])


def mapped_votes(
    folder: Path,
    files: Iterable[str],
    n_items: int,
    account: Account,
    *,
    workers: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
    slices: tuple[Hashable, ...] = (),
    memory: int | None = None,
) -> Votes:
    """The votes in the arrays of a folder."""
    arrays: dict[str, Any] = {}
    for name in files:
        if name != ITEMS_FILE:
            empty = not (folder / name).stat().st_size  # nothing can be mapped
            arrays[name] = [] if empty else np.memmap(folder / name, DTYPES.get(name, np.int32), mode="r")
    return Votes(
        **arrays,
        items=StoredNames(folder / ITEMS_FILE, 0, n_items),
        workers=workers,
        labels=labels,
        slices=slices,
        account=account,
        scratch=Scratch(folder, memory),
    )
