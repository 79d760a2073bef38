"""Argilla 2: records.to_json (nested) and records.to_list(flatten=True), to_datasets (flat, parallel lists).

Layout: argilla-io/argilla, argilla/src/argilla/records/_resource.py and _io/_generic.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote

USERS = ".responses.users"


def _flat(record: Record, _: Context) -> Iterator[Vote]:
    """Submitted responses are votes; drafts and discarded ones are abstentions."""
    workers: dict[Any, dict[str, Any]] = {}
    for key in record:
        if not key.endswith(USERS) or record[key] is None:
            continue
        question = key.removesuffix(USERS)
        labels = record[f"{question}.responses"]
        states = record.get(f"{question}.responses.status") or ["submitted"] * len(labels)
        for worker, label, state in zip(record[key], labels, states, strict=True):
            workers.setdefault(worker, {}).update({question: label} if state == "submitted" else {})
    fields = {key: value for key, value in record.items() if "." not in key and key not in ("id", "status")}
    for worker, answers in workers.items():
        yield Vote(item=record["id"], worker=worker, answers=answers, fields=fields)


def _nested(record: Record, _: Context) -> Iterator[Vote]:
    """Records as Argilla itself writes them: responses by question, with users but without status."""
    workers: dict[Any, dict[str, Any]] = {}
    for question, responses in (record["responses"] or {}).items():
        for response in responses:
            answer = {question: response["value"]} if response["value"] is not None else {}
            workers.setdefault(response["user_id"], {}).update(answer)
    fields = {**(record.get("metadata") or {}), **record["fields"]}
    for worker, answers in workers.items():
        yield Vote(item=record["id"], worker=worker, answers=answers, fields=fields)


FORMATS = [
    Format(
        name="Argilla export",
        recognise=lambda keys, _: {"id", "fields", "responses"} <= keys,
        votes=_nested,
        nouns=("annotator", "record"),
    ),
    Format(
        name="flat Argilla export",
        recognise=lambda keys, _: any(key.endswith(USERS) for key in keys),
        votes=_flat,
        nouns=("annotator", "record"),
    ),
]
