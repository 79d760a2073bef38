"""States as files: a zip of one JSON text and the arrays, with a version and a checksum, and nothing that runs code."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.atomic import whole_file
from majorant.errors import ConfigError, DataError
from majorant.estimate.online import State

FORMAT = "majorant-state"
VERSION = 1
HEADER = "state.json"
NO_SEAL = b"sha256:" + b"0" * 64  # the archive's comment, before it is known
STAMP = (1980, 1, 1, 0, 0, 0)  # a fixed date: the same state is the same bytes


def save_state(state: State, path: str | Path) -> None:
    """Write a state, whole or not at all; names may be text, numbers, truth values, None, and tuples of these.

    >>> import majorant as mj, tempfile
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")], "dawid-skene")
    >>> path = Path(tempfile.mkdtemp()) / "state.bin"
    >>> save_state(fit.state(), path)
    >>> load_state(path).method
    'dawid-skene'
    """
    content = state_bytes(state)
    with whole_file(path) as part:
        part.write_bytes(content)


def state_bytes(state: State) -> bytes:
    """A state as the content of a file.

    >>> state = State(method="la-one-pass", workers=("w",), labels=("n", "y"), arrays={"right": [1.0], "given": [2.0]})
    >>> state_of(state_bytes(state), "here").arrays["given"].tolist()
    [2.0]
    """
    members = {f"{name}.npy": _array_bytes(array) for name, array in sorted(state.arrays.items())}
    facts = {
        "method": state.method,
        "settings": dict(state.settings),
        "fitted": state.fitted,
        "items": [_encode(value) for value in state.items],
        "workers": [_encode(value) for value in state.workers],
        "labels": [_encode(value) for value in state.labels],
    }
    header = {"format": FORMAT, "version": VERSION, "sha256": _digest(facts, members), **facts}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = NO_SEAL
        for name, content in {HEADER: json.dumps(header).encode(), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), content)
    body = file.getvalue()
    return body[: -len(NO_SEAL)] + _seal(body)


def load_state(path: str | Path) -> State:
    """Read a state that `save_state` wrote; a file that is foreign, cut off, altered or newer is refused.

    >>> load_state("nowhere.bin")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: nowhere.bin: cannot be read (No such file or directory). Check the name.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the name.") from None
    return state_of(content, str(path))


def state_of(content: bytes, source: str) -> State:
    """The state that a file's content holds; `source` names it in errors."""
    header, members = _members(content, source)
    if header.get("version") != VERSION:
        raise DataError(f"{source}: state version {header.get('version')}, this majorant reads version {VERSION}.")
    facts = {name: header.get(name) for name in ("method", "settings", "fitted", "items", "workers", "labels")}
    missing = [name for name, value in facts.items() if value is None]
    if missing:
        raise DataError(f"{source}: the state lacks {', '.join(missing)}.")
    if header.get("sha256") != _digest(facts, members) or content[-len(NO_SEAL) :] != _seal(content):
        raise _damaged(source)
    try:
        return State(
            method=header["method"],
            settings=header["settings"],
            fitted=header["fitted"],
            items=tuple(_decode(value) for value in header["items"]),
            workers=tuple(_decode(value) for value in header["workers"]),
            labels=tuple(_decode(value) for value in header["labels"]),
            arrays={name.removesuffix(".npy"): _array(content) for name, content in members.items()},
        )
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _members(content: bytes, source: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the arrays of a file, as bytes."""
    if not content.startswith(b"PK"):
        raise _foreign(source)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = {name: archive.read(name) for name in sorted(archive.namelist())}
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, OSError):
        raise _damaged(source) from None
    except Exception as error:  # zlib.error is all that is left
        raise _damaged(source) from error
    try:
        header = json.loads(found.pop(HEADER))
    except (KeyError, ValueError):
        raise _foreign(source) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _foreign(source)
    return header, found


def _seal(content: bytes) -> bytes:
    """The digest of all but the seal at the end of a file: no bit can change unnoticed, the archive's own included."""
    return b"sha256:" + hashlib.sha256(content[: -len(NO_SEAL)]).hexdigest().encode()


def _digest(facts: dict[str, Any], members: dict[str, bytes]) -> str:
    digest = hashlib.sha256(json.dumps([facts[name] for name in sorted(facts)]).encode())
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])} ".encode())
        digest.update(members[name])
    return digest.hexdigest()


def _array_bytes(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _array(content: bytes) -> NDArray[Any]:
    try:
        return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
    except (ValueError, EOFError):
        raise DataError("the state holds an array that cannot be read.") from None


def _foreign(source: str) -> DataError:
    return DataError(f"{source}: not a state file; save_state and `majorant aggregate` write them.")


def _damaged(source: str) -> DataError:
    return DataError(
        f"{source}: the state file is cut off or was altered. Take a copy of it, or start anew without it."
    )


def _encode(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_encode(part) for part in value]  # names are hashable: a list can only have been a tuple
    if value is None or isinstance(value, str | int | float):
        return value
    raise ConfigError(f"state: the name {value!r} is a {type(value).__name__}, which cannot be saved as JSON.")


def _decode(value: Any) -> Any:
    return tuple(_decode(part) for part in value) if isinstance(value, list) else value
