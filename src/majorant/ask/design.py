"""A design: randomly drawn items for an expert to label, with everything needed to evaluate the labels.

A design is frozen when it is drawn.  The order of the items and the labels that rules give them are stored in a file
next to the items to label, with a digest of the votes and of the design itself.  Evaluating labels refits nothing, so
the result does not depend on the package version.
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
from majorant.ask.teach import NEXT_DRAW
from majorant.errors import ConfigError, DataError, use
from majorant.output import write_files
from majorant.ownership import DESIGN_COLUMN, DRAW_COLUMN, is_human_input, is_label_file, note_input
from majorant.read.files import NamedFile
from majorant.read.label_table import LabelTable
from majorant.read.tasks import (
    EXPERTS,
    Counted,
    ExpertAnswer,
    ExpertLabels,
    Tasks,
    count_answers,
    design_id,
    design_path,
    digest_of,
    extended_file,
    find_design,
    free_name,
    has_drawn,
    is_file,
    is_intact,
    is_taken,
    may_be_drawn,
    read_answers,
    read_design,
    refuse_changed_rows,
    renamed,
    sample_size,
    task_file,
)

FORMAT, VERSION = "majorant-design", 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Design:
    """Items for an expert to label, in random order, and the question that the labels answer.

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
    votes: str  # digest of the votes that the design was drawn for
    seed: int
    asked: tuple[int, ...] = ()  # positions in the order, in the sequence in which they were asked
    experts: str = "majority"
    call: tuple[str, ...] = ()  # the input files and options of the command
    truth: str = ""  # whose labels count as true, if not an expert's: a file, a column or a worker
    judged_by: str | None = None  # the worker who stands in for the expert; the design excludes their votes
    sampled: int = 0  # number of items at the start of the order that are a random sample of all items

    def __post_init__(self) -> None:
        if self.experts not in EXPERTS:
            raise ConfigError(f"experts must be one of {', '.join(EXPERTS)}, not {self.experts!r}.")
        if len(self.order) != self.question.size:
            raise DataError(f"The design lists {len(self.order)} items, but its question needs {self.question.size}.")

    def __repr__(self) -> str:
        asked = f"Design: {len(self.asked):,} of {len(self.order):,} items to label, question {self.question.kind}"
        return f"{asked}\nwrite(path) writes the file for an expert; to_pandas() returns the items"

    @property
    def items(self) -> tuple[Any, ...]:
        """The items to label, in the order in which they were asked."""
        return tuple(self.order[position] for position in self.asked)

    @property
    def expected(self) -> int | None:
        """Approximate number of labels to settle the question; None if unknown."""
        return self.question.expected()

    @property
    def next_batch(self) -> int:
        """Number of items to add at a time: fewer while each batch is chosen with the help of the labels before it."""
        return NEXT_DRAW if self.is_drawing else 10

    @property
    def is_drawing(self) -> bool:
        """Whether the next items are drawn to teach a rule."""
        return isinstance(self.question, Session) and self.question.is_drawing

    @property
    def n_sample(self) -> int:
        """Number of items at the start of the order that are a random sample; 0 if items were chosen otherwise."""
        return sample_size(self._content())

    @property
    def uniform(self) -> bool:
        """Whether the items that were asked are a random sample of all items."""
        return bool(self.n_sample) and max(self.asked, default=-1) < self.n_sample

    @property
    def id(self) -> str:
        """Identifier written to task files; it stays the same when more items are asked."""
        return design_id(self._content())

    @validated
    def more(self, n: int, labels: Mapping[Any, Any] | None = None) -> Design:
        """Return the design with up to n more items; the labels so far guide the choice if that saves labels."""
        if n < 0:
            raise ConfigError(f"n must be at least 0, not {n}.")
        answer_d = self._answers([ExpertAnswer(item, label) for item, label in (labels or {}).items()]).answer_d
        return self._asking(n, answer_d)

    def _asking(self, n: int, answer_d: Codes, *, at_random: bool = False) -> Design:
        question, already = self.question.advance(answer_d), set(self.asked)
        if isinstance(question, Session) and question.is_drawing:
            longer = question.draw_next(answer_d, n)
            return replace(self, question=longer, asked=tuple(map(int, longer.drawn.place_t)))
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
        """Evaluate the answers of one or several experts, combined as `experts` says.

        Each expert's last answer on an item counts.  An unlabelled row above a labelled one counts as skipped.
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
            gaps=counted.gaps,
        )

    @validated
    def after(self, n: int, answers: Sequence[ExpertAnswer], *, at_random: bool = False) -> Design:
        """Return the design with up to n more items, given these answers; `at_random` extends a session's sample."""
        if at_random and not self.n_sample:
            raise ConfigError("This design has no random sample to extend. Draw one with majorant ask --rate.")
        return self._asking(n, self._answers(answers).answer_d, at_random=at_random)

    @validated
    def codes(self, answers: Sequence[ExpertAnswer]) -> Codes:
        """The experts' answer at each position of the order: a class code, SKIPPED or UNASKED."""
        return self._answers(answers).answer_d

    @validated
    def drew(self, labelled: ExpertLabels) -> bool:
        """Whether a file of labels can come from this design: the id or the items of the draws match."""
        return has_drawn(self.to_dict(), labelled)

    @validated
    def refuse_changed(self, labelled: ExpertLabels, source: str) -> None:
        """Raise if rows of a file of labels were torn apart, or none of its labels is a class."""
        refuse_changed_rows(labelled.answers, self.order, self.labels, asked=self.asked, source=source)

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
        next_name: bool = False,
    ) -> list[Path]:
        """Write the items to label and, next to them, the design; both files are written or neither.

        `columns` holds further columns to show, with a value for each of `items`; `labels` holds known labels by item.
        Items to label and designs are never replaced, because somebody may be labelling them: with `next_name`, the
        files are then called to_label-2.csv and so on.
        """
        target = Path(path)
        if not target.name:
            raise ConfigError(f"path must be a file name, not {str(path)!r}.")
        tasks = Tasks(self.items, columns or {}, self.labels, self.id)
        files: dict[Path, Any] = {**task_file(target, tasks, format)}
        if labels:
            known = {row: str(labels[item]) for row, item in enumerate(self.items) if item in labels}
            files[target] = LabelTable.parse(files[target], str(target)).with_labels(known).to_bytes()
        files[design_path(target)] = self.to_json()
        if next_name:
            free = free_name(target, files)
            files = {renamed(file, target, free): content for file, content in files.items()}
        elif is_taken(target, files) and not self._extends(target, files[target]):
            raise ConfigError(
                f"{target} or its design belongs to items that somebody may be labelling. Add items with {use('more')} "
                f"and {use('design')}, or name another file, such as {free_name(target, files)}."
            )
        elif is_label_file(target) and isinstance(files[target], bytes) and target.read_bytes() != files[target]:
            from majorant.ask.journal import note_save

            note_save(target, files[target], {"added": len(self.asked)})
        return write_files(files, update=[file for file in files if file.exists() and is_human_input(file)])

    def _extends(self, target: Path, content: bytes | str) -> bool:
        """Whether a file to label, if it is there, is of this design with fewer items, and all its labels are kept."""
        before = read_design(design_path(target))
        if before is None or design_id(before) != self.id or not is_intact(before):
            return False
        if tuple(before["asked"]) != self.asked[: len(before["asked"])]:
            return False
        if not target.exists():
            return True
        if isinstance(content, str) or not is_label_file(target):
            return False
        old, new = LabelTable.read(target), LabelTable.parse(content.decode(), str(target))
        place = new.columns.labels[0]
        return old.names == new.names and all(
            cells[:place] == other[:place] and cells[place] in ("", other[place])
            for cells, other in zip(old.rows, new.rows, strict=False)
        )

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
        """Append the items from position `start` on to a file of the earlier items, keeping its labels."""
        from majorant.ask.journal import label_lock, note_save

        target = Path(path)
        tasks = Tasks(self.items[start:], columns or {}, self.labels, self.id, start + 1)
        with label_lock(target, "majorant ask --more"):
            files = extended_file(target, tasks, format)
            if isinstance(content := files.get(target), bytes):
                note_save(target, content, {"added": len(tasks.items)})
            return write_files({**files, Path(design): self.to_json()}, update=[target, Path(design)])

    def to_pandas(self) -> Any:
        """Return the items to label as a pandas DataFrame with an empty `label` column."""
        pandas, rows = import_module("pandas"), range(1, len(self.asked) + 1)
        columns = {DRAW_COLUMN: rows, "item": list(self.items), "label": [None] * len(self.asked)}
        return pandas.DataFrame({**columns, DESIGN_COLUMN: [self.id] * len(self.asked)})

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain data, with its digest."""
        content = self._content()
        return {**content, "digest": digest_of(content)}

    def to_json(self) -> str:
        """Return the text of the design file."""
        return json.dumps(self.to_dict(), ensure_ascii=False) + "\n"

    def _content(self) -> dict[str, Any]:
        content = to_plain(self)
        question = {"question": self.question.kind, "content": content["question"]}
        return {"format": FORMAT, "version": VERSION, **content, **question}

    @classmethod
    @validated
    def from_dict(cls, content: Mapping[str, Any], *, source: str = "the design") -> Design:
        """Restore a design from `to_dict`, or raise if it was changed since."""
        if content.get("format") != FORMAT:
            raise DataError(f"{source} is not a design written by majorant ask.")
        if content.get("version") != VERSION:
            raise DataError(
                f"{source} is a design of version {content.get('version')!r}; this package reads version {VERSION}."
            )
        body = {key: value for key, value in content.items() if key != "digest"}
        if digest_of(body) != content.get("digest"):
            raise DataError(
                f"{source} was changed after it was drawn, so its labels prove nothing. Restore the original, or draw "
                "new items with majorant ask."
            )
        from majorant.ask.questions import QUESTIONS  # here because questions import this module

        if body["question"] not in QUESTIONS:
            raise DataError(f"{source} asks {body['question']!r}, a question that this version does not know.")
        question = from_plain(QUESTIONS[body["question"]].judge, body["content"])
        return from_plain(cls, body, question=question)

    @classmethod
    @validated
    def read(cls, path: str | Path) -> Design:
        """Read a design from its file."""
        note_input(path)
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"Cannot read {path}: {error.strerror or error}.") from None
        except (ValueError, RecursionError):
            raise DataError(
                f"{path} is damaged: it is not valid JSON. Restore it, or draw new items with majorant ask."
            ) from None
        if not isinstance(content, Mapping):
            raise DataError(f"{path} is not a design written by majorant ask.")
        return cls.from_dict(content, source=str(path))

    @validated
    def refuse_other_votes(self, digest: str) -> None:
        """Raise unless the votes have the digest of those that the design was drawn for."""
        if digest != self.votes:
            command = f"It was drawn for {shlex.join(self.call)}. " if self.call else ""
            raise DataError(
                "The design was drawn for other votes: votes were added, removed or changed since, or are now read "
                f"with other options. {command}Use the same votes, or draw new items; the labels that you have are "
                "still good as labels of their items."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Recognised:
    """The labels in one or more files, with their design and its path."""

    design: Design
    path: Path
    answers: tuple[ExpertAnswer, ...]
    beside: bool = False  # there is one file of labels, with its design in the same folder

    @property
    def sample(self) -> bool:
        """Whether the file's random sample can be read as gold: it is the only file, with the design next to it."""
        return self.beside and self.design.n_sample > 0

    @property
    def outcome(self) -> Outcome:
        """The outcome of the labels."""
        return self.design.judge(self.answers)


def recognise(gold_file: Any, *, design: str | Path | None = None) -> Recognised | None:
    """Find the design behind a file of labels, or several experts' files; None if these are ordinary gold labels.

    The design is `design`, or the one in the folder of the labels that drew these items.  Labels of a design may not be
    a random sample, so they answer only the design's own question.  Labels whose design is gone are plain gold labels.
    """
    files = gold_file if isinstance(gold_file, list | tuple) else [gold_file]
    paths = [file if isinstance(file, NamedFile) else Path(file) for file in files if is_file(file)]
    if not paths:
        return None
    for path in paths:
        note_input(path)
    if design is None and not design_path(paths[0]).exists() and not may_be_drawn(paths[0]):
        return None
    labelled = [read_answers(path, expert=Path(str(path)).stem if len(paths) > 1 else "") for path in paths]
    found = find_design(paths[0], labelled[0]) if design is None else Path(design)
    if found is None:
        if len(paths) == 1:
            return None  # plain gold labels, which prove nothing on their own
        raise DataError(
            f"{paths[0]} and {paths[1]} hold items drawn by majorant ask, but no design in their folder drew them. Put "
            f"the design next to them, or give its path with {use('design')}."
        )
    drawn_by = Design.read(found)
    for path, file in zip(paths, labelled, strict=True):
        if not drawn_by.drew(file):
            raise DataError(f"{path} was not drawn by {found}: its items differ. Give the design that drew it.")
        drawn_by.refuse_changed(file, str(path))
    answers = tuple(answer for file in labelled for answer in file.answers)
    return Recognised(drawn_by, found, answers, len(paths) == 1 and found.parent == Path(paths[0]).parent)
