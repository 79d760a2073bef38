"""The votes of a recognised file, laid out a vote a line, so that they are read as any other table is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError, DataError
from majorant.io.columns import Choice
from majorant.io.formats.base import Context, Format, Record, Vote, as_its_tool_does, plural

DATA = "data."  # before the names of an item's own fields, so that none is taken for a role
PREDICTED_BY = "model_version"


@dataclass(frozen=True, slots=True)
class Laid:
    """The columns of the lines, and what was recognised, in a sentence."""

    names: tuple[str, ...]
    described: str


def write_votes(
    path: Path, records: Iterable[Record], format: Format, choice: Choice, context: Context, *, split: bool = False
) -> Laid:
    """Lay the votes out, one JSON object a line; `label` picks the question, `split` makes a yes or no per label."""
    context.question = choice.named.get("label") or None
    context.predicted = choice.named.get("worker") == PREDICTED_BY
    layout = _VoteColumns(context, format.default, PREDICTED_BY if context.predicted else "worker", split)
    n_votes = 0
    with path.open("w", encoding="utf-8") as out:
        for number, record in enumerate(records, start=1):
            votes = list(votes_in(format, record, context, f"{context.source}, record {number}"))
            for row in layout.rows(votes):
                out.write(json.dumps(row) + "\n")
                n_votes += 1
    layout.refuse_unclear_question()
    counted = [plural(len(context.counted.get(kind, ())), kind) for kind in format.kinds]
    return Laid(layout.names, ", ".join([format.name, *counted]))


def votes_in(format: Format, record: Record, context: Context, where: str) -> Iterator[Vote]:
    """The votes of a record; one that is not laid out as its tool does is named."""
    with as_its_tool_does(format.name, where):
        yield from format.votes(record, context)


@dataclass(slots=True)
class _VoteColumns:
    """The columns of the votes: the same keys in every line, in one order."""

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
