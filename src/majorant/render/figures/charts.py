"""The types of chart. The report draws them as HTML, `canvas.py` with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, Literal

from majorant.render.words import percent, printable


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of shaded cells; a cell is its text, how dark it is (0 to 1), and whether its colour is the warm one."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[tuple[str, float, bool] | None]]
    kind: Literal["grid"] = "grid"


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each name, from 0 to the largest value."""

    title: str
    names: Sequence[str]
    values: Sequence[int]
    shares: bool = False  # shown with their share of the sum
    kind: Literal["bars"] = "bars"

    def text(self, value: int) -> str:
        """The text beside a bar."""
        return f"{value:,} ({percent(value / max(1, sum(self.values)))})" if self.shares else f"{value:,}"


@dataclass(frozen=True, slots=True)
class Dot:
    """An estimate with its interval, its text, and a tick to compare it with."""

    name: str
    value: float
    low: float | None
    high: float | None
    text: str
    mark: float | None = None
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class Dots:
    """A row for each estimate, on one scale that ends at 1."""

    title: str
    rows: Sequence[Dot]
    start: float = 0.0  # of the scale
    kind: Literal["dots"] = "dots"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with its name, its ends, and its ticks."""

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]

    def place(self, value: float) -> float:
        """The position of a value between the ends, from 0 to 1; values beyond the ends are clamped."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of a plot: an area, a line, points with their radii, or vertical intervals from y to high."""

    shape: Literal["area", "line", "points", "intervals"]
    colour: str  # a name of the scheme in canvas.py
    x: Sequence[float]
    y: Sequence[float]
    high: Sequence[float] = ()
    radii: Sequence[float] = ()
    dashed: bool = False
    opacity: float = 1.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """Layers between two axes."""

    title: str
    words: str  # description for screen readers
    x: Axis
    y: Axis
    layers: Sequence[Layer]
    kind: Literal["plot"] = "plot"


@dataclass(frozen=True, slots=True)
class Flow:
    """How items move from the labels on the left to those on the right; heights are shares of the total height."""

    title: str
    words: str
    heads: tuple[str, str]
    left: Sequence[tuple[str, float, float]]  # name, top, height
    right: Sequence[tuple[str, float, float]]
    ribbons: Sequence[tuple[float, float, float, bool]]  # top on the left, on the right, height, whether labels change
    kind: Literal["flow"] = "flow"


Chart = Grid | Bars | Dots | Plot | Flow


def clipped(value: Any, most: int = 18) -> str:
    """A user's value on one line, with control characters escaped, truncated to `most` characters.

    >>> clipped("a very long name for a worker", 10)
    'a very lo…'
    """
    text = printable(" ".join(str(value)[: 4 * most].split()))
    return text if len(text) <= most else text[: most - 1] + "…"


def percent_axis(name: str, low: float, high: float) -> Axis:
    """An axis of shares."""
    return Axis(name, low, high, [(tick, percent(tick, 0)) for tick in round_ticks(low, high)])


def round_ticks(low: float, high: float) -> list[float]:
    """Up to six round numbers between two.

    >>> round_ticks(0, 1), round_ticks(1, 25)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [5.0, 10.0, 15.0, 20.0, 25.0])
    """
    unit = 10.0 ** floor(log10((high - low) / 5))
    step = next(unit * size for size in (1, 2, 5, 10) if (high - low) / (unit * size) <= 5.001)
    return [round(at * step, 10) for at in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
