"""Write items for experts to label, as a table or as tasks for a tool, and read and count their labels."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.ownership import DESIGN_COLUMN, DRAW_COLUMN, JOURNAL_ENDING, is_human_input, is_label_file
from majorant.read.files import File, NamedFile, identify
from majorant.read.formats import recognise
from majorant.read.formats.base import Context, reporting_structure
from majorant.read.label_table import LabelTable, shown_name, spell_row
from majorant.read.options import ReadOptions
from majorant.read.rewritten import may_be, only_meant, same_name
from majorant.read.table import loads, named_faults
from majorant.tabular import guard_cell

DESIGN_ENDING = ".design.json"
LABEL_KEYS = "123456789abcdefghijklmnoprtvwxyz"  # keys for classes; s, u and q are commands
TASK_ENDINGS = {"csv": ".csv", "label-studio": ".json", "argilla": ".json", "prodigy": ".jsonl"}
UNASKED = -2  # no answer, because the item was not asked about or not reached
SKIPPED = -1  # the expert cannot tell
EXPERTS = ("majority", "unanimous")  # how to combine several experts
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
CANNOT_TELL_WORDS = ("?", "skip", "cannot tell", "can't tell", "don't know", "unsure")


class ExpertAnswer(NamedTuple):
    """An expert's answer: a label, None, or "cannot tell"."""

    item: Any
    label: Any
    expert: str = ""
    draw: int | None = None
    cannot_tell: bool = False
    row: int | None = None  # of the file, as users count


class ExpertLabels(NamedTuple):
    """The answers in a file, in order, and the id of the design."""

    answers: tuple[ExpertAnswer, ...]
    design: str | None = None  # the id stored in tasks


class Tasks(NamedTuple):
    """Items to label in order, their columns, and the classes to choose from."""

    items: Sequence[Any]
    columns: Mapping[str, Sequence[Any]]
    labels: Sequence[Any]
    design: str
    start: int = 1  # draw number of the first row


def task_file(path: Path, tasks: Tasks, format: str) -> dict[Path, str]:
    """The content of the task file, and of other files that the tool needs."""
    if format not in TASK_FORMATS:
        raise ConfigError(f"format must be one of {', '.join(TASK_FORMATS)}, not {format!r}.")
    refuse_columns(tasks)
    return TASK_FORMATS[format](path, tasks)


def refuse_columns(tasks: Tasks) -> None:
    """Refuse columns that do not hold a value for each item."""
    for name, values in tasks.columns.items():
        if not hasattr(values, "__len__") or len(values) != len(tasks.items):
            raise ConfigError(f"columns: {name!r} must hold a value for each of the {len(tasks.items)} items.")


def _csv(path: Path, tasks: Tasks) -> dict[Path, str]:
    names = [DRAW_COLUMN, "item", *map(shown_name, tasks.columns), "label", DESIGN_COLUMN]
    rows = [[draw, item, *own.values(), "", tasks.design] for draw, item, own in _rows(tasks)]
    return {path: "".join(spell_row(map(guard_cell, cells)) + "\n" for cells in [names, *rows])}


def _rows(tasks: Tasks) -> Iterator[tuple[int, Any, dict[str, Any]]]:
    for row, item in enumerate(tasks.items):
        yield tasks.start + row, item, {shown_name(name): values[row] for name, values in tasks.columns.items()}


def extended_file(path: Path, tasks: Tasks, format: str) -> dict[Path, str | bytes]:
    """The task file with new rows appended and labels kept; for a labelling tool, a file with only the new tasks."""
    if format != "csv":
        return {**task_file(path.with_name(f"{path.stem}-{tasks.start}{path.suffix}"), tasks, format)}
    refuse_columns(tasks)
    added = [
        {DRAW_COLUMN: draw, "draw": draw, **own, "item": item, DESIGN_COLUMN: tasks.design}
        for draw, item, own in _rows(tasks)
    ]
    return {path: LabelTable.read(path).with_rows(added).to_bytes()}


def _label_studio(path: Path, tasks: Tasks) -> dict[Path, str]:
    """Tasks to import, and a labelling interface with the classes, to paste into the project's settings."""
    from xml.sax.saxutils import quoteattr

    data = [
        {"data": {DRAW_COLUMN: draw, "item": item, **own, DESIGN_COLUMN: tasks.design}}
        for draw, item, own in _rows(tasks)
    ]
    shown = [
        f'  <Header value={quoteattr(name)}/>\n  <Text name="text_{n}" value={quoteattr(f"${name}")}/>'
        for n, name in enumerate([*map(shown_name, tasks.columns)] or ["item"])
    ]
    choices = [f"    <Choice value={quoteattr(str(label))}/>" for label in tasks.labels]
    opening = '  <Choices name="label" toName="text_0" choice="single">'
    view = "\n".join(["<View>", *shown, opening, *choices, "  </Choices>", "</View>", ""])
    return {path: json.dumps(data, ensure_ascii=False, indent=1) + "\n", path.with_suffix(".xml"): view}


def _argilla(path: Path, tasks: Tasks) -> dict[Path, str]:
    """Records for `dataset.records.log`, with the item as id; the project defines the fields and a LabelQuestion."""
    records = [
        {"id": str(item), **({name: str(value) for name, value in own.items()} or {"item": str(item)}),
         f"metadata.{DRAW_COLUMN}": draw, f"metadata.{DESIGN_COLUMN}": tasks.design}
        for draw, item, own in _rows(tasks)
    ]  # fmt: skip
    return {path: json.dumps(records, ensure_ascii=False, indent=1) + "\n"}


def _prodigy(path: Path, tasks: Tasks) -> dict[Path, str]:
    """One line per task, with the classes as options of the `choice` interface."""
    options = [{"id": label, "text": str(label)} for label in tasks.labels]
    lines = []
    for draw, item, own in _rows(tasks):
        text = "\n".join(str(value) for value in own.values()) or str(item)
        task = {"text": text, "item": item, DRAW_COLUMN: draw, DESIGN_COLUMN: tasks.design, "options": options}
        lines.append(json.dumps(task, ensure_ascii=False))
    return {path: "\n".join(lines) + "\n"}


TASK_FORMATS: dict[str, Callable[[Path, Tasks], dict[Path, str]]] = {
    "csv": _csv,
    "label-studio": _label_studio,
    "argilla": _argilla,
    "prodigy": _prodigy,
}


def read_answers(path: Path | NamedFile, *, expert: str = "") -> ExpertLabels:
    """The labels in a file that `task_file` wrote and an expert or a tool filled in.

    A table may hold answers of several experts, in more columns whose names start with label, or with a column expert,
    worker or annotator.  `expert` is the name to use if the file does not say.
    """
    with named_faults(path):
        file = identify(str(path), Path(path), ReadOptions())
        if file.type.name == "json":
            return _from_tool(_text_of(file), path, expert)
        return _from_table(LabelTable.read(path), expert)


def _text_of(file: File) -> str:
    try:
        with file.open() as stream:
            return stream.read().decode(file.encoding)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file.name} is not {file.encoding.upper()} text (byte {error.start}). Export it again."
        ) from None


def _from_table(table: LabelTable, expert: str) -> ExpertLabels:
    found = table.columns
    if found.item is None or not found.labels:
        missing = "item" if found.item is None else "label"
        raise DataError(
            f"{table.name} has no column {missing} (it has {', '.join(map(repr, table.names[:8]))}). If the column was "
            f"renamed, name it {missing} again; if it was deleted, copy it from the file that majorant ask wrote."
        )
    answers = []
    for row, number in enumerate(table.numbers):
        named = table.cell(row, found.expert).strip() or expert
        for position in found.labels:
            value = table.cell(row, position)
            own = named if len(found.labels) == 1 else f"{named} {table.names[position]}".strip()
            answers.append(
                ExpertAnswer(table.cell(row, found.item), value if value.strip() else None, own, table.draw(row),
                             row=number)
            )  # fmt: skip
    return ExpertLabels(tuple(answers), _one_design(table))


def _one_design(table: LabelTable) -> str | None:
    """The id of the design that drew the rows; rows of two designs cannot be judged together."""
    ids = {table.cell(row, table.columns.design).strip(): number for row, number in enumerate(table.numbers)}
    ids.pop("", None)
    if len(ids) > 1:
        rows = " and ".join(str(number) for number in [*ids.values()][:2])
        raise DataError(
            f"{table.name} holds items of {len(ids)} drawings (see rows {rows}, column {DESIGN_COLUMN}). Keep the "
            "items of each drawing in a file of their own."
        )
    return next(iter(ids), None)


def _from_tool(text: str, path: Path | NamedFile, expert: str) -> ExpertLabels:
    lines = [text] if text.lstrip()[:1] == "[" else text.splitlines()
    try:
        records = [loads(line) for line in lines if line.strip()]
    except json.JSONDecodeError as error:
        raise DataError(f"{path} is not JSON as a labelling tool exports it: {error}. Export it again.") from None
    if text.lstrip()[:1] == "[":
        [records] = records
    if not all(isinstance(record, Mapping) for record in records):
        raise DataError(f"{path} is not JSON as a labelling tool exports it. Export it again.")
    tool = recognise([*records[0]], records[0], str(path)) if records else None
    labelled = any({"annotations", "accept", "answer", "responses"} & {*record} for record in records)
    if records and tool is None and (labelled or not any(map(_design, records))):
        raise DataError(
            f"{path} is not an export of Label Studio, Argilla or Prodigy. Export it again, or fill in the CSV."
        )
    answers, design, context = [], None, Context(source=str(path))
    for number, record in enumerate(records, start=1):
        own = _own(record)
        design = design or _design(record)
        item = own.get("item", record.get("id"))
        if tool is not None:
            with reporting_structure(tool.name, f"{path}, record {number}"):
                for vote in tool.votes(record, context):
                    value = next(iter(vote.answers.values()), None)  # answer to the first question
                    if isinstance(value, list):
                        value = value[0] if len(value) == 1 else None
                    # an empty submission means "cannot tell"
                    answers.append(ExpertAnswer(item, value, str(vote.worker or expert), cannot_tell=value is None))
    return ExpertLabels(tuple(answers), design)


def _own(record: Mapping[str, Any]) -> Mapping[str, Any]:
    data = record.get("data")
    return data if isinstance(data, Mapping) else record


def _design(record: Mapping[str, Any]) -> str | None:
    own = _own(record)
    return own.get(DESIGN_COLUMN) or own.get(f"metadata.{DESIGN_COLUMN}")


def design_path(path: str | os.PathLike[str]) -> Path:
    """The path of the design of a file of items to label, in the same folder."""
    target = Path(path)
    return target.with_name(target.name.removesuffix(target.suffix) + DESIGN_ENDING)


def is_taken(path: Path, files: Mapping[Path, str | bytes]) -> bool:
    """Whether writing these files, of which `path` is the one to label, would replace anything of another drawing."""
    beside = [design_path(path), path.with_name(path.name + JOURNAL_ENDING)]
    for file in {*files, *beside}:
        if file.exists() and is_human_input(file):
            text = files.get(file)
            if text is None or file.read_bytes() != (text if isinstance(text, bytes) else text.encode()):
                return True
    return beside[1].exists()


def free_name(path: Path, files: Mapping[Path, str | bytes]) -> Path:
    """The first of to_label.csv, to_label-2.csv, ... whose files can be written without replacing another drawing."""
    stem = path.name.removesuffix(path.suffix)
    names = chain([path], (path.with_name(f"{stem}-{number}{path.suffix}") for number in count(2)))
    return next(
        name
        for name in names
        if not is_taken(name, {renamed(file, path, name): content for file, content in files.items()})
    )


def renamed(file: Path, path: Path, name: Path) -> Path:
    """A file that belongs to the one to label, `path`, if that is called `name`."""
    stem, other = (one.name.removesuffix(one.suffix) for one in (path, name))
    return file.with_name(other + file.name.removeprefix(stem))


def is_file(source: Any) -> bool:
    """Whether a source is a file that can be read twice."""
    return isinstance(source, str | os.PathLike) and Path(source).is_file()


def may_be_drawn(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of items to label, judging by its columns or by the id of a design in it."""
    if is_label_file(Path(path)):
        return True
    if Path(path).suffix.lower() not in WORKBOOKS:
        return False
    return DRAW_COLUMN in [name.casefold() for name in LabelTable.read(Path(path)).names]


def digest_of(content: Mapping[str, Any]) -> str:
    """A digest of plain data, which shows whether a design was changed after it was drawn."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sample_size(content: Mapping[str, Any]) -> int:
    """How many items at the start of a design's order are a random sample of all items."""
    question, sampled = content["content"], int(content.get("sampled", 0))
    if content.get("question") != "teach" or question.get("draw") == "teach":
        return sampled
    if question["taught"] is None:
        return len(content["order"])
    # No positions if gold labels trained the rule, because the order then contains only the other items.
    taught = int(question["taught"]["positions"])
    return max(taught, sampled) if taught else 0


def design_id(content: Mapping[str, Any]) -> str:
    """The id of a design, written to the files that it draws; it stays the same when more items are asked.

    It begins with a letter, so that no spreadsheet takes it for a number.
    """
    same = {key: value for key, value in content.items() if key not in ("digest", "asked", "call", "sampled")}
    # What labelling adds to a session, and what follows from the votes or stands elsewhere in the design.
    later = ("taught", "drawn", "seed", "prior_j")
    question = {key: value for key, value in content["content"].items() if key not in later}
    if question.get("draw") == "random":  # designs of version 0.1 know no other way, and do not say so
        del question["draw"]
    return f"d{digest_of({**same, 'content': question})[:12]}"


def read_design(path: Path) -> Mapping[str, Any] | None:
    """The content of a design file; None if there is none, or if it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(content, Mapping) and {"content", "order", "asked", "labels"} <= {*content}
    return content if whole else None


def is_intact(content: Mapping[str, Any]) -> bool:
    """Whether a design is as it was when it was drawn."""
    return content.get("digest") == digest_of({key: value for key, value in content.items() if key != "digest"})


def has_drawn(content: Mapping[str, Any], labelled: ExpertLabels) -> bool:
    """Whether a design drew the items in a file: the id says so or, in older files, most numbers and items fit."""
    if labelled.design is not None and is_intact(content):
        return design_id(content).removeprefix("d") == labelled.design.removeprefix("d")
    order, asked = content["order"], content["asked"]
    known, fitting, rows = set(map(str, order)), 0, 0
    for answer in labelled.answers:
        rows += 1
        if answer.draw is not None and 0 < answer.draw <= len(asked):
            fitting += may_be(order[asked[answer.draw - 1]], answer.item)
        else:
            fitting += str(answer.item) in known
    return 2 * fitting >= rows


def _n_asked(path: Path) -> tuple[int, str]:
    """Sorts designs: those that asked the most first."""
    content = read_design(path)
    return 0 if content is None else -len(content["asked"]), path.name


def find_design(path: Path | NamedFile, labelled: ExpertLabels) -> Path | None:
    """The design in a file's folder that drew its items, the one with the file's name first; None if it is gone."""
    beside = design_path(path)
    for candidate in [beside, *sorted(Path(path).parent.glob(f"*{DESIGN_ENDING}"), key=_n_asked)]:
        content = read_design(candidate)
        if content is not None and has_drawn(content, labelled):
            return candidate
    return beside if beside.exists() and read_design(beside) is None else None  # damaged: whoever reads it says so


def sample_design(source: Any) -> Mapping[str, Any] | None:
    """The design of a file of labels, if it starts with a random sample; None for plain gold labels.

    Labels of other designs are refused because they are not a random sample.
    """
    if not is_file(source) or not (design_path(source).exists() or may_be_drawn(source)):
        return None
    design = find_design(source, read_answers(source if isinstance(source, NamedFile) else Path(source)))
    if design is None:
        return None
    content = read_design(design)
    if content is not None and sample_size(content):
        if is_intact(content):
            return content
        raise DataError(f"{design} was changed after it was drawn, so {source} is not a random sample. Restore it.")
    raise DataError(
        f"{source} holds labels drawn by majorant ask, and its items are no random sample: they were picked because "
        "judges or rules disagree on them, so do not use them to estimate accuracy. For that, draw a random sample "
        "with majorant ask --draw random. Use these labels with majorant check."
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """The answers as one code per item, in order, and any problems found in them."""

    answer_d: NDArray[np.int64]  # a class code, SKIPPED or UNASKED
    ignored: tuple[Any, ...]  # labelled items that are not in the design
    unknown: tuple[Any, ...]  # labels that are not classes
    relabelled: tuple[Any, ...]  # items that an expert labelled more than once
    disagreed: tuple[Any, ...]  # items on which experts disagree
    gaps: int = 0  # items without a label that were drawn before a labelled one, and count as skipped


def count_answers(
    answers: Iterable[ExpertAnswer],
    order: Sequence[Any],
    labels: Sequence[Any],
    *,
    asked: Sequence[int],
    experts: str = "majority",
) -> Counted:
    """Resolve answers: each expert's last answer counts, and `experts` says how to combine experts.

    `asked` holds positions in the order, in the sequence in which they were asked.  Items are meant to be labelled in
    that sequence, so an unanswered item before an answered one counts as skipped.

    >>> said = [ExpertAnswer("b", "yes"), ExpertAnswer("a", "no"), ExpertAnswer("a", "yes")]
    >>> count_answers(said, ("c", "a", "b"), ("no", "yes"), asked=(0, 1, 2)).answer_d.tolist()
    [-1, 1, 1]
    """
    places, code = _Places(order, asked), _Classes(labels)
    said: dict[int, dict[str, int]] = {}
    ignored, unknown, relabelled = [], [], []
    for answer in answers:
        if answer.label is None and not answer.cannot_tell:
            continue
        position = places.of(answer)
        if position is None:
            ignored.append(answer.item)
            continue
        value = SKIPPED if answer.cannot_tell else code.of(answer.label)
        if value is None:
            unknown.append(answer.label)
            value = SKIPPED
        own = said.setdefault(position, {})
        if own.get(answer.expert, value) != value:
            relabelled.append(order[position])
        own[answer.expert] = value
    answer_d, disagreed, gaps = np.full(len(order), UNASKED, dtype=np.int64), [], 0
    for position, by_expert in said.items():
        answer_d[position], apart = _agreed([*by_expert.values()], experts)
        if apart:
            disagreed.append(order[position])
    answered = [row for row, position in enumerate(asked) if answer_d[position] != UNASKED]
    for position in asked[: max(answered, default=0)]:
        if answer_d[position] == UNASKED:
            answer_d[position] = SKIPPED
            gaps += 1
    return Counted(answer_d, _once(ignored), _once(unknown), _once(relabelled), _once(disagreed), gaps)


class _Places:
    """Finds the position in the order that an answer is about."""

    def __init__(self, order: Sequence[Any], asked: Sequence[int]) -> None:
        self.order, self.asked = order, asked
        self.exact = {str(item): position for position, item in enumerate(order)}

    def of(self, answer: ExpertAnswer) -> int | None:
        """The item that was drawn with this number, if the name fits; otherwise the only item that the name fits."""
        if answer.draw is not None and 0 < answer.draw <= len(self.asked):
            drawn = self.asked[answer.draw - 1]
            if str(self.order[drawn]) == str(answer.item) or may_be(self.order[drawn], answer.item):
                return drawn
        if (position := self.exact.get(str(answer.item))) is not None:
            return position
        meant = only_meant((self.order[position] for position in self.asked), answer.item)
        return None if meant is None else self.exact[str(meant)]


def refuse_changed_rows(
    answers: Iterable[ExpertAnswer], order: Sequence[Any], labels: Sequence[Any], *, asked: Sequence[int], source: str
) -> None:
    """Refuse a file whose rows cannot be told apart any more, or whose labels are no classes.

    Raises
    ------
    DataError
        With the first such row, the item that was drawn, and what to do.
    """
    drawn, known = [order[position] for position in asked], _Classes(labels)
    given = [answer for answer in answers if answer.row is not None]
    for answer in given:
        if answer.draw is None or not 0 < answer.draw <= len(drawn) or str(drawn[answer.draw - 1]) == str(answer.item):
            continue
        item = drawn[answer.draw - 1]
        if not may_be(item, answer.item):
            raise DataError(
                f"{source}, row {answer.row}: {DRAW_COLUMN} {answer.draw} is item {str(item)!r}, but the row says "
                f"{str(answer.item)!r}. If a column was sorted alone, undo that, because nobody can tell any more "
                "which label belongs to which item. If only this cell changed, restore it."
            )
        if not same_name(item, answer.item) and only_meant(drawn, answer.item) is None:
            raise DataError(
                f"{source}, row {answer.row}: a spreadsheet made {str(answer.item)!r} of item {str(item)!r}, and other "
                "items would look the same. Format the column item as text, and copy it again from the file that "
                "majorant ask wrote."
            )
    labelled = [answer for answer in given if answer.label is not None]
    strange = [answer for answer in labelled if known.of(answer.label) is None]
    if len(strange) > 1 and len(strange) == len(labelled):
        first = strange[0]
        raise DataError(
            f"{source}, row {first.row}: {first.label!r} is not a class of these votes "
            f"({', '.join(map(str, labels[:6]))}), and neither is any other label in the file. Use these classes, and "
            "? if you cannot tell."
        )


class _Classes:
    """Finds the class that an expert means by a label."""

    def __init__(self, labels: Sequence[Any]) -> None:
        self.labels = [str(label) for label in labels]
        self.exact = {text: code for code, text in enumerate(self.labels)}
        folded = [label.strip().casefold() for label in self.labels]
        self.alike = {text: code for code, text in enumerate(folded) if folded.count(text) == 1}

    def of(self, label: Any) -> int | None:
        """The code of a label, SKIPPED if the expert cannot tell, None if it is not a class."""
        text = str(label)
        if text in self.exact:
            return self.exact[text]
        folded = text.strip().casefold()
        if folded in self.alike:
            return self.alike[folded]
        if folded in CANNOT_TELL_WORDS:
            return SKIPPED
        meant = only_meant(self.labels, text)  # a spreadsheet may have made 1.0 of 1, or a date of 1-2
        return None if meant is None else self.exact[meant]


def _agreed(codes: Sequence[int], experts: str) -> tuple[int, bool]:
    """The label that experts agree on, or SKIPPED if they do not; and whether they differ."""
    given = [code for code in codes if code >= 0]
    if not given:
        return SKIPPED, False
    most = max(set(given), key=given.count)
    enough = given.count(most) * 2 > len(given) if experts == "majority" else given.count(most) == len(given)
    return (most, False) if enough else (SKIPPED, True)


def _once(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
