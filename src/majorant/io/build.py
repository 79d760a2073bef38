"""Codes to Votes: votes sorted by item, repeats resolved, gold attached, every row accounted for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.io.collect import Coded
from majorant.io.gold import Gold
from majorant.io.ids import Ids, identify, one_per_item, slices_of_items
from majorant.io.labels import LabelCodes, Mask, label_uses, name_labels, vote_mask
from majorant.io.notes import coverage_of, make_account
from majorant.io.options import ReadOptions
from majorant.io.positions import says_position
from majorant.io.repeats import Resolved, resolve
from majorant.io.values import decode
from majorant.io.vocabulary import Codes
from majorant.votes import Votes, item_order


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedVotes:
    """Votes sorted by item; vote n stood in row row_n[n] of the table (None: in row n)."""

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
        """The row of the table in which a vote stood."""
        return vote if self.row_n is None else int(self.row_n[vote])


def build_votes(coded: Coded, items: Ids, gold: Gold | None, options: ReadOptions) -> Votes:
    """The Votes of a table that has been read."""
    workers = identify(coded, "worker")
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
    account = make_account(coded, coverage_of(votes), named, resolved, options.repeats, gold)
    return replace(votes, account=account, slice_i=slice_i, slices=slices, ordered=options.scale.order is not None)


def no_votes(coded: Coded) -> DataError:
    """The error for a table in which no row holds a vote."""
    return DataError(
        f"{coded.table.source}: no row holds a vote; column {coded.table.columns['label']!r} is empty throughout. "
        "Say which column holds the labels with label='NAME'."
    )


def resolve_votes(
    coded: Coded, items: Ids, workers: Ids, named: LabelCodes, vote_n: Mask | None, repeats: str
) -> tuple[SortedVotes, Resolved]:
    """The votes sorted by item, without those that the policy on repeated votes leaves out."""
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
            + (f" If {shown[0]!r} is the order of a pair: majorant judges tells position bias." if shown else "")
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
        found = csr_array((ones, (items.code_n[mask], workers.code_n[mask])), shape=shape)
        found.sum_duplicates()
        found.data[:] = 1
        return found

    silent = pairs(~vote_n)
    voters = pairs(vote_n & np.isin(items.code_n, np.unique(items.code_n[~vote_n])))
    return np.asarray((silent - silent.multiply(voters)).sum(axis=1), dtype=np.int32)
