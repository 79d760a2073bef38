"""Names and numbers as the figures show them."""

from __future__ import annotations

from typing import Any

from majorant.report.text import printable


def clipped(value: Any, most: int = 18) -> str:
    """A user's value, harmless and not longer than it may be.

    >>> clipped("a very long name for a worker", 10)
    'a very lo…'
    """
    text = printable(" ".join(str(value)[: 4 * most].split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def whole_percent(value: float) -> str:
    """.816 as 82 %."""
    return f"{100 * value:.0f} %"
