"""Decides which existing files may be replaced: those that majorant wrote and nobody has changed since.

What majorant wrote says so itself: result.json lists the digests of the files beside it and its own, and a page or
summary ends with its digest.  Any other file belongs to the user and is replaced only with overwrite=True.  An input of
the running command is never replaced, and neither is what people typed: items to label, their design and journal.
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
from typing import Any

from majorant.errors import ConfigError, use

DRAW_COLUMN, DESIGN_COLUMN = "majorant_draw", "majorant_design"  # columns and fields of items to label
JOURNAL_ENDING = ".journal"
RESULT = "result.json"
SEAL = re.compile(rb"\n<!-- majorant sha256:([0-9a-f]{64}) -->\n\Z")


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


def refuse_unsafe(paths: Iterable[Path], *, overwrite: bool = False, tables: bool = False) -> None:
    """Refuse to replace an input, what a person typed, or a file that majorant did not write.

    A table cannot say who wrote it, so with `tables` such a file is refused only later, if its content would change.

    Raises
    ------
    ConfigError
        If one of the files exists and may not be replaced.
    """
    for path in paths:
        if path.is_file() or path.is_dir():
            try:
                replaceable_digest(path.resolve(), path, overwrite=overwrite)
            except NotOursError:
                if not tables:
                    raise


class NotOursError(ConfigError):
    """An existing file that does not say that majorant wrote it."""


def replaceable_digest(target: Path, given: Path, *, overwrite: bool = False) -> str | None:
    """The digest of the file that may be replaced; None if there is no file, or the user allows replacing any.

    Raises
    ------
    ConfigError
        If there is one that may not be replaced.
    """
    remedy = f"Name another place for the output, or replace it with {use('overwrite', True)}."
    command = _command.get() or _Command(overwrite=False)
    if target in command.written:
        raise ConfigError(f"Cannot write {given}: this command writes two outputs to it. Name another place for one.")
    try:
        status = target.stat()
    except OSError:
        return None
    inside = target.is_dir() and any(path.is_relative_to(target) for path in command.input_paths)
    if inside or (status.st_dev, status.st_ino) in command.inputs:
        raise ConfigError(f"Cannot write {given}: it is an input of this command. Name another place for the output.")
    if is_human_input(target):
        raise ConfigError(
            f"Cannot write {given}: it belongs to items that people label, and no output ever replaces these, also not "
            f"with {use('overwrite', True)}. Name another place for the output."
        )
    if overwrite or command.overwrite:
        return None
    if target.is_dir():
        raise ConfigError(f"{given} exists. {remedy}")
    digest, listed = digest_of(target), _listed_digests(target.parent).get(target.name, [])
    if digest in listed or _seals_itself(target):
        return digest
    if listed:
        raise NotOursError(f"{given} was changed after majorant wrote it. {remedy}")
    raise NotOursError(f"{given} exists, and nothing beside it says that majorant wrote it. {remedy}")


def note_written(paths: Iterable[Path]) -> None:
    """Remember that the running command wrote these files."""
    if (command := _command.get()) is not None:
        command.written.update(paths)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(page: str) -> str:
    """A page or a summary with its digest at the end, in a comment that no reader sees."""
    text = page if page.endswith("\n") else f"{page}\n"
    return (
        f"{text}<!-- majorant sha256:{hashlib.sha256(text[:-1].encode('utf-8', 'backslashreplace')).hexdigest()} -->\n"
    )


def result_digest(content: Mapping[str, Any]) -> str:
    """The digest of a result, without the entry that holds it."""
    files = {name: digest for name, digest in content.get("files", {}).items() if name != RESULT}
    text = json.dumps({**content, "files": files}, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _seals_itself(path: Path) -> bool:
    """Whether a file holds its own digest, and it is right."""
    try:
        content = path.read_bytes()
        if path.suffix == ".json":
            result = json.loads(content)
            return bool(result["files"][RESULT] == f"sha256:{result_digest(result)}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    seal = SEAL.search(content[-200:])
    return seal is not None and hashlib.sha256(content[: -len(seal[0])]).hexdigest() == seal[1].decode()


def _listed_digests(folder: Path) -> dict[str, list[str]]:
    """The digests in a folder's result.json, and in one that a run was about to put there when it was killed."""
    digests: dict[str, list[str]] = {}
    for path in (folder / RESULT, *folder.glob(f".{RESULT}.majorant-*.part")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            for name, digest in json.loads(path.read_text(encoding="utf-8"))["files"].items():
                digests.setdefault(str(name), []).append(str(digest).removeprefix("sha256:"))
    return digests


def is_human_input(path: Path) -> bool:
    """Whether a file holds what people typed, or what gives it its meaning: items to label, a design, a journal."""
    if path.is_dir():
        return False
    if path.with_name(path.name + JOURNAL_ENDING).exists() or is_label_file(path):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(1 << 12)
    except OSError:
        return False
    return b'"majorant-design"' in head or b'"majorant-journal"' in head


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
