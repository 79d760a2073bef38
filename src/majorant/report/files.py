"""The files of a result, in one folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from majorant.decide.labels import label_table
from majorant.decide.review import review_table
from majorant.decide.workers import worker_table
from majorant.output import make_folder, write_files
from majorant.pipeline import Result
from majorant.report.html import render
from majorant.report.text import to_json


def write_result(result: Result, summary: dict[str, Any], folder: str | os.PathLike[str]) -> list[Path]:
    """Write the labels, workers and items to review, result.json and report.html, all or none; makes the folder."""
    place = make_folder(folder)
    votes, fit = result.votes, result.labels.fit
    return write_files(
        {
            place / "labels.csv": label_table(votes, fit),
            place / "workers.csv": worker_table(votes, result.worker_fit, result.workers),
            place / "review.csv": review_table(votes, fit, result.review),
            place / "result.json": to_json(summary),
            place / "report.html": render(summary),
        }
    )
