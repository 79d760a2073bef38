"""Walk the items in parts, select them by code, merge those with equal votes, and draw some at random or by name.

A pass in parts keeps only its result, however many votes there are. Items with the same votes become one pattern with a
weight: 5 judges who all vote on 2 classes make at most 32. A draw by name gives the same items in whatever order they
are read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.kernels import add_up, gather_rows, vote_columns
from majorant.limits import T, in_order, thread_count
from majorant.values import FloatArray
from majorant.votes import IntArray, Scratch, Votes, cut

FIRST_ITEMS = 4_096  # sample that shows whether merging is worth it
Keys = NDArray[np.uint64]
FACTOR = 0x9E3779B97F4A7C15  # odd, so that its powers never vanish modulo 2**64
MOST_STUDIED = 5_000_000  # votes that are studied one by one; beyond, a random sample of the items shows the same
NAMES_AT_ONCE = 1 << 16  # names hashed in one go


def map_parts(fn: Callable[..., T], votes: Votes, *fits: Any) -> Iterator[T]:
    """What `fn` returns for the votes on each part of the items, and for the rows that fits or arrays have for it."""

    def of_part(bounds: tuple[int, int]) -> T:
        return fn(votes.part(*bounds), *(_rows_of(fit, *bounds) for fit in fits))

    return in_order(of_part, list(cut(votes.offsets_i)) or [(0, 0)], thread_count())


def _rows_of(values: Any, start: int, stop: int) -> Any:
    if values is None:
        return None
    return values[start:stop] if isinstance(values, np.ndarray) else values.part(start, stop)


def sum_parts(fn: Callable[..., T], votes: Votes, *fits: Any) -> T:
    """The sum over all parts of what `fn` returns; see `map_parts`."""
    return add_up(map_parts(fn, votes, *fits))


def rows_of_parts(fn: Callable[..., FloatArray], votes: Votes, *fits: Any) -> FloatArray:
    """The rows that `fn` returns for each part, concatenated; see `map_parts`."""
    return gather_rows(map_parts(fn, votes, *fits), len(votes.items), votes.scratch)


def names_at(names: Sequence[Hashable], code_p: IntArray) -> tuple[Hashable, ...]:
    """The names for some codes."""
    take = getattr(names, "take", None)  # names that are not in memory are looked up together
    return tuple(map(names.__getitem__, code_p.tolist())) if take is None else tuple(take(code_p))


def take_items(votes: Votes, item_p: IntArray) -> Votes:
    """The votes of some items, in the given order; workers and labels keep their codes."""
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
        items=names_at(votes.items, item_p),
        workers=votes.workers,
        labels=votes.labels,
        account=votes.account,
        gold_i=None if votes.gold_i is None else votes.gold_i[item_p],
        abstained_i=None if votes.abstained_i is None else votes.abstained_i[item_p],
        seconds_n=None if votes.seconds_n is None else votes.seconds_n[vote_n],
        trust_j=votes.trust_j,
        ratings=votes.ratings,
        slice_i=None if votes.slice_i is None else votes.slice_i[item_p],
        slices=votes.slices,
        ordered=votes.ordered,
        label_type=votes.label_type,
        text=votes.text,
    )


def take_votes(votes: Votes, kept: IntArray) -> Votes:
    """Some of the votes; items and workers keep their codes."""
    counts_i = np.bincount(votes.item_n[kept], minlength=len(votes.items))
    return replace(
        votes,
        item_n=votes.item_n[kept],
        worker_n=votes.worker_n[kept],
        label_n=votes.label_n[kept],
        offsets_i=np.concatenate([[0], np.cumsum(counts_i)]),
        seconds_n=None if votes.seconds_n is None else votes.seconds_n[kept],
    )


def without_workers(votes: Votes, excluded_j: NDArray[np.bool_]) -> Votes:
    """The votes without those of some workers; items and workers keep their codes."""
    return take_votes(votes, np.flatnonzero(~excluded_j[votes.worker_n]))


def draw_items(votes: Votes, item: IntArray, most_votes: float, *, rng: np.random.Generator) -> IntArray:
    """These items or, if they have more than `most_votes` votes in total, a random subset with fewer; in order.

    At least one item is drawn, however many votes it has.

    >>> votes = Votes.from_codes([0, 0, 1, 2], [0, 1, 0, 0], [0] * 4, items="abc", workers="wx", labels="n")
    >>> draw_items(votes, np.arange(3), 3, rng=np.random.default_rng(0)).tolist()
    [0, 2]
    """
    if votes.votes_i[item].sum() <= most_votes:
        return item
    item = rng.permutation(item)
    n_drawn = int(np.searchsorted(np.cumsum(votes.votes_i[item]), most_votes, side="right"))
    return np.sort(item[: max(1, n_drawn)])


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """One item for each distinct set of votes (and gold label), and the number of items that have it."""

    votes: Votes
    weight_p: FloatArray
    pattern_i: NDArray[np.int32]  # the pattern of each of the original items


def merge_equal_items(votes: Votes, *, at_most: float = 0.5) -> Merged | None:
    """Merge items with equal votes; None if more than the share `at_most` would remain, so it is not worth it.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 1], items="ab", workers="wx", labels="01")
    >>> merged = merge_equal_items(votes)
    >>> merged.votes.items, merged.weight_p.tolist(), merged.pattern_i.tolist()
    (('a',), [2.0], [0, 0])
    """
    import pyarrow as pa

    n_items, n_workers, n_classes = votes.shape
    if n_items > 2 * FIRST_ITEMS and not _sample_repeats(votes):
        return None
    rng = np.random.default_rng(0x6D616A6F)  # any seed will do
    n_columns = n_workers * n_classes + n_classes + 1
    random_2c = rng.integers(2**64, size=(2, n_columns), dtype=np.uint64)
    key_i2 = gather_rows(map_parts(lambda part: _vote_keys(part, random_2c), votes), n_items, Scratch())
    key_i, check_i = np.ascontiguousarray(key_i2[:, 0]), key_i2[:, 1]
    # Arrow's own conversions from and to NumPy load pandas if it is installed, which takes longer than all this.
    encoded = pa.Array.from_buffers(pa.uint64(), n_items, [None, pa.py_buffer(key_i)]).dictionary_encode()
    if len(encoded.dictionary) > at_most * n_items:
        return None
    pattern_i = np.frombuffer(encoded.indices.buffers()[1], np.int32, count=n_items)
    first_p = np.empty(len(encoded.dictionary), dtype=np.int64)
    first_p[pattern_i[::-1]] = np.arange(n_items)[::-1]  # the last assignment wins, so each pattern gets its first item
    if (check_i != check_i[first_p][pattern_i]).any():  # two different items with the same key: one pair in 2**64
        return None
    weight_p = np.bincount(pattern_i, minlength=len(first_p)).astype(float)
    return Merged(take_items(votes, first_p), weight_p, pattern_i)


def _sample_repeats(votes: Votes) -> bool:
    """Whether equal votes are common among the first items.

    If fewer than 1 in 20 repeat, there are some 40,000 patterns or more in all, too many for merging to pay.
    """
    sample = merge_equal_items(take_items(votes, np.arange(FIRST_ITEMS)), at_most=0.95)
    return sample is not None


def _vote_keys(votes: Votes, random_2c: Keys) -> Keys:
    """Two hashes of each item's votes, regardless of their order: sums of random numbers per vote, modulo 2**64."""
    column_n, key_2i = vote_columns(votes), []
    for random_c in random_2c:
        running_n = np.concatenate([np.zeros(1, np.uint64), np.cumsum(random_c[column_n], dtype=np.uint64)])
        key_i: Keys = running_n[votes.offsets_i[1:]] - running_n[votes.offsets_i[:-1]]
        if votes.gold_i is not None:
            key_i += random_c[len(votes.workers) * len(votes.labels) + 1 + votes.gold_i]
        key_2i.append(key_i)
    return np.stack(key_2i, axis=1)


def draw(votes: Votes, share: float, seed: int) -> IntArray:
    """The codes of a random sample of items, which depends only on their names and the seed."""
    starts = range(0, len(votes.items), NAMES_AT_ONCE)
    return draw_by_name(((start, votes.items[start : start + NAMES_AT_ONCE]) for start in starts), share, seed)


class Sample(NamedTuple):
    """The votes on some of the items, or on all of them."""

    votes: Votes
    of: Callable[[Any], Any]  # the rows that a fit to all votes has for these items; None for None


def sample_items(votes: Votes, most_votes: float | None = None, *, seed: int = 0) -> Sample:
    """All votes or, if there are more than `most_votes`, about so many: those on a random sample of the items."""
    most_votes = MOST_STUDIED if most_votes is None else most_votes
    if votes.n_votes <= most_votes:
        return Sample(votes, lambda fit: fit)
    item_p = np.sort(draw(votes, most_votes / votes.n_votes, seed))
    return Sample(take_items(votes, item_p), lambda fit: None if fit is None else fit.take(item_p))


def draw_by_name(parts: Iterable[tuple[int, Any]], share: float, seed: int) -> IntArray:
    """Draw each item with probability `share`, by a hash of its name; return codes in the order of the hashes.

    A part is the code of its first item and the names of its items, a sequence or an Arrow array.

    >>> draw_by_name([(0, ["a", "b", "c"]), (3, ["d", "e"])], .5, seed=0).tolist()
    [0, 2]
    >>> draw_by_name([(0, ["e", "d", "c", "b", "a"])], .5, seed=0).tolist()  # the same names
    [4, 2]
    """
    drawn_parts = [draw_of_part(start, names, share, seed) for start, names in parts]
    code_p, hash_p = (np.concatenate([part[n] for part in drawn_parts]) for n in (0, 1))
    return np.asarray(code_p[np.argsort(hash_p, kind="stable")])


def draw_of_part(start: int, names: Any, share: float, seed: int) -> tuple[IntArray, Keys]:
    """The codes and hashes of the items drawn from one part."""
    limit = np.uint64(min(share * 2.0**64, 2.0**64 - 2048))
    codes, hashes = [], []
    for at in range(0, len(names), NAMES_AT_ONCE):
        hash_i = name_hashes(names[at : at + NAMES_AT_ONCE], seed)
        here = np.flatnonzero(hash_i < limit)
        codes.append(here + (start + at))
        hashes.append(hash_i[here])
    return np.concatenate([np.empty(0, np.int64), *codes]), np.concatenate([np.empty(0, np.uint64), *hashes])


def name_hashes(names: Sequence[Hashable] | Any, seed: int) -> Keys:
    """A pseudo-random number for each name, which depends only on its text and the seed."""
    content, bounds = _text(names)
    place_b = np.arange(len(content)) - np.repeat(bounds[:-1], np.diff(bounds))
    power = np.cumprod(np.full(int(place_b.max(initial=0)) + 1, FACTOR, np.uint64), dtype=np.uint64)
    # A polynomial in the bytes, modulo 2**64; 1 is added so that trailing zero bytes change the hash.
    running_b = np.zeros(len(content) + 1, np.uint64)
    np.cumsum((content.astype(np.uint64) + np.uint64(1)) * power[place_b], out=running_b[1:])
    key_i = running_b[bounds[1:]] - running_b[bounds[:-1]]
    return mix_bits(key_i ^ mix_bits(np.array([seed % 2**64], np.uint64)))


def mix_bits(key: Keys) -> Keys:
    """Mix a key so that every bit of the result depends on every bit of it (the finisher of SplitMix64)."""
    key = key + np.uint64(FACTOR)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def _text(names: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all names, concatenated, and the offset of each; the last offset is the total length."""
    import pyarrow as pa

    if hasattr(names, "__arrow_array__"):
        names = names.__arrow_array__()
    if isinstance(names, pa.Array):
        text = names.cast(pa.large_string())
        bounds = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
        return np.frombuffer(text.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0]
    # Arrow would import pandas to convert a list.
    words = list(map(str, names))
    joined = "".join(words).encode()
    lengths = list(map(len, words))
    if sum(lengths) < len(joined):  # some characters take several bytes
        lengths = [len(word.encode()) for word in words]
    bounds = np.zeros(len(words) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return np.frombuffer(joined, np.uint8), bounds
