"""Where the votes lie, as the line sees it: parts to map over and add up, a few items to take out, fits of all.

Three sites serve one line: votes in memory here, sorted files and a Spark frame in `backend`.  What adds up over items
is asked of all votes, part by part; what does not is asked of items that were taken into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from majorant.account import Account
from majorant.blocks import Rows, in_memory, rows_in
from majorant.estimate import ESTIMATORS, estimator_named
from majorant.estimate.fit import Fit
from majorant.kernels import Block, FloatArray
from majorant.lots import drawn
from majorant.merge import take_items
from majorant.output import Columns, Content
from majorant.tally import Patterns, counts, distinct_counts, votes_by_worker
from majorant.votes import IntArray, Votes, names_of

T = TypeVar("T")
LABELS = "labels.csv"
Table = Callable[[Votes, Fit], Columns]  # from some items and their part of a fit: the table of their labels


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A run of items with their votes, in memory while it is worked on; elsewhere items are known by their codes."""

    votes: Votes
    start: int = 0  # the code of the first item
    block: Block | None = None  # the same votes, where a fit says block by block what it says of items

    def of(self, fit: Fit) -> Fit:
        """The fit of these items."""
        if self.block is not None:
            posterior_ik = rows_in(fit.posterior, self.block)
        else:
            posterior_ik = np.asarray(fit.posterior[self.start : self.start + len(self.votes.items)])
        return replace(fit, posterior=posterior_ik, votes_i=self.votes.votes_i, names=names_of(self.votes))


class LabelFiles(NamedTuple):
    """Files of labels: those that are written already, and what is to be written with other files, all or none."""

    written: list[Path]
    content: dict[Path, Content]


class AnyVotes(Protocol):
    """What votes in memory, in files and on a cluster say of themselves."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""

    @property
    def n_votes(self) -> int:
        """How many votes there are."""

    @property
    def workers(self) -> tuple[Hashable, ...]:
        """The user's own names."""

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The user's own values, sorted."""

    @property
    def account(self) -> Account:
        """What became of the rows of the input."""

    @property
    def slices(self) -> tuple[Hashable, ...]:
        """The values by which items are sliced, if they are."""

    @property
    def slice_i(self) -> IntArray | None:
        """Which slice each item belongs to, -1 for none."""


class Countable(Protocol):
    """Votes as claims see them: counts of all, and some items in memory."""

    @property
    def votes(self) -> AnyVotes:
        """What is known of the votes without looking at each."""

    @property
    def whole(self) -> Votes | None:
        """All votes, where they are in memory anyway."""

    @property
    def has_gold(self) -> bool:
        """Whether there may be gold labels."""

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items, as `distinct_counts` gives them; `rows` says what is counted."""

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, (J, K)."""

    def take(self, item_p: IntArray) -> Votes:
        """The votes of the items with these codes, which rise, in memory."""

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of items drawn by their names, in the order of their lots: `majorant.lots`."""


class Site(Countable, Protocol):
    """Votes wherever they lie, as the line sees them."""

    @property
    def methods(self) -> Sequence[str]:
        """The estimators that can be fitted here and need nothing but votes."""

    def refuse(self, method: str) -> None:
        """Refuse a method that cannot be fitted here, with those that can."""

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """What `fn` returns for each part, in the order of the items; `doing` tells who watches."""

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:
        """The sum over parts of what `fn` returns."""

    def fit(self, method: str, seed: int) -> Fit:
        """The fit of an estimator to all votes; its rows may lie in a file, or be computed when they are asked for."""

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of the items of each block, for all items, as the rows of a fit are kept here."""

    def label_files(self, folder: Path, fit: Fit, table: Table) -> LabelFiles:
        """The labels of all items as a file in the folder."""


class LocalSite(Site, Protocol):
    """Votes that lie on this machine, so that their labels can pass through it."""

    def labelled(self, fit: Fit, table: Table) -> Columns | Iterator[Columns]:
        """The table of the labels of all items, or some items at a time in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class MemorySite:
    """Votes in memory: one part, which is all of them."""

    votes: Votes

    @property
    def whole(self) -> Votes:
        """All votes."""
        return self.votes

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.gold_i is not None

    @property
    def methods(self) -> Sequence[str]:
        """All estimators."""
        return tuple(ESTIMATORS)

    def refuse(self, method: str) -> None:
        """Nothing is refused: a method that these votes cannot bear says so itself."""

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """What `fn` returns for all votes."""
        yield fn(Part(self.votes))

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:  # noqa: ARG002
        """What `fn` returns for all votes."""
        return fn(Part(self.votes))

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items."""
        return distinct_counts(rows(self.votes))

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, (J, K)."""
        return votes_by_worker(self.votes)

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return take_items(self.votes, item_p)

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of items drawn by their names."""
        return drawn([(0, self.votes.items)], share, seed)

    def fit(self, method: str, seed: int) -> Fit:
        """The fit of an estimator."""
        estimator = estimator_named(method)
        return estimator().fit(self.votes, **({"rng": seed} if estimator.stochastic else {}))

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of each item, as an array."""
        return in_memory(self.votes).rows(fn)

    def labelled(self, fit: Fit, table: Table) -> Columns:
        """One table."""
        return table(self.votes, fit)

    def label_files(self, folder: Path, fit: Fit, table: Table) -> LabelFiles:
        """One table, to be written with other files."""
        return LabelFiles([], {folder / LABELS: self.labelled(fit, table)})


def fit_of_items(site: Site, fit: Fit, item_p: IntArray) -> Fit:
    """The fit of the items with these codes, in memory."""
    if not isinstance(fit.posterior, Rows):
        return replace(
            fit, posterior=np.array(fit.posterior[item_p]), votes_i=np.array(fit.votes_i[item_p]), names=None
        )
    told, order_p = rows_alone(fit), np.argsort(item_p)
    rising_p = item_p[order_p]

    def of_part(part: Part) -> tuple[FloatArray, IntArray]:
        first, last = np.searchsorted(rising_p, [part.start, part.start + len(part.votes.items)])
        if first == last:
            return np.empty((0, len(fit.label_values))), np.empty(0, dtype=np.int64)
        chosen, local_p = part.of(told), rising_p[first:last] - part.start
        return chosen.posterior[local_p], chosen.votes_i[local_p]

    parts = list(site.map(of_part, doing="passing"))
    posterior_pk, votes_p = (np.concatenate([part[n] for part in parts]) for n in (0, 1))
    place_p = np.argsort(order_p)
    return replace(fit, posterior=posterior_pk[place_p], votes_i=votes_p[place_p], names=None)


def rows_alone(fit: Fit) -> Fit:
    """The fit without what was learned of workers: all that a part needs, and little to send where the parts are."""
    return replace(fit, confusion=None, skill=None, learned={}, trace=(), online=None, names=None)
