"""The decision path: the questions of the paper's Figure 1 as a flow chart, the way taken in colour."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from majorant.report.figures.canvas import LIGHT, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, ROW, BOX = 450.0, 108.0, 76.0  # points: of the chart, from question to question, of a box
LEFT, ASK, OUT = 4.0, 204.0, 176.0  # where questions begin, and how wide questions and ends are
SIGN = 7.6  # points that a letter takes


def panels(summary: dict[str, Any]) -> list[Panel]:
    """One flow chart."""
    path = summary["path"]
    if not path:
        return []
    height = ROW * (len(path["steps"]) + 1) - 16
    return [
        Panel(
            "path0",
            "The questions, and the way that these votes took",
            _words(path),
            (WIDTH, height),
            lambda axes: _draw(axes, path),
        )
    ]


def _words(path: dict[str, Any]) -> str:
    said = [f"{step['question']} {step['answer']}." for step in path["steps"] if step["answer"] is not None]
    return " ".join([*said, f"So: {path['outcome']}."])


def _draw(axes: Axes, path: dict[str, Any]) -> None:
    top = ROW * (len(path["steps"]) + 1) - 16
    axes.set(xlim=(0, WIDTH), ylim=(0, top))
    axes.axis("off")
    reached = True
    for at, step in enumerate(path["steps"]):
        y = top - BOX / 2 - 2 - at * ROW
        on, off = reached and step["answer"] == step["on"], reached and step["answer"] == step["off"]
        _box(axes, (LEFT, y), ASK, step["question"], on=reached)
        _box(axes, (WIDTH - OUT - LEFT, y), OUT, step["exit"], on=off, end=True)
        _arrow(axes, (LEFT + ASK, y), (WIDTH - OUT - LEFT, y), step["off"], on=off)
        _arrow(axes, (LEFT + ASK / 2, y - BOX / 2), (LEFT + ASK / 2, y - ROW + BOX / 2), step["on"], on=on)
        reached = on
    _box(axes, (LEFT, BOX / 2 + 2), ASK, path["end"], on=reached, end=True)


def _box(axes: Axes, at: tuple[float, float], width: float, text: str, *, on: bool, end: bool = False) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = at
    edge = LIGHT["best"] if on and end else LIGHT["majority"] if on else LIGHT["line"]
    fill = LIGHT["zone"] if on and not end else LIGHT["card"]
    axes.add_patch(
        FancyBboxPatch(
            (x, y - BOX / 2),
            width,
            BOX,
            boxstyle=f"round,pad=0,rounding_size={26 if end else 6}",
            facecolor=fill,
            edgecolor=edge,
            lw=2.2 if on else 1,
        )
    )
    axes.text(
        x + width / 2,
        y,
        textwrap.fill(text, int((width - 14) / (SIGN * 1.12 if on and end else SIGN))),
        ha="center",
        va="center",
        color=LIGHT["ink"] if on else LIGHT["soft"],
        weight="bold" if on and end else "normal",
        fontsize=12,
        linespacing=1.2,
    )


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str, *, on: bool) -> None:
    colour = LIGHT["best"] if on else LIGHT["line"]
    axes.annotate(
        "",
        end,
        xytext=start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2.2 if on else 1.1, "shrinkA": 1, "shrinkB": 1},
    )
    level = start[1] == end[1]
    axes.text(
        (start[0] + end[0]) / 2 if level else start[0] + 8,
        start[1] + 5 if level else (start[1] + end[1]) / 2,
        textwrap.fill(text, 8) if level else text,
        ha="center" if level else "left",
        va="bottom" if level else "center",
        fontsize=11,
        color=LIGHT["best"] if on else LIGHT["soft"],
        weight="bold" if on else "normal",
    )
