"""The item, the worker and the label of a table whose columns have unusual names, by their content.

A worker labels an item once, so the pairs of both hardly repeat; items have several votes, workers vote on several
items, and labels are few and differ within items.  Words in the names tell items from workers; without any, nothing is
guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.read.columns import ALIASES, VOTE_ROLES, name_words

HINTS = {  # words in the names of columns that suggest a role
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
    """What the first rows show of a column."""

    place: int
    code_n: NDArray[np.int64]  # of its values, -1 for an empty cell
    n_values: int
    length: float  # of a value, on average
    lists: bool
    measures: bool  # numbers such as 0.35, or times
    hints: Mapping[str, int]  # how strongly its name suggests each role

    def fits(self, role: str) -> bool:
        """Whether its values could have a role."""
        n_rows = len(self.code_n)
        most = {"item": 0.8 * n_rows, "worker": 0.5 * n_rows, "label": min(50, 0.5 * n_rows)}[role]
        longest = {"item": 10_000, "worker": 60, "label": 60}[role]
        names = role == "label" or (int(self.code_n.min()) >= 0 and not self.measures)
        return names and not self.lists and 2 <= self.n_values <= most and self.length <= longest


def guess_votes(
    names: Sequence[str], cells: Sequence[Sequence[Any]], by_name: Mapping[str, Sequence[int]]
) -> dict[str, int] | None:
    """The positions of item, worker and label, or None if there is a doubt.

    Parameters
    ----------
    names : sequence of str
        The names of the columns.
    cells : sequence of sequences
        The first values of each column, None for an empty cell.
    by_name : mapping
        The columns that could have each role by their names alone.

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
    columns = [_describe(p, names[p], values, by_name) for p, values in enumerate(cells)]
    taken = {p for role, some in by_name.items() if role not in VOTE_ROLES or len(some) == 1 for p in some}
    options = []
    for role in VOTE_ROLES:
        own = by_name.get(role)
        options.append(_candidates(role, [c for c in columns if (c.place in own if own else c.place not in taken)]))
    if prod(map(len, options)) > 5_000:  # too many columns to try them all
        return None
    scored = sorted((score, triple) for triple in product(*options) if (score := _score(columns, *triple)) is not None)
    if not scored or (len(scored) > 1 and scored[-1][0] - scored[-2][0] < 1):
        return None
    return {role: place for role, (place, _) in zip(VOTE_ROLES, scored[-1][1], strict=True)}


def _describe(place: int, name: str, values: Sequence[Any], by_name: Mapping[str, Sequence[int]]) -> _Column:
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
    """2 if the words of a name suggest a role, 1 for an id that could be an item, -2 if they suggest another."""
    words = name_words(name)

    def speaks_for(one: str) -> bool:
        ends = tuple(word for word in HINTS[one] if len(word) > 4)  # crowdworker
        return any(word in HINTS[one] or word.endswith(ends) for word in words)

    if speaks_for(role):
        return 2
    return -2 if any(map(speaks_for, VOTE_ROLES)) else int(role == "item" and "id" in words)


def _candidates(role: str, columns: Sequence[_Column]) -> list[tuple[int, int]]:
    """The columns that could have a role, each with its hint; those whose names suggest it, if there are any.

    Of columns that say the same, such as the id of a text and the text, one is taken: rather short than long.
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
    """How well three columns are items, workers and labels; None if they are not, or only the values suggest it."""
    (i, item_hint), (j, worker_hint), (k, label_hint) = items, workers, labels
    item, worker, label = columns[i], columns[j], columns[k]
    if len({i, j, k}) < 3 or max(item_hint, worker_hint) <= 0:
        return None
    varies = _n_pairs(item, label) > item.n_values
    if not (varies or label_hint) or _n_pairs(worker, label) == worker.n_values:  # a column about the worker
        return None
    if _n_pairs(item, worker) < 0.98 * len(item.code_n):
        return None
    hints = item_hint + worker_hint + label_hint
    return hints + 2 * varies + (item.n_values > worker.n_values) + (label.n_values <= 10)


def _n_pairs(one: _Column, other: _Column) -> int:
    return len(np.unique(one.code_n * max(other.n_values, 1) + other.code_n))
