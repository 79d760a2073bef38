"""Mechanical Turk: the table of results of a batch.

An answer has its own column (`Answer.mood.label`) or is stored with all others as JSON in
`Answer.taskAnswers`.  Layout: docs.aws.amazon.com/AWSMechTurk, and the batches that public projects read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from majorant.read.formats.base import TableFormat
from majorant.read.formats.ground_truth import template_answers
from majorant.read.table import loads


def _roles(names: Sequence[str]) -> Mapping[str, str]:
    answers = [name for name in names if name.startswith("Answer.")]
    status = "AssignmentStatus" if "AssignmentStatus" in names else ""
    roles = {"item": "HITId", "worker": "WorkerId", "status": status, "gold": ""}
    if "WorkTimeInSeconds" in names:
        roles["seconds"] = "WorkTimeInSeconds"
    return {**roles, "label": answers[0]} if len(answers) == 1 else roles


def _cell(text: str) -> Any:
    """The answer in a cell: plain text, or the only answer in `[{"mood": {"label": "pos"}}]`.

    >>> _cell("pos"), _cell('[{"mood": {"label": "pos"}}]'), _cell('[{"mood": {"pos": true, "neg": false}}]')
    ('pos', 'pos', 'pos')
    """
    if not text.startswith("[{"):
        return text
    given = template_answers(loads(text)[0])
    if len(given) != 1:
        raise ValueError(f"several answers: {', '.join(given)}" if given else "no answer")
    (answer,) = given.values()
    return answer[0] if isinstance(answer, list) and len(answer) == 1 else answer


FORMATS = [
    TableFormat(
        name="Mechanical Turk results",
        columns=frozenset(["HITId", "WorkerId"]),
        prefix="Answer.",
        roles=_roles,
        answer=_cell,
    ),
]
