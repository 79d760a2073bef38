"""Guess the columns of items, workers and labels from their content, if their names give no clue.

A guess is reported in a note. If the content is ambiguous, an error asks for column names instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError, use
from majorant.read.options import (
    ALIASES,
    VOTE_ROLES,
    Choice,
    candidate_roles,
    find_roles,
    letters,
    list_names,
    means,
    name_words,
)
from majorant.read.table import Layout, RowSource, fold, is_empty
from majorant.votes import Note, NoteKind

ROW_NAMES = "(row names)"  # a first column without a name, as written by R


HINTS = {  # words in column names that suggest a role
    "item": frozenset((
        "path", "file", "filename", "img", "picture", "url", "uri", "text", "review", "essay", "tweet", "sentence",
        "comment", "clip", "video", "patient", "pair", "key",
    )).union(*ALIASES["item"]) - {"id"},
    "worker": frozenset(["email", "who", "by", "person", "name", "expert"]).union(*ALIASES["worker"]),
    "label": frozenset((
        "sentiment", "emotion", "mood", "stance", "toxicity", "toxic", "quality", "relevance", "tag", "topic", "stars",
        "severity", "diagnosis",
    )).union(*ALIASES["label"]),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Column:
    """Facts about a column, based on the first rows."""

    place: int
    code_n: NDArray[np.int64]  # codes of its values, -1 for an empty cell
    n_values: int
    length: float  # mean length of a value
    lists: bool
    measures: bool  # whether it holds numbers such as 0.35, or times
    hints: Mapping[str, int]  # how strongly its name suggests each role

    def fits(self, role: str) -> bool:
        """Whether the values could have this role."""
        n_rows = len(self.code_n)
        most = {"item": 0.8 * n_rows, "worker": 0.5 * n_rows, "label": min(50, 0.5 * n_rows)}[role]
        longest = {"item": 10_000, "worker": 60, "label": 60}[role]
        names = role == "label" or (int(self.code_n.min()) >= 0 and not self.measures)
        return names and not self.lists and 2 <= self.n_values <= most and self.length <= longest


def guess_votes(
    names: Sequence[str], cells: Sequence[Sequence[Any]], by_name: Mapping[str, Sequence[int]]
) -> dict[str, int] | None:
    """The positions of item, worker and label, or None if in doubt.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    cells : sequence of sequences
        The first values of each column, None for an empty cell.
    by_name : mapping
        The columns that could have each role, judged by their names alone.

    Examples
    --------
    >>> items, workers = ["a", "a", "b", "b", "c", "c"], ["u", "v", "v", "u", "u", "v"]
    >>> cells = [items, workers, ["yes", "no", "yes", "yes", "no", "no"]]
    >>> guess_votes(["image_path", "annotator_email", "mood"], cells, {})
    {'item': 0, 'worker': 1, 'label': 2}
    >>> guess_votes(["x", "y", "z"], cells, {}) is None
    True
    """
    if not cells or len(cells[0]) < 6:
        return None
    columns = [_describe_column(p, names[p], values, by_name) for p, values in enumerate(cells)]
    taken = {p for role, some in by_name.items() if role not in VOTE_ROLES or len(some) == 1 for p in some}
    options = []
    for role in VOTE_ROLES:
        own = by_name.get(role)
        options.append(
            _fitting_columns(role, [c for c in columns if (c.place in own if own else c.place not in taken)])
        )
    if prod(map(len, options)) > 5_000:  # too many combinations to try
        return None
    scored = sorted((score, triple) for triple in product(*options) if (score := _score(columns, *triple)) is not None)
    if not scored or (len(scored) > 1 and scored[-1][0] - scored[-2][0] < 1):
        return None
    return {role: place for role, (place, _) in zip(VOTE_ROLES, scored[-1][1], strict=True)}


def _describe_column(place: int, name: str, values: Sequence[Any], by_name: Mapping[str, Sequence[int]]) -> _Column:
    texts = ["" if value is None else str(value) for value in values]
    codes: dict[str, int] = {}
    code_n = np.array([codes.setdefault(text, len(codes)) if text else -1 for text in texts], dtype=np.int64)
    return _Column(
        place=place,
        code_n=code_n,
        n_values=len(codes),
        length=sum(map(len, codes)) / max(len(codes), 1),
        lists=any(isinstance(value, (list, dict)) for value in values),
        measures=any(re.fullmatch(r"[-+\d/:. TZ]*[/:.]\d[-+\d/:. TZ]*", text) for text in codes),
        hints={role: 2 if place in by_name.get(role, ()) else _hint(role, name) for role in VOTE_ROLES},
    )


def _hint(role: str, name: str) -> int:
    """2 if a name suggests this role, 1 for an id that could be an item, -2 if it suggests another role."""
    words = name_words(name)

    def speaks_for(one: str) -> bool:
        ends = tuple(word for word in HINTS[one] if len(word) > 4)  # crowdworker
        return any(word in HINTS[one] or word.endswith(ends) for word in words)

    if speaks_for(role):
        return 2
    return -2 if any(map(speaks_for, VOTE_ROLES)) else int(role == "item" and "id" in words)


def _fitting_columns(role: str, columns: Sequence[_Column]) -> list[tuple[int, int]]:
    """The columns that could have a role, each with its hint; only those whose names suggest it, if there are any.

    Of equivalent columns, such as a text and its id, only the shortest is used.
    """
    groups: dict[bytes, list[_Column]] = {}
    for column in columns:
        groups.setdefault(column.code_n.tobytes() if role != "label" else str(column.place).encode(), []).append(column)
    hint = {key: max(column.hints[role] for column in group) for key, group in groups.items()}
    least = 2 if 2 in hint.values() else 0
    found = []
    for key, group in groups.items():
        fitting = [column for column in group if column.fits(role)]
        if fitting and hint[key] >= least:
            best = min(fitting, key=lambda column: (column.length > 20, -column.hints[role], column.length))
            found.append((best.place, hint[key]))
    return found


def _score(
    columns: Sequence[_Column], items: tuple[int, int], workers: tuple[int, int], labels: tuple[int, int]
) -> int | None:
    """Score three columns as items, workers and labels; None if that is impossible, or if no name suggests it."""
    (i, item_hint), (j, worker_hint), (k, label_hint) = items, workers, labels
    item, worker, label = columns[i], columns[j], columns[k]
    if len({i, j, k}) < 3 or max(item_hint, worker_hint) <= 0:
        return None
    varies = _n_pairs(item, label) > item.n_values
    if not (varies or label_hint) or _n_pairs(worker, label) == worker.n_values:  # it describes the worker
        return None
    if _n_pairs(item, worker) < 0.98 * len(item.code_n):
        return None
    hints = item_hint + worker_hint + label_hint
    return hints + 2 * varies + (item.n_values > worker.n_values) + (label.n_values <= 10)


def _n_pairs(one: _Column, other: _Column) -> int:
    return len(np.unique(one.code_n * max(other.n_values, 1) + other.code_n))


WORKER_WORDS = frozenset((  # words in the column names of workers: Dr_Lee, rater1, label_ana
    "dr", "doctor", "reader", "radiologist", "pathologist", "vote", "label", "rating", "score", "person", "r", "w", "a",
)).union(*ALIASES["worker"][:2])  # fmt: skip


def missing_header(rows: RowSource, choice: Choice) -> DataError | None:
    """The error for a file without a header, where two cells of the first row also occur further down."""
    if rows.kind != "text" or len(rows.names) != 3 or not rows.again or choice.named:
        return None
    columns = [[value for value in values if value is not None] for values in sample_columns(rows, range(3))]
    if sum(name in values for name, values in zip(rows.names, columns, strict=True)) < 2:
        return None
    by_size = sorted(range(3), key=lambda p: (len({rows.names[p], *columns[p]}), -p))
    role_of = dict(zip(by_size, ("label", "worker", "item"), strict=True))  # labels are fewest, items most
    order = ",".join(role_of[p] for p in range(3))
    return DataError(
        f"{rows.source}: its first row, {list_names(rows.names)}, looks like a vote and not like column names. "
        f"If there is no header, say what each column holds: {use('columns', order)}."
    )


def layout_by_content(rows: RowSource, choice: Choice, n_files: int) -> Layout | None:
    """Recognise a file per worker, a column per worker, or a row per vote with unusual column names."""
    by_name = candidate_roles(rows.names, choice, rows.source)
    found = {role for role in VOTE_ROLES if len(by_name.get(role, ())) == 1}
    if n_files > 1 and found == {"item", "label"} and not by_name.get("worker") and "worker" not in choice.named:
        return Layout({role: some[0] for role, some in by_name.items() if len(some) == 1})  # the file names the worker
    if not rows.again:
        return None
    if (wide := _detect_wide(rows, choice)) is not None:
        return wide
    named = all(name == ROW_NAMES or re.match(r"\w", name) for name in rows.names)  # excludes JSON read as CSV
    votes = guess_votes(rows.names, sample_columns(rows, range(len(rows.names))), by_name) if named else None
    if votes is None:
        return None
    roles = {role: some[0] for role, some in by_name.items() if len(some) == 1} | votes
    guessed = {role: rows.names[p] for role, p in votes.items() if by_name.get(role) != [p]}
    note = Note(NoteKind.GUESSED_COLUMNS, {"columns": guessed})
    return Layout({role: roles[role] for role in ALIASES if role in roles}, notes=(note,))


# Wide tables: one row per item, one column per worker


def wide_layout(rows: RowSource, choice: Choice, workers: Sequence[str] | None) -> Layout:
    """The layout of a table that is known to be wide, from the caller or from its format."""
    if not rows.named:
        raise ConfigError(
            f"{use('wide', True)} needs a header with the names of the workers; {use('columns')} does not go with it."
        )
    if choice.named.get("worker") or choice.named.get("label"):
        raise ConfigError(
            f"{use('worker')} and {use('label')} are for a row per vote. In a wide table, name the "
            f"columns: {use('workers')}."
        )
    roles = _wide_roles(rows, choice)
    free = [p for p in range(len(rows.names)) if p not in roles.values()]
    if workers is not None:
        left_out, matching = {}, set()
        for pattern in workers:
            hits = [p for p in free if rows.names[p] == pattern]
            hits = hits or [p for p in free if fnmatchcase(rows.names[p], pattern)]
            if not hits:
                listed = list_names(rows.names)
                raise ConfigError(
                    f"{rows.source}: {use('workers', pattern)} matches no column. Its columns are {listed}."
                )
            matching.update(hits)
        kept = tuple(sorted(matching))
    else:
        free = [p for p in free if p or rows.names[p] != ROW_NAMES]
        left_out = find_other_columns(rows, free) if rows.again else {}
        kept = tuple(p for p in free if p not in left_out)
    if not kept:
        raise DataError(f"{rows.source}: a wide table needs a column per worker beside the item.")
    return Layout(roles, kept, (_wide_note(rows, kept, left_out),) if left_out else ())


def _detect_wide(rows: RowSource, choice: Choice) -> Layout | None:
    """Detect a wide table: two or more columns share a few labels, and every row is an item."""
    if choice.named.get("worker") or choice.named.get("label"):
        return None
    roles = _wide_roles(rows, choice)
    free = [p for p in range(len(rows.names)) if p not in roles.values() and (p or rows.names[p] != ROW_NAMES)]
    if len(free) < 2:
        return None
    left_out = find_other_columns(rows, free)
    kept = tuple(p for p in free if p not in left_out)
    items = [str(item) for item in sample_columns(rows, [roles["item"]])[0] if item is not None]
    if len(kept) < 2 or len(set(items)) < len(items):
        return None
    worker = frozenset().union(*ALIASES["worker"])
    if any(worker & set(name_words(rows.names[p])) for p in left_out):  # a worker column means that each row is a vote
        return None
    return Layout(roles, kept, (_wide_note(rows, kept, left_out),))


def _wide_roles(rows: RowSource, choice: Choice) -> dict[str, int]:
    """The columns of items (named by the caller, by its name, or the first), of gold and of slices."""
    named = {role: word for role, word in choice.named.items() if role in ("item", "gold", "slice")}
    if "item" not in named:
        called = [name for name in rows.names if means(name, "item")]
        named["item"] = called[0] if len(called) == 1 else rows.names[0] if rows.names else ""
    for role in ALIASES:
        if role not in named and role != "gold":
            named[role] = ""
    return find_roles(rows.names, Choice(named=named, needed=("item",)), rows.source)


def _wide_note(rows: RowSource, workers: Sequence[int], left_out: Mapping[int, str]) -> Note:
    reasons = {rows.names[p]: why for p, why in left_out.items()}
    return Note(NoteKind.WIDE, {"workers": [rows.names[p] for p in workers], "left_out": reasons})


def sample_columns(rows: RowSource, positions: Sequence[int]) -> list[list[Any]]:
    """The first values of some columns, with None for an empty cell."""
    most = min(20_000, max(2_000, 1_000_000 // max(len(positions), 1)))
    missing = ("NA", "NaN", ".")
    return [
        [None if is_empty(v) or (isinstance(v, str) and v.strip() in missing) else v for v in values]
        for values in (rows.first_cells(positions, most) if positions else ())
    ]


def find_other_columns(rows: RowSource, free: Sequence[int]) -> dict[int, str]:
    """The columns that are probably not votes of a worker, and why (a key of `render.notes.REASONS`)."""
    about_item = {
        "age", "sex", "gender", "race", "ethnicity", "site", "center", "centre", "group", "arm", "treatment",
        "condition", "date", "time", "timestamp", "year", "month", "day", "batch", "split", "language", "lang",
        "country", "city", "weight", "height", "bmi", "length", "tokens", "cost", "latency", "comment", "comments",
        "note", "notes", "text", "prompt", "response", "input", "output", "url", "source", "category", "topic",
        "difficulty", "seed", "index", "idx", "row", "fold", "train", "test", "istest", "istrain", "count", "votes",
        "nvotes", "numvotes", "nraters", "total", "flagged", "flag", "agreement", "confidence",
    }  # fmt: skip
    truth = {
        "label", "labels", "consensus", "consensuslabel", "majority", "majorityvote", "mv", "final", "finallabel",
        "adjudicated", "adjudication", "target", "correct", "answerkey", "key", "reference", "prediction", "predicted",
        "pred", "ypred", "aggregated", "aggregate", "resolved", "expert", "result", "answer", "verdict",
    }  # fmt: skip
    others: dict[int, str] = {}
    labels: dict[int, set[str]] = {}
    for p, values in zip(free, sample_columns(rows, free), strict=True):
        given = [value for value in values if value is not None]
        name = letters(rows.names[p])
        if any(isinstance(value, (list, dict)) for value in given):
            others[p] = "lists"
            continue
        labels[p] = {fold(value) for value in set(given)}
        if name.removeprefix("patient") in about_item:
            others[p] = "about"
        elif name in truth:
            others[p] = "truth"
        elif len(labels[p]) > (5 if len(labels[p]) == len(given) else max(20, len(given) / 2)):
            others[p] = "values"
    for p in [p for p in labels if p not in others and labels[p]]:
        shared: set[str] = set().union(*(labels[q] for q in labels if q != p and q not in others))
        if not labels[p] & shared and len(labels) > 1:
            others[p] = "alone"
    words = {p: name_words(rows.names[p]) or [""] for p in free if p not in others}
    for place in (0, -1):  # if most names share a word such as Dr or rater, the others are not workers
        common = [some[place] for some in words.values() if some[place] in WORKER_WORDS and len(some) > 1]
        alike = [p for p, some in words.items() if common.count(some[place]) > 1]
        if len(alike) > len(words) / 2:
            others |= dict.fromkeys(words.keys() - alike, "unlike")
            break
    return {p: others[p] for p in free if p in others}
