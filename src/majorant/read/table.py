"""What every source is turned into: rows in order, a few at a time, with the columns that matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.votes import Note

ArrowArray = Any  # pyarrow ships no types
Known = Any  # an Arrow array, or a list of Python values where types differ


@dataclass(frozen=True, slots=True)
class Objects:
    """A column of Python values of several types: Arrow would make 1 and "1" and True one type, so they come coded."""

    code_n: NDArray[np.int32]  # -1 where nothing stands
    values: tuple[Any, ...]


Column = ArrowArray | Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """The rows of one file or frame: its column names, and a way to stream some of its columns in order.

    `kind` says what the cells are: "text" (CSV: as written), "json" (raw JSON text, so that types survive) or
    "typed" (Arrow types or Python values).
    """

    source: str
    names: tuple[str, ...]
    kind: str
    format: str
    # Positions of columns -> those columns, batch by batch
    stream: Callable[[Sequence[int]], Iterator[list[Column]]]
    first_row: int = 1  # what the user would call the first row
    unit: str = "row"
    named: bool = True  # False: columns have positions only
    again: bool = True  # the rows can be streamed more than once
    judges: bool = False  # a log of judges of a model's answers
    rounded: Mapping[int, float] = field(default_factory=dict)  # columns with numbers that have lost digits: such a one
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """Some consecutive rows, by role."""

    source: str
    unit: str
    first_row: int
    n_rows: int
    columns: Mapping[str, Column]  # role -> values
    row_n: NDArray[np.int64] | None = None  # the row of each entry where several entries share a row (wide tables)
    declared: Mapping[str, Column] = field(default_factory=dict)  # items and workers to list although without a vote


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A source that is open for reading once."""

    source: str
    kind: str
    format: str
    columns: Mapping[str, str]  # role -> the user's column name
    ignored: tuple[str, ...]
    parts: Iterator[TableRows]
    notes: tuple[Note, ...] = ()
    wide: bool = False  # a row per item
    key: tuple[str, ...] = ()  # the columns that name an item
    judges: bool = False  # the workers are judges of a model's answers
    skipped: Counter[str] = field(default_factory=Counter)  # rows that were left out, counted while parts are read


def column_length(column: Column) -> int:
    """How many entries a column holds."""
    return len(column.code_n) if isinstance(column, Objects) else len(column)


def take_rows(column: Column, index_n: NDArray[np.intp]) -> Column:
    """Some rows of a column, in a given order."""
    if isinstance(column, Objects):
        return Objects(column.code_n[index_n], column.values)
    return plain(column).take(arrow_view(index_n))


def header_rows(columns: Sequence[Column], names: Sequence[str]) -> NDArray[np.intp]:
    """The rows in which every cell is the name of its column."""
    rows: NDArray[np.intp] | None = None
    for column, name in zip(columns, names, strict=True):
        same_n = _equals(column, name) | _equals(column, f"\ufeff{name}")  # a mark at the start of a file
        rows = np.flatnonzero(same_n) if rows is None else rows[same_n[rows]]
        if not len(rows):
            break
    return np.empty(0, dtype=np.intp) if rows is None else rows


def _equals(column: Column, text: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    if isinstance(column, Objects):
        return np.asarray(column.code_n == (column.values.index(text) if text in column.values else -2))
    array = column if is_dictionary(column) else plain(column)
    if is_dictionary(array):
        same_v = _equals(array.dictionary, text)
        return np.append(same_v, False)[dictionary_codes(array)]
    if not is_text(array.type) or not len(array):
        return np.zeros(len(array), dtype=bool)
    same = pc.equal(array, text_array([text]).cast(array.type)[0])
    return np.asarray(numpy_view(same, np.bool_) & numpy_view(same.is_valid(), np.bool_))


def text_array(cells: Sequence[str]) -> ArrowArray:
    """Texts as Arrow holds them, from bytes: a list would make Arrow look for pandas, and load it."""
    import pyarrow as pa

    encoded = [cell.encode() for cell in cells]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(cell) for cell in encoded], out=offsets[1:])
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def is_dictionary(column: Any) -> bool:
    """Whether an Arrow array holds codes and a dictionary."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(column.type))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def numpy_view(array: ArrowArray, dtype: type[Any]) -> NDArray[Any]:
    """The numbers (or truth values) of an Arrow array without nulls; Arrow's own to_numpy would import pandas."""
    if dtype is np.bool_:
        array, dtype = array.cast("uint8"), np.uint8
        return numpy_view(array, dtype).view(np.bool_)
    if not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * np.dtype(dtype).itemsize)


def dictionary_codes(array: ArrowArray) -> NDArray[np.int32]:
    """The codes of an Arrow dictionary array, -1 where nothing stands."""
    code_n: NDArray[np.int32] = numpy_view(array.indices, np.int32)
    if array.indices.null_count:
        return np.where(numpy_view(array.indices.is_valid(), np.bool_), code_n, np.int32(-1))
    return code_n


def coded_column(code_n: NDArray[np.int32], values: ArrowArray) -> ArrowArray:
    """An Arrow dictionary array; a code of -1 means that nothing stands there."""
    import pyarrow as pa

    given = np.packbits(code_n >= 0, bitorder="little") if len(code_n) and code_n.min() < 0 else None
    buffers = [None if given is None else pa.py_buffer(given), pa.py_buffer(np.maximum(code_n, 0))]
    return pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int32(), len(code_n), buffers), values)


def arrow_view(index_n: NDArray[np.intp]) -> ArrowArray:
    """Positions as an Arrow array; Arrow's own array() would import pandas."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(index_n), [None, pa.py_buffer(index_n.astype(np.int64, copy=False))])


def as_list(known: Known) -> list[Any]:
    """The values as Python values."""
    return [] if known is None else (known if isinstance(known, list) else known.to_pylist())


def plain(array: ArrowArray) -> ArrowArray:
    """One contiguous array without a dictionary, whose unused entries would turn into items nobody saw."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array
