"""Charts of model results: where majority vote is optimal, and what more votes would gain."""

from __future__ import annotations

from typing import Any

from majorant.render.figures.charts import Axis, Layer, Plot, clipped, percent_axis, round_ticks
from majorant.render.words import percent


def map_charts(summary: dict[str, Any]) -> list[Plot]:
    """A map for each plane."""
    charts = []
    for plane in summary["map"]:
        edge, region, (x, y) = plane["optimal"], plane["region"], plane["point"]
        layers = [
            Layer("area", "zone", edge["x"], edge["y"], label="majority vote is optimal"),
            Layer("line", "majority", edge["x"], edge["y"]),
        ]
        layers += [
            Layer("area", "best", region["x"], region["y"], opacity=0.3),
            Layer("line", "best", [*region["x"], region["x"][0]], [*region["y"], region["y"][0]]),
            Layer("points", "best", [x], [y], radii=[4], label="your votes"),
        ]
        axes = [percent_axis(clipped(plane[f"{a}_name"], 44), *_span(plane, a)) for a in ("x", "y")]
        inside = "inside" if plane["point_margin"] > 0 else "outside"
        words = (
            f"Horizontal axis: {axes[0].name}. Vertical axis: {axes[1].name}. These votes are at {percent(x, 0)} and "
            f"{percent(y, 0)}, {inside} the region in which majority vote is optimal. Their "
            f"{percent(summary['level'], 0)} confidence region is drawn around them."
        )
        charts.append(Plot(plane["title"], words, axes[0], axes[1], layers))
    return charts


def _span(plane: dict[str, Any], axis: str) -> tuple[float, float]:
    """The relevant range of an axis: noise from 0 to the end of the optimal region, accuracies from chance to 1."""
    at = 0 if axis == "x" else 1
    seen = [plane["point"][at], *plane["region"][axis]]
    if plane["plane"] == "balance" and axis == "y":
        return 0.0, min(1.0, 1.1 * max(*seen, *plane["optimal"]["y"]))
    if plane["plane"] == "accuracies" and min(seen) > 0.45:
        return 0.4, 1.0
    return 0.0, 1.0


def plan_charts(summary: dict[str, Any]) -> list[Plot]:
    """What more votes would gain; empty for panels of judges, for which there is no forecast."""
    plan = summary["plan"]
    known = [] if plan is None else [row for row in plan["points"] if row["gain"]["value"] is not None]
    if not known:
        return []
    votes = [row["votes"] for row in known]
    low, value, high = ([100 * row["gain"][end] for row in known] for end in ("low", "value", "high"))
    x = Axis("votes per item", votes[0], votes[-1], [(v, f"{v:g}") for v in round_ticks(votes[0], votes[-1] + 1)])
    bottom, top = min(0.0, *low), max(0.0, *high) + 0.1
    y = Axis("gain in points", bottom, top, [(v, f"{v:g}".replace("-", "−")) for v in round_ticks(bottom, top)])
    layers = [
        Layer("area", "heat", [*votes, *votes[::-1]], [*low, *high[::-1]], opacity=0.4, label="range on public crowds"),
        Layer("line", "soft", [x.low, x.high], [0, 0]),
        Layer("line", "majority", votes, value),
        Layer("points", "majority", votes, value, radii=[2.5] * len(votes), label="forecast"),
    ]
    now = plan["votes_now"]
    if x.low <= now <= x.high:
        layers.append(Layer("line", "soft", [now, now], [bottom, top], dashed=True, label="now"))
    return [Plot("What more votes would gain", plan["sentence"], x, y, layers)]
