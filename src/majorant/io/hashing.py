"""A hash table in NumPy that learns keys batch by batch: text ids to codes without comparing or keeping the texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]
Checks = NDArray[np.uint32]

SLOT = np.dtype([("key", np.uint64), ("check", np.uint32), ("code", np.int32)])  # 16 bytes: one look into memory
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
        self.slots = _free_slots(START_SLOTS)

    def encode(self, key_n: Keys, check_n: Checks) -> tuple[Codes, NDArray[np.intp]]:
        """The code of each key, and the places at which keys appear for the first time."""
        # Tables are often sorted by item: then one look per run of equal keys is enough.
        heads = np.flatnonzero((key_n[1:] != key_n[:-1]) | (check_n[1:] != check_n[:-1])) + 1
        if len(heads) > len(key_n) // 2:
            return self._encode(key_n, check_n)
        heads = np.concatenate([[0], heads])[: len(key_n)]
        code_r, new = self._encode(key_n[heads], check_n[heads])
        return np.repeat(code_r, np.diff(heads, append=len(key_n))), heads[new]

    def _encode(self, key_n: Keys, check_n: Checks) -> tuple[Codes, NDArray[np.intp]]:
        seen_n = self.slots[self._home(key_n)]
        code_n: Codes = seen_n["code"].copy()
        rest = np.flatnonzero((seen_n["key"] != key_n) | (seen_n["check"] != check_n) | (code_n < 0))
        if not len(rest):
            return code_n, rest
        self._make_room(len(rest))
        # Rows that found another key, or none, search on; a new key's code is first the row that brought it.
        want_m = np.empty(len(rest), SLOT)
        want_m["key"], want_m["check"] = key_n[rest], check_n[rest]
        want_m["code"] = np.arange(self.n_keys, self.n_keys + len(rest), dtype=np.int32)
        slot_m, code_m = self._search(want_m)
        new = np.flatnonzero(code_m == want_m["code"])
        remap = np.zeros(len(rest), dtype=np.int32)
        remap[new] = np.arange(self.n_keys, self.n_keys + len(new), dtype=np.int32)
        fresh = np.flatnonzero(code_m >= self.n_keys)
        code_m[fresh] = remap[code_m[fresh] - self.n_keys]
        self.slots["code"][slot_m[new]] = code_m[new]
        self.n_keys += len(new)
        code_n[rest] = code_m
        return code_n, rest[new]

    def _home(self, key_n: Keys) -> NDArray[np.int64]:
        return (key_n & np.uint64(len(self.slots) - 1)).view(np.int64)

    def _search(self, want_m: NDArray[np.void]) -> tuple[NDArray[np.int64], Codes]:
        """The slot and code of each key; a key that is not there takes the first free slot, with the code it brings.

        Equal keys walk the same slots in step, and in an assignment with repeated places the last one counts: so
        going backwards, the first row of a key is the one that enters it.
        """
        slot_m, code_m = self._home(want_m["key"]), np.empty(len(want_m), dtype=np.int32)
        active, want_a, slot_a = np.arange(len(want_m)), want_m, slot_m
        while len(active):
            free = np.flatnonzero(self.slots[slot_a]["code"] < 0)[::-1]
            self.slots[slot_a[free]] = want_a[free]
            seen_a = self.slots[slot_a]
            found = (seen_a["key"] == want_a["key"]) & (seen_a["check"] == want_a["check"])
            code_m[active[found]] = seen_a["code"][found]
            lost = np.flatnonzero(~found)
            active, want_a = active[lost], want_a[lost]
            slot_a = (slot_a[lost] + 1) & (len(self.slots) - 1)
            slot_m[active] = slot_a
        return slot_m, code_m

    def _make_room(self, n_more: int) -> None:
        n_slots = len(self.slots)
        while self.n_keys + n_more > FULLEST * n_slots:
            n_slots *= 2
        if n_slots > len(self.slots):
            filled = self.slots[self.slots["code"] >= 0]
            self.slots = _free_slots(n_slots)
            self._search(filled)


def _free_slots(n_slots: int) -> NDArray[np.void]:
    slots = np.zeros(n_slots, SLOT)
    slots["code"] = -1
    return slots
