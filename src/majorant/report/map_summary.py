"""The map and the path to the verdict, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from majorant.answer.map import MapPanel
from majorant.answer.path import Path
from majorant.report.theory import finite


def map_summary(panels: Sequence[MapPanel]) -> list[dict[str, Any]]:
    """The planes of the map; lines as two lists."""
    return [
        {
            "title": panel.title,
            "x_name": panel.x_name,
            "y_name": panel.y_name,
            "point": list(panel.point),
            "point_margin": finite(panel.point_margin),
            "note": panel.note,
            "model": {
                "prior": list(panel.prior),
                "confusion": [list(row) for row in panel.confusion],
                "votes": panel.n_votes,
            },
            "optimal": _line(panel.optimal),
            "region": None if panel.region is None else _line(panel.region),
        }
        for panel in panels
    ]


def path_summary(path: Path) -> dict[str, Any]:
    """The questions, both answers, the one given, and where it all ends."""
    return {"steps": [asdict(step) for step in path.steps], "end": path.end, "outcome": path.outcome}


def _line(line: tuple[tuple[float, ...], tuple[float, ...]]) -> dict[str, list[float]]:
    return {"x": list(line[0]), "y": list(line[1])}
