"""The interface to votes in memory, in files or on a cluster.

Sums over items are computed part by part, where the parts are stored.  Everything else is computed from some items
that are loaded into memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.items import NAMES_AT_ONCE, draw_by_name, take_items
from majorant.kernels import Block, Engine, Rows, add_up, in_memory, rows_in
from majorant.limits import T
from majorant.methods import ESTIMATORS, Estimator
from majorant.methods.fit import Fit, Progress
from majorant.output import Columns, Content
from majorant.read import Reading, as_votes
from majorant.read.options import ReadOptions
from majorant.tally import Patterns, counts, distinct_counts, merge_patterns, votes_by_worker
from majorant.values import FloatArray
from majorant.votes import Account, IntArray, Votes, names_of

LabelTable = Callable[..., Columns]  # makes a table of labels from votes and their fits


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Consecutive items and their votes, in memory; on Spark, codes take the place of item names."""

    votes: Votes
    start: int = 0  # the code of the first item
    block: Block | None = None  # the same votes, if the rows of a fit are computed block by block

    def of(self, fit: Fit) -> Fit:
        """The rows of a fit for these items."""
        if self.block is not None:
            posterior_ik = rows_in(fit.posterior, self.block)
        else:
            posterior_ik = np.asarray(fit.posterior[self.start : self.start + len(self.votes.items)])
        return replace(fit, posterior=posterior_ik, votes_i=self.votes.votes_i, names=names_of(self.votes))


class LabelFiles(NamedTuple):
    """Label files that are already written, and the content of those still to be written."""

    written: list[Path]
    content: dict[Path, Content]


class AnyVotes(Protocol):
    """What is known about votes without a pass over them."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""

    @property
    def n_votes(self) -> int:
        """The number of votes."""

    @property
    def items(self) -> Sequence[Hashable]:
        """The user's own names, or codes if the names are stored with the votes elsewhere."""

    @property
    def workers(self) -> tuple[Hashable, ...]:
        """The user's own names."""

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The user's own values, sorted."""

    @property
    def account(self) -> Account:
        """Number of input rows that became votes, and why the others did not."""

    @property
    def slices(self) -> tuple[Hashable, ...]:
        """The values of the column that divides the items into slices."""

    @property
    def slice_i(self) -> IntArray | None:
        """The slice of each item, -1 for none."""


class Backend(ABC):
    """Votes in memory, in files or on a cluster.

    A backend has `votes`, `has_gold` and `engine`, maps a function over its parts, and loads items into memory.  The
    other methods build on these; a backend overrides those that it can do better.  A mapped function may be sent to
    another machine together with everything it refers to, so it should refer to little.
    """

    __slots__ = ()
    place: ClassVar[str] = "here"  # completes "so it does not run ..." in an error message
    keeps_items: ClassVar[bool] = True  # whether a fit may hold one number per item in one place
    teaches: ClassVar[bool] = True  # whether blocks carry gold labels, for methods that learn from them
    votes: AnyVotes
    progress: Progress | None = None  # called after each step of a fit

    @property
    @abstractmethod
    def has_gold(self) -> bool:
        """Whether there are gold labels."""

    @property
    @abstractmethod
    def engine(self) -> Engine:
        """The blocks of these votes, to which methods are fitted."""

    @abstractmethod
    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:
        """The results of `fn` for each part, in the order of the items; `doing` names the step in progress reports."""

    @abstractmethod
    def take(self, item_p: IntArray) -> Votes:
        """Load the votes on the items with these codes (in ascending order) into memory."""

    @property
    def whole(self) -> Votes | None:
        """All votes, if they are in memory."""
        return None

    def sum(self, fn: Callable[[Part], T], *, doing: str) -> T:
        """The sum of the results of `fn` over all parts."""
        return add_up(self.map(fn, doing=doing))

    def patterns(self, rows: Callable[[Votes], IntArray] = counts) -> Patterns:
        """The distinct rows of vote counts over all items; `rows` counts the votes on each item."""
        return merge_patterns(self.map(lambda part: distinct_counts(rows(part.votes)), doing="counting"))

    def votes_by_worker(self) -> NDArray[np.int64]:
        """How often worker j gave label l, an array (J, K)."""
        return self.sum(lambda part: votes_by_worker(part.votes), doing="counting")

    def draw(self, share: float, seed: int) -> IntArray:
        """The codes of a random sample of items, which depends only on their names and the seed."""
        items = self.votes.items
        starts = range(0, len(items), NAMES_AT_ONCE)
        return draw_by_name(((start, items[start : start + NAMES_AT_ONCE]) for start in starts), share, seed)

    @property
    def methods(self) -> Sequence[str]:
        """The methods that this backend can fit from votes and gold labels alone."""
        return [name for name in ESTIMATORS if not self.why_not(name, has_gold=self.has_gold)]

    @classmethod
    def why_not(cls, method: str, *, has_gold: bool = False) -> str:
        """Why a method cannot be fitted on this kind of backend; empty if it can."""
        traits = ESTIMATORS[method].traits
        if traits.needs == "confusion":
            return "needs confusion matrices"
        if traits.needs == "gold" and not (has_gold and cls.teaches):
            return "needs gold labels"
        if traits.keeps_items and not cls.keeps_items:
            return f"keeps the {traits.keeps_items} of every item in one place"
        return "" if traits.distributed else "needs all votes in memory"

    def refuse(self, method: str) -> None:
        """Raise an error that lists the available methods if this backend cannot fit this one."""
        if method == WEIGHTED_VOTE or method in self.methods:
            return
        choice = f"Choose one of: {', '.join(self.methods)}, {WEIGHTED_VOTE}."
        if method not in ESTIMATORS:
            raise ConfigError(f"There is no method {method!r}. {choice}")
        raise ConfigError(
            f"{method} {self.why_not(method, has_gold=self.has_gold)}, so it does not run {self.place}. {choice}"
        )

    def fit(self, method: str) -> Fit:
        """Fit a method to all votes; the rows of the fit may be in a file, or computed on demand."""
        self.refuse(method)
        return self.fit_with(ESTIMATORS[method]())

    def fit_with(self, estimator: Estimator) -> Fit:
        """Fit a method with these settings."""
        watched = {"progress": self.progress} if estimator.traits.iterative else {}
        # Given an engine, methods read only the votes' shape, names and counts, which are always available.
        return estimator.fit(cast("Votes", self.votes), engine=self.engine, **watched)

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """The results of `fn` for all blocks, concatenated."""
        return self.engine.rows(fn)

    def labelled(self, fits: Sequence[Fit], table: LabelTable) -> Columns | Iterator[Columns]:
        """The table of all items' labels, whole or in parts."""
        return self.map(of_fits(table, *fits), doing="writing")

    def label_files(self, folder: Path, fits: Sequence[Fit], table: LabelTable) -> LabelFiles:
        """The labels of all items, as a file in the folder."""
        return LabelFiles([], {folder / "labels.csv": self.labelled(fits, table)})


def fit_of_items(backend: Backend, fit: Fit, item_p: IntArray) -> Fit:
    """The part of a fit for the items with these codes, in memory."""
    if not isinstance(fit.posterior, Rows):
        return fit.take(item_p)
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
    """The fit without what it learned about workers, to send less to other machines."""
    return replace(fit, confusion=None, skill=None, learned={}, trace=(), names=None)


def of_fits(fn: Callable[..., T], *fits: Fit) -> Callable[[Part], T]:
    """Turn a function of votes and their fits into a function of a part, for `Backend.sum` and `Backend.map`."""
    small = [rows_alone(fit) for fit in fits]
    return lambda part: fn(part.votes, *(part.of(fit) for fit in small))


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBackend(Backend):
    """Votes in memory, in one part."""

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
        """All methods."""
        return tuple(ESTIMATORS)

    def refuse(self, method: str) -> None:
        """Accept every method; one that does not suit these votes raises its own error."""

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """The result of `fn` for all votes."""
        yield fn(Part(self.votes))

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return take_items(self.votes, item_p)

    def fit(self, method: str) -> Fit:
        """Fit a method."""
        return ESTIMATORS[method]().fit(self.votes)

    def labelled(self, fits: Sequence[Fit], table: LabelTable) -> Columns:
        """The labels of all items as one table."""
        return table(self.votes, *fits)


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
