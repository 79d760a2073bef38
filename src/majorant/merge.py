"""Items with the same votes are one pattern with a weight: a panel of 5 judges and 2 classes has at most 32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.blocks import vote_columns
from majorant.kernels import FloatArray
from majorant.votes import IntArray, Votes

SAMPLE, REPEATS = 4_096, 0.95  # fewer than 1 in 20 repeated among the first: some 40,000 patterns or more in all


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """One item for each distinct set of votes (and gold label), and how many items it stands for."""

    votes: Votes
    weight_p: FloatArray
    pattern_i: NDArray[np.int32]  # the pattern of each of the original items


def merge_equal_items(votes: Votes, *, at_most: float = 0.5) -> Merged | None:
    """Merge items with equal votes; None where more than `at_most` of the items would remain, so that it does not pay.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], items="ab", workers="wx", labels="01")
    >>> merged = merge_equal_items(votes)
    >>> merged.votes.items, merged.weight_p.tolist(), merged.pattern_i.tolist()
    (('a',), [2.0], [0, 0])
    """
    import pyarrow as pa

    n_items, n_workers, n_classes = votes.shape
    if n_items > 2 * SAMPLE and not _sample_repeats(votes):
        return None
    rng = np.random.default_rng(0x6D616A6F)  # any fixed numbers serve: they only have to look random
    n_columns = n_workers * n_classes + n_classes + 1
    key_i, check_i = (_vote_keys(votes, rng.integers(2**64, size=n_columns, dtype=np.uint64)) for _ in range(2))
    # Arrow's own conversions from and to NumPy load pandas where it is installed, which takes longer than all this.
    encoded = pa.Array.from_buffers(pa.uint64(), n_items, [None, pa.py_buffer(key_i)]).dictionary_encode()
    if len(encoded.dictionary) > at_most * n_items:
        return None
    pattern_i = np.frombuffer(encoded.indices.buffers()[1], np.int32, count=n_items)
    first_p = np.empty(len(encoded.dictionary), dtype=np.int64)
    first_p[pattern_i[::-1]] = np.arange(n_items)[::-1]  # the last write stays: the first item of each pattern
    if (check_i != check_i[first_p][pattern_i]).any():  # two different items with one key: once in 2**64 pairs
        return None
    weight_p = np.bincount(pattern_i, minlength=len(first_p)).astype(float)
    return Merged(take_items(votes, first_p), weight_p, pattern_i)


def _sample_repeats(votes: Votes) -> bool:
    """Whether equal votes are common among the first items; if not, there are too many patterns to gain by merging."""
    sample = merge_equal_items(take_items(votes, np.arange(SAMPLE)), at_most=REPEATS)
    return sample is not None


def take_items(votes: Votes, item_p: IntArray) -> Votes:
    """The votes of the chosen items only, in the order given; workers and labels keep their codes."""
    if len(item_p) == len(votes.items) and (item_p == np.arange(len(item_p))).all():
        return votes
    length_p = votes.votes_i[item_p]
    offsets_p = np.concatenate([[0], np.cumsum(length_p)])
    vote_n = np.arange(offsets_p[-1]) + np.repeat(votes.offsets_i[item_p] - offsets_p[:-1], length_p)
    return Votes(
        item_n=np.repeat(np.arange(len(item_p), dtype=np.int32), length_p),
        worker_n=votes.worker_n[vote_n],
        label_n=votes.label_n[vote_n],
        offsets_i=offsets_p,
        items=tuple(map(votes.items.__getitem__, item_p.tolist())),
        workers=votes.workers,
        labels=votes.labels,
        account=votes.account,
        gold_i=None if votes.gold_i is None else votes.gold_i[item_p],
        abstained_i=None if votes.abstained_i is None else votes.abstained_i[item_p],
        seconds_n=None if votes.seconds_n is None else votes.seconds_n[vote_n],
        slice_i=None if votes.slice_i is None else votes.slice_i[item_p],
        slices=votes.slices,
        text=votes.text,
    )


def draw_items(votes: Votes, item: IntArray, most_votes: float, *, rng: np.random.Generator) -> IntArray:
    """These items or, where they hold more votes than that, as many of them drawn by lot as do not; in order.

    At least one is drawn, however many votes it holds.

    >>> votes = Votes.from_codes([0, 0, 1, 2], [0, 1, 0, 0], [0] * 4, items="abc", workers="wx", labels="n")
    >>> draw_items(votes, np.arange(3), 3, rng=np.random.default_rng(0)).tolist()
    [0, 2]
    """
    if votes.votes_i[item].sum() <= most_votes:
        return item
    item = rng.permutation(item)
    n_drawn = int(np.searchsorted(np.cumsum(votes.votes_i[item]), most_votes, side="right"))
    return np.sort(item[: max(1, n_drawn)])


def _vote_keys(votes: Votes, random_c: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """For each item the sum of a random number per vote, modulo 2**64: equal votes in any order, equal keys."""
    running_n = np.concatenate([np.zeros(1, np.uint64), np.cumsum(random_c[vote_columns(votes)], dtype=np.uint64)])
    key_i: NDArray[np.uint64] = running_n[votes.offsets_i[1:]] - running_n[votes.offsets_i[:-1]]
    if votes.gold_i is not None:
        key_i += random_c[len(votes.workers) * len(votes.labels) + 1 + votes.gold_i]
    return key_i
