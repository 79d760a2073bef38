"""The file types that can be read; readers, messages and the values of --format are derived from this table.

This module imports nothing, so that `majorant check --help` is quick.
"""

from __future__ import annotations

from typing import NamedTuple


class FileType(NamedTuple):
    """A file type.

    `reader` is "module:function" within `majorant.read`: the function takes a File, the ReadOptions and an ExitStack,
    and returns the rows.  A file is recognised by its content: its first bytes (`magic`), a pattern at the start of its
    text (`text`), or the files in a ZIP archive (`members`: it must contain all files of one of these sets).
    """

    name: str
    description: str  # completes "it looks like ..."
    reader: str
    endings: tuple[str, ...]
    words: tuple[str, ...] = ()  # values of --format
    magic: tuple[bytes, ...] = ()
    text: str = ""
    members: tuple[frozenset[str], ...] = ()


FILE_TYPES: list[FileType] = [  # text has the first type whose pattern matches, or else CSV
    FileType(
        name="csv",
        description="a delimited text file (CSV)",
        reader="delimited:open_delimited",
        endings=(".csv", ".tsv", ".tab", ".psv"),
        words=("csv", "tsv"),
    ),
    FileType(
        name="json",
        description="JSON",
        reader="json_text:open_json",
        endings=(".json", ".jsonl", ".ndjson"),
        words=("json", "jsonl"),
        text=r"\{\s*[\"}]|\[\s*[\[{\]]|\[\s*$",
    ),
    FileType(
        name="parquet",
        description="Parquet",
        reader="parquet:open_parquet",
        endings=(".parquet", ".pq"),
        words=("parquet",),
        magic=(b"PAR1",),
    ),
    FileType(
        name="eval",
        description="an Inspect log",
        reader="formats.inspect_log:open_archive",
        endings=(".eval",),
        members=(frozenset(["header.json"]), frozenset(["_journal/start.json"])),
    ),
    FileType(
        name="cvat",
        description="a CVAT export",
        reader="formats.cvat:open_annotations",
        endings=(".xml",),
        text=r"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<annotations>",
        members=(frozenset(["annotations.xml"]),),
    ),
    FileType(
        name="excel",
        description="a spreadsheet",
        reader="sheets:open_excel",
        endings=(".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
        magic=(b"\xd0\xcf\x11\xe0",),
        members=(frozenset(["[Content_Types].xml"]), frozenset(["mimetype", "content.xml"])),
    ),
]
PACKINGS = {".gz": "gzip", ".zst": "zstd"}  # how a text file may be compressed


def format_words() -> list[str]:
    """The values of --format."""
    return [word for kind in FILE_TYPES for word in kind.words]


def type_of_word(word: str) -> FileType | None:
    """The file type for a value of --format."""
    return next((kind for kind in FILE_TYPES if word in kind.words), None)


def type_of_ending(ending: str) -> FileType | None:
    """The file type for a file name extension.

    >>> type_of_ending(".TSV").name, type_of_ending(".docx")
    ('csv', None)
    """
    return next((kind for kind in FILE_TYPES if ending.lower() in kind.endings), None)
