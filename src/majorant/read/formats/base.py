"""Base classes for formats of other tools: how to recognise one and where a record keeps its votes.

The votes of a recognised file are written to a temporary file, one per line, and read like any other table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.read.options import Choice
from majorant.votes import Note, NoteKind

Record = Mapping[str, Any]
DATA = "data."  # prefix of the names of an item's own fields, so that none is taken for a role


@dataclass(slots=True, kw_only=True)
class Vote:
    """One worker's answers on one item; without answers, an abstention."""

    item: Any
    worker: Any
    answers: dict[str, Any]  # question -> label, or a list of labels
    seconds: float | None = None
    is_gold: bool = False
    partial: bool = False  # a missing answer is no abstention: another record may answer that question
    fields: Mapping[str, Any] = field(default_factory=dict)  # what the file says of the item


@dataclass(slots=True, kw_only=True)
class Context:
    """Source of the records, and the options that apply."""

    source: str
    question: str | None = None  # as the caller named it
    predicted: bool = False  # models' predictions are the votes
    item_prefix: str = ""  # several logs: what tells the items of this one from those of others
    worker_suffix: str = ""  # ... and its workers
    counted: dict[str, set[Any]] = field(default_factory=dict)  # for the description: counts of each kind
    responses: int = 0  # that a model gave, where a log keeps only some of them
    kept: int = 0

    def count(self, **found: Any) -> None:
        """Count something for the description."""
        for kind, value in found.items():
            self.counted.setdefault(kind, set()).add(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format with the votes of an item or a run inside one JSON record, document or archive."""

    name: str  # "Label Studio export"
    recognise: Callable[[frozenset[str], Record], bool]  # by all keys of the records, and the first record
    votes: Callable[[Record, Context], Iterator[Vote]]
    default: str | None = None  # the question where the caller names none and there are several
    kinds: tuple[str, ...] = ()  # what a description counts, besides votes: "scorer", "sample"
    refusal: Callable[[frozenset[str], Record], str | None] | None = None  # recognised, and which export can be read
    refuse_name: Callable[[str], str | None] | None = None  # the same by the name of the file
    judges: bool = False  # its workers judge a model's answers


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A table of another tool, with a row per vote or per item: which of its columns is what."""

    name: str
    columns: frozenset[str]  # it has all of these columns,
    prefix: str = ""  # and one that begins like this
    roles: Callable[[Sequence[str]], Mapping[str, str]]  # role -> column; other roles are detected as usual
    workers: Callable[[Sequence[str]], Sequence[str]] | None = None  # a row an item: the columns of its workers
    answer: Callable[[str], Any] | None = None  # decodes a label cell that contains JSON
    judges: bool = False


@contextmanager
def reporting_structure(name: str, where: str) -> Iterator[None]:
    """Report a record that does not have the structure of its format."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{where} is not as in a {name} ({type(error).__name__}: {error}). Export it again, or "
            "give a table with the columns item, worker and label."
        ) from None


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "scorer"), plural(2_000, "sample")
    ('1 scorer', '2,000 samples')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def scalar_fields(record: Mapping[str, Any], but: Iterable[str] = ()) -> dict[str, Any]:
    """The single values of a record."""
    left_out = set(but)
    return {k: v for k, v in record.items() if isinstance(v, (str, int, float)) and k not in left_out}


@dataclass(frozen=True, slots=True)
class Laid:
    """The columns of the lines, what was recognised, and notes."""

    names: tuple[str, ...]
    described: str
    notes: tuple[Note, ...] = ()


def write_votes(
    path: Path, records: Iterable[Record], format: Format, choice: Choice, context: Context, *, split: bool = False
) -> Laid:
    """Write the votes, one JSON object per line; `split` keeps several labels of a vote."""
    predicted_by = "model_version"
    context.question = str(choice.named.get("label") or "") or None
    context.predicted = choice.named.get("worker") == predicted_by
    layout = _VoteColumns(context, format.default, predicted_by if context.predicted else "worker", split)
    n_votes = 0
    with path.open("w", encoding="utf-8") as out:
        for number, record in enumerate(records, start=1):
            votes = list(votes_in(format, record, context, f"{context.source}, record {number}"))
            for row in layout.rows(votes):
                out.write(json.dumps(row) + "\n")
                n_votes += 1
    layout.refuse_unclear_question()
    counted = [plural(len(context.counted.get(kind, ())), kind) for kind in format.kinds]
    notes: tuple[Note, ...] = ()
    if context.responses > context.kept:
        notes = (Note(NoteKind.DROPPED_RESPONSES, {"kept": context.kept, "total": context.responses}),)
    return Laid(layout.names, ", ".join([format.name, *counted]), notes)


def votes_in(format: Format, record: Record, context: Context, where: str) -> Iterator[Vote]:
    """The votes of a record."""
    with reporting_structure(format.name, where):
        yield from format.votes(record, context)


@dataclass(slots=True)
class _VoteColumns:
    """The columns of the lines: the same keys in every line, in one order."""

    context: Context
    default: str | None
    worker: str  # what the column of the workers is called
    split: bool
    questions: dict[str, None] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return ("item", self.worker, self.context.question or "label", "gold", "seconds", *self.fields)

    def rows(self, votes: Sequence[Vote]) -> Iterator[dict[str, Any]]:
        """A line for each vote that is not gold; gold goes to all votes on its item."""
        gold = {vote.item: self._label(vote) for vote in votes if vote.is_gold}
        for vote in votes:
            label = self._label(vote)
            if vote.is_gold or (vote.partial and vote.answers and self._question() not in vote.answers):
                continue
            own = {DATA + key: value for key, value in vote.fields.items() if isinstance(value, (str, int, float))}
            self.fields.update(dict.fromkeys(own))
            item, worker = vote.item, vote.worker
            if self.context.item_prefix:
                item = f"{self.context.item_prefix}{item}"
            if self.context.worker_suffix:
                worker = f"{worker}{self.context.worker_suffix}"
            cells = (item, worker, label, gold.get(vote.item), vote.seconds)
            yield dict(zip(self.names[: len(cells)], cells, strict=True)) | own

    def _question(self) -> str | None:
        return self.context.question or self.default or next(iter(self.questions), None)

    def _label(self, vote: Vote) -> Any:
        self.questions.update(dict.fromkeys(vote.answers))
        question = self._question()
        answer = vote.answers.get(question) if question is not None else None
        if not isinstance(answer, list):
            return answer
        if self.split:
            return answer
        if len(answer) > 1:
            raise DataError(
                f"{self.context.source}, item {vote.item!r}: worker {vote.worker!r} chooses several labels at once, "
                f"{', '.join(map(repr, answer[:4]))}. Say several=True for a yes or no on each label."
            )
        return answer[0] if answer else None

    def refuse_unclear_question(self) -> None:
        asked = ", ".join(map(repr, self.questions))
        named, source = self.context.question, self.context.source
        if named is None and self.default is None and len(self.questions) > 1:
            raise DataError(f"{source} asks several questions: {asked}. Say which with label='NAME'.")
        if named is not None and named not in self.questions:
            raise ConfigError(f"{source} has no question {named!r}. It asks {asked or 'none'}.")
        if not self.questions:
            raise DataError(f"{source} holds no answer: no choice, rating, number or score on any item.")
