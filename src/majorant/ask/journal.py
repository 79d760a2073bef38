"""What a person typed is written down before the file of labels is replaced: one line per save, never rewritten.

Each line holds the bytes that a save took out of the file and the bytes that it put in, so any state of the file can
be restored.  A change that another program made is recorded when majorant next opens the file.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from majorant.atomic import cannot_write, lock_exclusively
from majorant.errors import ConfigError, DataError
from majorant.ownership import JOURNAL_ENDING

JOURNAL_FORMAT = "majorant-journal"


@dataclass(frozen=True, slots=True)
class Save:
    """One line of a journal."""

    number: int
    at: str
    change: dict[str, Any]  # what was done, such as {"item": "q7", "label": "yes"}
    start: int
    removed: bytes
    added: bytes
    digest: str  # of the file afterwards

    def apply(self, content: bytes) -> bytes:
        """The content of the file after this save."""
        if self.start < 0:  # the whole file
            return self.added
        end = self.start + len(self.removed)
        if content[self.start : end] != self.removed:
            raise DataError(f"save {self.number} of the journal does not fit the one before it.")
        return content[: self.start] + self.added + content[end:]


def journal_path(path: Path) -> Path:
    """The journal of a file of labels."""
    return path.with_name(path.name + JOURNAL_ENDING)


def read_saves(path: Path) -> list[Save]:
    """The saves of a file of labels, in order; a line that was cut off in a crash is left out."""
    try:
        lines = journal_path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError(f"Cannot read {journal_path(path)}: {error.strerror or error}.") from None
    saves = list[Save]()
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            record = json.loads(line)
            removed, added = (base64.b64decode(record[name]) for name in ("removed", "added"))
            at, change, digest = str(record["at"]), dict(record["change"]), str(record["sha256"])
            saves.append(Save(len(saves) + 1, at, change, int(record["start"]), removed, added, digest))
    return saves


def states(saves: list[Save]) -> Iterator[bytes]:
    """The content of the file after each save."""
    content = b""
    for save in saves:
        content = save.apply(content)
        yield content


def state_after(path: Path, number: int) -> bytes:
    """The content of a file of labels after one of its saves."""
    saves = read_saves(path)
    if not 0 < number <= len(saves):
        there = f"It has the states 1 to {len(saves)}." if saves else "It has none."
        raise ConfigError(f"{journal_path(path)} has no state {number}. {there}")
    content = [*states(saves[:number])][-1]
    if hashlib.sha256(content).hexdigest() != saves[number - 1].digest:
        raise DataError(f"{journal_path(path)} is damaged: state {number} cannot be put together. Try another state.")
    return content


def note_save(path: Path, after: bytes, change: dict[str, Any]) -> None:
    """Append what is about to be saved, on disk when this returns; first what another program changed since."""
    saves, now = read_saves(path), path.read_bytes() if path.exists() else b""
    before: bytes | None = b""
    try:
        for state in states(saves):
            before = state
    except DataError:  # a damaged journal must not stop anybody from labelling
        before = None
    lines = []
    if now != before:
        lines.append(_line(before, now, {"found": "as another program left it" if saves else "when first opened"}))
    if after != now:
        lines.append(_line(now, after, change))
    journal = journal_path(path)
    try:
        if not saves and journal.exists() and journal.stat().st_size:
            raise ConfigError(f"{journal} is not a journal of majorant. Rename it, so that labels can be recorded.")
        with journal.open("ab") as file:
            if file.tell() and not journal.read_bytes().endswith(b"\n"):
                file.write(b"\n")  # after a line that was cut off
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        if not saves:
            with contextlib.suppress(OSError):
                journal.chmod(path.stat().st_mode & 0o777)
    except OSError as error:
        raise cannot_write(journal, error) from error


def _line(before: bytes | None, after: bytes, change: dict[str, Any]) -> bytes:
    """The change from one content to the next; the whole content if the one before is not known."""
    start, removed, added = -1, b"", after
    if before is not None:
        most = min(len(before), len(after))
        start = _common(before, after, most)
        end = _common(before[::-1], after[::-1], most - start)
        removed, added = before[start : len(before) - end], after[start : len(after) - end]
    record = {
        "journal": JOURNAL_FORMAT,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "change": change,
        "start": start,
        "removed": base64.b64encode(removed).decode(),
        "added": base64.b64encode(added).decode(),
        "sha256": hashlib.sha256(after).hexdigest(),
    }
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _common(before: bytes, after: bytes, most: int) -> int:
    """How many bytes at the start are equal, up to `most`."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if before[low:middle] == after[low:middle] else (low, middle - 1)
    return low


def label_lock(path: Path, program: str) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of a file of labels, so that no other program of ours writes labels to it meanwhile."""
    return lock_exclusively(path, program, "Close it there, or wait until it is done; no label was lost.")
