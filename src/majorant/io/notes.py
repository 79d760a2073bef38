"""The Account of a table: what became of every row, and what a careful reader would want to know."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.io.collect import Coded
from majorant.io.gold import Gold
from majorant.io.labels import LabelCodes
from majorant.io.repeats import Resolved
from majorant.io.values import label_notes
from majorant.votes import Account, IntArray, Note, Votes

LISTED = 5  # how many items, workers or labels a note names


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which labels, items and workers the votes reach; of items and workers without votes, the first few by name."""

    labels: Sequence[Hashable]
    votes_l: IntArray
    bare: Sequence[Hashable]
    n_bare: int
    silent: Sequence[Hashable]
    n_silent: int
    gold_k: NDArray[np.bool_] | None  # which labels are gold of some item


def coverage_of(votes: Votes) -> Coverage:
    """The coverage of votes in memory."""
    bare = np.flatnonzero(votes.votes_i == 0)
    silent = np.flatnonzero(np.bincount(votes.worker_n, minlength=len(votes.workers)) == 0)
    gold_i = votes.gold_i
    return Coverage(
        labels=votes.labels,
        votes_l=np.bincount(votes.label_n, minlength=len(votes.labels)),
        bare=[votes.items[i] for i in bare[:LISTED]],
        n_bare=len(bare),
        silent=[votes.workers[j] for j in silent[:LISTED]],
        n_silent=len(silent),
        gold_k=None if gold_i is None else np.bincount(gold_i[gold_i >= 0], minlength=len(votes.labels)) > 0,
    )


def make_account(
    coded: Coded, coverage: Coverage, named: LabelCodes, resolved: Resolved, repeats: str, gold: Gold | None
) -> Account:
    """Every row, and every note."""
    n_votes = int(coverage.votes_l.sum())
    rest = n_votes + resolved.merged + resolved.dropped
    abstained = coded.n_rows - rest
    notes = [
        *([] if named.note is None else [named.note]),
        *coded.table.notes,
        *_row_notes(abstained, resolved, repeats),
        *label_notes(coverage.labels, named.n_by_label),
        *_coverage_notes(coverage),
        *_gold_notes(coverage),
        *(gold.notes if gold else ()),
    ]
    return Account(
        source=coded.table.source,
        format=coded.table.format,
        columns=coded.table.columns,
        ignored=coded.table.ignored,
        rows=coded.n_rows,
        votes=n_votes,
        abstained=abstained,
        merged=resolved.merged,
        dropped=resolved.dropped,
        repeats=repeats,
        notes=tuple(notes),
    )


def _row_notes(abstained: int, resolved: Resolved, repeats: str) -> list[Note]:
    notes = []
    if abstained:
        text = f"{_n(abstained, 'abstention')}: rows with an empty label, or with a status that says there is no vote."
        notes.append(Note("abstained", text))
    if resolved.merged:
        notes.append(Note("merged", f"{_n(resolved.merged, 'exact copy', 'exact copies')} of earlier votes merged."))
    if resolved.dropped:
        text = f"{_n(resolved.dropped, 'repeated vote')} left out: the {repeats} of each worker and item counts."
        notes.append(Note("dropped", text))
    return notes


def _coverage_notes(coverage: Coverage) -> list[Note]:
    notes = []
    used = np.flatnonzero(coverage.votes_l)
    if len(used) == 1:
        notes.append(Note("single-class", f"Every vote says {coverage.labels[used[0]]!r}: there is nothing to decide."))
    if coverage.n_bare:
        shown = _listed(coverage.bare, coverage.n_bare)
        notes.append(Note("unlabelled-items", f"{_n(coverage.n_bare, 'item')} without any vote: {shown}."))
    if coverage.n_silent:
        shown = _listed(coverage.silent, coverage.n_silent)
        notes.append(Note("silent-workers", f"{_n(coverage.n_silent, 'worker')} without any vote: {shown}."))
    return notes


def _gold_notes(coverage: Coverage) -> list[Note]:
    if coverage.gold_k is None:
        return []
    unused = np.flatnonzero(coverage.gold_k & (coverage.votes_l == 0))
    if not len(unused):
        return []
    shown = _listed([coverage.labels[k] for k in unused[:LISTED]], len(unused))
    return [Note("gold-unused", f"{_n(len(unused), 'gold label')} that no worker used: {shown}.")]


def _n(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _listed(values: Sequence[Any], n_all: int) -> str:
    return ", ".join(map(repr, values)) + (f" and {n_all - len(values):,} more" if n_all > len(values) else "")
