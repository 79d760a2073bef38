"""Votes in memory, in sorted files, or on a Spark cluster, behind one protocol.

May import `read`, `methods` and what is below them; imported by everything that counts or fits.
"""

from __future__ import annotations

from typing import Any, Unpack

from majorant.backend.base import (
    AnyVotes,
    Backend,
    LabelFiles,
    MemoryBackend,
    Part,
    fit_of_items,
    of_fits,
    rows_alone,
)
from majorant.read import Reading, as_votes
from majorant.read.options import ReadOptions

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


def as_backend(votes: Any, **reading: Unpack[Reading]) -> Backend:
    """Return votes as a backend.

    Parameters
    ----------
    votes
        A backend, which is returned unchanged, or anything that `majorant.read` accepts.  The votes of a large Spark
        frame stay on the cluster.
    **reading
        Arguments of `majorant.read`.

    Examples
    --------
    >>> as_backend([("a", "w", 1), ("a", "x", 0)]).votes.shape
    (1, 2, 2)
    """
    if isinstance(votes, Backend) and not reading:
        return votes
    if type(votes).__module__.startswith("pyspark.sql"):
        from majorant.backend.spark.reading import read_frame

        return read_frame(votes, ReadOptions.of(reading))
    return MemoryBackend(as_votes(votes, **reading))
