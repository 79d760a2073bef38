"""Every sentence, unit and number format that a person reads about an answer, in one place.

The functions take plain facts (numbers, names, flags) and import nothing, so that whoever holds facts can say them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_LISTED = 8

# --- numbers


def count(number: int, thing: str) -> str:
    """1 item, 2 items."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def percent(value: float, digits: int = 1) -> str:
    """0.816 as 81.6 %."""
    return f"{100 * value:.{digits}f} %"


def level_percent(level: float) -> str:
    """A level of confidence with all its digits.

    >>> level_percent(.95), level_percent(.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:g} %"


def points(accuracy: float) -> str:
    """A difference of accuracies in percentage points.

    >>> points(.0294), points(-.00001)
    ('2.9', '0.0')
    """
    return f"{100 * accuracy:.1f}".replace("-0.0", "0.0")


def signed(value: float) -> str:
    """A number of percentage points with its sign.

    >>> signed(3.04), signed(-.2), signed(-.001)
    ('+3.0', '-0.2', '0.0')
    """
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def at_most(value: float) -> str:
    """A bound in percentage points, rounded up, so that the sentence stays true.

    >>> at_most(.31), at_most(1.0), at_most(.004)
    ('0.4', '1.0', '0.1')
    """
    tenths = -int(-10 * round(value, 9) // 1)
    return f"{max(tenths, 1) / 10:.1f}" if value > 0 else "0.0"


def listed(names: Iterable[str]) -> str:
    """The first few, and how many more."""
    every = list(names)
    more = len(every) - MOST_LISTED
    return ", ".join(every[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def one_of(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> one_of(["a"]), one_of(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
