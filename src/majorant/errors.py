"""Exceptions, by where the problem can be fixed. The command line prints the message and exits with code 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

_BEGIN, _END = "\ue000", "\ue001"  # around an argument in a message; private characters, so that no text contains them


ROLES_UNKNOWN = "roles of the columns"  # what an error is about if the columns cannot be told apart


class Argument(NamedTuple):
    """An argument that a message names; the command line and the web page spell it as a flag or as a field.

    `values` are what to give for it, any of them. If it is not `named`, the message is only about it.
    """

    name: str
    values: tuple[Any, ...]
    named: bool


def use(name: str, *values: Any) -> str:
    """Name an argument in a message, with the values to give for it.

    >>> str(ConfigError(f"Choose with {use('repeats', 'first', 'last')}, or pass {use('wide', True)}."))
    "Choose with repeats='first'|'last', or pass wide=True."
    """
    return f"{_BEGIN}{json.dumps([True, name, *map(_plain, values)])}{_END}"


def about(name: str) -> str:
    """Say, without a word, that a message is about an argument."""
    return f"{_BEGIN}{json.dumps([False, name])}{_END}"


def arguments_in(message: str) -> list[Argument]:
    """The arguments that a message names or is about."""
    return [part for part in _parts(message) if isinstance(part, Argument)]


def worded(message: str, spell: Callable[[Argument], str]) -> str:
    """A message with its arguments as `spell` writes them."""
    return "".join(part if isinstance(part, str) else spell(part) if part.named else "" for part in _parts(message))


def _parts(message: str) -> Iterator[str | Argument]:
    text, *marked = message.split(_BEGIN)
    yield text
    for one in marked:
        facts, _, text = one.partition(_END)
        named, name, *values = json.loads(facts)
        yield Argument(name, tuple(values), named)
        yield text


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    return _printable(str(value))


def _in_python(argument: Argument) -> str:
    return f"{argument.name}={'|'.join(map(repr, argument.values))}"


def _printable(text: str) -> str:
    return "".join(s if s.isprintable() or s in f"\n{_BEGIN}{_END}" else repr(s)[1:-1] for s in text)


class MajorantError(Exception):
    """Base class of all errors raised on purpose; the message says where, what is wrong, and what to do next."""

    def __init__(self, message: object = "") -> None:
        """Escape control characters from the user's data, which could move the cursor or change colours."""
        self.message = _printable(str(message))  # with its arguments as facts; str() has them as in Python
        super().__init__(worded(self.message, _in_python))


class DataError(MajorantError, ValueError):
    """The input data are invalid.

    >>> import majorant as mj
    >>> mj.read([("a", "w")])
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: list of votes, row 0: ('a', 'w') is not (item, worker, label).
    """


class ConfigError(MajorantError, ValueError):
    """The arguments or options are invalid.

    >>> import majorant as mj
    >>> mj.read([("a", "w", 1)], repeats="both")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: repeats='both': choose one of error, first, last, each.
    """


class NotIdentified(MajorantError):
    """No method can answer the question from these data.

    >>> import majorant as mj
    >>> mj.plan([("a", "u", 1), ("b", "v", 0), ("b", "u", 0)])
    Traceback (most recent call last):
    ...
    majorant.errors.NotIdentified: ...
    """


class DataNote(UserWarning):
    """A warning about something that changes what a result means, such as NA counted as a label.

    Issued once for every table that is read.  `note` holds the facts; ``votes.account.notes`` has all notes.

    >>> import warnings
    >>> import majorant as mj
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     votes = mj.read([("a", "w", "yes"), ("a", "x", "NA")])
    >>> print(caught[0].message)
    'NA' (1 vote) counts as a label. If it means no vote, pass empty='NA'.
    """

    spell: ClassVar[Callable[[Any], str]] = repr  # the package says how, because sentences are written in `render`

    def __init__(self, note: Any) -> None:
        super().__init__(note)
        self.note = note

    def __str__(self) -> str:
        return type(self).spell(self.note)
