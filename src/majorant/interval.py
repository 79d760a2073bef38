"""A number with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its interval; None where the data do not define it, and then `reason` says why.

    >>> Estimate(None, reason="no item holds two votes")
    Estimate(value=None, low=None, high=None, reason='no item holds two votes')
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""  # why the value, or the interval, is missing
