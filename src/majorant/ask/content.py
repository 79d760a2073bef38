"""Convert a design to plain data for JSON and back: the fields of its dataclasses are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Convert a value to plain JSON data: arrays become lists, NaN becomes None, and names of other types become text.

    >>> to_plain({"a": np.array([1.0, np.nan]), "b": ("x", 2)})
    {'a': [1.0, None], 'b': ['x', 2]}
    """
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return np.where(np.isnan(value), np.array(None), value).tolist()
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def from_plain(cls: type[T], content: Mapping[str, Any], **known: Any) -> T:
    """Restore a dataclass from what `to_plain` wrote; the fields in `known` are passed as they are."""
    hints = {name: hint for name, hint in get_type_hints(cls).items() if name in content and name not in known}
    return cls(**{name: _restore(hint, content[name]) for name, hint in hints.items()}, **known)


def _restore(hint: Any, value: Any) -> Any:
    """Convert a JSON value to the type of its field."""
    if isinstance(hint, UnionType):
        hint = next(one for one in get_args(hint) if one is not type(None))
    kind = get_origin(hint) or hint
    if value is None or kind is Any:
        return value
    if kind is np.ndarray:
        scalar = get_args(get_args(hint)[1])[0]
        return np.array(value, dtype=scalar)  # None becomes NaN
    if isinstance(kind, type) and is_dataclass(kind):
        return from_plain(kind, value)
    return tuple(value) if kind is tuple else float(value) if kind is float else value
