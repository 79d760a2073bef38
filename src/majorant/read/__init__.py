"""Anybody's votes to Votes, with an account of every row."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from majorant.errors import ConfigError, DataNote
from majorant.read.build import build_votes
from majorant.read.encode import collect_codes
from majorant.read.faults import naming_faults
from majorant.read.frames import label_type
from majorant.read.gold import gold_of_file, one_gold
from majorant.read.item_columns import item_text
from majorant.read.names import ids_of
from majorant.read.opening import open_table
from majorant.read.options import MAX_CLASSES, Reading, ReadOptions, reading_signature
from majorant.read.reshape import open_matrix
from majorant.votes import Votes

__all__ = ["Reading", "as_votes", "from_matrix", "read", "read_with"]


def as_votes(votes: Any, **reading: Unpack[Reading]) -> Votes:
    """The votes themselves, or what `read` makes of a file, frame, dict or list; `reading` is told to `read`.

    >>> as_votes([("a", "w", 1), ("a", "x", 0)]).shape
    (1, 2, 2)
    """
    if not isinstance(votes, Votes):
        return read(votes, **reading)
    given = ReadOptions.of(reading).told()
    if given:
        raise ConfigError(
            f"{next(iter(given))}= says how to read a table, and these votes are read already: tell it to read."
        )
    return votes


def read(source: Any, **reading: Unpack[Reading]) -> Votes:
    """Votes from a file, a glob, a list of files, "-" (standard input), a frame, a dict of columns or a list of votes.

    Columns are found by name; `item`, `worker`, `label`, `gold`, `status` and `seconds` name them where a name is
    not usual ("" for an optional one: there is none), `columns` gives their order where there are no names; `by` names
    a column of the items, such as their language, by which to slice them, `text` the one with their text, which is
    looked up for the items that are shown.  `workers` names the columns of a wide table,
    `sheet` the sheet of a workbook; with `several`, a list of labels is a yes or no on each label, and labels are the
    slices; `order` lists labels from lowest to highest, `threshold` makes two classes of scores, `codes` names
    codes (1=yes,2=no).  Every row is a vote, an abstention, a merged copy or a dropped repeat: see `votes.account`.
    docs/input.md has the rules.

    >>> votes = read({"item": ["a", "a", "b"], "worker": ["w", "x", "w"], "label": [1, 0, 1]})
    >>> votes.shape, votes.items, votes.labels
    ((2, 2, 2), ('a', 'b'), (0, 1))
    >>> read([("a", "w", 1), ("a", "w", 0)])
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: list of votes, row 1: worker 'w' labels item 'a' a second time, 0 after 1 in row 0. Keep
    one vote per worker and item, or choose with repeats='first'|'last'|'each'.
    """
    votes = read_with(source, ReadOptions.of(reading))
    for note in votes.account.notes:
        if note.kind.changes_meaning:
            warnings.warn(DataNote(note), stacklevel=_frames_of_ours())
    return votes


def _frames_of_ours() -> int:
    """How many frames to go up to the caller's own line, for a warning."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "majorant":
        frame, depth = frame.f_back, depth + 1
    return depth


read.__signature__ = reading_signature("source")  # type: ignore[attr-defined]


@naming_faults
def read_with(source: Any, options: ReadOptions) -> Votes:
    """The same, by options that are checked already."""
    with open_table(source, options) as table:
        options = one_gold(options, table)
        coded = collect_codes(table, options.most_labels, options.progress)
    items = ids_of(coded, "item")
    votes = build_votes(coded, items, gold_of_file(options, items.values), options)
    kind = None if options.threshold is not None else label_type(source, votes.account.columns["label"])
    shown = item_text(source, options, votes.account)
    return votes if kind is None and shown is None else replace(votes, label_type=kind, text=shown)


@naming_faults
def from_matrix(
    matrix: Any,
    *,
    items: Sequence[Any] | None = None,
    workers: Sequence[Any] | None = None,
    empty: Sequence[str] = (),
    max_classes: int = MAX_CLASSES,
) -> Votes:
    """Votes from an array, frame or nested list of items x workers; NaN, None, -1 and "" mean: no vote.

    Items and workers are named by `items` and `workers`, else by the index and columns of a frame, else by position.

    >>> votes = from_matrix([[1, 0, None], [1, -1, 1]], workers=["ana", "bo", "cy"])
    >>> votes.shape, votes.votes_i.tolist(), votes.workers
    ((2, 3, 2), [2, 2], ('ana', 'bo', 'cy'))
    """
    coded = collect_codes(open_matrix(matrix, items, workers), max_classes)
    return build_votes(coded, ids_of(coded, "item"), None, ReadOptions(empty=empty))
