"""Values as JSON can hold them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def to_json(summary: dict[str, Any]) -> str:
    """The summary as JSON, readable and with a line feed at its end."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def number(value: float) -> float | None:
    """A number, or None for NaN."""
    return None if np.isnan(value) else float(value)


def finite(number: float | None) -> float | str | None:
    """A number that JSON can hold: infinite ones are the strings inf and -inf."""
    return number if number is None or math.isfinite(number) else str(number)


def plain(value: Any) -> Any:
    """A user's value: as it is where possible, else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
