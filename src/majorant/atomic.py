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
import socket
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError
from majorant.ownership import NotOursError, digest_of, note_written, replaceable_digest

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MARK = ".majorant-"
LOCK = ".majorant-lock"


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, guard: bool = True, overwrite: bool = False) -> Iterator[Path]:
    """A temporary file that is renamed to `path` if the block succeeds, and removed if it fails.

    `guard=False` is for our own working folders, where no file belongs to the user.

    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as name:
    ...     _ = name.write_text("all of it")
    >>> (folder / "a.txt").read_text(), sorted(path.name for path in folder.iterdir())
    ('all of it', ['a.txt'])
    """
    target = Path(path)
    with whole_files([target], guard=guard, overwrite=overwrite) as parts:
        try:
            yield parts[0]
        except OSError as error:
            raise cannot_write(target, error) from error


@contextlib.contextmanager
def whole_files(
    paths: Iterable[Path],
    *,
    guard: bool = True,
    overwrite: bool = False,
    update: Collection[Path] = (),
    tables: bool = False,
) -> Iterator[list[Path]]:
    """Yield temporary files that replace the targets, in this order and all or none, if the block succeeds.

    `ownership` decides what may be replaced, before anything is computed; a file that changes until the end is not
    replaced.  `update` lists files whose new content is derived from the current one.  With `tables`, a file that
    majorant may not have written is only refused if its content would change.

    Links are followed. A pipe or a character device is written to after everything else is on disk; a folder, a socket
    or a block device is refused before anything is computed.
    """
    with contextlib.ExitStack() as stack:
        paths = list(paths)
        guards = _Guard(guard, overwrite, update, tables)
        guards.approve(paths)
        pieces = [stack.enter_context(_piece(path)) for path in paths]
        stay = [piece.target for piece in pieces if not piece.through]
        for target in stay:
            if stay.count(target) > 1:
                raise ConfigError(f"Cannot write {target}: two outputs have this name. Choose another name for one.")
        yield [piece.part for piece in pieces]
        _replace_all(pieces, guards)


@contextlib.contextmanager
def extra_file(part: Path) -> Iterator[Path]:
    """Another temporary file next to one from `whole_files`, for rows that are then appended to it."""
    stem = part.name[1:].partition(MARK)[0]
    with _temporary(part.parent, stem, ".rows") as (_, rows):
        yield rows


@dataclass(frozen=True, slots=True)
class _Guard:
    """Whether files that majorant did not write may be replaced, and which files were found at the targets."""

    on: bool
    overwrite: bool
    update: Collection[Path]
    tables: bool = False
    found: dict[Path, str | None] = field(default_factory=dict)

    def approve(self, paths: Iterable[Path]) -> None:
        """Refuse files that may not be replaced, and remember the others."""
        for path in paths if self.on else ():
            try:
                target, through = _destination(path)
                if not through and path not in self.update:
                    with _locked(target.parent):  # otherwise another run may be putting a set in place
                        self.found[target] = replaceable_digest(target, path, overwrite=self.overwrite)
            except NotOursError:
                if not self.tables:
                    raise
                self.found[target] = None  # looked at again when its new content is known
            except OSError as error:
                raise cannot_write(path, error) from error

    def refuse_changed(self, pieces: Iterable[_Piece]) -> None:
        """Refuse files that appeared or changed since they were approved, unless another run of ours wrote them."""
        for piece in pieces:
            if piece.target in self.found and piece.target.exists():
                known, now = self.found[piece.target], digest_of(piece.target)
                if now not in (known, digest_of(piece.part) if self.tables else None):
                    replaceable_digest(piece.target, piece.given, overwrite=self.overwrite)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A file being written: its name as given, its target, and the temporary file that holds its content."""

    given: Path
    target: Path
    through: bool
    part: Path
    identity: os.stat_result

    @property
    def second(self) -> Path:
        """The name under which the target's previous content is kept until all files are replaced."""
        return self.part.with_suffix(".old")

    @property
    def moved(self) -> bool:
        """Whether the temporary file has been renamed to the target."""
        return _is(self.target, self.identity)


@contextlib.contextmanager
def _piece(path: Path) -> Iterator[_Piece]:
    """A temporary file for `path`."""
    with contextlib.ExitStack() as stack:
        try:
            target, through = _destination(path)
            folder = Path(tempfile.gettempdir()) if through else target.parent
            remove_leftovers(folder, ("part", "rows"))
            identity, part = stack.enter_context(_temporary(folder, target.name, ".part"))
        except OSError as error:
            raise cannot_write(path, error) from error
        yield _Piece(path, target, through, part, identity)


def _destination(path: Path) -> tuple[Path, bool]:
    """The file that a path refers to, and whether to write into it (a pipe, a device) instead of replacing it."""
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
    # Files in these folders are interfaces to the system, even if they look like regular files.
    special = any(name.is_relative_to(place) for name in (target, path.absolute()) for place in ("/dev", "/proc"))
    return (path, True) if not stat.S_ISREG(mode) or (special and path.exists()) else (target, False)


@contextlib.contextmanager
def _temporary(folder: Path, stem: str, ending: str) -> Iterator[tuple[os.stat_result, Path]]:
    """A temporary file that is locked while this run lives, and removed at the end unless it was renamed."""
    short = os.fsdecode(os.fsencode(stem)[:120])  # most file systems allow names of up to 255 bytes
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{short}{MARK}", suffix=ending, dir=folder)
        identity, path = os.fstat(handle), Path(name)
        if fcntl is None:  # Windows cannot rename an open file
            os.close(handle)
            break
        lock(handle, wait=True)
        if _is(path, identity):  # otherwise another run removed it as a leftover before it was locked
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
    """Put the content in place: first write to pipes and devices, which cannot be undone, then rename the files."""
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
        guard.refuse_changed(stay)
        _swap(stay)
    if guard.on:
        note_written(piece.target for piece in stay if piece.given not in guard.update)


def _swap(pieces: list[_Piece]) -> None:
    """Rename all temporary files to their targets; if one rename fails, restore what the others replaced."""
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
    for piece in pieces:  # `remove_leftovers` skips a backup if the run that wrote the file still holds its lock
        with contextlib.suppress(OSError):
            piece.second.unlink(missing_ok=True)
    for folder in folders:
        remove_leftovers(folder, ("old",))


def _keep_former(piece: _Piece) -> None:
    """Keep the current content of a target as a backup while it is replaced."""
    if not piece.target.exists():
        return
    try:
        piece.second.hardlink_to(piece.target)
    except OSError:  # a file system without hard links
        shutil.copy2(piece.target, piece.second)


def _put_back(pieces: list[_Piece]) -> dict[Path, Path]:
    """Undo the renames; return the backups of the files that could not be restored."""
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
    """Sync the content to disk, with the permissions of the file it replaces, or those that the umask gives."""
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
    """Sync the new file names to disk, on systems that can."""
    try:
        _sync(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM):
            raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let only one run at a time rename files in a folder, so that two runs never mix their outputs."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a folder without read permission; on Windows, any folder
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            lock(handle, wait=True)
        yield


def lock(handle: int, *, wait: bool) -> bool | None:
    """Try to lock a file: whether that succeeded, or None if locks do not work here, as on some network drives."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


_held: ContextVar[frozenset[Path]] = ContextVar("majorant_held", default=frozenset())


@contextlib.contextmanager
def lock_exclusively(path: Path, program: str, remedy: str) -> Iterator[None]:
    """Keep every other process of ours from changing a file that stays open for long; say who has it if one does.

    The lock is on a file beside it, which says who holds it.  Where the file system has no locks, it counts as held
    while that process lives.
    """
    target = path.resolve()
    if target in _held.get():
        yield
        return
    place = target.with_name(f".{target.name}{LOCK}")
    try:
        handle = _locked_file(place)
    except OSError as error:
        raise cannot_write(path, error) from error
    if handle is None:
        raise ConfigError(f"{path} is open in {_holder(place)}. {remedy}")
    token = _held.set(_held.get() | {target})
    try:
        now = datetime.now().astimezone().strftime("%H:%M")
        holder = f"{program} (process {os.getpid()}, {_user()} on {socket.gethostname()}, since {now})"
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.write(handle, holder.encode("utf-8", "backslashreplace"))
        yield
    finally:
        _held.reset(token)
        if fcntl is None:  # Windows cannot remove an open file
            os.close(handle)
        with contextlib.suppress(OSError):
            place.unlink()
        if fcntl is not None:
            os.close(handle)


def _locked_file(place: Path) -> int | None:
    """A file that this process has locked, created if need be; None if another process holds it."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o644)
        except PermissionError:  # another user's
            handle = os.open(place, os.O_RDONLY)
        free = lock(handle, wait=False) if fcntl is not None else _lock_on_windows(handle)
        if free is None:
            free = not _is_alive(_holder(place))
        if not free:
            os.close(handle)
            return None
        if fcntl is None or _is(place, os.fstat(handle)):  # otherwise its last holder has just removed it
            return handle
        os.close(handle)


def _lock_on_windows(handle: int) -> bool | None:
    try:
        import msvcrt
    except ImportError:
        return None
    os.lseek(handle, 1 << 20, os.SEEK_SET)  # behind the text, which others may read
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return True


def _holder(place: Path) -> str:
    try:
        return place.read_text(encoding="utf-8", errors="replace").strip() or "another program"
    except OSError:
        return "another program"


def _is_alive(holder: str) -> bool:
    """Whether the process named in a lock file of this machine may still run; one of another machine may."""
    named = re.search(r"\(process (\d+), .* on (.*), since", holder)
    if named is None or named[2] != socket.gethostname():
        return named is not None
    try:
        os.kill(int(named[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


def remove_leftovers(folder: Path, endings: tuple[str, ...]) -> None:
    """Remove the temporary files of dead runs: those not locked or, where locks do not work, those a day old."""
    with contextlib.suppress(OSError):  # the folder cannot be listed
        for path in list(folder.iterdir()):
            leftover = re.fullmatch(r"\..*\.majorant-\w{8}\.(part|rows|old)", path.name) if MARK in path.name else None
            if leftover is not None and leftover[1] in endings:
                with contextlib.suppress(OSError):  # it is already gone, or belongs to another user
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
    """Create the folder for output, and its parents, if they do not exist."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def cannot_write(target: Path, error: OSError, kept: dict[Path, Path] | None = None) -> ConfigError:
    """The error for a file or folder that cannot be written, with the system's reason and any backups left over."""
    reason = error.strerror or str(error)
    rest = "Nothing was written. Choose another place."
    if kept:
        names = ", ".join(f"that of {path} is in {second.name}" for path, second in kept.items())
        rest = f"Its previous content could not be restored: {names}."
    return ConfigError(f"Cannot write {target}: {reason}. {rest}")
