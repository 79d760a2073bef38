"""The map: where majority vote is optimal, for two classes and one shared confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import FloatArray, as_confusion, as_prior, as_vote_count
from majorant.theory.margin import majority_margin, majority_margins

GRID = 601  # points along each axis, ends included: thin ends of the region stay whole


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Margins in nats over a grid of two quantities, and the model that asked, as a point on it.

    `margin_yx[i, j]` belongs to `y_i[i]` and `x_j[j]`; majority is optimal where it is positive.
    """

    title: str
    x_name: str
    y_name: str
    x_j: FloatArray
    y_i: FloatArray
    margin_yx: FloatArray
    n_votes: int
    point: tuple[float, float] | None = None
    point_margin: float | None = None

    def __post_init__(self) -> None:
        for name in ("x_j", "y_i", "margin_yx"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def share(self) -> float:
        """The share of the grid on which majority is optimal."""
        return float((self.margin_yx > 0).mean())


def accuracy_region(prior: ArrayLike, n_votes: int, confusion: ArrayLike | None = None, grid: int = GRID) -> Region:
    """The margin over both accuracies T00 (across) and T11 (up), for one prior and number of votes.

    Two classes, one shared confusion matrix, ties left out; `confusion`, if given, is the point.

    >>> region = accuracy_region([.6, .4], 3, [[.7, .3], [.2, .8]], grid=11)
    >>> region.point, round(region.point_margin, 3), round(region.share, 2)
    ((0.7, 0.8), 0.303, 0.17)
    """
    prior_k, votes = _two_class_prior(prior), as_vote_count(n_votes)
    axis = _axis(grid)
    t00_yx, t11_yx = np.meshgrid(axis, axis)
    margin_yx = majority_margins(prior_k, _confusions(t00_yx, t11_yx), votes)
    names = (f"prior {prior_k[0]:.3g} : {prior_k[1]:.3g}", "accuracy on class 0", "accuracy on class 1")
    if confusion is None:
        return _region(names, axis, margin_yx, votes)
    confusion_kl = as_confusion(confusion, 2)
    point = float(confusion_kl[0, 0]), float(confusion_kl[1, 1])
    return _region(names, axis, margin_yx, votes, point, majority_margin(prior_k, confusion_kl, votes))


def one_coin_region(
    n_votes: int, prior: ArrayLike | None = None, noise: float | None = None, grid: int = GRID
) -> Region:
    """The margin over the prior of class 0 (across) and one error rate for both classes (up).

    Two classes, every vote wrong with the same probability, ties left out; `prior` and `noise`, if given, are the
    point.  For an odd number of votes this is the triangle noise < prior < 1 - noise, whatever their number.

    >>> region = one_coin_region(3, [.6, .4], noise=.3, grid=11)
    >>> region.point, round(region.point_margin, 3)
    ((0.6, 0.3), 0.442)
    """
    votes, axis = as_vote_count(n_votes), _axis(grid)
    nu_yx, noise_yx = np.meshgrid(axis, axis)
    margin_yx = majority_margins(np.stack([nu_yx, 1 - nu_yx], axis=-1), _confusions(1 - noise_yx, 1 - noise_yx), votes)
    names = ("equally noisy on both classes", "prior of class 0", "noise: share of wrong votes")
    if prior is None or noise is None:
        return _region(names, axis, margin_yx, votes)
    prior_k = _two_class_prior(prior)
    confusion_kl = as_confusion([[1 - noise, noise], [noise, 1 - noise]], 2)
    point = float(prior_k[0]), float(noise)
    return _region(names, axis, margin_yx, votes, point, majority_margin(prior_k, confusion_kl, votes))


def _region(
    names: tuple[str, str, str],
    axis: FloatArray,
    margin_yx: FloatArray,
    votes: int,
    point: tuple[float, float] | None = None,
    point_margin: float | None = None,
) -> Region:
    """A region over the same axis both ways; `names` of what is fixed, across and up."""
    fixed, x_name, y_name = names
    title = f"{votes} vote{'s' * (votes > 1)}, {fixed}"
    return Region(title, x_name, y_name, axis, axis, margin_yx, votes, point, point_margin)


def _two_class_prior(prior: ArrayLike) -> FloatArray:
    prior_k = as_prior(prior)
    if len(prior_k) != 2:
        raise ConfigError(f"the map is for two classes; prior lists {len(prior_k)}.")
    return prior_k


def _axis(grid: int) -> FloatArray:
    return np.linspace(0, 1, grid)


def _confusions(t00: FloatArray, t11: FloatArray) -> FloatArray:
    return np.stack([np.stack([t00, 1 - t00], axis=-1), np.stack([1 - t11, t11], axis=-1)], axis=-2)
