"""Conversion of results to plain data for JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from majorant.render.missing import missing_text
from majorant.values import Estimate

Facts = dict[str, Any]  # an object of JSON


def to_json(facts: Facts) -> str:
    """The facts as indented JSON with a final newline."""
    return json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_plain(value: Any) -> Any:
    """Convert a value of a result: dataclasses to dicts, arrays to lists, infinite numbers to text, NaN to None.

    >>> from majorant.values import Estimate
    >>> to_plain({"gain": Estimate(.5, -float("inf"), 1.0), "prior": (np.float64(.5), .5)})
    {'gain': {'value': 0.5, 'low': '-inf', 'high': 1.0, 'reason': ''}, 'prior': [0.5, 0.5]}
    """
    if isinstance(value, Estimate):
        ends = dict(zip(("value", "low", "high"), map(to_plain, value.ends), strict=True))
        return ends | {"reason": missing_text(value.reason)}
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    value = plain(value)
    return finite(number(value)) if isinstance(value, float) else value


def facts_of(result: Any, names: str) -> Facts:
    """The named fields and properties of a result; `votes=n_votes` renames one.

    >>> from majorant.values import Estimate
    >>> facts_of(Estimate(.5), "value most=high")
    {'value': 0.5, 'most': None}
    """
    pairs = (name.partition("=")[::2] for name in names.split())
    return {shown: to_plain(getattr(result, name or shown)) for shown, name in pairs}


def number(value: float) -> float | None:
    """A number, or None for NaN."""
    return None if np.isnan(value) else float(value)


def finite(number: float | None) -> float | str | None:
    """A number that JSON can hold: infinite ones are the strings inf and -inf."""
    return number if number is None or math.isfinite(number) else str(number)


def plain(value: Any) -> Any:
    """A user's value: unchanged if JSON can hold it, else as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return value.value
    return value if isinstance(value, str | int | float | bool | None) else str(value)
