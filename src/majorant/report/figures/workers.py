"""Workers: accuracy with its interval against the number of votes; those that stand out in colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel, clipped, whole_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (480, 330)
NAMED = 12  # up to so many workers are named, a row each
VAGUE = 0.7  # an interval as long as this says nothing, and hundreds of them hide the rest
HARMLESS = "too few votes"


def panels(summary: dict[str, Any]) -> list[Panel]:
    """One scatter of the busiest workers."""
    rows = [row for row in summary["workers"]["rows"] if row["accuracy"] is not None]
    if not rows:
        return []
    best, worst = (pick(rows, key=lambda row: row["accuracy"]) for pick in (max, min))
    flagged = sum(map(_stands_out, rows))
    words = (
        f"{len(rows):,} workers, with {rows[-1]['votes']:,} to {rows[0]['votes']:,} votes; accuracies from "
        f"{whole_percent(worst['accuracy'])} to {whole_percent(best['accuracy'])}; {flagged:,} stand out."
    )
    if len(rows) <= NAMED:
        size = (SIZE[0], 90.0 + 30 * len(rows))
        return [Panel("workers0", "Accuracy of each worker", words, size, lambda axes: _by_name(axes, rows))]
    return [Panel("workers0", "Accuracy against number of votes", words, SIZE, lambda axes: _draw(axes, rows))]


def _stands_out(row: dict[str, Any]) -> bool:
    return any(flag["flag"] != HARMLESS for flag in row["flags"])


def _by_name(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """A row for each of a few workers, the best first."""
    ranked = sorted(rows, key=lambda row: row["accuracy"])
    for at, row in enumerate(ranked):
        colour = LIGHT["best"] if _stands_out(row) else LIGHT["majority"]
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [at, at], color=colour, alpha=0.4, lw=6, solid_capstyle="round")
        axes.plot([row["accuracy"]], [at], "o", ms=8, color=colour, mec=LIGHT["card"], mew=1.2)
        if row["chance"] is not None:
            axes.plot([row["chance"]], [at], "|", ms=14, color=LIGHT["soft"])
    names = [f"{clipped(row['worker'], 14)} ({row['votes']:,})" for row in ranked]
    axes.set_yticks(range(len(ranked)), names, color=LIGHT["ink"])
    axes.set(
        xlim=(-0.02, 1.02), ylim=(-0.6, len(ranked) - 0.4), xlabel="accuracy (bars: blind guessing); in brackets: votes"
    )
    axes.xaxis.set_major_formatter(lambda value, _: whole_percent(value))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    faint = 0.45 if len(rows) <= 60 else 0.18
    for out, colour, name in ((False, LIGHT["majority"], "worker"), (True, LIGHT["best"], "stands out")):
        some = [row for row in rows if _stands_out(row) == out]
        if not some:
            continue
        x = [row["votes"] for row in some]
        sure = [row for row in some if row["low"] is not None and row["high"] - row["low"] < VAGUE]
        axes.vlines(
            [row["votes"] for row in sure],
            [row["low"] for row in sure],
            [row["high"] for row in sure],
            color=colour,
            alpha=faint if not out else max(faint, 0.4),
            lw=1.4,
        )
        axes.scatter(
            x,
            [row["accuracy"] for row in some],
            s=26,
            color=colour,
            lw=0.5,
            edgecolor=LIGHT["card"],
            label=name,
            zorder=3,
        )
    chances = sorted(row["chance"] for row in rows if row["chance"] is not None)
    if chances:
        axes.axhline(
            chances[len(chances) // 2], color=LIGHT["soft"], lw=1, ls=(0, (4, 3)), label="blind guessing", zorder=1
        )
    _scale(axes, rows)
    axes.legend(loc="lower right", frameon=False, fontsize=11, ncols=3, bbox_to_anchor=(1, 1.0))


def _scale(axes: Axes, rows: list[dict[str, Any]]) -> None:
    most, least = rows[0]["votes"], rows[-1]["votes"]
    if most > 8 * max(least, 1):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    else:
        span = max(most - least, 1)
        axes.set_xlim(least - 0.15 * span - 0.02 * most, most + 0.15 * span + 0.02 * most)
    axes.set(xlabel="votes given", ylabel="accuracy", ylim=(-0.02, 1.02))
    axes.yaxis.set_major_formatter(lambda value, _: whole_percent(value))
    axes.grid(axis="y")
    axes.set_axisbelow(True)
