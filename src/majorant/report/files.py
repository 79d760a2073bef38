"""The files of a result, in one folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from majorant.decide.labels import label_table
from majorant.output import make_folder, write_files
from majorant.pipeline import Result
from majorant.report.text import to_json


def write_result(result: Result, summary: dict[str, Any], folder: str | os.PathLike[str]) -> list[Path]:
    """Write labels.csv and result.json, both or neither; the folder is made where it is missing."""
    place = make_folder(folder)
    return write_files(
        {
            place / "labels.csv": label_table(result.votes, result.majority),
            place / "result.json": to_json(summary),
        }
    )
