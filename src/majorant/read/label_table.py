"""A table that a person fills in, read by the rules of the reader of votes and written back as it was.

Encoding, byte-order mark, separator, `sep=` line, line ends and every row that does not change stay as they are, byte
for byte.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.ownership import DESIGN_COLUMN, DRAW_COLUMN
from majorant.read.delimited import Dialect, cannot_split, find_dialect, is_decoded, separator_line
from majorant.read.files import File, NamedFile, identify
from majorant.read.options import ALIASES, Choice, ReadOptions
from majorant.read.table import whole_number
from majorant.tabular import guard_cell, unguard_cell

CODECS = (  # by byte-order mark, the longest first
    (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
EXPERT_COLUMNS = frozenset(["expert", *ALIASES["worker"][0]])  # names of a column that says who gave the label


@dataclass(frozen=True, slots=True)
class Columns:
    """The positions of the columns that mean something here; all others belong to the user."""

    item: int | None
    labels: tuple[int, ...]
    draw: int | None
    design: int | None
    expert: int | None

    @classmethod
    def of(cls, names: Sequence[str]) -> Columns:
        """Find them by name; the previous version called the draw number `draw`.

        >>> Columns.of(["majorant_draw", "item", "draw", "Label", "label_2"])
        Columns(item=1, labels=(3, 4), draw=0, design=None, expert=None)
        """
        folded = [name.strip().casefold() for name in names]

        def first(*wanted: str) -> int | None:
            return next((folded.index(name) for name in wanted if name in folded), None)

        labels = tuple(p for p, name in enumerate(folded) if is_label_column(name))
        gold = first("gold", "truth", "answer")
        return cls(
            item=first("item", *sorted(ALIASES["item"][0])),
            labels=labels or (() if gold is None else (gold,)),
            draw=first(DRAW_COLUMN, "draw"),
            design=first(DESIGN_COLUMN),
            expert=first(*sorted(EXPERT_COLUMNS, key=lambda name: (name != "expert", name))),
        )

    @property
    def ours(self) -> frozenset[int]:
        """The positions of the columns that are not the user's."""
        single = (self.item, self.draw, self.design, self.expert)
        return frozenset([*self.labels, *(p for p in single if p is not None)])


def is_label_column(name: str) -> bool:
    """Whether a column holds labels: label, or for another expert label_2, label ana."""
    return re.fullmatch(r"label([ _\-.0-9].*)?", name.strip().casefold(), re.DOTALL) is not None


def shown_name(name: str) -> str:
    """The name under which a column of the user is shown to the expert, so that it is not taken for one of ours.

    >>> shown_name("text"), shown_name("Item"), shown_name("label_source")
    ('text', 'votes.Item', 'votes.label_source')
    """
    folded = name.strip().casefold()
    if folded.startswith("majorant_"):
        raise ConfigError(
            f"there is a column {name!r}, and names that begin with majorant_ are for the columns that majorant adds "
            "to files to label. Rename the column."
        )
    taken = folded == "item" or folded in EXPERT_COLUMNS or is_label_column(folded)
    return f"votes.{name}" if taken else name


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The rows of a file to label, each with its text in the file, so that one can be changed and the others kept."""

    name: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # cells as written, as many as there are names
    numbers: tuple[int, ...]  # of the rows, as users count
    columns: Columns
    dialect: Dialect = field(default_factory=lambda: Dialect(","))
    codec: str = "utf-8"
    mark: bytes = b""  # the byte-order mark
    pieces: tuple[str, ...] = ()  # the text of the file, split after every record
    places: tuple[int, ...] = ()  # the piece of each row; empty for a workbook, which cannot be written back

    @classmethod
    def read(cls, path: Path | NamedFile) -> LabelTable:
        """Read a delimited text file or a workbook."""
        file = identify(str(path), Path(path), ReadOptions())
        if file.type.name == "excel":
            return _workbook(file)
        if file.type.name != "csv" or file.packing:
            raise DataError(f"{file.name} is not a table of labels. Save it as CSV in UTF-8.")
        content = Path(path).read_bytes()
        mark, codec = next(((mark, code) for mark, code in CODECS if content.startswith(mark)), (b"", file.encoding))
        try:
            text = content[len(mark) :].decode(codec, "surrogateescape")
        except UnicodeDecodeError as error:
            row = content[: error.start].decode(codec, "replace").count("\n") + 1
            raise DataError(f"{file.name}, line {row}: not {codec.upper()} text. {SAVE_AS_UTF8}") from None
        return cls.parse(text, file.name, codec=codec, mark=mark)

    @classmethod
    def parse(cls, text: str, name: str, *, codec: str = "utf-8", mark: bytes = b"") -> LabelTable:
        """Read the text of a delimited file."""
        lines = list(io.StringIO(text, newline=""))
        sign = separator_line(lines)
        body = lines[1:] if sign else lines
        dialect = find_dialect(body, sign, Choice.of())
        pieces, records = [lines[0]] if sign else [], list[tuple[int, int, list[str]]]()
        with _long_fields():
            for record, piece in _records(body, dialect, name, first=1 + bool(sign)):
                if record:
                    number = len(records) + 1 + bool(sign)
                    _refuse_undecoded(name, number, record, codec)
                    records.append((number, len(pieces), record))
                pieces.append(piece)
        if not records:
            raise DataError(f"{name} contains only blank lines. Restore it, or draw the items again.")
        names = tuple(cell.strip() for cell in records[0][2])
        while len(names) > 1 and not names[-1]:  # a separator at the end of the line
            names = names[:-1]
        rows = [(number, piece, _padded(name, number, cells, names)) for number, piece, cells in records[1:]]
        rows = [row for row in rows if any(cell.strip() for cell in row[2])]
        numbers, places, cells = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(name, names, tuple(cells), tuple(numbers), Columns.of(names), dialect, codec, mark, tuple(pieces),
                   tuple(places))  # fmt: skip

    def cell(self, row: int, position: int | None) -> str:
        """A cell without the apostrophe that protects spreadsheets; "" if there is no such column."""
        return "" if position is None else unguard_cell(self.rows[row][position])

    def draw(self, row: int) -> int | None:
        """The draw number of a row, also if a spreadsheet made it 1.0; None if there is none."""
        text = re.sub(r"[.,]0*$", "", self.cell(row, self.columns.draw).strip())
        return whole_number(text)

    def with_labels(self, label_by_row: Mapping[int, str]) -> LabelTable:
        """The table with these labels in its (first) column of labels."""
        if not self.columns.labels:
            raise DataError(f"{self.name} has no column label. Name the column for the labels label.")
        pieces, rows = list(self.pieces), list(self.rows)
        for row, label in label_by_row.items():
            cells = list(rows[row])
            cells[self.columns.labels[0]] = str(guard_cell(label))
            rows[row] = tuple(cells)
            old = pieces[self.places[row]]
            pieces[self.places[row]] = spell_row(cells, self.dialect) + old[len(old.rstrip("\r\n")) :]
        return replace(self, pieces=tuple(pieces), rows=tuple(rows))

    def with_rows(self, added: Sequence[Mapping[str, Any]]) -> LabelTable:
        """The table with more rows, whose cells are given by the names of the columns in lower case."""
        ends = Counter(piece[len(piece.rstrip("\r\n")) :] for piece in self.pieces)
        end = next((end for end, _ in ends.most_common() if end), "\n")
        pieces = list(self.pieces)
        pieces[-1] += "" if pieces[-1].endswith(("\r", "\n")) else end
        for cells in added:
            folded = {name.casefold(): cell for name, cell in cells.items()}
            row = ["" if (cell := folded.get(unguard_cell(name).casefold())) is None else str(guard_cell(cell))
                   for name in self.names]  # fmt: skip
            pieces.append(spell_row(row, self.dialect) + end)
        return LabelTable.parse("".join(pieces), self.name, codec=self.codec, mark=self.mark)

    def to_bytes(self) -> bytes:
        """The content of the file."""
        if not self.pieces:
            raise ConfigError(f"{self.name} is a workbook, and labels can only be written to CSV. Save it as CSV.")
        return self.mark + "".join(self.pieces).encode(self.codec, "surrogateescape")


SAVE_AS_UTF8 = "Save the file as UTF-8 (in Excel: CSV UTF-8), so that no letter is lost."


def spell_row(cells: Iterable[Any], dialect: Dialect | None = None) -> str:
    r"""A row of a table without its line end, quoted where needed, also around a bare return.

    >>> spell_row(["a,b", "c\rd", None, 1])
    '"a,b","c\rd",,1'
    """
    how = dialect or Dialect(",")
    special = {how.delimiter, how.quote, how.escape, "\r", "\n"}

    def spell(cell: Any) -> str:
        text = "" if cell is None else str(cell)
        if not special & set(text):
            return text
        doubled = text if how.escape == how.quote else text.replace(how.escape, how.escape * 2)
        return how.quote + doubled.replace(how.quote, how.escape + how.quote) + how.quote

    return how.delimiter.join(map(spell, cells))


def _records(lines: Sequence[str], dialect: Dialect, name: str, *, first: int) -> Iterator[tuple[list[str], str]]:
    """Each record with its text in the file; a blank line is a record without cells."""
    reader = csv.reader(
        iter(lines), delimiter=dialect.delimiter, quotechar=dialect.quote, strict=True,
        doublequote=dialect.escape == dialect.quote,
        escapechar=None if dialect.escape == dialect.quote else dialect.escape,
    )  # fmt: skip
    done, number = 0, first
    while done < len(lines):
        try:
            record = next(reader)
        except csv.Error as error:
            raise cannot_split(name, number, error) from None
        yield record, "".join(lines[done : reader.line_num])
        done, number = reader.line_num, number + bool(record)


@contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _refuse_undecoded(name: str, number: int, record: Sequence[str], codec: str) -> None:
    for position, cell in enumerate(record, start=1):
        if not is_decoded([cell]):
            shown = cell.encode("utf-8", "surrogateescape")
            where = f"{name}, row {number}, column {position}"
            raise DataError(f"{where}: {shown!r} is not {codec.upper()} text. {SAVE_AS_UTF8}")


def _padded(name: str, number: int, cells: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """A row with all its cells: programs leave out the separators before empty cells at the end."""
    cells = list(cells)
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) > len(names):
        shown = repr(",".join(cells))
        raise DataError(
            f"{name}, row {number}: has {len(cells)} cells where {len(names)} are expected: "
            f"{shown if len(shown) <= 80 else shown[:79] + '…'}. Quote a cell that holds the separator, or remove what "
            "was added."
        )
    return (*cells, *[""] * (len(names) - len(cells)))


def _workbook(file: File) -> LabelTable:
    """The sheet of a workbook that has the columns of a file to label; notes on other sheets are left alone."""
    from majorant.read.sheets import open_excel, sheet_names

    names = sheet_names(file)
    with ExitStack() as stack:
        sheets = [open_excel(file, ReadOptions(sheet=name), stack) for name in names]
        fitting = [sheet for sheet in sheets if (found := Columns.of(sheet.names)).item is not None and found.labels]
        if len(fitting) > 1:
            listed = " and ".join(repr(name) for name in names)
            raise DataError(f"{file.name} has labels on more than one sheet ({listed}). Save the right one as CSV.")
        sheet = (fitting or sheets)[0]
        columns = sheet.first_cells(range(len(sheet.names)))
    rows = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in zip(*columns, strict=True))
    return LabelTable(file.name, sheet.names, rows, tuple(range(2, len(rows) + 2)), Columns.of(sheet.names))
