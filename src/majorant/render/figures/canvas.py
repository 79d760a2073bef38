"""The colours of the page, and charts drawn with matplotlib for notebooks."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from majorant.errors import ConfigError
from majorant.render.figures.charts import Bars, Chart, Dots, Flow, Grid, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIGHT = {
    "page": "#f7f7f4",
    "card": "#ffffff",
    "ink": "#1c2530",
    "soft": "#56616e",
    "line": "#d8dde3",
    "majority": "#1b6ca8",
    "best": "#c2510c",
    "good": "#14795a",
    "zone": "#d3e6f5",
    "heat": "#8abbe3",
    "warm": "#f0b68a",
    "faint": "#eef0f2",
}
DARK = {
    "page": "#11151a",
    "card": "#191f26",
    "ink": "#e9ecef",
    "soft": "#a5afba",
    "line": "#37414c",
    "majority": "#6cb4ec",
    "best": "#f2995a",
    "good": "#5cc9a3",
    "zone": "#1d3a54",
    "heat": "#2d628f",
    "warm": "#8c5228",
    "faint": "#232b34",
}


def css_variables(colours: dict[str, str]) -> str:
    """--ink: #1c2530; and so on."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


def scheme() -> str:
    """The colours: light, dark where the reader's system is, and light on paper."""
    light, dark = css_variables(LIGHT), css_variables(DARK)
    return (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n"
    )


STYLE: Any = {
    "text.parse_math": False,  # names may hold dollar signs
    "font.size": 12,
    "font.family": "DejaVu Sans",
    "text.color": LIGHT["ink"],
    "axes.edgecolor": LIGHT["soft"],
    "axes.linewidth": 0.8,
    "axes.labelcolor": LIGHT["soft"],
    "axes.labelsize": 12,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.unicode_minus": True,
    "figure.constrained_layout.w_pad": 3 / 72,
    "figure.constrained_layout.h_pad": 3 / 72,
    "figure.facecolor": "none",
    "grid.color": LIGHT["line"],
    "grid.linewidth": 0.8,
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
}


def default_style() -> dict[Any, Any]:
    """Matplotlib's own defaults: a matplotlibrc of the user does not change our figures."""
    import matplotlib as mpl

    settings = mpl.rcParamsDefault
    return {name: settings[name] for name in settings if not name.startswith(("backend", "webagg", "interactive"))}


@contextmanager
def _styled() -> Iterator[None]:
    """Our style while a figure is drawn; characters that the font lacks are not worth a warning."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it reports a cache folder that it cannot write to
    import matplotlib as mpl
    import matplotlib.font_manager

    logger.setLevel(level)
    with mpl.rc_context({**default_style(), **STYLE}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def figure_of(charts: Sequence[Chart], name: str) -> Figure:
    """All charts in one matplotlib Figure, side by side."""
    if not charts:
        raise ConfigError(f"These votes have nothing to show as {name!r}; the report says why.")
    with _styled():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        columns = min(3, len(charts))
        rows = -(-len(charts) // columns)
        figure = Figure(figsize=(6 * columns, 4.5 * rows), dpi=72, layout="constrained", facecolor=LIGHT["card"])
        FigureCanvasAgg(figure)
        for at, chart in enumerate(charts):
            axes = figure.add_subplot(rows, columns, at + 1, title=chart.title)
            _draw(axes, chart)
    return figure


def _draw(axes: Axes, chart: Chart) -> None:
    match chart:
        case Grid():
            _draw_grid(axes, chart)
        case Bars():
            places = range(len(chart.names))
            bars = axes.barh(places, chart.values, color=LIGHT["majority"])
            axes.bar_label(bars, [chart.text(value) for value in chart.values], padding=3)
            axes.set_yticks(places, chart.names)
            axes.invert_yaxis()
            axes.margins(x=0.25)
        case Dots():
            _draw_dots(axes, chart)
        case Plot():
            _draw_plot(axes, chart)
        case Flow():
            _draw_flow(axes, chart)


def _draw_grid(axes: Axes, grid: Grid) -> None:
    from matplotlib.patches import Rectangle

    for r, row in enumerate(grid.cells):
        for c, cell in enumerate(row):
            if cell is not None:
                text, shade, warm = cell
                axes.add_patch(Rectangle((c, r), 1, 1, facecolor=LIGHT["faint"], edgecolor=LIGHT["card"], lw=1.5))
                axes.add_patch(Rectangle((c, r), 1, 1, facecolor=LIGHT["warm" if warm else "heat"], alpha=shade))
                axes.text(c + 0.5, r + 0.5, text, ha="center", va="center", fontsize=11)
    axes.set(xlim=(0, len(grid.columns)), ylim=(len(grid.rows), 0), aspect="equal")
    axes.set_xticks([c + 0.5 for c in range(len(grid.columns))], grid.columns, rotation="vertical")
    axes.set_yticks([r + 0.5 for r in range(len(grid.rows))], grid.rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_dots(axes: Axes, chart: Dots) -> None:
    for at, row in enumerate(chart.rows):
        colour = LIGHT["best" if row.stands_out else "majority"]
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [at, at], color=colour, alpha=0.4, lw=6, solid_capstyle="round")
        axes.plot([row.value], [at], "o", ms=8, color=colour, mec=LIGHT["card"])
        if row.mark is not None:
            axes.plot([row.mark], [at], "|", ms=14, color=LIGHT["soft"])
        axes.text(1.04, at, row.text, va="center", transform=axes.get_yaxis_transform(), weight="bold")
    axes.set_yticks(range(len(chart.rows)), [row.name for row in chart.rows], color=LIGHT["ink"])
    axes.set(xlim=(chart.start - 0.02, 1.02), ylim=(len(chart.rows) - 0.4, -0.6))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _draw_plot(axes: Axes, plot: Plot) -> None:
    for layer in plot.layers:
        look: dict[str, Any] = {"color": LIGHT[layer.colour], "alpha": layer.opacity, "label": layer.label or None}
        match layer.shape:
            case "area":
                axes.fill(layer.x, layer.y, lw=0, **look)
            case "line":
                axes.plot(layer.x, layer.y, lw=1.4, ls=(0, (4, 3)) if layer.dashed else "-", **look)
            case "points":
                axes.scatter(layer.x, layer.y, s=[4 * r * r for r in layer.radii], zorder=3, clip_on=False, **look)
            case "intervals":
                axes.vlines(layer.x, layer.y, layer.high, lw=1.4, **look)
    axes.set(xlabel=plot.x.name, ylabel=plot.y.name, xlim=(plot.x.low, plot.x.high), ylim=(plot.y.low, plot.y.high))
    axes.set_xticks([tick for tick, _ in plot.x.ticks], [text for _, text in plot.x.ticks])
    axes.set_yticks([tick for tick, _ in plot.y.ticks], [text for _, text in plot.y.ticks])
    if any(layer.label for layer in plot.layers):
        axes.legend(facecolor=LIGHT["card"], edgecolor="none", fontsize=11)


def _draw_flow(axes: Axes, flow: Flow) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, right, width = 0.26, 0.74, 0.022
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    for a, b, height, changes in flow.ribbons:
        bottom = max(height, 0.004 if changes else 0)
        points = [
            (left, a), (0.5, a), (0.5, b), (right, b),
            (right, b + bottom), (0.5, b + bottom), (0.5, a + bottom), (left, a + bottom), (left, a),
        ]  # fmt: skip
        colour, opacity = (LIGHT["best"], 0.85) if changes else (LIGHT["heat"], 0.45)
        axes.add_patch(PathPatch(Path(points, codes), facecolor=colour, alpha=opacity, lw=0))
    for x, side, head, bars in ((left, "right", flow.heads[0], flow.left), (right, "left", flow.heads[1], flow.right)):
        shift = -0.03 if side == "right" else 0.03
        axes.text(x, -0.06, head, ha=side, color=LIGHT["soft"])
        for text, top, height in bars:
            axes.bar([x], [max(height, 0.004)], bottom=top, width=width, color=LIGHT["ink"])
            axes.text(x + shift, top + height / 2, text, ha=side, va="center")
    axes.set(xlim=(0, 1), ylim=(1.02, -0.1))
    axes.axis("off")
