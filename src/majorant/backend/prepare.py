"""From a file to stored votes: read once, sorted once, whole or not at all, used again where nothing has changed."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from majorant import __version__
from majorant.atomic import make_folder
from majorant.backend.budget import BASE, require
from majorant.backend.sorting import RowsWanted, Sorted, sort_votes
from majorant.backend.spill import Report, Spilled, silent, spill
from majorant.backend.store import MANIFEST, StoredNames, StoredVotes, no_room, open_store, write_manifest, write_values
from majorant.errors import ConfigError, DataError
from majorant.io.build import no_votes
from majorant.io.files import ENDINGS, files_in
from majorant.io.gold import Gold, one_gold, read_gold
from majorant.io.item_columns import item_text
from majorant.io.labels import LabelCodes, name_labels
from majorant.io.network import is_address
from majorant.io.notes import make_account
from majorant.io.opening import open_table
from majorant.io.options import ReadOptions
from majorant.io.repeats import Resolved
from majorant.io.values import decode

Stamp = list[tuple[str, int, int]]  # path, size and time of change of each file


def prepare(
    source: str | Sequence[str], folder: str | os.PathLike[str], options: ReadOptions | None = None, *, memory: int,
    resume: bool = False, report: Report = silent,
) -> StoredVotes:  # fmt: skip
    """The votes of a file, sorted into `folder`.

    With `resume`, votes that an earlier run has sorted from the same, unchanged files are used again.
    """
    options = options or ReadOptions()
    require(BASE, memory, "to read votes at all")
    place = make_folder(folder)
    files, stamp = _stamp(source, options)
    fingerprint = _fingerprint(stamp, options)
    if resume and (found := open_store(place)) is not None:
        if found.fingerprint == fingerprint:
            return replace(found, text=item_text(source, options, found.account))
        raise ConfigError(
            f"{_and(files)} or the options changed since {place} was made: leave out resume=True to start anew."
        )
    clear(place)
    try:
        build = partial(_build, source, place, fingerprint, memory, report, options)
        try:
            build(rows=not all(Path(file).is_file() for file in files))  # what can be read once only has no second try
        except RowsWanted:  # some row is bad, and which ones they are is worth a second look
            clear(place)
            build(rows=True)
        if _stamp(source, options)[1] != stamp:
            raise DataError(f"{_and(files)} changed while it was read. Run again when nothing writes to it any more.")
    except OSError as error:
        clear(place)
        raise no_room(place, error) from error
    except BaseException:
        clear(place)
        raise
    stored = open_store(place)
    assert stored is not None
    return replace(stored, text=item_text(source, options, stored.account))


def clear(folder: Path) -> None:
    """Remove what this module puts into a folder, and nothing else; what marks it as complete goes first."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for pattern in ("bucket-*", "*_i", "*s.parquet", "rows-*", ".store.json.majorant-*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    for name in ("steps", "spill"):
        shutil.rmtree(folder / name, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """The folder, for this process alone; the lock goes with the process, however it ends."""
    place = make_folder(folder)
    with (place / "lock").open("a") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks here
            pass
        except OSError:
            raise ConfigError(f"{place} is in use by another run. Wait for it, or name another folder.") from None
        yield place


def _build(
    source: Any, place: Path, fingerprint: str, memory: int, report: Report, options: ReadOptions, *, rows: bool
) -> None:
    if options.wide or options.workers:
        raise _wide()
    with open_table(source, options) as table:
        if table.wide:
            raise _wide()
        options = one_gold(options, table)
        spilled = spill(table, place, options, memory=memory, rows=rows, report=report)
    if not spilled.uses.any():
        raise no_votes(spilled.coded)
    gold = _gold(spilled, options)
    labels = decode(spilled.coded.known["label"], spilled.coded.table.kind)
    named = name_labels(spilled.coded, labels, spilled.uses, gold, options, spilled.n_ids["item"])
    found = sort_votes(spilled, named, place, options, memory=memory, report=report)
    assert found.coverage is not None
    resolved = Resolved(None, found.merged, found.dropped)
    account = make_account(spilled.coded, found.coverage, named, resolved, options.repeats, gold)
    write_manifest(place, _facts(spilled, named, found, fingerprint, place), account)


def _wide() -> ConfigError:
    return ConfigError("a wide table is read in memory. Leave out memory=, or write a row per vote first.")


def _gold(spilled: Spilled, options: ReadOptions) -> Gold | None:
    if options.gold_file is None:
        return None
    items = StoredNames(spilled.folder / "items.parquet", spilled.n_ids["item"], spilled.coded.table.kind)
    return read_gold(options.gold_file, options.for_gold(), items)


def _facts(spilled: Spilled, named: LabelCodes, found: Sorted, fingerprint: str, place: Path) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint,
        "shape": [spilled.n_ids["item"], spilled.n_ids["worker"], len(named.labels)],
        "kind": spilled.coded.table.kind,
        "label_kind": write_values(place / "labels.parquet", named.labels),
        "slice_kind": write_values(place / "slices.parquet", list(found.slices)),
        "n_slices": len(found.slices),
        "item_g": found.item_g,
        "vote_g": found.vote_g,
        "arrays": sorted(found.arrays),
        "has_seconds": "seconds" in (spilled.dtype.names or ()),
    }


def _stamp(source: Any, options: ReadOptions) -> tuple[list[str], Stamp]:
    """The files of a source as they are now; standard input has none."""
    names: list[Any] = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if options.gold_file is not None:
        names.append(options.gold_file)
    files: list[str] = []
    for name in names:
        path = Path(name).expanduser()
        if is_address(str(name)):
            continue
        if path.is_dir():
            files += map(str, files_in(str(name), path, tuple(ENDINGS)))
            continue
        files += sorted(glob.glob(str(path), recursive=True)) if not path.exists() else [str(path)]  # noqa: PTH207
    found = [(str(Path(file).resolve()), Path(file).stat()) for file in files]
    return files or ["standard input"], [(path, stat.st_size, stat.st_mtime_ns) for path, stat in found]


def _fingerprint(stamp: Stamp, options: ReadOptions) -> str:
    content = json.dumps([__version__, stamp, repr(replace(options, threads=None))])
    return hashlib.sha256(content.encode()).hexdigest()


def _and(files: list[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} or one of {len(files) - 1} other files"
