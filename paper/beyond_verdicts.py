"""Beyond the paper: which ways to a verdict can be trusted, on the same data, given the true margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import VOTES, Model
from paper.printed import printed
from paper.verdicts import AS_IT_ANSWERS, MENDED, PRINTED, PROVED, SUPPORTED, Rate, rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOISES = {"symmetric noise, .75 and .75": (0.75, 0.75), "unequal noise, .65 and .85": (0.65, 0.85)}
SIZES = (2_000, 20_000)
MARGINS = (-1.0, -0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0)
METHODS = ("IAA", "IWMV", "one shared matrix")
STYLES = {  # colour, line, marker
    "IAA": (draw.BLUE, "-", "s"),
    "IWMV": (draw.ORANGE, "-", "^"),
    "one shared matrix": (draw.PURPLE, "-", "D"),
    PRINTED: (draw.RED, "--", "x"),
    MENDED: (draw.BLACK, ":", "+"),
    SUPPORTED: (draw.GREEN, "-", "o"),
    PROVED: ("#004d38", "--", "o"),
}
LEVEL_RISK = 0.05
CAPTION = (
    "How often each way says that majority vote is optimal, against the true margin, on the same data sets of three "
    "votes. The ideal is a step at 0. Left of it every 'optimal' is wrong; certificates promise at most .05 there "
    "(dotted line). A margin of .1 nats is a hair's breadth."
)
Curves = dict[str, list[Rate]]


def model_at(margin: float, accuracies: tuple[float, float]) -> Model:
    """The model with these accuracies and the requested margin, found by moving the prior of class 0."""
    a, b = accuracies
    step = np.log(a * b / ((1 - a) * (1 - b)))
    tilt = np.log(a * (1 - a) / (b * (1 - b)))
    return Model(float(expit(step / 2 - margin - VOTES / 2 * tilt)), a, b)


def run(context: Context) -> Outcome:
    """A panel for each kind of noise and number of items."""
    n_sets, n_certified = (3, 3) if context.quick else (60, 60)
    margins = MARGINS[::2] if context.quick else MARGINS
    curves: dict[tuple[str, int], Curves] = {}
    total = len(NOISES) * len(SIZES) * len(margins)
    for noise, accuracies in NOISES.items():
        for n_items in SIZES:
            found: Curves = {rule: [] for rule in STYLES}
            for margin in margins:
                rng = context.rng("beyond-verdicts", noise, n_items, str(margin))
                model = model_at(margin, accuracies)
                each = rates(
                    model,
                    n_items,
                    rng,
                    methods=METHODS,
                    theorem_on=METHODS[2:],
                    n_sets=n_sets,
                    n_certified=n_certified,
                )
                for rule, row in found.items():
                    row.append(each[rule])
                context.progress((len(curves) * len(margins) + len(found[PROVED])) / total)
            curves[noise, n_items] = found
    svg = draw.svg((11.0, 8.4), lambda figure: _fill(figure, margins, curves))
    cells = [cell for (noise, n_items), found in curves.items() for cell in _cells(noise, n_items, margins, found)]
    notes = (*printed("beyond-verdicts")["notes"], AS_IT_ANSWERS)
    return Outcome(cells=tuple(cells), pictures=(Picture("beyond-verdicts", CAPTION, svg),), notes=notes)


def _cells(noise: str, n_items: int, margins: tuple[float, ...], found: Curves) -> list[Cell]:
    cells = []
    for rule, row in found.items():
        for margin, rate in zip(margins, row, strict=True):
            if margin in (-0.25, 0.0, 0.5, 1.0, -1.0):
                key = f"{noise}, {n_items:,} items, margin {margin:+g}: {rule} says optimal"
                cells.append(compare(key, None, rate.value, error=rate.error))
    return cells


def _fill(figure: Figure, margins: tuple[float, ...], curves: dict[tuple[str, int], Curves]) -> None:
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, ((noise, n_items), found) in zip(panels.flat, curves.items(), strict=True):
        _panel(axes, margins, found)
        axes.set_title(f"{noise}: {n_items:,} items")
        axes.label_outer()
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("Whose verdict can be trusted?", fontweight="bold")


def _panel(axes: Axes, margins: tuple[float, ...], found: Curves) -> None:
    axes.axvspan(-2, 0, color=draw.DIFFERENT, alpha=0.6, linewidth=0)
    axes.axvspan(0, 2, color=draw.OPTIMAL, alpha=0.35, linewidth=0)
    axes.axhline(LEVEL_RISK, color="#444444", linestyle=":", linewidth=1)
    for rule, (colour, line, marker) in STYLES.items():
        label = f"{rule} in place of the truth" if rule in METHODS[:2] else rule
        label = "one shared matrix, likeliest" if rule == METHODS[2] else label
        axes.plot(
            margins, [rate.value for rate in found[rule]], line, color=colour, marker=marker, markersize=5, label=label
        )
    axes.set(xlabel="true margin, nats", ylabel="says 'optimal'", xlim=(-1.05, 1.05), ylim=(-0.03, 1.03))


ITEM = Item("beyond-verdicts", "Beyond the paper: whose verdict can be trusted", run)
