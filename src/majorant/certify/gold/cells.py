"""Gold labels by count cell: the items whose votes have the same counts, and what their truth is known to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.interval import FloatArray
from majorant.tally import Patterns, counts, distinct_counts
from majorant.votes import IntArray, Votes

LEAST_SHARE = 0.01  # a number of votes that fewer items hold does not enter the verdict on a data set


@dataclass(frozen=True, slots=True, eq=False)
class GoldCells:
    """The vote counts that occur, a row each; all but `gold_ck` is known from the votes alone.

    Majority vote is a fair draw among the classes with the most votes: one of them, or several tied ones.
    """

    counts_ck: IntArray
    items_c: IntArray  # items with these counts, gold or not
    gold_ck: IntArray  # of them, gold items by their true class

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.counts_ck.shape[1])

    @property
    def votes_c(self) -> NDArray[np.int64]:
        """Votes on an item of each cell."""
        return np.asarray(self.counts_ck.sum(axis=1), dtype=np.int64)

    @property
    def gold_c(self) -> NDArray[np.int64]:
        """Gold items of each cell."""
        return np.asarray(self.gold_ck.sum(axis=1), dtype=np.int64)

    @property
    def top_ck(self) -> NDArray[np.bool_]:
        """The classes with the most votes, among which majority draws."""
        return np.asarray(self.counts_ck == self.counts_ck.max(axis=1, keepdims=True, initial=0))

    @property
    def n_top_c(self) -> NDArray[np.int64]:
        """How many classes have the most votes: 1 unless they are tied."""
        return np.asarray(self.top_ck.sum(axis=1), dtype=np.int64)

    @property
    def tied_c(self) -> NDArray[np.bool_]:
        """The cells whose votes are tied."""
        return np.asarray(self.n_top_c > 1)

    @property
    def untied(self) -> GoldCells:
        """The cells in which one class has the most votes."""
        return self.select(~self.tied_c)

    @property
    def majority_c(self) -> NDArray[np.int64]:
        """The class with the most votes, the first of tied ones."""
        return np.asarray(self.counts_ck.argmax(axis=1), dtype=np.int64)

    @property
    def right_c(self) -> FloatArray:
        """Gold items on which majority is right; where votes are tied, on average of its draws."""
        return np.asarray((self.gold_ck * self.top_ck).sum(axis=1) / self.n_top_c)

    @property
    def rival_c(self) -> NDArray[np.int64]:
        """Gold items of the commonest class without the most votes."""
        return np.asarray(np.where(self.top_ck, 0, self.gold_ck).max(axis=1, initial=0), dtype=np.int64)

    @property
    def share_c(self) -> FloatArray:
        """Share of the items."""
        return np.asarray(self.items_c / max(self.items_c.sum(), 1))

    def select(self, chosen_c: NDArray[np.bool_]) -> GoldCells:
        """Some of the cells."""
        return GoldCells(self.counts_ck[chosen_c], self.items_c[chosen_c], self.gold_ck[chosen_c])


def gold_cells(votes: Votes) -> GoldCells:
    """Count gold labels by cell; items without votes are left out.

    >>> votes = Votes.from_codes([0, 1, 1, 2], [0, 0, 1, 0], [1, 0, 1, 1], items="abc", workers="wx", labels="ny",
    ...                          gold=[1, 0, -1])
    >>> cells = gold_cells(votes)
    >>> cells.counts_ck.tolist(), cells.items_c.tolist(), cells.gold_ck.tolist()
    ([[0, 1], [1, 1]], [2, 1], [[0, 1], [1, 0]])
    """
    return cells_of(distinct_counts(gold_rows(votes)))


def gold_rows(votes: Votes) -> IntArray:
    """For each item its votes by class, and its gold label, one more than its code, 0 where unknown: (I, K + 1)."""
    gold_i = np.full(len(votes.items), -1, dtype=np.int32) if votes.gold_i is None else votes.gold_i
    return np.column_stack([counts(votes), gold_i + 1])


def cells_of(rows: Patterns) -> GoldCells:
    """The cells from the distinct rows of `gold_rows`, in order, and how many items have each."""
    n_classes = rows.counts_pk.shape[1] - 1
    counts_rk, truth_r = rows.counts_pk[:, :-1], rows.counts_pk[:, -1]
    used_r = counts_rk.sum(axis=1) > 0
    counts_rk, truth_r, items_r = counts_rk[used_r], truth_r[used_r], rows.items_p[used_r]
    new_r = np.ones(len(counts_rk), dtype=bool)
    new_r[1:] = (counts_rk[1:] != counts_rk[:-1]).any(axis=1)  # rows are sorted: those of a cell stand together
    cell_r, n_cells = np.cumsum(new_r) - 1, int(new_r.sum())
    by_truth_c = np.zeros((n_cells, n_classes + 1), dtype=np.int64)
    by_truth_c[cell_r, truth_r] = items_r
    return GoldCells(counts_rk[new_r], by_truth_c.sum(axis=1), by_truth_c[:, 1:])
