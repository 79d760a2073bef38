"""Values as JSON can hold them."""

from __future__ import annotations

from typing import Any

import numpy as np


def number(value: float) -> float | None:
    """A number, or None for NaN."""
    return None if np.isnan(value) else float(value)


def plain(value: Any) -> Any:
    """A user's value: as it is where possible, else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
