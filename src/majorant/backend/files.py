"""Votes that lie in a folder: row groups are the parts, and the rows of a fit lie in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from majorant.backend.base import Backend, Part, Table
from majorant.backend.checkpoint import Checkpoint
from majorant.backend.counting import stored_patterns, stored_votes_by_worker
from majorant.backend.spill import Report, silent
from majorant.backend.store import StoredVotes
from majorant.backend.stored_engine import StoredEngine, stored_engine
from majorant.estimate import ESTIMATORS
from majorant.estimate.em import Progress
from majorant.estimate.fit import Fit
from majorant.output import Columns
from majorant.tally import Patterns, counts
from majorant.threads import in_order, thread_count
from majorant.votes import IntArray, Votes

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class FileBackend(Backend):
    """Stored votes, what a run may use in bytes, and whom it tells how far it is: of votes, and of steps of a fit."""

    votes: StoredVotes
    memory: int
    report: Report = silent
    steps: Progress | None = None
    place: ClassVar[str] = "with memory="

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.gold_i is not None

    @property
    def engine(self) -> StoredEngine:
        """The blocks of these votes."""
        return stored_engine(self.votes, memory=self.memory, report=self.report)

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """What `fn` returns for each row group, by threads; a few row groups are in memory at a time."""
        stored = self.votes

        def of_group(group: int) -> T:
            return fn(Part(stored.group(group, group + 1), int(stored.item_g[group])))

        for group, found in enumerate(in_order(of_group, range(stored.n_groups), thread_count())):
            self.report(doing, int(stored.vote_g[group + 1]), stored.n_votes)
            yield found

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items, in one pass over the sorted file."""
        return stored_patterns(self.votes, rows, report=self.report)

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, (J, K): by SQL, since a sum for each row group could be large."""
        return np.asarray(stored_votes_by_worker(self.votes, memory=self.memory), dtype=np.int64)

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return self.votes.take_items(item_p)

    def progress(self, method: str, seed: int) -> Progress:
        """The steps of a loop are kept in the folder: the same fit to the same votes, cut off before, goes on there."""
        drawn = seed if ESTIMATORS[method].stochastic else ""
        key = f"{self.votes.fingerprint} {method} {drawn}"
        return Checkpoint(self.votes.folder / "steps" / method, key, progress=self.steps)

    def labelled(self, fit: Fit, table: Table) -> Iterator[Columns]:
        """The table of labels, some items at a time, in their order: what it draws is what one table would draw."""
        stored = self.votes
        for group, votes in enumerate(stored.groups()):
            start, stop = int(stored.item_g[group]), int(stored.item_g[group + 1])
            named = replace(votes, items=tuple(stored.items[start:stop]))
            yield table(named, Part(votes, start).of(fit))
            self.report("writing", stop, len(stored.items))
