"""Mechanical Turk: the table of results that a batch downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from majorant.io.formats.base import TableFormat


def _roles(names: Sequence[str]) -> Mapping[str, str]:
    answers = [name for name in names if name.startswith("Answer.")]
    status = "AssignmentStatus" if "AssignmentStatus" in names else ""
    roles = {"item": "HITId", "worker": "WorkerId", "status": status, "gold": ""}
    if "WorkTimeInSeconds" in names:
        roles["seconds"] = "WorkTimeInSeconds"
    return {**roles, "label": answers[0]} if len(answers) == 1 else roles


BATCH = TableFormat(
    name="Mechanical Turk results",
    recognise=lambda keys: {"HITId", "WorkerId"} <= keys and any(key.startswith("Answer.") for key in keys),
    roles=_roles,
)
