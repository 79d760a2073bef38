"""Toloka: the table of assignments of a pool.

Layout: Toloka/toloka-kit, src/client/assignment.py (GetAssignmentsTsvParameters).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from majorant.read.formats.base import TableFormat


def _roles(names: Sequence[str]) -> Mapping[str, str]:
    """The input is the item, the output the label, and its golden answer gold; the caller chooses among several."""
    inputs, outputs = ([n for n in names if n.startswith(part)] for part in ("INPUT:", "OUTPUT:"))
    roles = {"worker": "ASSIGNMENT:worker_id", "status": "ASSIGNMENT:status" if "ASSIGNMENT:status" in names else ""}
    ids = [name for name in inputs if name.casefold().endswith((":id", "_id"))]
    task_id = [name for name in ("ASSIGNMENT:task_id",) if name in names]
    if len(item := task_id or ids or inputs) == 1:
        roles["item"] = item[0]
    if len(outputs) == 1:
        roles["label"] = outputs[0]
        golden = outputs[0].replace("OUTPUT:", "GOLDEN:", 1)
        roles["gold"] = golden if golden in names else ""
    return roles


FORMATS = [
    TableFormat(
        name="Toloka assignments",
        columns=frozenset(["ASSIGNMENT:worker_id"]),
        prefix="OUTPUT:",
        roles=_roles,
    )
]
