"""Values to codes, part by part: never a whole column in memory, and in time linear in the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.io.frames import kind_key
from majorant.io.hashing import HashTable
from majorant.io.table import ArrowArray, Column, Hashed, Objects, Plain, arrow_view, dictionary_codes, numpy_view

Codes = NDArray[np.int32]
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
