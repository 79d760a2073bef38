"""Exceptions, by where the problem can be fixed. The command line prints the message and exits with code 2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar


class MajorantError(Exception):
    """Base class of all errors raised on purpose; the message says where, what is wrong, and what to do next."""

    def __init__(self, message: object = "") -> None:
        """Escape control characters from the user's data, which could move the cursor or change colours."""
        super().__init__("".join(s if s.isprintable() or s == "\n" else repr(s)[1:-1] for s in str(message)))


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


_VALUE = r"""(?:'[^'\n]*'|"[^"\n]*")"""


def respell(text: str, names: Iterable[str], spell: Callable[[str, list[str]], str]) -> str:
    """Rewrite the arguments in a message, item='x' say, as `spell` returns them given their name and values.

    >>> respell("Say which with item='NAME'.", ["item"], lambda name, values: f"--{name} {values[0]}")
    'Say which with --item NAME.'
    """
    argument = rf"(?<![\w.'\"-])({'|'.join(names)})=(True|{_VALUE}(?:\|{_VALUE})*|\[[^\]\n]*\]|)(?=[\s.,:;)]|$)"
    return re.sub(
        argument, lambda found: spell(found[1], [value[1:-1] for value in re.findall(_VALUE, found[2])]), text
    )
