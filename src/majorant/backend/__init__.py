"""Votes in memory, in sorted files, or on a Spark cluster, behind one protocol.

May import `read`, `methods` and what is below them; imported by everything that counts or fits.
"""

from __future__ import annotations

from majorant.backend.base import (
    AnyVotes,
    Backend,
    LabelFiles,
    MemoryBackend,
    Part,
    as_backend,
    fit_of_items,
    of_fits,
    rows_alone,
)

__all__ = [
    "AnyVotes",
    "Backend",
    "LabelFiles",
    "MemoryBackend",
    "Part",
    "as_backend",
    "fit_of_items",
    "of_fits",
    "rows_alone",
]
