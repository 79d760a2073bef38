"""The Account of a table: what became of every row, and what a careful reader would want to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from majorant.account import Account, Note
from majorant.encode.collect import Coded
from majorant.encode.gold import Gold
from majorant.encode.labels import Labelled
from majorant.encode.repeats import Resolved
from majorant.encode.values import label_notes
from majorant.votes import Votes

LISTED = 5  # how many items, workers or labels a note names


def make_account(
    coded: Coded, votes: Votes, named: Labelled, resolved: Resolved, repeats: str, gold: Gold | None
) -> Account:
    """Every row, and every note."""
    rest = votes.n_votes + resolved.merged + resolved.dropped
    abstained = coded.n_rows - rest
    notes = [
        *_row_notes(abstained, resolved, repeats),
        *label_notes(votes.labels, named.n_by_label),
        *_coverage_notes(votes),
        *_gold_notes(votes),
        *(gold.notes if gold else ()),
    ]
    return Account(
        source=coded.table.source,
        format=coded.table.format,
        columns=coded.table.columns,
        ignored=coded.table.ignored,
        rows=coded.n_rows,
        votes=votes.n_votes,
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


def _coverage_notes(votes: Votes) -> list[Note]:
    notes = []
    used = np.flatnonzero(np.bincount(votes.label_n, minlength=len(votes.labels)))
    if len(used) == 1:
        notes.append(Note("single-class", f"Every vote says {votes.labels[used[0]]!r}: there is nothing to decide."))
    bare = np.flatnonzero(votes.votes_i == 0)
    if len(bare):
        shown = _listed([votes.items[i] for i in bare[:LISTED]], len(bare))
        notes.append(Note("unlabelled-items", f"{_n(len(bare), 'item')} without any vote: {shown}."))
    silent = np.flatnonzero(np.bincount(votes.worker_n, minlength=len(votes.workers)) == 0)
    if len(silent):
        shown = _listed([votes.workers[j] for j in silent[:LISTED]], len(silent))
        notes.append(Note("silent-workers", f"{_n(len(silent), 'worker')} without any vote: {shown}."))
    return notes


def _gold_notes(votes: Votes) -> list[Note]:
    if votes.gold_i is None:
        return []
    given = np.bincount(votes.label_n, minlength=len(votes.labels)) > 0
    unused = np.unique(votes.gold_i[votes.gold_i >= 0])
    unused = unused[~given[unused]]
    if not len(unused):
        return []
    shown = _listed([votes.labels[k] for k in unused[:LISTED]], len(unused))
    return [Note("gold-unused", f"{_n(len(unused), 'gold label')} that no worker used: {shown}.")]


def _n(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _listed(values: Sequence[Any], n_all: int) -> str:
    return ", ".join(map(repr, values)) + (f" and {n_all - len(values):,} more" if n_all > len(values) else "")
