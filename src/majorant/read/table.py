"""The tables that readers produce, in batches of columns, and helpers for interpreting cells."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import math
import os
import re
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Complex, Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.database import BATCH_ROWS
from majorant.errors import ConfigError, DataError, MajorantError, use
from majorant.limits import LIMITS
from majorant.votes import Note

ArrowArray = Any  # pyarrow has no type stubs

Known = Any  # an Arrow array, or a list of Python values if types differ


@dataclass(frozen=True, slots=True)
class Objects:
    """A column of Python values of several types, as codes, because Arrow would give 1, "1" and True one type."""

    code_n: NDArray[np.int32]  # -1 for an empty cell
    values: tuple[Any, ...]


Column = ArrowArray | Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """The rows of one file or frame: its column names, and a way to stream some of its columns.

    `kind` says what the cells are: "text" (CSV: as written), "json" (raw JSON text, so that types survive) or
    "typed" (Arrow types or Python values).
    """

    source: str
    names: tuple[str, ...]
    kind: str
    format: str
    # column positions -> those columns, batch by batch
    stream: Callable[[Sequence[int]], Iterator[list[Column]]]
    first_row: int = 1  # number of the first row, as users count
    unit: str = "row"
    named: bool = True  # False if columns have only positions
    again: bool = True  # whether the rows can be streamed more than once
    judges: bool = False  # whether it is a judge log
    rounded: Mapping[int, float] = field(default_factory=dict)  # columns with numbers that lost digits, and an example
    notes: tuple[Note, ...] = ()

    def first_cells(self, positions: Sequence[int], most: int | None = None, *, raw: bool = False) -> list[list[Any]]:
        """The cells of some columns in the first batch, or the first `most` of them; `raw` leaves JSON undecoded."""
        columns = next(iter(self.stream(positions)), None)
        kind = "" if raw else self.kind
        return [[] for _ in positions] if columns is None else [cell_values(c, kind, most) for c in columns]


@dataclass(frozen=True, slots=True)
class Layout:
    """The column of each role and, for a wide table, the worker columns."""

    roles: dict[str, int]
    workers: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()
    key: tuple[str, ...] = ()  # columns that together name an item
    tool: Any = None  # TableFormat of the tool that wrote the table

    @property
    def wide(self) -> bool:
        """Whether each row is an item."""
        return bool(self.workers)

    @property
    def positions(self) -> list[int]:
        """The positions of all columns that are used."""
        return [*self.roles.values(), *self.workers]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """Some consecutive rows, with columns by role."""

    source: str
    unit: str
    first_row: int
    n_rows: int
    columns: Mapping[str, Column]  # role -> values
    row_n: NDArray[np.int64] | None = None  # row of each entry, if several entries share a row (wide tables)
    declared: Mapping[str, Column] = field(default_factory=dict)  # items and workers that may have no votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A source that has been opened, and can be read once."""

    source: str
    kind: str
    format: str
    columns: Mapping[str, str]  # role -> the user's column name
    ignored: tuple[str, ...]
    parts: Iterator[TableRows]
    notes: tuple[Note, ...] = ()
    wide: bool = False  # one row per item
    key: tuple[str, ...] = ()  # columns that together name an item
    judges: bool = False  # whether workers judge a model's answers
    skipped: Counter[str] = field(default_factory=Counter)  # numbers of skipped rows, counted while reading


def column_length(column: Column) -> int:
    """The number of entries in a column."""
    return len(column.code_n) if isinstance(column, Objects) else len(column)


def take_rows(column: Column, index_n: NDArray[np.intp]) -> Column:
    """Some rows of a column, in the given order."""
    if isinstance(column, Objects):
        return Objects(column.code_n[index_n], column.values)
    return plain(column).take(arrow_view(index_n))


def drop_headers(
    rows: RowSource, columns: list[Column], positions: Sequence[int]
) -> tuple[list[Column], NDArray[np.intp] | None]:
    """The columns without rows that repeat the header, and the indices of the remaining rows (None for all)."""
    if not rows.named or rows.kind == "json":
        return columns, None
    is_header_n = np.ones(column_length(columns[0]), dtype=bool)
    for column, name in zip(columns, (rows.names[p] for p in positions), strict=True):
        is_header_n &= _equals(column, name) | _equals(column, f"\ufeff{name}")  # with a byte-order mark
        if not is_header_n.any():
            return columns, None
    row_n = np.flatnonzero(~is_header_n)
    return [take_rows(column, row_n) for column in columns], row_n


def _equals(column: Column, text: str) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, Objects):
        return np.asarray(column.code_n == (column.values.index(text) if text in column.values else -2))
    if pa.types.is_dictionary(column.type):
        return np.append(_equals(column.dictionary, text), False)[dictionary_codes(column)]
    array = plain(column)
    if not is_text(array.type) or not len(array):
        return np.zeros(len(array), dtype=bool)
    same = pc.equal(array, text_array([text]).cast(array.type)[0])
    return np.asarray(numpy_view(same, np.bool_) & numpy_view(same.is_valid(), np.bool_))


def text_array(cells: Sequence[str]) -> ArrowArray:
    """Make an Arrow text array from bytes; given a list, Arrow would import pandas."""
    import pyarrow as pa

    encoded = [cell.encode() for cell in cells]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(cell) for cell in encoded], out=offsets[1:])
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is a text type."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def numpy_view(array: ArrowArray, dtype: type[Any]) -> NDArray[Any]:
    """The numbers (or booleans) in an Arrow array without nulls; Arrow's own to_numpy would import pandas."""
    if dtype is np.bool_:
        array, dtype = array.cast("uint8"), np.uint8
        return numpy_view(array, dtype).view(np.bool_)
    if not len(array):
        return np.empty(0, dtype=dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * np.dtype(dtype).itemsize)


def dictionary_codes(array: ArrowArray) -> NDArray[np.int32]:
    """The codes of an Arrow dictionary array, -1 for null."""
    code_n: NDArray[np.int32] = numpy_view(array.indices, np.int32)
    if array.indices.null_count:
        return np.where(numpy_view(array.indices.is_valid(), np.bool_), code_n, np.int32(-1))
    return code_n


def coded_column(code_n: NDArray[np.int32], values: ArrowArray) -> ArrowArray:
    """An Arrow dictionary array from codes, -1 for null."""
    import pyarrow as pa

    given = np.packbits(code_n >= 0, bitorder="little") if len(code_n) and code_n.min() < 0 else None
    buffers = [None if given is None else pa.py_buffer(given), pa.py_buffer(np.maximum(code_n, 0))]
    return pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int32(), len(code_n), buffers), values)


def arrow_view(index_n: NDArray[np.intp]) -> ArrowArray:
    """Convert positions to an Arrow array; Arrow's own array() would import pandas."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(index_n), [None, pa.py_buffer(index_n.astype(np.int64, copy=False))])


def large_text(array: ArrowArray) -> ArrowArray:
    """Convert any of Arrow's text types to large_string."""
    import pyarrow as pa

    if pa.types.is_string(array.type) or pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array


def as_list(known: Known) -> list[Any]:
    """The values as Python values."""
    return [] if known is None else (known if isinstance(known, list) else known.to_pylist())


def plain(array: ArrowArray) -> ArrowArray:
    """Convert to one contiguous array without a dictionary, whose unused entries would become items."""
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


SIXTY_FOUR_BITS = range(-(2**63), 2**64)


class TooDeepError(RecursionError):
    """A value is nested deeper than the limit NESTING, or than this version of Python allows."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


def loads(text: str | bytes, **how: Any) -> Any:
    """Like `json.loads`, but accepts bare control characters, and returns very long integers as text.

    >>> loads('["a\\tb", 12]'), loads("9" * 30)
    (['a\\tb', 12], '999999999999999999999999999999')
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if text.count("[") + text.count("{") > LIMITS["NESTING"] and (depth := _depth(text)) > LIMITS["NESTING"]:
        raise TooDeepError(depth)
    # Python refuses to turn thousands of digits into an integer.
    return json.loads(text, strict=False, parse_int=lambda digits: int(digits) if len(digits) <= 20 else digits, **how)


def _depth(text: str) -> int:
    """How deeply lists and objects are nested, ignoring brackets inside strings.

    >>> _depth('[{"a": "[[["}, []]')
    2
    """
    depth = deepest = 0
    without_texts = re.sub(r'"(?:[^"\\]|\\.)*"?', "", text, flags=re.DOTALL)
    for run in re.findall(r"[\[{]+|[\]}]+", without_texts):
        depth += len(run) if run[0] in "[{" else -len(run)
        deepest = max(deepest, depth)
    return deepest


def cell_values(column: Column, kind: str = "", most: int | None = None) -> list[Any]:
    """The cells of a column, or the first `most`; JSON text is decoded if the kind is "json"."""
    if isinstance(column, Objects):
        return [None if code < 0 else column.values[code] for code in column.code_n[:most].tolist()]
    cells: list[Any] = plain(column if most is None else column.slice(0, most)).to_pylist()
    return [None if cell is None else loads(cell) for cell in cells] if kind == "json" else cells


def kind_key(value: Any) -> tuple[str, Any]:
    """A key that distinguishes values by kind (boolean, number, text, other) and value.

    >>> kind_key(1) == kind_key(1.0), kind_key(1) == kind_key(True), kind_key(1) == kind_key("1")
    (True, False, False)
    """
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, Number):
        return "number", value
    return ("text" if isinstance(value, str) else type(value).__name__), value


def decode(known: Known, kind: str) -> list[Any]:
    """The values of a vocabulary as Python values; JSON text is decoded, and a list of one becomes its element.

    >>> decode(['1', '"1"', 'true', '99999999999999999999', '["1"]'], "json")
    [1, '1', True, '99999999999999999999', '1']
    """
    values = as_list(known)
    if kind == "json":
        # DuckDB accepts control characters such as a bare tab within text, so they are accepted here
        return [single(value) for value in loads("[" + ",".join(values) + "]")]
    if kind == "typed" and not is_plain(known):
        return [_whole(v) if isinstance(v, Decimal) else v for v in values]
    return values


def single(value: Any) -> Any:
    """Simplify a JSON value: a list of one becomes its element, an empty list None, a huge integer text."""
    if isinstance(value, list) and len(value) < 2:
        value = value[0] if value else None
    return str(value) if type(value) is int and value not in SIXTY_FOUR_BITS else value


def is_plain(known: Known) -> bool:
    """Whether all values are text, or all are integers, so that no two are equivalent."""
    import pyarrow as pa

    return not isinstance(known, list) and (pa.types.is_large_string(known.type) or pa.types.is_integer(known.type))


def empty_codes(known: Known, values: Sequence[Any]) -> list[int]:
    """The positions of empty values; large text vocabularies are checked with Arrow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_plain(known):
        if pa.types.is_integer(known.type):
            return []
        shortest = pc.min(pc.binary_length(pc.utf8_trim_whitespace(known))).as_py()
        if shortest is None or shortest > 0:
            return []
    return [code for code, value in enumerate(values) if is_empty(value)]


def _whole(value: Decimal) -> Any:
    if not value.is_finite() or value != value.to_integral_value():
        return value
    return int(value) if int(value) in SIXTY_FOUR_BITS else str(int(value))


def is_empty(value: Any) -> bool:
    """Whether a value is null, NaN or blank."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, (float, Decimal)) and math.isnan(value)


def is_vote(value: Any, no_vote: frozenset[str]) -> bool:
    """Whether a label is not empty and does not mean no vote."""
    return not is_empty(value) and str(value) not in no_vote


def numbers_if_all(texts: Sequence[str]) -> dict[str, int | float]:
    """Each text as a number, if all texts are numbers in their usual notation; otherwise nothing.

    >>> numbers_if_all(["1", "2.5"])
    {'1': 1, '2.5': 2.5}
    >>> numbers_if_all(["1", "01"])
    {}
    """
    number_of = {text: _number(text) for text in texts}
    return {} if None in number_of.values() else number_of  # type: ignore[return-value]


def _number(text: str) -> int | float | None:
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text) if str(int(text)) == text else None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and repr(number) == text else None


def written_list(text: str) -> list[Any] | None:
    """Parse a list written as in JSON or Python; None for any other text.

    >>> written_list("['a', 'b']"), written_list("[a]")
    (['a', 'b'], None)
    """
    if not re.fullmatch(r"\s*\[.*\]\s*", text, re.DOTALL):
        return None
    for candidate in (text, text.replace("'", '"')):
        try:
            value = loads(candidate)
        except ValueError:
            continue
        return value if isinstance(value, list) else None
    return None


def whole_number(text: str) -> int | None:
    """Parse a whole number written in digits; None for any other text.

    >>> whole_number(" 12 "), whole_number("²"), whole_number("9" * 5000), whole_number("-1")
    (12, None, None, None)
    """
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= 18 else None


def voted(status: Any) -> bool | None:
    """Whether a status (or an empty cell) means that there is a vote; None if unclear.

    >>> voted("OK"), voted(""), voted("parse_error"), voted("perhaps")
    (True, True, False, None)
    """
    if is_empty(status):
        return True
    if isinstance(status, bool):
        return status
    word = re.sub(r"[\W_]+", "", str(status)).casefold()
    yes = {
        "ok", "okay", "success", "successful", "succeeded", "done", "complete", "completed", "valid", "submitted",
        "answered", "voted", "approved", "true",
    }  # fmt: skip
    no = {
        "abstain", "abstained", "abstention", "error", "errored", "parseerror", "parsingerror", "refused", "refusal",
        "failed", "failure", "fail", "skipped", "skip", "timeout", "timedout", "cancelled", "canceled", "invalid",
        "rejected", "noanswer", "novote", "missing", "unscored", "empty", "draft", "discarded", "pending",
        "unanswered", "false",
    }  # fmt: skip
    return True if word in yes else False if word in no else None


def sort_labels(values: Iterable[Hashable]) -> list[Any]:
    """Sort labels: booleans, then numbers by value, then text, then the rest.

    >>> sort_labels(["b", 10, "a", 9.5, True])
    [True, 9.5, 10, 'a', 'b']
    """

    def order(value: Any) -> tuple[int, str, Any]:
        kind = kind_key(value)[0]
        rank = (
            3
            if isinstance(value, Complex) and not isinstance(value, Real)
            else {"bool": 0, "number": 1, "text": 2}.get(kind, 3)
        )
        return rank, "" if rank < 3 else kind, value if rank < 3 else str(value)

    return sorted(values, key=order)


# Control characters, soft hyphen, zero-width characters, direction marks.
UNSEEN_SIGNS = "[\x00-\x08\x0e-\x1f\x7f\u00ad\u061c\u200b-\u200f\u2060-\u2064\ufeff]"


def fold(value: Any) -> str:
    """Normalise a value so that look-alikes compare equal, ignoring case, spacing and invisible characters.

    Composed and decomposed accents compare equal, and so do 1 and 1.0.

    >>> fold(" Yes\\u200b") == fold("yes"), fold(1.0) == fold("1"), fold("e\\u0301") == fold("\\xe9"), fold("a b")
    (True, True, True, 'a b')
    """
    text = unicodedata.normalize("NFC", re.sub(UNSEEN_SIGNS, "", str(value)))
    text = " ".join(text.casefold().split())
    if text[:1] in "-+.0123456789" and len(text) <= 15:  # with more digits than a float has, it is an id
        try:
            number = float(text)
        except ValueError:
            return text
        return f"{number:g}" if math.isfinite(number) and abs(number) < 1e6 else text
    return text


def open_columns(name: str, names: Sequence[Any], source: Any) -> RowSource:
    """The rows of named columns in memory: a frame, a dict of columns or a structured array."""
    single = [key for key in names if not hasattr(source[key], "__len__") or isinstance(source[key], str)]
    if single:
        raise ConfigError(f"{name}: {single[0]!r} holds {source[single[0]]!r}, not a column. Give a list of values.")
    lengths = {key: len(source[key]) for key in names}
    if len(lengths) < len(names):
        twice = next(key for key in names if list(names).count(key) > 1)
        raise DataError(f"{name}: there are two columns {twice!r}. Rename one of them.")
    if len(set(lengths.values())) > 1:
        spelt = ", ".join(f"{key!r} has {length}" for key, length in lengths.items())
        raise DataError(f"{name}: columns differ in length: {spelt}. Every row needs all its fields.")
    return open_positions(name, list(map(str, names)), [source[key] for key in names], format=name, first_row=0)


def open_positions(
    source: str, names: Sequence[str], columns: Sequence[Any], *, format: str, first_row: int
) -> RowSource:
    """The rows of columns given by position, whose names may be repeated or empty."""

    def stream(positions: Sequence[int]) -> Iterator[list[Column]]:
        yield from in_batches([_column(columns[p], source, names[p]) for p in positions])

    return RowSource(source=source, names=tuple(names), kind="typed", format=format, stream=stream, first_row=first_row)


def _column(values: Any, source: str, name: str) -> Column:
    """A column as an Arrow array if its values have one plain type, otherwise as coded Python values."""
    import pyarrow as pa

    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    dtype = getattr(values, "dtype", None)
    if dtype is not None and not str(dtype).startswith(("object", "Object", "period", "interval")):  # not as numbers
        with contextlib.suppress(pa.ArrowException, UnicodeEncodeError):  # such as categories of several types
            if isinstance(values, np.ndarray):
                return pa.array(values.tolist() if dtype.kind in "US" else values, from_pandas=True)
            return values.to_arrow() if hasattr(values, "to_arrow") else pa.array(values, from_pandas=True)
    cells = values.to_list() if hasattr(values, "to_list") else list(values)
    kinds = {kind for kind in set(map(type, cells)) if kind is not type(None)}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        try:
            return pa.array(cells, from_pandas=True)
        except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
            pass  # integers beyond 64 bits, or text that is not Unicode
    return coded(cells, source, name)


def coded(cells: Iterable[Any], source: str, name: str) -> Objects:
    """Encode Python values by kind: 1 and 1.0 are the same value, "1" and True are different ones.

    >>> coded([1, "1", 1.0, True, None], "dict of columns", "label").code_n.tolist()
    [0, 1, 0, 2, -1]
    """
    codes: dict[Any, int] = {}
    values: list[Any] = []
    code_n = []
    for row, cell in enumerate(cells):
        value = cell.item() if isinstance(cell, np.generic) else cell
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            code_n.append(-1)
            continue
        if isinstance(value, str) and not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
            raise DataError(
                f"{source}, row {row}, column {name!r}: {value!r} holds half a character (a lone surrogate) and cannot "
                "be encoded. Decode the text with the encoding it was written in."
            )
        try:
            code = codes.setdefault(kind_key(value), len(values))
        except TypeError:
            raise DataError(
                f"{source}, row {row}, column {name!r}: {value!r} is a {type(value).__name__}, not a single value. "
                "Give one row per vote."
            ) from None
        if code == len(values):
            values.append(value)
        code_n.append(code)
    return Objects(np.array(code_n, dtype=np.int32), tuple(values))


def in_batches(columns: list[Column]) -> Iterator[list[Column]]:
    """Split columns of equal length into batches of plain arrays."""
    for start in range(0, column_length(columns[0]), BATCH_ROWS):
        rows = slice(start, start + BATCH_ROWS)
        yield [
            Objects(column.code_n[rows], column.values)
            if isinstance(column, Objects)
            else plain(column.slice(start, BATCH_ROWS))
            for column in columns
        ]


@contextmanager
def named_faults(source: Any) -> Iterator[None]:
    """Turn exceptions of parsers and decoders on damaged input into a DataError that names the source.

    Our own bugs, such as a TypeError, are not caught.

    >>> with named_faults("votes.csv"):
    ...     b"\\xff".decode("utf-8")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: votes.csv cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid...
    """
    name = type(source).__name__
    if isinstance(source, (str, os.PathLike)):
        name = "standard input" if os.fspath(source) == "-" else str(source)
    try:
        yield
    except MajorantError:
        raise
    except RecursionError as error:
        raise too_deep(name, error) from None
    except MemoryError:
        raise DataError(
            f"{name} does not fit into memory: its text, or one value in it, is too long. Check that it is a "
            f"table of votes; one that is large is read from the disk with {use('memory')}."
        ) from None
    except Exception as error:
        if not _is_of_input(error):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise DataError(
            f"{name} cannot be read: {reason[:200]}. Copy or export it again, or say how it is encoded "
            f"with {use('encoding')}."
        ) from error


def too_deep(source: str, error: RecursionError, instead: str = "Give one plain value a cell") -> DataError:
    """The error for values that are nested too deeply."""
    most = LIMITS["NESTING"]
    if isinstance(error, TooDeepError):
        depth = f"{error.depth:,} lists and objects inside each other: the limit NESTING is {most:,}"
        return DataError(f"{source}: {depth}. {instead}.")
    return DataError(f"{source}: nested too deeply for Python, though not for the limit NESTING, {most:,}. {instead}.")


def _is_of_input(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS):
        return False  # from a file being written, which is reported elsewhere
    if isinstance(error, json.JSONDecodeError):  # in a cell
        return True
    if type(error) is LookupError:  # an unknown encoding declared in a file
        return True
    if isinstance(error, (OSError, EOFError, UnicodeError, OverflowError, csv.Error, zlib.error, zipfile.BadZipFile)):
        return True
    from xml.etree.ElementTree import ParseError

    import duckdb
    import pyarrow as pa

    return isinstance(error, (duckdb.Error, pa.ArrowException, ParseError))
