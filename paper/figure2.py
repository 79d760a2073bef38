"""Figure 2: where majority vote is optimal over (T00, T11), for nine priors and three votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from majorant.theory import accuracy_region
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from majorant.theory import Region

VOTES = 3
PRIORS = tuple(tenths / 10 for tenths in range(1, 10))
CAPTION = (
    "Figure 2. Three votes on an item. Majority vote is the optimal rule in the blue part, for each prior of class 0; "
    "the optimal rule differs from it on some votes elsewhere. Exact, from Theorem 3.4. Dotted: equal accuracies."
)


def run(context: Context) -> Outcome:
    """Exact regions by Theorem 3.4."""
    grid = 201 if context.quick else 601
    regions = [accuracy_region([nu0, 1 - nu0], VOTES, grid=grid) for nu0 in PRIORS]
    picture = Picture("figure2", CAPTION, draw.svg((8.4, 9.2), lambda figure: _fill(figure, regions)))
    return Outcome(cells=tuple(_cells(regions)), pictures=(picture,), notes=tuple(printed("figure2")["notes"]))


def _cells(regions: list[Region]) -> list[Cell]:
    """The shares of the plotted square that are optimal, and the claims in the text."""
    share_p = [float((region.margin_yx[_half(region)] > 0).mean()) for region in regions]
    claims = printed("figure2")["claims"]
    largest = PRIORS[int(np.argmax(share_p))]
    falls = bool((np.diff(share_p[4:]) < 0).all() and (np.diff(share_p[:5]) > 0).all())
    return [
        compare("prior with the largest region", claims["largest at"], largest),
        compare("shrinks away from it", claims["shrinks away"], falls),
        *(compare(f"optimal share of the square, nu0 = {p:g}", None, s) for p, s in zip(PRIORS, share_p, strict=True)),
    ]


def _half(region: Region) -> tuple[slice, slice]:
    """The part of a region where both accuracies exceed 1/2, which the paper plots."""
    first = len(region.x_j) // 2 + 1
    return slice(first, None), slice(first, None)


def _fill(figure: Figure, regions: list[Region]) -> None:
    panels = figure.subplots(3, 3, sharex=True, sharey=True)
    for axes, region, nu0 in zip(panels.flat, regions, PRIORS, strict=True):
        draw.region(axes, region.x_j, region.y_i, region.margin_yx)
        axes.plot([0.5, 1], [0.5, 1], ":", color="#444444", linewidth=1)
        axes.set(title=f"$\\nu_0$ = {nu0:g}", xlim=(0.5, 1), ylim=(0.5, 1), aspect="equal")
        axes.set(xlabel="accuracy on class 0, $T_{00}$", ylabel="accuracy on class 1, $T_{11}$")
        axes.label_outer()
    figure.suptitle("Where majority vote is optimal: three votes", fontweight="bold")
    figure.legend(handles=draw.region_legend(), loc="outside lower center", ncols=2, frameon=False)


ITEM = Item("figure2", "Figure 2: two-coin regions", run)
