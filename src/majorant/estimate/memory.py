"""The votes that a state remembers, and new ones: names matched, repeats resolved, the items that are touched."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.estimate.online import COUNTED, State, joined
from majorant.votes import Votes

Codes = NDArray[np.int32]
_growing = Lock()


class Touched(NamedTuple):
    """The items that new votes touch: with the votes they had, and with those they have now, workers coded anew."""

    item_t: Codes  # among all items
    worker_t: NDArray[np.int64]  # among all workers; those of the new votes come first
    earlier: Votes
    votes: Votes
    log: list[Codes]  # item, worker and label of every vote remembered from now on
    new_t: Codes  # where each item of the new votes stands among those touched


class Grown(NamedTuple):
    """A state with room for new names, and the code of each name of the new votes."""

    items: tuple[Any, ...]
    workers: tuple[Any, ...]
    labels: tuple[Any, ...]
    arrays: dict[str, NDArray[Any]]
    codes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    place: dict[Any, int]


def joined_items(
    state: State, new: tuple[Hashable, ...]
) -> tuple[tuple[Hashable, ...], NDArray[np.int64], dict[Hashable, int]]:
    """All items, the code of each of the new ones, and the dictionary of codes for the next state.

    Finding items would cost most of an update, so the states of one stream share a dictionary that only grows.  Who
    goes on from an earlier state of a stream, whose dictionary has grown beyond it, gets one of his own.
    """
    with _growing:
        place = state.place
        if place is None or len(place) != len(state.items):
            place = {name: code for code, name in enumerate(state.items)}
        code_a = np.array([place.setdefault(name, len(place)) for name in new], dtype=np.int64)
        return (*state.items, *islice(place, len(state.items), None)), code_a, place


def grow(state: State, votes: Votes) -> Grown:
    """The state with room for the names of new votes."""
    items, item_a, place = joined_items(state, votes.items)
    workers, worker_a = joined(state.workers, votes.workers)
    labels, label_a = joined(state.labels, votes.labels)
    sizes = {"i": len(items), "j": len(workers), "k": len(labels), "l": len(labels)}
    arrays = {name: state.arrays[name] for name in COUNTED}
    for name, axes in (("counts", "jkl"), ("class_counts", "k"), ("posterior", "ik")):
        wider = np.zeros([sizes[axis] for axis in axes])
        wider[tuple(slice(0, size) for size in arrays[name].shape)] = arrays[name]
        arrays[name] = wider
    return Grown(items, workers, labels, arrays, (item_a, worker_a, label_a), place)


def touch(grown: Grown, new: Votes) -> Touched:
    """The items of new votes with all their votes, before and now."""
    item_a, worker_a, label_a = grown.codes
    touched_i = np.zeros(len(grown.items), dtype=bool)
    touched_i[item_a] = True
    old = [grown.arrays[name] for name in ("item", "worker", "label")]
    known_new = ((item_a, new.item_n), (worker_a, new.worker_n), (label_a, new.label_n))
    fresh = [code_a.astype(np.int32)[code_n] for code_a, code_n in known_new]
    before_n = np.flatnonzero(touched_i[old[0]])
    stale_n, repeat_n = _repeats(grown, [code[before_n] for code in old], fresh, new.account.repeats)
    kept = [np.delete(a, before_n[stale_n]) if stale_n.any() else a for a in old]
    log = [np.concatenate([a, b[~repeat_n]]) for a, b in zip(kept, fresh, strict=True)]
    item_t = np.flatnonzero(touched_i).astype(np.int32)
    now_n = np.flatnonzero(touched_i[log[0]])
    others_t = np.setdiff1d(np.concatenate([old[1][before_n], log[1][now_n]]), worker_a)
    worker_t = np.concatenate([worker_a, others_t]).astype(np.int64)
    local_i, local_j = np.zeros(len(grown.items), np.int32), np.zeros(len(grown.workers), np.int32)
    local_i[item_t], local_j[worker_t] = np.arange(len(item_t)), np.arange(len(worker_t))
    names = {"items": range(len(item_t)), "workers": range(len(worker_t)), "labels": grown.labels}

    def votes_of(item_n: Codes, worker_n: Codes, label_n: Codes) -> Votes:
        return Votes.from_codes(local_i[item_n], local_j[worker_n], label_n, **names)  # type: ignore[arg-type]

    earlier, now = votes_of(*(code[before_n] for code in old)), votes_of(*(code[now_n] for code in log))
    return Touched(item_t, worker_t, earlier, now, log, local_i[item_a])


def _repeats(
    grown: Grown, old: list[Codes], fresh: list[Codes], policy: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of the votes before, and which of the new ones, do not count: a worker's second vote on an item."""
    stale_n, repeat_n = np.zeros(len(old[0]), dtype=bool), np.zeros(len(fresh[0]), dtype=bool)
    if policy == "each" or not len(old[0]):
        return stale_n, repeat_n
    n_workers = np.int64(len(grown.workers))
    old_key, new_key = (item_n * n_workers + worker_n for item_n, worker_n, _ in (old, fresh))
    order = np.argsort(old_key, kind="stable")
    place = np.minimum(np.searchsorted(old_key, new_key, sorter=order), len(old_key) - 1)
    earlier_n = order[place]
    again_n = old_key[earlier_n] == new_key
    differs_n = again_n & (old[2][earlier_n] != fresh[2])
    if policy == "error" and differs_n.any():
        n = int(np.argmax(differs_n))
        i, j, before, now = fresh[0][n], fresh[1][n], old[2][earlier_n[n]], fresh[2][n]
        raise DataError(
            f"Worker {grown.workers[j]!r} labelled item {grown.items[i]!r} {grown.labels[before]!r} in an earlier "
            f"batch and {grown.labels[now]!r} now. Choose when reading with repeats='first'|'last'|'each'."
        )
    if policy == "last":
        stale_n[earlier_n[again_n]] = True
        return stale_n, repeat_n
    return stale_n, again_n
