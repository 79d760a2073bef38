"""Plan: accuracy against votes per item, by majority and by the best rule, with the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel, whole_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (480, 320)


def panels(summary: dict[str, Any]) -> list[Panel]:
    """One panel with both curves."""
    plan = summary["plan"]
    if plan is None or not any(row["best"] is not None for row in plan["points"]):
        return []
    title = "Accuracy against votes per item"
    return [Panel("plan0", title, plan["sentence"], SIZE, lambda axes: _draw(axes, plan))]


def _draw(axes: Axes, plan: dict[str, Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    curves = (("best", LIGHT["best"], "best rule without names", "o"), ("majority", LIGHT["majority"], "majority", "s"))
    for name, colour, label, marker in curves:
        known = [row for row in plan["points"] if row[name] is not None]
        axes.plot(
            [row["votes"] for row in known],
            [row[name] for row in known],
            marker,
            ls="-",
            color=colour,
            lw=1.8,
            ms=4.5 if name == "best" else 4,
            label=label,
        )
    axes.axhline(plan["target"], color=LIGHT["good"], lw=1.4, ls=(0, (5, 3)))
    axes.annotate(
        f"target {whole_percent(plan['target'])}",
        (1, plan["target"]),
        (0, 5),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        color=LIGHT["good"],
        weight="bold",
    )
    if plan["votes_now"] is not None and plan["votes_now"] <= plan["points"][-1]["votes"]:
        axes.axvline(plan["votes_now"], color=LIGHT["soft"], lw=1, ls=(0, (2, 3)))
        axes.annotate(
            "now", (plan["votes_now"], 0.93), (4, 4), xycoords=axes.get_xaxis_transform(), textcoords="offset points"
        )
    lowest = min(row["majority"] for row in plan["points"] if row["majority"] is not None)
    axes.set(xlabel="votes per item", ylabel="items labelled right", ylim=(min(lowest, plan["target"]) - 0.04, 1.005))
    axes.yaxis.set_major_formatter(lambda value, _: whole_percent(value))
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))  # whole percents
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", fontsize=11, facecolor=LIGHT["card"], edgecolor="none", framealpha=1)
