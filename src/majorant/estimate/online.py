"""States of online methods: what is kept between batches of votes, saved as JSON with a version and without pickle."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from majorant.errors import ConfigError, DataError
from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray
from majorant.votes import Votes

FORMAT = "majorant-state"
VERSION = 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class State:
    """What a method knows of each worker it has seen; `arrays` by name, one entry for each of `workers`."""

    method: str
    workers: tuple[Hashable, ...]  # the user's own values
    labels: tuple[Hashable, ...]
    arrays: Mapping[str, FloatArray]

    def __post_init__(self) -> None:
        arrays = {}
        for name, values in self.arrays.items():
            array_j = np.array(values, dtype=float)
            if array_j.shape != (len(self.workers),):
                raise DataError(f"state: {name} must have shape ({len(self.workers)},), not {array_j.shape}.")
            array_j.flags.writeable = False
            arrays[name] = array_j
        object.__setattr__(self, "arrays", MappingProxyType(arrays))


def update(state: State, new_votes: Votes) -> Fit:
    """The labels of new votes, and through `.state()` the state after them; `state` itself stays as it is.

    Workers and labels are matched by their own values and may be new.  Items are not remembered: an item that comes
    back with further votes is judged by these alone.
    """
    from majorant.estimate import ESTIMATORS

    estimator = ESTIMATORS.get(state.method)
    if not getattr(estimator, "online", False) or estimator is None:
        raise ConfigError(f"state: {state.method!r} is not an online method.")
    return estimator().fit(new_votes, state=state)


def save_state(state: State, path: str | Path) -> None:
    """Write a state as JSON; names of workers and labels may be text, numbers, None, and tuples of these."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "method": state.method,
        "workers": [_encode(value) for value in state.workers],
        "labels": [_encode(value) for value in state.labels],
        "arrays": {name: array.tolist() for name, array in state.arrays.items()},
    }
    Path(path).write_text(json.dumps(content), encoding="utf-8")


def load_state(path: str | Path) -> State:
    """Read a state that `save_state` wrote."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        raise DataError(f"{path}: not a state file; save_state writes them.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path}: not a state file; save_state writes them.")
    if content.get("version") != VERSION:
        raise DataError(f"{path}: state version {content.get('version')}, this majorant reads version {VERSION}.")
    missing = {"method", "workers", "labels", "arrays"} - content.keys()
    if missing:
        raise DataError(f"{path}: the state lacks {', '.join(sorted(missing))}.")
    return State(
        method=content["method"],
        workers=tuple(_decode(value) for value in content["workers"]),
        labels=tuple(_decode(value) for value in content["labels"]),
        arrays={name: np.array(values, dtype=float) for name, values in content["arrays"].items()},
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
