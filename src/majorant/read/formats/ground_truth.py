"""SageMaker Ground Truth: the consolidation request, the workers' responses, and the output manifest.

Layout: docs.aws.amazon.com/sagemaker, labelling job output data; aws-samples/aws-sagemaker-ground-truth-recipe,
aws_sagemaker_ground_truth_sample_lambda/annotation_consolidation_lambda.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote
from majorant.read.table import loads


def template_answers(content: Any) -> dict[str, Any]:
    """Answers from a template: {"question": {"label": "x"}}, {"question": {"labels": [...]}} or {"question": "x"}."""
    content = loads(content) if isinstance(content, str) else content
    found: dict[str, Any] = {}
    for question, answer in content.items():
        if isinstance(answer, Mapping) and ("label" in answer or "labels" in answer):
            found[question] = answer["label"] if "label" in answer else list(answer["labels"])
        elif isinstance(answer, Mapping) and answer and all(isinstance(on, bool) for on in answer.values()):
            found[question] = [name for name, on in answer.items() if on]  # radio buttons
        elif isinstance(answer, (str, int, float)):
            found[question] = answer
    return found


def _annotations(item: Any, annotations: Any, fields: Mapping[str, Any]) -> Iterator[Vote]:
    for given in annotations:
        answers = template_answers(given["annotationData"]["content"])
        yield Vote(item=item, worker=given["workerId"], answers=answers, fields=fields)


def _consolidation(record: Record, _: Context) -> Iterator[Vote]:
    return _annotations(record["datasetObjectId"], record["annotations"], record.get("dataObject") or {})


def _manifest(record: Record, _: Context) -> Iterator[Vote]:
    """A custom job may store every worker's answer in the manifest."""
    return _annotations(record.get("source-ref") or record["source"], _of_all_workers(record) or (), {})


def _of_all_workers(record: Record) -> Any:
    key = "annotationsFromAllWorkers"
    return next((value[key] for value in record.values() if isinstance(value, Mapping) and key in value), None)


def _refuse_merged(first: Record, _: str) -> str | None:
    if _of_all_workers(first) is None:
        return (
            "which holds one label per object, already merged. The single votes are in the job's folder "
            "annotations/worker-response, or in annotations/consolidated-annotation/consolidation-request."
        )
    return None


def _responses(record: Record, context: Context) -> Iterator[Vote]:
    """One file per object: worker-response/iteration-1/OBJECT/TIME.json, or a file named after the object."""
    path = Path(context.source)
    place = path.parent.name if path.parent.parent.name.startswith("iteration-") else path.stem
    item = record.get("datasetObjectId") or record.get("humanLoopName") or place
    for given in record.get("answers") or record["humanAnswers"]:
        answers = template_answers(given["answerContent"])
        yield Vote(item=item, worker=given["workerId"], answers=answers, seconds=given.get("timeSpentInSeconds"))


def _has_responses(first: Record) -> bool:
    given = first.get("answers") or first.get("humanAnswers") or [None]
    return (
        isinstance(given, list) and isinstance(given[0], Mapping) and {"workerId", "answerContent"} <= given[0].keys()
    )


FORMATS = [
    Format(
        name="Ground Truth consolidation request",
        recognise=lambda keys, _: {"datasetObjectId", "annotations"} <= keys,
        votes=_consolidation,
        nouns=("worker", "object"),
    ),
    Format(
        name="Ground Truth worker response",
        recognise=lambda keys, first: bool({"answers", "humanAnswers"} & keys) and _has_responses(first),
        votes=_responses,
        nouns=("worker", "object"),
    ),
    Format(
        name="Ground Truth output manifest",
        recognise=lambda keys, _: (
            bool({"source", "source-ref"} & keys)
            and any(key.endswith("-metadata") and key.removesuffix("-metadata") in keys for key in keys)
        ),
        votes=_manifest,
        nouns=("worker", "object"),
        refusal=_refuse_merged,
    ),
]
