"""Turn a Table into Votes: integer codes in one streaming pass, then names, labels, repeated votes, gold, an account.

No text column is ever loaded into memory all at once.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError, use
from majorant.known import NO_TABLE, Ratings, know_judges
from majorant.limits import refuse_beyond
from majorant.read.options import Progress, ReadOptions, name_words, says_position
from majorant.read.table import (
    UNSEEN_SIGNS,
    Column,
    Known,
    Objects,
    Table,
    TableRows,
    as_list,
    column_length,
    decode,
    dictionary_codes,
    empty_codes,
    fold,
    is_empty,
    is_plain,
    is_text,
    is_vote,
    kind_key,
    large_text,
    numbers_if_all,
    numpy_view,
    sort_labels,
    voted,
    written_list,
)
from majorant.tabular import unguard_cell
from majorant.votes import Account, IntArray, Note, NoteKind, Votes, item_order

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
LISTED = 5  # most items, workers or labels to list in a note


class Coder:
    """Encodes one column. `finish` returns codes (-1 for empty cells) and values in order of appearance.

    Parts are encoded one by one.  New values are merged into the known ones only once they outnumber them, so that each
    value is merged a bounded number of times.
    """

    def __init__(self, source: str, column: str, *, merge_at: int = 1 << 20) -> None:
        self.source, self.column = source, column
        self.merge_at = merge_at  # number of waiting values
        self.known: Known = None
        self.waiting: list[tuple[int, Known]] = []  # (number of the part, its values)
        self.n_waiting = 0
        self.part_codes: list[Codes] = []
        self.declared: set[int] = set()  # parts whose values may not occur in any vote
        self.repeats = True  # whether values were repeated within the last part

    def __len__(self) -> int:
        return 0 if self.known is None else len(self.known)

    def add(self, column: Column, *, declared: bool = False) -> None:
        """Encode one part; the codes of declared values, which need not occur in any vote, are kept separately."""
        code_n, values = self._encode(column)
        self.repeats = 2 * len(values) <= len(code_n)
        self.waiting.append((len(self.part_codes), values))
        if declared:
            self.declared.add(len(self.part_codes))
        self.part_codes.append(code_n)
        self.n_waiting += len(values)
        if self.n_waiting > max(self.merge_at, len(self)):
            self.merge()

    def _encode(self, column: Column) -> tuple[Codes, Known]:
        import pyarrow as pa

        if isinstance(column, Objects):
            used = np.unique(column.code_n[column.code_n >= 0], return_index=True)
            order = used[0][np.argsort(used[1])]  # in order of appearance; a slice may use only some of the values
            remap = np.full(len(column.values) + 1, -1, dtype=np.int32)
            remap[order] = np.arange(len(order), dtype=np.int32)
            return remap[column.code_n], [column.values[code] for code in order]
        if pa.types.is_dictionary(column.type):
            return dictionary_codes(column), large_text(column.dictionary)
        column = large_text(column)
        if not self.repeats and not column.null_count and is_plain(column):  # merging will encode it anyway
            return np.arange(len(column), dtype=np.int32), column
        try:
            encoded = column.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise DataError(
                f"{self.source}: column {self.column!r} holds {column.type}, not single values. Give one row per vote."
            ) from None
        return dictionary_codes(encoded), encoded.dictionary

    def merge(self) -> None:
        """Merge the pending values into the known ones, and convert the codes of their parts."""
        if not self.waiting:
            return
        import pyarrow as pa

        n_known, pieces = len(self), [values for _, values in self.waiting]
        every = pieces if self.known is None else [self.known, *pieces]
        if not any(isinstance(piece, list) for piece in every) and len({piece.type for piece in every}) == 1:
            encoded = pa.concat_arrays(every).dictionary_encode()
            self.known, codes = encoded.dictionary, numpy_view(encoded.indices, np.int32)[n_known:]
        else:
            position: dict[Any, int] = {}
            values = [value for piece in every for value in as_list(piece)]
            code_v = [position.setdefault(kind_key(value), len(position)) for value in values]
            first = dict(zip(reversed(code_v), reversed(values), strict=True))
            self.known, codes = [first[code] for code in range(len(first))], np.array(code_v[n_known:], dtype=np.int32)
        start = 0
        for part, values in self.waiting:
            remap = np.append(codes[start : start + len(values)], np.int32(-1)).astype(np.int32, copy=False)
            start += len(values)
            if len(self.part_codes[part]) and not np.array_equal(remap[:-1], np.arange(len(values))):
                self.part_codes[part] = remap[self.part_codes[part]]
        self.waiting, self.n_waiting = [], 0

    def finish(self) -> tuple[Codes, Codes, Known]:
        """The codes of all rows, the codes of declared values, and the values."""
        self.merge()
        parts, self.part_codes = self.part_codes, []
        nothing = np.empty(0, dtype=np.int32)
        declared_n = np.concatenate([nothing, *(part for n, part in enumerate(parts) if n in self.declared)])
        code_n = np.concatenate([nothing, *(part for n, part in enumerate(parts) if n not in self.declared)])
        return code_n, declared_n, [] if self.known is None else self.known


@dataclass(frozen=True, slots=True)
class Span:
    """The sources of the entries from `start` onwards."""

    start: int
    source: str
    unit: str
    first_row: int
    row_n: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """The whole table as codes: `codes[role][n]` is a position in `known[role]`, or -1 for an empty cell."""

    table: Table
    n_rows: int
    codes: dict[str, Codes]
    declared: dict[str, Codes]  # the same for facts about the items of a wide table, with or without votes
    known: dict[str, Known]
    seconds_n: NDArray[np.float64] | None
    spans: Sequence[Span]
    declared_spans: Sequence[Span]
    row_n: NDArray[np.int64] | None = None  # table entry of each code; None means all, in order

    def where(self, n: int, *, declared: bool = False) -> str:
        """The location of entry n, or of the n-th item of a wide table, for messages."""
        if declared:
            return _where(self.declared_spans, n)
        return _where(self.spans, n if self.row_n is None else int(self.row_n[n]))


def _where(spans: Sequence[Span], n: int) -> str:
    span = spans[bisect_right([span.start for span in spans], n) - 1]
    row = span.first_row + n - span.start if span.row_n is None else int(span.row_n[n - span.start])
    return f"{span.source}, {span.unit} {row}"


def collect_codes(table: Table, max_classes: int, progress: Progress | None = None) -> Coded:
    """Read the table; a second thread encodes parts, at most two behind, while the next ones are read."""
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
        refuse_long(known, table.source, table.columns[role])
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


def refuse_long(known: Known, source: str, name: str) -> None:
    """Reject names as long as documents, because names are repeated in tables and reports."""
    if isinstance(known, list):
        longest = max((len(value) for value in known if isinstance(value, (str, bytes))), default=0)
    else:
        import pyarrow.compute as pc

        longest = (pc.max(pc.binary_length(known)).as_py() or 0) if is_text(known.type) else 0
    refuse_beyond("NAME_LENGTH", longest, f"characters in one cell of {source}, column {name!r}", "Name items by an id")


def no_rows(table: Table) -> DataError:
    """The error for a table without rows."""
    what = "has a header but no rows" if table.kind == "text" else "holds no rows"
    return DataError(f"{table.source} {what}. Check that the export completed.")


def encode_part(
    part: TableRows, span: Span, coders: Mapping[str, Coder], names: Mapping[str, str], max_classes: int
) -> None:
    """Add a part to the coders of its columns, refusing more labels than `max_classes`."""
    for role, column in part.declared.items():
        coders[role].add(column, declared=True)
    for role, coder in coders.items():
        if role not in part.columns and role in part.declared:
            continue
        if role not in part.columns:  # this file lacks a column that another file has
            coder.add(Objects(np.full(part.n_rows, -1, dtype=np.int32), ()))
            continue
        coder.add(part.columns[role])
        if role in ("label", "gold"):
            coder.merge()
            if len(coder) > max_classes and not are_scores(as_list(coder.known[: max_classes + 1])):
                [shown] = as_list(coder.known[max_classes : max_classes + 1])
                raise too_many_labels(span.source, role, names[role], max_classes, shown)


def are_scores(labels: Sequence[Any]) -> bool:
    """Whether labels are numbers, most of them not whole, as probabilities and other scores of judges are.

    >>> are_scores(["0.25", "0.5", 1]), are_scores(["1", "2", "2.5"]), are_scores(["yes", "0.5"])
    (True, False, False)
    """
    try:
        number_k = np.array([float(label) for label in labels])
    except (TypeError, ValueError):
        return False
    return bool((number_k % 1 != 0).mean() > 0.5)


def too_many_labels(source: str, role: str, name: str, most: int, shown: object) -> DataError:
    """The error for a column with too many distinct values to be labels."""
    kind = "labels" if role == "label" else "gold labels"
    return DataError(
        f"{source}, column {name!r}: more than {most:,} different labels, e.g. {str(shown)[:60]!r}; it is probably not "
        f"the column of {kind}. Specify the right one with {use(role, 'NAME')}, or allow more with "
        f"{use('max_classes')}."
    )


def part_seconds(part: TableRows, span: Span, table: Table) -> NDArray[np.float64]:
    """The seconds column as floats, with NaN for empty cells."""
    coder = Coder(span.source, table.columns["seconds"])
    coder.add(part.columns["seconds"])
    code_n, _, known = coder.finish()
    seconds = [math.nan]
    for code, value in enumerate(as_list(known)):
        try:
            text = str(value).strip(' \t"')  # JSON may contain numbers as text
            seconds.insert(code, float(text) if text else math.nan)
        except ValueError:
            n = int(np.argmax(code_n == code))
            raise DataError(
                f"{_where([replace(span, start=0)], n)}, column {table.columns['seconds']!r}: {text!r} is not a number "
                f"of seconds. Correct it, or leave the column out with {use('seconds', '')}."
            ) from None
    return np.array(seconds)[code_n]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """Items or workers: a code for each row, and their values."""

    code_n: Codes
    declared_n: Codes  # for the items of a wide table
    values: Sequence[Hashable]


def ids_of(coded: Coded, role: str) -> Ids:
    """The items or workers; an empty cell is an error, because every row needs both."""
    name = coded.table.columns[role]
    code_n, declared_n = coded.codes[role], coded.declared[role]
    known = coded.known[role]
    values = decode(known, coded.table.kind)
    # JSON text must be decoded first: an empty string is two quotes, and 1 equals 1.0.
    plain = is_plain(known) and coded.table.kind != "json"
    bad = empty_codes(known if plain else values, values)
    empty_n = np.isin(code_n, [-1, *bad]) if bad else code_n < 0
    empty_m = np.isin(declared_n, [-1, *bad])
    if empty_m.any() or empty_n.any():
        bad_n = empty_m if empty_m.any() else empty_n
        raise empty_id(coded.where(int(np.argmax(bad_n)), declared=bool(empty_m.any())), name, role)
    if plain or (set(map(type, values)) == {str} and len(set(values)) == len(values)):
        return Ids(code_n=code_n, declared_n=declared_n, values=values)
    first, remap = distinct(coded, role, values)
    return Ids(code_n=remap[code_n], declared_n=remap[declared_n], values=first)


def empty_id(place: str, name: str, role: str) -> DataError:
    """The error for a row without an item or a worker."""
    return DataError(
        f"{place}, column {name!r}: the {role} is empty. Every row needs one; fill it in or remove the row."
    )


def distinct(coded: Coded, role: str, values: Sequence[Any]) -> tuple[list[Any], Codes]:
    """The distinct values, and the position of each value among them; 1 equals 1.0 but not "1"."""
    positions: dict[Any, int] = {}
    first: list[Any] = []
    remap = np.full(len(values) + 1, -1, dtype=np.int32)
    for code, value in enumerate(values):
        try:
            remap[code] = positions.setdefault(kind_key(value), len(first))
        except TypeError:
            wide = len(coded.declared[role]) > 0
            code_n = (coded.declared if wide else coded.codes)[role]
            place = coded.where(int(np.argmax(code_n == code)), declared=wide)
            raise DataError(
                f"{place}, column {coded.table.columns[role]!r}: {value!r:.60} is a {type(value).__name__}, not a "
                f"single value. Give one row per vote with one label, or pass {use('several', True)} "
                "for a yes or no on each."
            ) from None
        if remap[code] == len(first):
            first.append(value)
    return first, remap


def first_per_item(
    item_n: IntArray, value_n: IntArray, n_items: int, refuse: Callable[[int, int], None]
) -> NDArray[np.int32]:
    """The code of each item, -1 if there is none; `refuse(earlier, later)` is called on contradictory rows."""
    value_i = np.full(n_items, -1, dtype=np.int32)
    given = np.flatnonzero(value_n >= 0)
    value_i[item_n[given][::-1]] = value_n[given][::-1]  # assigned in reverse, so the first row wins
    wrong = given[value_i[item_n[given]] != value_n[given]]
    if len(wrong):
        later = int(wrong[0])
        refuse(int(given[item_n[given] == item_n[later]][0]), later)
    return value_i


def one_per_item(coded: Coded, items: Ids, role: str, code_map: Codes, values: Sequence[Hashable]) -> NDArray[np.int32]:
    """The code of each item in a column whose cells must agree for all rows of an item; -1 if empty."""
    wide = len(coded.declared[role]) > 0
    value_n = code_map[(coded.declared if wide else coded.codes)[role]]
    what = "gold label" if role == "gold" else "value"
    item_n = items.declared_n if wide else items.code_n

    def refuse(earlier: int, later: int) -> None:
        raise DataError(
            f"{coded.where(later, declared=wide)}, column {coded.table.columns[role]!r}: item "
            f"{items.values[item_n[later]]!r} has {what} {values[value_n[later]]!r}, but "
            f"{values[value_n[earlier]]!r} in {coded.where(earlier, declared=wide)}. Give each item one {what}."
        )

    return first_per_item(item_n, value_n, len(items.values), refuse)


def slices_of_items(coded: Coded, items: Ids) -> tuple[NDArray[np.int32] | None, tuple[Hashable, ...]]:
    """The slice of each item, -1 if the cell is empty; and all slices, sorted like labels."""
    if "slice" not in coded.codes:
        return None, ()
    values = decode(coded.known["slice"], coded.table.kind)
    if coded.table.kind == "text":
        numbers = numbers_if_all([value for value in values if not is_empty(value)])
        values = [numbers.get(value, value) for value in values]
    values = [None if is_empty(value) else value for value in values]
    slices = sort_labels([value for value in distinct(coded, "slice", values)[0] if value is not None])
    code_of = {kind_key(value): code for code, value in enumerate(slices)}
    code_map = np.array([*(code_of.get(kind_key(value), -1) for value in values), -1], np.int32)
    return one_per_item(coded, items, "slice", code_map, slices), tuple(slices)


def trust_of_workers(coded: Coded, workers: Ids) -> tuple[NDArray[np.float64] | None, list[Note]]:
    """The mean of each worker's trust, as a share; None if there is no such column or all workers have the same."""
    if "trust" not in coded.codes:
        return None, []
    column, code_n = coded.table.columns["trust"], coded.codes["trust"]
    trust = [math.nan]
    for code, value in enumerate(decode(coded.known["trust"], coded.table.kind)):
        try:
            text = str(value).strip(' \t"')
            number = math.nan if is_empty(value) else float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = math.inf
        if not (math.isnan(number) or 0 <= number <= 100):
            raise DataError(
                f"{coded.where(int(np.argmax(code_n == code)))}, column {column!r}: {value!r} is not a share between "
                f"0 and 1 or a percentage. Correct it, or leave {use('trust_column')} out."
            )
        trust.insert(code, number)
    trust_n = np.array(trust)[code_n]
    if np.nanmax(trust_n, initial=0.0) > 1:
        trust_n = trust_n / 100
    given = ~np.isnan(trust_n)
    n_workers = len(workers.values)
    total_j, rows_j = (
        np.bincount(workers.code_n[given], weights, n_workers) for weights in (trust_n[given], np.ones(given.sum()))
    )
    trust_j = np.where(rows_j > 0, total_j / np.maximum(rows_j, 1), np.nan)
    if np.isnan(trust_j).all() or np.nanmax(trust_j) - np.nanmin(trust_j) < 1e-9:
        value = None if np.isnan(trust_j).all() else float(np.nanmax(trust_j))
        return None, [Note(NoteKind.EQUAL_TRUST, {"column": column, "value": value})]
    return trust_j, []


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold value of each item that has one, by position in `items`, and its source."""

    value_by_item: Mapping[int, Any]
    notes: tuple[Note, ...] = ()


def _find_values(wanted: Sequence[Any], values: Iterable[Any]) -> list[int | None]:
    """The position of each wanted value among others, matched by kind and value, or else by text.

    The other values are iterated over, so they need not fit into memory.

    >>> _find_values([1, "b", "2", None], ["1", "b", 2, 1])
    [3, 1, 2, None]
    """
    exact: dict[Any, int | None] = dict.fromkeys(map(kind_key, wanted))
    alike: dict[str, int | None] = dict.fromkeys(map(str, wanted))
    for at, value in enumerate(values):
        if kind_key(value) in exact:
            exact[kind_key(value)] = at
        text = str(value)
        if text in alike and alike[text] is None:
            alike[text] = at
    exactly = (exact[kind_key(value)] for value in wanted)
    return [alike[str(value)] if at is None else at for at, value in zip(exactly, wanted, strict=True)]


def find_items(wanted: Sequence[Any], values: Sequence[Any]) -> list[int | None]:
    """`_find_values`; values not found are tried again without the apostrophe that protects spreadsheets.

    >>> find_items(["'=1", "'b"], ["=1", "b"])
    [0, None]
    """
    places = _find_values(wanted, values)
    before = {n: unguard_cell(str(value)) for n, value in enumerate(wanted) if places[n] is None}
    changed = [n for n, text in before.items() if text != str(wanted[n])]
    if changed:
        for n, at in zip(changed, _find_values([before[n] for n in changed], values), strict=True):
            places[n] = at
    return places


def match_labels(values: Sequence[Any], labels: Sequence[Any]) -> list[Any]:
    """Replace each gold value by the label of the votes with the same text, if there is one."""
    matched = find_items(values, labels)
    return [value if at is None else labels[at] for value, at in zip(values, matched, strict=True)]


def vote_mask(coded: Coded, label_values: Sequence[Any], no_vote: frozenset[str]) -> Mask | None:
    """Which rows hold a vote: a non-empty label, and no status that says otherwise; None means all rows."""
    filled = np.array([is_vote(v, no_vote) for v in label_values] + [False])
    code_n = coded.codes["label"]
    vote_n = None if filled[:-1].all() and (not len(code_n) or code_n.min() >= 0) else filled[code_n]
    if "status" not in coded.codes:
        return vote_n
    status_n = coded.codes["status"]
    values = decode(coded.known["status"], coded.table.kind)
    means_vote = [voted(value) for value in values]
    if None in means_vote:
        code = means_vote.index(None)
        raise unclear_status(coded.where(int(np.argmax(status_n == code))), coded.table.columns["status"], values[code])
    ok_n = np.array([*means_vote, True])[status_n]
    if ok_n.all():
        return vote_n
    return np.asarray(ok_n if vote_n is None else ok_n & vote_n)


def unclear_status(place: str, column: str, value: Any) -> DataError:
    """The error for a status that does not clearly say whether there is a vote."""
    return DataError(
        f"{place}, column {column!r}: cannot tell whether {value!r} means a vote. Use ok, abstain or error, or leave "
        f"it out with {use('status', '')}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCodes:
    """The label vocabulary, the final codes of raw labels and gold labels, and how often each label is used."""

    labels: list[Hashable]
    label_map: Codes
    gold_map: Codes | None
    gold_i: Codes | None  # from a gold file
    n_by_label: dict[Any, int]
    notes: tuple[Note, ...] = ()  # on the order or threshold of labels, and on merged labels


def name_labels(
    coded: Coded,
    label_values: Sequence[Any],
    uses: NDArray[np.integer[Any]],
    gold: Gold | None,
    options: ReadOptions,
    n_items: int,
) -> LabelCodes:
    """All labels that votes (counted in `uses`) or gold use, sorted; if all are numbers written as text, as numbers."""
    scale, source = options.scale, coded.table.source
    place = f"{source}, column {coded.table.columns.get('label', 'label')!r}"
    used = [code for code in range(len(label_values)) if uses[code]]
    gold_values = decode(coded.known["gold"], coded.table.kind) if "gold" in coded.codes else []
    gold_used = [code for code, v in enumerate(gold_values) if is_vote(v, options.no_vote)]
    texts = [label_values[code] for code in used if isinstance(label_values[code], str)]
    listed = next((text for text in texts if text.lstrip()[:1] == "[" and written_list(text)), None)
    if listed is not None:
        raise DataError(
            f"{place}: {listed!r} is a list of labels. Pass {use('several', True)} for a yes or no on each label."
        )
    if coded.table.kind == "text":
        numbers = numbers_if_all([*texts, *(gold_values[code] for code in gold_used)])
        label_values = [numbers.get(v, v) for v in label_values]
        gold_values = [numbers.get(v, v) for v in gold_values]
    label_values = [scale.cut(v, source) if uses[code] else v for code, v in enumerate(label_values)]
    used_gold = frozenset(gold_used)
    gold_values = [scale.cut(v, source) if code in used_gold else v for code, v in enumerate(gold_values)]
    if gold_used:
        distinct(coded, "gold", gold_values)  # refuses cells that are not single values
    notes = [note for note in (scale.note(),) if note is not None]
    spelling: dict[str, Any] = {}
    if options.fold_case:
        votes_by_label = {label_values[code]: int(uses[code]) for code in used}
        common_first = sorted(votes_by_label, key=lambda label: -votes_by_label[label])
        spelling = {fold(label): label for label in reversed(common_first)}
        label_values = [spelling.get(fold(v), v) for v in label_values]
        if merged := [[[str(v), votes_by_label[v]] for v in group] for group in alike(common_first)]:
            notes.append(Note(NoteKind.FOLDED_LABELS, {"groups": merged}))
    given, remap = distinct(coded, "label", [label_values[code] for code in used])

    def as_given(values: Sequence[Any]) -> list[Any]:
        return match_labels([spelling.get(fold(v), v) for v in values] if spelling else values, given)

    file_items = list(gold.value_by_item) if gold else []
    file_values = as_given([scale.cut(gold.value_by_item[at], source) for at in file_items] if gold else [])
    in_column = as_given([gold_values[code] for code in gold_used])
    labels, _ = distinct(coded, "label", [*given, *in_column, *file_values])
    infinite = next((v for v in labels if isinstance(v, (float, Decimal)) and math.isinf(v)), None)
    if infinite is not None:
        raise DataError(
            f"{place}: the label {infinite} is infinite. Pass {use('empty', infinite)} if it means no vote."
        )
    labels = scale.sorted(labels, source)
    at = {kind_key(label): code for code, label in enumerate(labels)}
    label_map = np.full(len(label_values) + 1, -1, dtype=np.int32)
    label_map[used] = [at[kind_key(given[remap[k]])] for k in range(len(used))]
    gold_map = np.full(len(gold_values) + 1, -1, dtype=np.int32)
    gold_map[gold_used] = [at[kind_key(value)] for value in in_column]
    gold_i = np.full(n_items, -1, dtype=np.int32)
    gold_i[file_items] = [at[kind_key(value)] for value in file_values]
    counts = np.bincount(label_map[used], weights=uses[used], minlength=len(labels)) if used else np.zeros(len(labels))
    return LabelCodes(
        labels=labels,
        label_map=label_map,
        gold_map=gold_map if "gold" in coded.codes else None,
        gold_i=gold_i if gold else None,
        n_by_label={label: int(n) for label, n in zip(labels, counts, strict=True)},
        notes=tuple(notes),
    )


def alike(values: Sequence[Any]) -> list[list[Any]]:
    """Groups of values that look alike but differ.

    >>> alike(["Yes", "no", "yes", "yes "])
    [['Yes', 'yes', 'yes ']]
    """
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(fold(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def label_notes(labels: Sequence[Any], votes_by_label: Mapping[Any, int], column: str) -> list[Note]:
    """Notes on labels that may mean no vote, look alike, have several types, or are scores."""
    no_answer = {
        "na", "nan", "none", "null", "nil", "notapplicable", "unclear", "unsure", "notsure", "unknown", "cannottell",
        "canttell", "dontknow", "idk", "dk", "refused", "refusal", "noanswer", "abstain", "abstained", "skip",
        "skipped", "error", "parseerror", "timeout", "missing", "?", "-", "--", ".",
    }  # fmt: skip
    notes = []
    words = {label: label.strip().casefold() for label in labels if isinstance(label, str)}
    bare = {label: re.sub(r"[\W_]+", "", word) or word for label, word in words.items()}  # "N/A" becomes na; "?" stays
    missing = {label: votes_by_label[label] for label, word in bare.items() if word in no_answer}
    if missing:
        notes.append(Note(NoteKind.MISSING_LABEL, {"labels": missing}))
    if groups := alike(labels):
        counted = [[[_json_value(label), votes_by_label[label]] for label in group] for group in groups]
        notes.append(Note(NoteKind.LABEL_VARIANTS, {"groups": counted}))
    joined = [label for label in words if re.search(r"\w ?[|;] ?\w|^\[.*,.*\]$", label)]
    if joined:
        notes.append(Note(NoteKind.SEVERAL_IN_CELL, {"example": joined[0], "labels": len(joined)}))
    kinds = {kind_key(label)[0] for label in labels}
    if len(kinds) > 1:
        notes.append(Note(NoteKind.MIXED_LABELS, {"kinds": sorted(kinds)}))
    if kinds == {"number"} and len(labels) >= 3:
        fractions = not all(float(label).is_integer() for label in labels)
        scores = {"score", "scores", "rating", "stars", "grade", "likert", "points"} & set(name_words(column))
        if fractions or len(labels) > 10 or scores:
            facts = {"classes": len(labels), "low": float(min(labels)), "high": float(max(labels))}
            notes.append(Note(NoteKind.NUMBER_LABELS, facts))
    return notes


def _json_value(value: Any) -> Any:
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def id_notes(role: str, column: str, known: Known) -> list[Note]:
    """Notes on items or workers whose names look alike, or lost digits in a spreadsheet.

    >>> id_notes("worker", "who", ["ana", "bo", "Ana "])[0].facts["groups"]
    [['Ana ', 'ana']]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rounded = r"^[0-9](\.[0-9]+)?E\+[0-9]{2}$"  # how a spreadsheet writes a long whole number
    if isinstance(known, (list, tuple)):
        examples = [value for value in known if isinstance(value, str) and re.match(rounded, value)]
    elif not is_text(known.type):
        return []
    else:
        examples = known.filter(pc.match_substring_regex(known, rounded)).slice(0, 1).to_pylist()
        text = known  # there may be millions of names, so let Arrow check whether any two look alike
        if not pc.all(pc.ascii_is_printable(known)).as_py():
            text = pc.utf8_normalize(pc.replace_substring_regex(known, UNSEEN_SIGNS, ""), "NFC")
        n_looks = pc.count_distinct(pc.utf8_trim_whitespace(pc.utf8_lower(text)), mode="all").as_py()
        known = [] if n_looks == len(known) and pa.types.is_large_string(known.type) else known.to_pylist()
    notes = []
    groups = [sorted(group, key=str) for group in alike([value for value in known if value is not None])]
    if groups:
        shown = [[_json_value(value) for value in group[:LISTED]] for group in sorted(groups, key=str)[:LISTED]]
        notes.append(Note(NoteKind.ID_VARIANTS, {"role": role, "groups": shown, "count": len(groups)}))
    if examples:
        notes.append(Note(NoteKind.ROUNDED_IDS, {"role": role, "column": column, "example": examples[0]}))
    return notes


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedVotes:
    """Votes sorted by item; vote n was in row row_n[n] of the table (or in row n, if that is None)."""

    item_n: Codes
    worker_n: Codes
    label_n: Codes
    seconds_n: NDArray[np.float64] | None
    row_n: NDArray[np.integer[Any]] | None

    def at(self, index: NDArray[Any]) -> SortedVotes:
        """Some of the votes, in the given order."""
        row_n = np.flatnonzero(index) if index.dtype == bool else index
        return SortedVotes(
            item_n=self.item_n[index],
            worker_n=self.worker_n[index],
            label_n=self.label_n[index],
            seconds_n=None if self.seconds_n is None else self.seconds_n[index],
            row_n=row_n if self.row_n is None else self.row_n[index],
        )

    def row(self, vote: int) -> int:
        """The table row of a vote."""
        return vote if self.row_n is None else int(self.row_n[vote])


def build_votes(coded: Coded, items: Ids, gold: Gold | None, options: ReadOptions) -> Votes:
    """Build Votes from a table that has been read."""
    workers = ids_of(coded, "worker")
    label_values = decode(coded.known["label"], coded.table.kind)
    vote_n = vote_mask(coded, label_values, options.no_vote)
    code_n = coded.codes["label"]
    uses = np.bincount(code_n if vote_n is None else code_n[vote_n], minlength=len(label_values))
    if not uses.any():
        raise no_votes(coded)
    named = name_labels(coded, label_values, uses, gold, options, len(items.values))
    ballots, resolved = resolve_votes(coded, items, workers, named, vote_n, options.repeats)
    votes = Votes.from_codes(
        ballots.item_n,
        ballots.worker_n,
        ballots.label_n,
        items=items.values,
        workers=workers.values,
        labels=named.labels,
        gold=gold_codes(coded, items, named),
        abstained=None if vote_n is None else abstained(items, workers, vote_n),
        seconds=ballots.seconds_n,
    )
    slice_i, slices = slices_of_items(coded, items)
    known = dict(coded.known)
    if coded.table.kind == "json":  # look-alike names are searched among decoded values, unless there are too many
        known = {r: decode(known[r], "json") if len(known[r]) <= 200_000 else () for r in ("item", "worker")}
    coverage = replace(coverage_of(votes), items=known["item"], workers=known["worker"])
    account = make_account(coded, coverage, named, resolved, options.repeats, gold)
    trust_j, trust_notes = trust_of_workers(coded, workers)
    votes = replace(
        votes,
        account=replace(account, notes=(*account.notes, *trust_notes)),
        slice_i=slice_i,
        slices=slices,
        ordered=options.scale.order is not None,
        trust_j=trust_j,
    )
    return with_ratings(votes, options)


def with_ratings(votes: Votes, options: ReadOptions) -> Votes:
    """Votes with what is to be known of their judges; ratings given for names that nobody has are refused."""
    ratings = Ratings.of(options.ratings, options.trust)
    if ratings is not None and ratings.trust:
        know_judges(tuple(votes.workers), NO_TABLE, dict(ratings.trust))
    return replace(votes, ratings=ratings)


def no_votes(coded: Coded) -> DataError:
    """The error for a table without a single vote."""
    return DataError(
        f"{coded.table.source}: no row contains a vote; column {coded.table.columns['label']!r} is empty throughout. "
        f"Say which column holds the labels with {use('label', 'NAME')}."
    )


def resolve_votes(
    coded: Coded, items: Ids, workers: Ids, named: LabelCodes, vote_n: Mask | None, repeats: str
) -> tuple[SortedVotes, Resolved]:
    """The votes sorted by item, without those dropped by the policy for repeated votes."""
    ballots = SortedVotes(
        item_n=items.code_n,
        worker_n=workers.code_n,
        label_n=named.label_map[coded.codes["label"]],
        seconds_n=coded.seconds_n,
        row_n=None,
    )
    if vote_n is not None:
        ballots = ballots.at(vote_n)
    order_n, _ = item_order(ballots.item_n, len(items.values))
    ballots = ballots if order_n is None else ballots.at(order_n)

    def refuse(earlier: int, later: int) -> None:
        before, place = (coded.where(ballots.row(vote)) for vote in (earlier, later))
        if before.rsplit(", ", 1)[0] == place.rsplit(", ", 1)[0]:
            before = before.rsplit(", ", 1)[1]
        position = next((name for name in coded.table.ignored if says_position(name)), None)
        raise DataError(
            f"{place}: worker {workers.values[ballots.worker_n[later]]!r} labels item "
            f"{items.values[ballots.item_n[later]]!r} a second time, {named.labels[ballots.label_n[later]]!r} after "
            f"{named.labels[ballots.label_n[earlier]]!r} in {before}. "
            f"Keep one vote per worker and item, or choose with {use('repeats', 'first', 'last', 'each')}."
            + (f" If {position!r} is the order of a pair: majorant workers measures position bias." if position else "")
        )

    resolved = resolve(
        ballots.item_n,
        ballots.worker_n,
        ballots.label_n,
        n_items=len(items.values),
        n_workers=len(workers.values),
        policy=repeats,
        refuse=refuse,
    )
    return (ballots if resolved.kept_n is None else ballots.at(resolved.kept_n)), resolved


def gold_codes(coded: Coded, items: Ids, named: LabelCodes) -> Codes | None:
    """The gold label of each item, -1 if unknown; None if there is no gold."""
    if named.gold_map is None:
        return named.gold_i
    return one_per_item(coded, items, "gold", named.gold_map, named.labels)


def abstained(items: Ids, workers: Ids, vote_n: Mask) -> Codes:
    """The number of abstentions on each item, not counting workers who voted on it in another row."""
    n_items, n_workers = len(items.values), len(workers.values)
    pair_n = items.code_n.astype(np.int64) * n_workers + workers.code_n
    has_silent_i = np.bincount(items.code_n[~vote_n], minlength=n_items) > 0
    silent = np.setdiff1d(pair_n[~vote_n], pair_n[vote_n & has_silent_i[items.code_n]])
    return np.bincount(silent // n_workers, minlength=n_items).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Which votes to keep (None for all), and how many exact duplicates and conflicting repeats were dropped."""

    kept_n: NDArray[np.bool_] | None = None
    merged: int = 0
    dropped: int = 0


def resolve(
    item_n: IntArray, worker_n: IntArray, label_n: IntArray, *, n_items: int, n_workers: int, policy: str,
    refuse: Callable[[int, int], None],
) -> Resolved:  # fmt: skip
    """Apply the policy for repeats to votes sorted by item; `refuse(earlier, later)` is called if labels differ."""
    from scipy.sparse import csr_array

    if policy == "each":
        return Resolved()
    # Group votes by worker and sort by item within: transposing a sparse matrix is a stable counting sort.
    offsets_i = np.concatenate([[0], np.cumsum(np.bincount(item_n, minlength=n_items))])
    every_n = np.arange(len(item_n), dtype=np.int32 if len(item_n) < 2**31 else np.int64)
    by_worker = csr_array((every_n, worker_n, offsets_i), shape=(n_items, n_workers)).tocsc()
    item_m, starts_j, vote_m = by_worker.indices, by_worker.indptr[:-1], by_worker.data
    same_m = np.zeros(len(item_m), dtype=bool)  # whether a vote is on the same item as the previous one
    np.equal(item_m[1:], item_m[:-1], out=same_m[1:])
    same_m[starts_j[starts_j < len(item_m)]] = False
    if not same_m.any():
        return Resolved()
    repeated_m = same_m.copy()
    repeated_m[:-1] |= same_m[1:]
    vote_m, starts_m = vote_m[repeated_m].astype(np.intp), ~same_m[repeated_m]
    group_m = np.cumsum(starts_m) - 1
    first_g = vote_m[starts_m]
    if policy == "error":
        differs = np.flatnonzero(label_n[vote_m] != label_n[first_g[group_m]])
        if len(differs):
            worst = differs[np.argmin(vote_m[differs])]
            refuse(int(first_g[group_m[worst]]), int(vote_m[worst]))
    keep_g = first_g if policy != "last" else vote_m[np.append(np.flatnonzero(starts_m)[1:], len(vote_m)) - 1]
    gone_m = vote_m != keep_g[group_m]
    copies = gone_m & (label_n[vote_m] == label_n[keep_g[group_m]])
    kept_n = np.ones(len(item_n), dtype=bool)
    kept_n[vote_m[gone_m]] = False
    return Resolved(kept_n, int(copies.sum()), int(gone_m.sum() - copies.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which labels have votes, and how many items and workers have none, with the first few names."""

    labels: Sequence[Hashable]
    votes_l: IntArray
    bare: Sequence[Hashable]
    n_bare: int
    silent: Sequence[Hashable]
    n_silent: int
    gold_k: NDArray[np.bool_] | None  # whether each label occurs as gold
    n_compared: int = 0  # items with several votes
    n_disputed: int = 0  # items with different votes
    items: Known = ()  # all names, if they are checked for look-alikes
    workers: Known = ()


def coverage_of(votes: Votes) -> Coverage:
    """Compute the coverage of votes in memory."""
    bare = np.flatnonzero(votes.votes_i == 0)
    silent = np.flatnonzero(np.bincount(votes.worker_n, minlength=len(votes.workers)) == 0)
    gold_i = votes.gold_i
    return Coverage(
        labels=votes.labels,
        votes_l=np.bincount(votes.label_n, minlength=len(votes.labels)),
        bare=[votes.items[i] for i in bare[:LISTED]],
        n_bare=len(bare),
        silent=[votes.workers[j] for j in silent[:LISTED]],
        n_silent=len(silent),
        gold_k=None if gold_i is None else np.bincount(gold_i[gold_i >= 0], minlength=len(votes.labels)) > 0,
        n_compared=int((votes.votes_i > 1).sum()),
        n_disputed=count_disputed(votes.item_n, votes.label_n),
    )


def count_disputed(item_n: IntArray, label_n: IntArray) -> int:
    """The number of items with different votes; votes must be sorted by item.

    >>> count_disputed(np.array([0, 0, 1, 1, 1, 2]), np.array([1, 1, 0, 0, 1, 0]))
    1
    """
    disputed = item_n[1:][(item_n[1:] == item_n[:-1]) & (label_n[1:] != label_n[:-1])]  # ascending
    return int(len(disputed) > 0) + int(np.count_nonzero(disputed[1:] != disputed[:-1]))


def make_account(
    coded: Coded, coverage: Coverage, named: LabelCodes, resolved: Resolved, repeats: str, gold: Gold | None
) -> Account:
    """Make the account of every row, with all notes."""
    table, n_votes = coded.table, int(coverage.votes_l.sum())
    abstained = coded.n_rows - n_votes - resolved.merged - resolved.dropped
    notes = [*named.notes, *table.notes]
    if headers := table.skipped["headers"]:
        notes.append(Note(NoteKind.REPEATED_HEADER, {"rows": headers}))
    if abstained:
        notes.append(Note(NoteKind.ABSTAINED, {"rows": abstained}))
    if resolved.merged:
        notes.append(Note(NoteKind.MERGED, {"rows": resolved.merged}))
    if resolved.dropped:
        notes.append(Note(NoteKind.DROPPED, {"rows": resolved.dropped, "repeats": repeats}))
    notes += label_notes(coverage.labels, named.n_by_label, table.columns["label"])
    notes += id_notes("item", table.columns["item"], coverage.items)
    notes += id_notes("worker", table.columns["worker"], coverage.workers)
    used = np.flatnonzero(coverage.votes_l)
    if len(used) == 1:
        notes.append(Note(NoteKind.SINGLE_CLASS, {"label": str(coverage.labels[used[0]])}))
    elif (
        coverage.n_compared >= 20 and not coverage.n_disputed
    ):  # the export may contain the final label for every worker
        notes.append(Note(NoteKind.UNANIMOUS, {"items": coverage.n_compared}))
    unused = np.flatnonzero(coverage.gold_k & (coverage.votes_l == 0)) if coverage.gold_k is not None else ()
    for kind, names, count in (
        (NoteKind.UNLABELLED_ITEMS, coverage.bare, coverage.n_bare),
        (NoteKind.SILENT_WORKERS, coverage.silent, coverage.n_silent),
        (NoteKind.GOLD_UNUSED, [coverage.labels[k] for k in unused[:LISTED]], len(unused)),
    ):
        if count:
            notes.append(Note(kind, {"names": list(map(str, names)), "count": count}))
    notes += gold.notes if gold else ()
    return Account(
        source=table.source,
        format=table.format,
        columns=table.columns,
        ignored=table.ignored,
        rows=coded.n_rows,
        votes=n_votes,
        abstained=abstained,
        merged=resolved.merged,
        dropped=resolved.dropped,
        repeats=repeats,
        judges=table.judges,
        notes=tuple(notes),
    )


def mask(votes: Votes) -> Votes:
    """The votes with items and workers renamed to 1, 2, ... in order of first appearance; labels stay.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items=["x.jpg", "y.jpg"], workers=["ann"], labels="ny")
    >>> mask(votes).items, mask(votes).workers
    ((1, 2), (1,))
    """
    n_items, n_workers, _ = votes.shape
    items, workers = tuple(range(1, n_items + 1)), tuple(range(1, n_workers + 1))
    return replace(votes, items=items, workers=workers, account=mask_account(votes.account), text=None)


def mask_account(account: Account) -> Account:
    """The account without the names of items and workers."""
    naming = (
        NoteKind.UNLABELLED_ITEMS, NoteKind.SILENT_WORKERS, NoteKind.GOLD_UNKNOWN_ITEMS, NoteKind.ID_VARIANTS,
        NoteKind.ROUNDED_IDS, NoteKind.WIDE, NoteKind.FILE_WORKERS, NoteKind.ROW_PER_WORKER,
    )  # fmt: skip
    names = ("names", "items", "groups", "example", "workers")  # facts that may contain names
    notes = (
        replace(note, facts={key: value for key, value in note.facts.items() if key not in names})
        if note.kind in naming
        else note
        for note in account.notes
    )
    return replace(account, notes=tuple(notes))
