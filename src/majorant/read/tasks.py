"""Write items for experts to label, as a table or as tasks for a tool, and read and count their labels."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError, DataError
from majorant.read.files import NamedFile
from majorant.read.formats import recognise
from majorant.read.formats.base import Context, reporting_structure
from majorant.read.options import ALIASES
from majorant.read.table import loads, named_faults, whole_number
from majorant.tabular import guard_cell, unguard_cell

DESIGN_KEY = "majorant_design"  # key in tasks that names their design
DESIGN_ENDING = ".design.json"
LABEL_KEYS = "123456789abcdefghijklmnoprtvwxyz"  # keys for classes; s, u and q are commands
TASK_ENDINGS = {"csv": ".csv", "label-studio": ".json", "argilla": ".json", "prodigy": ".jsonl"}
UNASKED = -2  # no answer, because the item was not asked about or not reached
SKIPPED = -1  # the expert cannot tell
EXPERTS = ("majority", "unanimous")  # how to combine several experts
CANNOT_TELL_WORDS = ("?", "skip", "cannot tell", "can't tell", "don't know", "unsure")


class ExpertAnswer(NamedTuple):
    """An expert's answer: a label, None, or "cannot tell"."""

    item: Any
    label: Any
    expert: str = ""
    draw: int | None = None
    cannot_tell: bool = False


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
    for name, values in tasks.columns.items():
        if not hasattr(values, "__len__") or len(values) != len(tasks.items):
            raise ConfigError(f"columns: {name!r} must hold a value for each of the {len(tasks.items)} items.")
    return TASK_FORMATS[format](path, tasks)


def _csv(path: Path, tasks: Tasks) -> dict[Path, str]:
    rows = [[draw, item, *own.values(), ""] for draw, item, own in _rows(tasks)]
    return {
        path: "".join(_line(map(guard_cell, cells)) for cells in [["draw", "item", *tasks.columns, "label"], *rows])
    }


def _line(cells: Iterable[Any], sign: str = ",") -> str:
    r"""A line of a table, quoted if needed, also around a bare return, which Python's csv does not quote.

    >>> _line(["a,b", "c\rd", None, 1])
    '"a,b","c\rd",,1\n'
    """
    texts = ("" if cell is None else str(cell) for cell in cells)
    special = {sign, '"', "\r", "\n"}
    return sign.join('"' + t.replace('"', '""') + '"' if special & set(t) else t for t in texts) + "\n"


def _rows(tasks: Tasks) -> Iterator[tuple[int, Any, dict[str, Any]]]:
    for row, item in enumerate(tasks.items):
        yield tasks.start + row, item, {name: values[row] for name, values in tasks.columns.items()}


def extended_file(path: Path, tasks: Tasks, format: str) -> dict[Path, str]:
    """The task file with new rows appended and labels kept; for a labelling tool, a file with only the new tasks."""
    if format != "csv":
        return task_file(path.with_name(f"{path.stem}-{tasks.start}{path.suffix}"), tasks, format)
    text = _text(path)
    sign = _sign(text)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign))
    header = [name.strip().casefold() for name in rows[0]]
    lines = [_line(row, sign) for row in rows if row]
    for draw, item, own in _rows(tasks):
        cells = {"draw": draw, "item": item, **{name.casefold(): value for name, value in own.items()}}
        lines.append(_line((guard_cell(cells.get(unguard_cell(name), "")) for name in header), sign))
    return {path: "".join(lines)}


def relabelled_file(path: Path, label_by_draw: Mapping[int, str]) -> str:
    """The table with these labels in its column `label` and everything else unchanged."""
    return with_labels(_text(path), label_by_draw)


def with_labels(text: str, label_by_draw: Mapping[int, str]) -> str:
    """The text of a table with these labels in its column `label`."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_sign(text)))
    header = [name.strip().casefold() for name in rows[0]]
    draw, label = header.index("draw"), header.index("label")
    for row in rows[1:]:
        number = whole_number(row[draw]) if row else None
        if number is not None and number in label_by_draw:
            row[label] = guard_cell(label_by_draw[number])
    return "".join(_line(row, _sign(text)) for row in rows)


def table_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table of items to label, without the apostrophes that protect spreadsheets."""
    text = _text(path)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=_sign(text))
    return [{name: unguard_cell(v) if isinstance(v, str) else v for name, v in row.items()} for row in rows]


def _sign(text: str) -> str:
    return max((",", ";", "\t"), key=text.split("\n", 1)[0].count)


def _label_studio(path: Path, tasks: Tasks) -> dict[Path, str]:
    """Tasks to import, and a labelling interface with the classes, to paste into the project's settings."""
    from xml.sax.saxutils import quoteattr

    data = [{"data": {"draw": draw, "item": item, **own, DESIGN_KEY: tasks.design}} for draw, item, own in _rows(tasks)]
    shown = [
        f'  <Header value={quoteattr(name)}/>\n  <Text name="text_{n}" value={quoteattr(f"${name}")}/>'
        for n, name in enumerate([*tasks.columns] or ["item"])
    ]
    choices = [f"    <Choice value={quoteattr(str(label))}/>" for label in tasks.labels]
    opening = '  <Choices name="label" toName="text_0" choice="single">'
    view = "\n".join(["<View>", *shown, opening, *choices, "  </Choices>", "</View>", ""])
    return {path: json.dumps(data, ensure_ascii=False, indent=1) + "\n", path.with_suffix(".xml"): view}


def _argilla(path: Path, tasks: Tasks) -> dict[Path, str]:
    """Records for `dataset.records.log`, with the item as id; the project defines the fields and a LabelQuestion."""
    records = [
        {"id": str(item), **({name: str(value) for name, value in own.items()} or {"item": str(item)}),
         "metadata.draw": draw, f"metadata.{DESIGN_KEY}": tasks.design}
        for draw, item, own in _rows(tasks)
    ]  # fmt: skip
    return {path: json.dumps(records, ensure_ascii=False, indent=1) + "\n"}


def _prodigy(path: Path, tasks: Tasks) -> dict[Path, str]:
    """One line per task, with the classes as options of the `choice` interface."""
    options = [{"id": label, "text": str(label)} for label in tasks.labels]
    lines = []
    for draw, item, own in _rows(tasks):
        text = "\n".join(str(value) for value in own.values()) or str(item)
        task = {"text": text, "item": item, "draw": draw, DESIGN_KEY: tasks.design, "options": options}
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
        text = _text(path)
        if Path(path).suffix.lower() in (".json", ".jsonl") or text.lstrip()[:1] in ("[", "{"):
            return _from_tool(text, path, expert)
        return _from_table(text, path, expert)


def _text(path: Path | NamedFile) -> str:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from None
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):  # encodings used by spreadsheets
        if encoding == "utf-16" and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            continue
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise DataError(f"{path} is not text. Save it as CSV in UTF-8.")


def _from_table(text: str, path: Path | NamedFile, expert: str) -> ExpertLabels:
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=_sign(text))
    names = {name.strip().casefold(): name for name in rows.fieldnames or () if name}
    item = next((names[alias] for alias in ("item", *sorted(ALIASES["item"][0])) if alias in names), None)
    labels = [name for key, name in names.items() if re.fullmatch(r"label([ _\-.0-9].*)?", key, re.DOTALL)]
    labels = labels or [names[alias] for alias in ("gold", "truth", "answer") if alias in names][:1]
    if item is None or not labels:
        raise DataError(
            f"{path} has no column {'item' if item is None else 'label'}. Keep the columns that majorant ask wrote."
        )
    draw = names.get("draw")
    who = next((names[alias] for alias in ("expert", *sorted(ALIASES["worker"][0])) if alias in names), None)
    answers = []
    for row in rows:
        named = (row.get(who) or "").strip() if who else ""
        for label in labels:
            value = unguard_cell((row.get(label) or "").strip())
            own = named or expert
            own = own if len(labels) == 1 else f"{own} {label}".strip()
            number = whole_number(row.get(draw) or "") if draw else None
            answers.append(ExpertAnswer(unguard_cell((row[item] or "").strip()), value or None, own, number))
    return ExpertLabels(tuple(answers))


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
    return own.get(DESIGN_KEY) or own.get(f"metadata.{DESIGN_KEY}")


def design_path(path: str | os.PathLike[str]) -> Path:
    """The path of the design of a file of items to label, in the same folder."""
    target = Path(path)
    return target.with_name(target.name.removesuffix(target.suffix) + DESIGN_ENDING)


def is_file(source: Any) -> bool:
    """Whether a source is a file that can be read twice."""
    return isinstance(source, str | os.PathLike) and Path(source).is_file()


def may_be_drawn(path: str | os.PathLike[str]) -> bool:
    """Whether the start of a file contains a draw number or the id of a design."""
    with Path(path).open("rb") as file:
        head = file.read(1 << 16).replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")
    first = head.split(b"\n", 1)[0].strip().strip(b'"').lower()
    return first.startswith(b"draw") or DESIGN_KEY.encode() in head


def digest_of(content: Mapping[str, Any]) -> str:
    """A digest of plain data, which shows whether a design was changed after it was drawn."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sample_size(content: Mapping[str, Any]) -> int:
    """How many items at the start of a design's order are a random sample of all items."""
    question, sampled = content["content"], int(content.get("sampled", 0))
    if content.get("question") != "teach":
        return sampled
    if question["taught"] is None:
        return len(content["order"])
    # No positions if gold labels trained the rule, because the order then contains only the other items.
    taught = int(question["taught"]["positions"])
    return max(taught, sampled) if taught else 0


def sample_design(source: Any) -> Mapping[str, Any] | None:
    """The design of a file of labels, if it starts with a random sample; None for plain gold labels.

    Labels of other designs are refused because they are not a random sample.
    """
    if not is_file(source) or not (design_path(source).exists() or may_be_drawn(source)):
        return None
    design = design_path(source)
    try:
        content = json.loads(design.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    if isinstance(content, Mapping) and sample_size(content):
        if content.get("digest") == digest_of({key: value for key, value in content.items() if key != "digest"}):
            return content
        raise DataError(f"{design} was changed after it was drawn, so {source} is not a random sample. Restore it.")
    raise DataError(
        f"{source} holds labels drawn by majorant ask. These items were picked because the rules disagree on them: "
        "do not use them to estimate accuracy. For that draw a random sample with majorant ask --teach. Use these "
        "with majorant check."
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """The answers as one code per item, in order, and any problems found in them."""

    answer_d: NDArray[np.int64]  # a class code, SKIPPED or UNASKED
    ignored: tuple[Any, ...]  # labelled items that are not in the design
    unknown: tuple[Any, ...]  # labels that are not classes
    relabelled: tuple[Any, ...]  # items that an expert labelled more than once
    disagreed: tuple[Any, ...]  # items on which experts disagree


def count_answers(
    answers: Iterable[ExpertAnswer],
    order: Sequence[Any],
    labels: Sequence[Any],
    *,
    asked: Sequence[int],
    experts: str = "majority",
) -> Counted:
    """Resolve answers: each expert's last answer counts, and `experts` says how to combine experts.

    `asked` holds positions in the order, in the order of the file's rows.  Rows are meant to be labelled from the top,
    so an unanswered item above an answered one counts as skipped.

    >>> said = [ExpertAnswer("b", "yes"), ExpertAnswer("a", "no"), ExpertAnswer("a", "yes")]
    >>> count_answers(said, ("c", "a", "b"), ("no", "yes"), asked=(0, 1, 2)).answer_d.tolist()
    [-1, 1, 1]
    """
    place, code = {str(item): position for position, item in enumerate(order)}, _Classes(labels)
    said: dict[int, dict[str, int]] = {}
    ignored, unknown, relabelled = [], [], []
    for answer in answers:
        if answer.label is None and not answer.cannot_tell:
            continue
        position = place.get(str(answer.item))
        if position is None and answer.draw is not None and 0 < answer.draw <= len(asked):
            drawn = asked[answer.draw - 1]  # a spreadsheet may have rewritten an item such as 007 as 7
            position = drawn if same_name(order[drawn], answer.item) else None
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
    answer_d, disagreed = np.full(len(order), UNASKED, dtype=np.int64), []
    for position, by_expert in said.items():
        answer_d[position], apart = _agreed([*by_expert.values()], experts)
        if apart:
            disagreed.append(order[position])
    answered = [row for row, position in enumerate(asked) if answer_d[position] != UNASKED]
    for position in asked[: max(answered, default=0)]:
        if answer_d[position] == UNASKED:
            answer_d[position] = SKIPPED
    return Counted(answer_d, _once(ignored), _once(unknown), _once(relabelled), _once(disagreed))


def same_name(drawn: Any, written: Any) -> bool:
    """Whether a row names the item that was drawn, possibly as rewritten by a spreadsheet."""
    try:
        return str(drawn) == str(written) or float(drawn) == float(written)
    except (TypeError, ValueError):
        return False


class _Classes:
    """Finds the class that an expert means by a label."""

    def __init__(self, labels: Sequence[Any]) -> None:
        self.exact = {str(label): code for code, label in enumerate(labels)}
        folded = [str(label).strip().casefold() for label in labels]
        self.alike = {text: code for code, text in enumerate(folded) if folded.count(text) == 1}
        numbers = ((label, code) for code, label in enumerate(labels) if isinstance(label, int | float))
        self.numbers = {float(label): code for label, code in numbers if not isinstance(label, bool)}

    def of(self, label: Any) -> int | None:
        """The code of a label, SKIPPED if the expert cannot tell, None if it is not a class."""
        text = str(label).strip()
        if text in self.exact:
            return self.exact[text]
        if text.casefold() in self.alike:
            return self.alike[text.casefold()]
        if text.casefold() in CANNOT_TELL_WORDS:
            return SKIPPED
        try:
            return self.numbers.get(float(text))
        except ValueError:
            return None


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
