"""Numbers in place of names, for stored votes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from majorant.backend.names import Names
from majorant.backend.store import StoredVotes
from majorant.io.mask import mask_account
from majorant.votes import IntArray


class Numbers(Names):
    """1, 2, ... in place of the names in a file."""

    def take(self, code_p: IntArray) -> list[Hashable]:
        """The numbers of some codes."""
        return [int(code) + 1 for code in code_p]


def mask_stored(stored: StoredVotes) -> StoredVotes:
    """The same votes, items and workers numbered from 1 in the order in which they first appear; labels stay."""
    names = stored.items
    items, workers = Numbers(names.path, names.n_names, names.kind), tuple(range(1, len(stored.workers) + 1))
    return replace(stored, items=items, workers=workers, account=mask_account(stored.account), text=None)
