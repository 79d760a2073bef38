"""The steps of a fit on disk: after a cut, the loop goes on from the last parameters as if nothing had happened."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from majorant.atomic import make_folder, whole_file
from majorant.errors import DataError
from majorant.estimate.em import Climb

VERSION = 1
EVERY_SECONDS = 20.0


class Checkpoint:
    """Remembers where each loop of a fit is, a file each; call it as `progress`.

    `key` says what is fitted to what: steps of another fit are not taken up.
    """

    def __init__(
        self,
        folder: Path,
        key: str,
        *,
        every_seconds: float | None = None,
        progress: Callable[[int, float], None] | None = None,
    ) -> None:
        self.folder, self.key, self.progress = make_folder(folder), key, progress
        self.every_seconds = EVERY_SECONDS if every_seconds is None else every_seconds
        self.loop = 0
        self.saved = time.monotonic()

    def __call__(self, step: int, objective: float) -> None:
        if self.progress is not None:
            self.progress(step, objective)

    def recall(self, begin: Climb) -> Climb:
        """Where the next loop was last, or its beginning."""
        self.loop += 1
        path = self._path()
        return load_climb(path, self.key, begin) if path.exists() else begin

    def keep(self, climb: Climb) -> None:
        """Write the state down if that was long ago, or if the loop has ended."""
        now = time.monotonic()
        if climb.converged or now - self.saved >= self.every_seconds:
            save_climb(self._path(), self.key, climb)
            self.saved = time.monotonic()

    def _path(self) -> Path:
        return self.folder / f"loop-{self.loop}.npz"


def save_climb(path: Path, key: str, climb: Climb) -> None:
    """Write a state: its digest, then arrays and one line of JSON, nothing that could run."""
    told = {"version": VERSION, "key": key, "n_iter": climb.n_iter, "converged": climb.converged,
            "history": len(climb.history), "fallback": climb.fallback is not None}  # fmt: skip
    points = {"params": climb.params, **{f"history{n}": point for n, point in enumerate(climb.history)}}
    if climb.fallback is not None:
        points["fallback"] = climb.fallback
    arrays = {f"{name}.{n}": array for name, point in points.items() for n, array in enumerate(point)}
    content = io.BytesIO()
    np.savez(content, told=np.array(json.dumps(told)), trace=np.array(climb.trace, dtype=float), **arrays)
    with whole_file(path) as part, part.open("wb") as file:
        file.write(hashlib.sha256(content.getbuffer()).digest())
        file.write(content.getbuffer())


def load_climb(path: Path, key: str, begin: Climb) -> Climb:
    """Read a state; one of another fit is passed over, one that is damaged or does not fit is an error."""
    try:
        with path.open("rb") as file:
            digest, saved = file.read(hashlib.sha256().digest_size), file.read()
        if hashlib.sha256(saved).digest() != digest:
            raise ValueError("its digest does not match")
        with np.load(io.BytesIO(saved), allow_pickle=False) as content:
            told = json.loads(str(content["told"]))
            if told["version"] != VERSION or told["key"] != key:
                return begin

            def point(name: str) -> Any:
                arrays = [content[f"{name}.{n}"] for n in range(len(begin.params))]
                if any(a.shape != np.shape(b) for a, b in zip(arrays, begin.params, strict=True)):
                    raise ValueError("parameters of another shape")
                kind = type(begin.params)
                return kind(*arrays) if hasattr(kind, "_fields") else kind(arrays)

            return Climb(
                n_iter=int(told["n_iter"]),
                params=point("params"),
                trace=tuple(content["trace"].tolist()),
                history=tuple(point(f"history{n}") for n in range(told["history"])),
                fallback=point("fallback") if told["fallback"] else None,
                converged=bool(told["converged"]),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is damaged ({error}). Remove it, or run again without resume=True.") from None
