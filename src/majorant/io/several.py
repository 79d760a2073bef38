"""Several labels per item: each label becomes a question of its own, answered yes or no."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.joined import BETWEEN, values_of
from majorant.io.json_values import loads
from majorant.io.table import Column, RowSource, column_length
from majorant.io.values import sort_labels

SIGNS = ("|", ";", ",")
MOST_LABELS = 1000
YES, NO = "yes", "no"
ABOUT = "label"  # what the column of labels is called among the slices


def labels_in(cell: Any) -> list[Any] | None:
    """The labels in a cell, none where nothing stands: a list, a list written as JSON, or text with signs between.

    >>> labels_in(["a", "b"]), labels_in('["a"]'), labels_in("a|b"), labels_in(""), labels_in([])
    (['a', 'b'], ['a'], ['a', 'b'], None, [])
    """
    if isinstance(cell, list):
        return cell
    if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
        return None
    if not isinstance(cell, str):
        return [cell]
    if (found := written_list(cell)) is not None:
        return found
    sign = next((sign for sign in SIGNS if sign in cell), None)
    return [cell.strip()] if sign is None else [part.strip() for part in cell.split(sign) if part.strip()]


def written_list(text: str) -> list[Any] | None:
    """A list written as JSON or as Python writes lists of text; None for any other text.

    >>> written_list("['a', 'b']"), written_list("[a]")
    (['a', 'b'], None)
    """
    if not re.fullmatch(r"\s*\[.*\]\s*", text, re.DOTALL):
        return None
    for candidate in (text, text.replace("'", '"')):
        try:
            found = loads(candidate)
        except ValueError:
            continue
        return found if isinstance(found, list) else None
    return None


def split_labels(rows: RowSource, roles: dict[str, int]) -> tuple[RowSource, dict[str, int]]:
    """The rows with one row for each label that anybody gave: item and label, worker, yes or no, and the label."""
    if not rows.again:
        raise ConfigError("several=True looks at the votes twice. Give a table, or write the votes to a file first.")
    if "slice" in roles:
        raise ConfigError("several=True gives a verdict for each label, so by= has no place. Leave it out.")
    vocabulary = _vocabulary(rows, roles)
    kept = [role for role in roles if role not in ("label", "gold")]
    names = (*(rows.names[roles[role]] for role in kept), rows.names[roles["label"]], ABOUT, "gold")
    found = {role: place for place, role in enumerate([*kept, "label", "slice"])}
    if "gold" in roles:
        found["gold"] = len(names) - 1
    order = [roles[role] for role in kept] + [roles["label"]] + ([roles["gold"]] if "gold" in roles else [])

    def stream(positions: Sequence[int], _: int) -> Iterator[list[Column]]:
        for columns in rows.stream(order, 0):
            cells = dict(zip(kept, map(values_of, columns), strict=False))
            chosen = [labels_in(_decoded(cell, rows.kind)) for cell in values_of(columns[len(kept)])]
            gold = (
                [labels_in(_decoded(cell, rows.kind)) for cell in values_of(columns[-1])] if "gold" in roles else None
            )
            yield _expanded(cells, chosen, gold, vocabulary, rows.kind, positions, kept)

    spelt = f"{rows.format}, {len(vocabulary)} labels each yes or no"
    return replace(rows, names=names, stream=stream, coded=None, format=spelt, kind="typed", unit="answer"), found


def _vocabulary(rows: RowSource, roles: dict[str, int]) -> list[Any]:
    found: dict[Any, None] = {}
    for (column,) in rows.stream([roles["label"]], 0):
        for cell in set(values_of(column)) if rows.kind != "typed" else values_of(column):
            labels = labels_in(_decoded(cell, rows.kind)) or ()
            if odd := [label for label in labels if isinstance(label, (dict, list))]:
                raise DataError(
                    f"{rows.source}: {str(odd[0])[:60]} among the labels of an item is no label. Give text or numbers."
                )
            found.update(dict.fromkeys(labels))
        if len(found) > MOST_LABELS:
            raise DataError(f"{rows.source}: more than {MOST_LABELS:,} different labels. Say which column with label=.")
    return sort_labels(found)


def _decoded(cell: Any, kind: str) -> Any:
    return loads(cell) if kind == "json" and cell is not None else cell


def _expanded(
    cells: dict[str, list[Any]], chosen: list[list[Any] | None], gold: list[list[Any] | None] | None,
    vocabulary: Sequence[Any], kind: str, positions: Sequence[int], kept: Sequence[str],
) -> list[Column]:  # fmt: skip
    import pyarrow as pa

    columns: list[list[Any]] = [[] for _ in range(len(kept) + 3)]
    for n, labels in enumerate(chosen):
        truth = None if gold is None else gold[n]
        for label in vocabulary:
            for place, role in enumerate(kept):
                value = _decoded(cells[role][n], kind)
                columns[place].append(f"{value}{BETWEEN}{label}" if role == "item" and value is not None else value)
            columns[-3].append(None if labels is None else YES if label in labels else NO)
            columns[-2].append(str(label))
            columns[-1].append(None if truth is None else YES if label in truth else NO)
    wanted = [pa.array(_texts(columns[p]), pa.large_string()) for p in positions]
    assert all(column_length(column) == len(columns[0]) for column in wanted)
    return wanted


def _texts(values: list[Any]) -> list[str | None]:
    return [None if value is None else str(value) for value in values]
