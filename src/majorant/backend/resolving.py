"""A bucket in memory, resolved by the rules of encoding: its votes in order, and what is known of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from majorant.backend.names import Names
from majorant.backend.records import (
    LABEL_BITS,
    LABEL_MASK,
    WORKER_MASK,
    Records,
    any_repeat,
    grouped,
    items_of,
    unpack,
)
from majorant.backend.spill import Spilled
from majorant.io.build import Ballots, abstained, gold_codes, resolve_votes
from majorant.io.collect import Coded
from majorant.io.ids import Ids
from majorant.io.labels import Labelled, vote_mask
from majorant.io.options import ReadOptions
from majorant.io.per_item import slices_of_items
from majorant.io.repeats import Resolved
from majorant.io.values import decode
from majorant.io.vocabulary import Codes

NONE = np.empty(0, dtype=np.int32)


class RowsWanted(Exception):
    """A message is to name rows, and these were not kept: read the table again, with them."""


@dataclass(frozen=True, slots=True)
class ResolvedItems:
    """The votes of the items from start to stop, and one array a file for what is known of these items."""

    start: int
    stop: int
    ballots: Ballots
    resolved: Resolved
    arrays: dict[str, NDArray[np.int32]]
    abstaining: bool
    slices: tuple[Any, ...]


class Resolver:
    """What does not change from bucket to bucket; buckets may be resolved by several threads at once."""

    def __init__(self, spilled: Spilled, named: Labelled, options: ReadOptions) -> None:
        self.spilled, self.named, self.options = spilled, named, options
        kind = spilled.coded.table.kind
        self.items = Names(spilled.folder / "items.parquet", spilled.n_ids["item"], kind)
        self.workers = list(Names(spilled.folder / "workers.parquet", spilled.n_ids["worker"], kind))
        self.label_values = decode(spilled.coded.known["label"], kind)
        self.label_of = np.roll(named.label_map, 1)  # by raw code plus one, as a key holds it
        self.all_votes = bool(spilled.uses.all())  # no raw label means that there is no vote

    def resolve(self, start: int, stop: int, records: Records, first: int) -> ResolvedItems:
        """The records of the items from start to stop, whose bucket begins with item `first`."""
        plain = self._plain(records, start - first, stop - first)
        if plain is None:
            return self._by_the_rules(records, start, stop, first)
        ballots, votes_i = plain
        arrays = {"votes": votes_i, "abstained": np.zeros(stop - start, dtype=np.int32)}
        if self.named.gold_i is not None:
            arrays["gold"] = self.named.gold_i[start:stop]
        return ResolvedItems(start, stop, ballots, Resolved(), arrays, False, ())

    def _plain(self, records: Records, start: int, stop: int) -> tuple[Ballots, Codes] | None:
        """The usual case in few passes: every row is a vote and nothing else, and nobody votes on an item twice."""
        if records.dtype.names != ("key",) or not self.all_votes:
            return None
        item_n = items_of(records["key"]) - np.int32(start)
        ordered, begin_i = grouped(records, item_n, stop - start)
        votes_i = np.diff(begin_i).astype(np.int32)
        pair_n = ordered["key"] >> LABEL_BITS
        if self.options.repeats != "each" and any_repeat(pair_n, int(votes_i.max(initial=0))):
            return None
        raw_n = ordered["key"] & LABEL_MASK
        if raw_n.min(initial=1) < 1:
            return None
        return Ballots(
            item_n=np.repeat(np.arange(stop - start, dtype=np.int32), votes_i),
            worker_n=(pair_n & WORKER_MASK).astype(np.int32),
            label_n=self.label_of.take(raw_n),
            seconds_n=None,
            row_n=None,
        ), votes_i

    def _by_the_rules(self, records: Records, start: int, stop: int, first: int) -> ResolvedItems:
        coded = self._coded(records)
        item_n = coded.codes["item"] - np.int32(start - first)
        items = Ids(code_n=item_n, declared_n=NONE, values=_Some(self.items, start, stop))
        workers = Ids(code_n=coded.codes["worker"], declared_n=NONE, values=self.workers)
        vote_n = vote_mask(coded, self.label_values, self.options.no_vote)
        ballots, resolved = resolve_votes(coded, items, workers, self.named, vote_n, self.options.repeats)
        votes_i = np.bincount(ballots.item_n, minlength=stop - start)
        arrays: dict[str, Any] = {"votes": votes_i, "abstained": np.zeros(stop - start, dtype=np.int32)}
        if vote_n is not None:
            arrays["abstained"] = abstained(items, workers, vote_n)
        if self.named.gold_map is not None:
            arrays["gold"] = gold_codes(coded, items, self.named)
        elif self.named.gold_i is not None:
            arrays["gold"] = self.named.gold_i[start:stop]
        slice_i, slices = slices_of_items(coded, items)
        if slice_i is not None:
            arrays["slice"] = slice_i
        return ResolvedItems(start, stop, ballots, resolved, arrays, vote_n is not None, slices)

    def _coded(self, records: Records) -> Coded:
        names = records.dtype.names or ()
        codes = dict(zip(("item", "worker", "label"), unpack(records["key"]), strict=True))
        codes |= {role: np.ascontiguousarray(records[role]) for role in self.spilled.coded.codes if role in names}
        return replace(
            self.spilled.coded,
            n_rows=len(records),
            codes=codes,
            seconds_n=np.ascontiguousarray(records["seconds"]) if "seconds" in names else None,
            row_n=records["row"] if "row" in names else cast("NDArray[np.int64]", _NoRows()),
        )


class _Some(Sequence[Any]):
    """The names of some items: how many they are is known, what they are is read only for a message."""

    def __init__(self, names: Names, start: int, stop: int) -> None:
        self.names, self.start, self.stop = names, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, index: Any) -> Any:
        return self.names[self.start + int(index)]


class _NoRows:
    """In place of the numbers of rows, which a message would need."""

    def __getitem__(self, index: int) -> int:
        raise RowsWanted
