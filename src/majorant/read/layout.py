"""How a table is laid out: which column is the item, the worker and the label, or which columns are the workers'.

The caller's word counts first, then the layout of a known tool, then the names of columns, then their content.  What
was guessed from content is said in a note.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.read.columns import (
    ALIASES,
    ROW_NAMES,
    VOTE_ROLES,
    Choice,
    bare_word,
    candidate_roles,
    find_roles,
    letters,
    list_names,
    means,
    name_words,
)
from majorant.read.formats import recognise_table
from majorant.read.formats.base import TableFormat
from majorant.read.guess import guess_votes
from majorant.read.notes import fold
from majorant.read.options import ReadOptions
from majorant.read.reshape import join_columns
from majorant.read.table import RowSource
from majorant.read.values import cell_values, is_empty
from majorant.votes import Note, NoteKind

FILE = "file"  # what the column with the name of the file is called
SUBJECT = frozenset(["model", "modelname", "system", "candidate", "provider"])  # whose answer a judge looks at
ABOUT_ITEM = frozenset((
    "age", "sex", "gender", "race", "ethnicity", "site", "center", "centre", "group", "arm", "treatment", "condition",
    "date", "time", "timestamp", "year", "month", "day", "batch", "split", "language", "lang", "country", "city",
    "weight", "height", "bmi", "length", "tokens", "cost", "latency", "comment", "comments", "note", "notes", "text",
    "prompt", "response", "input", "output", "url", "source", "category", "topic", "difficulty", "seed", "index",
    "idx", "row", "fold", "train", "test", "istest", "istrain", "count", "votes", "nvotes", "numvotes", "nraters",
    "total", "flagged", "flag", "agreement", "confidence",
))  # fmt: skip
TRUTH = frozenset((
    "label", "labels", "consensus", "consensuslabel", "majority", "majorityvote", "mv", "final", "finallabel",
    "adjudicated", "adjudication", "target", "correct", "answerkey", "key", "reference", "prediction", "predicted",
    "pred", "ypred", "aggregated", "aggregate", "resolved", "expert", "result", "answer", "verdict",
))  # fmt: skip
WORKER_WORDS = (
    frozenset(  # that the columns of workers share: Dr_Lee, rater1, label_ana
        [
            "dr",
            "doctor",
            "reader",
            "radiologist",
            "pathologist",
            "vote",
            "label",
            "rating",
            "score",
            "person",
            "r",
            "w",
            "a",
        ]
    )
    | frozenset().union(*ALIASES["worker"][:2])
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The position of each role; in a table with a row per item, also the columns of the workers."""

    roles: dict[str, int]
    workers: tuple[int, ...] = ()
    notes: tuple[Note, ...] = ()
    key: tuple[str, ...] = ()  # the columns that name an item together

    @property
    def wide(self) -> bool:
        """Whether a row is an item."""
        return bool(self.workers)

    @property
    def positions(self) -> list[int]:
        """The columns that take part in votes."""
        return [*self.roles.values(), *self.workers]


def find_layout(rows: RowSource, how: ReadOptions, *, n_files: int = 1) -> tuple[RowSource, Layout]:
    """How a table is laid out, and its rows, to which a column may have been added that names the items."""
    choice = how.choice
    if choice.columns is not None and rows.named:
        raise ConfigError(
            f"{rows.source} has column names ({', '.join(rows.names[:6])}); columns= is for tables without. "
            "Name the columns with item=, worker= and label=."
        )
    tool = None if how.wide else table_tool(rows)
    workers = how.worker_columns
    if tool is not None:
        choice = replace(choice, named={**tool.roles(rows.names), **choice.named})
        if tool.workers is not None and workers is None and choice.needed == VOTE_ROLES:
            workers = tuple(map(glob.escape, tool.workers(rows.names)))
    if how.gold_key and "item" not in choice.named and set(how.gold_key) <= set(rows.names):
        named = how.gold_key[0] if len(how.gold_key) == 1 else how.gold_key
        choice = replace(choice, named={**choice.named, "item": named})
    key = choice.key_columns(rows.names) if rows.named else None
    if key is not None:
        rows, name = _join_key(rows, key)
        choice = replace(choice, named={**choice.named, "item": name})
    rows, layout = _find(rows, how, choice, workers, n_files)
    own = key or layout.key or ((rows.names[layout.roles["item"]],) if rows.named else ())
    return rows, replace(layout, key=own)


def _find(
    rows: RowSource, how: ReadOptions, choice: Choice, workers: Sequence[str] | None, n_files: int
) -> tuple[RowSource, Layout]:
    if how.wide or workers is not None:
        return rows, _wide_layout(rows, choice, workers)
    try:
        return _join_subject(rows, Layout(find_roles(rows.names, choice, rows.source)), choice)
    except DataError as error:
        trouble = error.with_traceback(None)
    if choice.needed != VOTE_ROLES or choice.columns is not None or not rows.named:
        raise trouble
    layout = _by_content(rows, choice, n_files)
    if layout is None:
        raise _without_header(rows, choice) or trouble
    return _join_subject(rows, layout, choice)


def _without_header(rows: RowSource, choice: Choice) -> DataError | None:
    """What to say if the first row of a file is a vote: two of its cells are values of their columns."""
    if rows.kind != "text" or len(rows.names) != 3 or not rows.again or choice.named:
        return None
    columns = [[value for value in values if value is not None] for values in sample_columns(rows, range(3))]
    if sum(name in values for name, values in zip(rows.names, columns, strict=True)) < 2:
        return None
    by_size = sorted(range(3), key=lambda p: (len({rows.names[p], *columns[p]}), -p))
    role_of = dict(zip(by_size, ("label", "worker", "item"), strict=True))  # few labels, more workers, most items
    order = ",".join(role_of[p] for p in range(3))
    return DataError(
        f"{rows.source}: its first row, {list_names(rows.names)}, looks like a vote and not like the names of columns. "
        f"If there is no header, say what each column holds: columns={order!r}."
    )


def table_tool(rows: RowSource) -> TableFormat | None:
    """The tool whose table this is."""
    return recognise_table(rows.names) if rows.named else None


def _by_content(rows: RowSource, choice: Choice, n_files: int) -> Layout | None:
    """A file per worker, a column per worker, or a row per vote under unusual names."""
    by_name = candidate_roles(rows.names, choice, rows.source)
    found = {role for role in VOTE_ROLES if len(by_name.get(role, ())) == 1}
    if n_files > 1 and found == {"item", "label"} and not by_name.get("worker") and "worker" not in choice.named:
        return Layout({role: some[0] for role, some in by_name.items() if len(some) == 1})  # the file is the worker
    return (_detect_wide(rows, choice) or _guess(rows, by_name)) if rows.again else None


def _guess(rows: RowSource, by_name: Mapping[str, Sequence[int]]) -> Layout | None:
    named = all(name == ROW_NAMES or re.match(r"\w", name) for name in rows.names)  # not JSON that is read as CSV
    votes = guess_votes(rows.names, sample_columns(rows, range(len(rows.names))), by_name) if named else None
    if votes is None:
        return None
    roles = {role: some[0] for role, some in by_name.items() if len(some) == 1} | votes
    guessed = {role: rows.names[p] for role, p in votes.items() if by_name.get(role) != [p]}
    note = Note(NoteKind.GUESSED_COLUMNS, {"columns": guessed})
    return Layout({role: roles[role] for role in ALIASES if role in roles}, notes=(note,))


def _join_key(rows: RowSource, key: Sequence[str]) -> tuple[RowSource, str]:
    """The rows with a column that joins some others, and its name."""
    unknown = [name for name in key if name not in rows.names]
    if unknown:
        listed = list_names(rows.names)
        raise ConfigError(f"{rows.source} has no column {unknown[0]!r} to take for the item. Its columns are {listed}.")
    name = ",".join(key)
    return join_columns(rows, [rows.names.index(part) for part in key], name), name


def _join_subject(rows: RowSource, layout: Layout, choice: Choice) -> tuple[RowSource, Layout]:
    """Items that are a question with the model that answered it, where judges look at several models."""
    roles = layout.roles
    if choice.needed != VOTE_ROLES or "item" in choice.named or not rows.named or not rows.again or layout.wide:
        return rows, layout
    if "worker" not in roles:
        return rows, layout
    taken = [p for role, p in roles.items() if role != "slice"]
    free = [p for p in range(len(rows.names)) if p not in taken and bare_word(rows.names[p]) in SUBJECT]
    if len(free) != 1:
        return rows, layout
    seen: dict[tuple[Any, Any], Any] = {}
    columns = next(iter(rows.stream([roles["item"], roles["worker"], free[0]])), None)
    for item, worker, subject in zip(*map(cell_values, columns), strict=True) if columns is not None else ():
        if seen.setdefault((item, worker), subject) != subject:
            key = (rows.names[roles["item"]], rows.names[free[0]])
            joined = {**roles, "item": len(rows.names)}
            note = Note(NoteKind.JOINED_ITEMS, {"columns": list(key)})
            return _join_key(rows, key)[0], replace(layout, roles=joined, notes=(*layout.notes, note), key=key)
    return rows, layout


# Wide tables: a row per item, a column per worker


def _wide_layout(rows: RowSource, choice: Choice, workers: Sequence[str] | None) -> Layout:
    """A wide table that the caller, or a tool, says is one."""
    if not rows.named:
        raise ConfigError("wide=True needs a header with the names of the workers; columns= does not go with it.")
    if choice.named.get("worker") or choice.named.get("label"):
        raise ConfigError("worker= and label= are for a row per vote. In a wide table, name the columns: workers=.")
    roles = _wide_roles(rows, choice)
    free = [p for p in range(len(rows.names)) if p not in roles.values()]
    if workers is not None:
        left_out, kept = {}, tuple(_matching(rows, free, workers))
    else:
        free = [p for p in free if p or rows.names[p] != ROW_NAMES]
        left_out = find_other_columns(rows, free) if rows.again else {}
        kept = tuple(p for p in free if p not in left_out)
    if not kept:
        raise DataError(f"{rows.source}: a wide table needs a column per worker beside the item.")
    return Layout(roles, kept, (_wide_note(rows, kept, left_out),) if left_out else ())


def _detect_wide(rows: RowSource, choice: Choice) -> Layout | None:
    """A wide table that nobody called one: two columns or more share a few labels, and a row is an item."""
    if choice.named.get("worker") or choice.named.get("label"):
        return None
    roles = _wide_roles(rows, choice)
    free = [p for p in range(len(rows.names)) if p not in roles.values() and (p or rows.names[p] != ROW_NAMES)]
    if len(free) < 2:
        return None
    left_out = find_other_columns(rows, free)
    kept = tuple(p for p in free if p not in left_out)
    if len(kept) < 2 or _repeats(sample_columns(rows, [roles["item"]])[0]):
        return None
    worker = frozenset().union(*ALIASES["worker"])
    if any(worker & set(name_words(rows.names[p])) for p in left_out):  # a column of workers: a row is a vote
        return None
    return Layout(roles, kept, (_wide_note(rows, kept, left_out),))


def _wide_roles(rows: RowSource, choice: Choice) -> dict[str, int]:
    """The item column (named, by its name, or the first), the gold column (by name) and that of slices."""
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


def _matching(rows: RowSource, free: Sequence[int], patterns: Sequence[str]) -> list[int]:
    positions: dict[int, None] = {}
    for pattern in patterns:
        hits = [p for p in free if rows.names[p] == pattern] or [p for p in free if fnmatchcase(rows.names[p], pattern)]
        if not hits:
            listed = list_names(rows.names)
            raise ConfigError(f"{rows.source}: workers={pattern!r} matches no column. Its columns are {listed}.")
        positions.update(dict.fromkeys(hits))
    return sorted(positions)


def sample_columns(rows: RowSource, positions: Sequence[int]) -> list[list[Any]]:
    """The first values of some columns, None where a cell is empty."""
    columns = next(iter(rows.stream(positions)), None)
    if columns is None:
        return [[] for _ in positions]
    most = min(20_000, max(2_000, 1_000_000 // len(positions)))
    sampled = (cell_values(column, rows.kind, most) for column in columns)
    return [[None if _is_blank(value) else value for value in values] for values in sampled]


def _is_blank(value: Any) -> bool:
    """Empty, or a text that means no value."""
    return is_empty(value) or (isinstance(value, str) and value.strip() in ("NA", "NaN", "."))


def find_other_columns(rows: RowSource, free: Sequence[int]) -> dict[int, str]:
    """The columns that are probably not a worker's votes, and why (a key of `render.notes.REASONS`)."""
    others: dict[int, str] = {}
    labels: dict[int, set[str]] = {}
    for p, values in zip(free, sample_columns(rows, free) if free else (), strict=True):
        given = [value for value in values if value is not None]
        name = letters(rows.names[p])
        if any(isinstance(value, (list, dict)) for value in given):
            others[p] = "lists"
            continue
        labels[p] = {fold(value) for value in set(given)}
        if name in ABOUT_ITEM or name.removeprefix("patient") in ABOUT_ITEM:
            others[p] = "about"
        elif name in TRUTH:
            others[p] = "truth"
        elif len(labels[p]) > (5 if len(labels[p]) == len(given) else max(20, len(given) / 2)):
            others[p] = "values"
    for p in [p for p in labels if p not in others and labels[p]]:
        shared: set[str] = set().union(*(labels[q] for q in labels if q != p and q not in others))
        if not labels[p] & shared and len(labels) > 1:
            others[p] = "alone"
    return {p: others[p] for p in free if p in others} | _named_unlike(rows, [p for p in free if p not in others])


def _named_unlike(rows: RowSource, free: Sequence[int]) -> dict[int, str]:
    """Columns beside others whose names share a word such as Dr or rater."""
    words = {p: name_words(rows.names[p]) or [""] for p in free}
    for place in (0, -1):
        shared = [words[p][place] for p in free if words[p][place] in WORKER_WORDS and len(words[p]) > 1]
        alike = [p for p in free if words[p][place] in shared and shared.count(words[p][place]) > 1]
        if len(alike) > len(free) / 2:
            return {p: "unlike" for p in free if p not in alike}
    return {}


def _repeats(values: Sequence[Any]) -> bool:
    given = [str(value) for value in values if value is not None]
    return len(set(given)) < len(given)
