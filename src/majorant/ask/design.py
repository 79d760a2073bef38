"""A design: randomly drawn items for an expert to label, with everything needed to evaluate the labels.

It is frozen when it is drawn: the order, and what the rules say of the items, are kept in a file beside the items to
label, with a digest of the votes and of itself.  Evaluating labels refits nothing, so it does not depend on the package
version.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from majorant.arguments import validated
from majorant.ask.content import from_plain, to_plain
from majorant.ask.question import UNASKED, Codes, Outcome, Question
from majorant.ask.session import Session
from majorant.errors import ConfigError, DataError
from majorant.output import write_files
from majorant.ownership import note_input
from majorant.read.files import NamedFile
from majorant.read.tasks import (
    DESIGN_ENDING,
    EXPERTS,
    Counted,
    ExpertAnswer,
    ExpertLabels,
    Tasks,
    count_answers,
    design_path,
    digest_of,
    extended_file,
    is_file,
    may_be_drawn,
    read_answers,
    same_name,
    sample_size,
    task_file,
    with_labels,
)

FORMAT, VERSION = "majorant-design", 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Design:
    """Which items to ask an expert about, in which order, and the question that their labels answer.

    >>> from majorant.ask.race import Race
    >>> race = Race.of(("majority", "auto"), np.array([[0, 0, 1], [1, 1, 0]]), n_items=20)
    >>> design = Design(question=race, order=("c", "a", "b"), labels=("no", "yes"), votes="", seed=0).more(2)
    >>> design.items
    ('c', 'a')
    >>> design.evaluate({"c": "yes", "a": "yes"}).verdict
    'better'
    """

    question: Question
    order: tuple[Any, ...]  # the items that may be asked, in a random order
    labels: tuple[Any, ...]  # the classes
    votes: str  # digest of the votes that it was drawn for
    seed: int
    asked: tuple[int, ...] = ()  # positions in the order, in the sequence in which they are asked
    experts: str = "majority"
    call: tuple[str, ...] = ()  # files and flags of the command that read the votes
    truth: str = ""  # whose labels count as true, where it is not an expert: a file, a column or a worker
    judged_by: str | None = None  # the worker who answers; the votes of the design are those of the others
    sampled: int = 0  # the first so many positions of the order are a random sample of all items

    def __post_init__(self) -> None:
        if self.experts not in EXPERTS:
            raise ConfigError(f"experts must be one of {', '.join(EXPERTS)}, not {self.experts!r}.")
        if len(self.order) != self.question.size:
            raise DataError(f"a design of {len(self.order)} items cannot ask about {self.question.size}.")

    def __repr__(self) -> str:
        asked = f"Design: {len(self.asked):,} of {len(self.order):,} items to label, question {self.question.kind}"
        return f"{asked}\nwrite(path) makes the file for an expert; to_pandas() gives the items"

    @property
    def items(self) -> tuple[Any, ...]:
        """The items to label, in their sequence."""
        return tuple(self.order[position] for position in self.asked)

    @property
    def expected(self) -> int | None:
        """Approximate number of labels to settle the question; None if unknown."""
        return self.question.expected()

    @property
    def n_sample(self) -> int:
        """How many items at the head of the order are a random sample of all: 0 where items were chosen otherwise."""
        return sample_size(self._content())

    @property
    def uniform(self) -> bool:
        """Whether all items that were asked are a random sample of all."""
        return bool(self.n_sample) and max(self.asked, default=-1) < self.n_sample

    @property
    def id(self) -> str:
        """What stays the same when more items are asked: tasks carry it, so that labels find their design."""
        content = {key: value for key, value in self._content().items() if key not in ("asked", "call", "sampled")}
        question = {key: value for key, value in content["content"].items() if key != "taught"}
        return digest_of({**content, "content": question})[:12]

    @validated
    def more(self, n: int, labels: Mapping[Any, Any] | None = None) -> Design:
        """The same design with up to n further items, chosen by the labels so far where that saves labels."""
        if n < 0:
            raise ConfigError(f"n must be at least 0, not {n}.")
        answer_d = self._answers([ExpertAnswer(item, label) for item, label in (labels or {}).items()]).answer_d
        return self._asking(n, answer_d)

    def _asking(self, n: int, answer_d: Codes, *, at_random: bool = False) -> Design:
        question, already = self.question.advance(answer_d), set(self.asked)
        at_random = isinstance(question, Session) and (at_random or question.taught is None or question.is_idle)
        places = np.flatnonzero(answer_d == UNASKED) if at_random else question.next_items(answer_d)
        following = [int(position) for position in places if position not in already][:n]
        sampled = max(self.sampled, *following) + 1 if at_random and following else self.sampled
        return replace(self, question=question, asked=(*self.asked, *following), sampled=sampled)

    @validated
    def evaluate(self, labels: Mapping[Any, Any]) -> Outcome:
        """Evaluate labels given by item; "?" means that the expert cannot tell."""
        return self.judge([ExpertAnswer(item, label) for item, label in labels.items()])

    @validated
    def judge(self, answers: Sequence[ExpertAnswer]) -> Outcome:
        """What the answers settle: the last one of an expert on an item counts, experts count as `experts` says.

        Rows are to be labelled from the top: an item without an answer above one that has it counts as skipped.
        """
        counted = self._answers(answers)
        return replace(
            self.question.evaluate(counted.answer_d),
            uniform=self.uniform,
            n_sampled=int((counted.answer_d[: self.n_sample] >= 0).sum()),
            waiting=int((counted.answer_d[list(self.asked)] == UNASKED).sum()),
            truth=self.truth,
            ignored=counted.ignored,
            unknown=counted.unknown,
            relabelled=counted.relabelled,
            disagreed=counted.disagreed,
        )

    @validated
    def after(self, n: int, answers: Sequence[ExpertAnswer], *, at_random: bool = False) -> Design:
        """The same design with up to n further items, after these answers; `at_random`, of a session, for a rate."""
        if at_random and not self.n_sample:
            raise ConfigError("This design has no random sample to extend: draw one with majorant ask --rate.")
        return self._asking(n, self._answers(answers).answer_d, at_random=at_random)

    def codes(self, answers: Iterable[ExpertAnswer]) -> Codes:
        """What the experts said of each position of the order: a class code, SKIPPED or UNASKED."""
        return self._answers(answers).answer_d

    def drew(self, labelled: ExpertLabels) -> bool:
        """Whether a file of labels can come from this design: its id, or the item of each draw, is the same."""
        if labelled.design is not None:
            return labelled.design == self.id
        items = self.items
        return all(
            same_name(items[answer.draw - 1], answer.item)
            for answer in labelled.answers
            if answer.draw is not None and 0 < answer.draw <= len(items)
        )

    def _answers(self, answers: Iterable[ExpertAnswer]) -> Counted:
        return count_answers(answers, self.order, self.labels, asked=self.asked, experts=self.experts)

    @validated
    def write(
        self,
        path: str | Path,
        *,
        format: str = "csv",
        columns: Mapping[str, Sequence[Any]] | None = None,
        labels: Mapping[Any, Any] | None = None,
    ) -> list[Path]:
        """Write the items to label and the design next to them, both or neither.

        `columns` are the items' own columns to show, a value for each of `items`; `labels` are those that are known.
        """
        target = Path(path)
        if not target.name:
            raise ConfigError(f"path must be a file name, not {str(path)!r}.")
        tasks = Tasks(self.items, columns or {}, self.labels, self.id)
        files = task_file(target, tasks, format)
        if labels:
            by_draw = {draw: str(labels[item]) for draw, item in enumerate(self.items, start=1) if item in labels}
            files[target] = with_labels(files[target], by_draw)
        return write_files({**files, design_path(target): self.to_json()})

    @validated
    def write_more(
        self,
        path: str | Path,
        start: int,
        *,
        design: str | Path,
        format: str = "csv",
        columns: Mapping[str, Sequence[Any]] | None = None,
    ) -> list[Path]:
        """Add the items from the one at `start` on to a file that holds those before, whose labels stay."""
        tasks = Tasks(self.items[start:], columns or {}, self.labels, self.id, start + 1)
        files = {**extended_file(Path(path), tasks, format), Path(design): self.to_json()}
        return write_files(files, update=[Path(path), Path(design)])

    def to_pandas(self) -> Any:
        """The items to label as a pandas frame, with an empty column label."""
        pandas, rows = import_module("pandas"), range(1, len(self.asked) + 1)
        return pandas.DataFrame({"draw": rows, "item": list(self.items), "label": [None] * len(self.asked)})

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, with its digest."""
        content = self._content()
        return {**content, "digest": digest_of(content)}

    def to_json(self) -> str:
        """The content of the design file."""
        return json.dumps(self.to_dict(), ensure_ascii=False) + "\n"

    def _content(self) -> dict[str, Any]:
        content = to_plain(self)
        question = {"question": self.question.kind, "content": content["question"]}
        return {"format": FORMAT, "version": VERSION, **content, **question}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, source: str = "the design") -> Design:
        """The design that `to_dict` wrote; one that was changed since is refused."""
        if content.get("format") != FORMAT:
            raise DataError(f"{source} is not a design of majorant ask.")
        if content.get("version") != VERSION:
            raise DataError(
                f"{source} is a design of version {content.get('version')!r}; this package reads {VERSION}."
            )
        body = {key: value for key, value in content.items() if key != "digest"}
        if digest_of(body) != content.get("digest"):
            raise DataError(
                f"{source} was changed after it was drawn, so its labels prove nothing. Restore it, or draw "
                "new items with majorant ask."
            )
        from majorant.ask.questions import QUESTIONS  # which draw designs

        if body["question"] not in QUESTIONS:
            raise DataError(f"{source} asks {body['question']!r}, which this version does not know.")
        question = from_plain(QUESTIONS[body["question"]].judge, body["content"])
        return from_plain(cls, body, question=question)

    @classmethod
    def read(cls, path: str | Path) -> Design:
        """The design in a file."""
        note_input(path)
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"Cannot read {path}: {error.strerror or error}.") from None
        except (ValueError, RecursionError):
            raise DataError(
                f"{path} is damaged: it is not the JSON that majorant ask wrote. Draw new items with majorant ask."
            ) from None
        if not isinstance(content, Mapping):
            raise DataError(f"{path} is not a design of majorant ask.")
        return cls.from_dict(content, source=str(path))

    def refuse_other_votes(self, digest: str) -> None:
        """Refuse votes that are not those of the design: what the rules say of them was not frozen."""
        if digest != self.votes:
            drawn = f"It was drawn for {shlex.join(self.call)}. " if self.call else ""
            raise DataError(
                "These votes are not those that the design was drawn for: votes were added, removed or changed since, "
                f"or are read in another way. {drawn}Use the same votes, or draw new items; the labels that "
                "you have stay good as labels of their items."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Recognised:
    """A file of labels, its design, and the path of the design."""

    design: Design
    path: Path
    answers: tuple[ExpertAnswer, ...]
    beside: bool = False  # one file of labels, and the design beside it under its name

    @property
    def sample(self) -> bool:
        """Whether a random sample can be read as gold from the one file with the design beside it."""
        return self.beside and self.design.n_sample > 0

    @property
    def outcome(self) -> Outcome:
        """What the labels settle."""
        return self.design.judge(self.answers)


def recognise(gold_file: Any, *, design: str | Path | None = None) -> Recognised | None:
    """The design behind a file of labels (or several experts' files), None where there is none: gold of its own.

    It lies beside the file under the same name, or is the one in its folder that drew these items; `design` names it.
    Labels drawn by design are not a random sample, so they only answer the design's own question.
    """
    files = gold_file if isinstance(gold_file, list | tuple) else [gold_file]
    paths = [file if isinstance(file, NamedFile) else Path(file) for file in files if is_file(file)]
    if not paths:
        return None
    for path in paths:
        note_input(path)
    beside = Path(design) if design is not None else design_path(paths[0])
    if design is None and not beside.exists() and not may_be_drawn(paths[0]):
        return None
    labelled = [read_answers(path, expert=Path(str(path)).stem if len(paths) > 1 else "") for path in paths]
    if beside.exists() or design is not None:
        drawn_by = Design.read(beside)
        if not all(drawn_by.drew(file) for file in labelled):
            if design is not None:
                raise DataError(
                    f"{paths[0]} was not drawn by {beside}: its rows name other items. Name its own design."
                )
            beside = _in_folder(paths[0], labelled[0])
    else:
        beside = _in_folder(paths[0], labelled[0])
    answers = tuple(answer for file in labelled for answer in file.answers)
    return Recognised(Design.read(beside), beside, answers, len(paths) == 1 and beside == design_path(paths[0]))


def _in_folder(path: Path | NamedFile, labelled: ExpertLabels) -> Path:
    """The design in the file's folder that its labels belong to."""
    for candidate in sorted(Path(path).parent.glob(f"*{DESIGN_ENDING}")):
        design = Design.read(candidate)
        drawn = set(map(str, design.order))
        if design.drew(labelled) and (
            labelled.design is not None or all(str(answer.item) in drawn for answer in labelled.answers)
        ):
            return candidate
    raise DataError(
        f"{path} holds items drawn by majorant ask, but no design in its folder drew them. Put its design "
        f"({design_path(str(path)).name}) beside it, or name it with design=. Without it these labels prove nothing: "
        "they are no random sample."
    )
