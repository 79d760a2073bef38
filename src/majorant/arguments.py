"""Check the arguments of public functions: types against the signature, ranges by argument name.

A function called with a wrong type or a number out of range raises a ConfigError that names the argument, instead of
whatever NumPy or Python would raise further down. `majorant` and `majorant.theory` wrap every function they export.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, ParamSpec, TypeVar

from majorant.errors import ConfigError
from majorant.options import Read

P = ParamSpec("P")
T = TypeVar("T")


class Range(NamedTuple):
    """The range of values that a number may have, including both ends unless `open` says otherwise."""

    low: float
    high: float
    open: str = ""  # "low", "high" or "both"

    def contains(self, value: Any) -> bool:
        """Whether a number is in the range."""
        above = value > self.low if self.open in ("low", "both") else value >= self.low
        below = value < self.high if self.open in ("high", "both") else value <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        return f"between {_number(self.low)} and {_number(self.high)}"


RANGES = {  # by argument name, which means the same in every signature
    "level": Range(0.5, 1, "both"),  # below that, an interval may not contain its own estimate
    "tolerance": Range(0, 1, "high"),
    "target": Range(0, 1, "low"),
    "bar": Range(0, 1),
    "dependence": Range(0, 1),
    "gold": Range(0, 1),  # the share of simulated items with a gold label
    "noise": Range(0, 1),
    "price_per_vote": Range(0, 1e12),
    "price_vote": Range(0, 1e12),
    "price_label": Range(0, 1e12),
    "at": Range(0, 1, "both"),
    "n": Range(0, 1e9),
    "n_items": Range(1, 1e9),
    "n_votes": Range(1, 1e9),
    "n_workers": Range(1, 1e8),
    "n_boot": Range(1, 1e6),
    "n_draws": Range(1, 1e9),
    "n_cells": Range(1, 1e8),
    "grid": Range(2, 10_001),
    "min_common": Range(1, 1e9),
    "max_votes": Range(1, 10_000),
    "max_classes": Range(1, 1e8),
    "threads": Range(1, 4096),
}


def validated(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that an argument of the wrong type or out of range raises a ConfigError.

    >>> @validated
    ... def half(n: int) -> float:
    ...     return n / 2
    >>> half("3")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: n must be a whole number, not '3'.
    """
    signature = inspect.signature(function)
    hints = {name: _spelled(parameter.annotation) for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def checked(*args: P.args, **named: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:
            return function(*args, **named)  # wrong number of arguments: Python's own error is clear
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = _check_reading(value)
            elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL and value is not parameter.default:
                bound.arguments[name] = check_argument(name, value, hints[name])
        return function(*bound.args, **bound.kwargs)

    return checked


def _check_reading(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options of `read`, which many functions pass on; `read` itself rejects unknown ones."""
    hints: dict[str, str] = {one.name: str(one.type) for one in fields(Read)} | {"progress": "Callable | None"}
    return {
        name: check_argument(name, value, hints[name]) if name in hints else value for name, value in reading.items()
    }


def check_argument(name: str, value: Any, hint: str) -> Any:
    """Return the value, converted from NumPy or pandas to Python; a wrong type or range is refused."""
    options = _options(hint)
    if any(re.match(r"(Any|Unpack|object)\b", option) for option in options):
        return value
    if not any(_fits(value, option) for option in options) or (_is_path(options) and "\0" in str(value)):
        raise ConfigError(f"{name} must be {_listed(options)}, not {_shown(value)}.")
    if name in RANGES and isinstance(value, numbers.Real) and not RANGES[name].contains(value):
        raise ConfigError(f"{name} must lie {RANGES[name]}, not {_shown(value)}.")
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a NumPy scalar
        return value.item()
    listed = any(option.startswith(("Sequence", "tuple")) for option in options)
    return value.tolist() if listed and hasattr(value, "tolist") and _is_list(value) else value


def as_codes(name: str, values: Any, size: int) -> Any:
    """Positions or class codes as an array of integers from -1 to size - 1; anything else is refused."""
    import numpy as np

    try:
        code_n = np.asarray(values)
    except ValueError:  # rows of different lengths
        code_n = np.zeros(())
    if code_n.ndim != 1 or (code_n.dtype.kind not in "iu" and code_n.size):
        raise ConfigError(f"{name} must be a list of whole numbers, not {_shown(values)}.")
    code_n = code_n.astype(np.int64)
    if code_n.size and not (code_n.min() >= -1 and code_n.max() < size):
        raise ConfigError(f"{name} must lie between -1 and {size - 1:,}.")
    return code_n


def _options(hint: str) -> list[str]:
    """The alternatives in a union annotation, with aliases expanded.

    >>> _options("str | Sequence[str | int] | None")
    ['str', 'Sequence[str | int]', 'None']
    """
    aliases = {"Rng": "int | np.random.Generator", "Progress": "Callable", "StageCallback": "Callable", "Ties": "str",
               "IntArray": "ArrayLike", "FloatArray": "ArrayLike", "Codes": "ArrayLike"}  # fmt: skip
    parts = [part.strip() for part in re.findall(r"(?:[^|\[]|\[(?:[^\[\]]|\[[^\]]*\])*\])+", hint)]
    return [one for part in parts for one in (aliases[part].split(" | ") if part in aliases else [part])]


def _fits(value: Any, option: str) -> bool:
    kind, _, inner = option.partition("[")
    if kind == "None":
        return value is None
    if kind == "bool":
        return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")
    if kind in ("int", "float"):
        number: Any = numbers.Integral if kind == "int" else numbers.Real
        return not isinstance(value, bool) and isinstance(value, number) and bool(value == value)  # no NaN
    if kind == "str":
        return isinstance(value, str)
    if kind in ("Path", "os.PathLike", "PathLike"):
        return isinstance(value, os.PathLike)
    if kind == "Hashable":
        return _is_hashable(value)
    if kind == "Any":
        return True
    if kind == "Mapping":
        if not isinstance(value, Mapping):
            return False
        return not inner.endswith(", float]") or all(_fits(one, "float") for one in value.values())
    if kind in ("Callable", "Callback"):
        return callable(value)
    if kind in ("Sequence", "tuple"):
        if isinstance(value, str):  # a list of characters, but not a list of strings
            return inner in ("Hashable]", "Any]")
        return _is_list(value) and (not inner[:-1].isalpha() or all(_fits(one, inner[:-1]) for one in value))
    if kind == "ArrayLike":
        return _is_numeric(value)
    return any(base.__name__ == kind.rsplit(".", 1)[-1] for base in type(value).__mro__)


def _is_path(options: list[str]) -> bool:
    return any(option.startswith(("Path", "os.PathLike")) for option in options)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_list(value: Any) -> bool:
    """Whether a value is a list, tuple, array or column: something one-dimensional with a length and an order."""
    ordered = hasattr(value, "__len__") and hasattr(value, "__getitem__") and hasattr(value, "__iter__")
    return ordered and not isinstance(value, (bytes, bytearray, Mapping)) and getattr(value, "ndim", 1) == 1


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number or an array of numbers; the function itself checks which and how many."""
    import numpy as np

    try:
        return np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _listed(options: list[str]) -> str:
    names = list(dict.fromkeys(_name(option) for option in options))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _name(option: str) -> str:
    kind, _, inner = option.partition("[")
    if kind in ("Sequence", "tuple") and inner.startswith("str]"):
        return "a list of strings"
    names = {
        "int": "a whole number",
        "float": "a number",
        "bool": "True or False",
        "str": "text",
        "Path": "a file name",
        "os.PathLike": "a file name",
        "Sequence": "a list",
        "tuple": "a list",
        "Mapping": "a dict",
        "Hashable": "one value",
        "ArrayLike": "an array of numbers",
        "np.random.Generator": "a numpy Generator",
        "Generator": "a numpy Generator",
        "Callable": "a function",
        "None": "None",
    }
    own = kind.rsplit(".", 1)[-1]
    return names.get(kind) or f"{'an' if own[:1] in 'AEIOU' else 'a'} {own}"


def _shown(value: Any) -> str:
    if isinstance(value, (str, int, float, bytes, type(None))) or type(value).__module__ == "builtins":
        text = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a number that large"
        if len(text) <= 60:
            return text
        return f"{text[:57]}..." if isinstance(value, str) else f"a {type(value).__name__}"
    return f"a {type(value).__name__}"


def _spelled(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__forward_arg__", None) or inspect.formatannotation(annotation)
