"""Atomic writing: a set of files is replaced completely or not at all, and is on disk when the call returns.

Content goes to temporary files next to the targets, is synced to disk, and is renamed under a lock on the folders. If
one file cannot be renamed, the others get their previous content back. A killed run leaves temporary files, which the
next run in that folder removes; a lock tells whether the run that made them is still alive.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError
from majorant.ownership import RECORD, digest_of, note_written, record_text, replaceable_digest

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MARK = ".majorant-"


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, guard: bool = True, overwrite: bool = False) -> Iterator[Path]:
    """A temporary file that is renamed to `path` if the block succeeds, and removed if it fails.

    Without `guard`, the file is in a folder of ours, where nothing belongs to the user.

    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as name:
    ...     _ = name.write_text("all of it")
    >>> (folder / "a.txt").read_text(), sorted(path.name for path in folder.iterdir())
    ('all of it', ['.majorant-files.json', 'a.txt'])
    """
    target = Path(path)
    with whole_files([target], guard=guard, overwrite=overwrite) as parts:
        try:
            yield parts[0]
        except OSError as error:
            raise cannot_write(target, error) from error


@contextlib.contextmanager
def whole_files(
    paths: Iterable[Path], *, guard: bool = True, overwrite: bool = False, update: Collection[Path] = ()
) -> Iterator[list[Path]]:
    """Temporary files that replace the targets in this order, all or none, if the block succeeds.

    `ownership` decides what may be replaced, before anything is computed and again at the end; `update` lists files
    whose new content is derived from the current one.

    Links are followed. A pipe or a character device is written to after everything else is on disk; a folder, a socket
    or a block device is refused before anything is computed.
    """
    with contextlib.ExitStack() as stack:
        guards = _Guard(guard, overwrite, update)
        pieces = [stack.enter_context(_piece(path, guards)) for path in paths]
        stay = [piece.target for piece in pieces if not piece.through]
        for target in stay:
            if stay.count(target) > 1:
                raise ConfigError(f"Cannot write {target}: it is named for two outputs. Name another place for one.")
        yield [piece.part for piece in pieces]
        _replace_all(pieces, guards)


@contextlib.contextmanager
def beside(part: Path) -> Iterator[Path]:
    """One more temporary file beside one that `whole_file` gave, for rows on their way."""
    stem = part.name[1:].partition(MARK)[0]
    with _temporary(part.parent, stem, ".rows") as (_, rows):
        yield rows


@dataclass(frozen=True, slots=True)
class _Guard:
    """Whether files may be replaced that are not ours."""

    on: bool
    overwrite: bool
    update: Collection[Path]

    def digest(self, target: Path, given: Path) -> str | None:
        """The digest of the file to replace, if it is ours; an error where it may not be replaced."""
        if not self.on:
            return None
        return replaceable_digest(target, given, overwrite=self.overwrite, update=given in self.update)


_UNGUARDED = _Guard(on=False, overwrite=False, update=())


@dataclass(frozen=True, slots=True)
class _Piece:
    """A file on its way: its name as given, where it goes, and its content under a temporary name."""

    given: Path
    target: Path
    through: bool
    part: Path
    identity: os.stat_result

    @property
    def second(self) -> Path:
        """The name under which the former content is kept while it is replaced."""
        return self.part.with_suffix(".old")

    @property
    def moved(self) -> bool:
        """Whether the content has taken the target's name."""
        return _is(self.target, self.identity)


@contextlib.contextmanager
def _piece(path: Path, guard: _Guard, *, given: Path | None = None) -> Iterator[_Piece]:
    """A temporary file for `path`; errors name the file that was `given`, if that is another one."""
    given = given or path
    with contextlib.ExitStack() as stack:
        try:
            target, through = _destination(path)
            if not through:
                guard.digest(target, path)
            folder = Path(tempfile.gettempdir()) if through else target.parent
            remove_leftovers(folder, ("part", "rows"))
            identity, part = stack.enter_context(_temporary(folder, target.name, ".part"))
        except OSError as error:
            raise cannot_write(given, error) from error
        yield _Piece(given, target, through, part, identity)


def _destination(path: Path) -> tuple[Path, bool]:
    """The file that a name stands for, and whether to write through it rather than to replace it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISDIR(mode):
        raise ConfigError(f"Cannot write {path}: it is a folder. Name a file in it.")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        kind = "a disk" if stat.S_ISBLK(mode) else "a socket"
        raise ConfigError(f"Cannot write {path}: it is {kind}. Name a file.")
    target = path.resolve()
    # Files in these folders stand for something else, even where they seem regular.
    special = any(name.is_relative_to(place) for name in (target, path.absolute()) for place in ("/dev", "/proc"))
    return (path, True) if not stat.S_ISREG(mode) or (special and path.exists()) else (target, False)


@contextlib.contextmanager
def _temporary(folder: Path, stem: str, ending: str) -> Iterator[tuple[os.stat_result, Path]]:
    """A temporary file that is locked as long as its run lives, and gone in the end unless it was moved away."""
    short = os.fsdecode(os.fsencode(stem)[:120])  # most disks take names of up to 255 bytes
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{short}{MARK}", suffix=ending, dir=folder)
        identity, path = os.fstat(handle), Path(name)
        if fcntl is None:  # Windows moves no file that is open
            os.close(handle)
            break
        lock(handle, wait=True)
        if _is(path, identity):  # else another run took it for a leftover before it was locked
            break
        os.close(handle)
    try:
        yield identity, path
    finally:
        if _is(path, identity):
            path.unlink()
        if fcntl is not None:
            os.close(handle)


def _is(path: Path, identity: os.stat_result) -> bool:
    try:
        return os.path.samestat(identity, path.lstat())
    except FileNotFoundError:
        return False


def _replace_all(pieces: list[_Piece], guard: _Guard) -> None:
    """Move the content to its targets: first through pipes and devices, which cannot be undone, then in order."""
    for piece in pieces:
        try:
            if piece.through:
                with piece.part.open("rb") as content, piece.target.open("wb", buffering=0) as out:
                    shutil.copyfileobj(content, out, 1 << 20)
            else:
                _finish(piece)
        except OSError as error:
            raise cannot_write(piece.given, error) from error
    stay = [piece for piece in pieces if not piece.through]
    folders = sorted({piece.target.parent for piece in stay})
    with contextlib.ExitStack() as stack:
        for folder in folders:
            stack.enter_context(_locked(folder))
        records = [_record(folder, stay, guard, stack) for folder in folders if guard.on]
        _swap([*records, *stay])
    if guard.on:
        note_written(piece.target for piece in stay if piece.given not in guard.update)


def _record(folder: Path, pieces: list[_Piece], guard: _Guard, stack: contextlib.ExitStack) -> _Piece:
    """The new record of a folder, which is replaced before the files that it lists."""
    own = [piece for piece in pieces if piece.target.parent == folder]
    record = stack.enter_context(_piece(folder / RECORD, _UNGUARDED, given=own[0].given))
    try:
        digests = {piece.target.name: (digest_of(piece.part), guard.digest(piece.target, piece.given)) for piece in own}
        record.part.write_text(record_text(folder, digests), encoding="utf-8")
        _finish(record)
    except OSError as error:
        raise cannot_write(own[0].given, error) from error
    return record


def record_folder(folder: Path) -> None:
    """Record a folder that something other than this module wrote as ours."""
    place = folder.parent
    with _locked(place), _piece(place / RECORD, _UNGUARDED) as record:
        record.part.write_text(record_text(place, {folder.name: (digest_of(folder), None)}), encoding="utf-8")
        _finish(record)
        _swap([record])


def _swap(pieces: list[_Piece]) -> None:
    """Move the parts to their targets; where one cannot move, put back what the others replaced."""
    folders = {piece.target.parent for piece in pieces}
    try:
        for piece in pieces:
            current = piece
            _keep_former(piece)
        for piece in pieces:
            current = piece
            piece.part.replace(piece.target)
        for folder in folders:
            _sync_folder(folder)
    except OSError as error:
        raise cannot_write(current.given, error, _put_back(pieces)) from error
    except BaseException:
        _put_back(pieces)
        raise
    for piece in pieces:  # the run that wrote this former content may live and hold its lock, so it is no leftover
        with contextlib.suppress(OSError):
            piece.second.unlink(missing_ok=True)
    for folder in folders:
        remove_leftovers(folder, ("old",))


def _keep_former(piece: _Piece) -> None:
    """Give the present content of a target a second name, so that it outlives being replaced."""
    if not piece.target.exists():
        return
    try:
        piece.second.hardlink_to(piece.target)
    except OSError:  # a disk without links
        shutil.copy2(piece.target, piece.second)


def _put_back(pieces: list[_Piece]) -> dict[Path, Path]:
    """Undo what was moved; what cannot be put back stays under its second name, which is returned."""
    kept = {}
    for piece in pieces:
        had_former, moved = piece.second.exists(), piece.moved
        try:
            if moved and had_former:
                piece.second.replace(piece.target)
            elif moved:
                piece.target.unlink()
            else:
                piece.second.unlink(missing_ok=True)
        except OSError:
            if moved and had_former:
                kept[piece.given] = piece.second
    return kept


def _finish(piece: _Piece) -> None:
    """Sync the content to disk, with the permissions of the file it replaces, or else those of the user's umask."""
    try:
        mode = stat.S_IMODE(piece.target.stat().st_mode)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        mode = 0o666 & ~umask
    piece.part.chmod(mode)
    _sync(piece.part, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Have the new names on the disk; systems and disks that know no such call are taken at their word."""
    try:
        _sync(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM):
            raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One run at a time gives names in a folder: of two at once, one replaces the whole set of the other."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a folder that cannot be opened, only written to; every one on Windows
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            lock(handle, wait=True)
        yield


def lock(handle: int, *, wait: bool) -> bool | None:
    """Whether the lock was taken; None where that is unknown, as on some network disks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def remove_leftovers(folder: Path, endings: tuple[str, ...]) -> None:
    """Remove temporary files of runs that are gone: unlocked ones, or day-old ones where locks cannot tell."""
    with contextlib.suppress(OSError):  # the folder cannot be listed
        for path in list(folder.iterdir()):
            leftover = re.fullmatch(r"\..*\.majorant-\w{8}\.(part|rows|old)", path.name) if MARK in path.name else None
            if leftover is not None and leftover[1] in endings:
                with contextlib.suppress(OSError):  # it went meanwhile, or is another user's
                    _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        free = lock(handle, wait=False)
        left = free or (free is None and time.time() - path.stat().st_mtime > 24 * 3600)
    finally:
        os.close(handle)
    if left:
        path.unlink()


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder for output, created with its parents where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def cannot_write(target: Path, error: OSError, kept: dict[Path, Path] | None = None) -> ConfigError:
    """The error for a file or folder that cannot be written, with the system's reason and what is left."""
    reason = error.strerror or str(error)
    rest = "Nothing was left behind; choose another place."
    if kept:
        names = ", ".join(f"that of {path} is in {second.name}" for path, second in kept.items())
        rest = f"Its former content could not be put back: {names}."
    return ConfigError(f"Cannot write {target}: {reason}. {rest}")
