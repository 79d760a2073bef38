"""Read votes from files, frames, judge logs and exports of labelling tools, accounting for every row.

`opening` opens the source as a table with a role for each column, and `build` turns that table into Votes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from majorant.defaults import MAX_CLASSES
from majorant.errors import ConfigError, DataNote
from majorant.kernels import Engine
from majorant.read.build import build_votes, collect_codes, ids_of
from majorant.read.gold import gold_of_file, one_gold
from majorant.read.item_columns import item_text
from majorant.read.matrix import open_matrix
from majorant.read.opening import is_on_spark, label_type, open_table
from majorant.read.options import Reading, ReadOptions, reading_signature
from majorant.read.table import named_faults
from majorant.votes import Votes

__all__ = ["Reading", "as_votes", "from_matrix", "read", "read_for_fit", "read_with"]


def as_votes(votes: Any, **reading: Unpack[Reading]) -> Votes:
    """Return votes unchanged, and read anything else.

    >>> as_votes([("a", "w", 1), ("a", "x", 0)]).shape
    (1, 2, 2)
    """
    if isinstance(getattr(votes, "votes", None), Votes):  # the result of `check`
        votes = votes.votes
    if not isinstance(votes, Votes):
        return read(votes, **reading)
    options = ReadOptions.of(reading).given()
    if options:
        raise ConfigError(
            f"{next(iter(options))}= applies to reading a table, but these votes have already been read. "
            "Pass it to mj.read instead."
        )
    return votes


def read_for_fit(votes: Any, *, in_blocks: bool, **reading: Unpack[Reading]) -> tuple[Votes, Engine | None]:
    """Votes to fit one method to; those of a large Spark frame stay there if the method can be fitted in blocks.

    Their engine runs the sums of the method on the executors.
    """
    if in_blocks and is_on_spark(votes):
        from majorant.read.spark import on_cluster

        return on_cluster(votes, ReadOptions.of(reading))
    return as_votes(votes, **reading), None


def read(source: Any, **reading: Unpack[Reading]) -> Votes:
    """Read votes.

    Parameters
    ----------
    source
        A file, a folder, a pattern or a list of files, "-" for standard input; a pandas, polars, pyarrow or DuckDB
        table; a dict of columns; a list of (item, worker, label) or of dicts. Judge logs and the exports of labelling
        tools are recognised by their content.
    item, worker, label, status, seconds : str, optional
        Column names, needed only if they cannot be detected; "" if there is no such column. Several columns may name
        an item together: ``item=["question", "system"]`` or ``item="question,system"``.
    gold : str, path, frame, Series or dict, optional
        True labels: a column of the table, or a separate table of items and labels.
    by, text : str, optional
        A column that divides the items into slices; the column with the text of the items.
    trust_column : str, optional
        A column with each worker's trust or earlier accuracy, from 0 to 1 or in percent. It weighs votes; it is
        ignored, with a note, if all workers have the same.
    trust : dict, optional
        Ratings by the name of a judge, in points, such as ``{"gpt-4": 1290}``; 100 points more count ten times as much.
    ratings : str, path or False, optional
        A CSV file with the columns model and rating, in place of the public ratings of language models; False for none.
    workers, wide, columns, sheet : optional
        For a table with a row per item: its worker columns, and whether it is one; for a table without a header, the
        role of each column, such as ``"worker,item,label"``; for a workbook, the sheet.
    several, order, threshold, codes, fold_case : optional
        Treat several labels per vote as a yes or no for each; the labels from lowest to highest; a score that separates
        two classes; what codes mean (``"1=yes,2=no"``); merge labels that differ only in case or invisible characters.
    repeats : {"error", "first", "last", "each"}
        Which vote counts if a worker gives an item different labels.
    empty : str or list of str
        Labels that mean no vote, such as "NA".

    memory, work : str, optional
        Limit on memory, such as ``"2GB"``: files are sorted into a folder of memory-mapped arrays. It is deleted with
        the votes, or kept as `work` and used again while the files and options stay the same.

    Returns
    -------
    Votes
        ``votes.account`` records how every row was handled and which role each column has.

    Raises
    ------
    DataError, ConfigError
        The message names the file, row, column and value, and how to fix it.

    Warns
    -----
    DataNote
        Something that changes the meaning of the data, such as NA counted as a label.

    Examples
    --------
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
            warnings.warn(DataNote(note), stacklevel=_depth_of_caller())
    return votes


def _depth_of_caller() -> int:
    """The stack level at which a warning points to the caller's code, outside this package."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "majorant":
        frame, depth = frame.f_back, depth + 1
    return depth


read.__signature__ = reading_signature("source")  # type: ignore[attr-defined]


def read_with(source: Any, options: ReadOptions) -> Votes:
    """Read votes with validated options, without emitting warnings."""
    if is_on_spark(source):
        from majorant.read.spark import read_frame

        return read_frame(source, options)
    if options.memory is not None:
        from majorant.read.sort import read_sorted

        return read_sorted(source, options)
    with open_table(source, options) as table:
        if options.gold_file is not None:
            options = one_gold(options, table)
        coded = collect_codes(table, options.most_labels, options.progress)
        items = ids_of(coded, "item")
        gold = None if options.gold_file is None else gold_of_file(options, items.values)
        votes = build_votes(coded, items, gold, options)
    kind = None if options.threshold is not None else label_type(source, votes.account.columns["label"])
    text = item_text(source, options, votes.account) if options.text or table.ignored else None
    return votes if kind is None and text is None else replace(votes, label_type=kind, text=text)


def from_matrix(
    matrix: Any,
    *,
    items: Sequence[Hashable] | None = None,
    workers: Sequence[Hashable] | None = None,
    empty: Sequence[str] = (),
    max_classes: int = MAX_CLASSES,
) -> Votes:
    """Make Votes from a matrix of items x workers.

    Parameters
    ----------
    matrix
        An array, a frame or a nested list; NaN, None, -1 and "" mean no vote.
    items, workers : sequence, optional
        Their names; by default, the index and columns of a frame, or else their positions.
    empty : sequence of str
        Other labels that mean no vote.
    max_classes : int
        The most different labels allowed.

    Examples
    --------
    >>> votes = from_matrix([[1, 0, None], [1, -1, 1]], workers=["ana", "bo", "cy"])
    >>> votes.shape, votes.votes_i.tolist(), votes.workers
    ((2, 3, 2), [2, 2], ('ana', 'bo', 'cy'))
    """
    with named_faults(matrix):
        coded = collect_codes(open_matrix(matrix, items, workers), max_classes)
        return build_votes(coded, ids_of(coded, "item"), None, ReadOptions(empty=empty))
