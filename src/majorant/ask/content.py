"""The content of a design as plain data for JSON, and back: what is kept is the fields of its dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A value as JSON holds it: arrays as lists, NaN as None, names of unusual types as text.

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
    """The dataclass whose fields `to_plain` wrote, apart from those that are `known`."""
    hints = {name: hint for name, hint in get_type_hints(cls).items() if name in content and name not in known}
    return cls(**{name: _restored(hint, content[name]) for name, hint in hints.items()}, **known)


def _restored(hint: Any, value: Any) -> Any:
    """A value of JSON as the type that a field has."""
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
