"""Write and read the files of a result."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from majorant.atomic import make_folder
from majorant.defaults import WEIGHTED_VOTE
from majorant.errors import DataError
from majorant.methods.fit import Fit
from majorant.output import Columns, Content, write_files
from majorant.ownership import RESULT, digest_of, note_input, result_digest, sealed
from majorant.render.html import render
from majorant.render.plain import Facts, to_json
from majorant.render.summary import SCHEMA
from majorant.render.words import one_of
from majorant.render.workers import worker_columns
from majorant.results.calibrate import Calibration, as_calibrated, label_confidence
from majorant.results.labels import TiePolicy, label_sets, label_table
from majorant.results.result import Result
from majorant.tabular import guard_columns
from majorant.votes import Votes, cut


def write_result(
    result: Result,
    summary: Facts,
    folder: str | os.PathLike[str],
    *,
    more: Mapping[Path, Content] | None = None,
    spreadsheet: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Write labels.csv, workers.csv, review.csv, report.html and result.json to a folder, all or none.

    result.json is written last and holds the digests of the other files, so that files of different runs cannot be
    mistaken for one set. `more` adds files to the
    set. review.csv is always safe to open in a spreadsheet; labels.csv and workers.csv keep names unchanged unless
    `spreadsheet` is true.
    """
    place = make_folder(folder)
    labels = tables_of(label_part(result, spreadsheet=spreadsheet), result.votes, *label_fits(result))
    workers = worker_columns(result.workers)
    return write_files(
        {
            place / "labels.csv": labels,
            **_sets(result, place),
            place / "workers.csv": guard_columns(workers) if spreadsheet else workers,
            place / "review.csv": guard_columns(result.review.table()),
            **(more or {}),
            place / "report.html": sealed(render(summary)),
            place / "result.json": partial(_with_digests, summary),
        },
        overwrite=overwrite,
    )


def _sets(result: Result, place: Path) -> dict[Path, Content]:
    """A table that puts the labels of each item back together; not available if names are masked."""
    several = any(note.kind == "several" for note in result.votes.account.notes)
    if not several or not all(isinstance(item, str) for item in result.votes.items):
        return {}
    return {place / "label_sets.csv": label_sets(labels_of(result))}


def labels_of(result: Result) -> Columns:
    """The table of labels, as written to labels.csv."""
    return label_part(result)(result.votes, *label_fits(result))


def tables_of(table: Callable[..., Columns], votes: Votes, *fits: Fit) -> Iterator[Columns]:
    """The table of each part of the items, one after another, because ties may be drawn from one generator."""
    for start, stop in cut(votes.offsets_i):
        yield table(votes.part(start, stop), *(fit.part(start, stop) for fit in fits))


def label_fits(result: Result) -> tuple[Fit, ...]:
    """The fits behind the columns of labels.csv: the rule, majority vote, and the weighted vote if available."""
    weighted = result.rules.get(WEIGHTED_VOTE)
    return (result.written, result.majority, *([] if weighted is None else [weighted]))


def label_part(
    result: Result, *, spreadsheet: bool = False, ties: TiePolicy = "coin", rng: int | np.random.Generator = 0
) -> Callable[..., Columns]:
    """A function that turns the votes of some items, and their part of `label_fits`, into a table of labels."""
    as_table = partial(label_table, known=result.labels.known, ties=ties, rng=rng)
    return partial(_label_part, result.confidence.calibration, as_table, spreadsheet)


def _label_part(
    calibration: Calibration | None,
    as_table: Callable[..., Columns],
    spreadsheet: bool,
    votes: Votes,
    fit: Fit,
    majority: Fit,
    weighted: Fit | None = None,
) -> Columns:
    calibrated, confidence_i = as_calibrated(calibration, votes, fit), label_confidence(calibration, votes, fit)
    table = as_table(votes, calibrated, majority, weighted, confidence_i=confidence_i)
    return guard_columns(table) if spreadsheet else table


def _with_digests(summary: Facts, digests: Mapping[str, str]) -> str:
    """The summary as JSON, with the digests of the other files of the set and its own."""
    files = {name: f"sha256:{digest}" for name, digest in digests.items()}
    own = result_digest(json.loads(to_json({**summary, "files": files})))
    return to_json({**summary, "files": {**files, RESULT: f"sha256:{own}"}})


def read_summary(path: str | os.PathLike[str]) -> Facts:
    """The summary in a result.json, or in a report.html that was made from one."""
    text = _text(Path(path))
    if text.lstrip().lower().startswith("<!doctype html"):
        embedded = re.search(r'<script type="application/json" id="result">(.*?)</script>', text, re.DOTALL)
        if embedded is None:
            raise DataError(
                f"{path}: this page holds no majorant result. Give the result.json that majorant check wrote."
            )
        text = embedded[1]
    try:
        summary = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}). Give the result.json that majorant check wrote.") from error
    if not isinstance(summary, dict) or "majorant" not in summary or "schema" not in summary:
        raise DataError(
            f"{path}: not a result of majorant check (the fields majorant and schema are missing). "
            "Give the result.json that majorant check wrote."
        )
    if summary["schema"] != SCHEMA:
        raise DataError(
            f"{path}: written by majorant {summary['majorant']} with schema {summary['schema']!r}; this version reads "
            f"schema {SCHEMA}. Run majorant check again on the votes."
        )
    return summary


def _text(path: Path) -> str:
    note_input(path)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start}). Give a result.json.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from error


def render_saved(summary: Facts, path: str | os.PathLike[str]) -> str:
    """The page of a saved summary; raises an error if the summary is incomplete."""
    from jinja2 import TemplateError

    try:
        return render(summary)
    except (ArithmeticError, AttributeError, LookupError, TemplateError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: the result is damaged or was edited ({type(error).__name__}: {str(error)[:200]}). "
            "Run majorant check again on the votes."
        ) from error


def foreign_files(summary: Facts, path: str | os.PathLike[str]) -> list[str]:
    """The files beside a result.json that were not written with it; missing files do not count."""
    listed = summary.get("files")
    if not isinstance(listed, dict):
        return []
    beside = {name: Path(path).parent / name for name in listed if Path(name).name == name != RESULT}
    return [name for name, file in beside.items() if file.is_file() and f"sha256:{digest_of(file)}" != listed[name]]


def mixed_set(path: Any, names: Sequence[str]) -> str:
    """A warning that a folder mixes files of different runs."""
    are = "is" if len(names) == 1 else "are"
    return (
        f"{one_of(names)} beside {path} {are} not the version written with it: a run was interrupted, or the content "
        "was changed later. Run majorant check again for a consistent set."
    )
