"""doccano: export of a project without shared annotations, one file per member, named after the member.

Layout: doccano/doccano, backend/data_export/celery_tasks.py (a file per member, `all` where labels are shared) and
pipeline/factories.py (text or filename, label or cats, Comments).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from majorant.read.formats.base import Context, Format, Record, Vote


def _votes(record: Record, context: Context) -> Iterator[Vote]:
    """Categories are labels; an example without any was not labelled by this member."""
    worker = Path(context.source).name.split(".")[0]
    labels = list(record["cats"] if "cats" in record else record["label"])
    fields = {**record, "text": record.get("text") or record["filename"], "comments": "; ".join(record["Comments"])}
    fields = {key: value for key, value in fields.items() if key not in ("id", "filename")}
    yield Vote(item=record["id"], worker=worker, answers={"label": labels} if labels else {}, fields=fields)


def _refusal(first: Record, source: str) -> str | None:
    if Path(source).name.split(".")[0] == "all":  # the only file, if members share their labels
        return (
            "of a project whose members share annotations, so individual labels are unknown. Turn off 'Share "
            "annotations across all users' in the project, and export again: one file per member."
        )
    labels = first.get("label", first.get("cats")) or []
    if any(isinstance(label, (list, dict)) for label in labels):
        return (
            "with spans, which are not votes on a shared item. Export a project of document or image classification, "
            "or give a table with a row per span."
        )
    return None


FORMATS = [
    Format(
        name="doccano export",
        recognise=lambda keys, _: (
            {"id", "Comments"} <= keys
            and bool(keys & {"text", "filename"})
            and bool(keys & {"label", "cats"})
            and "user" not in keys
        ),
        votes=_votes,
        nouns=("member", "example"),
        refusal=_refusal,
    )
]
