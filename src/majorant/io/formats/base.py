"""What a file format of another tool has to say: how it is recognised, and the votes in a record of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from majorant.errors import DataError

Record = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Vote:
    """One worker's answers on one item; without answers, an abstention."""

    item: Any
    worker: Any
    answers: dict[str, Any]  # question -> label, or a list of labels
    seconds: float | None = None
    is_gold: bool = False
    partial: bool = False  # other records may hold the answer to another question: no abstention where one lacks
    fields: Mapping[str, Any] = field(default_factory=dict)  # what the file says of the item


@dataclass(slots=True, kw_only=True)
class Context:
    """Where records come from, and what the caller wants of them."""

    source: str
    question: str | None = None  # as the caller named it
    predicted: bool = False  # models' predictions are the votes
    item_prefix: str = ""  # several logs: what tells the items of this one from those of others
    worker_suffix: str = ""  # ... and its workers
    counted: dict[str, set[Any]] = field(default_factory=dict)  # for the description: what there is how many of

    def count(self, **found: Any) -> None:
        """Remember one of each kind for the description."""
        for kind, value in found.items():
            self.counted.setdefault(kind, set()).add(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format in which the votes of an item or of a run stand together in a JSON record, a document or an archive."""

    name: str  # "Label Studio export"
    recognise: Callable[[frozenset[str], Record], bool]  # by all keys of the records, and the first record
    votes: Callable[[Record, Context], Iterator[Vote]]
    default: str | None = None  # the question where the caller names none and there are several
    kinds: tuple[str, ...] = ()  # what a description counts, besides votes: "scorer", "sample"
    refusal: Callable[[frozenset[str], Record], str | None] | None = None  # recognised, and which export can be read
    refuse_name: Callable[[str], str | None] | None = None  # the same by the name of the file
    header: Callable[[Record], Mapping[str, Any]] | None = None  # of a log: task, model and scorers, to tell logs apart


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A table of another tool, a row a vote or a row an item: which of its columns is what."""

    name: str
    recognise: Callable[[frozenset[str]], bool]  # by the names of the columns
    roles: Callable[[Sequence[str]], Mapping[str, str]]  # role -> column; what is not named is found as ever
    workers: Callable[[Sequence[str]], Sequence[str]] | None = None  # a row an item: the columns of its workers
    answer: Callable[[str], Any] | None = None  # what a cell of labels says that holds JSON; else the cell as it is


@contextmanager
def as_its_tool_does(name: str, where: str) -> Iterator[None]:
    """A record that is not laid out as its tool does is an error that names it."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{where} is not what a {name} holds ({type(error).__name__}: {error}). Export it again, or "
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
