"""Text and JSON for the map: what its two planes show, and where the votes are on them."""

from __future__ import annotations

from collections.abc import Sequence

from majorant.render.plain import Facts, plain, to_plain
from majorant.results.map import Line, MapPanel, Plane


def map_facts(panels: Sequence[MapPanel]) -> list[Facts]:
    """The planes of the map; lines as two lists."""
    titles = {Plane.BALANCE: "Class balance against noise", Plane.ACCURACIES: "Accuracy on either class"}
    return [
        {
            "plane": str(panel.plane),
            "title": titles[panel.plane],
            **dict(zip(("x_name", "y_name"), axes(panel), strict=True)),
            "point": list(panel.point),
            "point_margin": panel.point_margin,
            "note": map_note(panel),
            "model": to_plain({"prior": panel.prior, "confusion": panel.confusion, "votes": panel.n_votes}),
            "optimal": _line(panel.optimal),
            "region": _line(panel.region),
        }
        for panel in panels
    ]


def axes(panel: MapPanel) -> tuple[str, str]:
    """The names of the two axes."""
    first, second = map(plain, panel.labels)
    if panel.plane is Plane.ACCURACIES:
        return f"accuracy on {first}", f"accuracy on {second}"
    return f"share of {first}", "noise: mean of both error rates"


def map_note(panel: MapPanel) -> str:
    """The number of votes per item, and what else is held constant on the map."""
    if panel.plane is Plane.ACCURACIES:
        fixed = f"drawn for class shares of {100 * panel.prior[0]:.0f} and {100 - 100 * panel.prior[0]:.0f}%"
    else:
        wrong = " : ".join(f"{100 - 100 * panel.confusion[k][k]:.0f}" for k in range(2))
        fixed = f"drawn for error rates in the same ratio as here, {wrong}"
    return f"{panel.n_votes} votes per item; {fixed}"


def _line(line: Line) -> dict[str, list[float]]:
    return {"x": list(line[0]), "y": list(line[1])}
