"""How often majority vote and the optimal rule are right when each voter has its own confusion matrix, exactly.

`confusions[h, k, l] = P(voter h says l | class k)`; voters are independent given the class.  Voters with equal matrices
are counted together, so a crew of a few kinds of voters is exact at hundreds of votes.  `ties` as in `accuracy`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import FloatArray, as_crew, as_prior, as_ties, safe_log
from majorant.theory.crew import count_distribution
from majorant.theory.patterns import (
    MAX_ENTRIES,
    VotePatterns,
    deficits,
    group_patterns,
    majority_share_right,
    map_share_right,
    most_votes,
    n_patterns,
    share_lost,
)

MAX_STEPS = 2**29  # additions of the count recursion: a few seconds


def crew_accuracy(prior: ArrayLike, confusions: ArrayLike, rule: str = "majority", ties: str = "random") -> float:
    """The probability that `rule` is right, "majority" or "map" (the likeliest class given who voted what).

    Majority needs only the distribution of the vote counts: thousands of voters for two classes.  The optimal rule
    needs every pattern: 20 unequal voters for two classes, more if some are equal (patterns.MAX_ENTRIES); beyond that a
    ConfigError names the function that brackets or estimates it.

    >>> crew = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> [round(crew_accuracy([.5, .5], crew, rule), 3) for rule in ("majority", "map")]
    [0.792, 0.9]
    """
    prior_k, confusion_hkl = scaled_crew(prior, confusions)
    if rule == "map":
        return map_share_right(_every_pattern(prior_k, confusion_hkl), prior_k, as_ties(ties))
    if rule != "majority":
        raise ConfigError(f"rule must be majority or map, not {rule!r}.")
    if _count_steps(*confusion_hkl.shape[:2]) <= MAX_STEPS:
        return majority_share_right(_every_count(prior_k, confusion_hkl), prior_k, as_ties(ties))
    return majority_share_right(_every_pattern(prior_k, confusion_hkl), prior_k, as_ties(ties))


def crew_gap(prior: ArrayLike, confusions: ArrayLike, ties: str = "random") -> float:
    """What majority gives away against the optimal rule, added up over the votes on which they differ.

    The reach of `crew_accuracy(rule="map")`.

    >>> crew = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> round(crew_gap([.5, .5], crew), 3)
    0.108
    """
    prior_k, confusion_hkl = scaled_crew(prior, confusions)
    return share_lost(_every_pattern(prior_k, confusion_hkl), prior_k, as_ties(ties))


def scaled_crew(prior: ArrayLike, confusions: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Prior and confusions, checked, and scaled to sum to 1 beyond the tolerance of the checks."""
    prior_k = as_prior(prior)
    confusion_hkl = as_crew(confusions, len(prior_k))
    return prior_k / prior_k.sum(), confusion_hkl / confusion_hkl.sum(axis=2, keepdims=True)


def _every_pattern(prior_k: FloatArray, confusion_hkl: FloatArray) -> VotePatterns:
    """Who voted what, equal voters counted together."""
    n_classes = len(prior_k)
    kinds = Counter(confusion_kl.tobytes() for confusion_kl in confusion_hkl)
    sizes = list(kinds.values())
    number = n_patterns(sizes, n_classes)
    if number * n_classes > MAX_ENTRIES:
        instead = "crew_accuracy_bracket" if n_classes == 2 else "estimate_crew_accuracy or estimate_crew_gap"
        raise ConfigError(
            f"{len(confusion_hkl)} voters of {len(sizes)} kinds can vote in {number:.3g} ways, too many to enumerate "
            f"(limit {MAX_ENTRIES // n_classes:,}): use {instead}."
        )
    return group_patterns(prior_k, np.frombuffer(b"".join(kinds)).reshape(-1, n_classes, n_classes), sizes)


def _count_steps(n_voters: int, n_classes: int) -> int:
    """Additions of the count recursion."""
    return n_voters * n_classes**2 * int((n_voters + 1) ** (n_classes - 1))


def _every_count(prior_k: FloatArray, confusion_hkl: FloatArray) -> VotePatterns:
    """The vote counts and their probabilities."""
    given_kb, count_lb = count_distribution(confusion_hkl)
    log_given_kb = safe_log(given_kb)
    deficit_kb = deficits(log_given_kb + safe_log(prior_k)[:, None])
    return VotePatterns(log_given_kb, deficit_kb, most_votes(count_lb), rounding=0.0)
