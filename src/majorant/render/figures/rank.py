"""The picture of a ranking: each system's rate with its interval, and brackets around systems not told apart."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from majorant.errors import ConfigError
from majorant.render.figures.canvas import LIGHT
from majorant.render.words import printable
from majorant.results.rank import Ranking
from majorant.results.rate_inputs import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ranking_figure(ranking: Ranking) -> Figure:
    """Intervals of the systems from best to worst, what judges say as ticks, tiers as brackets on the right."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if not ranking.pairs:
        raise ConfigError("There is nothing to plot without labels.")
    unit = 1 if ranking.measure is Measure.SCORE else 100
    with mpl.rc_context({"text.parse_math": False}):
        figure = Figure(figsize=(7, 1.2 + 0.4 * len(ranking.systems)), layout="constrained")
        axes = figure.add_subplot()
        for at, one in enumerate(ranking.systems):
            assert one.value is not None
            if one.low is not None and one.high is not None:
                axes.plot([unit * one.low, unit * one.high], [at, at], color=LIGHT["majority"], alpha=0.4, lw=6)
            axes.plot(
                [unit * one.value], [at], "o", color=LIGHT["majority"], label=None if at else "measured by labels"
            )
            axes.plot([unit * one.said], [at], "|", ms=12, color=LIGHT["soft"], label=None if at else "judges say")
        first = 0
        for tier in ranking.tiers:
            last = first + len(tier) - 1
            if last > first:
                axes.plot([1.02, 1.02], [first - 0.2, last + 0.2], color=LIGHT["best"], lw=2.5, clip_on=False,
                          transform=axes.get_yaxis_transform())  # fmt: skip
                axes.text(1.04, (first + last) / 2, "not told apart", va="center", color=LIGHT["best"], fontsize=8,
                          transform=axes.get_yaxis_transform())  # fmt: skip
            first = last + 1
        axes.set_yticks(range(len(ranking.systems)), [printable(str(one.name)) for one in ranking.systems])
        axes.set_ylim(len(ranking.systems) - 0.5, -0.5)
        name = "mean score" if ranking.measure is Measure.SCORE else f"share of {printable(str(ranking.label))}, %"
        axes.set_xlabel(name)
        axes.grid(axis="x", alpha=0.4)
        axes.legend(loc="lower right", fontsize=8, frameon=False)
    return figure


def draw_ranking(ranking: Ranking) -> bytes:
    """The picture as SVG; empty without labels."""
    import matplotlib as mpl

    if not ranking.pairs:
        return b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "majorant"}):
        ranking_figure(ranking).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
