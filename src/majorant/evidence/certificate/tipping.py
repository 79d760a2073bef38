"""What would overturn the verdict for two classes: correlated votes, or another class share or accuracy.

Correlated votes are beta-binomial given the class: a vote is right with a probability that varies from item to item, so
two votes on an item have correlation rho given its class. Votes do not identify rho (with three votes per item, any
rho fits), so it is not estimated; the model is refitted for every rho, and the smallest one that changes the verdict is
the tipping point. The other tipping points leave the votes independent and change one number of the model at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, expit, logit

from majorant.evidence.certificate.count_models import HistogramCells
from majorant.evidence.certificate.optimality import Quantity, Tipping, TippingPoint
from majorant.theory.margin import majority_margins
from majorant.values import FloatArray

MOST_CORRELATED = 0.5  # correlations beyond are not searched; on public crowds they are -.01 to .32 by gold labels


class Counted(NamedTuple):
    """Counts of votes for two classes, and the numbers of votes that decide the verdict."""

    cells: HistogramCells
    items_c: FloatArray
    sizes: Sequence[int]


def find_tipping(counted: Counted, theta_3: FloatArray, labels: Sequence[object]) -> Tipping:
    """Everything that would overturn the verdict at the fitted model.

    >>> from majorant.evidence.certificate.count_models import flatten
    >>> cells, items_c = flatten({3: [520, 480, 480, 520]})
    >>> model_3 = np.array([np.log(4), -np.log(4), 0.0])
    >>> found = find_tipping(Counted(cells, items_c, [3]), model_3, ("no", "yes"))
    >>> found.correlation, [(point.quantity, round(point.limit, 2)) for point in found.points[:1]]
    (None, [(<Quantity.ACCURACY: 'accuracy'>, 0.97)])
    """
    correlation = tipping_correlation(counted, theta_3)
    return Tipping(
        correlation=correlation, searched=MOST_CORRELATED, points=tuple(_tipping_points(counted.sizes, theta_3, labels))
    )


def tipping_correlation(counted: Counted, theta_3: FloatArray) -> float | None:
    """The smallest correlation at which the refitted model changes the verdict; None if none does."""
    start_3, low = np.clip(theta_3, -12, 12), 0.0
    is_optimal = correlated_margin(start_3, 0.0, counted.sizes) > 0
    for rho in np.arange(0.02, MOST_CORRELATED + 1e-9, 0.02):
        fitted_3 = fit_correlated(counted, float(rho), start_3)
        if (correlated_margin(fitted_3, float(rho), counted.sizes) > 0) != is_optimal:
            break
        low, start_3 = float(rho), fitted_3
    else:
        return None
    high = float(rho)
    for _ in range(5):
        middle = (low + high) / 2
        fitted_3 = fit_correlated(counted, middle, start_3)
        changed = (correlated_margin(fitted_3, middle, counted.sizes) > 0) != is_optimal
        low, high = (low, middle) if changed else (middle, high)
    return high


def fit_correlated(counted: Counted, rho: float, start_3: FloatArray) -> FloatArray:
    """The most likely logits of a, r <= a and nu near a start, if votes on an item have correlation rho."""
    from scipy.optimize import minimize

    cells, items_c = counted.cells, counted.items_c
    total = items_c.sum()

    def surprise(theta_3: FloatArray) -> float:
        log0_c, log1_c = _class_logs(cells, theta_3, rho)
        penalty = 1e-8 * float(theta_3 @ theta_3) + max(0.0, float(theta_3[1] - theta_3[0]))
        return float(penalty - items_c @ np.logaddexp(log0_c, log1_c) / total)

    return np.asarray(minimize(surprise, start_3, method="BFGS", options={"gtol": 1e-6, "maxiter": 60}).x)


def correlated_margin(theta_3: FloatArray, rho: float, sizes: Sequence[int]) -> float:
    """The smallest log-odds of majority's class over all untied counts of these numbers of votes."""
    least = np.inf
    for h in sizes:
        zeros_c = np.arange(h + 1.0)
        log0_c, log1_c = _class_logs(HistogramCells(np.full(h + 1, float(h)), zeros_c), theta_3, rho)
        lead_c = (log0_c - log1_c) * np.sign(2 * zeros_c - h)
        least = min(least, float(lead_c[2 * zeros_c != h].min()))
    return least


def _class_logs(cells: HistogramCells, theta_3: FloatArray, rho: float) -> tuple[FloatArray, FloatArray]:
    """Log P(class, one order of the votes) for both classes; beta-binomial with correlation rho."""
    ones_c = cells.votes_c - cells.zeros_c
    chance_u = expit(np.clip(theta_3, -30, 30))
    logs = []
    for chance, share in ((chance_u[0], chance_u[2]), (chance_u[1], 1 - chance_u[2])):
        if rho == 0:
            given_c = cells.zeros_c * np.log(chance) + ones_c * np.log1p(-chance)
        else:
            strength = 1 / rho - 1
            right, wrong = max(strength * chance, 1e-12), max(strength * (1 - chance), 1e-12)
            given_c = betaln(cells.zeros_c + right, ones_c + wrong) - betaln(right, wrong)
        logs.append(np.log(max(share, 1e-300)) + given_c)
    return logs[0], logs[1]


def _tipping_points(sizes: Sequence[int], theta_3: FloatArray, labels: Sequence[object]) -> list[TippingPoint]:
    """The nearest share of class 0 and accuracy on each class that change the verdict, the smallest change first."""
    a, r, nu = expit(np.clip(theta_3, -30, 30))
    model = np.array([nu, a, 1 - r])
    names = ((Quantity.SHARE, labels[0]), (Quantity.ACCURACY, labels[0]), (Quantity.ACCURACY, labels[1]))
    is_optimal = _margins(model[None], sizes)[0] > 0
    found = []
    for u, (quantity, label) in enumerate(names):
        tried_t = np.unique(
            np.concatenate([np.arange(1, 1000) / 1000, expit(logit(model[u]) + np.linspace(-1, 1, 201))])
        )
        model_t3 = np.tile(model, (len(tried_t), 1))
        model_t3[:, u] = tried_t
        changed_t = (_margins(model_t3, sizes) > 0) != is_optimal
        if changed_t.any():
            limit = tried_t[changed_t][np.abs(tried_t[changed_t] - model[u]).argmin()]
            found.append(TippingPoint(quantity=quantity, label=label, value=float(model[u]), limit=float(limit)))
    return sorted(found, key=lambda point: abs(point.limit - point.value))


def _margins(model_t3: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """The smallest margin over the numbers of votes of models (share of class 0, accuracy on 0, on 1)."""
    nu, a, b = model_t3.T
    prior = np.stack([nu, 1 - nu], axis=-1)
    confusion = np.stack([np.stack([a, 1 - a], axis=-1), np.stack([1 - b, b], axis=-1)], axis=-2)
    return np.asarray(np.min([majority_margins(prior, confusion, h) for h in sizes], axis=0))
