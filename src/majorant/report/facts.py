"""Facts of a summary as the page shows them: each number says where it comes from and what it was before rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from majorant.report.text import printable
from majorant.wording import percent, points, signed

NAMES = (
    "worker",
    "item",
    "label",
    "runner_up",
    "workers",
    "from",
    "to",
    "value",
    "redundant",
    "keep",
    "ignored",
    "columns",
)
LONGEST_NAME, LONGEST_TEXT = 120, 3000
SIGNS = {True: "✓", False: "✗", None: "?"}
FORMS: dict[str, Callable[[Any], str]] = {
    "percent": percent,
    "points": lambda value: f"{points(value)} points",
    "bare points": points,
    "count": lambda value: f"{value:,}",
    "ratio": lambda value: f"{value:.2f}",
    "whole": lambda value: f"{100 * value:g} %",
    "gain": lambda value: signed(value).replace("-", "−"),
    "signed": lambda value: f"{value:+.2f}".replace("-", "−"),
    "fine": lambda value: f"{value:.3g}",
}


def lookup(summary: dict[str, Any], path: str) -> Any:
    """The value at `votes.label_votes.0.votes`; None where the way ends early."""
    value: Any = summary
    for key in path.split("."):
        if value is None:
            return None
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def fact(summary: dict[str, Any], path: str, form: str = "count") -> Any:
    """A number with its address in the summary, so that a test, or a reader's script, can find it again."""
    from markupsafe import Markup

    value = lookup(summary, path)
    if value is None:
        return Markup('<span class="none">–</span>')
    if isinstance(value, str):  # inf and -inf
        value = float(value)
    text = FORMS[form](value).replace(" ", "\u00a0")
    return Markup('<data value="{}" data-at="{}">{}</data>').format(value, path, text)


def estimate(summary: dict[str, Any], path: str, form: str = "percent") -> Any:
    """A number and its interval, or the reason why there is none."""
    from markupsafe import Markup

    one = lookup(summary, path)
    if one is None or one["value"] is None:
        reason = "not estimated" if one is None or not one["reason"] else one["reason"]
        return Markup('<span class="none">{}</span>').format(printable(reason))
    value = fact(summary, f"{path}.value", form)
    if one["low"] is None:
        return value
    ends = "bare points" if form == "points" else form
    low, high = (fact(summary, f"{path}.{end}", ends) for end in ("low", "high"))
    return Markup('{} <span class="ends">[{}, {}]</span>').format(value, low, high)


def chip(passed: bool | None) -> str:
    """The sign of a gate: told by its shape, not by its colour."""
    return SIGNS[passed]


def clip(value: Any, key: str = "") -> Any:
    """The summary with names of a length that a page can bear; sentences may be longer."""
    if isinstance(value, dict):
        return {clip(str(name)): clip(one, key if key == "columns" else str(name)) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clip(one, key) for one in value]
    most = LONGEST_NAME if key in NAMES else LONGEST_TEXT
    if isinstance(value, str) and len(value) > most:
        return value[: most - 1] + "…"
    return value
