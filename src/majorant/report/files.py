"""The files of a result, in one folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from majorant.answer.calibrate import Calibration, as_calibrated
from majorant.answer.labels import label_sets, label_table
from majorant.answer.review import review_table
from majorant.answer.workers import worker_table
from majorant.atomic import make_folder
from majorant.estimate.fit import Fit
from majorant.output import Columns, Content, write_files
from majorant.pipeline import Result
from majorant.report.html import render
from majorant.report.text import to_json
from majorant.tabular import guarded_columns
from majorant.votes import Votes


def write_result(
    result: Result,
    summary: dict[str, Any],
    folder: str | os.PathLike[str],
    *,
    more: Mapping[Path, Content] | None = None,
    spreadsheet: bool = False,
) -> list[Path]:
    """Write the labels, workers and items to review, result.json and report.html, all or none; makes the folder.

    result.json comes last and holds the digests of the others, so that files of two runs are not taken for one set.
    Labels that lie on a cluster are written from there, before the others; `more` files belong to the set.  What is to
    be looked at, review.csv, is safe in a spreadsheet; labels.csv and workers.csv keep every name as it is, unless they
    are for a `spreadsheet`.
    """
    place = make_folder(folder)
    table = partial(_calibrated_labels, result.labels.calibration, spreadsheet=spreadsheet)
    labels = result.backend.label_files(place, result.fit, table)
    workers = worker_table(result.backend.votes.workers, result.worker_fit, result.workers)
    return labels.written + write_files(
        {
            **labels.content,
            **_sets(result, place),
            place / "workers.csv": guarded_columns(workers) if spreadsheet else workers,
            place / "review.csv": guarded_columns(review_table(*result.reviewed)),
            **(more or {}),
            place / "report.html": render(summary),
            place / "result.json": partial(_with_digests, summary),
        }
    )


def _sets(result: Result, place: Path) -> dict[Path, Content]:
    """Of several labels per item, one table that puts them together; numbers in place of names say no label."""
    votes = result.backend.whole
    several = votes is not None and any(note.kind == "several" for note in votes.account.notes)
    if not several or votes is None or not all(isinstance(item, str) for item in votes.items):
        return {}
    return {place / "label_sets.csv": label_sets(labels_of(result))}


def labels_of(result: Result) -> Columns:
    """The labels of votes in memory, as they are written."""
    votes = result.backend.whole
    assert votes is not None
    return _calibrated_labels(result.labels.calibration, votes, result.fit)


def _with_digests(summary: dict[str, Any], digests: Mapping[str, str]) -> str:
    """The summary as JSON, and the digests of the files that it belongs to: it takes its name after them."""
    return to_json({**summary, "files": {name: f"sha256:{digest}" for name, digest in digests.items()}})


def _calibrated_labels(
    calibration: Calibration | None, votes: Votes, fit: Fit, *, spreadsheet: bool = False
) -> dict[str, Any]:
    table = label_table(votes, as_calibrated(calibration, votes, fit))
    return guarded_columns(table) if spreadsheet else table
