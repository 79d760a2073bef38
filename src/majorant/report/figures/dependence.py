"""Dependence: how much the votes of two workers go together once the true label is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel, clipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL, LEAST, MOST, MARGIN = 40.0, 220.0, 520.0, 90.0
MOST_NUMBERS = 10


def panels(summary: dict[str, Any]) -> list[Panel]:
    """One matrix; none where no pair was measured."""
    found = summary["workers"]["dependence"]
    if found is None or not found["pairs"]:
        return []
    side = min(max(MARGIN + CELL * len(found["workers"]), LEAST), MOST)
    return [
        Panel(
            "dependence0",
            "Shared errors, pair by pair",
            _words(found),
            (side, side - CELL / 2),
            lambda axes: _draw(axes, found),
        )
    ]


def _words(found: dict[str, Any]) -> str:
    pair = max(found["pairs"], key=lambda pair: abs(pair["correlation"]))
    one, other = (clipped(name) for name in pair["workers"])
    return (
        f"Correlation given the true label; the strongest is {pair['correlation']:+.2f}, between {one} and {other}. "
        f"{found['gate']['text']}"
    )


def _draw(axes: Axes, found: dict[str, Any]) -> None:
    from matplotlib.patches import Rectangle

    n = len(found["workers"])
    rho = {frozenset(map(str, pair["workers"])): pair["correlation"] for pair in found["pairs"]}
    for a in range(n):
        for b in range(a):
            value = rho.get(frozenset(map(str, (found["workers"][a], found["workers"][b]))))
            axes.add_patch(Rectangle((b, a), 1, 1, facecolor=LIGHT["faint"], edgecolor=LIGHT["card"], lw=1.5))
            if value is None:
                continue
            colour = LIGHT["warm"] if value > 0 else LIGHT["heat"]
            axes.add_patch(Rectangle((b, a), 1, 1, facecolor=colour, alpha=min(1.0, 1.6 * abs(value)), lw=0))
            if n <= MOST_NUMBERS:
                axes.text(b + 0.5, a + 0.52, f"{value:+.2f}".replace("-", "−"), ha="center", va="center", fontsize=10.5)
    names = [clipped(name, 10) for name in found["workers"]]
    axes.set(xlim=(0, n), ylim=(n, 0.9), aspect="equal")
    axes.set_yticks([a + 0.5 for a in range(1, n)], names[1:], fontsize=10)
    axes.set_xticks(
        [b + 0.5 for b in range(n - 1)], names[:-1], fontsize=10, rotation=0 if max(map(len, names)) <= 5 else 90
    )
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
