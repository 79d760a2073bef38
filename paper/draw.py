"""Figures as SVG text, reproducible to the byte, in colours that are safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from numpy.typing import ArrayLike

OPTIMAL, DIFFERENT, LINE = "#9ecae1", "#fbe3c0", "#08306b"  # distinguishable in greyscale
# Okabe and Ito's colours, dark enough for lines on white.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000",
)  # fmt: skip
HEAT = "YlGnBu"  # from pale to dark, the same to red-green blind readers


def svg(size: tuple[float, float], fill: Callable[[Figure], None]) -> str:
    """The figure that `fill` draws, with this size in inches, as SVG text."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # A fixed salt and no date: same data, same bytes.
    with mpl.rc_context({"svg.hashsalt": "majorant", "svg.fonttype": "none", "font.size": 10, "axes.titlesize": 10}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        fill(figure)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def region(axes: Axes, x: ArrayLike, y: ArrayLike, margin_yx: ArrayLike) -> None:
    """Colour where the margin is positive, and draw its boundary."""
    import numpy as np

    clipped_yx = np.clip(np.nan_to_num(margin_yx, posinf=1.0, neginf=-1.0), -1, 1)  # only its sign is drawn
    axes.set_facecolor(DIFFERENT)
    axes.contourf(x, y, clipped_yx, levels=[0, 2], colors=[OPTIMAL])
    axes.contour(x, y, clipped_yx, levels=[0], colors=[LINE], linewidths=1.2)


def region_legend() -> list[Patch]:
    """Legend for the two colours of a region."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=OPTIMAL, edgecolor=LINE, label="majority vote is optimal"),
        Patch(facecolor=DIFFERENT, edgecolor="#bbbbbb", label="the optimal rule differs on some votes"),
    ]


def heat(axes: Axes, x: ArrayLike, y: ArrayLike, value_yx: ArrayLike, *, top: float) -> QuadMesh:
    """A heat map from 0 to `top`; exactly 0 (no loss) is white."""
    import matplotlib as mpl
    import numpy as np

    colours = mpl.colormaps[HEAT].with_extremes(under="white")
    shown_yx = np.where(np.asarray(value_yx) > 0, np.maximum(value_yx, 0), -1)
    return axes.pcolormesh(x, y, shown_yx, cmap=colours, vmin=0, vmax=top, shading="nearest", rasterized=True)
