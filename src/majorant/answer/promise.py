"""How many labels will be right: the expected accuracy of labels, with an interval that admits what is not known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.answer.echo import echo_weights
from majorant.answer.gold import gold_accuracy
from majorant.estimate.fit import Fit
from majorant.interval import Estimate
from majorant.kernels import FloatArray
from majorant.votes import Votes

DISCOUNT = 4.0  # votes follow none of the models exactly: their evidence about an echo counts for a quarter
DOUBT, ECHO_DOUBT = 0.15, 0.4  # a standard deviation, as a share of the errors expected; downwards, with an echo
# Items on which the crowd's common view may be wrong, which no vote shows: the low end allows for them.  The size is a
# judgement made after a look at the public sets (docs/labels.md); votes cannot tell it.
BLIND = 0.05
GRID = np.linspace(0, 1, 2001)


class Beliefs(NamedTuple):
    """What each case of the model says about the labels; axis r."""

    accuracy_r: FloatArray
    echo_r: FloatArray
    evidence_r: FloatArray
    weight_r: FloatArray
    sampling: float  # standard deviation, from fits without some of the items


class Range(NamedTuple):
    """A number and its interval."""

    value: float
    low: float
    high: float


class Promise(NamedTuple):
    """The expected accuracy, and what it rests on."""

    accuracy: Estimate
    source: str


def promise(votes: Votes, fit: Fit, beliefs: Beliefs, level: float) -> Promise:
    """The expected share of right labels among the items with votes, by the votes and by gold where there is some.

    Gold items are taken for a random share of the items.  Where they contradict the votes, they alone count.
    """
    gold = gold_accuracy(votes, fit, level=level)
    if not (fit.votes_i > 1).any():
        reason = "no item holds two votes: nothing shows how often votes are right"
        told = Estimate(None, reason=reason) if gold is None else Estimate(gold.value, gold.low, gold.high)
        return Promise(told, "votes" if gold is None else "gold")
    by_votes = _by_votes(fit, beliefs, level)
    if gold is None:
        return Promise(Estimate(*by_votes), "votes")
    by_gold = Range(gold.value, gold.low, gold.high)
    apart = by_votes.low > by_gold.high or by_gold.low > by_votes.high
    if apart or gold.n_items == int((votes.votes_i > 0).sum()):
        return Promise(Estimate(*by_gold), "gold")
    return Promise(Estimate(*_combined(by_votes, by_gold)), "gold and votes")


def _by_votes(fit: Fit, beliefs: Beliefs, level: float) -> Range:
    """Quantiles of a mixture: in each case normal around its accuracy; the evidence for the cases is discounted.

    The spread is that of the fitted model, of the luck of these items, and of the doubt about any model.  Errors that
    nearly all voters share cannot be seen: the low end allows for some.
    """
    from scipy.special import ndtr

    confidence_i = fit.posterior[fit.votes_i > 0].max(axis=1)
    value = float(confidence_i.mean())
    shift = value - float(beliefs.weight_r @ beliefs.accuracy_r)  # the items learned from may be a sample
    middle_r = np.clip(beliefs.accuracy_r + shift, 0, 1)
    luck = float(np.sqrt((confidence_i * (1 - confidence_i)).sum())) / len(confidence_i)
    known = np.hypot(beliefs.sampling, luck) + 1e-9
    weight_r = echo_weights(beliefs.echo_r, beliefs.evidence_r, DISCOUNT)

    def end(doubt_r: FloatArray, tail: float) -> float:
        spread_r = np.hypot(known, doubt_r * (1 - middle_r))
        below = weight_r @ ndtr((GRID - middle_r[:, None]) / spread_r[:, None])
        return float(np.interp(tail, below, GRID))

    low = (1 - BLIND) * end(np.where(beliefs.echo_r > 0, ECHO_DOUBT, DOUBT), (1 - level) / 2)
    high = end(np.full(len(middle_r), DOUBT), (1 + level) / 2)
    return Range(value, min(low, value), max(high, value))


def _combined(one: Range, two: Range) -> Range:
    """Two independent estimates, weighed by the squares of their longer arms; the arms add up as errors do.

    >>> [round(x, 3) for x in _combined(Range(.8, .7, .9), Range(.9, .8, 1.0))]
    [0.85, 0.779, 0.921]
    """
    arms = np.array([[x.value - x.low, x.high - x.value] for x in (one, two)])
    square = np.maximum(arms.max(axis=1) ** 2, 1e-12)
    weight = float(square[1] / square.sum())
    value = weight * one.value + (1 - weight) * two.value
    low, high = np.sqrt(weight**2 * arms[0] ** 2 + (1 - weight) ** 2 * arms[1] ** 2)
    return Range(value, max(0.0, value - float(low)), min(1.0, value + float(high)))
