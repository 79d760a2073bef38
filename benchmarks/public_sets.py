"""The public data sets below a folder, in either of two formats.

Either a CSV file without a header (worker, item, label, gold and sometimes seconds), or a folder with label.csv (item,
worker, label) and truth.csv (item, truth).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from majorant.errors import DataError
from majorant.read import read
from majorant.votes import Votes

COLUMNS = {4: "worker,item,label,gold", 5: "worker,item,label,gold,seconds"}


def find(folder: Path) -> Iterator[tuple[str, Path, Path | None]]:
    """The data sets below a folder: name, file of votes, and file of gold labels if it is separate."""
    for path in sorted(folder.rglob("*.csv")):
        if path.name == "label.csv" and (truth := path.with_name("truth.csv")).is_file():
            yield path.parent.name, path, truth
        elif not path.with_name("label.csv").is_file() and _n_columns(path) in COLUMNS:
            yield path.stem, path, None


def _n_columns(path: Path) -> int:
    with path.open(encoding="utf-8", errors="replace") as file:
        return len(file.readline().split(","))


def load(path: Path, truth: Path | None) -> Votes:
    """The votes with gold labels; if workers label an item repeatedly, each vote counts."""
    settings = {"columns": COLUMNS[_n_columns(path)]} if truth is None else {"gold_file": truth}
    try:
        return read(path, **settings)
    except DataError:
        return read(path, **settings, repeats="each")


def data_sets(folder: Path) -> Iterator[tuple[str, Votes]]:
    """The data sets below a folder."""
    for name, path, truth in find(folder):
        try:
            yield name, load(path, truth)
        except DataError as error:
            print(f"  {name} left out: {error}", file=sys.stderr)
