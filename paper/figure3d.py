"""Figure 3d: the accuracy gap of majority vote over noise and prior, for three votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from majorant.theory import gap
from majorant.values import FloatArray
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import VOTES, Model, simulated_gap
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 100_000  # items of a simulated cell
POINTS = ((0.3, 0.2), (0.45, 0.1), (0.4, 0.9), (0.49, 0.99), (0.1, 0.05), (0.2, 0.5))  # noise, prior
CAPTION = (
    "Figure 3d. Accuracy of oracle MAP minus that of majority vote, exact, three votes. White: majority is optimal. "
    "The line is Theorem 3.3."
)


def run(context: Context) -> Outcome:
    """Exact gaps on a grid, and simulated ones at some points."""
    n_points = 41 if context.quick else 101
    noise_j, nu_i = np.linspace(0.002, 0.498, n_points), np.linspace(0.004, 0.996, n_points)
    gap_ij = np.array([[_gap(nu, noise) for noise in noise_j] for nu in nu_i])
    picture = Picture("figure3d", CAPTION, draw.svg((5.6, 4.6), lambda figure: _fill(figure, noise_j, nu_i, gap_ij)))
    cells = [_cell(context, noise, nu) for noise, nu in POINTS]
    at_i, at_j = np.unravel_index(gap_ij.argmax(), gap_ij.shape)
    corner = bool(noise_j[at_j] > 0.45 and min(nu_i[at_i], 1 - nu_i[at_i]) < 0.05)
    claim = printed("figure3d")["claims"]["largest in the corners to the right"]
    cells.append(compare("largest in the corners to the right", claim, corner))
    cells.append(compare("largest gap on the grid", None, float(gap_ij.max())))
    return Outcome(cells=tuple(cells), pictures=(picture,), notes=tuple(printed("figure3d")["notes"]))


def _gap(nu: float, noise: float) -> float:
    return gap([nu, 1 - nu], [[1 - noise, noise], [noise, 1 - noise]], VOTES)


def _cell(context: Context, noise: float, nu: float) -> Cell:
    value, error = simulated_gap(Model(nu, 1 - noise, 1 - noise), DRAWN, context.rng("figure3d", str(noise), str(nu)))
    return compare(f"gap at noise {noise:g}, prior {nu:g}", None, value, exact=_gap(nu, noise), error=error)


def _fill(figure: Figure, noise_j: FloatArray, nu_i: FloatArray, gap_ij: FloatArray) -> None:
    axes = figure.subplots()
    figure.colorbar(draw.heat(axes, noise_j, nu_i, gap_ij, top=0.5), ax=axes, label="accuracy given away")
    axes.plot([0, 0.5, 0], [0, 0.5, 1], color=draw.LINE, linewidth=1.2)
    axes.set(
        xlabel="noise, $1 - T_{cc}$",
        ylabel="prior of class 0, $\\nu_0$",
        title="What majority vote gives away: 3 votes",
    )


ITEM = Item("figure3d", "Figure 3d: heat map of the gap", run)
