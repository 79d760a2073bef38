"""Ids to codes while a table streams by: the names go to a file, a hash of each stays in memory.

Whole numbers to codes without hashing: a table with a place for each number from the smallest to the largest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.backend.store import NameWriter, StoredNames
from majorant.database import connect
from majorant.errors import DataError
from majorant.io.frames import kind_key
from majorant.io.ids import empty_id
from majorant.io.table import Column, Hashed, Objects, arrow_view, column_length, numpy_view
from majorant.io.values import decode, is_empty
from majorant.io.vocabulary import FULLEST, Coder, Codes

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


ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by an odd number loses nothing: different integers, different keys
JSON_TEXT, JSON_WHOLE = r'^"[^\\]*"$', r"^(0|-?[1-9][0-9]{0,17})$"  # as JSON writes them, each value in one way only


class IdEncoder:
    """The items, or the workers, in order of appearance.

    Whole numbers that lie close together find their codes in a table of all numbers between them (DenseTable), text and
    other numbers by their hashes (Coder).  `room` is what the first of the two may take, however few the ids are.
    """

    def __init__(self, role: str, coder: Coder, kind: str, path: Path, room: int) -> None:
        self.role, self.coder, self.kind = role, coder, kind
        self.writer = NameWriter(path)
        self.dense: DenseTable | None = DenseTable(room)
        self.form = ""  # of JSON: how the first name is written
        self.alike = False  # whether two names that differ might be one value

    def encode(self, column: Column) -> tuple[Codes, int | None]:
        """The codes of the next rows, and the first code that names nothing, if there is one."""
        number_n = self._numbers(column)
        if number_n is None or self.dense is None or isinstance(column, (Hashed, Objects)):
            self.coder.add(self._hashed(column))
            return self._take()
        if column.null_count:
            return np.where(numpy_view(column.is_valid(), np.bool_), np.int32(0), np.int32(-1)), -1
        code_n, new = self.dense.encode(number_n)
        if len(new):
            self._write(column.take(arrow_view(new)))
        return code_n, None

    def make_ready(self, column: Column) -> int:
        """Choose the table by which the next rows are encoded, and say how much memory that may take."""
        number_n = self._numbers(column)
        if self.dense is not None and number_n is not None:
            taken = self.dense.bytes_with(number_n)
            if taken is not None:
                return taken
        self._leave_dense()
        table = self.coder.table
        if table is None:
            return 200 * len(self.coder)
        n_bytes, n_more = table.slots.nbytes, column_length(column)
        return 4 * n_bytes if table.n_keys + n_more > FULLEST * len(table.slots) else n_bytes

    def _numbers(self, column: Column) -> NDArray[np.int64] | None:
        import pyarrow as pa

        if self.dense is None or isinstance(column, (Hashed, Objects)):
            return None
        if not pa.types.is_integer(column.type) or column.type == pa.uint64():
            return None
        return numpy_view(column.cast(pa.int64()), np.int64)

    def _leave_dense(self) -> None:
        """From here on by hashes, with the codes that are given already."""
        if self.dense is not None and self.dense.n_keys:
            import pyarrow as pa

            self.coder.add(_hashed_integers(pa.array(self.dense.numbers())))
            self.coder.part_codes.clear()
            self.coder.texts.clear()  # their names are written
        self.dense = None

    def _hashed(self, column: Column) -> Column:
        """The column with hashes, where its type allows it, so that codes are final at once."""
        import pyarrow as pa

        if isinstance(column, (Hashed, Objects)):
            return column
        if pa.types.is_integer(column.type):
            return _hashed_integers(column)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        return _hashed_text(column) if text else column

    def _take(self) -> tuple[Codes, int | None]:
        """The codes of the part added last, and the first code that names nothing, if there is one."""
        table = self.coder.table
        self.coder.merge()
        code_n = self.coder.part_codes.pop()
        if table is None:
            if self.writer.n_names:
                raise self._several_types()
            return code_n, -1 if (code_n < 0).any() else None
        first, empty = self.writer.n_names, None
        for names in self.coder.texts:
            empty = self._learn(names, first) if empty is None else empty
            first += len(names)
        self.coder.texts.clear()
        return code_n, -1 if (code_n < 0).any() else empty

    def _learn(self, names: Any, first: int) -> int | None:
        """Write new names; the code of one that is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._write(names)
        if pa.types.is_integer(names.type):
            return None
        if self.kind == "json":
            if not self.form:
                whole = pc.match_substring_regex(names.slice(0, 1), JSON_WHOLE)[0].as_py()
                self.form = JSON_WHOLE if whole else JSON_TEXT
            self.alike |= not pc.all(pc.match_substring_regex(names, self.form)).as_py()
        shortest = pc.min(pc.binary_length(pc.utf8_trim_whitespace(names))).as_py()
        if self.kind != "json" and shortest > 0:
            return None
        return next((first + n for n, value in enumerate(decode(names, self.kind)) if is_empty(value)), None)

    def _write(self, names: Any) -> None:
        try:
            self.writer.add(names)
        except TypeError:
            raise self._several_types() from None

    def _several_types(self) -> DataError:
        return DataError(
            f"{self.coder.source}, column {self.coder.column!r}: ids of several types. With a limit on memory, write "
            f"every {self.role} as text, or every one as a whole number."
        )

    def close(self) -> int:
        """End the file of names; the number of names."""
        if self.coder.table is None and self.coder.known is not None:
            self.alike = True
            self.writer.add(self.coder.known)
        self.writer.close()
        if self.alike:
            self._refuse_alike(StoredNames(self.writer.path, self.writer.n_names, self.kind))
        return self.writer.n_names

    def _refuse_alike(self, values: StoredNames) -> None:
        seen: dict[Any, Any] = {}
        for value in values:
            other = seen.setdefault(kind_key(value), value)
            if other is not value:
                raise DataError(
                    f"{self.coder.source}, column {self.coder.column!r}: {other!r} and {value!r} are one {self.role}, "
                    "written in two ways. With a limit on memory, write it in one way."
                )

    def refuse_empty(self, place: str) -> DataError:
        """The error for a row without this id."""
        return empty_id(place, self.coder.column, self.role)


def _hashed_integers(column: Any) -> Hashed:
    import pyarrow as pa

    width = pa.uint64() if column.type == pa.uint64() else pa.int64()
    values = column.cast(width)
    key_n = numpy_view(values, np.uint64) * ODD
    return Hashed(values, key_n ^ (key_n >> np.uint64(32)), np.zeros(len(values), dtype=np.uint32))


def _hashed_text(column: Any) -> Hashed:
    """Text that comes without hashes, such as rows that Python had to read, gets those that DuckDB would have given."""
    import pyarrow as pa

    with connect() as connection:
        connection.register("part", pa.table({"c": column}))
        found = connection.sql("SELECT hash(c), (hash(c || '#') >> 32)::UINTEGER FROM part").fetchnumpy()
    key_n, check_n = (np.ma.getdata(values) for values in found.values())
    return Hashed(column, key_n.astype(np.uint64), check_n.astype(np.uint32))
