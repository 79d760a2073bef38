"""What changes if another rule is used: how many items go from each label to each."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from majorant.estimate.fit import Fit
from majorant.votes import IntArray

MOST_LABELS = 12
TIE, OTHERS = "tie", "others"


@dataclass(frozen=True, slots=True)
class Flow:
    """`items[r][c]` items go from label `from_labels[r]` (the last: a tie) to `to_labels[c]`."""

    from_labels: tuple[Hashable, ...]
    to_labels: tuple[Hashable, ...]
    items: tuple[tuple[int, ...], ...]


def label_flow(before: Fit, after: Fit) -> Flow:
    """From the labels of one fit to those of another; items without votes left out, rare labels pooled as others.

    >>> from majorant.estimate.majority import Majority
    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [0, 1, 1], items="ab", workers="wx", labels=("no", "yes"))
    >>> label_flow(Majority().fit(votes), Majority().fit(votes))
    Flow(from_labels=('no', 'yes', 'tie'), to_labels=('no', 'yes', 'tie'), items=((0, 0, 0), (0, 1, 0), (0, 0, 1)))
    """
    voted_i = before.votes_i > 0
    old_i, new_i = before.codes()[voted_i], after.codes()[voted_i]
    n_labels = len(before.label_values)
    both = np.bincount(np.concatenate([old_i, new_i]) + 1, minlength=n_labels + 1)[1:]
    kept = np.sort(np.argsort(-both, kind="stable")[:MOST_LABELS])
    names: tuple[Hashable, ...] = tuple(before.label_values[k] for k in kept)
    if n_labels > MOST_LABELS:
        names = (*names, OTHERS)
    row_i, column_i = (_pooled(code_i, kept, n_labels, len(names)) for code_i in (old_i, new_i))
    n_rows = len(names) + 1
    items_rc = np.bincount(row_i * n_rows + column_i, minlength=n_rows**2).reshape(n_rows, n_rows)
    to = (*names, TIE) if items_rc[:, -1].any() else names
    return Flow((*names, TIE), to, tuple(tuple(int(n) for n in row[: len(to)]) for row in items_rc))


def _pooled(code_i: IntArray, kept: IntArray, n_labels: int, tie: int) -> IntArray:
    """Codes among the kept labels, the others, and the tie."""
    place = np.full(n_labels + 1, tie - 1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    place[-1] = tie  # code -1
    return np.asarray(place[code_i])
