"""Items drawn by their names: the same ones are drawn wherever the votes lie, in whatever order they came."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.votes import IntArray

Keys = NDArray[np.uint64]
FACTOR = 0x9E3779B97F4A7C15  # odd: its powers never vanish modulo 2**64
AT_ONCE = 1 << 16  # names that are looked at together


def drawn(parts: Iterable[tuple[int, Any]], share: float, seed: int) -> IntArray:
    """The codes of the items drawn, in the order of their lots; each item is drawn with probability `share`.

    A part is the code of its first item and the names of its items, a sequence or an Arrow array.

    >>> drawn([(0, ["a", "b", "c"]), (3, ["d", "e"])], .5, seed=0).tolist()
    [0, 2]
    >>> drawn([(0, ["e", "d", "c", "b", "a"])], .5, seed=0).tolist()  # the same names
    [4, 2]
    """
    found = [drawn_of_part(start, names, share, seed) for start, names in parts]
    code_p, lot_p = (np.concatenate([one[n] for one in found]) for n in (0, 1))
    return np.asarray(code_p[np.argsort(lot_p, kind="stable")])


def drawn_of_part(start: int, names: Any, share: float, seed: int) -> tuple[IntArray, Keys]:
    """The codes of the items of a part that are drawn, and their lots."""
    limit = np.uint64(min(share * 2.0**64, 2.0**64 - 2048))
    codes, found = [], []
    for at in range(0, len(names), AT_ONCE):
        lot_i = lots(names[at : at + AT_ONCE], seed)
        here = np.flatnonzero(lot_i < limit)
        codes.append(here + (start + at))
        found.append(lot_i[here])
    return np.concatenate([np.empty(0, np.int64), *codes]), np.concatenate([np.empty(0, np.uint64), *found])


def lots(names: Sequence[Hashable] | Any, seed: int) -> Keys:
    """A number for each name that looks random, and depends on nothing but its text and the seed."""
    content, bounds = _text(names)
    place_b = np.arange(len(content)) - np.repeat(bounds[:-1], np.diff(bounds))
    power = np.cumprod(np.full(int(place_b.max(initial=0)) + 1, FACTOR, np.uint64), dtype=np.uint64)
    # A polynomial in the bytes, modulo 2**64; the 1 tells a name from the same with zeros at its end.
    running_b = np.zeros(len(content) + 1, np.uint64)
    np.cumsum((content.astype(np.uint64) + np.uint64(1)) * power[place_b], out=running_b[1:])
    key_i = running_b[bounds[1:]] - running_b[bounds[:-1]]
    return mixed(key_i ^ mixed(np.array([seed % 2**64], np.uint64)))


def mixed(key: Keys) -> Keys:
    """Every bit of the result depends on every bit of the key (the finisher of SplitMix64)."""
    key = key + np.uint64(FACTOR)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


def _text(names: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all names, one after the other, and where each begins; at the end where the last ends."""
    import pyarrow as pa

    if isinstance(names, pa.Array):
        text = names.cast(pa.large_string())
        bounds = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
        return np.frombuffer(text.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0]
    # Not by Arrow, which loads pandas to look at a list.
    words = [str(name).encode() for name in names]
    bounds = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=bounds[1:])
    return np.frombuffer(b"".join(words), np.uint8), bounds
