"""Figure 3f: the share of items with the same label from majority vote and oracle MAP, on eight data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from majorant.methods.known_workers import AnchorMap
from majorant.methods.majority import Majority
from majorant.votes import Votes
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import Model, vote_shares
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = 10_000
SYNTHETIC = {
    "alpha": Model(0.2, 0.7, 0.7),
    "beta": Model(0.5, 0.9, 0.9),
    "gamma": Model(0.3, 0.6, 0.75),
    "delta": Model(0.9, 0.6, 0.9),
}
REAL = ("SP", "SP_amt", "ZenCrowd_in", "D-Product")
CAPTION = (
    f"Figure 3f. Share of labels by majority vote that equal those of oracle MAP: {DRAWN:,} simulated items with three "
    "votes (exact value: line), and the real two-class sets with the confusion matrix counted on all gold labels, vote "
    "by vote. Hatched: items whose vote is tied, where majority has no label of its own."
)


class Agreement(NamedTuple):
    """Shares of the items: the same label, another label, a tied vote."""

    same: float
    other: float
    tied: float


def run(context: Context) -> Outcome:
    """Simulated and exact shares on synthetic sets, and observed shares on real sets."""
    bars: dict[str, Agreement] = {}
    cells: list[Cell] = []
    for name, model in SYNTHETIC.items():
        bars[name], cell = _synthetic(context, name, model)
        cells.append(cell)
    missing = []
    for name in REAL:
        votes = context.data(name)
        if votes is None:
            missing.append(name)
            continue
        bars[name] = agreement(votes)
        cells += _real(name, bars[name], len(votes.items))
    picture = Picture("figure3f", CAPTION, draw.svg((7.2, 4.2), lambda figure: _fill(figure, bars)))
    notes = tuple(printed("figure3f")["notes"])
    return Outcome(cells=tuple(cells), pictures=(picture,), notes=notes, missing=tuple(missing))


def _synthetic(context: Context, name: str, model: Model) -> tuple[Agreement, Cell]:
    share_rk, differ_rk = vote_shares([model])
    exact = 1.0 - float(share_rk[differ_rk].sum())
    ours = float(context.rng("figure3f", name).binomial(DRAWN, exact)) / DRAWN
    error = float(np.sqrt(exact * (1 - exact) / DRAWN))
    cell = compare(f"{name}: same label", printed("figure3f")["share"][name], ours, exact=exact, error=error)
    return Agreement(ours, 1 - ours, 0.0), cell


def agreement(votes: Votes) -> Agreement:
    """Compare majority vote with MAP, whose prior and shared confusion matrix are counted on the gold labels."""
    share_ik = Majority().fit(votes).posterior
    map_ik = AnchorMap(shared=True, smoothing=0.0).fit(votes).posterior
    tied_i = np.sort(share_ik, axis=1)[:, -1] == np.sort(share_ik, axis=1)[:, -2]
    same_i = ~tied_i & (share_ik.argmax(axis=1) == map_ik.argmax(axis=1))
    return Agreement(float(same_i.mean()), float((~same_i & ~tied_i).mean()), float(tied_i.mean()))


def _real(name: str, found: Agreement, n_items: int) -> list[Cell]:
    said = printed("figure3f")["real"][name]
    return [
        compare(f"{name}: same label on every untied item", None, found.other == 0),
        compare(f"{name}: same label on every item", said["printed"], found.same == 1.0, **_reason(said)),
        compare(f"{name}: untied items with another label", None, round(found.other * n_items)),
        compare(f"{name}: tied items", None, round(found.tied * n_items)),
    ]


def _reason(said: dict[str, Any]) -> dict[str, Any]:
    return {"errata": tuple(said["errata"]), "why": said["why"]} if "why" in said else {}


def _fill(figure: Figure, bars: dict[str, Agreement]) -> None:
    axes = figure.subplots()
    at = np.arange(len(bars))
    same, other, tied = np.array(list(bars.values())).T
    axes.bar(at, same, color=draw.BLUE, label="the same label")
    axes.bar(at, tied, bottom=same, color="#dddddd", edgecolor="#666666", hatch="///", label="tied vote")
    axes.bar(at, other, bottom=same + tied, color=draw.ORANGE, label="another label")
    for x, value in zip(at, same, strict=True):
        axes.annotate(f"{value:.3f}", (x, value), ha="center", va="top", color="white", fontsize=9, xytext=(0, -3),
                      textcoords="offset points")  # fmt: skip
    for x, model in zip(at, SYNTHETIC.values(), strict=False):
        share_rk, differ_rk = vote_shares([model])
        axes.plot([x - 0.4, x + 0.4], [1 - share_rk[differ_rk].sum()] * 2, color=draw.BLACK, linewidth=1.5)
    axes.set_xticks(at, [name.replace("ZenCrowd", "ZC") for name in bars])
    axes.set(ylabel="share of items", ylim=(0, 1), title="Does majority vote give the label of oracle MAP?")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)


ITEM = Item("figure3f", "Figure 3f: labels equal to oracle MAP", run, REAL)
