"""Inspect: logs as .json or as .eval, an archive with a header and a file per sample; each scorer is a judge.

An item is a model's answer to a sample, so logs of different models or tasks have different items, while logs of the
same model and task have different judges of the same items.  Layout: UKGovernmentBEIS/inspect_ai, src/inspect_ai/log:
_recorders/eval.py (archive), _recorders/chunked/format.py (large samples), _log.py and ../scorer/_metric.py (values).
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant.errors import DataError
from majorant.read.files import read_member
from majorant.read.formats.base import Context, Format, Record, TableFormat, Vote, scalar_fields
from majorant.read.table import loads

if TYPE_CHECKING:
    from majorant.read.files import File
    from majorant.read.options import ReadOptions
    from majorant.read.table import RowSource


def open_archive(file: File, how: ReadOptions, stack: ExitStack) -> RowSource:
    """The votes in an .eval archive."""
    from majorant.read.json_text import open_votes

    return open_votes(file, [read_archive(file.path, file.name)], how, stack)


def read_archive(path: Path, name: str) -> dict[str, Any]:
    """Read an .eval archive as the document in the .json of the same log, without messages and events."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            log = loads(read_member(name, archive, start))
            sample = r"samples/.+_epoch_\d+(\.json|/sample\.json)"  # in the latter, messages are in other members
            members = [one for one in names if re.fullmatch(sample, one)]
            return {**log, "samples": [_essentials(loads(read_member(name, archive, one))) for one in members]}
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, EOFError, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name} is an Inspect log that is damaged or cut off. Copy it again.") from None
    except NotImplementedError:
        raise DataError(
            f"{name} is an Inspect log packed in a way that cannot be read. Turn it into JSON with Inspect's own "
            "`inspect log convert`."
        ) from None


def _essentials(sample: Record) -> dict[str, Any]:
    """The parts of a sample that votes need; messages and events can be a thousand times as long."""
    kept = {
        key: sample[key]
        for key in ("id", "epoch", "target", "error", "invalidation", "score", "scores")
        if key in sample
    }
    return {**kept, "input": _text(sample), "metadata": scalar_fields(sample.get("metadata") or {})}


def tell_logs_apart(files: Sequence[File]) -> list[File]:
    """For several logs, add the task or model to items if they differ, and the file to judges if they clash."""
    headers = [_header_of(file) for file in files] if len(files) > 1 else [None]
    known = [header for header in headers if header is not None]
    if len(known) < 2:
        return list(files)
    differing = [key for key in ("task", "model") if len({str(header[key]) for header in known}) > 1]
    parts = [None if one is None else tuple(str(one[key]) for key in differing) for one in headers]
    scorers: dict[Any, list[str]] = {}
    for part, one in zip(parts, headers, strict=True):
        scorers.setdefault(part, []).extend(one["scorers"] if one is not None else ())
    apart = []
    for file, part in zip(files, parts, strict=True):
        clash = part is not None and len(scorers[part]) > len(set(scorers[part]))
        suffix = f" in {Path(file.name).name.split('.')[0]}" if clash else ""
        apart.append(replace(file, item_prefix=f"{', '.join(part)}: " if part else "", worker_suffix=suffix))
    return apart


def _header_of(file: File) -> Mapping[str, Any] | None:
    if file.type.name == "eval":
        return header(read_archive(file.path, file.name))
    if file.type.name != "json" or b'"eval"' not in file.head:
        return None
    try:
        with file.open() as raw:
            log = loads(raw.read())
    except ValueError:
        return None
    return header(log) if isinstance(log, dict) and _is_log(frozenset(log), log) else None


def _is_log(keys: frozenset[str], first: Record) -> bool:
    return {"version", "status", "eval"} <= keys and isinstance(first.get("eval"), Mapping)


def header(log: Record) -> dict[str, Any]:
    """What identifies a log: task, judged model and scorers."""
    said = log.get("eval") or {}
    return {"task": said.get("task"), "model": said.get("model"), "scorers": frozenset(_scorers(log))}


def _scorers(log: Record) -> list[str]:
    """The scorers, by their names in the samples' scores or, if no sample has any, by those in the log's header."""
    scored = [name for sample in log.get("samples") or () for name in _scores(sample, log)]
    announced = [score["name"] for score in _named(log.get("results"), "scores")]
    return list(dict.fromkeys(scored)) or list(dict.fromkeys([*announced, *_numbered(log)]))


def _named(part: Any, key: str) -> list[Record]:
    """Named entries of a section of the log; unnamed ones are skipped."""
    listed = part.get(key) if isinstance(part, dict) else None
    known = listed if isinstance(listed, list) else []
    return [one for one in known if isinstance(one, dict) and isinstance(one.get("name"), str)]


def _numbered(log: Record) -> dict[str, Record]:
    """The scorers in the header; like Inspect, call the second one of the same name NAME1."""
    found: dict[str, Record] = {}
    for one in _named(log.get("eval"), "scorers"):
        name = base = one["name"].rsplit("/", 1)[-1]  # without the package name
        number = 0
        while name in found:
            number += 1
            name = f"{base}{number}"
        found[name] = one
    return found


def _graders(log: Record) -> dict[str, str]:
    """Scorers with their grading model: their own, or the model with the role of grader."""
    role = ((log.get("eval") or {}).get("model_roles") or {}).get("grader") or {}
    found = {}
    for name, one in _numbered(log).items():
        model = (one.get("options") or {}).get("model") or (role.get("model") if "graded" in name else None)
        if isinstance(model, str):
            found[name] = f"{name} by {model}"
    return found


def _scores(sample: Record, log: Record) -> Mapping[str, Any]:
    """Scores by scorer; older logs have a single unnamed one."""
    if "score" in sample and sample.get("score"):
        return {next(iter(_numbered(log)), "score"): sample["score"]}
    scores: Mapping[str, Any] = sample.get("scores") or {}
    return scores


def _votes(log: Record, _: Context) -> Iterator[Vote]:
    """A score is a vote; for a failed or unscored sample, or "no answer", scorers abstain."""
    scorers, graders = _scorers(log), _graders(log)
    for sample in log["samples"] or ():
        scores, failed = _scores(sample, log), sample.get("error") or sample.get("invalidation")
        fields = {"text": _text(sample), "epoch": sample.get("epoch"), "target": sample.get("target")}
        fields |= sample.get("metadata") or {}
        for scorer in scorers:
            answers = {} if failed else _answers((scores.get(scorer) or {}).get("value"))
            yield Vote(item=sample["id"], worker=graders.get(scorer, scorer), answers=answers, fields=fields)


def _answers(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {key: one for key, one in value.items() if not _is_silent(one)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"value": list(value)}
    return {} if _is_silent(value) else {"value": value}


def _is_silent(value: Any) -> bool:
    return value is None or value == "N" or (isinstance(value, float) and math.isnan(value))


def _text(sample: Record) -> str | None:
    """The question, or the last user message of a conversation."""
    attached = "attachment://"  # long texts are stored elsewhere in the sample
    given = sample.get("input")
    if isinstance(given, list):
        said = [message.get("content") for message in given if message.get("role") == "user"]
        given = said[-1] if said else None
    if isinstance(given, list):
        given = " ".join(part.get("text", "") for part in given if isinstance(part, Mapping))
    if isinstance(given, str) and given.startswith(attached):
        given = (sample.get("attachments") or {}).get(given.removeprefix(attached))
    return given if isinstance(given, str) else None


def _refusal(first: Record, _: str) -> str | None:
    if not first.get("samples"):
        return "without samples: a header alone. Name the .eval file, or write the log with its samples."
    if not _scorers(first):
        return "whose samples have not been scored. Score them with `inspect score`."
    return None


FORMATS: list[Format | TableFormat] = [
    Format(
        name="Inspect log",
        recognise=_is_log,
        votes=_votes,
        nouns=("scorer", "sample"),
        refusal=_refusal,
        judges=True,
    ),
    TableFormat(  # from samples_df() in inspect_ai.analysis, with a column per scorer
        name="Inspect samples",
        columns=frozenset(["sample_id", "eval_id", "epoch"]),
        roles=lambda names: {"item": "id" if "id" in names else "sample_id", "gold": ""},
        workers=lambda names: [name for name in names if name.startswith("score_")],
        judges=True,
    ),
]
