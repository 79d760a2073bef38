"""A Table read once, part by part, into codes: what is left of a column is one integer per row and its vocabulary.

Never a whole column of text in memory, and in time linear in the rows: text finds its codes by its hash, and whole
numbers that lie close together in a table with a place for each.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.limits import refuse_beyond
from majorant.read.table import (
    ArrowArray,
    Column,
    Hashed,
    Known,
    Objects,
    Plain,
    Table,
    TableRows,
    arrow_view,
    as_list,
    column_length,
    dictionary_codes,
    numpy_view,
)
from majorant.read.values import kind_key

Codes = NDArray[np.int32]
HashKeys = NDArray[np.uint64]
Checks = NDArray[np.uint32]
SLOT = np.dtype([("key", np.uint64), ("check", np.uint32), ("code", np.int32)])  # 16 bytes: one look into memory
START_SLOTS = 1 << 12
FULLEST = 0.7  # beyond this share of filled slots, searches grow long
MERGE_AT = 1 << 20
Numbers = NDArray[np.int64]
PLACES_PER_ID = 8  # as many, and the table is no larger than one of hashes
Progress = Callable[[int], None]  # told how many rows have been read so far


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

    def encode(self, key_n: HashKeys, check_n: Checks) -> tuple[Codes, NDArray[np.intp]]:
        """The code of each key, and the places at which keys appear for the first time."""
        # Tables are often sorted by item: then one look per run of equal keys is enough.
        heads = np.flatnonzero((key_n[1:] != key_n[:-1]) | (check_n[1:] != check_n[:-1])) + 1
        if len(heads) > len(key_n) // 2:
            return self._encode(key_n, check_n)
        heads = np.concatenate([[0], heads])[: len(key_n)]
        code_r, new = self._encode(key_n[heads], check_n[heads])
        return np.repeat(code_r, np.diff(heads, append=len(key_n))), heads[new]

    def _encode(self, key_n: HashKeys, check_n: Checks) -> tuple[Codes, NDArray[np.intp]]:
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

    def _home(self, key_n: HashKeys) -> NDArray[np.int64]:
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
            same = (seen_a["key"] == want_a["key"]) & (seen_a["check"] == want_a["check"])
            code_m[active[same]] = seen_a["code"][same]
            lost = np.flatnonzero(~same)
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
        merged = []
        for value in (value for piece in pieces for value in as_list(piece)):
            code = codes.setdefault(kind_key(value), len(known))
            if code == len(known):
                known.append(value)
            merged.append(code)
        self.known = known
        return np.array(merged, dtype=np.int32)

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


@dataclass(frozen=True, slots=True)
class Span:
    """Where the entries from `start` on come from."""

    start: int
    source: str
    unit: str
    first_row: int
    row_n: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """The whole table as codes: `codes[role][n]` is -1 where nothing stands, else a position in `known[role]`."""

    table: Table
    n_rows: int
    codes: dict[str, Codes]
    declared: dict[str, Codes]  # the same for what a wide table says of its items, voted on or not
    known: dict[str, Known]
    seconds_n: NDArray[np.float64] | None
    spans: Sequence[Span]
    declared_spans: Sequence[Span]
    row_n: NDArray[np.int64] | None = None  # which entry of the table each one is; None: all, in order

    def where(self, n: int) -> str:
        """The place of entry n in the user's words."""
        return _where(self.spans, n if self.row_n is None else int(self.row_n[n]))

    def where_declared(self, n: int) -> str:
        """The place of the n-th item of a wide table."""
        return _where(self.declared_spans, n)


def _where(spans: Sequence[Span], n: int) -> str:
    span = spans[bisect_right([span.start for span in spans], n) - 1]
    row = span.first_row + n - span.start if span.row_n is None else int(span.row_n[n - span.start])
    return f"{span.source}, {span.unit} {row}"


def collect_codes(table: Table, max_classes: int, progress: Progress | None = None) -> Coded:
    """Read the table; encoding runs beside the reading, in one thread, at most two parts behind."""
    coders = {role: Coder(table.source, name) for role, name in table.columns.items() if role != "seconds"}
    spans: list[Span] = []
    declared_spans: list[Span] = []
    seconds: list[NDArray[np.float64]] = []
    n_rows = n_declared = 0
    behind: deque[Future[None]] = deque()
    with ThreadPoolExecutor(max_workers=1) as pool:
        for part in table.parts:
            span = Span(n_rows, part.source, part.unit, part.first_row, part.row_n)
            spans.append(span)
            declared_spans.append(Span(n_declared, part.source, part.unit, part.first_row, None))
            n_rows += part.n_rows
            n_declared += column_length(part.declared["item"]) if part.declared else 0
            if "seconds" in part.columns:
                seconds.append(part_seconds(part, span, table))
            behind.append(pool.submit(encode_part, part, span, coders, table.columns, max_classes))
            if len(behind) > 2:
                behind.popleft().result()
            if progress is not None:
                progress(n_rows)
        for job in behind:
            job.result()
    if not n_rows and not n_declared:
        raise no_rows(table)
    finished = {role: coder.finish() for role, coder in coders.items()}
    for role, (_, _, known) in finished.items():
        _refuse_long(known, table.source, table.columns[role])
    return Coded(
        table=table,
        n_rows=n_rows,
        codes={role: code_n for role, (code_n, _, _) in finished.items()},
        declared={role: declared_n for role, (_, declared_n, _) in finished.items()},
        known={role: known for role, (_, _, known) in finished.items()},
        seconds_n=np.concatenate(seconds) if seconds else None,
        spans=spans,
        declared_spans=declared_spans,
    )


def _refuse_long(known: Known, source: str, name: str) -> None:
    """Refuse names that are whole documents: each is written many times, in tables and on the page."""
    if isinstance(known, list):
        longest = max((len(value) for value in known if isinstance(value, (str, bytes))), default=0)
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        text = pa.types.is_string(known.type) or pa.types.is_large_string(known.type)
        longest = (pc.max(pc.binary_length(known)).as_py() or 0) if text else 0
    refuse_beyond("NAME_LENGTH", longest, f"signs in one cell of {source}, column {name!r}", "Name items by an id")


def no_rows(table: Table) -> DataError:
    """The error for a table without rows."""
    what = "has a header but no rows" if table.kind == "text" else "holds no rows"
    return DataError(f"{table.source} {what}. Check that the export that wrote it finished.")


def encode_part(
    part: TableRows, span: Span, coders: Mapping[str, Coder], names: Mapping[str, str], max_classes: int
) -> None:
    """Add a part to the coders of its columns; more labels than `max_classes` are refused."""
    for role, column in part.declared.items():
        coders[role].declare(column)
    for role, coder in coders.items():
        if role not in part.columns and role in part.declared:
            continue
        if role not in part.columns:  # this file lacks a column that another one has
            coder.add(Objects(np.full(part.n_rows, -1, dtype=np.int32), ()))
            continue
        coder.add(part.columns[role])
        if role in ("label", "gold"):
            coder.merge()
            if len(coder) > max_classes:
                [shown] = as_list(coder.known[max_classes : max_classes + 1])
                raise too_many_labels(span.source, role, names[role], max_classes, shown)


def too_many_labels(source: str, role: str, name: str, most: int, shown: object) -> DataError:
    """The refusal of a column that is hardly one of labels."""
    kind = "labels" if role == "label" else "gold labels"
    return DataError(
        f"{source}, column {name!r}: more than {most:,} different labels, e.g. {str(shown)[:60]!r}; it is probably not "
        f"the column of {kind}. Say which is with {role}='NAME', or allow more with max_classes=."
    )


def part_seconds(part: TableRows, span: Span, table: Table) -> NDArray[np.float64]:
    """The seconds column as floats, NaN where empty."""
    coder = Coder(span.source, table.columns["seconds"])
    coder.add(part.columns["seconds"])
    code_n, _, known = coder.finish()
    seconds = [math.nan]
    for code, value in enumerate(as_list(known)):
        try:
            text = str(value).strip(' \t"')  # JSON may hold a number as text
            seconds.insert(code, float(text) if text else math.nan)
        except ValueError:
            n = int(np.argmax(code_n == code))
            raise DataError(
                f"{_where([replace(span, start=0)], n)}, column {table.columns['seconds']!r}: {text!r} is not a number "
                "of seconds. Correct it, or leave the column out with seconds=''."
            ) from None
    return np.array(seconds)[code_n]
