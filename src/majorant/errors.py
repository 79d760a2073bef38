"""What can go wrong, by who can mend it. The command line turns each into one message and exit code 2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


class MajorantError(Exception):
    """Any error this package raises on purpose; its text says where, what, and the next move."""


class DataError(MajorantError, ValueError):
    """The table must be fixed.

    >>> import majorant as mj
    >>> mj.read([("a", "w")])
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: list of votes, row 0: ('a', 'w') is not (item, worker, label).
    """


class ConfigError(MajorantError, ValueError):
    """The call must be fixed.

    >>> import majorant as mj
    >>> mj.read([("a", "w", 1)], repeats="both")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: repeats='both': choose one of error, first, last, each.
    """


class NotIdentified(MajorantError):
    """The data cannot answer the question, however they are analysed.

    >>> import majorant as mj
    >>> mj.plan([("a", "u", 1), ("b", "v", 0), ("b", "u", 0)])
    Traceback (most recent call last):
    ...
    majorant.errors.NotIdentified: ...
    """


_VALUE = r"""(?:'[^'\n]*'|"[^"\n]*")"""


def respell(text: str, names: Iterable[str], spell: Callable[[str, list[str]], str]) -> str:
    """A message in other words where it speaks of arguments: `spell` is given a name and the values beside it.

    >>> respell("Say which with item='NAME'.", ["item"], lambda name, values: f"--{name} {values[0]}")
    'Say which with --item NAME.'
    """
    argument = rf"(?<![\w.'\"-])({'|'.join(names)})=(True|{_VALUE}(?:\|{_VALUE})*|)(?=[\s.,:;)]|$)"
    return re.sub(
        argument, lambda found: spell(found[1], [value[1:-1] for value in re.findall(_VALUE, found[2])]), text
    )
