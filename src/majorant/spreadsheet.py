"""Cells that a spreadsheet would take for formulas, made harmless so that they can be told back.

A spreadsheet runs what begins with =, +, -, @, a tab or a return; after an apostrophe it is text.  Apostrophes that
stand there already get one more, so that taking one away gives back every name; numbers stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from majorant.tabular import arrow_column

FORMULA = r"^'*[=+\-@\t\r]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: Any) -> Any:
    """A cell that no spreadsheet runs.

    >>> guarded("=1+1"), guarded("'=1"), guarded("-1.5"), guarded("a=b"), guarded(7)
    ("'=1+1", "''=1", '-1.5', 'a=b', 7)
    """
    runs = isinstance(text, str) and re.match(FORMULA, text) and not re.match(NUMBER, text)
    return f"'{text}" if runs else text


def unguarded(text: str) -> str:
    """The cell as it was before it was guarded.

    >>> unguarded("'=1+1"), unguarded("''=1"), unguarded("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return text[1:] if GUARDED.match(text) else text


def guarded_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """A table, its text and its header guarded.

    >>> guarded_columns({"@item": ["=1", "b"], "n": [-1, 2]})["'@item"].to_pylist()
    ["'=1", 'b']
    """
    return {guarded(name): _guarded_column(arrow_column(values)) for name, values in columns.items()}


def _guarded_column(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _guarded_column(array.dictionary))
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    runs = pc.and_(pc.match_substring_regex(array, FORMULA), pc.invert(pc.match_substring_regex(array, NUMBER)))
    after = pc.binary_join_element_wise(pa.scalar("'", array.type), array, pa.scalar("", array.type))
    return pc.if_else(pc.fill_null(runs, False), after, array)
