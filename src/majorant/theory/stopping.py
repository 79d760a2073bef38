"""Adaptive numbers of votes: voting stops once a class leads by enough votes, or at a maximum number of votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_prior, as_vote_count
from majorant.theory.margin import log_odds_terms


def stopping_margin(prior: ArrayLike, confusion: ArrayLike, lead: int, most_votes: int | None = None) -> float:
    """The margin of majority vote if voting on an item stops as soon as a class leads by `lead` votes.

    Parameters
    ----------
    prior : array_like of shape (2,)
        Probability of each class.
    confusion : array_like of shape (2, 2)
        `confusion[k, l]` is the probability of a vote for label l on an item of class k, the same for all voters; no
        entry may be 0.
    lead : int
        Voting stops when one class is ahead by this many votes.
    most_votes : int, optional
        Voting stops after this many votes at the latest; by default it never stops before there is such a lead.

    Returns
    -------
    float
        The smallest log-odds of the majority class over all votes after which voting can stop; ties are left out. Above
        0 if and only if majority vote is the optimal rule.

    Notes
    -----
    With one error rate r for both classes and no maximum, it is lead * log((1-r)/r) - |log(prior[0]/prior[1])|. Proof:
    docs/theory/stopping.md.

    Examples
    --------
    >>> one_coin = [[.7, .3], [.3, .7]]
    >>> [round(stopping_margin([.8, .2], one_coin, lead), 3) for lead in (1, 2, 3)]
    [-0.539, 0.308, 1.156]
    """
    prior_k = as_prior(prior)
    if len(prior_k) != 2:
        raise ConfigError(f"stopping_margin is for two classes; prior lists {len(prior_k)}.")
    confusion_kl, ahead = as_confusion(confusion, 2), as_vote_count(lead)
    if not confusion_kl.all() or not prior_k.all():
        raise ConfigError("stopping_margin needs a prior and a confusion matrix without zeros.")
    if most_votes is not None and as_vote_count(most_votes) < ahead:
        raise ConfigError(f"most_votes is {most_votes}: no class can lead by {ahead} votes.")
    start, skew, beta = (float(term) for term in log_odds_terms(prior_k, confusion_kl))
    ends = [(ahead, ahead)]  # numbers of votes and leads at which voting can stop; those in between cannot be worse
    if ahead > 1 and most_votes is not None:
        ends.append((most_votes - (most_votes - ahead) % 2, ahead))
        widest, narrowest = ahead - 2 + (most_votes - ahead) % 2, 2 - most_votes % 2
        ends += [(most_votes, by) for by in (narrowest, widest) if narrowest <= by < ahead]
    elif ahead > 1 and abs(skew) > 8 * np.finfo(float).eps * np.abs(np.log(confusion_kl)).sum():
        return -np.inf  # any number of votes can occur, and with enough of them the easier class needs more than a lead
    return min(by / 2 * beta - abs(start + votes / 2 * skew) for votes, by in ends)
