"""Figure 3, a to c: the one-coin region with true parameters, and with those that IWMV and IAA estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from majorant.theory import majority_margins
from majorant.values import FloatArray
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import (
    VOTES,
    Estimate,
    Model,
    draw_patterns,
    estimate,
    optimal_at,
    pattern_shares,
    vote_shares,
)
from paper.printed import printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Verdicts = NDArray[np.bool_]
DRAWN, ESTIMATED = 10_000, (100, 10_000)  # items on each point; the notebook estimates from 100
MANY = 1e9  # items: the limit of an estimate, from the exact shares of the patterns


def grid(context: Context) -> tuple[FloatArray, FloatArray]:
    """Noise (x) and prior (y) at the centres of cells, off the boundary, where rounding would decide."""
    n_points = 20 if context.quick else 50
    return (np.arange(n_points) + 0.51) / (2 * n_points), (np.arange(n_points) + 0.5) / n_points


def models(noise_j: FloatArray, nu_i: FloatArray) -> list[Model]:
    """The models of the grid, row by row."""
    return [Model(float(nu), float(1 - noise), float(1 - noise)) for nu in nu_i for noise in noise_j]


def truly_optimal(points: list[Model]) -> Verdicts:
    """Theorem 3.4 with the true parameters."""
    prior_rk, confusion_rkl = np.array([p.prior for p in points]), np.array([p.confusion for p in points])
    return np.asarray(majority_margins(prior_rk, confusion_rkl, VOTES) > 0)


def run_true(context: Context) -> Outcome:
    """3a: both rules on the same simulated votes, compared with Theorem 3.3."""
    noise_j, nu_i = grid(context)
    points = models(noise_j, nu_i)
    truth_r = truly_optimal(points)
    share_rk, differ_rk = vote_shares(points)
    drawn_rk = context.rng("figure3a").multinomial(DRAWN, share_rk)
    same_r = (drawn_rk * differ_rk).sum(axis=1) == 0
    chance_r = (1 - (share_rk * differ_rk).sum(axis=1)) ** DRAWN  # of no difference among the items drawn
    claim = printed("figure3a")["claims"]["simulation reflects the theorem"]
    error = float(np.sqrt((chance_r * (1 - chance_r)).sum())) / len(points)
    cells = (
        compare(
            "share of points where no label differs",
            None,
            float(same_r.mean()),
            exact=float(chance_r.mean()),
            error=error,
        ),
        compare("share of points where Theorem 3.3 holds", None, float(truth_r.mean())),
        compare("no label differs wherever Theorem 3.3 holds", claim, bool(same_r[truth_r].all())),
        compare("points where it fails unseen", None, int((same_r & ~truth_r).sum())),
    )
    caption = (
        f"Figure 3a. Three votes, {DRAWN:,} items on each point: blue where majority and oracle MAP give all of "
        "them the same label. The line is Theorem 3.3, noise < prior < 1 - noise."
    )
    panels = {f"true parameters, {DRAWN:,} items": same_r}
    return Outcome(
        cells=cells, pictures=(_picture("figure3a", caption, noise_j, nu_i, panels),), notes=_notes("figure3a")
    )


def run_estimated(context: Context, name: str, method: str) -> Outcome:
    """3b and 3c: Theorem 3.4 with parameters estimated from few items, from many items, and in the limit."""
    noise_j, nu_i = grid(context)
    points = models(noise_j, nu_i)
    truth_r, panels = truly_optimal(points), {}
    for step, n_items in enumerate((*ESTIMATED, None)):
        title = "the limit of many items" if n_items is None else f"{n_items:,} items"
        panels[title] = plug_in_verdicts(context, method, points, n_items)
        context.progress((step + 1) / 3)
    caption = (
        f"Figure {name[-2:]}. The same with the parameters that {method} estimates: blue where Theorem 3.4 holds at "
        "the estimate. The line is the truth. The paper has the first panel; the last is where many items lead."
    )
    cells = [cell for panel, says_r in panels.items() for cell in _errors(method, panel, says_r, truth_r)]
    if method == "IAA":
        other_r = plug_in_verdicts(context, "IWMV", points, ESTIMATED[0])
        more = bool(next(iter(panels.values()))[~truth_r].sum() > other_r[~truth_r].sum())
        claim = printed(name)["claims"]["IAA calls more points optimal that are not than IWMV does"]
        cells.append(compare("IAA calls more points optimal that are not than IWMV does", claim, more))
    return Outcome(cells=tuple(cells), pictures=(_picture(name, caption, noise_j, nu_i, panels),), notes=_notes(name))


def plug_in_verdicts(context: Context, method: str, points: list[Model], n_items: int | None) -> Verdicts:
    """Whether majority vote is optimal at the estimate from this many items (None: in the limit), for each point."""
    rng = context.rng("figure3bc", method, n_items or 0)
    found = []
    for point in points:
        items_p = MANY * pattern_shares(point) if n_items is None else draw_patterns(point, n_items, rng, 1)[0]
        found.append(_as_published(method, estimate(method, items_p), point))
    return optimal_at(found)


def _as_published(method: str, found: Estimate, point: Model) -> Estimate:
    """As in the notebook: IWMV gets the true prior, and IAA uses the label shares as its prior."""
    return found._replace(prior_k=np.array(point.prior)) if method == "IWMV" else found


def _errors(method: str, panel: str, says_r: Verdicts, truth_r: Verdicts) -> list[Cell]:
    called, missed = float(says_r[~truth_r].mean()), float((~says_r[truth_r]).mean())
    errata = (20,) if method == "IAA" else ()
    why = "Label shares, taken for the prior, lie nearer to 1/2." if method == "IAA" else "IWMV flatters its workers."
    return [
        compare(f"{panel}: not optimal, called optimal", None, called, errata=errata, why=why),
        compare(f"{panel}: optimal, called not optimal", None, missed),
    ]


def _notes(name: str) -> tuple[str, ...]:
    return tuple(printed(name)["notes"])


def _picture(name: str, caption: str, noise_j: FloatArray, nu_i: FloatArray, panels: dict[str, Verdicts]) -> Picture:
    def fill(figure: Figure) -> None:
        for axes, (title, says_r) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            _fill(axes, title, noise_j, nu_i, says_r)
        figure.legend(handles=draw.region_legend(), loc="outside lower center", ncols=1, frameon=False)

    return Picture(name, caption, draw.svg((0.6 + 3.3 * len(panels), 4.6), fill))


def _fill(axes: Axes, title: str, noise_j: FloatArray, nu_i: FloatArray, says_r: Verdicts) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([draw.DIFFERENT, draw.OPTIMAL])
    says_ij = says_r.reshape(len(nu_i), len(noise_j)).astype(float)
    axes.imshow(says_ij, origin="lower", extent=(0, 0.5, 0, 1), aspect="auto", cmap=colours, vmin=0, vmax=1)
    axes.plot([0, 0.5, 0], [0, 0.5, 1], color=draw.LINE, linewidth=1.5)
    axes.set(title=title, xlabel="noise, $1 - T_{cc}$", ylabel="prior of class 0, $\\nu_0$", xlim=(0, 0.5), ylim=(0, 1))


ITEMS = (
    Item("figure3a", "Figure 3a: one-coin region, true parameters", run_true),
    Item("figure3b", "Figure 3b: one-coin region, IWMV", lambda context: run_estimated(context, "figure3b", "IWMV")),
    Item("figure3c", "Figure 3c: one-coin region, IAA", lambda context: run_estimated(context, "figure3c", "IAA")),
)
