"""Crews to simulate: one confusion matrix per worker, (J, K, K), built from a few numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.theory.checks import FloatArray, as_confusion, as_crew
from majorant.values import as_generator


def one_coin_crew(skill: ArrayLike, n_classes: int = 2) -> FloatArray:
    """Worker j gives the right label with probability skill[j], whatever the class, and each wrong one evenly.

    >>> one_coin_crew([.9, .4], n_classes=3).round(2).tolist()[1]
    [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]
    """
    skill_j = numbers("skill", skill)
    if skill_j.ndim != 1 or not len(skill_j) or not ((skill_j >= 0) & (skill_j <= 1)).all():
        raise ConfigError(f"skill must list one probability per worker, each in 0..1, not {skill!r}.")
    n_classes = int(whole_numbers("n_classes", n_classes, 2))
    wrong_j11 = ((1 - skill_j) / (n_classes - 1))[:, None, None]
    return np.where(np.eye(n_classes, dtype=bool), skill_j[:, None, None], wrong_j11)


def perturbed_crew(confusion: ArrayLike, n_workers: int, sigma: float, *, rng: int | np.random.Generator) -> FloatArray:
    """Worker j moves a probability s_j, uniform in [-sigma, sigma], from the right label of every class to the wrong.

    Two classes: confusion + s_j [[-1, 1], [1, -1]].  With more, each of the K - 1 wrong labels gets s_j / (K - 1).
    The mean over workers is `confusion`; sigma may be no larger than keeps every entry a probability.

    >>> perturbed_crew([[.8, .2], [.3, .7]], 5, .1, rng=0).shape
    (5, 2, 2)
    """
    confusion_kl = _as_square(confusion)
    n_classes = len(confusion_kl)
    right_kl = np.eye(n_classes, dtype=bool)
    largest = float(np.where(right_kl, confusion_kl, (n_classes - 1) * confusion_kl).min())
    # A ratio within rounding of the largest is taken for it: .3 - .1 is not .2.
    if not 0 <= sigma <= largest * (1 + 1e-12):
        raise ConfigError(f"sigma must lie in 0..{largest:g}, so that every entry stays a probability, not {sigma!r}.")
    n_workers = int(whole_numbers("n_workers", n_workers, 1))
    shift_j = as_generator(rng).uniform(-sigma, sigma, n_workers)
    towards_kl = np.where(right_kl, -1.0, 1 / (n_classes - 1))
    return np.clip(confusion_kl + shift_j[:, None, None] * towards_kl, 0, 1)


def grouped_crew(confusions: ArrayLike, sizes: ArrayLike) -> FloatArray:
    """sizes[g] workers with confusions[g] for each group g, in that order; two groups are the paper's two categories.

    >>> good, poor = one_coin_crew([.9, .6])
    >>> grouped_crew([good, poor], [3, 4])[:, 0, 0].tolist()
    [0.9, 0.9, 0.9, 0.6, 0.6, 0.6, 0.6]
    """
    confusion_gkl = as_crew(confusions, _n_classes(confusions))
    size_g = whole_numbers("sizes", sizes, 0)
    if size_g.shape != (len(confusion_gkl),) or not size_g.sum():
        raise ConfigError(
            f"sizes must give the number of workers of each of {len(confusion_gkl)} groups, not {sizes!r}."
        )
    return np.repeat(confusion_gkl, size_g, axis=0)


def mixed_crew(confusion: ArrayLike, honest: int, *, spammers: int = 0, adversaries: int = 0) -> FloatArray:
    """Honest workers with `confusion`, then spammers who label at random, then adversaries who mean to be wrong.

    A spammer gives every label with probability 1/K; an adversary takes the label that an honest worker would give
    and reports the next one (the last becomes the first), which for two classes is the opposite.

    >>> mixed_crew([[.8, .2], [.3, .7]], 1, spammers=1, adversaries=1)[:, 0].tolist()
    [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]
    """
    confusion_kl = _as_square(confusion)
    spam_kl = np.full_like(confusion_kl, 1 / len(confusion_kl))
    return grouped_crew([confusion_kl, spam_kl, np.roll(confusion_kl, 1, axis=1)], [honest, spammers, adversaries])


def numbers(name: str, values: ArrayLike) -> FloatArray:
    """A number or a rectangular array of them; `name` is what the caller calls it."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a number or a rectangular array of numbers, not {values!r}.") from None


def whole_numbers(name: str, values: ArrayLike, low: int) -> NDArray[np.int64]:
    """A whole number, or an array of them, of at least `low`."""
    number = numbers(name, values)
    bad = number[~(np.isfinite(number) & (number == np.floor(number)) & (number >= low))]
    if len(bad):
        raise ConfigError(f"{name} must be a whole number of at least {low}, not {bad[0]:g}.")
    return number.astype(np.int64)


def _as_square(confusion: ArrayLike) -> FloatArray:
    return as_confusion(confusion, _n_classes(confusion))


def _n_classes(confusion: ArrayLike) -> int:
    """How many classes the array is meant to have; the checks then complain about the rest of its shape."""
    shape = numbers("confusion", confusion).shape
    return max(2, shape[-1]) if shape else 2
