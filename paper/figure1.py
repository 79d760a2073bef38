"""Figure 1: a flow chart of the conditions under which majority vote is optimal, corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper import draw
from paper.item import Context, Item, Outcome, Picture
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

CAPTION = (
    "Figure 1. When majority vote gives the label of oracle MAP on every untied vote. Questions in orange; conditions "
    "in blue are the paper's, as corrected; those in green go beyond it."
)
QUESTION, PAPER, OURS = draw.DIFFERENT, "#d6eaf5", "#cdebdf"
COLUMNS = (0.075, 0.22, 0.365, 0.51, 0.655, 0.80, 0.93)
SCORE = r"$|\log\frac{\nu_1}{\nu_0}-\frac{H}{2}\log\frac{\delta_0}{\delta_1}|<\frac{1}{2}\log\rho$"
# Where each box stands, its colour, and what it says.
BOXES = {
    "classes": (0.5, 0.94, QUESTION, "How many classes?"),
    "shared": (0.33, 0.79, QUESTION, "Do all workers share\none matrix $T$?"),
    "even": (0.865, 0.79, QUESTION, "Shared, and wrong\nlabels all alike?"),
    "same": (0.1475, 0.64, QUESTION, "Same accuracy\non both classes?"),
    "differ": (0.51, 0.64, QUESTION, "How do they differ?"),
    "3.3": (COLUMNS[0], 0.44, PAPER, "Theorem 3.3\n\nnoise < $\\nu_0$ <\n1 - noise"),
    "3.4": (COLUMNS[1], 0.44, PAPER, f"Theorem 3.4\n\n{SCORE}"),
    "sigma": (COLUMNS[2], 0.44, PAPER, "$\\sigma$ below a bound,\nin expectation\n\n(errata 6, 7)"),
    "groups": (COLUMNS[3], 0.44, PAPER, "Theorem 3.4 with\n$\\zeta_{B,A}$, if $\\rho_A=\\rho_B$\n\n(erratum 21)"),
    "crew": (COLUMNS[4], 0.44, OURS, "exact margin of the\ncrew, adversaries\nallowed"),
    "ratio": (COLUMNS[5], 0.44, PAPER, "max $\\nu$ / min $\\nu$ < $q^d$\n\n(erratum 23)"),
    "any": (COLUMNS[6], 0.44, OURS, "exact margin for\nany $T$ or crew"),
    "known": (0.5, 0.25, QUESTION, "Are $\\nu$ and $T$ known?"),
    "decided": (0.12, 0.08, PAPER, "The condition decides."),
    "plug": (0.37, 0.08, PAPER, "Estimates in their place:\nno level"),
    "3.5": (0.63, 0.08, PAPER, "Theorem 3.5, corrected:\nneeds very many items\n(erratum 16)"),
    "certificate": (0.88, 0.08, OURS, "Certificate from the votes:\nproved or supported"),
}
# from, to, what the answer is
ARROWS = (
    ("classes", "shared", "two"),
    ("classes", "even", "more"),
    ("shared", "same", "yes"),
    ("shared", "differ", "no"),
    ("same", "3.3", "yes"),
    ("same", "3.4", "no"),
    ("differ", "sigma", "evenly, by $\\sigma$"),
    ("differ", "groups", "two kinds"),
    ("differ", "crew", "anyhow"),
    ("even", "ratio", "yes"),
    ("even", "any", "no"),
    ("known", "decided", "yes"),
    ("known", "plug", "no"),
    ("known", "3.5", "no"),
    ("known", "certificate", "no"),
)
BAR = 0.325  # where the lines from all conditions meet


def run(context: Context) -> Outcome:  # noqa: ARG001
    """Draw the flow chart; nothing is computed."""
    notes = tuple(printed("figure1")["notes"])
    return Outcome(pictures=(Picture("figure1", CAPTION, draw.svg((12.0, 7.4), _fill)),), notes=notes)


def _fill(figure: Figure) -> None:
    axes = figure.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    texts = {}
    for name, (x, y, colour, text) in BOXES.items():
        box = {"boxstyle": "round,pad=0.45", "facecolor": colour, "edgecolor": draw.LINE, "linewidth": 1}
        texts[name] = axes.text(x, y, text, ha="center", va="center", fontsize=8.5, bbox=box, zorder=3)
    for start, end, answer in ARROWS:
        _arrow(axes, texts[start], texts[end], answer)
    for x in COLUMNS:
        axes.plot([x, x], [BOXES["3.3"][1], BAR], color="#555555", linewidth=1, zorder=1)
    axes.plot([COLUMNS[0], COLUMNS[-1]], [BAR, BAR], color="#555555", linewidth=1, zorder=1)
    axes.annotate("", (0.5, 0.275), (0.5, BAR), arrowprops={"arrowstyle": "-|>", "color": "#555555", "shrinkA": 0})
    figure.suptitle("Is majority vote optimal?", fontweight="bold")


def _arrow(axes: Axes, start: Text, end: Text, answer: str) -> None:
    """An arrow between boxes, drawn after them because their size must be known."""
    ends = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch(), "shrinkA": 0, "shrinkB": 1}
    (x0, y0), (x1, y1) = start.get_position(), end.get_position()
    axes.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "-|>", "color": "#555555", **ends}, zorder=5)
    place = (x0 + 0.47 * (x1 - x0), y0 + 0.47 * (y1 - y0))
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
    axes.text(*place, answer, ha="center", va="center", fontsize=8, zorder=6, bbox=box)


ITEM = Item("figure1", "Figure 1: flow chart of the conditions", run)
