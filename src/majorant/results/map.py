"""Map of where majority vote is optimal, with the estimate for a two-class crowd and its confidence region.

It shows the model behind the verdict on such crowds: two binomials.  Models of panels and of more classes have too many
parameters for a plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import expit, logit

from majorant.evidence.certificate.anonymous import as_histograms
from majorant.evidence.certificate.count_models import (
    HistogramCells,
    flatten,
    log_likelihood,
    nonempty_cells,
    resampled_models,
    suprema,
)
from majorant.tally import histograms
from majorant.theory import majority_margin
from majorant.values import FloatArray
from majorant.votes import Votes

POINTS = 160  # along each edge of the optimal region

Line = tuple[tuple[float, ...], tuple[float, ...]]


class Plane(StrEnum):
    """The two quantities that a plane shows."""

    BALANCE = "balance"  # share of the first class, and noise
    ACCURACIES = "accuracies"  # accuracy on each class


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPanel:
    """A plane of two quantities; majority vote is optimal inside the closed line `optimal`.

    `point` is the estimate for these votes, and `region` the edge of its confidence region.  The estimate is a model of
    exchangeable workers, given by `prior`, `confusion` and the most common number of votes.
    """

    plane: Plane
    labels: tuple[object, ...]  # names of the two classes
    optimal: Line
    point: tuple[float, float]
    point_margin: float
    region: Line
    prior: tuple[float, ...]
    confusion: tuple[tuple[float, ...], ...]
    n_votes: int


def data_map(votes: Votes, *, level: float) -> tuple[MapPanel, ...]:
    """Both planes for the votes of a crowd; empty unless there are two classes and an item with three votes.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.7, .3], [[.8, .2], [.2, .8]], n_items=2000, n_votes=5, rng=0)
    >>> panels = data_map(votes, level=.95)
    >>> [[round(x, 1) for x in panel.point] for panel in panels]
    [[0.7, 0.2], [0.8, 0.8]]
    """
    if len(votes.labels) != 2 or votes.votes_i.max(initial=0) < 3:
        return ()
    counted = as_histograms(histograms(votes))
    cells, items_c = nonempty_cells(counted)
    theta_3 = suprema(cells, items_c[None])[1][0, 0]
    likely_b3 = _likely_models(*flatten(counted), theta_3, level)
    # A few items cannot show shares of 0 or 1, so the point stays half an item away from the border.
    least = max(1e-6, 0.5 / (np.count_nonzero(votes.votes_i) + 1))
    theta_3 = logit(expit(theta_3).clip(least, 1 - least))
    t00, t01, nu = (float(share) for share in expit(theta_3))
    prior, confusion = (nu, 1 - nu), ((t00, 1 - t00), (t01, 1 - t01))
    sizes = np.bincount(votes.votes_i)
    sizes[:3] = 0
    n_votes = int(sizes.argmax())
    optimal = {
        Plane.BALANCE: _optimal_noise((1 - t00) / (1 - t00 + t01), n_votes),
        Plane.ACCURACIES: _optimal_accuracies(float(theta_3[2]), n_votes),
    }
    panels = []
    for plane in Plane:
        x, y = _project(plane, theta_3)
        panels.append(
            MapPanel(
                plane=plane,
                labels=votes.labels,
                optimal=optimal[plane],
                point=(float(x), float(y)),
                point_margin=float(majority_margin(prior, confusion, n_votes)),
                region=_hull(*_project(plane, np.vstack([theta_3, likely_b3]))),
                prior=prior,
                confusion=confusion,
                n_votes=n_votes,
            )
        )
    return tuple(panels)


def _likely_models(cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, level: float) -> FloatArray:
    """The models of a bootstrap over items, without the least likely ones: a confidence region at the level."""
    model_b3 = resampled_models(cells, items_c, theta_3, 1_000, np.random.default_rng(0))
    value_b = log_likelihood(cells, items_c, model_b3)
    return np.asarray(model_b3[value_b >= np.quantile(value_b, 1 - level)])


def _project(plane: Plane, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project models, given as logits of a, r and nu, to a plane."""
    a, r, nu = np.moveaxis(expit(theta), -1, 0)
    return (nu, (1 - a + r) / 2) if plane is Plane.BALANCE else (a, 1 - r)


def _hull(x: FloatArray, y: FloatArray) -> Line:
    """The convex hull of some points."""
    from scipy.spatial import ConvexHull

    around = ConvexHull(np.stack([x, y], axis=1)).vertices
    return _line(x[around], y[around])


def _optimal_noise(split: float, n_votes: int) -> Line:
    """For each noise, the interval of class shares in which the narrowest majorities decide as Bayes' rule does.

    It is an interval because the log-odds of each vote count increase with the share of class 0.  `split` is the share
    of the errors that are made on class 0.
    """
    noise = np.linspace(0, 0.5, POINTS).clip(1e-6, 0.5 - 1e-6)
    wrong0, wrong1 = 2 * noise * split, 2 * noise * (1 - split)
    more = n_votes // 2 + 1
    for_0, for_1 = np.log((1 - wrong0) / wrong1), np.log((1 - wrong1) / wrong0)
    least = expit((n_votes - more) * for_1 - more * for_0)
    most = expit(more * for_1 - (n_votes - more) * for_0)
    return _line(np.concatenate([least, most[::-1]]), np.concatenate([noise, noise[::-1]]))


def _optimal_accuracies(odds: float, n_votes: int) -> Line:
    """For each weight of a vote for class 0, the interval of weights for class 1 in which majority is optimal.

    With `for_0 = log(T00 / T10)` and `for_1 = log(T11 / T01)`, both positive, the two narrowest majorities require
    `for_1` to be between two straight lines.  Accuracies and weights determine each other.  Needs three votes or more.
    """
    weakest = 1e-4  # log-likelihood ratio of a vote, from which the region is drawn
    for_0 = np.concatenate([np.linspace(weakest, 4, POINTS), np.linspace(4, 16, POINTS // 4)[1:]])
    more = n_votes // 2 + 1
    fewer = n_votes - more
    low = ((fewer * for_0 + odds) / more).clip(weakest**2)
    high = ((more * for_0 + odds) / fewer).clip(weakest**2)
    open_ = high > low
    for_0 = np.concatenate([for_0[open_], for_0[open_][::-1]])
    for_1 = np.concatenate([low[open_], high[open_][::-1]])
    return _line(np.expm1(-for_1) / np.expm1(-for_0 - for_1), np.expm1(-for_0) / np.expm1(-for_0 - for_1))


def _line(x: FloatArray, y: FloatArray) -> Line:
    return tuple(x.round(5).tolist()), tuple(y.round(5).tolist())
