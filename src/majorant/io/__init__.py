"""Anybody's votes to Votes, with an account of every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypedDict, Unpack

from majorant.errors import ConfigError
from majorant.io.build import build_votes
from majorant.io.collect import Progress, collect_codes
from majorant.io.columns import GOLD_ROLES, Choice
from majorant.io.faults import naming_faults
from majorant.io.frames import label_type
from majorant.io.gold import read_gold
from majorant.io.ids import identify
from majorant.io.item_text import item_text
from majorant.io.labels import Scale
from majorant.io.opening import Opening, named_workers, open_table
from majorant.io.repeats import check_policy
from majorant.io.tasks import sample_design
from majorant.io.wide import open_matrix
from majorant.votes import Votes

MAX_CLASSES = 1000
MAX_SCORES = 10_000_000  # different scores, before a threshold makes two classes of them


class Reading(TypedDict, total=False):
    """What `read` can be told: whatever takes votes takes these as well, and hands them on."""

    item: str | None
    worker: str | None
    label: str | None
    gold: str | None
    status: str | None
    seconds: str | None
    by: str | None
    text: str | None
    columns: str | Sequence[str] | None
    gold_file: Any
    repeats: str
    empty: Sequence[str]
    encoding: str | None
    delimiter: str | None
    format: str | None
    wide: bool
    workers: str | Sequence[str] | None
    sheet: str | None
    several: bool
    order: str | Sequence[Any] | None
    threshold: float | None
    codes: str | Mapping[Any, Any] | None
    allow_network: bool
    max_classes: int
    threads: int | None
    progress: Progress | None


def as_votes(votes: Any, **reading: Unpack[Reading]) -> Votes:
    """The votes themselves, or what `read` makes of a file, frame, dict or list; `reading` is told to `read`.

    >>> as_votes([("a", "w", 1), ("a", "x", 0)]).shape
    (1, 2, 2)
    >>> as_votes({"text": ["a"], "worker": ["w"], "label": [1]}, itme="text")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: there is no argument itme=. Did you mean item=?
    """
    unknown = [name for name in reading if name not in Reading.__annotations__]
    if unknown:
        close = get_close_matches(unknown[0], Reading.__annotations__, n=1)
        hint = f"Did you mean {close[0]}=?" if close else f"Votes are read with {'=, '.join(Reading.__annotations__)}=."
        raise ConfigError(f"there is no argument {unknown[0]}=. {hint}")
    if not isinstance(votes, Votes):
        return read(votes, **reading)
    told = [name for name, value in reading.items() if value is not None]
    if told:
        raise ConfigError(f"{told[0]}= says how to read a table, and these votes are read already: tell it to read.")
    return votes


@naming_faults
def read(
    source: Any,
    *,
    item: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    gold: str | None = None,
    status: str | None = None,
    seconds: str | None = None,
    by: str | None = None,
    text: str | None = None,
    columns: str | Sequence[str] | None = None,
    gold_file: Any = None,
    repeats: str = "error",
    empty: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    format: str | None = None,
    wide: bool = False,
    workers: str | Sequence[str] | None = None,
    sheet: str | None = None,
    several: bool = False,
    order: str | Sequence[Any] | None = None,
    threshold: float | None = None,
    codes: str | Mapping[Any, Any] | None = None,
    allow_network: bool = False,
    max_classes: int = MAX_CLASSES,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Votes:
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
    check_policy(repeats)
    scale = Scale.of(order, threshold, codes)
    max_classes = max_classes if threshold is None else max(max_classes, MAX_SCORES)
    choice = Choice.of(
        columns, item=item, worker=worker, label=label, gold=gold, status=status, seconds=seconds, slice=by
    )
    how = Opening(
        choice=choice, encoding=encoding, delimiter=delimiter, format=format, wide=wide, workers=named_workers(workers),
        sheet=sheet, several=several, allow_network=allow_network, threads=threads, coded=True,
    )  # fmt: skip
    with open_table(source, how) as table:
        if gold_file is not None and "gold" in table.columns:
            if sample_design(gold_file) is None:
                _refuse_two_golds(table.columns["gold"])
            gold_file = None  # the column is gold; what ask drew is judged by its design
        coded = collect_codes(table, max_classes=max_classes, progress=progress)
    items = identify(coded, "item")
    no_vote = frozenset([empty] if isinstance(empty, str) else map(str, empty))
    truth = None
    if gold_file is not None:
        gold_how = Opening(
            choice=Choice(named={}, needed=GOLD_ROLES), encoding=encoding, threads=threads, allow_network=allow_network
        )
        truth = read_gold(gold_file, gold_how, items.values, empty=no_vote, max_classes=max_classes)
    votes = build_votes(coded, items, truth, repeats=repeats, empty=no_vote, scale=scale)
    kind = None if threshold is not None else label_type(source, votes.account.columns["label"])
    shown = item_text(source, how, votes.account.columns, votes.account.ignored, text)
    return votes if kind is None and shown is None else replace(votes, label_type=kind, text=shown)


def _refuse_two_golds(column: str) -> None:
    raise ConfigError(
        f"gold labels stand both in column {column!r} and in the gold file. Leave one out: gold='' ignores the column."
    )


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
    coded = collect_codes(open_matrix(matrix, items, workers), max_classes=max_classes, progress=None)
    return build_votes(coded, identify(coded, "item"), None, repeats="error", empty=frozenset(map(str, empty)))
