"""From a panel to a Figure for notebooks, or to inline SVG for the page."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from majorant.errors import ConfigError
from majorant.wording import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINT = 1 / 72  # inch: one unit of the SVG is one point, one pixel of the page
REFERENCE = re.compile(r"(?:^|url\()#([^)]+)")
FONT = re.compile(r"font: ([^;]*?)([\d.]+px)[^;]*")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
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


def with_variables(svg: str) -> str:
    """The same picture with each colour looked up in the page, so that one picture serves both schemes."""
    for name, value in LIGHT.items():
        svg = svg.replace(value, f"var(--{name})")
    return svg


def clipped(value: Any, most: int = 18) -> str:
    """A user's value, harmless and not longer than it may be.

    >>> clipped("a very long name for a worker", 10)
    'a very lo…'
    """
    text = printable(" ".join(str(value)[: 4 * most].split()))
    return text if len(text) <= most else text[: most - 1] + "…"


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


def default_style() -> dict[Any, Any]:
    """Matplotlib's own defaults: a matplotlibrc of the user's or of the current folder has no say in our figures."""
    import matplotlib as mpl

    settings = mpl.rcParamsDefault
    return {name: settings[name] for name in settings if not name.startswith(("backend", "webagg", "interactive"))}


@contextlib.contextmanager
def _styled() -> Iterator[None]:
    """The style, for as long as a picture is drawn; a sign that the font lacks is the reader's font's affair."""
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it would tell of its cache where that cannot be written
    import matplotlib as mpl
    import matplotlib.font_manager

    logger.setLevel(level)
    with mpl.rc_context({**default_style(), **STYLE}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def figure_of(panels: Sequence[Panel], name: str) -> Figure:
    """All panels in one matplotlib Figure, side by side."""
    if not panels:
        raise ConfigError(f"These votes have nothing to show as {name!r}; the report says why.")
    with _styled():
        columns = min(3, len(panels))
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
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        figure = _blank(*panel.size)
        canvas: Any = FigureCanvasSVG(figure)
        panel.draw(figure.add_subplot())
        if (layout := figure.get_layout_engine()) is not None:  # savefig would draw twice
            layout.execute(figure)
            figure.set_layout_engine("none")
        stream = io.StringIO()
        canvas.print_svg(stream, metadata={"Date": None})
    return _inline(stream.getvalue(), panel)


def _blank(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * POINT, height * POINT), dpi=72, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _inline(svg: str, panel: Panel) -> str:
    """The picture for the page: attributes are edited and text is left alone, since names of the user stand in it."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = _local(element.tag)
        for child in [child for child in element if _local(child.tag) in ("metadata", "style")]:
            element.remove(child)
        if element.tag not in ("text", "tspan"):
            element.text = None
            for child in element:
                child.tail = None
    _edit_attributes(root, panel.key)
    key, width = panel.key, panel.size[0]
    title, words = (escape(printable(text)) for text in (panel.title, panel.alt))
    body = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    return (
        f'<svg viewBox="{root.get("viewBox")}" role="img" aria-labelledby="{key}-title {key}-desc" '
        f'style="--w: {width:g}px"><title id="{key}-title">{title}</title><desc id="{key}-desc">{words}</desc>'
        f"{body}</svg>"
    )


def _edit_attributes(root: ElementTree.Element, key: str) -> None:
    """Shorter numbers, the page's font and colours, and of the ids those in use, named after the panel."""
    values = [value for element in root.iter() for value in element.attrib.values()]
    used = dict.fromkeys(name for value in values for name in REFERENCE.findall(value))
    own = {name: f"{key}-{at}" for at, name in enumerate(used)}
    for element in root.iter():
        edited = {}
        for name, value in element.attrib.items():
            if name == "id":
                if value in own:
                    edited["id"] = own[value]
            else:
                shorter = LONG_NUMBER.sub(_shorter, FONT.sub(_font, value))
                renamed = REFERENCE.sub(lambda match: match[0].replace(match[1], own[match[1]]), shorter)
                edited[_local(name)] = with_variables(renamed)
        element.attrib = edited


def _local(name: str) -> str:
    """A name without its namespace: in HTML, SVG has none."""
    return name.rpartition("}")[2]


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _font(font: re.Match[str]) -> str:
    """The size and weight that were asked for; the family is the page's."""
    weight = re.search(r"bold|\b[1-9]00\b", font[1])
    return f"font-size: {font[2]}" + (f"; font-weight: {weight[0]}" if weight else "")
