"""Spreadsheets: a sheet of an Excel or OpenDocument workbook, by the extra `excel` (python-calamine)."""

from __future__ import annotations

from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.columns import ROW_NAMES
from majorant.io.files import File
from majorant.io.frames import open_columns
from majorant.io.table import RowSource


def open_excel(file: File, sheet: str | None) -> RowSource:
    """The rows of a sheet: the first row names the columns; the only sheet with anything in it, or the one named."""
    try:
        import python_calamine
    except ImportError:
        raise ConfigError(
            f"{file.name} is a spreadsheet; reading it takes python-calamine: pip install 'majorant[excel]'. "
            "Or save the sheet as CSV."
        ) from None
    try:
        book = python_calamine.load_workbook(str(file.path))
        cells = {name: _cells(book, name) for name in book.sheet_names}
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise DataError(f"{file.name} is a spreadsheet that cannot be read ({error}). Save it as CSV.") from None
    name = _chosen(file.name, cells, sheet)
    header, *rows = cells[name]
    width = max(len(header), *(len(row) for row in rows)) if rows else len(header)
    names = [str(_plain(cell)).strip() if cell is not None else "" for cell in _padded(header, width)]
    while len(names) > 1 and not names[-1] and all(_plain(row[-1]) is None for row in rows if len(row) == len(names)):
        names = names[:-1]
        width -= 1
    names[0] = names[0] or ROW_NAMES
    columns = [[_plain(_padded(row, width)[p]) for row in rows] for p in range(width)]
    return open_columns(file.name, names, columns, format=f"spreadsheet, sheet {name!r}", first_row=2)


def _cells(book: Any, name: str) -> list[list[Any]]:
    rows: list[list[Any]] = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
    return [row for row in rows if any(_plain(cell) is not None for cell in row)]


def _chosen(source: str, cells: dict[str, list[list[Any]]], sheet: str | None) -> str:
    filled = [name for name, rows in cells.items() if rows]
    listed = ", ".join(map(repr, cells))
    if sheet is not None:
        if sheet not in cells:
            raise ConfigError(f"{source} has no sheet {sheet!r}. Its sheets are {listed}.")
        if sheet not in filled:
            raise DataError(f"{source}, sheet {sheet!r} is empty.")
        return sheet
    if not filled:
        raise DataError(f"{source} holds no filled sheet.")
    if len(filled) > 1:
        raise DataError(f"{source} has several sheets: {listed}. Say which with sheet='NAME'.")
    return filled[0]


def _padded(row: list[Any], width: int) -> list[Any]:
    return [*row, *[None] * (width - len(row))]


def _plain(cell: Any) -> Any:
    """A cell as a value: nothing where it is empty, whole numbers as integers, dates as text."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return cell if isinstance(cell, (str, int, float, bool)) else str(cell)
