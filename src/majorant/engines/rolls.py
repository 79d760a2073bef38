"""Ids to codes while a table streams by: the names go to a file, a hash of each stays in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from majorant.encode.hashing import FULLEST
from majorant.encode.ids import empty_id
from majorant.encode.values import decode, is_empty
from majorant.encode.vocabulary import Coder, Codes
from majorant.engines.names import Names, NameWriter
from majorant.errors import DataError
from majorant.load.frames import kind_key
from majorant.load.table import Column, Hashed, Objects, numpy_view

ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by an odd number loses nothing: different integers, different keys
JSON_TEXT, JSON_WHOLE = r'^"[^\\]*"$', r"^(0|-?[1-9][0-9]{0,17})$"  # as JSON writes them, each value in one way only


class Roll:
    """The items, or the workers, in order of appearance."""

    def __init__(self, role: str, coder: Coder, kind: str, path: Path) -> None:
        self.role, self.coder, self.kind = role, coder, kind
        self.writer = NameWriter(path)
        self.form = ""  # of JSON: how the first name is written
        self.alike = False  # whether two names that differ might be one value

    def hashed(self, column: Column) -> Column:
        """The column with hashes, where its type allows it, so that codes are final at once."""
        import pyarrow as pa

        if isinstance(column, (Hashed, Objects)):
            return column
        if pa.types.is_integer(column.type):
            return _hashed_integers(column)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        return _hashed_text(column) if text else column

    def take(self) -> tuple[Codes, int | None]:
        """The codes of the part added last, and the first code that names nothing, if there is one."""
        table = self.coder.table
        self.coder.merge()
        code_n = self.coder.part_codes.pop()
        if table is None:
            if self.writer.n_names:
                raise DataError(
                    f"{self.coder.source}, column {self.coder.column!r}: ids of several types. With --memory, write "
                    f"every {self.role} as text, or every one as a whole number."
                )
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

        self.writer.add(names)
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

    def close(self) -> int:
        """End the file of names; the number of names."""
        if self.coder.table is None and self.coder.known is not None:
            self.alike = True
            self.writer.add(self.coder.known)
        self.writer.close()
        if self.alike:
            self._refuse_alike(Names(self.writer.path, self.writer.n_names, self.kind))
        return self.writer.n_names

    def _refuse_alike(self, values: Names) -> None:
        seen: dict[Any, Any] = {}
        for value in values:
            other = seen.setdefault(kind_key(value), value)
            if other is not value:
                raise DataError(
                    f"{self.coder.source}, column {self.coder.column!r}: {other!r} and {value!r} are one {self.role}, "
                    "written in two ways. With --memory, write it in one way."
                )

    def refuse_empty(self, place: str) -> DataError:
        """The error for a row without this id."""
        return empty_id(place, self.coder.column, self.role)

    def bytes_with(self, n_more: int) -> int:
        """The memory that the hashes may take while so many more names are learned."""
        table = self.coder.table
        if table is None:
            return 200 * len(self.coder)
        n_bytes = table.slots.nbytes
        return 4 * n_bytes if table.n_keys + n_more > FULLEST * len(table.slots) else n_bytes


def _hashed_integers(column: Any) -> Hashed:
    import pyarrow as pa

    width = pa.uint64() if column.type == pa.uint64() else pa.int64()
    values = column.cast(width)
    key_n = numpy_view(values, np.uint64) * ODD
    return Hashed(values, key_n ^ (key_n >> np.uint64(32)), np.zeros(len(values), dtype=np.uint32))


def _hashed_text(column: Any) -> Hashed:
    """Text that comes without hashes, such as rows that Python had to read, gets those that DuckDB would have given."""
    import duckdb
    import pyarrow as pa

    with duckdb.connect() as connection:
        connection.register("part", pa.table({"c": column}))
        found = connection.sql("SELECT hash(c), (hash(c || '#') >> 32)::UINTEGER FROM part").fetchnumpy()
    key_n, check_n = (np.ma.getdata(values) for values in found.values())
    return Hashed(column, key_n.astype(np.uint64), check_n.astype(np.uint32))
