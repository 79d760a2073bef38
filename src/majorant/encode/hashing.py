"""A hash table in NumPy that learns keys batch by batch: text ids to codes without comparing or keeping the texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]
Checks = NDArray[np.uint32]

START_SLOTS = 1 << 12
FULLEST = 0.7  # beyond this share of filled slots, searches grow long


class HashTable:
    """Codes of keys in order of first appearance; a key is 96 bits, the hash of a text and half of another one.

    Two of D texts share all 96 bits with probability D^2 / 2^97: 6e-14 for a hundred million ids.

    >>> table = HashTable()
    >>> table.encode(np.array([7, 5, 7], np.uint64), np.zeros(3, np.uint32))
    (array([0, 1, 0], dtype=int32), array([0, 1]))
    >>> table.encode(np.array([5, 9], np.uint64), np.zeros(2, np.uint32))
    (array([1, 2], dtype=int32), array([1]))
    """

    def __init__(self) -> None:
        self.n_keys = 0
        self._clear(START_SLOTS)

    def _clear(self, n_slots: int) -> None:
        self.key_s: Keys = np.zeros(n_slots, np.uint64)
        self.check_s: Checks = np.zeros(n_slots, np.uint32)
        self.code_s: Codes = np.full(n_slots, -1, np.int32)

    def encode(self, key_n: Keys, check_n: Checks) -> tuple[Codes, NDArray[np.intp]]:
        """The code of each key, and the places at which keys appear for the first time."""
        slot_n = self._slots(key_n)
        code_n: Codes = self.code_s[slot_n]
        known_n = (self.key_s[slot_n] == key_n) & (self.check_s[slot_n] == check_n) & (code_n >= 0)
        rest = np.flatnonzero(~known_n)
        if not len(rest):
            return code_n, rest
        self._make_room(len(rest))
        # Rows that found another key, or none, search on; a new key's code is first the row that brought it.
        key_m, check_m = key_n[rest], check_n[rest]
        slot_m, code_m = self._search(key_m, check_m, np.arange(self.n_keys, self.n_keys + len(rest), dtype=np.int32))
        new = np.flatnonzero(code_m == np.arange(self.n_keys, self.n_keys + len(rest)))
        remap = np.zeros(len(rest), dtype=np.int32)
        remap[new] = np.arange(self.n_keys, self.n_keys + len(new), dtype=np.int32)
        fresh = code_m >= self.n_keys
        code_m[fresh] = remap[code_m[fresh] - self.n_keys]
        self.code_s[slot_m[new]] = code_m[new]
        self.n_keys += len(new)
        code_n[rest] = code_m
        return code_n, rest[new]

    def _slots(self, key_n: Keys) -> NDArray[np.int64]:
        return (key_n & np.uint64(len(self.code_s) - 1)).astype(np.int64)

    def _search(self, key_m: Keys, check_m: Checks, fresh_m: Codes) -> tuple[NDArray[np.int64], Codes]:
        """The slot and code of each key; a key that is not there takes the first free slot with its fresh code.

        Equal keys walk the same slots in step, and in an assignment with repeated places the last one counts: so
        going backwards, the first row of a key is the one that enters it.
        """
        slot_m, code_m = self._slots(key_m), np.empty(len(key_m), dtype=np.int32)
        active = np.arange(len(key_m))
        while len(active):
            slot_a = slot_m[active]
            free = np.flatnonzero(self.code_s[slot_a] < 0)[::-1]
            entering, places = active[free], slot_a[free]
            self.key_s[places], self.check_s[places] = key_m[entering], check_m[entering]
            self.code_s[places] = fresh_m[entering]
            found = (self.key_s[slot_a] == key_m[active]) & (self.check_s[slot_a] == check_m[active])
            code_m[active[found]] = self.code_s[slot_a[found]]
            active = active[~found]
            slot_m[active] = (slot_m[active] + 1) & (len(self.code_s) - 1)
        return slot_m, code_m

    def _make_room(self, n_more: int) -> None:
        n_slots = len(self.code_s)
        while self.n_keys + n_more > FULLEST * n_slots:
            n_slots *= 2
        if n_slots == len(self.code_s):
            return
        filled = np.flatnonzero(self.code_s >= 0)
        key_m, check_m, code_m = self.key_s[filled], self.check_s[filled], self.code_s[filled]
        self._clear(n_slots)
        self._search(key_m, check_m, code_m)
