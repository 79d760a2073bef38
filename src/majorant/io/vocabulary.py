"""Values to codes, part by part: never a whole column in memory, and in time linear in the rows.

A hash table in NumPy that learns keys batch by batch: text ids to codes without comparing or keeping the texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.io.frames import kind_key
from majorant.io.table import ArrowArray, Column, Hashed, Objects, Plain, arrow_view, dictionary_codes, numpy_view

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


Known = Any  # an Arrow array, or a list of Python values where types differ
MERGE_AT = 1 << 20


class Coder:
    """Collects one column; `finish` gives its codes (-1 where nothing stands) and its values in order of appearance.

    Parts with hashes go through one table, which gives final codes at once.  Other parts are encoded one by one; their
    values wait, and are merged when they outnumber the known ones: so every value is merged a bounded number of times.
    """

    def __init__(self, source: str, column: str) -> None:
        self.source, self.column = source, column
        self.known: Known = None
        self.waiting: list[tuple[int, Known]] = []  # (number of the part, its values)
        self.n_waiting = 0
        self.part_codes: list[Codes] = []
        self.table: HashTable | None = HashTable()  # None once a part came without hashes
        self.texts: list[ArrowArray] = []  # what the table knows
        self.declared: set[int] = set()  # parts whose values are listed but stand in no row

    def add(self, column: Column) -> None:
        """Encode one part."""
        if isinstance(column, Hashed):
            if self.table is not None:
                self.part_codes.append(self._look_up(column, self.table))
                return
            column = column.values
        self._leave_table()
        code_n, values = self._encode(column)
        self.waiting.append((len(self.part_codes), values))
        self.part_codes.append(code_n)
        self.n_waiting += len(values)
        if self.n_waiting > max(MERGE_AT, len(self)):
            self.merge()

    def declare(self, column: Column) -> None:
        """List values although no vote may hold them; their codes are kept apart."""
        self.declared.add(len(self.part_codes))
        self.add(column)

    def _look_up(self, column: Hashed, table: HashTable) -> Codes:
        given = None if not column.values.null_count else numpy_view(column.values.is_valid(), np.bool_)
        keys = (column.key_n, column.check_n) if given is None else (column.key_n[given], column.check_n[given])
        found_n, new = table.encode(*keys)
        if len(new):
            texts = column.values if given is None else column.values.drop_null()
            self.texts.append(plain_text(texts.take(arrow_view(new))))
        if given is None:
            return found_n
        code_n = np.full(len(given), -1, dtype=np.int32)
        code_n[given] = found_n
        return code_n

    def _leave_table(self) -> None:
        import pyarrow as pa

        if self.table is not None and self.texts:
            self.known = pa.concat_arrays(self.texts)
        self.table, self.texts = None, []

    def __len__(self) -> int:
        if self.table is not None:
            return self.table.n_keys
        return 0 if self.known is None else len(self.known)

    def _encode(self, column: Plain) -> tuple[Codes, Known]:
        import pyarrow as pa

        if isinstance(column, Objects):
            used = np.unique(column.code_n[column.code_n >= 0], return_index=True)
            order = used[0][np.argsort(used[1])]  # by appearance; a slice may use few of the values
            remap = np.full(len(column.values) + 1, -1, dtype=np.int32)
            remap[order] = np.arange(len(order), dtype=np.int32)
            return remap[column.code_n], [column.values[code] for code in order]
        try:
            encoded = column if pa.types.is_dictionary(column.type) else plain_text(column).dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise DataError(
                f"{self.source}: column {self.column!r} holds {column.type}, not single values. Give one row per vote."
            ) from None
        return dictionary_codes(encoded), plain_text(encoded.dictionary)

    def merge(self) -> None:
        """Make the waiting values known and put the final codes into their parts."""
        if not self.waiting:
            return
        pieces = [values for _, values in self.waiting]
        codes = self._merge_arrow(pieces) if self._one_type(pieces) else self._merge_python(pieces)
        start = 0
        for (part, values), end in zip(self.waiting, np.cumsum([len(v) for v in pieces]), strict=True):
            remap = np.append(codes[start:end], np.int32(-1)).astype(np.int32, copy=False)
            start = end
            if len(self.part_codes[part]) and not _is_identity(remap, len(values)):
                self.part_codes[part] = remap[self.part_codes[part]]
        self.waiting, self.n_waiting = [], 0

    def _one_type(self, pieces: list[Known]) -> bool:
        every = pieces if self.known is None else [self.known, *pieces]
        return not any(isinstance(piece, list) for piece in every) and len({piece.type for piece in every}) == 1

    def _merge_arrow(self, pieces: list[ArrowArray]) -> Codes:
        import pyarrow as pa

        n_known = len(self)
        encoded = pa.concat_arrays(pieces if self.known is None else [self.known, *pieces]).dictionary_encode()
        self.known = encoded.dictionary
        codes: Codes = numpy_view(encoded.indices, np.int32)[n_known:]
        return codes

    def _merge_python(self, pieces: list[Known]) -> Codes:
        known = as_list(self.known)
        codes = {kind_key(value): code for code, value in enumerate(known)}
        found = []
        for value in (value for piece in pieces for value in as_list(piece)):
            code = codes.setdefault(kind_key(value), len(known))
            if code == len(known):
                known.append(value)
            found.append(code)
        self.known = known
        return np.array(found, dtype=np.int32)

    def finish(self) -> tuple[Codes, Codes, Known]:
        """All codes, one per row; the codes of what was declared; the values."""
        self._leave_table()
        self.merge()
        parts, self.part_codes = self.part_codes, []
        declared_n = _join([part for number, part in enumerate(parts) if number in self.declared])
        parts = [part for number, part in enumerate(parts) if number not in self.declared]
        return _join(parts), declared_n, [] if self.known is None else self.known


def _join(parts: list[Codes]) -> Codes:
    """The parts in a row; each is let go once copied, for both copies together would double the memory."""
    code_n = np.empty(sum(map(len, parts)), dtype=np.int32)
    start = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        code_n[start : start + len(part)] = part
        start += len(part)
    return code_n


def _is_identity(remap: Codes, n_values: int) -> bool:
    return bool((remap[:n_values] == np.arange(n_values)).all())


def plain_text(array: ArrowArray) -> ArrowArray:
    """The array with one type for text, whichever of Arrow's text types it has."""
    import pyarrow as pa

    if pa.types.is_string(array.type) or pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array


def as_list(known: Known) -> list[Any]:
    """The values as Python values."""
    return [] if known is None else (known if isinstance(known, list) else known.to_pylist())
