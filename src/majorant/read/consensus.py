"""Export labels to labelling tools as predictions, suggestions or tasks, with confidence and item text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from majorant.errors import ConfigError, use
from majorant.read.formats.base import DATA
from majorant.read.opening import open_rows
from majorant.read.options import ReadOptions
from majorant.read.table import cell_values, loads, named_faults, too_deep


class Consensus(NamedTuple):
    """The label of an item and its confidence; an item without votes has no label."""

    item: Any
    label: Any
    confidence: float | None


class Tool(NamedTuple):
    """What an export needs: item fields, classes and the names of form controls."""

    fields: Mapping[str, Mapping[str, Any]]  # item name as text -> its fields
    labels: Sequence[Any]
    question: str = "label"
    about: str = "text"


def export_text(name: str, labelled: Iterable[Consensus], tool: Tool) -> str:
    """The content of a file for the tool to import.

    >>> print(export_text("prodigy", [Consensus("q1", "yes", .9)], Tool({"q1": {"text": "Hi"}}, ["no", "yes"])), end="")
    {"text": "Hi", "options": [{"id": "no", "text": "no"}, {"id": "yes", "text": "yes"}], "accept": ["yes"],
     "meta": {"item": "q1", "confidence": 0.9}}
    """
    if name not in EXPORTERS:
        raise ConfigError(f"{use('export', name)}: choose one of {', '.join(EXPORTERS)}.")
    return EXPORTERS[name]([entry for entry in labelled if entry.label is not None], tool)


def item_fields(source: Any, *, item: str | Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """The fields of each item in an export, by the item's name as text; empty for a plain table."""
    fields_of: dict[str, dict[str, Any]] = {}
    with named_faults(source), open_rows(source, ReadOptions(item=item)) as every:
        for rows in every:
            own = [p for p, name in enumerate(rows.names) if name.startswith(DATA)]
            if not own or "item" not in rows.names:
                continue
            place = rows.names.index(item if item in rows.names else "item")
            for columns in rows.stream([place, *own]):
                for name, *values in zip(*(cell_values(column, rows.kind) for column in columns), strict=True):
                    given = {rows.names[p].removeprefix(DATA): v for p, v in zip(own, values, strict=True)}
                    fields_of.setdefault(str(name), {key: value for key, value in given.items() if value is not None})
    return fields_of


def control_of(source: Any) -> tuple[str, str] | None:
    """The names of the choice control in a Label Studio export, as in the project's labelling interface."""
    if not isinstance(source, (str, Path)) or not Path(source).is_file() or Path(source).suffix != ".json":
        return None
    try:
        tasks = loads(Path(source).read_text(encoding="utf-8-sig"))
    except RecursionError as error:
        raise too_deep(str(source), error) from None
    except ValueError:  # JSON Lines or another encoding, so not a Label Studio export
        return None
    for task in _records(tasks):
        for annotation in _records(task.get("annotations")):
            for result in _records(annotation.get("result")):
                names = result.get("from_name"), result.get("to_name")
                if result.get("type") == "choices" and isinstance(names[0], str) and isinstance(names[1], str):
                    return names[0], names[1]
    return None


def _records(values: Any) -> list[dict[str, Any]]:
    """The dicts in a list; nothing for anything else."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _label_studio(labelled: Sequence[Consensus], tool: Tool) -> str:
    """Tasks with one prediction each, whose score is the confidence."""
    tasks = []
    for entry in labelled:
        value = {"choices": [str(entry.label)]}
        result = {"from_name": tool.question, "to_name": tool.about, "type": "choices", "value": value}
        prediction = {"model_version": "majorant", "score": entry.confidence, "result": [result]}
        own = tool.fields.get(str(entry.item), {})
        tasks.append({"id": entry.item, "data": {"item": entry.item, **own}, "predictions": [prediction]})
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _argilla(labelled: Sequence[Consensus], tool: Tool) -> str:
    """Records for `dataset.records.from_json`, with one suggestion each."""
    records = [
        {
            "id": str(entry.item),
            "fields": {
                name: str(value) for name, value in (tool.fields.get(str(entry.item)) or {"text": entry.item}).items()
            },
            "metadata": {},
            "suggestions": {tool.question: {"value": entry.label, "score": entry.confidence, "agent": "majorant"}},
            "responses": {},
            "vectors": {},
        }
        for entry in labelled
    ]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def _prodigy(labelled: Sequence[Consensus], tool: Tool) -> str:
    """Choice tasks with the label preselected; the confidence is shown with the task."""
    options = [{"id": str(label), "text": str(label)} for label in tool.labels]
    lines = []
    for entry in labelled:
        text = (tool.fields.get(str(entry.item)) or {}).get("text", str(entry.item))
        meta = {"item": entry.item, "confidence": entry.confidence}
        lines.append({"text": text, "options": options, "accept": [str(entry.label)], "meta": meta})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


EXPORTERS: dict[str, Callable[[Sequence[Consensus], Tool], str]] = {
    "label-studio": _label_studio,
    "argilla": _argilla,
    "prodigy": _prodigy,
}
