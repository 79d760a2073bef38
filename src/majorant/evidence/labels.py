"""Evidence from gold labels that came with the votes: valid at any number of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import MAJORITY
from majorant.evidence.betting import bounds
from majorant.evidence.evidence import Assumption, Evidence, Source, Status, Tested
from majorant.evidence.identical import Difference
from majorant.items import Keys, map_parts, name_hashes, names_at
from majorant.methods.fit import Fit, chances
from majorant.values import Estimate, FloatArray, clopper_pearson
from majorant.votes import IntArray, Votes

ORDER_SEED = 2**32 + 1  # seed of the order of the labels, chosen independently of them


class Leads(NamedTuple):
    """Gold items on which two rules differ: the lead of the other rule, a random key, and the number of gold items."""

    lead_g: FloatArray
    key_g: Keys
    labels: int


def gold_evidence(
    votes: Votes, present: Fit, rules: Mapping[str, tuple[Fit, Difference]], *, level: float, n_rules: int = 0
) -> tuple[Evidence, ...]:
    """The lead of each rule over the one in use, from the gold labels that came with the votes.

    Parameters
    ----------
    present : Fit
        Majority vote.
    rules : mapping
        Other rules, each with its difference from majority vote.  They must not have learned from these labels.
    level : float
        Probability that all intervals hold at once, at every number of labels; rules share the error.
    n_rules : int
        Number of rules that share the error, if these labels also decide about other rules.

    Returns
    -------
    tuple of Evidence
        Empty without gold labels.
    """
    if votes.gold_i is None:
        return ()
    alpha = (1 - level) / max(len(rules), n_rules, 1)
    found = [_evidence(votes, present, name, *rule, alpha=alpha, level=level) for name, rule in rules.items()]
    return tuple(one for one in found if one is not None)


def _evidence(
    votes: Votes, present: Fit, name: str, fit: Fit, difference: Difference, *, alpha: float, level: float
) -> Evidence | None:
    parts = list(map_parts(leads_of, votes, present, fit))
    labels = sum(part.labels for part in parts)
    if not labels:
        return None
    lead_g, key_g = (np.concatenate([part[n] for part in parts]) for n in range(2))
    return lead_evidence(name, lead_g, key_g, labels, difference, alpha=alpha, level=level)


def holdout_evidence(
    votes: Votes,
    rules: tuple[Fit, Fit],
    name: str,
    gold: tuple[IntArray, IntArray],
    learned_from: NDArray[np.bool_],
    difference: Difference,
    *,
    alpha: float,
    level: float,
) -> Evidence:
    """Evidence about a learned rule from held-out labels.

    Parameters
    ----------
    rules : tuple of Fit
        Majority vote, and the rule that was learned from some of the labels.
    gold : tuple of arrays
        Codes of the labelled items, and of their classes.
    learned_from : array of bool
        Whether the rule was learned from each label; the choice must not depend on any label.
    difference : Difference
        Difference between the two rules on all items.
    """
    item_g, truth_g = gold
    before_gk, after_gk = (chances(fit.take(item_g).posterior) for fit in rules)
    differ = (before_gk != after_gk).any(axis=1)
    rows = np.flatnonzero(differ & ~learned_from)
    lead_g = after_gk[rows, truth_g[rows]] - before_gk[rows, truth_g[rows]]
    rest = Difference(
        difference.items - int(learned_from.sum()), difference.differ - int((differ & learned_from).sum())
    )
    key_g = name_hashes(names_at(votes.items, item_g[rows]), ORDER_SEED) if len(rows) else np.empty(0, np.uint64)
    return lead_evidence(
        name,
        lead_g,
        key_g,
        int((~learned_from).sum()),
        rest,
        alpha=alpha,
        level=level,
        beyond=len(item_g) == difference.items,
    )


def lead_evidence(
    name: str,
    lead_g: FloatArray,
    key_g: Keys,
    labels: int,
    difference: Difference,
    *,
    alpha: float,
    level: float,
    beyond: bool = False,
) -> Evidence:
    """Evidence from labels on items where two rules differ; `lead_g` is the other rule's lead, `key_g` sets the order.

    `alpha` bounds the probability that the interval ever misses, at any number of labels.  The gain is that on the
    present items or, with `beyond`, on a larger population of which they are a sample.
    """
    lead_g, share = lead_g[np.argsort(key_g, kind="stable")], difference.stake
    whole = labels == difference.items
    value = share * float(lead_g.mean()) if len(lead_g) else 0.0 if whole else None
    if whole and not beyond:
        gain = Estimate(value, value, value)
    else:
        population = 10**9 if beyond else difference.differ
        low, high = bounds((lead_g + 1) / 2, population, alpha / 2, alpha / 2) if difference.differ else (0.5, 0.5)
        gain = Estimate(value, share * (2 * low - 1), share * (2 * high - 1))
    status = Status.PASSED if whole else Status.UNTESTED
    return Evidence(
        source=Source.LABELS,
        present=MAJORITY,
        other=name,
        gain=gain,
        level=level,
        assumptions=(Tested(Assumption.RANDOM_LABELS, status),),
        n_labels=labels,
        n_used=len(lead_g),
        wins=float(lead_g[lead_g > 0].sum()),
        losses=float(-lead_g[lead_g < 0].sum() + 0.0),  # avoids -0
    )


def leads_of(votes: Votes, present: Fit, fit: Fit) -> Leads:
    """The lead of the second rule on each gold item where two rules differ."""
    known = known_items(votes)
    before_gk, after_gk = chances(np.asarray(present.posterior)[known]), chances(np.asarray(fit.posterior)[known])
    differ = np.flatnonzero((before_gk != after_gk).any(axis=1))
    truth_g = np.empty(0, np.int64) if votes.gold_i is None else votes.gold_i[known][differ]
    rows = np.arange(len(differ))
    lead_g = after_gk[differ][rows, truth_g] - before_gk[differ][rows, truth_g]
    key_g = name_hashes(names_at(votes.items, known[differ]), ORDER_SEED) if len(differ) else np.empty(0, np.uint64)
    return Leads(lead_g, key_g, len(known))


def known_items(votes: Votes) -> IntArray:
    """Codes of the items that have votes and a gold label."""
    if votes.gold_i is None:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))


@dataclass(frozen=True, slots=True)
class GoldAccuracy:
    """Share of gold items that a rule labels correctly; ties count by their share."""

    value: float
    low: float
    high: float
    n_items: int  # items with a gold label and at least one vote


def gold_accuracy(votes: Votes, fit: Fit, *, level: float) -> GoldAccuracy | None:
    """Accuracy on gold items, with its exact binomial (Clopper-Pearson) interval; None without gold.

    The interval is for all items, assuming that the gold items are a random sample.  If all items have gold, it is a
    single point.

    >>> from majorant.methods.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> gold_accuracy(votes, Majority().fit(votes), level=.95).value
    0.75
    """
    known = known_items(votes)
    if not len(known) or votes.gold_i is None:
        return None
    right = float(right_share(fit.posterior[known], votes.gold_i[known]).sum())
    whole = len(known) == int((votes.votes_i > 0).sum())  # then the accuracy is known exactly
    low, high = (right / len(known),) * 2 if whole else clopper_pearson(right, len(known), level)
    return GoldAccuracy(right / len(known), low, high, len(known))


def right_share(posterior_gk: FloatArray, gold_g: IntArray) -> FloatArray:
    """For each item, 1 if its label is right and 0 if not; ties count by their share.

    >>> right_share(np.array([[.9, .1], [.5, .5]]), np.array([1, 1])).tolist()
    [0.0, 0.5]
    """
    return np.asarray(chances(posterior_gk)[np.arange(len(gold_g)), gold_g])
