"""Agreement: each coefficient with its interval on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel
from majorant.report.text import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 34.0


def panels(summary: dict[str, Any]) -> list[Panel]:
    """One panel of dots with intervals."""
    rows = [(title.strip(), summary["agreement"][name]) for name, title in NAMES.items() if _told(summary, name)]
    if not rows:
        return []
    words = ", ".join(f"{title} {one['value']:.2f}" for title, one in rows)
    size = (440.0, ROW * len(rows) + 40)
    return [Panel("agreement0", "Agreement between votes", f"{words}.", size, lambda axes: _draw(axes, rows))]


def _told(summary: dict[str, Any], name: str) -> bool:
    ordinal_too = name != "krippendorff_ordinal" or summary["agreement"]["classes"] > 2
    return ordinal_too and summary["agreement"][name]["value"] is not None


def _draw(axes: Axes, rows: list[tuple[str, dict[str, Any]]]) -> None:
    for at, (_, one) in enumerate(reversed(rows)):
        if one["low"] is not None:
            axes.plot([one["low"], one["high"]], [at, at], color=LIGHT["heat"], lw=7, solid_capstyle="round")
        axes.plot([one["value"]], [at], "o", ms=8, color=LIGHT["majority"], mec=LIGHT["card"], mew=1.2)
        axes.text(1.04, at, f"{one['value']:.2f}", va="center", transform=axes.get_yaxis_transform(), weight="bold")
    lowest = min([0.0, *(one["value"] if one["low"] is None else one["low"] for _, one in rows)])
    axes.set(xlim=(lowest - 0.02, 1.02), ylim=(-0.6, len(rows) - 0.4))
    axes.set_yticks(range(len(rows)), [title for title, _ in reversed(rows)], color=LIGHT["ink"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
