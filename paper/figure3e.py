"""Figure 3e: the accuracy gap of majority vote as votes are added, for four settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import binom

from majorant.theory import gap, majority_margin, majority_margins
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 100_000  # items behind each simulated point
VOTES = tuple(range(1, 100, 2))
SIMULATED = (3, 11, 31, 51, 71, 99)
SIZES = (3, 5, 7, 11, 21, 51)
CAPTION = (
    "Figure 3e. Accuracy of oracle MAP minus that of majority vote against the number of votes: exact (lines) and on "
    f"{DRAWN:,} simulated items (dots, with two standard errors). Only the second setting satisfies Theorem 3.3."
)


class Setting(NamedTuple):
    """One curve: accuracy on both classes and prior of class 0, as in the published notebook."""

    accuracy: float
    nu0: float

    @property
    def prior(self) -> list[float]:
        return [self.nu0, 1 - self.nu0]

    @property
    def confusion(self) -> list[list[float]]:
        return [[self.accuracy, 1 - self.accuracy], [1 - self.accuracy, self.accuracy]]

    @property
    def name(self) -> str:
        return f"accuracy {self.accuracy:g}, prior {self.nu0:g}"


SETTINGS = (Setting(0.7, 0.9), Setting(0.95, 0.5), Setting(0.53, 0.3), Setting(0.55, 0.1))
COLOURS = (draw.BLUE, draw.ORANGE, draw.GREEN, draw.PURPLE)


def run(context: Context) -> Outcome:
    """Exact curves, simulated points, and the size of the region."""
    curves = [[gap(one.prior, one.confusion, h) for h in VOTES] for one in SETTINGS]
    dots = [[simulated(one, h, context.rng("figure3e", one.name, h)) for h in SIMULATED] for one in SETTINGS]
    picture = Picture("figure3e", CAPTION, draw.svg((6.4, 4.6), lambda figure: _fill(figure, curves, dots)))
    cells = [*_claims(curves), *_points(curves, dots), *_volumes(context)]
    return Outcome(cells=tuple(cells), pictures=(picture,), notes=tuple(printed("figure3e")["notes"]))


def simulated(one: Setting, n_votes: int, rng: np.random.Generator) -> tuple[float, float]:
    """The gap between MAP and majority vote on the same simulated items, and its standard error."""
    zeros_k = np.arange(n_votes + 1)
    joint_ck = np.stack(
        [p * binom.pmf(zeros_k, n_votes, row[0]) for p, row in zip(one.prior, one.confusion, strict=True)]
    )
    items_ck = rng.multinomial(DRAWN, joint_ck.ravel() / joint_ck.sum()).reshape(joint_ck.shape)
    lead_k = (items_ck[0] - items_ck[1]) * np.where(joint_ck[0] > joint_ck[1], 1, -1)  # right by MAP minus wrong by it
    differ_k = (joint_ck[0] > joint_ck[1]) != (zeros_k > n_votes / 2)
    mean = lead_k[differ_k].sum() / DRAWN
    return float(mean), float(np.sqrt((items_ck[:, differ_k].sum() / DRAWN - mean**2) / DRAWN))


def _claims(curves: list[list[float]]) -> list[Cell]:
    claims = printed("figure3e")["claims"]
    holds = [majority_margin(one.prior, one.confusion, 3) > 0 for one in SETTINGS]
    falls = all(np.diff(curve).max() <= 1e-12 for curve in curves)
    late = [gap(one.prior, one.confusion, 100_001) for one in SETTINGS]
    return [
        compare("settings that satisfy Theorem 3.3", claims["settings that satisfy"], sum(holds)),
        compare("its gap is 0 at every number of votes", True, max(curves[holds.index(True)]) == 0),
        compare("every gap falls as votes are added", claims["gap falls"], bool(falls), why=claims["gap falls why"]),
        compare("every gap vanishes in the end", claims["gap vanishes"], max(late) < 1e-9),
    ]


def _points(curves: list[list[float]], dots: list[list[tuple[float, float]]]) -> list[Cell]:
    return [
        compare(f"{one.name}: gap with {h} votes", None, value, exact=curve[VOTES.index(h)], error=error)
        for one, curve, row in zip(SETTINGS, curves, dots, strict=True)
        for h, (value, error) in zip(SIMULATED, row, strict=True)
    ]


def _volumes(context: Context) -> list[Cell]:
    """The share of (prior, T00, T11), T00 and T11 above 1/2, with majority optimal: does it grow with votes?"""
    n_points = 40 if context.quick else 80
    middle = (np.arange(n_points) + 0.5) / n_points
    nu, t00, t11 = (grid.ravel() for grid in np.meshgrid(middle, 0.5 + middle / 2, 0.5 + middle / 2))
    prior = np.stack([nu, 1 - nu], axis=-1)
    confusion = np.stack([np.stack([t00, 1 - t00], axis=-1), np.stack([1 - t11, t11], axis=-1)], axis=-2)
    volume = [float((majority_margins(prior, confusion, h) > 0).mean()) for h in SIZES]
    claim = printed("figure3e")["claims"]["region grows with the pool"]
    grows = bool((np.diff(volume) > 0).any())
    return [
        compare(
            "the optimal region grows with the pool", claim, grows, errata=(13,), why="It shrinks; the gap vanishes."
        ),
        *(compare(f"volume of the optimal region, {h} votes", None, v) for h, v in zip(SIZES, volume, strict=True)),
    ]


def _fill(figure: Figure, curves: list[list[float]], dots: list[list[tuple[float, float]]]) -> None:
    axes = figure.subplots()
    for one, curve, row, colour in zip(SETTINGS, curves, dots, COLOURS, strict=True):
        value, error = zip(*row, strict=True)
        axes.plot(VOTES, curve, color=colour, linewidth=1.6, label=one.name)
        axes.errorbar(SIMULATED, value, 2 * np.array(error), fmt="o", markersize=4, color=colour, capsize=2)
    axes.set(xlabel="votes on an item, $H$", ylabel="accuracy given away", xlim=(0, 100), ylim=(-0.01, None))
    axes.set_title("What majority vote gives away as votes are added")
    axes.legend(frameon=False)


ITEM = Item("figure3e", "Figure 3e: the gap against the number of votes", run)
