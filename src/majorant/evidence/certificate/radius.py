"""How far an estimated prior and confusion matrix may be from the truth: the input that Theorem 3.5 needs.

The radius comes from a bootstrap over items, refitting the method each time. The published formula for the pairwise
agreement of Bucarelli et al. (2023) is in `published_radius`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from majorant.defaults import LEVEL
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.bootstrap import resample_items
from majorant.items import merge_equal_items
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit
from majorant.read import Reading, as_votes
from majorant.tally import counts
from majorant.theory.checks import as_confusion
from majorant.theory.paper import prior_from_shares
from majorant.values import FloatArray, as_generator, as_level
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRadius:
    """An estimate of the prior and of one confusion matrix, and how far each entry may be from the truth at `level`."""

    method: str
    prior: tuple[float, ...]
    confusion: tuple[tuple[float, ...], ...]
    prior_radius: float
    confusion_radius: float
    level: float


def error_radius(
    votes: Any,
    method: str = "shared",
    *,
    level: float = LEVEL,
    n_draws: int = 100,
    rng: int | np.random.Generator = 0,
    **reading: Unpack[Reading],
) -> ErrorRadius:
    """How far a method's estimates of the prior and of one confusion matrix may be from the truth, by a bootstrap.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments.
    method : str
        A method that estimates confusion matrices; those of the workers are averaged, weighted by their votes.
    level : float
        Share of the draws within the radius. It covers chance, not the bias of a method whose model is wrong.
    n_draws : int
        Number of bootstrap draws of the items.
    rng : int or numpy.random.Generator
        Random seed.

    Returns
    -------
    ErrorRadius
        The estimate, and a radius around each entry of the prior and of the matrix.

    Examples
    --------
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.6, .4], [[.8, .2], [.2, .8]], n_items=2000, n_votes=3, rng=0)
    >>> found = error_radius(votes)
    >>> 0 < found.confusion_radius < .1, 0 < found.prior_radius < .1
    (True, True)
    """
    if method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. Choose one of {', '.join(ESTIMATORS)}.")
    given = as_votes(votes, **reading)
    merged = merge_equal_items(given)
    rows, copies_i = (given, np.ones(len(given.items))) if merged is None else (merged.votes, merged.weight_p)
    estimator, generator = ESTIMATORS[method](), as_generator(rng)
    prior_k, confusion_kl = shared_model(rows, estimator.fit(rows, weights=copies_i), copies_i)
    off = []
    for weight_i in resample_items(copies_i, n_draws, generator):
        try:
            drawn = shared_model(rows, estimator.fit(rows, weights=weight_i.astype(float)), weight_i)
        except NotIdentified:
            off.append((1.0, 1.0))
            continue
        off.append((float(np.abs(drawn[0] - prior_k).max()), float(np.abs(drawn[1] - confusion_kl).max())))
    prior_radius, confusion_radius = np.quantile(off, as_level(level), axis=0).tolist()
    return ErrorRadius(
        method=method,
        prior=tuple(prior_k.tolist()),
        confusion=tuple(map(tuple, confusion_kl.tolist())),
        prior_radius=prior_radius,
        confusion_radius=confusion_radius,
        level=level,
    )


def shared_model(votes: Votes, fit: Fit, weight_i: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
    """The prior and one confusion matrix for all workers, from any fit.

    Matrices per worker are averaged, weighted by their votes.  For a method without matrices, its posterior says how
    often label l is among the votes on items of class k.
    """
    weight_i = np.ones(len(votes.items)) if weight_i is None else np.asarray(weight_i, dtype=float)
    if fit.confusion is None:
        confusion_kl = (fit.posterior * weight_i[:, None]).T @ counts(votes)
    elif fit.confusion.ndim == 3:
        given_j = np.bincount(votes.worker_n, weights=weight_i[votes.item_n], minlength=len(votes.workers))
        confusion_kl = np.tensordot(given_j, fit.confusion, axes=1)
    else:
        confusion_kl = fit.confusion
    total_k = confusion_kl.sum(axis=1, keepdims=True)
    unused_k = total_k == 0  # a class without votes: nothing is known about its row
    confusion_kl = np.where(unused_k, 1 / len(fit.prior), confusion_kl / np.where(unused_k, 1, total_k))
    return np.asarray(fit.prior / fit.prior.sum()), confusion_kl


def published_radius(confusion: ArrayLike, shares: ArrayLike, n_items: float, *, error: float = 0.05) -> float:
    """The published script's eps, within which the confusion matrix lies with probability 1 - error.

    K (sqrt K + 1) max nu / lambda_min(T) times the deviation of 2 K^2 shares among the items. It is for IAA's symmetric
    matrices, and so large that Theorem 3.5 needs very many items with it.

    >>> round(published_radius([[.8, .2], [.2, .8]], [.5, .5], 1e6), 4)
    0.0064
    """
    share_l = np.asarray(shares, dtype=float)
    confusion_kl = as_confusion(confusion, len(share_l))
    n_classes, least = len(share_l), float(np.abs(np.linalg.eigvals(confusion_kl)).min())
    if least < 1e-9:
        return math.inf
    largest = float(np.abs(prior_from_shares(share_l, confusion_kl)).max())
    deviation = math.sqrt(math.log(2 * n_classes**2 / error) / (2 * n_items))
    return n_classes * (math.sqrt(n_classes) + 1) * largest / least * deviation
