"""Workers perturbed around one confusion matrix: the printed accuracies, and how much workers may actually differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from majorant.methods.known_workers import GivenMap
from majorant.methods.majority import Majority
from majorant.simulate import simulate
from majorant.theory import majority_margin, panel_accuracy, panel_margin, perturbation_radius
from majorant.theory import paper as statements
from majorant.values import FloatArray
from paper.item import Cell, Context, Item, Outcome, compare
from paper.printed import printed
from paper.spread import binomial_error, sampled

VOTES, ITEMS_DRAWN, POOLS = 3, 10_000, 6
BOUNDARY = 1e-9  # nats: a margin below this is the boundary, up to rounding
SHAPE = np.array([[-1.0, 1.0], [1.0, -1.0]])
ERRATA = {(0.6, 0.6, 0.9): (8, 37), (0.6, 0.6, 0.6): (9, 37)}
NOTE = (
    "Workers are drawn with the sigma of the published code (errata 5 and 37). The mended bound of the paper and the "
    "exact radius say how far workers may differ while majority vote stays optimal, whatever they do."
)


def run(context: Context) -> Outcome:
    """Every row: the mark, both accuracies, and four values of sigma."""
    draws = 1 if context.quick else 5
    cells = [cell for row in printed("perturbed")["rows"] for cell in _cells(row, draws, context)]
    return Outcome(cells=tuple(cells), notes=(NOTE,))


def _cells(row: dict[str, Any], draws: int, context: Context) -> Iterator[Cell]:
    a, b, nu0 = row["T00"], row["T11"], row["nu0"]
    key = f"T00 = {a:g}, T11 = {b:g}, nu0 = {nu0:g}"
    prior, confusion = np.array([nu0, 1 - nu0]), np.array([[a, 1 - a], [1 - b, b]])
    sigma = abs(statements.perturbed_sigma_code(prior, confusion, VOTES))
    holds = majority_margin(prior, confusion, VOTES) > BOUNDARY
    yield compare(f"{key}, satisfied", row["satisfied"], holds, exact=holds, errata=ERRATA.get((a, b, nu0), ()))
    runs = [_six_pools(prior, confusion, sigma, context.rng(key, draw)) for draw in range(draws)]
    for column, rule in enumerate(("oMAP", "MV")):
        exact = expected_accuracy(prior, confusion, sigma, {"oMAP": "map", "MV": "majority"}[rule])
        drawn = [one[column] for one in runs]
        noise = binomial_error(drawn[0] if exact is None else exact, ITEMS_DRAWN)
        yield sampled(f"{key}, {rule}", row[rule], drawn, exact=exact, digits=4, least_error=noise)
    yield compare(f"{key}, share of drawn pools where majority is optimal", None, float(np.mean([r[2] for r in runs])))
    for name, value in {
        "sigma of the code": sigma,
        "sigma as printed": statements.perturbed_sigma_printed(prior, confusion, VOTES),
        "sigma, mended": statements.perturbed_sigma_mended(prior, confusion, VOTES),
        "exact radius": perturbation_radius(prior, confusion, VOTES),
    }.items():
        yield compare(f"{key}, {name}", None, value, exact=value)


def _six_pools(prior: FloatArray, confusion: FloatArray, sigma: float, rng: np.random.Generator) -> FloatArray:
    """Mean accuracy of oMAP and MV over six pools, and the share of pools for which majority vote is optimal."""
    result = []
    for _ in range(POOLS):
        confusions = confusion + rng.uniform(-sigma, sigma, VOTES)[:, None, None] * SHAPE
        votes, truth = simulate(prior, confusions, ITEMS_DRAWN, VOTES, rng=rng)
        labels = [rule.fit(votes).codes("first") for rule in (GivenMap(confusion=confusions, prior=prior), Majority())]
        result.append([*(np.mean(code_i == truth) for code_i in labels), panel_margin(prior, confusions) > BOUNDARY])
    return np.asarray(np.mean(np.array(result, dtype=float), axis=0))


def expected_accuracy(prior: FloatArray, confusion: FloatArray, sigma: float, rule: str) -> float | None:
    """The accuracy of a rule, averaged over all pools; None if the optimal rule depends on the pool.

    If a rule's decisions do not depend on the pool, its accuracy is linear in each worker's shift, so two nodes per
    worker integrate it exactly.  Log-odds are monotone in each shift, so it is enough to check the corners.
    """
    corners = [confusion + np.array(signs)[:, None, None] * sigma * SHAPE for signs in product((-1, 1), repeat=VOTES)]
    if rule == "map" and len({tuple(_decisions(prior, pool)) for pool in corners}) > 1:
        return None
    inner = [confusion + (pool - confusion) / np.sqrt(3) for pool in corners]
    return float(np.mean([panel_accuracy(prior, pool, rule=rule) for pool in inner]))


def _decisions(prior: FloatArray, confusions: FloatArray) -> list[int]:
    """The optimal label for every vote pattern."""
    workers = np.arange(VOTES)
    joint = [prior * confusions[workers, :, list(said)].prod(axis=0) for said in product((0, 1), repeat=VOTES)]
    return [int(joint_k[1] > joint_k[0]) for joint_k in joint]


ITEM = Item("perturbed", "Workers perturbed around one confusion matrix", run)
