"""The options of reading, shared by the library, the command line and every backend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from inspect import Parameter, Signature
from numbers import Real
from pathlib import PurePath
from typing import Any, TypedDict

from majorant.errors import ConfigError, DataError
from majorant.filetypes import PACKINGS, type_of_ending
from majorant.read.encode import Progress
from majorant.read.table import is_empty, sort_labels
from majorant.votes import Note, NoteKind

ALIASES: Mapping[str, tuple[frozenset[str], ...]] = {  # names of an earlier set win over those of a later one
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
}  # fmt: skip
VOTE_ROLES = ("item", "worker", "label")
GOLD_ROLES = ("item", "gold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the caller specified about columns; `needed` are the roles that must be found."""

    named: Mapping[str, str | tuple[str, ...]]  # role -> column; "" for none; several columns name an item together
    columns: tuple[str, ...] | None = None  # role of each position, for tables without names
    needed: tuple[str, ...] = VOTE_ROLES

    @classmethod
    def of(
        cls, columns: str | Sequence[str] | None = None, item: str | Sequence[str] | None = None, **named: str | None
    ) -> Choice:
        """Check the column arguments of the caller."""
        if columns is not None:
            roles = tuple(str(c).strip() for c in (columns.split(",") if isinstance(columns, str) else columns))
            _check_positions(roles)
            columns = roles
        key = item if item is None or isinstance(item, str) else tuple(map(str, item))
        key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        if key == ():
            raise ConfigError("item=[]: give the name of a column.")
        given = {role: name for role, name in {"item": key, **named}.items() if name is not None}
        return cls(named=given, columns=columns)

    def key_columns(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that name an item together, where the caller gave several.

        >>> Choice.of(item="question, system").key_columns(["question", "system", "judge"])
        ('question', 'system')
        >>> Choice.of(item="a,b").key_columns(["a,b", "c"]) is None
        True
        """
        key = self.named.get("item")
        if isinstance(key, str):
            key = None if "," not in key or key in names else tuple(part.strip() for part in key.split(","))
        return key


def _check_positions(roles: tuple[str, ...]) -> None:
    unknown = [role for role in roles if role != "_" and role not in ALIASES]
    if unknown:
        raise ConfigError(
            f"columns=: {unknown[0]!r} is not one of {', '.join(ALIASES)} (or _ for a column to skip), "
            f"in the order of the file, e.g. columns='worker,item,label,gold'."
        )
    twice = [role for role in roles if role != "_" and roles.count(role) > 1]
    if twice:
        raise ConfigError(f"columns= names {twice[0]!r} twice.")


POLICIES = ("error", "first", "last", "each")
MAX_CLASSES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How labels are to be understood: names of codes, their order, or a threshold that makes two classes."""

    order: tuple[str, ...] | None = None
    threshold: float | None = None
    codes: Mapping[str, str] | None = None  # 1 means yes, as in statistics packages

    @classmethod
    def of(
        cls, order: str | Sequence[Any] | None, threshold: float | None, codes: str | Mapping[Any, Any] | None = None
    ) -> Scale:
        """Check what the caller gave.

        >>> Scale.of(None, None, "1=yes, 2=no").codes
        {'1': 'yes', '2': 'no'}
        """
        names_of_codes = _names_of_codes(codes)
        if threshold is not None and codes is not None:
            raise ConfigError("threshold= is for scores, and codes= names classes. Leave one out.")
        if order is None:
            return cls(threshold=threshold, codes=names_of_codes)
        if threshold is not None:
            raise ConfigError("threshold= makes two classes, so order= does not apply. Leave one out.")
        names = [part.strip() for part in order.split(",")] if isinstance(order, str) else [str(one) for one in order]
        if len(set(names)) < len(names) or len(names) < 2:
            raise ConfigError(f"order= lists labels from lowest to highest, each once, not {','.join(names)!r}.")
        return cls(order=tuple(names), codes=names_of_codes)

    def note(self) -> Note | None:
        """Note on how labels were interpreted."""
        if self.threshold is not None:
            return Note(NoteKind.THRESHOLD, {"threshold": self.threshold})
        return None if self.order is None else Note(NoteKind.ORDER, {"labels": list(self.order)})

    def cut(self, value: Any, source: str) -> Any:
        """The label that a code stands for, or the class of a score."""
        if self.codes is not None and not is_empty(value):
            return self._named(value, source)
        if self.threshold is None or is_empty(value):
            return value
        classes = (f"below {self.threshold:g}", f"at least {self.threshold:g}")
        if value in classes:  # what ask writes, and people fill in
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"{source}: {value!r} is not a number to compare with threshold={self.threshold}."
            ) from None
        return classes[number >= self.threshold]

    def _named(self, value: Any, source: str) -> str:
        assert self.codes is not None
        code = f"{value:g}" if isinstance(value, float) else str(value).strip()
        if code in self.codes:
            return self.codes[code]
        if code in self.codes.values():  # written out already
            return code
        raise DataError(
            f"{source}: code {value!r} has no name. List it in codes=, or say empty={code!r} if it means no vote."
        )

    def sorted(self, labels: list[Any], source: str) -> list[Any]:
        """Labels from lowest to highest where the caller gave an order."""
        if self.threshold is not None:
            return sorted(labels, key=lambda label: not str(label).startswith("below"))
        if self.order is None:
            return sort_labels(labels)
        unknown = [label for label in labels if str(label) not in self.order]
        if unknown:
            raise DataError(
                f"{source}: label {unknown[0]!r} is not in order={','.join(self.order)!r}. List every label, lowest "
                "first."
            )
        return sorted(labels, key=lambda label: self.order.index(str(label)))  # type: ignore[union-attr]


def _names_of_codes(codes: str | Mapping[Any, Any] | None) -> dict[str, str] | None:
    if codes is None:
        return None
    if not isinstance(codes, str):
        return {str(code).strip(): str(name) for code, name in codes.items()}
    pairs = [part.partition("=") for part in codes.split(",")]
    names = {code.strip(): name.strip() for code, sign, name in pairs if sign and code.strip() and name.strip()}
    if len(names) != len(pairs):
        raise ConfigError(f"codes= names every code once, as in codes='1=yes,2=no', not {codes!r}.")
    return names


class Reading(TypedDict, total=False):
    """The keyword arguments of `read`, which everything that takes votes accepts and passes on."""

    item: str | Sequence[str] | None
    worker: str | None
    label: str | None
    gold: Any
    status: str | None
    seconds: str | None
    by: str | None
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
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Validated options with defaults; None means detect automatically."""

    item: str | Sequence[str] | None = None  # several columns may name an item together
    worker: str | None = None
    label: str | None = None
    gold: Any = None  # a column, or a file, a frame, a Series or a dict of true labels
    status: str | None = None
    seconds: str | None = None
    by: str | None = None  # a column of the items, by which to slice them
    text: str | None = None  # column with the item text
    columns: str | Sequence[str] | None = None  # role of each column, for tables without a header
    gold_file: Any = None
    repeats: str = "error"
    empty: str | Sequence[str] = ()
    encoding: str | None = None
    delimiter: str | None = None
    format: str | None = None
    wide: bool = False
    workers: str | Sequence[str] | None = None  # names or patterns of the workers' columns in a wide table
    sheet: str | None = None  # of a workbook
    several: bool = False  # a list of labels is a yes or no on each of them
    order: str | Sequence[Any] | None = None
    threshold: float | None = None
    codes: str | Mapping[Any, Any] | None = None
    fold_case: bool = False  # labels that differ by case, spaces or invisible signs are one
    allow_network: bool = False
    max_classes: int = MAX_CLASSES
    threads: int | None = None
    progress: Progress | None = field(default=None, compare=False, repr=False)
    needed: tuple[str, ...] = VOTE_ROLES  # the roles that must be found
    gold_key: tuple[str, ...] = ()  # the columns that name the items of the votes that gold belongs to
    choice: Choice = field(init=False, compare=False, repr=False)
    scale: Scale = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.repeats, str) or self.repeats not in POLICIES:
            raise ConfigError(f"repeats={self.repeats!r}: choose one of {', '.join(POLICIES)}.")
        if _is_gold_table(self.gold):
            if self.gold_file is not None:
                raise ConfigError("gold= and gold_file= both give true labels. Leave one out.")
            object.__setattr__(self, "gold_file", self.gold)
            object.__setattr__(self, "gold", None)
        _check_types(self)
        named = {role: getattr(self, role) for role in ("item", "worker", "label", "gold", "status", "seconds")}
        choice = replace(Choice.of(self.columns, **named, slice=self.by), needed=self.needed)
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
        """Names or patterns of the workers' columns, given as a list or between commas.

        >>> ReadOptions(workers="Dr_*, ana").worker_columns
        ('Dr_*', 'ana')
        """
        if self.workers is None:
            return None
        given = self.workers.split(",") if isinstance(self.workers, str) else self.workers
        names = tuple(str(name).strip() for name in given)
        if not names or "" in names:
            raise ConfigError("workers=: name at least one column, or a pattern such as 'Dr_*'.")
        return names

    @property
    def no_vote(self) -> frozenset[str]:
        """Labels that mean no vote."""
        return frozenset([self.empty] if isinstance(self.empty, str) else map(str, self.empty))

    @property
    def most_labels(self) -> int:
        """How many different labels may be read."""
        return self.max_classes if self.threshold is None else max(self.max_classes, 10_000_000)

    def for_gold(self) -> ReadOptions:
        """How to read the gold file that goes with the votes: its columns have names of their own."""
        return ReadOptions(
            encoding=self.encoding, threads=self.threads, allow_network=self.allow_network, empty=self.empty,
            max_classes=self.most_labels, needed=GOLD_ROLES, gold_key=self.gold_key,
        )  # fmt: skip

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        internal = ("needed", "gold_key", "choice", "scale")  # not for callers
        given = {option.name: getattr(self, option.name) for option in fields(self) if option.name not in internal}
        default = {option.name: option.default for option in fields(self)}
        return {
            name: value
            for name, value in given.items()
            if value is not default[name] and (name == "gold_file" or value != default[name])
        }


def with_gold_file(reading: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments, with a table of true labels in gold= moved to gold_file=."""
    if not _is_gold_table(reading.get("gold")) or reading.get("gold_file") is not None:
        return dict(reading)
    return {**reading, "gold": None, "gold_file": reading["gold"]}


def _is_gold_table(gold: Any) -> bool:
    """Whether gold= gives true labels and not the name of a column: anything but text, or the path of a file."""
    if gold is None:
        return False
    if not isinstance(gold, str):
        return True
    path = PurePath(gold)
    ending = PurePath(path.stem).suffix if path.suffix.lower() in PACKINGS else path.suffix
    return type_of_ending(ending) is not None


def _check_types(options: ReadOptions) -> None:
    """Refuse arguments of the wrong type, by name."""
    listed = {"item": str, "columns": str, "workers": str, "empty": object, "order": object}
    texts = "worker label gold status seconds by text encoding delimiter format sheet"
    for name in texts.split():
        value = getattr(options, name)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{name}={value!r}: expected a string.")
    for name, kind in listed.items():
        value = getattr(options, name)
        many = isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(one, kind) for one in value)
        if value is not None and not isinstance(value, str) and not many:
            raise ConfigError(f"{name}={value!r}: expected a string or a list of strings.")
    for name in ("wide", "several", "fold_case", "allow_network"):
        if not isinstance(getattr(options, name), bool):
            raise ConfigError(f"{name}={getattr(options, name)!r}: give True or False.")
    if not isinstance(options.max_classes, int) or options.max_classes < 1:
        raise ConfigError(f"max_classes={options.max_classes!r}: give a whole number of at least 1.")
    score: Any = options.threshold
    if score is not None and (isinstance(score, bool) or not isinstance(score, Real) or not math.isfinite(score)):
        raise ConfigError(f"threshold={score!r}: give a number.")
    if options.codes is not None and not isinstance(options.codes, (str, Mapping)):
        raise ConfigError(f"codes={options.codes!r}: give a dict, or text such as '1=yes,2=no'.")


def reading_signature(first: str) -> Signature:
    """The signature of a function of a source and these options, each with its default, for `help`."""
    hints = Reading.__annotations__
    options = [
        Parameter(
            option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=hints[option.name].__forward_arg__
        )
        for option in fields(ReadOptions)
        if option.name in hints
    ]
    source = Parameter(first, Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
    return Signature([source, *options], return_annotation="Votes")
