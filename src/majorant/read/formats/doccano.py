"""doccano: export of a project without shared annotations, one file per member, named after the member.

Layout: doccano/doccano, backend/data_export/celery_tasks.py (a file per member, `all` where labels are shared) and
pipeline/factories.py (text or filename, label or cats, Comments).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from majorant.read.formats.base import Context, Format, Record, Vote, scalar_fields

LABEL_FIELDS = ("label", "cats")


def _votes(record: Record, context: Context) -> Iterator[Vote]:
    """Categories are labels; an example without any was not labelled by this member."""
    worker = Path(context.source).name.split(".")[0]
    context.count(member=worker, example=record["id"])
    labels = list(record["cats"] if "cats" in record else record["label"])
    own = {**record, "text": record.get("text") or record["filename"], "comments": "; ".join(record["Comments"])}
    fields = scalar_fields(own, ["id", "filename"])
    yield Vote(item=record["id"], worker=worker, answers={"label": labels} if labels else {}, fields=fields)


def _shared_or_spans(keys: frozenset[str], first: Record) -> str | None:
    del keys
    labels = next((first[key] for key in LABEL_FIELDS if key in first), None) or []
    if any(isinstance(label, (list, dict)) for label in labels):
        return (
            "with spans, which are not votes on a shared item. Export a project of document or image classification, "
            "or give a table with a row per span."
        )
    return None


def _refuse_shared(source: str) -> str | None:
    if Path(source).name.split(".")[0] == "all":  # the one file of a project whose members share their labels
        return (
            "of a project whose members share annotations, so individual labels are unknown. Turn off 'Share "
            "annotations across all users' in the project, and export again: one file per member."
        )
    return None


EXPORT = Format(
    name="doccano export",
    recognise=lambda keys, _: (
        {"id", "Comments"} <= keys
        and bool(keys & {"text", "filename"})
        and bool(keys & {*LABEL_FIELDS})
        and "user" not in keys
    ),
    votes=_votes,
    kinds=("member", "example"),
    refusal=_shared_or_spans,
    refuse_name=_refuse_shared,
)
