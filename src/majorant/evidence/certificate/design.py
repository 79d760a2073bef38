"""Distinguish crowds from panels by which workers voted on the same items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.tally import counts
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

PANEL_SETS = 20  # in a panel, at most this many worker sets hold most of the items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkerSets:
    """The sets of workers who voted on items with a given number of votes, the most common first.

    A worker who voted twice on an item is in its set twice.
    """

    n_votes: int
    worker_sh: IntArray
    items_s: FloatArray  # number of items that each set labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class VotingDesign:
    """The voting design.

    Parameters
    ----------
    kind : {"panel", "crowd"}
        A panel if the same few workers label nearly everything, a crowd if each item has its own workers.
    n_workers : int
        Number of workers.
    n_items : int
        Number of items with votes.
    n_sets : int
        Number of distinct sets of workers who voted on the same item.
    covered : float
        Share of the items that the 20 most common sets labelled.
    """

    kind: Literal["panel", "crowd"]
    n_workers: int
    n_items: int
    n_sets: int
    covered: float


def design(votes: Votes, copies: ArrayLike | None = None) -> VotingDesign:
    """Determine whether votes come from a panel or a crowd.

    Parameters
    ----------
    votes : Votes
        The votes.
    copies : array_like, optional
        Number of items that each item of `votes` stands for, if equal items were merged.

    Returns
    -------
    VotingDesign
        A panel if at most 20 worker sets, with at least 10 items each on average, labelled four fifths of the items.

    Examples
    --------
    >>> votes = Votes.from_codes([i for i in range(20) for _ in "abc"], [0, 1, 2] * 20, [0, 1, 1] * 20,
    ...                          items=range(20), workers="abc", labels="ny")
    >>> design(votes).kind, design(votes).n_sets
    ('panel', 1)
    """
    items_s = np.sort(np.concatenate([np.empty(0), *(sets.items_s for sets in worker_sets(votes, copies))]))[::-1]
    total, top = float(items_s.sum()), float(items_s[:PANEL_SETS].sum())
    covered = top / total if total else 0.0
    is_panel = covered >= 0.8 and top >= 10 * min(PANEL_SETS, len(items_s))
    return VotingDesign(
        kind="panel" if is_panel else "crowd",
        n_workers=len(votes.workers),
        n_items=int(total),
        n_sets=len(items_s),
        covered=covered,
    )


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
        worker_sh, set_i = np.unique(worker_ih, axis=0, return_inverse=True)
        items_s = np.bincount(set_i.ravel(), weights=copies_i[item]).astype(float)
        order_s = np.argsort(-items_s, kind="stable")
        sets.append(WorkerSets(n_votes=int(n_votes), worker_sh=worker_sh[order_s], items_s=items_s[order_s]))
    return tuple(sets)


def as_copies(votes: Votes, copies: ArrayLike | None) -> FloatArray:
    """Number of items that each item of `votes` stands for, by default one."""
    if copies is None:
        return np.ones(len(votes.items))
    copies_i = np.asarray(copies, dtype=float)
    if copies_i.shape != (len(votes.items),) or not ((copies_i >= 0) & (copies_i == np.floor(copies_i))).all():
        raise ConfigError(f"copies must hold a whole number for each of {len(votes.items)} items.")
    return copies_i


def leaders(votes: Votes) -> NDArray[np.bool_]:
    """The labels with the most votes on each item, among which majority draws; all labels if there are no votes.

    >>> votes = Votes.from_codes([0, 1, 1], [0, 0, 1], [1, 0, 1], items="abc", workers="wx", labels="ny")
    >>> leaders(votes).tolist()
    [[False, True], [True, True], [True, True]]
    """
    counts_ik = counts(votes)
    return np.asarray(counts_ik == counts_ik.max(axis=1, keepdims=True, initial=0))
