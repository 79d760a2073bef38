"""What defines a tool's format: how to recognise it, and where its records or tables keep the votes.

The votes of recognised records are written to a temporary file, one per line, and read like any other table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from majorant.errors import ConfigError, DataError, use
from majorant.read.options import Choice
from majorant.votes import Note, NoteKind

Record = Mapping[str, Any]
DATA = "data."  # prefix of the names of item fields, so that none is mistaken for a role


@dataclass(slots=True, kw_only=True)
class Vote:
    """One worker's answers on one item; without answers, an abstention."""

    item: Any
    worker: Any
    answers: Mapping[str, Any]  # question -> label, or a list of labels
    seconds: float | None = None
    is_gold: bool = False
    partial: bool = False  # another record may answer the question, so a missing answer is not an abstention
    fields: Mapping[str, Any] = field(default_factory=dict)  # what the file says about the item, except lists


@dataclass(slots=True, kw_only=True)
class Context:
    """Where the records come from, and the options that apply to them."""

    source: str
    question: str | None = None  # the question that the caller chose
    predicted: bool = False  # whether votes are the predictions of models
    responses: int = 0  # number given by a model, if a log keeps only some
    kept: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format that keeps the votes of an item or a run inside one JSON record, document or archive."""

    name: str  # "Label Studio export"
    recognise: Callable[[frozenset[str], Record], bool]  # given all keys of the records, and the first record
    votes: Callable[[Record, Context], Iterator[Vote]]
    nouns: tuple[str, str] = ("annotator", "item")  # the tool's words for workers and items
    default: str | None = None  # the question to use if the caller does not choose
    # why this export cannot be read and which one can, given its first record and the file name
    refusal: Callable[[Record, str], str | None] = lambda first, source: None  # noqa: ARG005
    judges: bool = False  # whether workers judge a model's answers


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """The table of a tool, with a row per vote or per item, and what its columns mean."""

    name: str
    columns: frozenset[str]  # the table has all of these columns,
    prefix: str = ""  # and one that starts with this
    roles: Callable[[Sequence[str]], Mapping[str, str]]  # role -> column; other roles are detected as usual
    workers: Callable[[Sequence[str]], Sequence[str]] | None = None  # the worker columns, if each row is an item
    answer: Callable[[str], Any] | None = None  # decodes a label cell that contains JSON
    judges: bool = False


@contextmanager
def reporting_structure(name: str, where: str) -> Iterator[None]:
    """Report a record that lacks the structure of its format."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{where} is not as in a {name} ({type(error).__name__}: {error}). Export it again, or "
            "give a table with the columns item, worker and label."
        ) from None


def scalar_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that are single values."""
    return {key: value for key, value in record.items() if isinstance(value, (str, int, float))}


class VoteLines(NamedTuple):
    """The keys of all lines in a written file, a description for the account, and notes."""

    names: tuple[str, ...]
    described: str
    notes: tuple[Note, ...]


def write_votes(
    path: Path, records: Iterable[Record], format: Format, context: Context, choice: Choice, *,
    split: bool = False, item_prefix: str = "", worker_suffix: str = "",
) -> VoteLines:  # fmt: skip
    """Write the votes as one JSON object per line; `split` allows several labels per vote.

    The prefix and suffix distinguish the items and workers of one log from those of others.
    """
    source, predicted_by = context.source, "model_version"
    context.question = str(choice.named.get("label") or "") or None
    context.predicted = choice.named.get("worker") == predicted_by
    names = ["item", predicted_by if context.predicted else "worker", context.question or "label", "gold", "seconds"]
    questions: dict[str, None] = {}
    fields: dict[str, None] = {}
    workers: set[Any] = set()
    items: set[Any] = set()

    def asked() -> str:
        return context.question or format.default or next(iter(questions), "")

    def label_of(vote: Vote) -> Any:
        questions.update(dict.fromkeys(vote.answers))
        answer = vote.answers.get(asked())
        if split or not isinstance(answer, list):
            return answer
        if len(answer) > 1:
            raise DataError(
                f"{source}, item {vote.item!r}: worker {vote.worker!r} chooses several labels at once, "
                f"{', '.join(map(repr, answer[:4]))}. Pass {use('several', True)} for a yes or no on each label."
            )
        return answer[0] if answer else None

    with path.open("w", encoding="utf-8") as out:
        for number, record in enumerate(records, start=1):
            with reporting_structure(format.name, f"{source}, record {number}"):
                votes = list(format.votes(record, context))
                workers.update(vote.worker for vote in votes if not vote.is_gold)
                items.update(vote.item for vote in votes)
                own_v = [{DATA + key: value for key, value in scalar_fields(vote.fields).items()} for vote in votes]
            gold = {vote.item: label_of(vote) for vote in votes if vote.is_gold}
            for vote, own in zip(votes, own_v, strict=True):
                label = label_of(vote)
                if vote.is_gold or (vote.partial and vote.answers and asked() not in vote.answers):
                    continue
                fields.update(dict.fromkeys(own))
                item = f"{item_prefix}{vote.item}" if item_prefix else vote.item
                worker = f"{vote.worker}{worker_suffix}" if worker_suffix else vote.worker
                cells = (item, worker, label, gold.get(vote.item), vote.seconds)
                out.write(json.dumps(dict(zip(names, cells, strict=True)) | own) + "\n")
    listed = ", ".join(map(repr, questions))
    if context.question is None and format.default is None and len(questions) > 1:
        raise DataError(f"{source} asks several questions: {listed}. Say which with {use('label', 'NAME')}.")
    if context.question is not None and context.question not in questions:
        raise ConfigError(f"{source} has no question {context.question!r}. It asks {listed or 'none'}.")
    if not questions:
        raise DataError(f"{source} holds no answer: no choice, rating, number or score on any item.")
    counts = zip((len(workers), len(items)), format.nouns, strict=True)
    described = ", ".join([format.name, *(f"{count:,} {noun}{'s' * (count != 1)}" for count, noun in counts)])
    notes: tuple[Note, ...] = ()
    if context.responses > context.kept:
        notes = (Note(NoteKind.DROPPED_RESPONSES, {"kept": context.kept, "total": context.responses}),)
    return VoteLines((*names, *fields), described, notes)
