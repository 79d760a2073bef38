"""Votes: who gave which label to which item, as integer codes sorted by item."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from majorant.errors import ConfigError, DataError, use
from majorant.limits import require
from majorant.tabular import Named as Named
from majorant.tabular import Names, Tabular, some_names

IntArray = NDArray[np.integer[Any]]
ItemTexts = Callable[[Sequence[Any]], list[str | None]]
AT_ONCE = 1 << 20  # votes, and items, in one part of a pass over them
SMALL = 1 << 20  # bytes of an array that is not worth a file


class NoteKind(StrEnum):
    """The subject of a note on the input; notes with `changes_meaning` are shown by default."""

    # These change what the votes mean; they are printed on the terminal and raised as warnings in Python.
    MISSING_LABEL = "missing-label"  # labels: label -> votes, for labels such as NA or refused
    LABEL_VARIANTS = "label-variants"  # groups of label -> votes that differ only in case, spaces, hidden characters
    MIXED_LABELS = "mixed-labels"  # kinds of values
    NUMBER_LABELS = "number-labels"  # classes, low, high: probably scores
    ID_VARIANTS = "id-variants"  # role, groups of names that look alike, count of groups
    ROUNDED_IDS = "rounded-ids"  # role, column, example: a spreadsheet dropped digits
    WIDE = "wide"  # workers: columns; left_out: column -> reason
    GUESSED_COLUMNS = "guessed-columns"  # columns: role -> column, guessed from their content
    FILE_WORKERS = "file-workers"  # workers: the names of the files
    JOINED_ITEMS = "joined-items"  # columns that together name an item
    DROPPED_RESPONSES = "dropped-responses"  # kept, total
    BOTH_ORDERS = "both-orders"  # verdicts in both orders, changed: how many, places: labels read as places
    NESTED = "nested"  # column with votes inside its cells
    ROW_PER_WORKER = "row-per-worker"  # column of the workers; items: the other columns; left_out: column -> reason
    SEVERAL_IN_CELL = "several-in-cell"  # example, labels: how many contain a separator
    REPEATED_HEADER = "repeated-header"  # rows
    UNANIMOUS = "unanimous"  # items: no two votes differ, as if labels had already been merged
    GOLD_UNKNOWN_ITEMS = "gold-unknown-items"  # source, items, count: gold items without votes
    GOLD_UNUSED = "gold-unused"  # names, count: gold labels that no worker gave
    COLLAPSED = "collapsed"  # method, label, given, voted: shares of the items
    GOLD_WITHOUT_DESIGN = "gold-without-design"  # source, labels, disagreed: labels of ask that lost their design
    # The others are only recorded.
    THRESHOLD = "threshold"  # threshold
    ORDER = "order"  # labels
    SEVERAL = "several"
    FOLDED_LABELS = "folded-labels"  # groups of label -> votes
    ABSTAINED = "abstained"  # rows
    MERGED = "merged"  # rows
    DROPPED = "dropped"  # rows, repeats: which vote counts
    SINGLE_CLASS = "single-class"  # label
    UNLABELLED_ITEMS = "unlabelled-items"  # names, count
    SILENT_WORKERS = "silent-workers"  # names, count
    EQUAL_TRUST = "equal-trust"  # column, value: the same for every worker, so it is ignored
    GOLD_SAMPLE = "gold-sample"  # source, labels
    GOLD_SKIPPED = "gold-skipped"  # items

    @property
    def changes_meaning(self) -> bool:
        """Whether the result could be misread without this note."""
        kinds = list(NoteKind)
        return kinds.index(self) < kinds.index(NoteKind.THRESHOLD)


@dataclass(frozen=True, slots=True)
class Note:
    """A fact about the input, as JSON values; `majorant.render.notes` turns it into text."""

    kind: NoteKind
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", NoteKind(self.kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What happened to every row: rows = votes + merged + dropped + abstained.

    >>> Account(source="votes.csv", rows=5, votes=4, merged=1).balanced
    True
    """

    source: str
    format: str = ""  # "CSV, comma-separated, UTF-8"
    columns: Mapping[str, str] = field(default_factory=dict)  # role -> the user's column name
    ignored: tuple[str, ...] = ()  # columns that were not used
    rows: int = 0  # rows read
    votes: int = 0  # rows that count
    abstained: int = 0  # rows with an empty label or a status other than ok
    merged: int = 0  # exact copies of an earlier vote
    dropped: int = 0  # repeated votes left out under the policy "first" or "last"
    repeats: str = "error"  # the policy for repeated votes
    judges: bool = False  # the workers judge a model's answers
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @property
    def balanced(self) -> bool:
        """Whether every row that was read is accounted for."""
        return self.rows == self.votes + self.abstained + self.merged + self.dropped


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Scratch:
    """Where arrays with an entry per item or vote are put: in memory or, with a folder, in files deleted with them."""

    folder: Path | None = None
    memory: int | None = None  # limit on all other memory, in bytes

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """A new array to be filled."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self.folder is None or size <= SMALL:
            return np.empty(shape, dtype)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and a crash later
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                return np.asarray(np.memmap(file, dtype, mode="r+", shape=shape))
        except OSError as error:
            raise no_room(self.folder, error.strerror or str(error)) from error

    def need(self, n_bytes: float, what: str) -> None:
        """Raise an error if this much memory is more than the limit."""
        if self.memory is not None:
            require(n_bytes, self.memory, what)


def no_room(folder: Path, reason: str) -> ConfigError:
    """The error for a folder of votes that cannot be written."""
    return ConfigError(
        f"Cannot write to {folder}: {reason}. Sorting takes about 60 bytes of disk space per vote. Choose a folder "
        f"with more space with {use('work', 'DIR')}."
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Votes(Tabular):
    """Votes as codes: vote n means that worker worker_n[n] gave item item_n[n] the label label_n[n].

    Votes are sorted by item; item i has those from offsets_i[i] to offsets_i[i + 1].  Items and workers keep the
    order in which they first appeared, labels are sorted.  An item may have no votes.  Arrays are read-only, and may be
    memory-mapped; names of items may be read lazily.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], items="ab", workers="wx", labels=("no", "yes"))
    >>> votes.shape, votes.n_votes, votes.offsets_i.tolist()
    ((2, 2, 2), 3, [0, 2, 3])
    """

    item_n: IntArray
    worker_n: IntArray
    label_n: IntArray
    offsets_i: IntArray
    items: Sequence[Hashable]  # the user's own values, never converted
    workers: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    account: Account
    gold_i: IntArray | None = None  # code of the true label, -1 if unknown
    abstained_i: IntArray | None = None  # number of abstentions on each item
    seconds_n: NDArray[np.float64] | None = None  # time that each vote took
    trust_j: NDArray[np.float64] | None = None  # the user's figure for each worker's accuracy, NaN if unknown
    ratings: Any = None  # majorant.known.Ratings: what the world and the user know of the workers; None for nothing
    slice_i: IntArray | None = None  # the slice that each item belongs to, -1 for none
    slices: tuple[Hashable, ...] = ()
    ordered: bool = False  # whether labels are listed from lowest to highest, in the user's order
    label_type: Any = None  # type of the labels in the frame that was read, used for output frames
    text: ItemTexts | None = None  # looks up the text of items in the source
    scratch: Scratch = field(default_factory=Scratch)
    votes_i: NDArray[np.int64] = field(init=False)  # number of votes on each item

    def __post_init__(self) -> None:
        n_items, n_votes = len(self.items), len(self.item_n)
        for name, n_codes in (("item_n", n_items), ("worker_n", len(self.workers)), ("label_n", len(self.labels))):
            self._freeze(name, np.int32, n_votes)
            self._check_range(name, 0, n_codes)
        self._freeze("offsets_i", np.int64, n_items + 1)
        if self.gold_i is not None:
            self._freeze("gold_i", np.int32, n_items)
            self._check_range("gold_i", -1, len(self.labels))
        if self.slice_i is not None:
            self._freeze("slice_i", np.int32, n_items)
            self._check_range("slice_i", -1, len(self.slices))
        if self.abstained_i is not None:
            self._freeze("abstained_i", np.int32, n_items)
        if self.trust_j is not None:
            self._freeze("trust_j", np.float64, len(self.workers))
        if self.seconds_n is not None:
            self._freeze("seconds_n", np.float64, n_votes)
        object.__setattr__(self, "votes_i", self.scratch.empty((n_items,), np.int64))
        np.subtract(self.offsets_i[1:], self.offsets_i[:-1], out=self.votes_i)
        self.votes_i.flags.writeable = False
        ends = (self.offsets_i[0], self.offsets_i[-1]) if n_items else (0, n_votes)
        fits = ends == (0, n_votes) and self.votes_i.min(initial=0) >= 0
        for start, stop in cut(self.offsets_i) if fits else ():
            own_n = self.item_n[self.offsets_i[start] : self.offsets_i[stop]]
            fits &= np.array_equal(own_n, np.repeat(np.arange(start, stop, dtype=np.int32), self.votes_i[start:stop]))
        if not fits:
            if (self.item_n[1:] < self.item_n[:-1]).any():
                raise DataError("item_n: votes must be sorted by item; Votes.from_codes sorts them.")
            raise DataError("offsets_i: must count the votes of each item.")

    def _freeze(self, name: str, dtype: DTypeLike, length: int) -> None:
        array = np.ascontiguousarray(getattr(self, name), dtype=dtype).view()
        if array.shape != (length,):
            raise DataError(f"{name}: must have shape ({length},), not {array.shape}.")
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    def _check_range(self, name: str, low: int, high: int) -> None:
        code = getattr(self, name)
        if code.size and (code.min() < low or code.max() >= high):
            raise DataError(f"{name}: codes must lie in {low}..{high - 1}, found {code.min()}..{code.max()}.")

    @classmethod
    def from_codes(
        cls,
        item: ArrayLike,
        worker: ArrayLike,
        label: ArrayLike,
        *,
        items: Sequence[Hashable],
        workers: Sequence[Hashable],
        labels: Sequence[Hashable],
        account: Account | None = None,
        gold: ArrayLike | None = None,
        abstained: ArrayLike | None = None,
        seconds: ArrayLike | None = None,
    ) -> Votes:
        """Make Votes from codes in any order; votes on the same item keep their order."""
        items, workers, labels = (_as_names(names) for names in (items, workers, labels))
        item_n = _as_codes("item", item)
        if item_n.size and (item_n.min() < 0 or item_n.max() >= len(items)):
            raise DataError(f"item codes must lie in 0..{len(items) - 1}, found {item_n.min()}..{item_n.max()}.")
        order_n, offsets_i = item_order(item_n, len(items))

        def sorted_n(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
            array = _as_codes("worker, label or seconds", values, dtype)
            if array.shape != item_n.shape:
                raise DataError(
                    f"every vote needs an item, a worker and a label: shapes {array.shape} and {item_n.shape} differ."
                )
            return array if order_n is None else array[order_n]

        return cls(
            item_n=sorted_n(item_n, np.int32),
            worker_n=sorted_n(worker, np.int32),
            label_n=sorted_n(label, np.int32),
            offsets_i=offsets_i,
            items=items,
            workers=workers,
            labels=labels,
            account=account
            if account is not None
            else Account(source="codes", rows=len(item_n), votes=len(item_n), repeats="each"),
            gold_i=None if gold is None else _as_codes("gold", gold),
            abstained_i=None if abstained is None else _as_codes("abstained", abstained),
            seconds_n=None if seconds is None else sorted_n(seconds, np.float64),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """(items, workers, classes)"""
        return len(self.items), len(self.workers), len(self.labels)

    @property
    def n_votes(self) -> int:
        """The number of votes."""
        return len(self.item_n)

    @property
    def n_gold(self) -> int:
        """The number of items with votes and a gold label."""
        return 0 if self.gold_i is None else int(((self.gold_i >= 0) & (self.votes_i > 0)).sum())

    @property
    def truth_i(self) -> IntArray:
        """The code of each item's gold label, -1 if unknown."""
        return np.full(len(self.items), -1, np.int32) if self.gold_i is None else self.gold_i

    def part(self, start: int, stop: int) -> Votes:
        """The votes on the items from start to stop, which are renumbered from 0."""
        n_items = len(self.items)
        whole = all(isinstance(end, int | np.integer) and 0 <= end <= n_items for end in (start, stop))
        if not whole or start > stop:
            raise ConfigError(f"start and stop must be whole numbers between 0 and {n_items:,}, in this order.")
        if (start, stop) == (0, len(self.items)):
            return self
        first, last = self.offsets_i[start], self.offsets_i[stop]
        part = object.__new__(Votes)  # its arrays have been checked
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and one.name.endswith("_n"):
                value = value[first:last]
            elif value is not None and (one.name.endswith("_i") or one.name == "items"):
                value = value[start : stop + (one.name == "offsets_i")]
            object.__setattr__(part, one.name, value)
        object.__setattr__(part, "item_n", part.item_n - np.int32(start))
        object.__setattr__(part, "offsets_i", part.offsets_i - first)
        return part

    @property
    def names(self) -> Names:
        """The user's own names of items, workers and labels."""
        return Names(self.items, self.workers, self.labels, self.label_type)

    @property
    def _label_type(self) -> Any:
        return self.label_type

    def table(self) -> dict[str, Any]:
        """Columns item, worker, label and, if there is gold, gold; one row per vote."""
        columns = {
            "item": Named(self.item_n, self.items),
            "worker": Named(self.worker_n, self.workers),
            "label": Named(self.label_n, self.labels),
        }
        if self.gold_i is not None:
            columns["gold"] = Named(self.gold_i[self.item_n], self.labels)
        return columns

    def __repr__(self) -> str:
        n_items, n_workers, n_labels = self.shape
        gold = 0 if self.gold_i is None else int((self.gold_i >= 0).sum())
        known = f", gold for {gold:,} items" if gold else ""
        return (
            f"Votes: {self.n_votes:,} by {n_workers:,} workers on {n_items:,} items{known}\n"
            f"{n_labels:,} labels ({some_names(self.labels)}) from {self.account.source}; to_pandas() gives the rows"
        )


def _as_names(values: Iterable[Hashable]) -> tuple[Hashable, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise DataError(f"items, workers and labels are lists of names, not {type(values).__name__}.") from None


def _as_codes(name: str, values: ArrayLike, dtype: DTypeLike = np.int32) -> NDArray[Any]:
    try:
        array = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name}: give whole numbers, one for each vote or item.") from None
    if array.ndim != 1:
        raise DataError(f"{name}: give a list of numbers, not shape {array.shape}.")
    return array


def cut(offsets: IntArray, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive things with at most `most` entries in total (one thing may have more), or `most` things.

    >>> list(cut(np.array([0, 2, 4, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    start, n_things, most = 0, len(offsets) - 1, most or AT_ONCE
    while start < n_things:
        end = int(np.searchsorted(offsets, offsets[start] + most, side="right")) - 1
        stop = min(max(start + 1, end), start + most)
        yield start, stop
        start = stop


def item_order(item_n: NDArray[np.int32], n_items: int) -> tuple[NDArray[np.int32] | None, NDArray[np.int64]]:
    """The stable order that sorts votes by item (None if they already are), and the offsets of the items."""
    if (item_n[1:] >= item_n[:-1]).all():
        counts_i = np.bincount(item_n, minlength=n_items)
        return None, np.concatenate([[0], np.cumsum(counts_i, dtype=np.int64)])
    # Transposing a sparse matrix is a counting sort: linear, stable, and in C.
    from scipy.sparse import csr_array

    n_votes = len(item_n)
    ones_n = np.ones(n_votes, dtype=np.int8)
    by_item = csr_array((ones_n, item_n, np.arange(n_votes + 1, dtype=np.int32)), shape=(n_votes, n_items)).tocsc()
    return by_item.indices, by_item.indptr.astype(np.int64)
