"""Whole numbers to codes without hashing: a table with a place for each number from the smallest to the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Numbers = NDArray[np.int64]

PLACES_PER_ID = 8  # as many, and the table is no larger than one of hashes


class DenseTable:
    """Codes of whole numbers in order of first appearance; as long as they lie close together, or `room` allows it.

    >>> table = DenseTable(room=1_000_000)
    >>> table.encode(np.array([7, 5, 7]))
    (array([0, 1, 0], dtype=int32), array([0, 1]))
    >>> table.encode(np.array([-9, 5]))
    (array([2, 1], dtype=int32), array([0]))
    >>> table.numbers().tolist(), table.bytes_with(np.array([10**12]))
    ([7, 5, -9], None)
    """

    def __init__(self, room: int) -> None:
        self.room = room  # bytes that it may take, however few its ids are
        self.low = self.n_keys = 0
        self.code_v: Codes = np.zeros(0, dtype=np.int32)  # of the number low + v, plus one; 0: not seen yet

    def bytes_with(self, number_n: Numbers) -> int | None:
        """The memory that it takes while these numbers are learned; None where they lie too far apart for it."""
        low, high = self._range(number_n)
        n_bytes = 4 * (high - low)
        if n_bytes > max(self.room, 4 * PLACES_PER_ID * (self.n_keys + len(number_n))):
            return None
        return self.code_v.nbytes if self._holds(low, high) else self.code_v.nbytes + 2 * n_bytes

    def encode(self, number_n: Numbers) -> tuple[Codes, NDArray[np.intp]]:
        """The code of each number, and the places at which numbers appear for the first time."""
        if not len(number_n):
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.intp)
        self._make_room(*self._range(number_n))
        place_n = number_n - self.low
        code_n: Codes = self.code_v.take(place_n)
        new = np.flatnonzero(code_n == 0)
        if len(new):
            place_m = place_n[new]
            given_m = np.arange(self.n_keys + 1, self.n_keys + 1 + len(new), dtype=np.int32)
            self.code_v[place_m[::-1]] = given_m[::-1]  # the last assignment wins, so the first row does
            found_m = self.code_v.take(place_m)
            first = np.flatnonzero(found_m == given_m)
            if len(first) < len(new):  # some of the new numbers came twice: close the gaps that they leave
                self.code_v[place_m[first]] = given_m[: len(first)]
                found_m = self.code_v.take(place_m)
            code_n[new] = found_m
            new = new[first]
            self.n_keys += len(new)
        code_n -= 1
        return code_n, new

    def numbers(self) -> Numbers:
        """The numbers in the order of their codes."""
        place_i = np.flatnonzero(self.code_v)
        number_i = np.empty(self.n_keys, dtype=np.int64)
        number_i[self.code_v[place_i] - 1] = place_i + self.low
        return number_i

    def _range(self, number_n: Numbers) -> tuple[int, int]:
        """From the smallest to beyond the largest, those of the table included."""
        if not len(number_n):
            return self.low, self.low + len(self.code_v)
        low, high = int(number_n.min()), int(number_n.max()) + 1
        if not len(self.code_v):
            return low, high
        return min(low, self.low), max(high, self.low + len(self.code_v))

    def _holds(self, low: int, high: int) -> bool:
        return low >= self.low and high <= self.low + len(self.code_v)

    def _make_room(self, low: int, high: int) -> None:
        if self._holds(low, high):
            return
        old, n_old, slack = self.low, len(self.code_v), (high - low) // 2  # for ids that rise, or fall, on and on
        if n_old and low < old:
            low = max(low - slack, np.iinfo(np.int64).min)
        if n_old and high > old + n_old:
            high += slack
        code_v = np.zeros(high - low, dtype=np.int32)  # pages that nobody writes to take no memory
        code_v[old - low : old - low + n_old] = self.code_v
        self.low, self.code_v = low, code_v
