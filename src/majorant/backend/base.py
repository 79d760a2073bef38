"""Where the votes lie, as the line sees it: parts to map over and add up, a few items to take out, blocks to fit.

What adds up over items is asked of all votes, part by part; what does not is asked of items that were taken into
memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.items import NAMES_AT_ONCE, draw_by_name, take_items
from majorant.kernels import Block, Engine, Rows, add_up, in_memory, rows_in
from majorant.methods import ESTIMATORS, Estimator, estimator_named
from majorant.methods.em import Progress
from majorant.methods.fit import Fit
from majorant.output import Columns, Content
from majorant.resources import T
from majorant.tally import Patterns, counts, distinct_counts, merged_patterns, votes_by_worker
from majorant.values import FloatArray
from majorant.votes import Account, IntArray, Votes, names_of

LABEL_FILE = "labels.csv"
LabelTable = Callable[..., Columns]  # from some items and their part of each fit: the table of their labels


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


class NamedVotes(AnyVotes, Protocol):
    """The same with items that have names."""

    @property
    def items(self) -> Sequence[Hashable]:
        """The user's own names, or codes where names stay elsewhere."""


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
        """The codes of items drawn by their names, in the order of their hashes: `majorant.items`."""


class Backend(ABC):
    """Votes wherever they lie.  A backend says what it holds, maps over its parts, takes items out and has blocks.

    The rest follows from these, and is there to be done better where a place can.  What is mapped over parts may be
    sent to where they are, with all that it holds: it should hold little.
    """

    __slots__ = ()
    place: ClassVar[str] = "here"  # in the sentence "it does not run ..."
    keeps_items: ClassVar[bool] = True  # whether a fit may keep something of every item in one place
    teaches: ClassVar[bool] = True  # whether blocks carry the gold labels, for methods that learn from them
    votes: NamedVotes  # what is known of them without looking at each

    @property
    @abstractmethod
    def has_gold(self) -> bool:
        """Whether there are gold labels."""

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The blocks of these votes, for fits."""

    @abstractmethod
    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """What `fn` returns for each part, in the order of the items; `doing` tells who watches."""

    @abstractmethod
    def take(self, item_p: IntArray) -> Votes:
        """The votes of the items with these codes, which rise, in memory."""

    @property
    def whole(self) -> Votes | None:
        """All votes, where they are in memory anyway."""
        return None

    @property
    def at_hand(self) -> int:
        """Votes, up to which `check` takes all of them into memory."""
        return 0

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:
        """The sum over parts of what `fn` returns."""
        return add_up(self.map(fn, doing=doing))

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of counts of all items, as `distinct_counts` gives them; `rows` says what is counted."""
        return merged_patterns(self.map(partial(_patterns, rows), doing="counting"))

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, (J, K)."""
        return self.sum(_votes_by_worker, doing="counting")

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of items drawn by their names, in the order of their hashes: `majorant.items`."""
        items = self.votes.items
        starts = range(0, len(items), NAMES_AT_ONCE)
        return draw_by_name(((start, items[start : start + NAMES_AT_ONCE]) for start in starts), share, seed)

    @property
    def methods(self) -> Sequence[str]:
        """The estimators that can be fitted here and need nothing but votes and gold labels."""
        return [name for name in ESTIMATORS if not self.why_not(name, has_gold=self.has_gold)]

    @classmethod
    def why_not(cls, method: str, *, has_gold: bool = False) -> str:
        """Why a method cannot be fitted in such a place; empty if it can."""
        traits = ESTIMATORS[method].traits
        if traits.needs == "confusion":
            return "needs confusion matrices"
        if traits.needs == "gold" and not (has_gold and cls.teaches):
            return "needs gold labels"
        if traits.keeps_items and not cls.keeps_items:
            return f"keeps the {traits.keeps_items} of every item in one place"
        return "" if traits.distributed else "needs all votes in memory"

    def refuse(self, method: str) -> None:
        """Refuse a method that cannot be fitted here, with those that can."""
        if method == WEIGHTED_VOTE or method in self.methods:
            return
        choice = f"Choose one of: {', '.join(self.methods)}, {WEIGHTED_VOTE}."
        if method not in ESTIMATORS:
            raise ConfigError(f"There is no method {method!r}. {choice}")
        raise ConfigError(
            f"{method} {self.why_not(method, has_gold=self.has_gold)}, so it does not run {self.place}. {choice}"
        )

    def fit(self, method: str, seed: int) -> Fit:
        """The fit of an estimator to all votes; its rows may lie in a file, or be computed when they are asked for."""
        self.refuse(method)
        return self.fit_with(ESTIMATORS[method](), self.progress(method, seed))

    def fit_with(self, estimator: Estimator, progress: Progress | None = None) -> Fit:
        """The fit of an estimator with its settings."""
        watched = {"progress": progress} if estimator.traits.iterative and progress is not None else {}
        # Given an engine, estimators ask votes for their shape, names and counts alone: any votes have these.
        return estimator.fit(cast("Votes", self.votes), engine=self.engine, **watched)

    def progress(self, method: str, seed: int) -> Progress | None:  # noqa: ARG002
        """Who is told of the steps of a fit."""
        return None

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says of the items of each block, for all items, as the rows of a fit are kept here."""
        return self.engine.rows(fn)

    def labelled(self, fits: Sequence[Fit], table: LabelTable) -> Columns | Iterator[Columns]:
        """The table of the labels of all items, or some items at a time in their order."""
        return self.map(of_fits(table, *fits), doing="writing")

    def label_files(self, folder: Path, fits: Sequence[Fit], table: LabelTable) -> LabelFiles:
        """The labels of all items as a file in the folder."""
        return LabelFiles([], {folder / LABEL_FILE: self.labelled(fits, table)})


def _patterns(rows: Callable[[Votes], IntArray], part: Part) -> Patterns:
    return distinct_counts(rows(part.votes))


def _votes_by_worker(part: Part) -> NDArray[np.int64]:
    return votes_by_worker(part.votes)


def fit_of_items(backend: Backend, fit: Fit, item_p: IntArray) -> Fit:
    """The fit of the items with these codes, in memory."""
    if not isinstance(fit.posterior, Rows):
        return replace(
            fit, posterior=np.array(fit.posterior[item_p]), votes_i=np.array(fit.votes_i[item_p]), names=None
        )
    small, order_p = rows_alone(fit), np.argsort(item_p)
    rising_p = item_p[order_p]

    def of_part(part: Part) -> tuple[FloatArray, IntArray]:
        first, last = np.searchsorted(rising_p, [part.start, part.start + len(part.votes.items)])
        if first == last:
            return np.empty((0, len(fit.label_values))), np.empty(0, dtype=np.int64)
        chosen, local_p = part.of(small), rising_p[first:last] - part.start
        return chosen.posterior[local_p], chosen.votes_i[local_p]

    parts = list(backend.map(of_part, doing="passing"))
    posterior_pk, votes_p = (np.concatenate([part[n] for part in parts]) for n in (0, 1))
    place_p = np.argsort(order_p)
    return replace(fit, posterior=posterior_pk[place_p], votes_i=votes_p[place_p], names=None)


def rows_alone(fit: Fit) -> Fit:
    """The fit without what was learned of workers: all that a part needs, and little to send where the parts are."""
    return replace(fit, confusion=None, skill=None, learned={}, trace=(), resume=None, names=None)


def of_fit(fn: Callable[[Votes, Fit], T], fit: Fit) -> Callable[[Part], T]:
    """What a function of votes and a fit of them says of a part, for `Backend.sum` and `map`."""
    return partial(_of_fit, fn, rows_alone(fit))


def _of_fit(fn: Callable[[Votes, Fit], T], fit: Fit, part: Part) -> T:
    return fn(part.votes, part.of(fit))


def of_fits(fn: Callable[..., T], *fits: Fit) -> Callable[[Part], T]:
    """What a function of votes and several fits of them says of a part, for `Backend.sum` and `map`."""
    return partial(_of_fits, fn, tuple(rows_alone(fit) for fit in fits))


def _of_fits(fn: Callable[..., T], fits: tuple[Fit, ...], part: Part) -> T:
    return fn(part.votes, *(part.of(fit) for fit in fits))


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBackend(Backend):
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
    def engine(self) -> Engine:
        """Blocks of the votes."""
        return in_memory(self.votes)

    @property
    def methods(self) -> Sequence[str]:
        """All estimators."""
        return tuple(ESTIMATORS)

    def refuse(self, method: str) -> None:
        """Nothing is refused: a method that these votes cannot bear says so itself."""

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """What `fn` returns for all votes."""
        yield fn(Part(self.votes))

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return take_items(self.votes, item_p)

    def fit(self, method: str, seed: int) -> Fit:  # noqa: ARG002
        """The fit of an estimator."""
        return estimator_named(method)().fit(self.votes)

    def labelled(self, fits: Sequence[Fit], table: LabelTable) -> Columns:
        """One table."""
        return table(self.votes, *fits)
