"""The appendix's confusion matrices: plug-in verdicts against the truth, three votes, a million items."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from majorant.values import FloatArray
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.panel import Model
from paper.printed import printed
from paper.verdicts import AS_IT_ANSWERS, SUPPORTED, margin, rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITEMS_USED = 100_000  # a tenth of a million
METHODS = ("IAA", "EBCC")
PRIORS = (0.5, 0.6, 0.65, 0.7, 0.9)
LEVELS = (0.55, 0.65, 0.75, 0.85, 0.95)
CAPTION = (
    "Appendix, confusion matrices of the plug-in check: shares of the models, three votes, a tenth of a million items "
    "used. Above: symmetric noise; below: T00 and T11 unequal. Added: our certificate (supported or proved), where "
    "'no' means 'not certified'."
)


def groups() -> dict[str, list[Model]]:
    """Models with symmetric and with asymmetric noise, none on the boundary."""
    pairs = list(product(PRIORS, LEVELS, LEVELS))
    kept = [Model(*values) for values in pairs if abs(margin(Model(*values))) > 1e-9]
    return {
        "symmetric noise": [model for model in kept if model.t00 == model.t11],
        "unequal noise": [model for model in kept if model.t00 != model.t11],
    }


def run(context: Context) -> Outcome:
    """A matrix for each rule and kind of noise: rows the truth (no, yes), columns the verdict."""
    n_sets = 1 if context.quick else 3
    chosen = {name: models[:: 7 if context.quick and len(models) > 50 else 1] for name, models in groups().items()}
    total, seen = sum(map(len, chosen.values())), 0
    matrices: dict[str, dict[str, FloatArray]] = {}
    for name, models in chosen.items():
        share_mrv = np.zeros((len(METHODS) + 1, 2, 2))
        for model in models:
            rng = context.rng("confusions", str(model))
            found = rates(model, ITEMS_USED, rng, methods=METHODS, n_sets=n_sets, n_certified=1)
            for at, rule in enumerate((*METHODS, SUPPORTED)):
                yes = found[rule].value
                share_mrv[at, int(margin(model) > 0)] += np.array([1 - yes, yes]) / len(models)
            seen += 1
            context.progress(seen / total)
        matrices[name] = dict(zip((*METHODS, SUPPORTED), share_mrv, strict=True))
    picture = Picture("confusions", CAPTION, draw.svg((9.2, 6.4), lambda figure: _fill(figure, matrices)))
    return Outcome(
        cells=tuple(_cells(matrices)), pictures=(picture,), notes=(*printed("confusions")["notes"], AS_IT_ANSWERS)
    )


def _cells(matrices: dict[str, dict[str, FloatArray]]) -> list[Cell]:
    cells, claims = [], printed("confusions")["claims"]
    right = {name: {rule: float(np.trace(m)) for rule, m in found.items()} for name, found in matrices.items()}
    for name, found in matrices.items():
        for rule, share_rv in found.items():
            errata = (31,) if rule == "IAA" and name == "unequal noise" else ()
            cells.append(compare(f"{name}, {rule}: right", None, right[name][rule]))
            cells.append(compare(f"{name}, {rule}: fails, called optimal", None, float(share_rv[0, 1]), errata=errata))
            cells.append(compare(f"{name}, {rule}: holds, not found", None, float(share_rv[1, 0]), errata=errata))
    mean = {rule: float(np.mean([one[rule] for one in right.values()])) for rule in METHODS}
    better, slight = mean["EBCC"] > mean["IAA"], mean["EBCC"] - mean["IAA"] < 0.05
    return [
        *cells,
        compare("EBCC is right more often than IAA", claims["EBCC better"], better),
        compare("EBCC makes few mistakes", claims["EBCC few mistakes"], mean["EBCC"] > 0.9, why=claims["EBCC why"]),
        compare("IAA is only slightly worse", claims["IAA slightly worse"], slight, errata=(20, 31), why=claims["why"]),
    ]


def _fill(figure: Figure, matrices: dict[str, dict[str, FloatArray]]) -> None:
    panels = figure.subplots(2, len(METHODS) + 1)
    for row, (name, found) in zip(panels, matrices.items(), strict=True):
        for axes, (rule, share_rv) in zip(row, found.items(), strict=True):
            axes.imshow(share_rv, cmap="Blues", vmin=0, vmax=1)
            for i, j in product(range(2), range(2)):
                colour = "white" if share_rv[i, j] > 0.6 else "black"
                axes.text(j, i, f"{share_rv[i, j]:.3f}", ha="center", va="center", color=colour, fontsize=12)
            axes.set_xticks([0, 1], ["no", "yes"])
            axes.set_yticks([0, 1], ["no", "yes"])
            axes.set(title=f"{rule}\n{name}", xlabel="verdict: optimal?", ylabel="truth: optimal?")


ITEM = Item("confusions", "Appendix: confusion matrices of the plug-in check", run)
