"""The colours of the page, and charts drawn with matplotlib for `result.plot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from majorant.errors import ConfigError
from majorant.render.figures.charts import Bars, Chart, Dots, Flow, Grid, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {  # in light mode, in dark mode
    "page": ("#f7f7f4", "#11151a"),
    "card": ("#ffffff", "#191f26"),
    "ink": ("#1c2530", "#e9ecef"),
    "soft": ("#56616e", "#a5afba"),
    "line": ("#d8dde3", "#37414c"),
    "majority": ("#1b6ca8", "#6cb4ec"),
    "best": ("#c2510c", "#f2995a"),
    "good": ("#14795a", "#5cc9a3"),
    "zone": ("#d3e6f5", "#1d3a54"),
    "heat": ("#8abbe3", "#2d628f"),
    "warm": ("#f0b68a", "#8c5228"),
    "faint": ("#eef0f2", "#232b34"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}


def css_variables(*, dark: bool = False) -> str:
    """The colours as CSS variables: --ink: #1c2530; and so on."""
    return " ".join(f"--{name}: {pair[dark]};" for name, pair in COLOURS.items())


def scheme() -> str:
    """The colours as CSS: dark if the reader's system is, but light on paper."""
    dark = f":root {{ color-scheme: dark; {css_variables(dark=True)} }}"
    return (
        f":root {{ color-scheme: light; {css_variables()} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n"
    )


def figure_of(charts: Sequence[Chart], name: str) -> Figure:
    """All charts in one matplotlib Figure, in the user's own style."""
    if not charts:
        raise ConfigError(f"There is nothing to plot as {name!r} for these votes; the report says why.")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    columns = min(3, len(charts))
    rows = -(-len(charts) // columns)
    with mpl.rc_context({"text.parse_math": False}):  # names may contain dollar signs
        figure = Figure(figsize=(6 * columns, 4.5 * rows), layout="constrained")
        for at, chart in enumerate(charts):
            _draw(figure.add_subplot(rows, columns, at + 1, title=chart.title), chart)
    return figure


def _draw(axes: Axes, chart: Chart) -> None:
    match chart:
        case Grid():
            _draw_grid(axes, chart)
        case Bars():
            bars = axes.barh(range(len(chart.names)), chart.values, color=LIGHT["majority"])
            axes.bar_label(bars, [chart.text(value) for value in chart.values], padding=3)
            axes.set_yticks(range(len(chart.names)), chart.names)
            axes.invert_yaxis()
            axes.margins(x=0.25)
        case Dots():
            _draw_dots(axes, chart)
        case Plot():
            _draw_plot(axes, chart)
        case Flow():
            _draw_flow(axes, chart)


def _draw_grid(axes: Axes, grid: Grid) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    shades = [[0.0 if cell is None else cell[1] if cell[2] else -cell[1] for cell in row] for row in grid.cells]
    colours = LinearSegmentedColormap.from_list("shades", [LIGHT["heat"], LIGHT["card"], LIGHT["warm"]])
    axes.imshow(shades, cmap=colours, vmin=-1, vmax=1)
    for r, row in enumerate(grid.cells):
        for c, cell in enumerate(row):
            if cell is not None:
                axes.text(c, r, cell[0], ha="center", va="center")
    axes.set_xticks(range(len(grid.columns)), grid.columns, rotation="vertical")
    axes.set_yticks(range(len(grid.rows)), grid.rows)


def _draw_dots(axes: Axes, chart: Dots) -> None:
    for at, row in enumerate(chart.rows):
        colour = LIGHT["best" if row.stands_out else "majority"]
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [at, at], color=colour, alpha=0.4, lw=6)
        axes.plot([row.value], [at], "o", color=colour)
        if row.mark is not None:
            axes.plot([row.mark], [at], "|", ms=14, color=LIGHT["soft"])
        axes.text(1.04, at, row.text, va="center", transform=axes.get_yaxis_transform())
    axes.set_yticks(range(len(chart.rows)), [row.name for row in chart.rows])
    axes.set(xlim=(chart.start - 0.02, 1.02), ylim=(len(chart.rows) - 0.4, -0.6))
    axes.grid(axis="x")


def _draw_plot(axes: Axes, plot: Plot) -> None:
    for layer in plot.layers:
        look: dict[str, Any] = {"color": LIGHT[layer.colour], "alpha": layer.opacity, "label": layer.label or None}
        match layer.shape:
            case "area":
                axes.fill(layer.x, layer.y, lw=0, **look)
            case "line":
                axes.plot(layer.x, layer.y, lw=1.4, ls="--" if layer.dashed else "-", **look)
            case "points":
                axes.scatter(layer.x, layer.y, s=[4 * r * r for r in layer.radii], zorder=3, clip_on=False, **look)
            case "intervals":
                axes.vlines(layer.x, layer.y, layer.high, lw=1.4, **look)
    axes.set(xlabel=plot.x.name, ylabel=plot.y.name, xlim=(plot.x.low, plot.x.high), ylim=(plot.y.low, plot.y.high))
    axes.set_xticks([tick for tick, _ in plot.x.ticks], [text for _, text in plot.x.ticks])
    axes.set_yticks([tick for tick, _ in plot.y.ticks], [text for _, text in plot.y.ticks])
    if any(layer.label for layer in plot.layers):
        axes.legend()


def _draw_flow(axes: Axes, flow: Flow) -> None:
    for a, b, height, changes in flow.ribbons:
        colour, opacity = (LIGHT["best"], 0.85) if changes else (LIGHT["heat"], 0.45)
        axes.fill_between([0, 1], [a, b], [a + height, b + height], color=colour, alpha=opacity, lw=0)
    for x, side, head, bars in ((0, "right", flow.heads[0], flow.left), (1, "left", flow.heads[1], flow.right)):
        shift = -0.03 if side == "right" else 0.03
        axes.text(x, -0.06, head, ha=side, color=LIGHT["soft"])
        for text, top, height in bars:
            axes.vlines(x, top, top + height, color=LIGHT["ink"], lw=6)
            axes.text(x + shift, top + height / 2, text, ha=side, va="center")
    axes.set(xlim=(-0.6, 1.6), ylim=(1.02, -0.1))
    axes.axis("off")
