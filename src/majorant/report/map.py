"""The picture of where majority vote is optimal; everything shown was computed before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant.atomic import whole_file
from majorant.errors import ConfigError
from majorant.theory.two_class import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
OPTIMAL, DIFFERENT, LINE = "#9ecae1", "#fbe3c0", "#08306b"  # told apart also in grey
MARKER: dict[str, Any] = {
    "marker": "o",
    "markersize": 9,
    "color": "#d55e00",
    "markeredgecolor": "white",
    "linestyle": "none",
}


def draw_map(regions: Sequence[Region], path: str | Path) -> Path:
    """Draw one panel per region, side by side, into an SVG, PNG or PDF file, by its ending."""
    target = Path(path)
    ending = target.suffix.lstrip(".").lower()
    if ending not in NO_DATE:
        raise ConfigError(f"{target.name}: a map is written as .svg, .png or .pdf.")
    if not regions:
        raise ConfigError("a map needs at least one region.")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # A fixed salt and no date: same model, same bytes.
    with mpl.rc_context({"svg.hashsalt": "majorant", "svg.fonttype": "none", "font.size": 10}):
        legend_columns = 1 if len(regions) == 1 else 3
        figure = Figure(figsize=(4.4 * len(regions) + 0.2, 5.5 if legend_columns == 1 else 5.0), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle("Where majority vote is the optimal rule", fontsize=13, fontweight="bold")
        for axes, region in zip(figure.subplots(1, len(regions), squeeze=False)[0], regions, strict=True):
            _draw_region(axes, region)
        figure.legend(handles=_legend(regions), loc="outside lower center", ncols=legend_columns, frameon=False)
        with whole_file(target) as part:
            figure.savefig(part, format=ending, dpi=150, metadata=NO_DATE[ending])
    return target


def _draw_region(axes: Axes, region: Region) -> None:
    margin_yx = region.margin_yx.clip(-1, 1)  # it may be infinite, and only its sign is drawn
    axes.set_facecolor(DIFFERENT)
    axes.contourf(region.x_j, region.y_i, margin_yx, levels=[0, 2], colors=[OPTIMAL])
    axes.contour(region.x_j, region.y_i, margin_yx, levels=[0], colors=[LINE], linewidths=1.5)
    if region.point is not None:
        axes.plot(*region.point, **MARKER, clip_on=False, zorder=5)
        side = "right" if region.point[0] > 0.6 else "left"
        axes.annotate(
            f"{region.point_margin:+.2f} nats",
            region.point,
            xytext=(-9 if side == "right" else 9, -16),
            textcoords="offset points",
            ha=side,
            fontweight="bold",
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=region.x_name, ylabel=region.y_name, title=region.title, aspect="equal")


def _legend(regions: Sequence[Region]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=OPTIMAL, edgecolor=LINE, label="majority is optimal"),
        Patch(facecolor=DIFFERENT, label="the optimal rule differs on some votes"),
    ]
    if any(region.point is not None for region in regions):
        handles.append(Line2D([], [], **MARKER, label="the given model, with its margin"))
    return handles
