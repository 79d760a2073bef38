"""Read a spreadsheet in a separate process, because a damaged or hostile workbook can crash its parser.

The script's arguments are the folder of python-calamine, the file, the sheet ("" for the only one with data) and a
memory limit. It prints JSON and imports nothing from this package.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main(library: str, path: str, sheet: str, memory: int) -> None:
    """Print the names of all sheets, which of them are not empty, and the rows of one."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass  # not supported on this system; a crash would still end only this process
    sys.path.append(library)
    import python_calamine

    try:
        book = python_calamine.load_workbook(path)
        cells = {name: read_sheet(book, name) for name in book.sheet_names}
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        print(json.dumps({"error": str(error)}))
        return
    filled = [name for name, rows in cells.items() if rows]
    chosen = sheet or (filled[0] if len(filled) == 1 else "")
    json.dump({"sheets": list(cells), "filled": filled, "rows": cells.get(chosen, [])}, sys.stdout)


def read_sheet(book: Any, name: str) -> list[list[Any]]:
    """The non-empty rows of a sheet."""
    rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
    plain = ([plain_cell(cell) for cell in row] for row in rows)
    return [row for row in plain if any(cell is not None for cell in row)]


def plain_cell(cell: Any) -> Any:
    """Convert a cell for JSON: None if it is empty, whole numbers as integers, dates as text."""
    if cell is None or (isinstance(cell, str) and not cell.strip()) or cell != cell:
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return cell if isinstance(cell, (str, int, float, bool)) else str(cell)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
