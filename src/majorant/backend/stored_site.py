"""Votes that lie in a folder, as the line sees them: row groups are the parts, and the rows of a fit lie in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from majorant.backend.checkpoint import Checkpoint
from majorant.backend.counting import stored_patterns, stored_votes_by_worker
from majorant.backend.spill import Report, silent
from majorant.backend.store import StoredVotes
from majorant.backend.stored_engine import StoredEngine, stored_engine
from majorant.blocks import add_up
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS
from majorant.estimate.em import Progress
from majorant.estimate.fit import Fit
from majorant.kernels import Block, FloatArray
from majorant.lots import AT_ONCE, drawn
from majorant.output import Columns
from majorant.site import LABELS, LabelFiles, Part, Table
from majorant.tally import Patterns, counts
from majorant.threads import in_order, thread_count
from majorant.votes import IntArray, Votes

T = TypeVar("T")
METHODS = tuple(name for name, method in ESTIMATORS.items() if method.distributed and method.needs != "confusion")


@dataclass(frozen=True, slots=True, eq=False)
class StoredSite:
    """Stored votes, what a run may use in bytes, and whom it tells how far it is: of votes, and of steps of a fit."""

    votes: StoredVotes
    memory: int
    report: Report = silent
    progress: Progress | None = None

    @property
    def whole(self) -> None:
        """The votes need not fit into memory."""

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.gold_i is not None

    @property
    def methods(self) -> Sequence[str]:
        """The distributed methods."""
        return METHODS

    def refuse(self, method: str) -> None:
        """Refuse a method that needs all votes in memory."""
        choice = ("combination", *self.methods)
        if method not in choice:
            what = "needs all votes in memory: leave out memory=" if method in ESTIMATORS else "is not a method"
            raise ConfigError(f"{method} {what}, or choose auto or one of: {', '.join((*choice[1:], choice[0]))}.")

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """What `fn` returns for each row group, by threads; a few row groups are in memory at a time."""
        stored = self.votes

        def of_group(group: int) -> T:
            return fn(Part(stored.group(group, group + 1), int(stored.item_g[group])))

        for group, found in enumerate(in_order(of_group, range(stored.n_groups), thread_count())):
            self.report(doing, int(stored.vote_g[group + 1]), stored.n_votes)
            yield found

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:
        """The sum over row groups of what `fn` returns."""
        return add_up(self.map(fn, doing=doing))

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items, in one pass over the sorted file."""
        return stored_patterns(self.votes, rows, report=self.report)

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, (J, K): by SQL, since a sum for each row group could be large."""
        return np.asarray(stored_votes_by_worker(self.votes, memory=self.memory), dtype=np.int64)

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return self.votes.take_items(item_p)

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of items drawn by their names, some names in memory at a time."""
        items = self.votes.items
        starts = range(0, len(items), AT_ONCE)
        return drawn(((start, items[start : start + AT_ONCE]) for start in starts), share, seed)

    @property
    def engine(self) -> StoredEngine:
        """The blocks of these votes."""
        return stored_engine(self.votes, memory=self.memory, report=self.report)

    def fit(self, method: str, seed: int) -> Fit:
        """The fit of a distributed method; its probabilities lie in a file.

        The steps of a loop are kept in the folder: the same fit to the same votes, cut off before, goes on from there.
        """
        self.refuse(method)
        stored, estimator = self.votes, ESTIMATORS[method]
        more: dict[str, Any] = {"rng": np.random.default_rng(seed)} if estimator.stochastic else {}
        if estimator.iterative:
            key = f"{stored.fingerprint} {method} {seed if estimator.stochastic else ''}"
            more["progress"] = Checkpoint(stored.folder / "steps" / method, key, progress=self.progress)
        # Given an engine, estimators ask votes for shape, names and counts alone: StoredVotes has these.
        return estimator().fit(cast("Votes", stored), engine=self.engine, **more)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of each item, in a file."""
        return self.engine.rows(fn)

    def labelled(self, fit: Fit, table: Table) -> Iterator[Columns]:
        """The table of labels, some items at a time, in their order: what it draws is what one table would draw."""
        stored = self.votes
        for group, votes in enumerate(stored.groups()):
            start, stop = int(stored.item_g[group]), int(stored.item_g[group + 1])
            named = replace(votes, items=tuple(stored.items[start:stop]))
            yield table(named, Part(votes, start).of(fit))
            self.report("writing", stop, len(stored.items))

    def label_files(self, folder: Path, fit: Fit, table: Table) -> LabelFiles:
        """One table, to be written in a stream."""
        return LabelFiles([], {folder / LABELS: self.labelled(fit, table)})
