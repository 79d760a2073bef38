"""Figure 4 and its versions in the appendix: how often each check says "optimal" when majority vote is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import Model
from paper.printed import printed
from paper.verdicts import AS_IT_ANSWERS, PRINTED, PROVED, SUPPORTED, Rate, limit, margin, mean_rate, rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = ("IAA", "EBCC", "IWMV")
RULES = {  # in the order of the bars: colour and hatching
    PRINTED: (draw.RED, "//"),
    "IAA": (draw.BLUE, ""),
    "EBCC": (draw.SKY, ".."),
    "IWMV": (draw.ORANGE, ""),
    SUPPORTED: (draw.GREEN, ""),
    PROVED: ("#004d38", "\\\\"),
}
ACCURACIES = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
ITEMS_SEEN = (5_000, 10_000, 20_000, 50_000, 65_000, 100_000)
SHARE = 10  # one item in ten is used
CROSS: dict[str, Any] = {
    "color": draw.BLACK,
    "markeredgecolor": "white",
    "markersize": 7,
    "zorder": 4,
    "clip_on": False,
}
Table = dict[int, dict[str, tuple[Rate | None, Rate | None]]]


def models(nu0: float) -> list[Model]:
    """The models of the published script, except those exactly on the boundary, which are neither true nor false."""
    every = [Model(nu0, accuracy, accuracy) for accuracy in ACCURACIES]
    return [model for model in every if abs(margin(model)) > 1e-9]


def table(context: Context, nu0: float, told: Callable[[float], None]) -> Table:
    """True and false positive rates of each rule by number of items; 0 items means the limit."""
    n_sets, n_certified = (2, 1) if context.quick else (8, 8)
    seen = ITEMS_SEEN[::3] if context.quick else ITEMS_SEEN
    points = models(nu0)[:: -2 if context.quick else 1]
    holds = [margin(model) > 0 for model in points]
    found: Table = {}
    for n_items in seen:
        each = [
            rates(
                model,
                n_items // SHARE,
                context.rng("figure4", str(model), n_items),
                methods=METHODS,
                n_sets=n_sets,
                n_certified=n_certified,
            )
            for model in points
        ]
        found[n_items] = {rule: _both(holds, [one[rule] for one in each]) for rule in RULES}
        told(len(found) / len(seen))
    ends = {rule: [Rate(float(limit(model, rule)), 1) for model in points] for rule in METHODS}
    found[0] = {rule: _both(holds, each_rate) for rule, each_rate in ends.items()}
    return found


def _both(holds: list[bool], found: list[Rate]) -> tuple[Rate | None, Rate | None]:
    """The rates for models in which majority vote is optimal and for models in which it is not."""
    where = [[rate for rate, hold in zip(found, holds, strict=True) if hold is wanted] for wanted in (True, False)]
    true, false = (mean_rate(rates) if rates else None for rates in where)
    return true, false


def run(context: Context, name: str, priors: tuple[float, ...]) -> Outcome:
    """One panel and its cells for each prior."""
    tables = {}
    for at, nu0 in enumerate(priors):
        tables[nu0] = table(context, nu0, partial(_tell, context, at, len(priors)))
    size = (8.6, 4.4) if len(priors) == 1 else (12.4, 0.6 + 1.8 * len(priors))
    caption = printed(name)["caption"]
    picture = Picture(name, caption, draw.svg(size, lambda figure: _fill(figure, tables)))
    cells = [cell for nu0, found in tables.items() for cell in _cells(nu0, found)]
    if name == "figure4":
        cells += _claims(tables[0.5])
    return Outcome(cells=tuple(cells), pictures=(picture,), notes=(*printed(name)["notes"], AS_IT_ANSWERS))


def _tell(context: Context, at: int, total: int, share: float) -> None:
    context.progress((at + share) / total)


def _cells(nu0: float, found: Table) -> list[Cell]:
    cells = []
    for n_items, by_rule in found.items():
        size = f"{n_items:,} items" if n_items else "limit"
        for rule, (true, false) in by_rule.items():
            for what, rate in (("found where it holds", true), ("claimed where it fails", false)):
                if rate is not None:
                    error = rate.error if n_items else None
                    cells.append(compare(f"nu0 = {nu0:g}, {size}: {rule}, {what}", None, rate.value, error=error))
    return cells


def _claims(found: Table) -> list[Cell]:
    said = printed("figure4")["claims"]
    theorem = [by_rule[PRINTED][0] for n_items, by_rule in found.items() if n_items]
    least = min(rate.value for rate in theorem if rate is not None)
    strict = all(
        by_rule[PRINTED][0].value <= min(by_rule[method][0].value for method in METHODS)  # type: ignore[union-attr]
        for n_items, by_rule in found.items()
        if n_items
    )
    sensitive = "Theorem 3.5 achieves perfect sensitivity"
    return [
        compare(sensitive, said[sensitive], least == 1.0, errata=(44,), why=said["why"]),
        compare("Theorem 3.5 often rejects what holds", said["Theorem 3.5 often rejects what holds"], least < 1.0),
        compare("it finds less than any plug-in", said["it finds less than any plug-in"], strict),
    ]


def _fill(figure: Figure, tables: dict[float, Table]) -> None:
    columns = 1 if len(tables) == 1 else 2
    panels = figure.subplots(len(tables) // columns, columns, squeeze=False)
    for axes, (nu0, found) in zip(panels.flat, tables.items(), strict=True):
        _bars(axes, found)
        holds = sum(margin(model) > 0 for model in models(nu0))
        axes.set_title(f"$\\nu_0$ = {nu0:g}: {holds} of {len(ACCURACIES)} models are optimal")
    handles, labels = panels[0][0].get_legend_handles_labels()
    if len(tables) > 1:
        handles += panels[0][0].plot([], [], "X", **CROSS | {"clip_on": True})
        labels.append("the same check where majority is not optimal")
    figure.legend(handles, labels, loc="outside lower center", ncols=4 if len(tables) > 1 else 3, frameon=False)


def _bars(axes: Axes, found: Table) -> None:
    width = 0.8 / len(RULES)
    sizes = sorted(found, key=lambda n_items: n_items or 10**9)
    for at, (rule, (colour, hatch)) in enumerate(RULES.items()):
        label = rule if rule in (PRINTED, SUPPORTED, PROVED) else f"{rule} in place of the truth"
        shown = [(x, found[size][rule][0]) for x, size in enumerate(sizes) if rule in found[size]]
        place = [x + (at - (len(RULES) - 1) / 2) * width for x, _ in shown]
        value = [rate.value if rate else 0.0 for _, rate in shown]
        error = [rate.error if rate and sizes[x] else 0.0 for x, rate in shown]
        reach = [np.minimum(error, value), np.minimum(error, 1 - np.array(value))]
        axes.bar(place, value, width, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4, label=label)
        axes.errorbar(place, value, reach, fmt="none", ecolor="#444444", elinewidth=0.7)
        wrong = [(p, found[sizes[x]][rule][1]) for p, (x, _) in zip(place, shown, strict=True)]
        crosses = [(p, rate.value) for p, rate in wrong if rate is not None]
        if crosses:
            axes.plot(*zip(*crosses, strict=True), "X", **CROSS)
    axes.set_xticks(np.arange(len(sizes)), [f"{size // 1000}k" if size else "limit" for size in sizes])
    axes.set(xlabel="items, $N$; one in ten is used", ylabel="true positive rate", ylim=(0, 1.05))


ITEMS = (
    Item(
        "figure4",
        "Figure 4: optimality found where it holds, prior .5",
        lambda context: run(context, "figure4", (0.5,)),
    ),
    Item(
        "figure4-appendix",
        "Appendix: the same for priors .6 to .9",
        lambda context: run(context, "figure4-appendix", (0.6, 0.7, 0.8, 0.9)),
    ),
)
