"""Two categories of workers: exact accuracies for the numbers of workers in the caption and in the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from majorant.methods import Estimator
from majorant.methods.known_workers import GivenMap
from majorant.methods.majority import Majority
from majorant.simulate import simulate
from majorant.theory import panel_accuracy, panel_margin
from majorant.values import FloatArray
from paper.item import Cell, Context, Item, Outcome, compare
from paper.printed import printed
from paper.spread import binomial_error, sampled

ITEMS_DRAWN = 10_000
SIZES = {"caption": (3, 4), "code": (4, 3)}


def run(context: Context) -> Outcome:
    """Exact accuracies and draws, for both readings of |A| and |B|."""
    draws = 2 if context.quick else 10
    cells = [
        cell
        for number, row in enumerate(printed("categories")["rows"], 1)
        for source, sizes in SIZES.items()
        for cell in _cells(f"row {number}, |A| = {sizes[0]}, |B| = {sizes[1]}", row, source, draws, context)
    ]
    return Outcome(cells=tuple(cells), notes=(NOTE,))


NOTE = (
    "The caption says |A| = 3 and |B| = 4. The accuracies are those of 4 and 3, as in the code: each within 1.5 "
    "standard errors there, up to 13.5 away otherwise. The check marks are right for both."
)


def crew(row: dict[str, Any], sizes: tuple[int, int]) -> tuple[list[float], FloatArray]:
    """The prior, and the confusion matrices of the workers, first A, then B."""
    each = {group: [[a, 1 - a], [1 - b, b]] for group, (a, b) in (("A", row["A"]), ("B", row["B"]))}
    prior = [row["nu0"], 1 - row["nu0"]]
    return prior, np.array([each["A"]] * sizes[0] + [each["B"]] * sizes[1])


def _cells(key: str, row: dict[str, Any], source: str, draws: int, context: Context) -> Iterator[Cell]:
    prior, confusions = crew(row, SIZES[source])
    margin = panel_margin(prior, confusions)
    yield compare(f"{key}, satisfied", row["satisfied"], margin > 0, exact=margin > 0)
    rules: dict[str, Estimator] = {"oMAP": GivenMap(confusion=confusions, prior=prior), "MV": Majority()}
    runs: dict[str, list[float]] = {rule: [] for rule in rules}
    for draw in range(draws):
        votes, truth = simulate(prior, confusions, ITEMS_DRAWN, len(confusions), rng=context.rng(key, draw))
        for rule, estimator in rules.items():
            runs[rule].append(float(np.mean(estimator.fit(votes).codes("first") == truth)))
    for rule, name in (("oMAP", "map"), ("MV", "majority")):
        exact = panel_accuracy(prior, confusions, rule=name)
        noise = binomial_error(exact, ITEMS_DRAWN)
        errata = (22,) if source == "caption" else ()
        yield sampled(f"{key}, {rule}", row[rule], runs[rule], exact=exact, digits=4, least_error=noise, errata=errata)


ITEM = Item("categories", "Two categories of workers", run)
