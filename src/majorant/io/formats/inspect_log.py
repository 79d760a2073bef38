"""Inspect: logs as .json, or as .eval, an archive with a header and a file per sample; each scorer is a judge.

What is judged is a model's answer to a sample, so a log of another model or task holds other items, and a log of the
same model and task other judges of the same items.  https://inspect.aisi.org.uk/eval-logs.html
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from majorant.errors import DataError
from majorant.io.formats.base import Context, Format, Record, Vote, scalar_fields
from majorant.io.json_values import loads

NO_ANSWER = "N"
ZSTANDARD = 93  # a way of packing archives that Python reads from 3.14 on


def document(path: Path, name: str) -> dict[str, Any]:
    """An .eval archive as the document that the .json of the same log would be."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if any(info.compress_type == ZSTANDARD for info in archive.infolist()):
                raise NotImplementedError
            header = loads(archive.read("header.json" if "header.json" in names else "_journal/start.json"))
            samples = [
                loads(archive.read(one)) for one in names if one.startswith("samples/") and one.endswith(".json")
            ]
            return {**header, "samples": samples}
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, OSError):
        raise DataError(f"{name} is an Inspect log that is damaged or cut off. Copy it again.") from None
    except NotImplementedError:
        raise DataError(
            f"{name} is an Inspect log packed in a way that this Python cannot read. Turn it into JSON with Inspect's "
            "own `inspect log convert`, or use Python 3.14."
        ) from None


def header(log: Record) -> dict[str, Any]:
    """What tells logs apart: the task, the model whose answers are judged, and the scorers."""
    said = log.get("eval") or {}
    return {"task": said.get("task"), "model": said.get("model"), "scorers": frozenset(_scorers(log))}


def _scorers(log: Record) -> list[str]:
    """The scorers by name, those with a grader of their own with its name."""
    said = log.get("eval") or {}
    graders = {one["name"]: (one.get("options") or {}).get("model") for one in said.get("scorers") or ()}
    named = [*graders, *(score["name"] for score in (log.get("results") or {}).get("scores") or ())]
    for sample in log.get("samples") or ():
        named += list(sample.get("scores") or {})
    return list(dict.fromkeys(named))


def _graders(log: Record) -> dict[str, str]:
    said = log.get("eval") or {}
    role = (said.get("model_roles") or {}).get("grader") or {}
    found = {}
    for one in said.get("scorers") or ():
        model = (one.get("options") or {}).get("model") or (role.get("model") if "graded" in one["name"] else None)
        if isinstance(model, str):
            found[one["name"]] = f"{one['name']} by {model}"
    return found


def _votes(log: Record, context: Context) -> Iterator[Vote]:
    """A score is a vote; a sample that failed, an unscored one and "no answer" are abstentions of its scorers."""
    scorers, graders = _scorers(log), _graders(log)
    for sample in log["samples"] or ():
        scores = sample.get("scores") or {}
        context.count(sample=sample["id"])
        fields = {"text": _text(sample.get("input")), "epoch": sample.get("epoch"), "target": sample.get("target")}
        fields |= scalar_fields(sample.get("metadata") or {})
        for scorer in scorers:
            context.count(scorer=scorer)
            answers = _answers((scores.get(scorer) or {}).get("value")) if not sample.get("error") else {}
            yield Vote(item=sample["id"], worker=graders.get(scorer, scorer), answers=answers, fields=fields)


def _answers(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {key: one for key, one in value.items() if not _is_silent(one)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"value": list(value)}
    return {} if _is_silent(value) else {"value": value}


def _is_silent(value: Any) -> bool:
    return value is None or value == NO_ANSWER or (isinstance(value, float) and math.isnan(value))


def _text(given: Any) -> str | None:
    """The question; of a conversation, what the user said last."""
    if isinstance(given, list):
        said = [message.get("content") for message in given if message.get("role") == "user"]
        given = said[-1] if said else None
    if isinstance(given, list):
        given = " ".join(part.get("text", "") for part in given if isinstance(part, Mapping))
    return given if isinstance(given, str) else None


def _empty(keys: frozenset[str], first: Record) -> str | None:
    del keys
    if not first.get("samples"):
        return "without samples: a header alone. Name the .eval file, or write the log with its samples."
    if not _scorers(first):
        return "whose samples nobody has scored. Score them with `inspect score`."
    return None


LOG = Format(
    name="Inspect log",
    recognise=lambda keys, first: {"version", "status", "eval"} <= keys and isinstance(first.get("eval"), Mapping),
    votes=_votes,
    default=None,
    kinds=("scorer", "sample"),
    refusal=_empty,
    header=header,
)
