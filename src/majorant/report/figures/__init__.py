"""The figures, one file each: a summary in, panels out; nothing is computed here that a reader could quote."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.report.figures.canvas import Panel

FIGURES = (
    "flow",
    "workers",
    "dependence",
    "confusion",
    "map",
    "plan",
    "confidence",
    "agreement",
    "votes",
    "path",
)  # in the order of the page; each is a module with `panels(summary)`


def panels_of(summary: dict[str, Any], name: str) -> list[Panel]:
    """The panels of a figure; none where the data have nothing for it."""
    if name not in FIGURES:
        raise ConfigError(f"There is no figure {name!r}. Choose one of: {', '.join(FIGURES)}.")
    module = importlib.import_module(f"majorant.report.figures.{name}")
    found: list[Panel] = module.panels(summary)
    return found
