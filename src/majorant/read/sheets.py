"""Spreadsheets: one sheet of an Excel or OpenDocument workbook, read by python-calamine (extra `excel`)."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError, DataError, use
from majorant.limits import LIMITS
from majorant.read import sheet_worker
from majorant.read.files import File
from majorant.read.guess import ROW_NAMES
from majorant.read.options import ReadOptions
from majorant.read.table import RowSource, open_positions


def open_excel(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:  # noqa: ARG001
    """The rows of the sheet that the caller named, or of the only non-empty one; its first row names the columns."""
    book = _read_workbook(file, how.sheet)
    name = _choose_sheet(file.name, book, how.sheet)
    header, *rows = book["rows"]
    width = max(map(len, book["rows"]))
    table = [row + [None] * (width - len(row)) for row in (header, *rows)]
    columns = [list(cells) for cells in zip(*table, strict=True)]
    while len(columns) > 1 and all(cell is None for cell in columns[-1]):
        columns.pop()
    names = ["" if column[0] is None else str(column[0]).strip() for column in columns]
    names[0] = names[0] or ROW_NAMES
    rounded = {  # spreadsheets keep only 15 digits of a number
        p: cell
        for p, column in enumerate(columns)
        for cell in column[1:]
        if isinstance(cell, (int, float)) and abs(cell) >= 1e15
    }
    opened = open_positions(
        file.name, names, [column[1:] for column in columns], format=f"spreadsheet, sheet {name!r}", first_row=2
    )
    return replace(opened, rounded=rounded)


def sheet_names(file: File) -> list[str]:
    """The names of the sheets that are not empty."""
    return list(_read_workbook(file, None)["filled"])


def _read_workbook(file: File, sheet: str | None) -> dict[str, Any]:
    try:
        import python_calamine
    except ImportError:
        raise ConfigError(
            f"{file.name} is a spreadsheet; reading it needs python-calamine: pip install python-calamine. "
            "Or save the sheet as CSV."
        ) from None
    library = str(Path(str(python_calamine.__file__)).parent.parent)
    arguments = [library, str(file.path), sheet or "", str(LIMITS["SHEET_MEMORY"])]
    done = subprocess.run(
        [sys.executable, "-I", "-S", sheet_worker.__file__, *arguments], capture_output=True, check=False
    )
    try:
        book: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise DataError(
            f"{file.name} is a damaged spreadsheet, or one too large to read, perhaps because of a stray cell far from "
            "the table. Save the sheet as CSV."
        ) from None
    if "error" in book:
        raise DataError(f"{file.name} is a spreadsheet that cannot be read ({book['error']}). Save it as CSV.")
    return book


def _choose_sheet(source: str, book: dict[str, Any], sheet: str | None) -> str:
    filled, listed = book["filled"], ", ".join(map(repr, book["sheets"]))
    if sheet is not None and sheet not in book["sheets"]:
        raise ConfigError(f"{source} has no sheet {sheet!r}. Its sheets are {listed}.")
    if sheet is not None and sheet not in filled:
        raise DataError(f"{source}, sheet {sheet!r} is empty.")
    if not filled:
        raise DataError(f"{source} has no sheet with data.")
    if sheet is None and len(filled) > 1:
        raise DataError(f"{source} has several sheets: {listed}. Choose one with {use('sheet', filled[0])}.")
    return sheet or str(filled[0])
