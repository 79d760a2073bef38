"""From codes to Votes: sorted by item, repeats resolved, gold attached, every row accounted for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.read.columns import says_position
from majorant.read.encode import Coded, Codes
from majorant.read.names import (
    Gold,
    Ids,
    LabelCodes,
    Mask,
    ids_of,
    label_uses,
    name_labels,
    one_per_item,
    slices_of_items,
    vote_mask,
)
from majorant.read.notes import LISTED, id_notes, label_notes
from majorant.read.options import ReadOptions
from majorant.read.table import Known
from majorant.read.values import decode
from majorant.votes import Account, IntArray, Note, NoteKind, Votes, item_order

NAMING = frozenset((  # notes that name items or workers
    NoteKind.UNLABELLED_ITEMS, NoteKind.SILENT_WORKERS, NoteKind.GOLD_UNKNOWN_ITEMS, NoteKind.ID_VARIANTS,
    NoteKind.ROUNDED_IDS, NoteKind.WIDE, NoteKind.FILE_WORKERS, NoteKind.ROW_PER_WORKER,
))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedVotes:
    """Votes sorted by item; vote n was in row row_n[n] of the table (None: in row n)."""

    item_n: Codes
    worker_n: Codes
    label_n: Codes
    seconds_n: NDArray[np.float64] | None
    row_n: NDArray[np.integer[Any]] | None

    def at(self, index: NDArray[Any]) -> SortedVotes:
        """Some of the votes, in a given order."""
        return SortedVotes(
            item_n=self.item_n[index],
            worker_n=self.worker_n[index],
            label_n=self.label_n[index],
            seconds_n=None if self.seconds_n is None else self.seconds_n[index],
            row_n=(index if index.dtype != bool else np.flatnonzero(index))
            if self.row_n is None
            else self.row_n[index],
        )

    def row(self, vote: int) -> int:
        """The row of the table that a vote was in."""
        return vote if self.row_n is None else int(self.row_n[vote])


def build_votes(coded: Coded, items: Ids, gold: Gold | None, options: ReadOptions) -> Votes:
    """The Votes of a table that has been read."""
    workers = ids_of(coded, "worker")
    label_values = decode(coded.known["label"], coded.table.kind)
    vote_n = vote_mask(coded, label_values, options.no_vote)
    uses = label_uses(coded, len(label_values), vote_n)
    if not uses.any():
        raise no_votes(coded)
    named = name_labels(coded, label_values, uses, gold, options, len(items.values))
    ballots, resolved = resolve_votes(coded, items, workers, named, vote_n, options.repeats)
    votes = Votes.from_codes(
        ballots.item_n,
        ballots.worker_n,
        ballots.label_n,
        items=items.values,
        workers=workers.values,
        labels=named.labels,
        gold=gold_codes(coded, items, named),
        abstained=None if vote_n is None else abstained(items, workers, vote_n),
        seconds=ballots.seconds_n,
    )
    slice_i, slices = slices_of_items(coded, items)
    coverage = replace(coverage_of(votes), items=_names(coded, "item"), workers=_names(coded, "worker"))
    account = make_account(coded, coverage, named, resolved, options.repeats, gold)
    return replace(votes, account=account, slice_i=slice_i, slices=slices, ordered=options.scale.order is not None)


def _names(coded: Coded, role: str) -> Known:
    """The names of items or workers as Arrow holds them; of JSON text the values that it means, if they are few."""
    known = coded.known[role]
    if coded.table.kind != "json":
        return known
    return decode(known, "json") if len(known) <= 200_000 else ()


def no_votes(coded: Coded) -> DataError:
    """The error for a table in which no row holds a vote."""
    return DataError(
        f"{coded.table.source}: no row holds a vote; column {coded.table.columns['label']!r} is empty throughout. "
        "Say which column holds the labels with label='NAME'."
    )


def resolve_votes(
    coded: Coded, items: Ids, workers: Ids, named: LabelCodes, vote_n: Mask | None, repeats: str
) -> tuple[SortedVotes, Resolved]:
    """The votes sorted by item, without those that the policy on repeated votes drops."""
    ballots = _sorted(coded, items, workers, named, vote_n)
    resolved = _resolve(coded, items, workers, named, ballots, repeats)
    return (ballots if resolved.kept_n is None else ballots.at(resolved.kept_n)), resolved


def _sorted(coded: Coded, items: Ids, workers: Ids, named: LabelCodes, vote_n: Mask | None) -> SortedVotes:
    ballots = SortedVotes(
        item_n=items.code_n,
        worker_n=workers.code_n,
        label_n=named.label_map[coded.codes["label"]],
        seconds_n=coded.seconds_n,
        row_n=None,
    )
    if vote_n is not None:
        ballots = ballots.at(vote_n)
    order_n, _ = item_order(ballots.item_n, len(items.values))
    return ballots if order_n is None else ballots.at(order_n)


def _resolve(coded: Coded, items: Ids, workers: Ids, named: LabelCodes, ballots: SortedVotes, repeats: str) -> Resolved:
    shown = [name for name in coded.table.ignored if says_position(name)]

    def refuse(earlier: int, later: int) -> None:
        before = coded.where(ballots.row(earlier))
        place = coded.where(ballots.row(later))
        if before.rsplit(", ", 1)[0] == place.rsplit(", ", 1)[0]:
            before = before.rsplit(", ", 1)[1]
        raise DataError(
            f"{place}: worker {workers.values[ballots.worker_n[later]]!r} labels item "
            f"{items.values[ballots.item_n[later]]!r} a second time, {named.labels[ballots.label_n[later]]!r} after "
            f"{named.labels[ballots.label_n[earlier]]!r} in {before}. "
            "Keep one vote per worker and item, or choose with repeats='first'|'last'|'each'."
            + (f" If {shown[0]!r} is the order of a pair: majorant judges measures position bias." if shown else "")
        )

    return resolve(
        ballots.item_n,
        ballots.worker_n,
        ballots.label_n,
        n_items=len(items.values),
        n_workers=len(workers.values),
        policy=repeats,
        refuse=refuse,
    )


def gold_codes(coded: Coded, items: Ids, named: LabelCodes) -> Codes | None:
    """The gold label of each item, -1 where unknown; None without gold."""
    if named.gold_map is None:
        return named.gold_i
    return one_per_item(coded, items, "gold", named.gold_map, named.labels)


def abstained(items: Ids, workers: Ids, vote_n: Mask) -> Codes:
    """Declared voters without a vote, per item: a worker who failed and then voted has not abstained."""
    from scipy.sparse import csr_array

    shape = len(items.values), len(workers.values)

    def pairs(mask: Mask) -> csr_array:
        ones = np.ones(int(mask.sum()), dtype=np.int32)
        matrix = csr_array((ones, (items.code_n[mask], workers.code_n[mask])), shape=shape)
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix

    silent = pairs(~vote_n)
    voters = pairs(vote_n & np.isin(items.code_n, np.unique(items.code_n[~vote_n])))
    return np.asarray((silent - silent.multiply(voters)).sum(axis=1), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Which votes stay (None: all), and how many went as exact copies and as repeats that differ."""

    kept_n: NDArray[np.bool_] | None = None
    merged: int = 0
    dropped: int = 0


def resolve(
    item_n: IntArray, worker_n: IntArray, label_n: IntArray, *, n_items: int, n_workers: int, policy: str,
    refuse: Callable[[int, int], None],
) -> Resolved:  # fmt: skip
    """Apply the policy to votes that are sorted by item; `refuse(earlier, later)` is called on votes that differ."""
    if policy == "each" or not _any_repeat(item_n, worker_n, n_items, n_workers):
        return Resolved()
    vote_m, starts_m = _groups(item_n, worker_n, n_items, n_workers)
    group_m = np.cumsum(starts_m) - 1
    first_g = vote_m[starts_m]
    if policy == "error":
        differs = np.flatnonzero(label_n[vote_m] != label_n[first_g[group_m]])
        if len(differs):
            worst = differs[np.argmin(vote_m[differs])]
            refuse(int(first_g[group_m[worst]]), int(vote_m[worst]))
    keep_g = first_g if policy != "last" else vote_m[np.append(np.flatnonzero(starts_m)[1:], len(vote_m)) - 1]
    gone_m = vote_m != keep_g[group_m]
    copies = gone_m & (label_n[vote_m] == label_n[keep_g[group_m]])
    kept_n = np.ones(len(item_n), dtype=bool)
    kept_n[vote_m[gone_m]] = False
    return Resolved(kept_n, int(copies.sum()), int(gone_m.sum() - copies.sum()))


def _by_worker(
    item_n: IntArray, worker_n: IntArray, n_items: int, n_workers: int, data_n: NDArray[np.generic]
) -> tuple[Codes, NDArray[np.generic], Codes]:
    """Votes regrouped by worker, items rising within: transposing a sparse matrix is a stable counting sort."""
    from scipy.sparse import csr_array

    offsets_i = np.concatenate([[0], np.cumsum(np.bincount(item_n, minlength=n_items))])
    by_worker = csr_array((data_n, worker_n, offsets_i), shape=(n_items, n_workers)).tocsc()
    return by_worker.indices, by_worker.data, by_worker.indptr


def _same_as_before(item_m: Codes, indptr_j: Codes) -> NDArray[np.bool_]:
    same_m = np.zeros(len(item_m), dtype=bool)
    np.equal(item_m[1:], item_m[:-1], out=same_m[1:])
    same_m[indptr_j[:-1][indptr_j[:-1] < len(item_m)]] = False
    return same_m


def _any_repeat(item_n: IntArray, worker_n: IntArray, n_items: int, n_workers: int) -> bool:
    item_m, _, indptr_j = _by_worker(item_n, worker_n, n_items, n_workers, np.ones(len(item_n), dtype=np.int8))
    return bool(_same_as_before(item_m, indptr_j).any())


def _groups(
    item_n: IntArray, worker_n: IntArray, n_items: int, n_workers: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The votes of repeated pairs, pair by pair in the order of the table, and where each pair starts."""
    votes = np.arange(len(item_n), dtype=np.int64)
    item_m, vote_m, indptr_j = _by_worker(item_n, worker_n, n_items, n_workers, votes)
    same_m = _same_as_before(item_m, indptr_j)
    repeated_m = same_m.copy()
    repeated_m[:-1] |= same_m[1:]
    return vote_m[repeated_m].astype(np.intp), ~same_m[repeated_m]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which labels, items and workers have votes; of items and workers without votes, the first few by name."""

    labels: Sequence[Hashable]
    votes_l: IntArray
    bare: Sequence[Hashable]
    n_bare: int
    silent: Sequence[Hashable]
    n_silent: int
    gold_k: NDArray[np.bool_] | None  # which labels are gold of some item
    n_compared: int = 0  # items with several votes
    n_disputed: int = 0  # items whose votes differ
    items: Known = ()  # all names, where they are looked at for some that look alike
    workers: Known = ()


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
        n_compared=int((votes.votes_i > 1).sum()),
        n_disputed=count_disputed(votes.item_n, votes.label_n),
    )


def count_disputed(item_n: IntArray, label_n: IntArray) -> int:
    """How many items have votes that differ; votes are sorted by item.

    >>> count_disputed(np.array([0, 0, 1, 1, 1, 2]), np.array([1, 1, 0, 0, 1, 0]))
    1
    """
    differs_n = (item_n[1:] == item_n[:-1]) & (label_n[1:] != label_n[:-1])
    return len(np.unique(item_n[1:][differs_n]))


def make_account(
    coded: Coded, coverage: Coverage, named: LabelCodes, resolved: Resolved, repeats: str, gold: Gold | None
) -> Account:
    """Every row, and every note."""
    n_votes = int(coverage.votes_l.sum())
    rest = n_votes + resolved.merged + resolved.dropped
    abstained = coded.n_rows - rest
    notes = [
        *named.notes,
        *coded.table.notes,
        *([Note(NoteKind.REPEATED_HEADER, {"rows": headers})] if (headers := coded.table.skipped["headers"]) else []),
        *_row_notes(abstained, resolved, repeats),
        *label_notes(coverage.labels, named.n_by_label, coded.table.columns["label"]),
        *id_notes("item", coded.table.columns["item"], coverage.items),
        *id_notes("worker", coded.table.columns["worker"], coverage.workers),
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
        judges=coded.table.judges,
        notes=tuple(notes),
    )


def _row_notes(abstained: int, resolved: Resolved, repeats: str) -> list[Note]:
    counts = {NoteKind.ABSTAINED: abstained, NoteKind.MERGED: resolved.merged}
    notes = [Note(kind, {"rows": rows}) for kind, rows in counts.items() if rows]
    if resolved.dropped:
        notes.append(Note(NoteKind.DROPPED, {"rows": resolved.dropped, "repeats": repeats}))
    return notes


def _coverage_notes(coverage: Coverage) -> list[Note]:
    notes = []
    used = np.flatnonzero(coverage.votes_l)
    if len(used) == 1:
        notes.append(Note(NoteKind.SINGLE_CLASS, {"label": str(coverage.labels[used[0]])}))
    elif coverage.n_compared >= 20 and not coverage.n_disputed:  # perhaps everybody was given the final label
        notes.append(Note(NoteKind.UNANIMOUS, {"items": coverage.n_compared}))
    if coverage.n_bare:
        notes.append(_naming(NoteKind.UNLABELLED_ITEMS, coverage.bare, coverage.n_bare))
    if coverage.n_silent:
        notes.append(_naming(NoteKind.SILENT_WORKERS, coverage.silent, coverage.n_silent))
    return notes


def _gold_notes(coverage: Coverage) -> list[Note]:
    if coverage.gold_k is None:
        return []
    unused = np.flatnonzero(coverage.gold_k & (coverage.votes_l == 0))
    if not len(unused):
        return []
    return [_naming(NoteKind.GOLD_UNUSED, [coverage.labels[k] for k in unused[:LISTED]], len(unused))]


def _naming(kind: NoteKind, names: Sequence[Any], count: int) -> Note:
    return Note(kind, {"names": list(map(str, names)), "count": count})


def mask(votes: Votes) -> Votes:
    """The same votes, items and workers numbered from 1 in the order in which they first appear; labels stay.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items=["x.jpg", "y.jpg"], workers=["ann"], labels="ny")
    >>> mask(votes).items, mask(votes).workers
    ((1, 2), (1,))
    """
    n_items, n_workers, _ = votes.shape
    items, workers = tuple(range(1, n_items + 1)), tuple(range(1, n_workers + 1))
    return replace(votes, items=items, workers=workers, account=mask_account(votes.account), text=None)


def mask_account(account: Account) -> Account:
    """The same account, without the names of items and workers."""
    named = ("names", "items", "groups", "example", "workers")  # facts that may hold names
    notes = (
        replace(note, facts={key: value for key, value in note.facts.items() if key not in named})
        if note.kind in NAMING
        else note
        for note in account.notes
    )
    return replace(account, notes=tuple(notes))
