"""Options for reading, and the roles of columns: chosen by the caller, or recognised by their names."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from inspect import Parameter, Signature
from pathlib import PurePath
from typing import Any, TypedDict

from majorant.arguments import check_argument
from majorant.defaults import REPEATS
from majorant.errors import ROLES_UNKNOWN, ConfigError, DataError, about, use
from majorant.filetypes import PACKINGS, type_of_ending
from majorant.options import Read
from majorant.read.table import is_empty, sort_labels
from majorant.votes import Note, NoteKind

ALIASES: Mapping[str, tuple[frozenset[str], ...]] = {  # names in an earlier set take precedence
    "item": (
        frozenset(["item", "task", "example", "unit", "question", "id"]),
        frozenset(["sample", "doc", "document", "case", "testcase", "prompt", "query", "record", "instance", "hit",
                   "subject", "image"]),
    ),
    "worker": (
        frozenset(["worker", "annotator", "rater", "judge", "coder", "labeler", "labeller", "user"]),
        frozenset(["performer", "grader", "evaluator", "reviewer", "scorer", "assessor", "juror", "judgemodel",
                   "judgename", "gradermodel", "evaluatormodel", "annotatorname", "workername", "username"]),
        frozenset(["model"]),
    ),
    "label": (
        frozenset(["label", "answer", "rating", "vote", "response", "value", "verdict", "winner", "judgment",
                   "judgement", "decision", "preference"]),
        frozenset(["score", "grade", "choice", "category", "class", "annotation", "outcome", "result", "pass",
                   "passed", "iscorrect"]),
    ),
    "gold": (
        frozenset(["gold", "truth", "expected", "goldlabel", "groundtruth", "truelabel", "gt", "ytrue"]),
        frozenset(["human", "humanlabel", "humanverdict", "humanrating", "humanscore", "goldstandard", "expertlabel"]),
    ),
    "status": (frozenset(["status"]),),
    "seconds": (frozenset(["seconds"]),),
    "slice": (),  # only if the caller names it
    "trust": (),  # likewise
}  # fmt: skip
JUDGES = frozenset(
    ["judge", "grader", "evaluator", "scorer", "juror", "judgemodel", "judgename", "gradermodel", "evaluatormodel"]
)
FILE = "file"  # the name of the column that holds the file name
VOTE_ROLES = ("item", "worker", "label")
GOLD_ROLES = ("item", "gold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the caller said about columns; `needed` are the roles that must be found."""

    named: Mapping[str, str | tuple[str, ...]]  # role -> column; "" for none; several columns name an item together
    columns: tuple[str, ...] | None = None  # role of each position, for tables without names
    needed: tuple[str, ...] = VOTE_ROLES

    @classmethod
    def of(
        cls, columns: str | Sequence[str] | None = None, item: str | Sequence[str] | None = None, **named: str | None
    ) -> Choice:
        """Check the column arguments of the caller."""
        if columns is not None:
            columns = tuple(str(c).strip() for c in (columns.split(",") if isinstance(columns, str) else columns))
            roles = [role for role in columns if role != "_"]
            if unknown := [role for role in roles if role not in ALIASES]:
                raise ConfigError(
                    f"{use('columns')}: {unknown[0]!r} is not one of {', '.join(ALIASES)} (or _ for a column to skip), "
                    f"in the order of the file, e.g. {use('columns', 'worker,item,label,gold')}."
                )
            if twice := [role for role in roles if roles.count(role) > 1]:
                raise ConfigError(f"{use('columns')} names {twice[0]!r} twice.")
        key = item if item is None or isinstance(item, str) else tuple(map(str, item))
        key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        if key == ():
            raise ConfigError("item=[]: give the name of a column.")
        given = {role: name for role, name in {"item": key, **named}.items() if name is not None}
        return cls(named=given, columns=columns)

    def key_columns(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that together name an item, if the caller gave several.

        >>> Choice.of(item="question, system").key_columns(["question", "system", "judge"])
        ('question', 'system')
        >>> Choice.of(item="a,b").key_columns(["a,b", "c"]) is None
        True
        """
        key = self.named.get("item")
        if isinstance(key, str):
            key = None if "," not in key or key in names else tuple(part.strip() for part in key.split(","))
        return key


Progress = Callable[[int], None]  # called with the number of rows read so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How to interpret labels: names of codes, an order, or a threshold that separates two classes."""

    order: tuple[str, ...] | None = None
    threshold: float | None = None
    codes: Mapping[str, str] | None = None  # code -> label, as in statistics packages

    @classmethod
    def of(
        cls, order: str | Sequence[Any] | None, threshold: float | None, codes: str | Mapping[Any, Any] | None = None
    ) -> Scale:
        """Check the caller's arguments.

        >>> Scale.of(None, None, "1=yes, 2=no").codes
        {'1': 'yes', '2': 'no'}
        """
        if threshold is not None and codes is not None:
            raise ConfigError(f"{use('threshold')} is for scores, and {use('codes')} names classes. Leave one out.")
        if threshold is not None and order is not None:
            raise ConfigError(f"{use('threshold')} makes two classes, so {use('order')} does not apply. Leave one out.")
        if isinstance(codes, str):
            pairs = [part.partition("=") for part in codes.split(",")]
            names = {code.strip(): name.strip() for code, _, name in pairs if code.strip() and name.strip()}
            if len(names) != len(pairs):
                raise ConfigError(
                    f"{use('codes')} names every code once, as in {use('codes', '1=yes,2=no')}, not {codes!r}."
                )
            codes = names
        if order is not None:
            order = tuple(str(one).strip() for one in (order.split(",") if isinstance(order, str) else order))
            if len(set(order)) < len(order) or len(order) < 2:
                raise ConfigError(
                    f"{use('order')} lists labels from lowest to highest, each once, not {','.join(order)!r}."
                )
        return cls(
            order=order,
            threshold=threshold,
            codes=None if codes is None else {str(code).strip(): str(name) for code, name in codes.items()},
        )

    def note(self) -> Note | None:
        """The note on how labels were interpreted."""
        if self.threshold is not None:
            return Note(NoteKind.THRESHOLD, {"threshold": self.threshold})
        return None if self.order is None else Note(NoteKind.ORDER, {"labels": list(self.order)})

    def cut(self, value: Any, source: str) -> Any:
        """The label for a code, or the class of a score."""
        if is_empty(value):
            return value
        if self.codes is not None:
            code = f"{value:g}" if isinstance(value, float) else str(value).strip()
            if code in self.codes or code in self.codes.values():  # may already be a label
                return self.codes.get(code, code)
            raise DataError(
                f"{source}: code {value!r} has no name. List it in {use('codes')}, or pass "
                f"{use('empty', code)} if it means no vote."
            )
        if self.threshold is None:
            return value
        classes = (f"below {self.threshold:g}", f"at least {self.threshold:g}")
        if value in classes:  # may already be a class, as in files from `ask`
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"{source}: {value!r} is not a number to compare with {use('threshold', self.threshold)}."
            ) from None
        return classes[number >= self.threshold]

    def sorted(self, labels: list[Any], source: str) -> list[Any]:
        """Labels from lowest to highest, if the caller gave an order."""
        if self.threshold is not None:
            return sorted(labels, key=lambda label: not str(label).startswith("below"))
        if self.order is None:
            return sort_labels(labels)
        unknown = [label for label in labels if str(label) not in self.order]
        if unknown:
            raise DataError(
                f"{source}: label {unknown[0]!r} is not in {use('order', ','.join(self.order))}. List "
                "every label, lowest "
                "first."
            )
        return sorted(labels, key=lambda label: self.order.index(str(label)))  # type: ignore[union-attr]


class Reading(TypedDict, total=False):
    """The keyword arguments of `read`, which every function that takes votes accepts and passes on."""

    item: str | Sequence[str] | None
    worker: str | None
    label: str | None
    gold: Any
    status: str | None
    seconds: str | None
    by: str | None
    trust_column: str | None
    trust: Mapping[str, float] | None
    ratings: Any
    text: str | None
    columns: str | Sequence[str] | None
    gold_file: Any
    repeats: str
    empty: str | Sequence[str]
    encoding: str | None
    delimiter: str | None
    format: str | None
    wide: bool
    workers: str | Sequence[str] | None
    sheet: str | None
    several: bool
    order: str | Sequence[Any] | None
    threshold: float | None
    codes: str | Mapping[Any, Any] | None
    fold_case: bool
    allow_network: bool
    max_classes: int
    threads: int | None
    memory: str | int | None
    work: str | None
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(Read):
    """The options for reading votes, checked; `Read` in options.py declares them."""

    progress: Progress | None = field(default=None, compare=False, repr=False)
    needed: tuple[str, ...] = VOTE_ROLES  # the roles that must be found
    gold_key: tuple[str, ...] = ()  # the columns that name the items in the votes
    choice: Choice = field(init=False, compare=False, repr=False)
    scale: Scale = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.repeats, str) or self.repeats not in REPEATS:
            raise ConfigError(f"{use('repeats', self.repeats)}: choose one of {', '.join(REPEATS)}.")
        if _is_gold_table(self.gold):
            if self.gold_file is not None:
                raise ConfigError(f"{use('gold')} and {use('gold_file')} both give true labels. Leave one out.")
            object.__setattr__(self, "gold_file", self.gold)
            object.__setattr__(self, "gold", None)
        _check_types(self)
        named = {role: getattr(self, role) for role in ("item", "worker", "label", "gold", "status", "seconds")}
        choice = replace(Choice.of(self.columns, **named, slice=self.by, trust=self.trust_column), needed=self.needed)
        object.__setattr__(self, "choice", choice)
        object.__setattr__(self, "scale", Scale.of(self.order, self.threshold, self.codes))

    @classmethod
    def of(cls, reading: Mapping[str, Any]) -> ReadOptions:
        """Options from keyword arguments; unknown ones are refused.

        >>> ReadOptions.of({"itme": "text"})
        Traceback (most recent call last):
        ...
        majorant.errors.ConfigError: there is no argument itme=. Did you mean item=?
        """
        unknown = [name for name in reading if name not in Reading.__annotations__]
        if unknown:
            close = get_close_matches(unknown[0], Reading.__annotations__, n=1)
            listed = "=, ".join(Reading.__annotations__)
            hint = f"Did you mean {close[0]}=?" if close else f"Votes are read with {listed}=."
            raise ConfigError(f"there is no argument {unknown[0]}=. {hint}")
        return cls(**reading)

    @property
    def worker_columns(self) -> tuple[str, ...] | None:
        """Names or patterns of worker columns, given as a list or separated by commas.

        >>> ReadOptions(workers="Dr_*, ana").worker_columns
        ('Dr_*', 'ana')
        """
        if self.workers is None:
            return None
        given = self.workers.split(",") if isinstance(self.workers, str) else self.workers
        names = tuple(str(name).strip() for name in given)
        if not names or "" in names:
            raise ConfigError(f"{use('workers')}: name at least one column, or a pattern such as 'Dr_*'.")
        return names

    @property
    def no_vote(self) -> frozenset[str]:
        """Labels that mean no vote."""
        return frozenset([self.empty] if isinstance(self.empty, str) else map(str, self.empty))

    @property
    def most_labels(self) -> int:
        """The most different labels that may be read."""
        return self.max_classes if self.threshold is None else max(self.max_classes, 10_000_000)

    def for_gold(self) -> ReadOptions:
        """The options for reading the gold file of the votes, whose columns have their own names."""
        return ReadOptions(
            encoding=self.encoding, threads=self.threads, allow_network=self.allow_network, empty=self.empty,
            max_classes=self.most_labels, needed=GOLD_ROLES, gold_key=self.gold_key,
        )  # fmt: skip

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        internal = ("needed", "gold_key", "choice", "scale")  # not set by callers
        given = {option.name: getattr(self, option.name) for option in fields(self) if option.name not in internal}
        default = {option.name: option.default for option in fields(self)}
        return {
            name: value
            for name, value in given.items()
            if value is not default[name] and (name == "gold_file" or value != default[name])
        }


def with_gold_file(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments, with a table of true labels moved from gold= to gold_file=."""
    if not _is_gold_table(reading.get("gold")) or reading.get("gold_file") is not None:
        return dict(reading)
    return {**reading, "gold": None, "gold_file": reading["gold"]}


def _is_gold_table(gold: Any) -> bool:
    """Whether gold= holds true labels (anything but text, or the path of a file) rather than a column name."""
    if gold is None:
        return False
    if not isinstance(gold, str):
        return True
    path = PurePath(gold)
    ending = PurePath(path.stem).suffix if path.suffix.lower() in PACKINGS else path.suffix
    return type_of_ending(ending) is not None


def _check_types(options: ReadOptions) -> None:
    """Refuse arguments of the wrong type, naming them; convert NumPy scalars and arrays."""
    for one in fields(Read):
        value = getattr(options, one.name)
        if value is not one.default:
            object.__setattr__(options, one.name, check_argument(one.name, value, str(one.type)))
    if not (options.ratings is None or isinstance(options.ratings, (bool, str, os.PathLike))):
        raise ConfigError(f"ratings must be a file of ratings, or False for none, not {options.ratings!r}.")
    if options.threshold is not None and not math.isfinite(options.threshold):
        raise ConfigError(f"threshold must be a number, not {options.threshold!r}.")


def reading_signature(first: str) -> Signature:
    """A signature for `help`: a first parameter, then these options with their defaults."""
    default = {one.name: one.default for one in fields(ReadOptions)}
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default[name], annotation=hint.__forward_arg__)
        for name, hint in Reading.__annotations__.items()
    ]
    source = Parameter(first, Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
    return Signature([source, *options], return_annotation="Votes")


def find_roles(names: Sequence[str], choice: Choice, source: str) -> dict[str, int]:
    """The position of each role among `names`.

    >>> find_roles(["Task ID", "annotator", "Answer", "comment"], Choice.of(), "votes.csv")
    {'item': 0, 'worker': 1, 'label': 2}
    >>> find_roles(["item", "task", "worker", "label"], Choice.of(), "votes.csv")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: votes.csv: columns 'item' and 'task' could both be the item. Say which with item='NAME'.
    """
    if choice.columns is not None:
        missing = [role for role in choice.needed if role not in choice.columns]
        if missing:
            raise ConfigError(f"{source}: {use('columns', ','.join(choice.columns))} lacks {' and '.join(missing)}.")
        return {role: choice.columns.index(role) for role in ALIASES if role in choice.columns}
    roles = {}
    for role, candidates in candidate_roles(names, choice, source).items():
        if len(candidates) > 1:
            both = " and ".join(repr(names[p]) for p in candidates)
            quantity = "both" if len(candidates) == 2 else "all"
            raise DataError(
                f"{source}: columns {both} could {quantity} be the {role}. Say which with {use(role, 'NAME')}"
                + (f", or {use(role, '')}." if role not in choice.needed else ".")
            )
        if candidates:
            roles[role] = candidates[0]
    missing = [role for role in choice.needed if role not in roles]
    if missing == ["gold"] and choice.needed == GOLD_ROLES and "label" in roles:
        roles["gold"] = roles.pop("label")  # in a gold file, the column may be called label
    elif missing:
        flags = " ".join(use(role, "NAME") for role in missing)
        raise DataError(
            f"{source}: cannot tell which column is the {' or the '.join(missing)}{about(ROLES_UNKNOWN)}. "
            f"Its columns are {list_names(names)}. Say {flags}; "
            f"if the file has no header, give the order instead, e.g. {use('columns', 'worker,item,label')}."
            f" If each worker has a column, name these columns: {use('workers', 'ana,bo,cy')} or "
            f"{use('workers', 'Dr_*')}."
            + (f" If each worker has a file, pass {use('worker', 'file')}." if "worker" in missing else "")
        )
    return roles


def candidate_roles(names: Sequence[str], choice: Choice, source: str) -> dict[str, list[int]]:
    """The columns that could have each role by their names; only one if the caller named it."""
    roles: dict[str, list[int]] = {
        role: [find_column(names, str(word), role, source)] for role, word in choice.named.items() if word
    }
    for role in ALIASES:
        if role in roles or choice.named.get(role) == "":
            continue
        taken = {p for some in roles.values() if len(some) == 1 for p in some}
        free = [p for p in range(len(names)) if p not in taken]
        ranked = [[p for p in free if {letters(names[p]), bare_word(names[p])} & words] for words in ALIASES[role]]
        if role in ("label", "gold") and any(bare_word(names[p]) in JUDGES for p in roles.get("worker", [])):
            # If there is a judge, an answer or response is what was judged, unless nothing else could be the label.
            judged = ("answer", "response", "value", "expected")
            kept = [[p for p in some if bare_word(names[p]) not in judged] for some in ranked]
            ranked = kept if any(kept) or role == "gold" else ranked
        roles[role] = next((some for some in ranked if some), [])
    return {role: roles[role] for role in ALIASES if role in roles}


def bare_word(name: str) -> str:
    """A column name without case, spaces, punctuation and a final "id"."""
    return letters(name).removesuffix("id")


def letters(name: str) -> str:
    """A column name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name).casefold()


def name_words(name: str) -> list[str]:
    """The words in a column name.

    >>> name_words("annotatorEmail 2"), name_words("image_path")
    (['annotator', 'email', '2'], ['image', 'path'])
    """
    return re.findall(r"[^\W\d_]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())


def means(name: str, role: str) -> bool:
    """Whether a column with this name could have the role."""
    return any({letters(name), bare_word(name)} & words for words in ALIASES[role])


def find_column(names: Sequence[str], word: str, role: str, source: str) -> int:
    """The position of the column that the caller named, ignoring case if there is no exact match."""
    exact = [p for p, name in enumerate(names) if name == word]
    hits = exact or [p for p, name in enumerate(names) if name.strip().casefold() == word.strip().casefold()]
    if len(hits) == 1:
        return hits[0]
    what = "has no column" if not hits else "has several columns"
    raise ConfigError(
        f"{source} {what} {word!r} to take for the {role}{about(role)}. Its columns are {list_names(names)}."
    )


def list_names(names: Sequence[str], most: int = 12) -> str:
    """The first column names of a table, for a message."""
    shown = ", ".join(repr(name if len(name) <= 40 else name[:39] + "…") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def says_position(name: str) -> bool:
    """Whether a column with this name may say in which order two candidates were shown.

    >>> says_position("is_swapped"), says_position("label")
    (True, False)
    """
    return letters(name) in {
        "position", "order", "swapped", "isswapped", "swap", "presentationorder", "displayorder", "shownfirst",
        "firstshown", "pairorder", "aborder", "permutation",
    }  # fmt: skip


def has_vote_columns(names: Sequence[str]) -> bool:
    """Whether a table has exactly an item, a worker and a label column, by their names.

    >>> has_vote_columns(["task", "worker", "answer"]), has_vote_columns(["item", "worker", "label", "model"])
    (True, False)
    """
    roles = [[role for role in VOTE_ROLES if means(name, role)] for name in names]
    return sorted(roles) == sorted([role] for role in VOTE_ROLES)
