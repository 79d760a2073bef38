"""The figures of the report: a summary in, panels out. Nothing is computed here that a reader could quote.

May import what `render` may; imported by `render`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.render.figures.canvas import Panel

FIGURES = {  # in the order of the page, each with its module, which has a function NAME_panels(summary)
    "flow": "labels",
    "workers": "workers",
    "dependence": "workers",
    "confusion": "workers",
    "map": "model",
    "plan": "model",
    "confidence": "labels",
    "agreement": "votes",
    "votes": "votes",
}
IN_THE_REPORT = tuple(name for name in FIGURES if name != "workers")  # whose table has a bar for each worker


def panels_of(summary: dict[str, Any], name: str) -> list[Panel]:
    """The panels of a figure; none where the data have nothing for it."""
    if name not in FIGURES:
        raise ConfigError(f"There is no figure {name!r}. Choose one of: {', '.join(FIGURES)}.")
    module = importlib.import_module(f"majorant.render.figures.{FIGURES[name]}")
    panels: list[Panel] = getattr(module, f"{name}_panels")(summary)
    return panels
