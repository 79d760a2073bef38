"""Argument checks shared by all theory functions, with error messages that name the invalid entry."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.values import FloatArray

Ties = Literal["random", "first", "prior", "exclude"]  # at random; to class 0; to the largest prior; left out


def as_prior(prior: ArrayLike) -> FloatArray:
    """The class probabilities as an array (K,), K >= 2.

    >>> as_prior([.5, .5, .1])
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: prior sums to 1.1, not to 1.
    """
    prior_k = _as_floats("prior", prior)
    if prior_k.ndim != 1 or len(prior_k) < 2:
        raise ConfigError(f"prior must list the probabilities of two or more classes, not have shape {prior_k.shape}.")
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


def as_panel(confusions: ArrayLike, n_classes: int) -> FloatArray:
    """One confusion matrix per voter, (H, K, K), H >= 1."""
    confusion_hkl = _as_floats("confusions", confusions)
    if confusion_hkl.ndim != 3 or confusion_hkl.shape[1:] != (n_classes, n_classes) or not len(confusion_hkl):
        raise ConfigError(
            f"confusions must have shape (voters, {n_classes}, {n_classes}), a row for each class of prior, "
            f"not {confusion_hkl.shape}."
        )
    _refuse_improper("confusions", confusion_hkl)
    return confusion_hkl


def as_models(prior: ArrayLike, confusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Many models at once: prior (..., K) and confusion (..., K, K), whose leading axes are broadcast together."""
    prior_bk, confusion_bkl = _as_floats("prior", prior), _as_floats("confusion", confusion)
    n_classes = prior_bk.shape[-1] if prior_bk.ndim else 0
    if n_classes < 2 or confusion_bkl.shape[-2:] != (n_classes, n_classes):
        raise ConfigError(
            f"prior must have shape (..., K) and confusion (..., K, K) with K >= 2, "
            f"not {prior_bk.shape} and {confusion_bkl.shape}."
        )
    try:
        batch = np.broadcast_shapes(prior_bk.shape[:-1], confusion_bkl.shape[:-2])
    except ValueError:
        raise ConfigError(
            f"prior of shape {prior_bk.shape} and confusion of shape {confusion_bkl.shape} do not match."
        ) from None
    _refuse_improper("prior", prior_bk)
    _refuse_improper("confusion", confusion_bkl)
    return (
        np.broadcast_to(prior_bk, (*batch, n_classes)),
        np.broadcast_to(confusion_bkl, (*batch, n_classes, n_classes)),
    )


def as_ties(ties: str) -> Ties:
    """Check the policy for tied votes."""
    if ties not in get_args(Ties):
        raise ConfigError(f"ties must be one of {', '.join(get_args(Ties))}, not {ties!r}.")
    return ties  # type: ignore[return-value]


def as_margin_ties(ties: str, n_classes: int) -> Ties:
    """Check the policy for tied votes in a margin: with more than two classes, they can only be left out."""
    policy = as_ties(ties)
    if n_classes > 2 and policy != "exclude":
        raise ConfigError(f"ties={ties!r} is for two classes; with {n_classes} classes use ties='exclude'.")
    return policy


def as_vote_count(n_votes: int) -> int:
    """Check the number of votes on an item, a whole number of at least 1."""
    count = np.asarray(n_votes)
    if count.ndim or count.dtype.kind not in "iuf" or not np.isfinite(count) or count != np.floor(count) or count < 1:
        raise ConfigError(f"n_votes must be a whole number of at least 1, not {n_votes!r}.")
    return int(count)


def _as_floats(name: str, values: ArrayLike) -> FloatArray:
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a rectangular array of numbers.") from None


def _refuse_improper(name: str, probability: FloatArray) -> None:
    """Refuse entries outside 0..1 (or NaN), and sums along the last axis other than 1."""
    legal = (probability >= 0) & (probability <= 1)
    if not legal.all():
        where = tuple(np.argwhere(~legal)[0])
        raise ConfigError(f"{name}{[int(i) for i in where]} is {probability[where]:g}: a probability must lie in 0..1.")
    total = probability.sum(axis=-1)
    complete = np.abs(total - 1) <= 1e-9
    if not complete.all():
        where = tuple(np.argwhere(~complete)[0])
        index = "".join(f"[{i}]" for i in where)
        raise ConfigError(f"{name}{index} sums to {total[where]:.12g}, not to 1.")
