"""Exact accuracy of majority vote and the optimal rule, for voters with a shared confusion matrix or their own.

Voters are independent given the class. Every function takes `prior[k]`, `confusion[k, l] = P(label l | class k)` and
the number of votes on an item. `ties` says what majority vote does with a tie: `random` (equal shares), `first` (the
class listed first), `prior` (the tied class with the largest prior, or equal shares if these tie too) or `exclude`
(leave tied votes out and compare the rules on the others). Proofs: docs/theory/accuracy.md.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_panel, as_prior, as_ties, as_vote_count
from majorant.theory.panel import count_distribution
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
    shared_patterns,
    shares,
)
from majorant.values import FloatArray, safe_log


def majority_accuracy(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> float:
    """The probability that the majority label is right.

    Parameters
    ----------
    prior : array_like of shape (K,)
        Probability of each class.
    confusion : array_like of shape (K, K)
        `confusion[k, l]` is the probability of a vote for label l on an item of class k, the same for all voters.
    n_votes : int
        Number of independent votes on an item.
    ties : {"random", "first", "prior", "exclude"}
        How ties are resolved: at random, to class 0, to the tied class with the largest prior, or left out.

    Returns
    -------
    float
        The accuracy.

    Notes
    -----
    Works for two classes and any number of votes, and for more classes as long as vote counts can be enumerated.

    Examples
    --------
    >>> round(majority_accuracy([.9, .1], [[.6, .4], [.1, .9]], n_votes=3), 4)
    0.6804
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return majority_share_right(patterns, prior_k, as_ties(ties))


def map_accuracy(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> float:
    """The probability that the optimal rule, the most likely class given the votes, is right.

    Parameters
    ----------
    prior, confusion, n_votes
        As for `majority_accuracy`.
    ties : str
        Only "exclude", which leaves tied votes out, makes a difference.

    Returns
    -------
    float
        The accuracy.

    Notes
    -----
    Has the same limits as `majority_accuracy`.

    Examples
    --------
    >>> round(map_accuracy([.9, .1], [[.6, .4], [.1, .9]], n_votes=3), 4)
    0.9153
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return map_share_right(patterns, prior_k, as_ties(ties))


def gap(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> float:
    """The accuracy that majority vote loses: `map_accuracy` minus `majority_accuracy`.

    Parameters
    ----------
    prior, confusion, n_votes, ties
        As for `majority_accuracy`.

    Returns
    -------
    float
        The accuracy lost.

    Notes
    -----
    Computed as a sum over the votes on which the rules differ, not as a difference, so even a tiny gap is accurate:
    to nine digits for two classes and up to a million votes, unless the margin is so small that it is lost in rounding.

    Examples
    --------
    >>> f"{gap([.9, .1], [[.52, .48], [.49, .51]], n_votes=1_000_001):.3g}"
    '2.64e-90'
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return share_lost(patterns, prior_k, as_ties(ties))


def majority_confusion(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> FloatArray:
    """P(majority label l | class k): the confusion matrix of the whole crowd.

    Parameters
    ----------
    prior, confusion, n_votes, ties
        As for `majority_accuracy`; the prior is used only to break ties under "prior".

    Returns
    -------
    ndarray of shape (K, K)
        Rows sum to 1; under "exclude", rows are conditional on there being no tie.

    Examples
    --------
    >>> majority_confusion([.5, .5], [[.6, .4], [.1, .9]], n_votes=3).round(3).tolist()
    [[0.648, 0.352], [0.028, 0.972]]
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return _aggregate(patterns, shares(patterns.top_kb, as_ties(ties), prior_k))


def map_confusion(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> FloatArray:
    """P(optimal label l | class k): the confusion matrix of the optimal rule.

    Parameters
    ----------
    prior, confusion, n_votes
        As for `majority_accuracy`.
    ties : {"random", "first", "prior"}
        How to choose if several classes are equally likely given the votes, up to rounding of the inputs.

    Returns
    -------
    ndarray of shape (K, K)
        Rows sum to 1; the accuracy is `map_accuracy`, however ties are resolved.

    Examples
    --------
    >>> map_confusion([.6, .4], [[.6, .4], [.4, .6]], n_votes=3, ties="first").round(3).tolist()
    [[0.936, 0.064], [0.784, 0.216]]
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    if ties == "exclude":
        raise ConfigError("map_confusion: ties must be random, first or prior; the optimal rule labels every item.")
    return _aggregate(patterns, shares(patterns.deficit_kb <= patterns.rounding, as_ties(ties), prior_k))


def scaled_shared(prior: ArrayLike, confusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Check prior and confusion, and rescale them to sum to exactly 1."""
    prior_k = as_prior(prior)
    confusion_kl = as_confusion(confusion, len(prior_k))
    return prior_k / prior_k.sum(), confusion_kl / confusion_kl.sum(axis=1, keepdims=True)


def _enumerate(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> tuple[FloatArray, VotePatterns]:
    prior_k, confusion_kl = scaled_shared(prior, confusion)
    return prior_k, shared_patterns(prior_k, confusion_kl, as_vote_count(n_votes))


def _aggregate(patterns: VotePatterns, share_lb: FloatArray) -> FloatArray:
    label_kl = np.exp(patterns.log_given_kb) @ share_lb.T
    return np.asarray(label_kl / label_kl.sum(axis=1, keepdims=True))


def panel_accuracy(prior: ArrayLike, confusions: ArrayLike, rule: str = "majority", ties: str = "random") -> float:
    """The probability that a rule is right if each voter has their own confusion matrix.

    Parameters
    ----------
    prior : array_like of shape (K,)
        Probability of each class.
    confusions : array_like of shape (H, K, K)
        The confusion matrix of each voter: `confusions[h, k, l] = P(voter h says l | class k)`.
    rule : {"majority", "map"}
        Majority vote, or the optimal rule, which takes the most likely class given who voted what.
    ties : {"random", "first", "prior", "exclude"}
        How ties are resolved: at random, to class 0, to the tied class with the largest prior, or left out.

    Returns
    -------
    float
        The accuracy.

    Notes
    -----
    Majority vote needs only the distribution of vote counts, which is feasible for thousands of voters and two classes.
    The optimal rule needs every vote pattern: up to 20 different voters for two classes, more if some are alike; beyond
    that, a ConfigError says how many there are.

    Examples
    --------
    >>> panel = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> [round(panel_accuracy([.5, .5], panel, rule), 3) for rule in ("majority", "map")]
    [0.792, 0.9]
    """
    prior_k, confusion_hkl = scaled_panel(prior, confusions)
    if rule == "map":
        return map_share_right(_every_pattern(prior_k, confusion_hkl), prior_k, as_ties(ties))
    if rule != "majority":
        raise ConfigError(f"rule must be majority or map, not {rule!r}.")
    n_voters, n_classes, _ = confusion_hkl.shape
    if n_voters * n_classes**2 * (n_voters + 1) ** (n_classes - 1) > 2**29:  # additions; more take too many seconds
        return majority_share_right(_every_pattern(prior_k, confusion_hkl), prior_k, as_ties(ties))
    given_kb, count_lb = count_distribution(confusion_hkl)
    log_given_kb = safe_log(given_kb)
    deficit_kb = deficits(log_given_kb + safe_log(prior_k)[:, None])
    counts = VotePatterns(log_given_kb, deficit_kb, most_votes(count_lb), rounding=0.0)
    return majority_share_right(counts, prior_k, as_ties(ties))


def panel_gap(prior: ArrayLike, confusions: ArrayLike, ties: str = "random") -> float:
    """The accuracy that majority vote loses to the optimal rule that knows each voter's confusion matrix.

    Parameters
    ----------
    prior, confusions, ties
        As for `panel_accuracy`.

    Returns
    -------
    float
        The accuracy lost, summed over the votes on which the two rules differ.

    Notes
    -----
    Has the same limits as `panel_accuracy(rule="map")`.

    Examples
    --------
    >>> panel = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> round(panel_gap([.5, .5], panel), 3)
    0.108
    """
    prior_k, confusion_hkl = scaled_panel(prior, confusions)
    return share_lost(_every_pattern(prior_k, confusion_hkl), prior_k, as_ties(ties))


def scaled_panel(prior: ArrayLike, confusions: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Check prior and confusions, and rescale them to sum to exactly 1."""
    prior_k = as_prior(prior)
    confusion_hkl = as_panel(confusions, len(prior_k))
    return prior_k / prior_k.sum(), confusion_hkl / confusion_hkl.sum(axis=2, keepdims=True)


def _every_pattern(prior_k: FloatArray, confusion_hkl: FloatArray) -> VotePatterns:
    """All vote patterns of a panel, grouping identical voters."""
    n_classes = len(prior_k)
    kinds = Counter(confusion_kl.tobytes() for confusion_kl in confusion_hkl)
    sizes = list(kinds.values())
    number = n_patterns(sizes, n_classes)
    if number * n_classes > MAX_ENTRIES:
        raise ConfigError(
            f"{len(confusion_hkl)} voters of {len(sizes)} kinds can vote in {number:.3g} ways, too many to enumerate "
            f"(limit {MAX_ENTRIES // n_classes:,})."
        )
    return group_patterns(prior_k, np.frombuffer(b"".join(kinds)).reshape(-1, n_classes, n_classes), sizes)
