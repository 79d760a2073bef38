"""A number known only to lie between two others."""

from __future__ import annotations

from typing import NamedTuple


class Bracket(NamedTuple):
    """The best single value, and the ends between which the exact number lies (surely, or at a stated level)."""

    value: float
    low: float
    high: float
