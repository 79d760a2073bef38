"""Crowd or panel: told from which workers voted together, and said in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.tally import counts
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes
from majorant.wording import panel_or_crowd

PANEL_SETS = 20  # a panel: so many worker sets at most ...
PANEL_SHARE = 0.8  # ... hold this share of the items ...
PANEL_ITEMS = 10  # ... and so many items each, on average


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkerSets:
    """The sets of workers behind items with one number of votes, the commonest first.

    A worker who voted twice on an item stands in its set twice.
    """

    n_votes: int
    worker_sh: IntArray
    items_s: FloatArray  # how many items each set has labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class VotingDesign:
    """Whether the same few workers label (nearly) everything, a panel, or each item finds workers of its own."""

    kind: Literal["panel", "crowd"]
    n_workers: int
    n_sets: int
    covered: float  # share of the items in the PANEL_SETS commonest sets
    text: str


def design(votes: Votes, copies: ArrayLike | None = None) -> VotingDesign:
    """Panel or crowd: a panel if few worker sets, each with several items, cover most of the data.

    `copies` says how many items each item of `votes` stands for, where equal items were merged.

    >>> votes = Votes.from_codes([i for i in range(20) for _ in "abc"], [0, 1, 2] * 20, [0, 1, 1] * 20,
    ...                          items=range(20), workers="abc", labels="ny")
    >>> design(votes).text
    'A panel: 1 set of workers labelled all items, so who voted is known item by item.'
    """
    items_s = np.sort(np.concatenate([np.empty(0), *(sets.items_s for sets in worker_sets(votes, copies))]))[::-1]
    total, top = float(items_s.sum()), float(items_s[:PANEL_SETS].sum())
    covered = top / total if total else 0.0
    is_panel = covered >= PANEL_SHARE and top >= PANEL_ITEMS * min(PANEL_SETS, len(items_s))
    shown = min(PANEL_SETS, len(items_s)) if is_panel else len(items_s)
    text = panel_or_crowd(shown, total, covered, panel=is_panel, few_sets=covered >= PANEL_SHARE)
    kind: Literal["panel", "crowd"] = "panel" if is_panel else "crowd"
    return VotingDesign(kind=kind, n_workers=len(votes.workers), n_sets=len(items_s), covered=covered, text=text)


def worker_sets(votes: Votes, copies: ArrayLike | None = None) -> tuple[WorkerSets, ...]:
    """The distinct worker sets for each number of votes; items without votes are left out.

    >>> votes = Votes.from_codes([0, 0, 1, 1, 2], [0, 1, 1, 0, 1], [0] * 5, items="abc", workers="wx", labels="ny")
    >>> [(sets.worker_sh.tolist(), sets.items_s.tolist()) for sets in worker_sets(votes)]
    [([[1]], [1.0]), ([[0, 1]], [2.0])]
    """
    copies_i = as_copies(votes, copies)
    _, n_workers, _ = votes.shape
    pair_n = np.sort(votes.item_n * np.int64(n_workers) + votes.worker_n)
    worker_n = (pair_n - votes.item_n * np.int64(n_workers)).astype(np.int32)
    sets = []
    for n_votes in np.unique(votes.votes_i[votes.votes_i > 0]):
        item = np.flatnonzero(votes.votes_i == n_votes)
        worker_ih = worker_n[votes.offsets_i[item][:, None] + np.arange(n_votes)]
        order_i = _lexical_order(worker_ih, n_workers)
        worker_ih = worker_ih[order_i]
        new_i = np.ones(len(item), dtype=bool)
        new_i[1:] = (worker_ih[1:] != worker_ih[:-1]).any(axis=1)
        worker_sh, items_s = worker_ih[new_i], np.add.reduceat(copies_i[item][order_i], np.flatnonzero(new_i))
        order_s = np.argsort(-items_s, kind="stable")
        sets.append(WorkerSets(n_votes=int(n_votes), worker_sh=worker_sh[order_s], items_s=items_s[order_s]))
    return tuple(sets)


def _lexical_order(worker_ih: IntArray, n_workers: int) -> IntArray:
    """The order of the rows by their first entry, then the second and so on; as many as fit are one number."""
    at_once = max(1, int(62 / np.log2(max(n_workers, 2))))
    packed = []
    for start in range(0, worker_ih.shape[1], at_once):
        columns = worker_ih[:, start : start + at_once]
        packed.append(columns @ np.int64(n_workers) ** np.arange(columns.shape[1])[::-1])
    return np.lexsort(packed[::-1])


def as_copies(votes: Votes, copies: ArrayLike | None) -> FloatArray:
    """How many items each item of `votes` stands for: once each unless told otherwise."""
    if copies is None:
        return np.ones(len(votes.items))
    copies_i = np.asarray(copies, dtype=float)
    if copies_i.shape != (len(votes.items),) or not ((copies_i >= 0) & (copies_i == np.floor(copies_i))).all():
        raise ConfigError(f"copies must hold a whole number for each of {len(votes.items)} items.")
    return copies_i


def leaders(votes: Votes) -> NDArray[np.bool_]:
    """The labels with the most votes of each item, among which majority draws; all of them where there is no vote.

    >>> votes = Votes.from_codes([0, 1, 1], [0, 0, 1], [1, 0, 1], items="abc", workers="wx", labels="ny")
    >>> leaders(votes).tolist()
    [[False, True], [True, True], [True, True]]
    """
    counts_ik = counts(votes)
    return np.asarray(counts_ik == counts_ik.max(axis=1, keepdims=True, initial=0))
