"""A rule beside majority vote on the same items: where they differ, and which of them is right.

Two rules can differ in accuracy only on the items on which they differ.  A tie is a fair draw among the tied classes.
Who is right there, gold labels say without a model, and else what the rule expects of itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from majorant.ask.betting import bounds
from majorant.backend import Backend, of_fit
from majorant.items import Keys, name_hashes
from majorant.kernels import row_maxima
from majorant.methods.fit import Fit, chances
from majorant.methods.majority import Majority
from majorant.values import Estimate, FloatArray, clopper_pearson
from majorant.votes import IntArray, Votes

ORDER_SEED = 2**32 + 1  # of the order in which gold labels are looked at: any will do that no label has decided


class Difference(NamedTuple):
    """How far a rule is from majority vote; the differences of parts of the items add up."""

    items: int  # with votes
    differ: int  # items of which the two say different things
    at_stake: float  # by how many items, at most, one of them can be right more often
    tied: int  # items that majority vote leaves tied
    tied_differ: int  # of these, those of which the rule says something else

    @property
    def stake(self) -> float:
        """The largest possible difference of their accuracies: it needs no label, and no assumption."""
        return self.at_stake / self.items if self.items else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldLead:
    """By how much a rule is ahead of majority vote on these items, from gold labels alone.

    Gold items must be all items or drawn from them at random; nothing is assumed of votes, workers or items.  The
    interval holds at any number of labels, so looking again after more is fine (docs/theory/ask.md).
    """

    labels: int  # gold items with votes
    used: int  # of these, those on which the two differ
    wins: float  # right where majority vote is wrong; a tie counts by its share
    losses: float
    lead: Estimate  # in accuracy
    tied_lead: float  # the part of the estimate that comes from items that majority vote leaves tied
    whole: bool  # every item with votes has a gold label: the lead is the truth


def compare_fits(majority: Fit, fit: Fit) -> Difference:
    """Where a fit and majority vote differ.

    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> from dataclasses import replace
    >>> majority = Majority().fit(votes)
    >>> compare_fits(majority, replace(majority, posterior=np.array([[.6, .4], [.9, .1]])))
    Difference(items=2, differ=2, at_stake=1.5, tied=1, tied_differ=1)
    """
    voted_i = majority.votes_i > 0
    before_ik, after_ik = chances(majority.posterior[voted_i]), chances(fit.posterior[voted_i])
    apart_i = row_maxima(np.abs(after_ik - before_ik))
    differ_i, tied_i = apart_i > 0, row_maxima(before_ik) < 1
    return Difference(
        items=int(voted_i.sum()),
        differ=int(differ_i.sum()),
        at_stake=float(apart_i.sum()),
        tied=int(tied_i.sum()),
        tied_differ=int((tied_i & differ_i).sum()),
    )


def difference(backend: Backend, fit: Fit) -> Difference:
    """Where a fit to all votes and majority vote differ, wherever they lie."""
    return backend.sum(of_fit(lambda votes, part: compare_fits(Majority().fit(votes), part), fit), doing="comparing")


class _Leads(NamedTuple):
    """Of gold items on which two rules differ: who is right, whether majority vote is tied, and a random key."""

    lead_g: FloatArray
    tied_g: FloatArray
    key_g: Keys
    labels: int


def gold_lead(backend: Backend, fit: Fit, apart: Difference, *, alpha: float) -> GoldLead | None:
    """The lead of a fit over majority vote by the gold labels that came with the votes; None without any.

    `alpha` is the chance that the interval misses, at any number of labels ever; the rule must not have learned from
    these labels.  Several rules that gold chooses from share alpha.
    """
    if not backend.has_gold:
        return None
    parts = list(backend.map(of_fit(_leads, fit), doing="comparing"))
    labels = sum(part.labels for part in parts)
    if not labels:
        return None
    lead_g, tied_g, key_g = (np.concatenate([part[n] for part in parts]) for n in range(3))
    order_g = np.argsort(key_g, kind="stable")
    lead_g, tied_g, share = lead_g[order_g], tied_g[order_g], apart.differ / apart.items
    low, high = bounds((lead_g + 1) / 2, apart.differ, alpha / 2, alpha / 2) if apart.differ else (0.5, 0.5)
    stake = apart.stake
    value = float(np.clip(share * lead_g.mean(), -stake, stake)) if len(lead_g) else None
    value = 0.0 if value is None and labels == apart.items else value
    lead = Estimate(value, max(share * (2 * low - 1), -stake), min(share * (2 * high - 1), stake))
    if labels == apart.items:
        lead = Estimate(value, value, value)
    return GoldLead(
        labels=labels,
        used=len(lead_g),
        wins=float(lead_g[lead_g > 0].sum()),
        losses=float(-lead_g[lead_g < 0].sum() + 0.0),  # never -0
        lead=lead,
        tied_lead=share * float((lead_g * tied_g).sum()) / len(lead_g) if len(lead_g) else 0.0,
        whole=labels == apart.items,
    )


def _leads(votes: Votes, fit: Fit) -> _Leads:
    majority = Majority().fit(votes)
    gold_i = np.full(len(votes.items), -1) if votes.gold_i is None else np.asarray(votes.gold_i)
    known = np.flatnonzero((gold_i >= 0) & (votes.votes_i > 0))
    before_gk, after_gk = chances(majority.posterior[known]), chances(np.asarray(fit.posterior)[known])
    differ = np.flatnonzero((before_gk != after_gk).any(axis=1))
    truth = gold_i[known][differ]
    rows = np.arange(len(differ))
    lead_g = after_gk[differ][rows, truth] - before_gk[differ][rows, truth]
    tied_g = (before_gk[differ].max(axis=1, initial=0.0) < 1).astype(float)
    key_g = name_hashes([votes.items[i] for i in known[differ]], ORDER_SEED) if len(differ) else np.empty(0, np.uint64)
    return _Leads(lead_g, tied_g, key_g, len(known))


class ExpectedGain(NamedTuple):
    """What a rule expects of itself against majority vote, if its own probabilities hold."""

    gain: float  # in accuracy
    luck: float  # its standard deviation on these items
    tied: float  # the part of the gain that comes from items that majority vote leaves tied
    lead: float  # mean of 1[rule right] - 1[majority right] over the items on which they differ
    decisive: float  # mean of its square there
    least: float  # the smallest and the largest gain that any single model expects
    most: float


def expected_gain(
    majority: Fit, fit: Fit, belief_ik: FloatArray, models: Sequence[FloatArray] = ()
) -> ExpectedGain | None:
    """The gain of a fit over majority vote if `belief_ik` are the probabilities; None where they do not differ.

    `models` are the probabilities of single models, of which the belief may be the mean.

    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> from dataclasses import replace
    >>> majority = Majority().fit(votes)
    >>> posterior = np.array([[.6, .4], [.9, .1]])
    >>> expected_gain(majority, replace(majority, posterior=posterior), posterior).gain
    0.45
    """
    voted_i = majority.votes_i > 0
    before_ik, after_ik = chances(majority.posterior[voted_i]), chances(fit.posterior[voted_i])
    differ_i = row_maxima(np.abs(after_ik - before_ik)) > 0
    if not differ_i.any():
        return None
    lead_dk = after_ik[differ_i] - before_ik[differ_i]
    posterior_dk, *each = (model_ik[voted_i][differ_i] for model_ik in (belief_ik, *models))
    mean_d, square_d = (posterior_dk * lead_dk).sum(axis=1), (posterior_dk * lead_dk**2).sum(axis=1)
    tied_d, n_items = before_ik[differ_i].max(axis=1) < 1, len(differ_i)
    gains = [float((model_dk * lead_dk).sum()) / n_items for model_dk in (posterior_dk, *each)]
    return ExpectedGain(
        gain=gains[0],
        luck=float(np.sqrt((square_d - mean_d**2).sum())) / n_items,
        tied=float(mean_d[tied_d].sum()) / n_items,
        lead=float(mean_d.mean()),
        decisive=float(square_d.mean()),
        least=min(gains),
        most=max(gains),
    )


@dataclass(frozen=True, slots=True)
class GoldAccuracy:
    """The share of gold items that are labelled right, a tie counting as a fair draw among the tied classes."""

    value: float
    low: float
    high: float
    n_items: int  # items with a gold label and at least one vote


def gold_accuracy(votes: Votes, fit: Fit, *, level: float) -> GoldAccuracy | None:
    """Accuracy on the items with gold, with its exact binomial (Clopper-Pearson) interval; None without gold.

    The interval is about all items, of which the gold ones are taken for a random sample; where all have gold, it is a
    point.

    >>> from majorant.methods.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> gold_accuracy(votes, Majority().fit(votes), level=.95).value
    0.75
    """
    if votes.gold_i is None:
        return None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    if not len(known):
        return None
    right = float(right_share(fit.posterior[known], votes.gold_i[known]).sum())
    whole = len(known) == int((votes.votes_i > 0).sum())  # then there is nothing left to guess
    low, high = (right / len(known),) * 2 if whole else clopper_pearson(right, len(known), level)
    return GoldAccuracy(right / len(known), low, high, len(known))


def right_share(posterior_gk: FloatArray, gold_g: IntArray) -> FloatArray:
    """For each item 1 if its label is right, 0 if not; a tie counts as a fair draw among the tied classes.

    >>> right_share(np.array([[.9, .1], [.5, .5]]), np.array([1, 1])).tolist()
    [0.0, 0.5]
    """
    return np.asarray(chances(posterior_gk)[np.arange(len(gold_g)), gold_g])
