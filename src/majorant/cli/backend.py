"""Where a command works on the votes: in memory, or from sorted files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from majorant.cli.memory import Large
from majorant.cli.source import Source

if TYPE_CHECKING:
    from majorant.backend import Backend


@contextlib.contextmanager
def opened(
    source: Source,
    large: Large | None,
    *,
    out: str | None = None,
    by: str | None = None,
    masked: bool = False,
) -> Iterator[Backend]:
    """The votes, read and ready; `out` is where a table will go, `by` a column to slice by, `masked` hides names."""
    if large is not None:
        from majorant.backend.masking import mask_stored

        with large.backend(source, out, by) as stored:
            yield replace(stored, votes=mask_stored(stored.votes)) if masked else stored
    else:
        votes = source.read(by=by)  # before the rest is imported: a wrong table is told at once
        from majorant.backend import MemoryBackend
        from majorant.io.mask import mask

        yield MemoryBackend(mask(votes) if masked else votes)
