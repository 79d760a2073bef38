"""Labelbox: an export as NDJSON, with classifications at the level of data rows.

Layout: docs.labelbox.com, export glossary and quality analysis; Labelbox/labelbox-python,
libs/labelbox/tests/data/annotation_import/conftest.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote


def _votes(record: Record, _: Context) -> Iterator[Vote]:
    """Each label of a data row is a vote by its creator; each classification is a question."""
    row = record["data_row"]
    item = row.get("global_key") or row.get("external_id") or row["id"]
    for project in record["projects"].values():
        labels = project.get("labels") or ()
        benchmarks = {(one.get("performance_details") or {}).get("benchmark_reference_label") for one in labels}
        for label in labels:  # a label compared with a benchmark refers to it; the benchmark itself refers to none
            performed = label.get("performance_details") or {}
            yield Vote(
                item=item,
                worker=(label.get("label_details") or {}).get("created_by") or label["id"],
                answers={} if performed.get("skipped") else _answers(label),
                seconds=performed.get("seconds_to_create"),
                is_gold=label["id"] in benchmarks,
                fields={"row_data": row.get("row_data")},
            )


def _answers(label: Record) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in (label.get("annotations") or {}).get("classifications") or ():
        if "radio_answer" in part:
            found[part["name"]] = part["radio_answer"].get("name") or part["radio_answer"]["value"]
        elif "checklist_answers" in part:
            found[part["name"]] = [one.get("name") or one["value"] for one in part["checklist_answers"]]
    return found


def _refusal(first: Record, _: str) -> str | None:
    if "data_row" not in first:
        return "of the old kind, which names no worker for each label. Export it again as export v2 (NDJSON)."
    return None


FORMATS = [
    Format(
        name="Labelbox export",
        recognise=lambda keys, _: {"data_row", "projects"} <= keys or {"DataRow ID", "Label"} <= keys,
        votes=_votes,
        nouns=("labeler", "data row"),
        refusal=_refusal,
    )
]
