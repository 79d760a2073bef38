"""How unlike the voters may be before majority vote stops being the optimal rule."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import FloatArray, as_confusion, as_prior, as_vote_count
from majorant.theory.margin import majority_margin


def perturbation_radius(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """The largest sigma such that majority vote stays optimal however each voter's accuracies move by up to sigma.

    Two classes.  Voter h has T_h = T + s_h [[-1, 1], [1, -1]], |s_h| <= sigma, as far as T_h stays a confusion
    matrix; the optimal rule knows every s_h.  Exact: the worst crew is known, so this is one equation, solved by
    halving.  0 where majority is not optimal for T itself; ties left out.  Proof: docs/theory/perturbation.md.

    >>> round(perturbation_radius([.6, .4], [[.7, .3], [.2, .8]], 3), 4)
    0.0194
    """
    prior_k = as_prior(prior)
    if len(prior_k) != 2:
        raise ConfigError(f"perturbation_radius is for two classes; prior lists {len(prior_k)}.")
    confusion_kl, votes = as_confusion(confusion, 2), as_vote_count(n_votes)
    if (prior_k == 0).any() or majority_margin(prior_k, confusion_kl, votes) <= 0:
        return 0.0
    low, high = 0.0, float(min(confusion_kl[0, 0], confusion_kl[1, 1]))
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if worst_margin(prior_k, confusion_kl, votes, middle) > 0 else (low, middle)
    return low


def worst_margin(prior_k: FloatArray, confusion_kl: FloatArray, votes: int, sigma: float) -> float:
    """The smallest margin of any crew within sigma > 0 of a shared two-class confusion; both priors positive.

    Voters for the winner are at their least convincing, the others at their most: m against H - m, or all alike.
    """
    right_k = float(confusion_kl[0, 0]), float(confusion_kl[1, 1])
    worse, better = min(sigma, *right_k), min(sigma, 1 - max(right_k))
    margin = math.inf
    for c, j in ((0, 1), (1, 0)):
        start = math.log(prior_k[c]) - math.log(prior_k[j])
        for_c = _log(right_k[c] - worse) - _log(1 - right_k[j] + worse)
        against_c = _log(1 - right_k[c] - better) - _log(right_k[j] + better)
        narrow, most = (votes - 1) // 2, votes // 2 + 1
        narrowest = start + most * for_c + (narrow * against_c if narrow else 0.0)
        margin = min(margin, narrowest, start + votes * for_c)
    return margin


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf
