"""How values show themselves: what computes a value knows no sentences, and asks for a function of `render` by name.

`majorant/__init__.py`, which is above both, says how to find it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Finder = Callable[[str], Callable[..., Any]]
_finders: list[Finder] = []


def find_with(finder: Finder) -> None:
    """Find the functions that show values with this one."""
    _finders[:] = [finder]


def show(name: str, *values: Any, **how: Any) -> Any:
    """What the function of `render` with this name makes of some values, such as "html.report"."""
    return _finders[0](name)(*values, **how)
