"""The numbers that the paper prints, as files in expected/."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def printed(name: str) -> Any:
    """The printed numbers of an item, and the paper's description of how they were made.

    >>> printed("errata")["16"]
    'Theorem 3.5 is false as printed'
    """
    return json.loads(printed_text(name))


def printed_text(name: str) -> str:
    """The text of the file; empty if the paper prints no numbers for the item."""
    path = resources.files("paper") / "expected" / f"{name}.json"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
