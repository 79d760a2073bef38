"""The figures of the report: each function turns a summary into charts, without computing any new numbers.

May import what `render` may; imported by `render`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from majorant.errors import ConfigError
from majorant.render.figures.charts import Chart
from majorant.render.figures.labels import confidence_charts, flow_charts
from majorant.render.figures.model import map_charts, plan_charts
from majorant.render.figures.votes import agreement_charts, votes_charts
from majorant.render.figures.workers import confusion_charts, dependence_charts, workers_charts

FIGURES: Mapping[str, Callable[[dict[str, Any]], Sequence[Chart]]] = {  # in the order of the page
    "flow": flow_charts,
    "workers": workers_charts,
    "dependence": dependence_charts,
    "confusion": confusion_charts,
    "map": map_charts,
    "plan": plan_charts,
    "confidence": confidence_charts,
    "agreement": agreement_charts,
    "votes": votes_charts,
}


def charts_of(summary: dict[str, Any], name: str) -> Sequence[Chart]:
    """The charts of a figure; none if the votes have nothing to show."""
    if name not in FIGURES:
        raise ConfigError(f"There is no figure {name!r}. Choose one of: {', '.join(FIGURES)}.")
    return FIGURES[name](summary)
