"""Label Studio: JSON (tasks with their annotations), JSON-MIN and CSV (a row per annotation).

Layout: HumanSignal/label-studio-sdk, src/label_studio_sdk/converter: converter.py, exports/csv2.py and
utils.py (prettify_result: one choice is text, several are {"choices": [...]}, other answers [{"rating": 4}]).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from majorant.read.formats.base import Context, Format, Record, TableFormat, Vote
from majorant.read.table import loads

ANSWERS = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected", "taxonomy": "taxonomy"}
OF_ROW = frozenset((
    "id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "was_cancelled", "agreement",
    "history",
))  # fmt: skip


OF_TASK = frozenset(["text", "image", "audio", "video", "html", "url", "title", "prompt", "dialogue", "document"])


def _export(task: Record, context: Context) -> Iterator[Vote]:
    """Annotations are votes; one marked as ground truth is gold instead, and a skipped one is an abstention."""
    fields = task.get("data") or {}
    if context.predicted:
        for prediction in task.get("predictions") or ():
            worker = prediction["model_version"]
            yield Vote(item=task["id"], worker=worker, answers=_results(prediction), fields=fields)
        return
    for annotation in task["annotations"]:
        by = annotation["completed_by"]
        worker = (by.get("email") or by["id"]) if isinstance(by, Mapping) else by
        yield Vote(
            item=task["id"],
            worker=worker,
            answers={} if annotation.get("was_cancelled") else _results(annotation),
            seconds=annotation.get("lead_time"),
            is_gold=bool(annotation.get("ground_truth")),
            fields=fields,
        )


def _results(annotation: Record) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for result in annotation.get("result") or ():
        if result.get("type") in ANSWERS:
            answer = result["value"][ANSWERS[result["type"]]]
            labels = answer if isinstance(answer, list) else [answer]
            labels = [" / ".join(map(str, label)) if isinstance(label, list) else label for label in labels]
            answers.setdefault(result["from_name"], []).extend(labels)
    return answers


def _refusal(first: Record, _: str) -> str | None:
    """Refuse boxes and spans, which are not votes on a shared item."""
    found = {r.get("type") for a in first.get("annotations") or () for r in a.get("result") or ()}
    if found and found <= {
        "labels",
        *(f"{shape}labels" for shape in ("rectangle", "polygon", "keypoint", "brush", "ellipse")),
    }:
        return (
            "with boxes or spans only, which are not votes on a shared item. Ask a choice per task (<Choices>), or "
            "give a table with the columns item, worker and label, such as one row per region."
        )
    return None


def _minimal(row: Record, context: Context) -> Iterator[Vote]:
    """Keys that are not task fields are questions; a single row does not show which is which."""
    own = [key for key in row if key not in OF_ROW]
    answers = {key: given for key in own if (given := _chosen(row[key])) is not None}
    if context.question is None:
        chosen = {key: said for key, said in answers.items() if key.casefold() not in OF_TASK and not _is_text(said)}
        answers = chosen or answers
    fields = {key: row[key] for key in own if key not in answers}
    yield Vote(item=row["id"], worker=row["annotator"], answers=answers, seconds=row.get("lead_time"), fields=fields)


def _chosen(value: Any) -> Any:
    """One choice is text, several are {"choices": [...]}, a rating is [{"rating": 4}]; None for boxes and spans.

    >>> _chosen("pos"), _chosen({"choices": ["a", "b"]}), _chosen([{"rating": 4}]), _chosen([{"x": 1, "labels": ["a"]}])
    ('pos', ['a', 'b'], 4, None)
    """
    if isinstance(value, Mapping):
        return list(value["choices"]) if "choices" in value else None
    if isinstance(value, list):
        said = [one.get(key) for one in value for key in ANSWERS.values() if isinstance(one, Mapping) and key in one]
        return said[0] if len(said) == len(value) == 1 else None
    return value if isinstance(value, (str, int, float)) else None


def _cell(text: str) -> Any:
    """Decode a CSV cell that contains JSON."""
    if not text.startswith(("{", "[{")):
        return text
    said = _chosen(loads(text))
    if said is None:
        raise ValueError(text)
    return json.dumps(said) if isinstance(said, list) else said


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > 40 or "://" in value or value.startswith("/data/"))


def _roles(names: Sequence[str]) -> Mapping[str, str]:
    """Older files have the question just before the annotator, newer ones anywhere, so two candidates may remain."""
    roles = {"item": "id", "worker": "annotator", "status": ""}
    if "lead_time" in names:
        roles["seconds"] = "lead_time"
    own = [name for name in names if name not in OF_ROW and name.casefold() not in OF_TASK]
    return {**roles, "label": own[0]} if len(own) == 1 else roles


FORMATS: list[Format | TableFormat] = [
    Format(
        name="Label Studio export",
        recognise=lambda keys, _: {"id", "data", "annotations"} <= keys,
        votes=_export,
        nouns=("annotator", "task"),
        refusal=_refusal,
    ),
    Format(
        name="Label Studio JSON-MIN export",
        recognise=lambda keys, _: {"id", "annotator", "annotation_id"} <= keys,
        votes=_minimal,
        nouns=("annotator", "task"),
    ),
    TableFormat(
        name="Label Studio table",
        columns=frozenset(["id", "annotator", "annotation_id"]),
        roles=_roles,
        answer=_cell,
    ),
]
