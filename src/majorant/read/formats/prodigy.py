"""Prodigy: the output of db-out.

Layout: prodi.gy/docs, interfaces (`choice`: options and accept) and named multi-user sessions (_session_id).
"""

from __future__ import annotations

from collections.abc import Iterator

from majorant.read.formats.base import Context, Format, Record, Vote


def _votes(task: Record, _: Context) -> Iterator[Vote]:
    """The chosen option is the label; without options, accept and reject are the labels."""
    worker = task.get("_annotator_id") or task["_session_id"]
    fields = {key: value for key, value in task.items() if not key.startswith("_") and key != "answer"}
    if "options" in task or "accept" in task:
        item = task["_input_hash"]
        answers = {"accept": list(task.get("accept") or ())} if task["answer"] == "accept" else {}
    else:
        item = task["_task_hash"] if "label" in task else task["_input_hash"]  # text with its label
        answers = {} if task["answer"] == "ignore" else {"answer": task["answer"]}
    yield Vote(item=item, worker=worker, answers=answers, fields=fields)


def _refusal(first: Record, _: str) -> str | None:
    if not first.get("_annotator_id") and not first.get("_session_id"):
        return (
            "without the names of annotators. Let each person open Prodigy with ?session=NAME, or add _annotator_id to "
            "each line."
        )
    if "spans" in first and first.get("_view_id") in ("ner_manual", "spans_manual", "image_manual", "rel"):
        return (
            "with spans or boxes, which are not votes on a shared item. Export a binary recipe (accept, reject) or "
            "textcat, or give a table with a row per span."
        )
    return None


FORMATS = [
    Format(
        name="Prodigy export",
        recognise=lambda keys, _: {"_input_hash", "answer"} <= keys,
        votes=_votes,
        nouns=("annotator", "example"),
        refusal=_refusal,
    ),
]
