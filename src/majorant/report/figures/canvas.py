"""From a panel to a Figure for notebooks, or to inline SVG for the page."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from majorant.errors import ConfigError
from majorant.report.figures.palette import LIGHT, with_variables
from majorant.report.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINT = 1 / 72  # inch: one unit of the SVG is one point, one pixel of the page
COLUMNS = 3  # panels side by side in one Figure


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: its place on the page, what it shows, the same in words, its size, and how to draw it."""

    key: str  # unique on the page
    title: str
    alt: str
    size: tuple[float, float]
    draw: Callable[[Axes], None]


STYLE: Any = {
    "svg.hashsalt": "majorant",  # same summary, same bytes
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name with a dollar sign is a name
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
    "figure.constrained_layout.w_pad": 3 * POINT,
    "figure.constrained_layout.h_pad": 3 * POINT,
    "figure.facecolor": "none",
    "grid.color": LIGHT["line"],
    "grid.linewidth": 0.8,
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "path.simplify": True,
}


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    """The style, for as long as a picture is drawn; a sign that the font lacks is the reader's font's affair."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def figure_of(panels: Sequence[Panel], name: str) -> Figure:
    """All panels in one matplotlib Figure, side by side."""
    if not panels:
        raise ConfigError(f"These votes have nothing to show as {name!r}; the report says why.")
    with _styled():
        columns = min(COLUMNS, len(panels))
        rows = -(-len(panels) // columns)
        width, height = (max(panel.size[d] for panel in panels) for d in (0, 1))
        figure = _blank(width * columns, (height + 24) * rows)
        figure.set_facecolor(LIGHT["card"])
        for at, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, at + 1)
            panel.draw(axes)
            axes.set_title(panel.title)
    return figure


def svg_of(panel: Panel) -> str:
    """The panel as inline SVG: labelled, coloured by the page's variables, its ids its own."""
    with _styled():
        figure = _blank(*panel.size)
        panel.draw(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _inline(stream.getvalue(), panel)


def _blank(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * POINT, height * POINT), dpi=72, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _inline(svg: str, panel: Panel) -> str:
    body = svg[svg.index("<svg") :]
    box = re.search(r'viewBox="([^"]*)"', body)
    assert box is not None
    body = body[body.index(">") + 1 : body.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)  # it would style the whole page
    body = _own_ids(body, panel.key).replace("xlink:href", "href")
    body = re.sub(r"font: ([^;\"]*?)([\d.]+px)[^;\"]*", _font, body)
    body = re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), body)
    body = re.sub(r">\s+<", "><", body)
    body = with_variables(body)
    key, width = panel.key, panel.size[0]
    title, words = (escape(printable(text)) for text in (panel.title, panel.alt))
    return (
        f'<svg viewBox="{box[1]}" role="img" aria-labelledby="{key}-title {key}-desc" style="--w: {width:g}px">'
        f'<title id="{key}-title">{title}</title><desc id="{key}-desc">{words}</desc>'
        f"{body.strip()}</svg>"
    )


def _own_ids(body: str, key: str) -> str:
    """Ids that something refers to, named after the panel; the others go."""
    used = dict.fromkeys(re.findall(r'(?:url\(#|href="#)([^")]*)', body))
    own = {name: f"{key}-{at}" for at, name in enumerate(used)}
    body = re.sub(r' id="([^"]*)"', lambda found: f' id="{own[found[1]]}"' if found[1] in own else "", body)
    return re.sub(r'(url\(#|href="#)([^")]*)', lambda found: found[1] + own[found[2]], body)


def _font(found: re.Match[str]) -> str:
    """The size and weight that were asked for; the family is the page's."""
    weight = re.search(r"bold|\b[1-9]00\b", found[1])
    return f"font-size: {found[2]}" + (f"; font-weight: {weight[0]}" if weight else "")
