"""JSON text to Python values, in one place: any signs within text, integers of any length."""

from __future__ import annotations

import json
from typing import Any

MOST_DIGITS = 20  # those of 64 bits


def loads(text: str | bytes, **how: Any) -> Any:
    """What `json.loads` returns; bare control signs in text are taken, and integers beyond 64 bits may be text.

    >>> loads('["a\\tb", 12]'), loads("9" * 30)
    (['a\\tb', 12], '999999999999999999999999999999')
    """
    return json.loads(text, strict=False, parse_int=_integer, **how)


def _integer(digits: str) -> Any:
    """Python refuses to read thousands of digits."""
    return int(digits) if len(digits) <= MOST_DIGITS else digits
