"""The formats of other tools: one module each, in the table FORMATS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from majorant.errors import DataError
from majorant.read.formats import (
    argilla,
    cvat,
    deepeval,
    doccano,
    ground_truth,
    inspect_log,
    label_studio,
    labelbox,
    lm_eval,
    mturk,
    prodigy,
    promptfoo,
    ragas,
    scale,
    toloka,
)
from majorant.read.formats.base import Format, Record, TableFormat, reporting_structure

FORMATS: list[Format | TableFormat] = [  # a file is read by the first format that recognises it
    *inspect_log.FORMATS,
    *promptfoo.FORMATS,
    *lm_eval.FORMATS,
    *deepeval.FORMATS,
    *label_studio.FORMATS,
    *argilla.FORMATS,
    *prodigy.FORMATS,
    *doccano.FORMATS,
    *labelbox.FORMATS,
    *ground_truth.FORMATS,
    *cvat.FORMATS,
    *scale.FORMATS,
    *toloka.FORMATS,
    *mturk.FORMATS,
    *ragas.FORMATS,
]


def recognise(names: Iterable[str], first: Record, source: str) -> Format | None:
    """Recognise the format of records by their keys and the first record; one that cannot be read is an error.

    >>> recognise(["id", "data", "annotations", "predictions"], {"data": {}, "annotations": []}, "p.json").name
    'Label Studio export'
    >>> recognise(["item", "worker", "label"], {}, "votes.json") is None
    True
    """
    keys = frozenset(names)
    records = (format for format in FORMATS if isinstance(format, Format))
    found = next((format for format in records if format.recognise(keys, first)), None)
    if found is None:
        return None
    with reporting_structure(found.name, f"{source}, record 1"):
        refused = found.refusal(first, source)
    if refused:
        raise DataError(f"{source} is {'an' if found.name[0] in 'AEIOU' else 'a'} {found.name}, {refused}")
    return found


def recognise_table(names: Sequence[str]) -> TableFormat | None:
    """Recognise the format of a table by its column names.

    >>> recognise_table(["INPUT:text", "OUTPUT:mood", "ASSIGNMENT:worker_id"]).name
    'Toloka assignments'
    """
    return next((format for format in FORMATS if isinstance(format, TableFormat) and fits_table(format, names)), None)


def fits_table(format: TableFormat, names: Sequence[str]) -> bool:
    """Whether a table with these columns has this format."""
    if not format.columns <= frozenset(names) or not any(name.startswith(format.prefix) for name in names):
        return False
    return format.workers is None or bool(format.workers(names))
