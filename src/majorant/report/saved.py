"""Summaries that were saved: result.json, or the page that holds it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from majorant.errors import DataError
from majorant.output import digest_of
from majorant.report.html import render
from majorant.report.summary import SCHEMA

EMBEDDED = re.compile(r'<script type="application/json" id="result">(.*?)</script>', re.DOTALL)


def read_summary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The summary in a result.json, or in a report.html that was made from one."""
    text = _text(Path(path))
    if text.lstrip().lower().startswith("<!doctype html"):
        found = EMBEDDED.search(text)
        if found is None:
            raise DataError(
                f"{path}: this page holds no majorant result. Give the result.json that majorant check wrote."
            )
        text = found[1]
    try:
        summary = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}). Give the result.json that majorant check wrote.") from error
    if not isinstance(summary, dict) or "majorant" not in summary or "schema" not in summary:
        raise DataError(
            f"{path}: not a result of majorant check: it has no fields majorant and schema. "
            "Give the result.json that majorant check wrote."
        )
    if summary["schema"] != SCHEMA:
        raise DataError(
            f"{path}: written by majorant {summary['majorant']} with schema {summary['schema']!r}; this version reads "
            f"schema {SCHEMA}. Run majorant check again on the votes."
        )
    return summary


def render_saved(summary: dict[str, Any], path: str | os.PathLike[str]) -> str:
    """The page of a saved summary; one that lacks something is named as damaged."""
    from jinja2 import TemplateError

    try:
        return render(summary)
    except (ArithmeticError, AttributeError, LookupError, TemplateError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: the result is damaged or was edited ({type(error).__name__}: {str(error)[:200]}). "
            "Run majorant check again on the votes."
        ) from error


def foreign_files(summary: dict[str, Any], path: str | os.PathLike[str]) -> list[str]:
    """The names of files beside a result.json that were not written with it; files that are elsewhere do not count."""
    listed = summary.get("files")
    if not isinstance(listed, dict):
        return []
    beside = {name: Path(path).parent / name for name in listed if Path(name).name == name}
    return [name for name, file in beside.items() if file.is_file() and f"sha256:{digest_of(file)}" != listed[name]]


def mixed_set(path: str | os.PathLike[str], names: list[str]) -> str:
    """What to know about files of two runs in one folder."""
    listed, are = " and ".join(", ".join(names).rsplit(", ", 1)), "is" if len(names) == 1 else "are"
    return (
        f"{listed} beside {path} {are} not what was written with it: a run was cut short, or the content was changed "
        "since. Run majorant check again to have one set."
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not text in UTF-8 (byte {error.start}). Give a result.json.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from error
