"""CVAT for images: an XML file per job or annotator; the tags of an image are its labels.

Layout: cvat-ai/cvat, cvat/apps/dataset_manager/formats/cvat.py and bindings.py (who owns a task, who has a job).
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

from majorant.errors import DataError
from majorant.read.formats.base import Context, Format, Record, Vote

if TYPE_CHECKING:
    from majorant.read.files import File
    from majorant.read.options import ReadOptions
    from majorant.read.table import RowSource


def _images(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The images in an annotations.xml as records, with the annotator: the assignee, or else the task's owner."""
    shapes = ("box", "polygon", "polyline", "points", "cuboid", "mask", "ellipse", "skeleton")
    worker = None
    for _, element in ElementTree.iterparse(stream, events=("end",)):
        if element.tag in ("assignee", "owner") and (name := element.findtext("username")):
            worker = name if element.tag == "assignee" or worker is None else worker
        elif element.tag == "image":
            yield {
                "cvat_image": element.get("name"),
                "cvat_worker": worker,
                "cvat_tags": [tag.get("label") for tag in element.iter("tag")],
                "cvat_shapes": sum(1 for child in element if child.tag in shapes),
            }
            element.clear()


def open_annotations(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:
    """The votes in an annotations.xml, or in the archive that holds one."""
    from majorant.read.json_text import open_votes

    try:
        if file.head.startswith(b"PK"):
            with zipfile.ZipFile(file.path) as archive, archive.open("annotations.xml") as stream:
                records = list(_images(stream))
        else:
            with file.open() as stream:
                records = list(_images(stream))
    except (ElementTree.ParseError, NotImplementedError) as error:  # NotImplementedError: unsupported compression
        raise DataError(f"{file.name} is a CVAT export that cannot be read ({error}). Export it again.") from None
    if not records:
        raise DataError(f"{file.name} is a CVAT export without images. Export the job as CVAT for images.")
    return open_votes(file, records, how, stack)


def _votes(record: Record, context: Context) -> Iterator[Vote]:
    answers = {"tag": list(record["cvat_tags"])} if record["cvat_tags"] else {}
    yield Vote(item=record["cvat_image"], worker=record["cvat_worker"] or context.source, answers=answers)


def _refusal(first: Record, _: str) -> str | None:
    if first["cvat_shapes"] and not first["cvat_tags"]:
        return "with shapes only, which are not votes on a shared item. Annotate images with tags to vote on them."
    return None


FORMATS = [
    Format(
        name="CVAT export",
        recognise=lambda keys, _: {"cvat_image", "cvat_tags"} <= keys,
        votes=_votes,
        nouns=("annotator", "image"),
        refusal=_refusal,
    )
]
