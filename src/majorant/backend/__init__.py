"""Where the votes lie: in memory, in sorted files, in a Spark frame; one protocol for all."""

from __future__ import annotations

from typing import Any, Unpack

from majorant.backend.base import (
    AnyVotes,
    Backend,
    Countable,
    LabelFiles,
    MemoryBackend,
    Part,
    fit_of_items,
    of_fit,
    of_fits,
    rows_alone,
)
from majorant.read import Reading, as_votes

__all__ = [
    "AnyVotes",
    "Backend",
    "Countable",
    "LabelFiles",
    "MemoryBackend",
    "Part",
    "as_backend",
    "fit_of_items",
    "of_fit",
    "of_fits",
    "rows_alone",
]


def as_backend(votes: Any, **reading: Unpack[Reading]) -> Backend:
    """A backend itself, or votes in memory: those given, or what `read` makes of a file, frame, dict or list.

    >>> as_backend([("a", "w", 1), ("a", "x", 0)]).votes.shape
    (1, 2, 2)
    """
    return votes if isinstance(votes, Backend) and not reading else MemoryBackend(as_votes(votes, **reading))
