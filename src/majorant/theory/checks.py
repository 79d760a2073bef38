"""What every theory function asks of its arguments, checked once, with errors that name the entry at fault."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError

FloatArray = NDArray[np.float64]
SUM_TOLERANCE = 1e-9


def as_prior(prior: ArrayLike) -> FloatArray:
    """The class probabilities as an array (K,), K >= 2.

    >>> as_prior([.5, .5, .1])
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: prior sums to 1.1, not to 1.
    """
    prior_k = _as_floats("prior", prior)
    if prior_k.ndim != 1 or len(prior_k) < 2:
        raise ConfigError(f"prior must list the probability of each of two or more classes, not shape {prior_k.shape}.")
    _refuse_improper("prior", prior_k)
    return prior_k


def as_confusion(confusion: ArrayLike, n_classes: int) -> FloatArray:
    """One confusion matrix (K, K): row k holds the probabilities of each label given class k."""
    confusion_kl = _as_floats("confusion", confusion)
    if confusion_kl.shape != (n_classes, n_classes):
        raise ConfigError(
            f"confusion must have shape ({n_classes}, {n_classes}), a row for each class of prior, "
            f"not {confusion_kl.shape}."
        )
    _refuse_improper("confusion", confusion_kl)
    return confusion_kl


def as_crew(confusions: ArrayLike, n_classes: int) -> FloatArray:
    """One confusion matrix per voter, (H, K, K), H >= 1."""
    confusion_hkl = _as_floats("confusions", confusions)
    if confusion_hkl.ndim != 3 or confusion_hkl.shape[1:] != (n_classes, n_classes) or not len(confusion_hkl):
        raise ConfigError(
            f"confusions must have shape (voters, {n_classes}, {n_classes}), a row for each class of prior, "
            f"not {confusion_hkl.shape}."
        )
    _refuse_improper("confusions", confusion_hkl)
    return confusion_hkl


def as_vote_count(n_votes: int) -> int:
    """The number of votes on an item, a whole number of at least 1."""
    count = np.asarray(n_votes)
    if count.ndim or count.dtype.kind not in "iuf" or not np.isfinite(count) or count != np.floor(count) or count < 1:
        raise ConfigError(f"n_votes must be a whole number of at least 1, not {n_votes!r}.")
    return int(count)


def safe_log(probability: ArrayLike) -> FloatArray:
    """Natural logarithm in which log 0 is -inf without a warning: a probability of 0 is legal."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(probability, dtype=float)))


def _as_floats(name: str, values: ArrayLike) -> FloatArray:
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a rectangular array of numbers.") from None


def _refuse_improper(name: str, probability: FloatArray) -> None:
    """Refuse entries outside 0..1 (or NaN) and last-axis sums other than 1."""
    bad = np.argwhere(~((probability >= 0) & (probability <= 1)))
    if len(bad):
        where = tuple(bad[0])
        raise ConfigError(f"{name}{[int(i) for i in where]} is {probability[where]:g}: a probability must lie in 0..1.")
    total = probability.sum(axis=-1)
    bad = np.argwhere(np.abs(total - 1) > SUM_TOLERANCE)
    if len(bad):
        where = tuple(bad[0])
        index = "".join(f"[{i}]" for i in where)
        raise ConfigError(f"{name}{index} sums to {total[where]:.12g}, not to 1.")
