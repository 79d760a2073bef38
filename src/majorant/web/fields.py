"""The form on the columns page, and its translation into settings of `read`, a command line and messages."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from majorant.defaults import TOLERANCE
from majorant.errors import ROLES_UNKNOWN, Argument, ConfigError, arguments_in, worded
from majorant.options import Check, Read, Tolerance, options_of

ROLES = ("item", "worker", "label", "gold")
NO_COLUMN = "-"  # choice in a list of columns that means there is none
_FORM = [one for table in (Read, Check, Tolerance) for one in options_of(table) if one.field]
FIELDS = {one.name: one.field for one in _FORM}  # the name of each argument in the form
PLACES = {one.name: one.place for one in _FORM if one.place}  # the id on the page of each field that a message can name
REPEATS_WORDS = {
    "error": "stop with an error",
    "first": "the first counts",
    "last": "the last counts",
    "each": "each counts",
}
Form = Mapping[str, Sequence[str]]  # as submitted: a field may occur several times


def in_page_words(message: str) -> str:
    """A library message in the terms of the form.

    >>> from majorant.errors import use
    >>> in_page_words(f"Say which with {use('item', 'NAME')}, or choose with {use('repeats', 'first', 'last')}.")
    'Say which with “Item”, or choose with “Repeated votes” (first, last).'
    >>> in_page_words(f"Allow more with {use('max_classes')}.")
    'Allow more with --max-classes on the command line.'
    """
    return worded(message, _in_form)


def _in_form(argument: Argument) -> str:
    name, values = argument.name, argument.values
    if name not in FIELDS:
        return f"--{name.replace('_', '-')} on the command line"
    if name == "gold" and values == ("",):
        return f"“{FIELDS[name]}” set to none"
    return f"“{FIELDS[name]}”" + (f" ({', '.join(map(str, values))})" if name == "repeats" and values else "")


def troubled_fields(message: str) -> list[str]:
    """The fields that a library message is about."""
    named = ["wide" if one.name == "workers" else one.name for one in arguments_in(message)]
    return [name for name in dict.fromkeys(named) if name in FIELDS]


def asks_for_columns(message: str) -> bool:
    """Whether a message says that the roles of the columns are unknown."""
    return any(one.name == ROLES_UNKNOWN for one in arguments_in(message))


def settings_of(form: Form, names: Sequence[str], detected: Sequence[str] = ()) -> dict[str, Any]:
    """The settings of `read`: only what the user chose, so that the rest is detected as on the command line.

    `names` are all columns, `detected` the worker columns that were detected before the user chose anything.

    >>> settings_of({"item": ["text"], "worker": [""], "gold": ["-"], "repeats": ["error"]}, ["text", "who"])
    {'item': 'text', 'gold': ''}
    """
    chosen = {role: _one(form, role) for role in ROLES}
    settings: dict[str, Any] = {}
    if _one(form, "headless"):
        settings["columns"] = _positions(chosen, names)
    else:
        ticked = [name for name in form.get("workers", ()) if name]
        wide = bool(_one(form, "wide")) or (bool(ticked) and set(ticked) != set(detected))
        for role, name in chosen.items():
            if name and not (wide and role in ("worker", "label")):
                settings[role] = "" if name == NO_COLUMN else name
        if wide and ticked:
            settings["workers"] = [glob.escape(name) for name in ticked]
        elif wide:
            settings["wide"] = True
    if (repeats := _one(form, "repeats")) and repeats != "error":
        settings["repeats"] = repeats
    if empty := [text.strip() for text in _one(form, "empty").split(",") if text.strip()]:
        settings["empty"] = empty
    settings |= {name: text for name in ("sheet", "encoding", "delimiter", "order") if (text := _one(form, name))}
    if _one(form, "several"):
        settings["several"] = True
    if trust := _one(form, "trust"):
        settings["trust"] = _ratings(trust)
    if _one(form, "unrated"):
        settings["ratings"] = False
    if threshold := _one(form, "threshold"):
        settings["threshold"] = _number(threshold, FIELDS["threshold"])
    return settings


def tolerance_of(form: Form) -> float:
    """The difference in accuracy that is too small to matter; the form gives it in percentage points."""
    text = _one(form, "tolerance")
    value = _number(text, FIELDS["tolerance"]) / 100 if text else TOLERANCE
    if not 0 <= value < 1:
        raise ConfigError(f"“{FIELDS['tolerance']}” must be between 0 and 100 percentage points.")
    return round(value, 9)


def command_of(file: str, settings: Mapping[str, Any], *, tolerance: float, gold: str = "") -> str:
    """The command line that gives the same numbers.

    >>> command_of("votes.csv", {"item": "the text", "gold": "", "several": True}, tolerance=.01)
    "majorant check votes.csv --item 'the text' --gold none --several"
    """
    words = ["majorant", "check", file]
    more = {"gold_file": gold} if gold else {}
    more |= {"tolerance": f"{tolerance:g}"} if tolerance != TOLERANCE else {}
    for name, value in {**settings, **more}.items():
        flag = f"--{('no_ratings' if value is False else name).replace('_', '-')}"
        if name == "empty":
            words += [word for text in value for word in (flag, text)]
        elif name == "trust":
            words += [word for judge, points in value.items() for word in (flag, f"{judge}={points:g}")]
        elif isinstance(value, bool):
            words.append(flag)
        else:
            words += [flag, ",".join(value) if isinstance(value, list) else f"{value}" if value != "" else "none"]
    return shlex.join(words)


def _positions(chosen: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """The role of each column in a file without a header."""
    place = {name: role for role, name in chosen.items() if name and name != NO_COLUMN}
    missing = [FIELDS[role] for role in ROLES[:3] if role not in place.values()]
    if missing:
        raise ConfigError(f"The file has no header: say which column is “{'” and which is “'.join(missing)}”.")
    return [place.get(name, "_") for name in names]


def _one(form: Form, name: str) -> str:
    return next(iter(form.get(name, ())), "").strip()


def _ratings(text: str) -> dict[str, float]:
    """Ratings by the name of a judge.

    >>> _ratings("gpt-4=1290, our judge=1200")
    {'gpt-4': 1290.0, 'our judge': 1200.0}
    """
    pairs = [part.strip().rpartition("=") for part in text.split(",") if part.strip()]
    if not all(name.strip() for name, _, _ in pairs):
        raise ConfigError(f"“{FIELDS['trust']}” are pairs such as gpt-4=1290, separated by commas.")
    return {name.strip(): _number(points, FIELDS["trust"]) for name, _, points in pairs}


def _number(text: str, field: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"“{field}”: {text!r} is not a number.") from None
