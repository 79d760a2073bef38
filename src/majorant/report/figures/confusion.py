"""Confusion heat maps: what each of the busiest workers says (across) when a class is true (down)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel, clipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL, LEAST, MOST = 34.0, 150.0, 330.0
MOST_NUMBERS = 6  # classes up to which each cell holds its number
MARGIN = 72.0
INVISIBLE = 0.01


def panels(summary: dict[str, Any]) -> list[Panel]:
    """One small panel for each worker."""
    labels = [row["label"] for row in summary["votes"]["label_votes"]]
    side = min(max(MARGIN + CELL * len(labels), LEAST), MOST)
    return [
        Panel(
            f"confusion{at}",
            clipped(one["worker"], 24),
            _words(one["matrix"], labels),
            (side, side),
            partial(_draw, matrix=one["matrix"], labels=labels),
        )
        for at, one in enumerate(summary["workers"]["confusions"])
    ]


def _words(matrix: list[list[float]], labels: list[Any]) -> str:
    right = ", ".join(f"{clipped(labels[k])} {100 * row[k]:.0f} %" for k, row in enumerate(matrix))
    return f"Right when the truth is: {right}."


def _draw(axes: Axes, matrix: list[list[float]], labels: list[Any]) -> None:
    from matplotlib.patches import Rectangle

    n = len(matrix)
    axes.add_patch(Rectangle((0, 0), n, n, facecolor=LIGHT["faint"], lw=0))
    for k, row in enumerate(matrix):
        for l, share in enumerate(row):
            colour = LIGHT["heat"] if k == l else LIGHT["warm"]
            if share >= INVISIBLE:
                axes.add_patch(Rectangle((l, k), 1, 1, facecolor=colour, alpha=round(share, 2), lw=0, clip_on=False))
            if n <= MOST_NUMBERS:
                axes.text(l + 0.5, k + 0.52, f"{100 * share:.0f}", ha="center", va="center", fontsize=11)
    for line in range(1, n):
        axes.axhline(line, color=LIGHT["card"], lw=1.5)
        axes.axvline(line, color=LIGHT["card"], lw=1.5)
    axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal")
    names = [clipped(label, 7) for label in labels]
    middle = [k + 0.5 for k in range(n)]
    axes.set_xticks(middle, names, fontsize=10, rotation=0 if max(map(len, names)) * n <= 15 else 90)
    axes.set_yticks(middle, names, fontsize=10)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
