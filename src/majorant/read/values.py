"""What a value means: its kind, whether it is empty, whether a status says that there is a vote; JSON text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from numbers import Complex, Number, Real
from typing import Any

from majorant.limits import limit
from majorant.read.table import (
    Column,
    Known,
    Objects,
    as_list,
    plain,
)

STATUS_VOTED = frozenset((
    "ok", "okay", "success", "successful", "succeeded", "done", "complete", "completed", "valid", "submitted",
    "answered", "voted", "approved", "true",
))  # fmt: skip
STATUS_NOT_VOTED = frozenset((
    "abstain", "abstained", "abstention", "error", "errored", "parseerror", "parsingerror", "refused", "refusal",
    "failed", "failure", "fail", "skipped", "skip", "timeout", "timedout", "cancelled", "canceled", "invalid",
    "rejected", "noanswer", "novote", "missing", "unscored", "empty", "draft", "discarded", "pending", "unanswered",
    "false",
))  # fmt: skip
SIXTY_FOUR_BITS = range(-(2**63), 2**64)


class TooDeepError(RecursionError):
    """A value nested deeper than the limit NESTING; Python versions differ in how deep they go."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


def loads(text: str | bytes, **how: Any) -> Any:
    """Like `json.loads`, but accepts bare control characters, and returns very long integers as text.

    >>> loads('["a\\tb", 12]'), loads("9" * 30)
    (['a\\tb', 12], '999999999999999999999999999999')
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if text.count("[") + text.count("{") > limit("NESTING") and (depth := _depth(text)) > limit("NESTING"):
        raise TooDeepError(depth)
    return json.loads(text, strict=False, parse_int=_integer, **how)


def _depth(text: str) -> int:
    """How deeply lists and objects are nested; brackets within texts do not count.

    >>> _depth('[{"a": "[[["}, []]')
    2
    """
    depth = deepest = 0
    without_texts = re.sub(r'"(?:[^"\\]|\\.)*"?', "", text, flags=re.DOTALL)
    for run in re.findall(r"[\[{]+|[\]}]+", without_texts):
        depth += len(run) if run[0] in "[{" else -len(run)
        deepest = max(deepest, depth)
    return deepest


def _integer(digits: str) -> Any:
    """Python refuses to read thousands of digits."""
    return int(digits) if len(digits) <= 20 else digits


def cell_values(column: Column, kind: str = "", most: int | None = None) -> list[Any]:
    """The cells of a column, or the first few; JSON text is decoded where the kind is "json"."""
    if isinstance(column, Objects):
        return [None if code < 0 else column.values[code] for code in column.code_n[:most].tolist()]
    cells: list[Any] = plain(column if most is None else column.slice(0, most)).to_pylist()
    return [None if cell is None else loads(cell) for cell in cells] if kind == "json" else cells


def kind_key(value: Any) -> tuple[str, Any]:
    """What makes two values different: their kind (truth value, number, text, other) and the value.

    >>> kind_key(1) == kind_key(1.0), kind_key(1) == kind_key(True), kind_key(1) == kind_key("1")
    (True, False, False)
    """
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, Number):
        return "number", value
    return ("text" if isinstance(value, str) else type(value).__name__), value


def decode(known: Known, kind: str) -> list[Any]:
    """The values of a vocabulary as Python values; JSON text is decoded, and a list of one is its value.

    >>> decode(['1', '"1"', 'true', '99999999999999999999', '["1"]'], "json")
    [1, '1', True, '99999999999999999999', '1']
    """
    values = as_list(known)
    if kind == "json":
        # DuckDB accepts control characters such as a bare tab within text, so they are accepted here
        return [single(value) for value in loads("[" + ",".join(values) + "]")]
    if kind == "typed" and not is_plain(known):
        return [_whole(v) if isinstance(v, Decimal) else v for v in values]
    return values


def single(value: Any) -> Any:
    """A JSON value as a single one: a list of one is its value, an empty list None, huge integers text."""
    if isinstance(value, list) and len(value) < 2:
        value = value[0] if value else None
    return str(value) if type(value) is int and value not in SIXTY_FOUR_BITS else value


def is_plain(known: Known) -> bool:
    """Whether all values are text, or all are integers, so that no two of them mean the same."""
    import pyarrow as pa

    return not isinstance(known, list) and (pa.types.is_large_string(known.type) or pa.types.is_integer(known.type))


def empty_codes(known: Known, values: Sequence[Any]) -> list[int]:
    """The positions of empty values; Arrow checks large vocabularies of text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_plain(known):
        if pa.types.is_integer(known.type):
            return []
        shortest = pc.min(pc.binary_length(pc.utf8_trim_whitespace(known))).as_py()
        if shortest is None or shortest > 0:
            return []
    return [code for code, value in enumerate(values) if is_empty(value)]


def _whole(value: Decimal) -> Any:
    if not value.is_finite() or value != value.to_integral_value():
        return value
    return int(value) if int(value) in SIXTY_FOUR_BITS else str(int(value))


def is_empty(value: Any) -> bool:
    """Whether a value is null, NaN, or nothing but blanks."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, (float, Decimal)) and math.isnan(value)


def is_vote(value: Any, no_vote: frozenset[str]) -> bool:
    """Whether a label is given and does not mean no vote."""
    return not is_empty(value) and str(value) not in no_vote


def numbers_if_all(texts: Sequence[str]) -> dict[str, int | float]:
    """Each text as a number, if every number is written back as the same text; else nothing.

    >>> numbers_if_all(["1", "2.5"])
    {'1': 1, '2.5': 2.5}
    >>> numbers_if_all(["1", "01"])
    {}
    """
    number_of = {text: _number(text) for text in texts}
    return {} if None in number_of.values() else number_of  # type: ignore[return-value]


def _number(text: str) -> int | float | None:
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text) if str(int(text)) == text else None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and repr(number) == text else None


def whole_number(text: str) -> int | None:
    """A whole number written in digits; None for any other text.

    >>> whole_number(" 12 "), whole_number("²"), whole_number("9" * 5000), whole_number("-1")
    (12, None, None, None)
    """
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= 18 else None


def voted(status: Any) -> bool | None:
    """Whether a status (or an empty cell) means a vote; None if that is unclear.

    >>> voted("OK"), voted(""), voted("parse_error"), voted("perhaps")
    (True, True, False, None)
    """
    if is_empty(status):
        return True
    if isinstance(status, bool):
        return status
    word = re.sub(r"[\W_]+", "", str(status)).casefold()
    return True if word in STATUS_VOTED else False if word in STATUS_NOT_VOTED else None


def sort_labels(values: Iterable[Hashable]) -> list[Any]:
    """Truth values, then numbers by value, then text, then the rest.

    >>> sort_labels(["b", 10, "a", 9.5, True])
    [True, 9.5, 10, 'a', 'b']
    """

    def order(value: Any) -> tuple[int, str, Any]:
        kind = kind_key(value)[0]
        rank = (
            3
            if isinstance(value, Complex) and not isinstance(value, Real)
            else {"bool": 0, "number": 1, "text": 2}.get(kind, 3)
        )
        return rank, "" if rank < 3 else kind, value if rank < 3 else str(value)

    return sorted(values, key=order)
