"""Argilla 2: records.to_json (nested) and records.to_list(flatten=True), to_datasets (flat, parallel lists).

Layout: argilla-io/argilla, argilla/src/argilla/records/_resource.py and _io/_generic.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote, scalar_fields

USERS = ".responses.users"
KINDS = ("question", "record")


def _flat(record: Record, context: Context) -> Iterator[Vote]:
    """Submitted responses are votes, drafts and discarded ones abstentions."""
    workers: dict[Any, dict[str, Any]] = {}
    context.count(record=record["id"])
    for key in record:
        if not key.endswith(USERS):
            continue
        question = key.removesuffix(USERS)
        context.count(question=question)
        if record[key] is None:
            continue
        labels = record[f"{question}.responses"]
        states = record.get(f"{question}.responses.status") or ["submitted"] * len(labels)
        for worker, label, state in zip(record[key], labels, states, strict=True):
            workers.setdefault(worker, {}).update({question: label} if state == "submitted" else {})
    fields = {key: value for key, value in scalar_fields(record, ["id", "status"]).items() if "." not in key}
    for worker, answers in workers.items():
        yield Vote(item=record["id"], worker=worker, answers=answers, fields=fields)


def _nested(record: Record, context: Context) -> Iterator[Vote]:
    """The same of records as Argilla writes them itself: responses by question, each with its user, none a status."""
    workers: dict[Any, dict[str, Any]] = {}
    context.count(record=record["id"])
    for question, responses in (record["responses"] or {}).items():
        context.count(question=question)
        for response in responses:
            answer = {question: response["value"]} if response["value"] is not None else {}
            workers.setdefault(response["user_id"], {}).update(answer)
    fields = {**scalar_fields(record.get("metadata") or {}), **scalar_fields(record["fields"])}
    for worker, answers in workers.items():
        yield Vote(item=record["id"], worker=worker, answers=answers, fields=fields)


NESTED = Format(
    name="Argilla export",
    recognise=lambda keys, _: {"id", "fields", "responses"} <= keys,
    votes=_nested,
    kinds=KINDS,
)
FLAT = Format(
    name="flat Argilla export",
    recognise=lambda keys, _: any(key.endswith(USERS) for key in keys),
    votes=_flat,
    kinds=KINDS,
)
