"""What the model says: the map of where majority vote is optimal, accuracy against votes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from majorant.render.figures.canvas import LIGHT, Panel, clipped
from majorant.wording import ACCURACY_ON, NOISE_AXIS, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIGH = 0.82  # of an axis: beyond, the name of the point stands below it or to its left


def map_panels(summary: dict[str, Any]) -> list[Panel]:
    """One panel for each plane."""
    return [
        Panel(
            f"map{at}",
            plane["title"],
            _where_votes_lie(plane, summary["level"]),
            (400, 380),
            partial(_draw_map, plane=plane),
        )
        for at, plane in enumerate(summary["map"])
    ]


def _where_votes_lie(plane: dict[str, Any], level: float) -> str:
    x, y = (percent(share, 0) for share in plane["point"])
    around = "" if plane["region"] is None else f", with its {percent(level, 0)} region around it"
    inside = "inside" if plane["point_margin"] > 0 else "outside"
    return (
        f"{clipped(plane['x_name'], 60)} across, {clipped(plane['y_name'], 60)} up. These votes lie at {x} and {y}"
        f"{around}, {inside} the region where majority vote is optimal."
    )


def _draw_map(axes: Axes, plane: dict[str, Any]) -> None:
    edge = plane["optimal"]
    axes.fill(edge["x"], edge["y"], facecolor=LIGHT["zone"], edgecolor=LIGHT["majority"], lw=1.4)
    axes.set_xlim(*_span(plane, "x"))
    axes.set_ylim(*_span(plane, "y"))
    _point(axes, plane)
    _name_region(axes, plane, "majority is optimal", LIGHT["majority"], inside=True)
    _name_region(axes, plane, "another rule is better", LIGHT["soft"], inside=False)
    axes.set_xlabel(clipped(plane["x_name"], 44))
    axes.set_ylabel(clipped(plane["y_name"], 44))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: percent(value, 0))


def _point(axes: Axes, plane: dict[str, Any]) -> None:
    x, y = plane["point"]
    if plane["region"] is not None:
        edge = plane["region"]
        axes.fill(edge["x"], edge["y"], facecolor=LIGHT["best"], alpha=0.3, lw=0, zorder=3)
        axes.fill(edge["x"], edge["y"], fill=False, edgecolor=LIGHT["best"], lw=1.4, zorder=3)
    axes.plot([x], [y], "o", ms=8, color=LIGHT["best"], mec=LIGHT["card"], mew=1.4, zorder=5, clip_on=False)
    across, up = _share(plane, x, "x"), _share(plane, y, "y")
    around = [y] if plane["region"] is None else plane["region"]["y"]
    if (
        _share(plane, max(around), "y") - _share(plane, min(around), "y") > 0.3
    ):  # the name stands beside the point, not above a tall region
        around = [y]
    axes.annotate(
        "your votes",
        (x, min(around) if up > HIGH else max(around)),
        xytext=(0, -20 if up > HIGH else 9),
        textcoords="offset points",
        ha="right" if across > HIGH else "left" if across < 1 - HIGH else "center",
        color=LIGHT["best"],
        weight="bold",
        zorder=6,
    )


def _span(plane: dict[str, Any], axis: str) -> tuple[float, float]:
    """The part of the axis that is of interest: noise from 0 to where majority ends, accuracies from chance to 1."""
    at = 0 if axis == "x" else 1
    seen = [plane["point"][at], *([] if plane["region"] is None else plane["region"][axis])]
    if plane[f"{axis}_name"].startswith(NOISE_AXIS):
        return 0.0, min(1.0, 1.1 * max(*seen, *plane["optimal"]["y"]))
    if plane[f"{axis}_name"].startswith(ACCURACY_ON) and min(seen) > 0.45:
        return 0.4, 1.0
    return 0.0, 1.0


def _share(plane: dict[str, Any], value: float, axis: str) -> float:
    """Where a value lies between the ends of its axis."""
    low, high = _span(plane, axis)
    return (value - low) / (high - low)


def _name_region(axes: Axes, plane: dict[str, Any], text: str, colour: str, *, inside: bool) -> None:
    """Name a region on one line or on two, where there is room for it."""
    for lines, half in ((text, (0.23, 0.035)), (text.replace(" ", "\n", 1), (0.13, 0.06))):
        place = _room(plane, half, inside)
        if place is not None:
            axes.text(*place, lines, transform=axes.transAxes, ha="center", va="center", color=colour, zorder=4)
            return


def _room(plane: dict[str, Any], half: tuple[float, float], inside: bool) -> tuple[float, float] | None:
    """The centre of a box that lies inside the region, or outside, and clear of the point; None if there is none."""
    import numpy as np
    from matplotlib.path import Path

    edge = np.stack([[_share(plane, v, axis) for v in plane["optimal"][axis]] for axis in ("x", "y")], axis=1)
    own = np.array([_share(plane, plane["point"][at], axis) for at, axis in enumerate(("x", "y"))])
    wide, high = half
    x, y = np.meshgrid(np.linspace(wide, 1 - wide, 27), np.linspace(high, 1 - high, 31))
    centre_p2 = np.stack([x.ravel(), y.ravel()], axis=1)
    corner_c2 = np.stack(np.meshgrid(np.linspace(-wide, wide, 9), [-high, 0, high]), axis=-1).reshape(-1, 2)
    held_pc = Path(edge).contains_points((centre_p2[:, None] + corner_c2).reshape(-1, 2)).reshape(len(centre_p2), -1)
    away_p2 = np.abs(centre_p2 - own)
    free_p = (held_pc == inside).all(axis=1) & ((away_p2[:, 0] > wide + 0.19) | (away_p2[:, 1] > high + 0.11))
    if not free_p.any():
        return None
    free_p2 = centre_p2[free_p]
    place = free_p2[np.abs(free_p2 - free_p2.mean(axis=0)).sum(axis=1).argmin()]
    return float(place[0]), float(place[1])


def plan_panels(summary: dict[str, Any]) -> list[Panel]:
    """One panel: what more votes gain; none for panels of judges, where nothing is forecast."""
    plan = summary["plan"]
    if plan is None or not any(row["gain"]["value"] is not None for row in plan["points"]):
        return []
    title = "What more votes would gain"
    return [Panel("plan0", title, plan["sentence"], (460, 310), lambda axes: _draw_plan(axes, plan))]


def _draw_plan(axes: Axes, plan: dict[str, Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    known = [row for row in plan["points"] if row["gain"]["value"] is not None]
    votes = [row["votes"] for row in known]
    low, value, high = ([100 * row["gain"][end] for row in known] for end in ("low", "value", "high"))
    axes.fill_between(votes, low, high, color=LIGHT["majority"], alpha=0.18, lw=0, label="range on public crowds")
    axes.plot(votes, value, "s", ls="-", color=LIGHT["majority"], lw=1.8, ms=4, label="forecast")
    axes.axhline(0, color=LIGHT["soft"], lw=1)
    if plan["votes_now"] <= plan["points"][-1]["votes"]:
        axes.axvline(plan["votes_now"], color=LIGHT["soft"], lw=1, ls=(0, (2, 3)))
        axes.annotate(
            "now", (plan["votes_now"], 0.93), (4, 4), xycoords=axes.get_xaxis_transform(), textcoords="offset points"
        )
    axes.set(xlabel="votes per item", ylabel="gain in accuracy, points")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", fontsize=11, facecolor=LIGHT["card"], edgecolor="none", framealpha=1)
