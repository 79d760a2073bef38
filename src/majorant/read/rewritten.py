"""What spreadsheets make of names: 007 becomes 7, 1-2 a date, true TRUE, and long numbers lose their last digits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MONTHS = (  # in the languages of common spreadsheets, by their first letters
    "jan", "feb fév fev", "mar mär mrz", "apr avr abr", "may mai", "jun juin", "jul juil", "aug août ago", "sep set",
    "oct okt", "nov", "dec dez déc dic",
)  # fmt: skip


def same_name(drawn: Any, written: Any) -> bool:
    """Whether a cell holds a name as it was written, or as a spreadsheet rewrites it without losing anything.

    >>> same_name("007", "7"), same_name("true", "TRUE"), same_name("q 1 ", "q 1"), same_name("7", "8")
    (True, True, True, False)
    """
    a, b = str(drawn), str(written)
    if a == b or " ".join(a.split()).casefold() == " ".join(b.split()).casefold():
        return True
    try:
        return float(a) == float(b)
    except ValueError:
        return False


def may_be(drawn: Any, written: Any) -> bool:
    """Whether a cell may be what a spreadsheet made of a name, also if other names would look the same.

    >>> may_be("1-2", "02. Jan"), may_be("MAR1", "1-Mar"), may_be("123456789012345678", "1.23457E+17")
    (True, True, True)
    >>> may_be("1-2", "03. Jan"), may_be("q1", "q2")
    (False, False)
    """
    return same_name(drawn, written) or _is_date_of(str(drawn), str(written)) or _is_rounded(str(drawn), str(written))


def _is_date_of(name: str, date: str) -> bool:
    """Whether a date has the numbers of a name; the spreadsheet may have added the year."""
    own, shown = _numbers(name), _numbers(date)
    if len(own) < 2 or len(shown) < 2:
        return False
    rest = list(shown)
    for number in own:
        whole = next((one for one in (number, 2000 + number, 1900 + number) if one in rest), None)
        if whole is None:
            return False
        rest.remove(whole)
    return len(rest) <= 1 and all(one == 1 or one > 31 for one in rest)


def _numbers(text: str) -> list[int]:
    """The numbers in a text, the names of months included; none if there is anything else.

    >>> _numbers("02. Jan 2026"), _numbers("a1-2")
    ([2, 1, 2026], [])
    """
    numbers = []
    for word in re.findall(r"\d+|[^\W\d_]+", text.casefold()):
        month = _month(word)
        if not word.isdecimal() and month is None:
            return []
        numbers.append(int(word) if month is None else month)
    return numbers if len(numbers) <= 6 else []


def _month(word: str) -> int | None:
    return next((n for n, starts in enumerate(MONTHS, 1) if word.startswith(tuple(starts.split()))), None)


def _is_rounded(name: str, written: str) -> bool:
    """Whether a number is a long id rounded to the digits shown."""
    digits = re.fullmatch(r"\s*([0-9])(?:[.,]([0-9]+))?[eE]\+?[0-9]+\s*", written)
    if digits is None or re.fullmatch(r"[0-9]{12,}", name) is None:
        return False
    return float(f"{float(name):.{len(digits[2] or '')}e}") == float(written.replace(",", "."))


def only_meant(names: Iterable[Any], written: Any) -> Any | None:
    """The only name that a cell may be; None if there is none, or more than one."""
    fitting = [name for name in names if may_be(name, written)]
    return fitting[0] if len(fitting) == 1 else None
