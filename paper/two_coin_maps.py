"""The appendix's heat maps: the accuracy gap over (T00, T11), for nine priors and three votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from majorant.theory import gap
from majorant.values import FloatArray
from paper import draw
from paper.figure2 import PRIORS
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import VOTES, Model, simulated_gap
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 100_000
TOP = 0.42
POINTS = (
    Model(0.2, 0.7, 0.7),
    Model(0.5, 0.9, 0.9),
    Model(0.3, 0.6, 0.75),
    Model(0.9, 0.6, 0.9),
    Model(0.3, 0.95, 0.6),
    Model(0.5, 0.95, 0.6),
    Model(0.7, 0.6, 0.6),
)
CAPTION = (
    "Appendix, heat maps of the two-coin case. Accuracy of oracle MAP minus that of majority vote, exact, three votes, "
    "for each prior of class 0. White: majority is optimal."
)


def run(context: Context) -> Outcome:
    """Exact gaps on grids, and simulated ones at some points."""
    axis = np.linspace(0.5, 0.999, 21 if context.quick else 51)
    maps = []
    for at, nu0 in enumerate(PRIORS[:5]):  # the others are mirror images: classes change names
        maps.append(np.array([[_gap(Model(nu0, t00, t11)) for t00 in axis] for t11 in axis]))
        context.progress((at + 1) / 5)
    maps += [gap_yx.T for gap_yx in reversed(maps[:4])]
    picture = Picture("two-coin-maps", CAPTION, draw.svg((8.8, 8.6), lambda figure: _fill(figure, axis, maps)))
    cells = [_cell(context, model) for model in POINTS]
    cells += [compare(f"largest gap, nu0 = {p:g}", None, float(m.max())) for p, m in zip(PRIORS, maps, strict=True)]
    return Outcome(cells=tuple(cells), pictures=(picture,), notes=tuple(printed("two-coin-maps")["notes"]))


def _gap(model: Model) -> float:
    return gap(model.prior, model.confusion, VOTES)


def _cell(context: Context, model: Model) -> Cell:
    value, error = simulated_gap(model, DRAWN, context.rng("two-coin-maps", str(model)))
    key = f"gap at nu0 = {model.nu0:g}, T00 = {model.t00:g}, T11 = {model.t11:g}"
    return compare(key, None, value, exact=_gap(model), error=error)


def _fill(figure: Figure, axis: FloatArray, maps: list[FloatArray]) -> None:
    panels = figure.subplots(3, 3, sharex=True, sharey=True)
    for axes, gap_yx, nu0 in zip(panels.flat, maps, PRIORS, strict=True):
        image = draw.heat(axes, axis, axis, gap_yx, top=TOP)
        axes.set(title=f"$\\nu_0$ = {nu0:g}", xlabel="$T_{00}$", ylabel="$T_{11}$", aspect="equal")
        axes.label_outer()
    figure.colorbar(image, ax=panels, label="accuracy given away", shrink=0.6)
    figure.suptitle("What majority vote gives away: three votes", fontweight="bold")


ITEM = Item("two-coin-maps", "Appendix: two-coin heat maps of the gap", run)
