"""Size limits, each with a name that error messages use and an environment variable that changes it.

If exceeding a limit only leaves something out, the result says so. docs/limits.md has the measurements for each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from majorant.errors import ConfigError, DataError

LIMITS = {
    "CONFUSION_CELLS": 250_000,  # workers x classes^2, where votes are few: models of each worker take time by cells
    "CELLS_A_VOTE": 20,  # ... where they are many
    "METHOD_CELLS": 20_000_000,  # of one method's tables: those with more are not compared
    "POSTERIOR_CELLS": 200_000_000,  # items x classes: a probability each
    "COUNT_CELLS": 2_000,  # ways for the votes on an item to fall, over all numbers of votes
    "RESAMPLED_CLASSES": 20,  # of one confusion matrix for all, where there are fewer items than it has cells
    "SLICES": 100,
    "NAME_LENGTH": 1_000_000,  # characters in the name of an item, a worker or a label
    "NESTING": 500,  # lists and objects inside each other in a value of JSON
    "SPARK_DRIVER_VOTES": 2_000_000,  # rows of a Spark frame that its driver works on alone; of more, the cluster
    "UNPACKED_RATIO": 300,  # bytes that one byte of a packed file becomes
    "ARCHIVE_MEMBERS": 200_000,  # files in an archive
    "MEMBER_BYTES": 100_000_000,  # of one file in an archive
    "SHEET_MEMORY": 4_000_000_000,  # bytes that the process may take that reads a spreadsheet
    "STREAM_BYTES": 20_000_000_000,  # of standard input or a pipe
}
FIXED = {"COLUMN_TEXT": 2_147_483_647}  # bytes of text in one column of some rows: Arrow's, which no setting moves
PREFIX = "MAJORANT_"


def limit(name: str) -> int:
    """The limit of this name, or the value of the environment variable MAJORANT_<name>.

    >>> limit("SLICES")
    100
    """
    given = os.environ.get(PREFIX + name)
    if given is None:
        return LIMITS[name]
    try:
        return int(float(given))
    except (ValueError, OverflowError):
        raise ConfigError(f"{PREFIX}{name}={given}: a limit is a whole number.") from None


def refuse_beyond(name: str, size: float, what: str, instead: str) -> None:
    """Raise an error if a size exceeds a limit.

    >>> refuse_beyond("SLICES", 5_000, "slices", "Slice by a column with fewer values")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: 5,000 slices: the limit SLICES is 100. Slice by a column with fewer values, or set the
    environment variable MAJORANT_SLICES.
    """
    if size > limit(name):
        raise DataError(
            f"{size:,.0f} {what}: the limit {name} is {limit(name):,}. {instead}, or set the environment variable "
            f"{PREFIX}{name}."
        )


def beyond_fixed(name: str, source: str, what: str, instead: str) -> DataError:
    """The error for exceeding a limit that no setting can change.

    >>> print(beyond_fixed("COLUMN_TEXT", "a.parquet", "bytes of text in one column", "Name labels by an id"))
    a.parquet: more than 2,147,483,647 bytes of text in one column, the limit COLUMN_TEXT. Name labels by an id.
    """
    return DataError(f"{source}: more than {FIXED[name]:,} {what}, the limit {name}. {instead}.")


def refuse_size(n_items: int, n_workers: int, n_classes: int, n_votes: int) -> None:
    """Refuse votes whose models would take far longer, or more memory, than the votes themselves."""
    few = "Merge rare labels, check that labels are labels, or label with majorant aggregate --method one-coin"
    n_cells = n_workers * n_classes**2
    if n_cells > limit("CELLS_A_VOTE") * n_votes:
        what = f"cells in {n_workers:,} confusion matrices of {n_classes:,} classes, for {n_votes:,} votes"
        refuse_beyond("CONFUSION_CELLS", n_cells, what, few)
    refuse_beyond("POSTERIOR_CELLS", n_items * n_classes, f"probabilities of {n_classes:,} classes", few)


def refuse_slices(n_slices: int) -> None:
    """Refuse more slices than the level can be shared among."""
    what = "slices, too little of the level is left for each"
    refuse_beyond("SLICES", n_slices, what, "Slice by a column with fewer values")


def too_many_classes(n_classes: int, n_items: int) -> bool:
    """Whether a confusion matrix has more cells than there are items to learn it from, and is large."""
    return n_classes > max(limit("RESAMPLED_CLASSES"), math.isqrt(n_items))


def sizes_within(items_h: Mapping[int, float]) -> list[int]:
    """The numbers of votes per item that can be looked at together: the most common, as far as COUNT_CELLS allows.

    >>> sizes_within({3: 900, 5: 80, 100_000: 1})
    [3, 5]
    """
    room, kept = limit("COUNT_CELLS"), []
    for h in sorted(items_h, key=lambda h: (-items_h[h], h)):
        room -= h + 1
        if room < 0:
            break
        kept.append(h)
    return sorted(kept)
