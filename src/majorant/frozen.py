"""Frozen values: their arrays and mappings cannot be changed either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np


def lock(value: Any) -> None:
    """Make every array and mapping of a frozen dataclass read-only; call it in __post_init__.

    The caller's own array stays writable: the value keeps a read-only view of it.
    """
    for field in fields(value):
        content = getattr(value, field.name)
        if isinstance(content, np.ndarray):
            content = content.view()
            content.flags.writeable = False
            object.__setattr__(value, field.name, content)
        elif isinstance(content, Mapping):
            object.__setattr__(value, field.name, MappingProxyType(dict(content)))
