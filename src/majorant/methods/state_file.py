"""State files: a line with version and checksum, followed by a NumPy archive without pickled objects."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from majorant.atomic import whole_file
from majorant.errors import ConfigError, DataError
from majorant.methods.online import State

STATE_FORMAT, STATE_VERSION = b"majorant-state", 1
STATE_FACTS = ("method", "settings", "items", "workers", "labels")


def save_state(state: State, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a state to a file atomically.

    Parameters
    ----------
    state : State
        From `fit.state()`. Names may be strings, numbers, booleans, None, or tuples of these.
    path
        The file.
    overwrite
        Whether to replace a file that majorant did not write, or that has changed since.

    Examples
    --------
    >>> import majorant as mj, tempfile
    >>> fit = mj.aggregate([("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")], "dawid-skene")
    >>> path = Path(tempfile.mkdtemp()) / "crowd.state"
    >>> save_state(fit.state(), path)
    >>> load_state(path).method
    'dawid-skene'
    """
    content = state_bytes(state)
    with whole_file(path, overwrite=overwrite) as part:
        part.write_bytes(content)


def load_state(path: str | Path) -> State:
    """Load a state saved by `save_state`.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    State
        The saved state.

    Raises
    ------
    DataError
        If the file is not a state, is truncated or was modified, or has another version.

    Examples
    --------
    >>> load_state("nowhere.state")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: nowhere.state: cannot be read (No such file or directory). Check the name.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the name.") from None
    return parse_state(content, str(path))


def state_bytes(state: State) -> bytes:
    """The content of a state file; the same state always gives the same bytes.

    >>> state = State(method="la-one-pass", workers=("w",), labels=("n", "y"), arrays={"right": [1.0], "given": [2.0]})
    >>> parse_state(state_bytes(state), "here").arrays["given"].tolist()
    [2.0]
    """
    facts = {name: getattr(state, name) for name in STATE_FACTS} | {"settings": dict(state.settings)}
    text = json.dumps({name: _encode(value) for name, value in facts.items()}).encode()
    file = io.BytesIO()
    members: dict[str, Any] = {"facts": np.frombuffer(text, np.uint8), **state.arrays}
    np.savez(file, **members)
    body = file.getvalue()
    return b"%s %d %s\n" % (STATE_FORMAT, STATE_VERSION, hashlib.sha256(body).hexdigest().encode()) + body


def parse_state(content: bytes, source: str) -> State:
    """Parse the content of a state file; `source` is its name in error messages."""
    head, _, body = content.partition(b"\n")
    words = head.split(b" ")
    if words[0] != STATE_FORMAT:
        raise DataError(f"{source}: not a state file; save_state and `majorant aggregate` write them.")
    if words[1:2] != [b"%d" % STATE_VERSION]:
        version = b" ".join(words[1:2]).decode(errors="replace")
        raise DataError(f"{source}: state version {version}, this majorant reads version {STATE_VERSION}.")
    damaged = DataError(
        f"{source}: the state file is truncated or was modified. Restore a copy, or start without a state."
    )
    if words[2:] != [hashlib.sha256(body).hexdigest().encode()]:
        raise damaged
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(arrays.pop("facts").tobytes())
        named = {name: tuple(map(_decode, facts[name])) for name in ("items", "workers", "labels")}
        return State(**{name: facts[name] for name in STATE_FACTS} | named, arrays=arrays)
    except (KeyError, TypeError, ValueError, AttributeError, EOFError, zipfile.BadZipFile):
        raise damaged from None
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _encode(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [_encode(part) for part in value]  # names are hashable, so a list in the file was a tuple
    if value is None or isinstance(value, str | int | float | dict):
        return value
    raise ConfigError(f"state: the name {value!r} is a {type(value).__name__}, which cannot be saved as JSON.")


def _decode(value: Any) -> Any:
    return tuple(map(_decode, value)) if isinstance(value, list) else value
