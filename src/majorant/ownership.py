"""Decides which existing files may be replaced: those that majorant wrote and nobody has changed since.

Next to its output, majorant keeps `.majorant-files.json` with the name and the SHA-256 of each of its files in that
folder. A file that is not listed there, or has another digest, belongs to the user and is replaced only with
overwrite=True. An input of the running command is never replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from majorant.errors import ConfigError

DRAW_COLUMN, DESIGN_COLUMN = "majorant_draw", "majorant_design"  # columns and fields of items to label
JOURNAL_ENDING = ".journal"
RECORD = ".majorant-files.json"
RECORD_FORMAT = "majorant-files"


@dataclass(slots=True)
class _Command:
    """What a running command has read and written, and whether it may replace the user's files."""

    overwrite: bool
    inputs: set[tuple[int, int]] = field(default_factory=set)  # device and inode
    input_paths: set[Path] = field(default_factory=set)  # resolved
    written: set[Path] = field(default_factory=set)  # resolved


_command: ContextVar[_Command | None] = ContextVar("majorant_command", default=None)


@contextlib.contextmanager
def command_scope() -> Iterator[None]:
    """Within this block, remember which files are read, so that none of them is replaced."""
    token = _command.set(_Command(overwrite=False))
    try:
        yield
    finally:
        _command.reset(token)


def allow_overwrite() -> None:
    """Let the running command replace files that majorant did not write."""
    if (command := _command.get()) is not None:
        command.overwrite = True


def note_input(path: str | os.PathLike[str]) -> None:
    """Remember that the running command reads a file or folder; does nothing outside a command."""
    command = _command.get()
    if command is None:
        return
    with contextlib.suppress(OSError, ValueError):
        status = Path(path).stat()
        command.inputs.add((status.st_dev, status.st_ino))
        command.input_paths.add(Path(path).resolve())


def refuse_unsafe(paths: Iterable[Path], *, overwrite: bool = False) -> None:
    """Refuse to replace an input, or a file that majorant did not write.

    Raises
    ------
    ConfigError
        If one of the files exists and may not be replaced.
    """
    for path in paths:
        if path.is_file() or path.is_dir():
            replaceable_digest(path.resolve(), path, overwrite=overwrite)


def replaceable_digest(target: Path, given: Path, *, overwrite: bool = False, update: bool = False) -> str | None:
    """The digest of the file of ours to be replaced; None if there is no file, or the user allows replacing any.

    With `update`, the new content is derived from the current one, as when a label is added, so nothing is lost and
    any file may be replaced.
    """
    remedy = "Name another place for the output, or replace it with overwrite=True."
    command = _command.get() or _Command(overwrite=False)
    if update:
        return None
    if target in command.written:
        raise ConfigError(f"Cannot write {given}: this command writes two outputs to it. Name another place for one.")
    try:
        status = target.stat()
    except OSError:
        return None
    inside = target.is_dir() and any(path.is_relative_to(target) for path in command.input_paths)
    if inside or (status.st_dev, status.st_ino) in command.inputs:
        raise ConfigError(f"Cannot write {given}: it is an input of this command. Name another place for the output.")
    known = _read_record(target.parent).get(target.name, [])
    if known and (digest := digest_of(target)) in known:
        return digest
    if overwrite or command.overwrite:
        return None
    if known:
        raise ConfigError(f"{given} was changed after majorant wrote it. {remedy}")
    raise ConfigError(f"{given} exists, and majorant did not write it. {remedy}")


def record_text(folder: Path, digests: Mapping[str, tuple[str, str | None]]) -> str:
    """The record to write before files in a folder are replaced: their new digests and their old ones.

    With both, a run that is killed in between leaves no file of ours that looks like one of the user's.
    """
    known = {name: listed for name, listed in _read_record(folder).items() if (folder / name).exists()}
    known |= {name: [new, *([old] if old not in (None, new) else [])] for name, (new, old) in digests.items()}
    return json.dumps({"format": RECORD_FORMAT, "version": 1, "files": dict(sorted(known.items()))}, indent=1) + "\n"


def note_written(paths: Iterable[Path]) -> None:
    """Remember that the running command wrote these files."""
    if (command := _command.get()) is not None:
        command.written.update(paths)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content as hexadecimal digits; for a folder, that of its file names and sizes."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if not file.is_dir())
        listed = [f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in files]
        return hashlib.sha256("\n".join(listed).encode("utf-8", "surrogateescape")).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_record(folder: Path) -> dict[str, list[str]]:
    """The digests in a folder's record by file name; none if it is missing, damaged or not ours."""
    try:
        content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if content["format"] != RECORD_FORMAT:
            return {}
        return {str(name): [str(digest) for digest in listed] for name, listed in content["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def is_label_file(path: Path) -> bool:
    """Whether a file holds items to label, also if it is empty of labels: it has the columns or fields of one.

    The previous version called the draw number `draw`.
    """
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except OSError:
        return False
    text = head.replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe\xfe\xff").decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip() and not re.match(r'"?sep=.', line)]
    if not lines:
        return False
    if lines[0].lstrip()[:1] in ("[", "{"):
        return DESIGN_COLUMN in text
    names = {name.strip().strip("\"'").strip().casefold() for name in re.split(r"[,;\t|]", lines[0])}
    old = {"draw", "item"} <= names and any(re.match(r"label\b|label_", name) for name in names)
    return old or DRAW_COLUMN in names or DESIGN_COLUMN in names
