"""CVAT for images: an XML file per job or annotator, the tags of an image its labels.

Layout: cvat-ai/cvat, cvat/apps/dataset_manager/formats/cvat.py and bindings.py (who owns a task, who has a job).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import IO, Any

from majorant.read.formats.base import Context, Format, Record, Vote

SHAPES = ("box", "polygon", "polyline", "points", "cuboid", "mask", "ellipse", "skeleton")


def images(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The images of an annotations.xml as records, and who annotated: the assignee, else the owner of the task."""
    worker = None
    for _, element in ElementTree.iterparse(stream, events=("end",)):
        if element.tag in ("assignee", "owner") and (name := element.findtext("username")):
            worker = name if element.tag == "assignee" or worker is None else worker
        elif element.tag == "image":
            tags = [tag.get("label") for tag in element.iter("tag")]
            yield {
                "cvat_image": element.get("name"),
                "cvat_worker": worker,
                "cvat_tags": tags,
                "cvat_shapes": sum(1 for child in element if child.tag in SHAPES),
            }
            element.clear()


def _votes(record: Record, context: Context) -> Iterator[Vote]:
    worker = record["cvat_worker"] or context.source
    context.count(annotator=worker, image=record["cvat_image"])
    answers = {"tag": list(record["cvat_tags"])} if record["cvat_tags"] else {}
    yield Vote(item=record["cvat_image"], worker=worker, answers=answers)


def _shapes_only(keys: frozenset[str], first: Record) -> str | None:
    del keys
    if first["cvat_shapes"] and not first["cvat_tags"]:
        return "with shapes only, which are no votes on a shared item. Annotate images with tags to vote on them."
    return None


IMAGES = Format(
    name="CVAT export",
    recognise=lambda keys, _: {"cvat_image", "cvat_tags"} <= keys,
    votes=_votes,
    kinds=("annotator", "image"),
    refusal=_shapes_only,
)
