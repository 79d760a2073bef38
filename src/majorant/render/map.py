"""The map in words: what its planes show, for which votes they are drawn, and where the votes are on them."""

from __future__ import annotations

from collections.abc import Sequence

from majorant.render.plain import Facts, plain, to_plain
from majorant.results.map import Line, MapPanel, Plane


def map_facts(panels: Sequence[MapPanel]) -> list[Facts]:
    """The planes of the map; lines as two lists."""
    return [
        {
            "plane": str(panel.plane),
            "title": _TITLES[panel.plane],
            **dict(zip(("x_name", "y_name"), axes(panel), strict=True)),
            "point": list(panel.point),
            "point_margin": panel.point_margin,
            "note": map_note(panel),
            "model": to_plain({"prior": panel.prior, "confusion": panel.confusion, "votes": panel.n_votes}),
            "optimal": _line(panel.optimal),
            "region": None if panel.region is None else _line(panel.region),
        }
        for panel in panels
    ]


_TITLES = {Plane.BALANCE: "Class balance against noise", Plane.ACCURACIES: "Accuracy on either class"}


def axes(panel: MapPanel) -> tuple[str, str]:
    """The names of the two axes."""
    if panel.plane is Plane.ACCURACIES:
        return f"accuracy on {plain(panel.labels[0])}", f"accuracy on {plain(panel.labels[1])}"
    if len(panel.labels) == 2:
        return f"share of {plain(panel.labels[0])}", "noise: mean of both error rates"
    commonest = panel.labels[max(range(len(panel.prior)), key=panel.prior.__getitem__)]
    return f"share of {plain(commonest)}, the commonest class", "noise: share of wrong votes"


def map_note(panel: MapPanel) -> str:
    """For how many votes a plane is drawn, and what else it holds fixed."""
    if len(panel.labels) > 2:
        drawn_for = "drawn as if every wrong label were equally likely, which the verdict does not assume"
    elif panel.plane is Plane.ACCURACIES:
        drawn_for = f"drawn for class shares of {100 * panel.prior[0]:.0f} and {100 - 100 * panel.prior[0]:.0f}%"
    else:
        wrong = " : ".join(f"{100 - 100 * panel.confusion[k][k]:.0f}" for k in range(2))
        drawn_for = f"drawn for error rates that divide as here, {wrong}"
    parts = [f"{panel.n_votes} votes per item", drawn_for]
    if panel.mean_of_workers:
        parts.append("at the mean of the workers' confusion matrices; the verdict takes each worker's own")
    return "; ".join(parts)


def _line(line: Line) -> dict[str, list[float]]:
    return {"x": list(line[0]), "y": list(line[1])}
