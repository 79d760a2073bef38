"""JSON text to Python values, in one place: any signs within text, integers of any length, no abyss of lists."""

from __future__ import annotations

import json
import re
from typing import Any

from majorant.limits import limit

MOST_DIGITS = 20  # those of 64 bits
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
BRACKETS = re.compile(r"[\[{]+|[\]}]+")


class TooDeepError(RecursionError):
    """A value nested deeper than the limit NESTING; versions of Python differ in how deep they go."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


def loads(text: str | bytes, **how: Any) -> Any:
    """What `json.loads` returns; bare control signs in text are taken, and integers beyond 64 bits may be text.

    >>> loads('["a\\tb", 12]'), loads("9" * 30)
    (['a\\tb', 12], '999999999999999999999999999999')
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if text.count("[") + text.count("{") > limit("NESTING") and (depth := _depth(text)) > limit("NESTING"):
        raise TooDeepError(depth)
    return json.loads(text, strict=False, parse_int=_integer, **how)


def _depth(text: str) -> int:
    """How many lists and objects lie inside each other; brackets within texts do not count.

    >>> _depth('[{"a": "[[["}, []]')
    2
    """
    depth = deepest = 0
    for run in BRACKETS.findall(TEXT.sub("", text)):
        depth += len(run) if run[0] in "[{" else -len(run)
        deepest = max(deepest, depth)
    return deepest


def _integer(digits: str) -> Any:
    """Python refuses to read thousands of digits."""
    return int(digits) if len(digits) <= MOST_DIGITS else digits
