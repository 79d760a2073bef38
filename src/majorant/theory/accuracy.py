"""How often majority vote and the optimal rule are right when all voters share one confusion matrix, exactly.

Voters are independent given the class.  Every function takes `prior[k]`, `confusion[k, l] = P(label l | class k)` and
the number of votes on an item.  `ties` says what majority does on a tied vote: `random` (equal shares), `first` (the
class listed first), `prior` (the tied class with the largest prior, equal shares where these tie too) or `exclude`
(tied votes are set aside and both rules are judged on the others).  Proofs: docs/theory/accuracy.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import FloatArray, as_confusion, as_prior, as_ties, as_vote_count
from majorant.theory.patterns import (
    VotePatterns,
    majority_share_right,
    map_share_right,
    share_lost,
    shared_patterns,
    shares,
)


def majority_accuracy(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> float:
    """The probability that the majority label is right.

    Two classes at any number of votes; more classes while the vote counts can be enumerated (patterns.MAX_ENTRIES).

    >>> round(majority_accuracy([.9, .1], [[.6, .4], [.1, .9]], n_votes=3), 4)
    0.6804
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return majority_share_right(patterns, prior_k, as_ties(ties))


def map_accuracy(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> float:
    """The probability that the optimal rule is right: the likeliest class given the votes, `prior` and `confusion`.

    The same reach as `majority_accuracy`.  `ties` matters only as `exclude`, which sets tied votes aside.

    >>> round(map_accuracy([.9, .1], [[.6, .4], [.1, .9]], n_votes=3), 4)
    0.9153
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return map_share_right(patterns, prior_k, as_ties(ties))


def gap(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> float:
    """What majority gives away: `map_accuracy` minus `majority_accuracy`, to nine digits however small it is.

    Added up over the votes on which the two rules differ, never as a difference of accuracies.  Two classes: relative
    error at most 1e-9 up to a million votes and down to 1e-300.

    >>> f"{gap([.9, .1], [[.52, .48], [.49, .51]], n_votes=1_000_001):.3g}"
    '2.64e-90'
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return share_lost(patterns, prior_k, as_ties(ties))


def majority_confusion(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> FloatArray:
    """P(majority label l | class k) as a matrix (K, K), rows summing to 1: the crowd seen as one voter.

    `prior` settles ties under `prior` and nothing else.  Under `exclude` a row is conditional on an untied vote.

    >>> majority_confusion([.5, .5], [[.6, .4], [.1, .9]], n_votes=3).round(3).tolist()
    [[0.648, 0.352], [0.028, 0.972]]
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    return _aggregate(patterns, shares(patterns.top_kb, as_ties(ties), prior_k))


def map_confusion(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "random") -> FloatArray:
    """P(optimal label l | class k) as a matrix (K, K), rows summing to 1.

    Here `ties` (random, first or prior) settles votes after which several classes are equally likely, up to rounding
    of the inputs: each such vote is given out once, so the accuracy is `map_accuracy` under each of them.

    >>> map_confusion([.6, .4], [[.6, .4], [.4, .6]], n_votes=3, ties="first").round(3).tolist()
    [[0.936, 0.064], [0.784, 0.216]]
    """
    prior_k, patterns = _enumerate(prior, confusion, n_votes)
    if ties == "exclude":
        raise ConfigError("map_confusion: ties must be random, first or prior; the optimal rule leaves no vote out.")
    return _aggregate(patterns, shares(patterns.deficit_kb <= patterns.rounding, as_ties(ties), prior_k))


def scaled_shared(prior: ArrayLike, confusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Prior and confusion, checked, and scaled to sum to 1 beyond the tolerance of the checks."""
    prior_k = as_prior(prior)
    confusion_kl = as_confusion(confusion, len(prior_k))
    return prior_k / prior_k.sum(), confusion_kl / confusion_kl.sum(axis=1, keepdims=True)


def _enumerate(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> tuple[FloatArray, VotePatterns]:
    prior_k, confusion_kl = scaled_shared(prior, confusion)
    return prior_k, shared_patterns(prior_k, confusion_kl, as_vote_count(n_votes))


def _aggregate(patterns: VotePatterns, share_lb: FloatArray) -> FloatArray:
    label_kl = np.exp(patterns.log_given_kb) @ share_lb.T
    return np.asarray(label_kl / label_kl.sum(axis=1, keepdims=True))
