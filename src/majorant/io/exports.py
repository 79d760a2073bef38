"""Exports of annotation tools: one record per item, its votes inside; told by their keys and laid out a vote a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.columns import Choice

Record = Mapping[str, Any]
DATA = "data."  # before the names of an item's own fields, so that none is taken for a role
ANSWERS = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}  # Label Studio
USED = frozenset(["id", "answer"])
PREDICTED_BY = "model_version"


@dataclass(slots=True)
class Vote:
    """One worker's answers on one item; without answers, an abstention."""

    item: Any
    worker: Any
    answers: dict[str, Any]  # question -> label, or a list of labels
    seconds: float | None = None
    is_gold: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """An annotation tool: how its export is told, and the votes in a record of it."""

    name: str
    is_export: Callable[[frozenset[str]], bool]
    votes: Callable[[Record, bool], Iterator[Vote]]  # a record, whether models' predictions are the votes


def recognise(names: Sequence[str]) -> Tool | None:
    """The tool whose export has these keys.

    >>> recognise(["id", "data", "annotations", "predictions"]).name
    'Label Studio'
    >>> recognise(["item", "worker", "label"]) is None
    True
    """
    keys = frozenset(names)
    return next((tool for tool in TOOLS if tool.is_export(keys)), None)


def write_votes(path: Path, records: Iterable[Record], tool: Tool, choice: Choice, source: str) -> tuple[str, ...]:
    """Lay the votes out, one JSON object a line, under the names that are returned; `label` picks the question."""
    predicted = choice.named.get("worker") == PREDICTED_BY
    layout = _Layout(source, choice.named.get("label"), PREDICTED_BY if predicted else "worker")
    with path.open("w", encoding="utf-8") as out:
        for number, record in enumerate(records, start=1):
            for row in layout.rows(record, list(_votes(tool, record, predicted, f"{source}, record {number}"))):
                out.write(json.dumps(row) + "\n")
    layout.refuse_unclear_question()
    return layout.names


def _votes(tool: Tool, record: Record, predicted: bool, where: str) -> Iterator[Vote]:
    try:
        yield from tool.votes(record, predicted)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(
            f"{where} is not laid out as {tool.name} exports it ({type(error).__name__}: {error}). Export it again, or "
            "give a table with the columns item, worker and label."
        ) from None


@dataclass(slots=True)
class _Layout:
    """The columns of the votes: the same keys in every line, in one order."""

    source: str
    question: str | None  # as the caller says; None: the only one there is
    worker: str  # what the column of the workers is called
    questions: dict[str, None] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return ("item", self.worker, self.question or "label", "gold", "seconds", *self.fields)

    def rows(self, record: Record, votes: Sequence[Vote]) -> Iterator[dict[str, Any]]:
        """A line for each vote that is not gold; gold goes to all of them."""
        gold = next((self._label(vote) for vote in votes if vote.is_gold), None)
        fields = record.get("data") or {key: record[key] for key in record if key[0] != "_" and key not in USED}
        own = {DATA + key: value for key, value in fields.items() if isinstance(value, (str, int, float))}
        self.fields.update(dict.fromkeys(own))
        for vote in votes:
            if not vote.is_gold:
                cells = (vote.item, vote.worker, self._label(vote), gold, vote.seconds)
                yield dict(zip(self.names[: len(cells)], cells, strict=True)) | own

    def _label(self, vote: Vote) -> Any:
        self.questions.update(dict.fromkeys(vote.answers))
        question = self.question or next(iter(self.questions), None)
        answer = vote.answers.get(question) if question is not None else None
        if not isinstance(answer, list):
            return answer
        if len(answer) > 1:
            raise DataError(
                f"{self.source}, item {vote.item!r}: worker {vote.worker!r} chooses several labels at once, "
                f"{', '.join(map(repr, answer[:4]))}. A vote is one label: ask a yes-no question for each label."
            )
        return answer[0] if answer else None

    def refuse_unclear_question(self) -> None:
        asked = ", ".join(map(repr, self.questions))
        if self.question is None and len(self.questions) > 1:
            raise DataError(f"{self.source} asks several questions: {asked}. Say which with label='NAME'.")
        if self.question is not None and self.question not in self.questions:
            raise ConfigError(f"{self.source} has no question {self.question!r}. It asks {asked or 'none'}.")
        if not self.questions:
            raise DataError(f"{self.source} holds no answer: no choice, rating or number on any item.")


def _label_studio(task: Record, predicted: bool) -> Iterator[Vote]:
    """Annotations are votes; one marked as ground truth is gold and no vote, a skipped one an abstention."""
    if predicted:
        for prediction in task.get("predictions") or ():
            yield Vote(task["id"], prediction[PREDICTED_BY], _results(prediction))
        return
    for annotation in task["annotations"]:
        by = annotation["completed_by"]
        worker = (by.get("email") or by["id"]) if isinstance(by, Mapping) else by
        answers = {} if annotation.get("was_cancelled") else _results(annotation)
        is_gold = bool(annotation.get("ground_truth"))
        yield Vote(task["id"], worker, answers, seconds=annotation.get("lead_time"), is_gold=is_gold)


def _results(annotation: Record) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for result in annotation.get("result") or ():
        if result.get("type") in ANSWERS:
            answer = result["value"][ANSWERS[result["type"]]]
            labels = answer if isinstance(answer, list) else [answer]
            answers.setdefault(result["from_name"], []).extend(labels)
    return answers


def _prodigy(task: Record, predicted: bool) -> Iterator[Vote]:
    """The chosen option is the label; where there are none to choose, accept and reject are the labels."""
    del predicted  # Prodigy keeps no predictions apart
    worker = task.get("_annotator_id") or task["_session_id"]
    if "options" in task or "accept" in task:
        answers = {"accept": list(task.get("accept") or ())} if task["answer"] == "accept" else {}
        yield Vote(task["_input_hash"], worker, answers)
    else:
        item = task["_task_hash"] if "label" in task else task["_input_hash"]  # is it this label? of text and label
        yield Vote(item, worker, {} if task["answer"] == "ignore" else {"answer": task["answer"]})


def _argilla(record: Record, predicted: bool) -> Iterator[Vote]:
    """Submitted responses are votes, drafts and discarded ones abstentions."""
    del predicted  # a record holds one suggestion at most: no panel
    workers: dict[Any, dict[str, Any]] = {}
    for key in record:
        if not key.endswith(ARGILLA_USERS) or record[key] is None:
            continue
        question = key.removesuffix(ARGILLA_USERS)
        labels = record[f"{question}.responses"]
        states = record.get(f"{question}.responses.status") or ["submitted"] * len(labels)
        for worker, label, state in zip(record[key], labels, states, strict=True):
            workers.setdefault(worker, {}).update({question: label} if state == "submitted" else {})
    for worker, answers in workers.items():
        yield Vote(record["id"], worker, answers)


ARGILLA_USERS = ".responses.users"
TOOLS = (
    Tool("Label Studio", lambda keys: {"id", "data", "annotations"} <= keys, _label_studio),
    Tool("Prodigy", lambda keys: {"_input_hash", "answer"} <= keys, _prodigy),
    Tool("Argilla", lambda keys: any(key.endswith(ARGILLA_USERS) for key in keys), _argilla),
)
