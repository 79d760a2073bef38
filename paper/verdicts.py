"""How often plug-in estimates, Theorem 3.5 and certificates say that majority vote is optimal."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from majorant.evidence.certificate.radius import published_radius
from majorant.theory import majority_margin
from majorant.theory.paper import FalseAsPrinted, prior_from_shares, theorem_3_5, theorem_3_5_printed
from majorant.votes import IntArray
from paper.panel import (
    VOTES,
    Estimate,
    Model,
    certified,
    draw_patterns,
    estimate,
    histograms,
    optimal_at,
    pattern_shares,
)

PROVED, SUPPORTED = (f"certify, if votes are independent: {say}" for say in ("proved", "supported or proved"))
PRINTED, MENDED = "Theorem 3.5 as printed", "Theorem 3.5, corrected"
AS_IT_ANSWERS = (
    "With three votes on every item the product cannot test that votes are independent. As it answers, `certify` "
    "leaves every one of these sets open, and grades its answer by its record on public sets; drawn is what it "
    "supports and proves if votes are independent."
)
GAMMA = 0.1  # the published script's chance that the confusion matrix is off by more than eps
MANY = 1e9  # items: the limit of an estimate, from the exact shares of the patterns


class Rate(NamedTuple):
    """How often a rule said "optimal", and on how many data sets."""

    value: float
    n_sets: int

    @property
    def error(self) -> float:
        """The standard error, with half a data set added on both sides so that it is never 0."""
        near = (self.value * self.n_sets + 0.5) / (self.n_sets + 1)
        return math.sqrt(near * (1 - near) / self.n_sets)


def margin(model: Model) -> float:
    """The true margin, in nats."""
    return majority_margin(model.prior, model.confusion, VOTES)


def rates(
    model: Model,
    n_items: int,
    rng: np.random.Generator,
    *,
    methods: Sequence[str],
    theorem_on: Sequence[str] | None = None,
    n_sets: int,
    n_certified: int,
) -> dict[str, Rate]:
    """How often each rule says "optimal" on data sets with this many items; the first `n_certified` are certified.

    Theorem 3.5 starts from an estimate: from each method in turn, or from those in `theorem_on`.
    """
    items_rp = draw_patterns(model, n_items, rng, n_sets)
    found: dict[str, Rate] = {}
    by_theorem: dict[str, list[bool]] = {PRINTED: [], MENDED: []}
    for method in methods:
        estimates = [estimate(method, items_p) for items_p in items_rp]
        found[method] = Rate(float(optimal_at(estimates).mean()), n_sets)
        for one, items_p in zip(estimates, items_rp, strict=True):
            if theorem_on is None or method in theorem_on:
                for name, says in theorem_verdicts(one, items_p).items():
                    by_theorem[name].append(says)
    found |= {name: Rate(float(np.mean(says)), n_sets) for name, says in by_theorem.items()}
    proved_r, supported_r = certified(histograms(items_rp[:n_certified]))
    found[SUPPORTED], found[PROVED] = (Rate(float(one.mean()), n_certified) for one in (supported_r, proved_r))
    return found


def limit(model: Model, method: str) -> bool:
    """The limit of a plug-in verdict as the number of items grows."""
    return bool(optimal_at([estimate(method, MANY * pattern_shares(model))])[0])


def theorem_verdicts(found: Estimate, items_p: IntArray) -> dict[str, bool]:
    """Theorem 3.5 as printed and corrected, with the prior recovered from the label shares."""
    votes_k = histograms(items_p[None])[0] @ np.arange(VOTES + 1) / VOTES / items_p.sum()
    share_l = np.array([votes_k, 1 - votes_k])
    eps = published_radius(found.confusion_kl, share_l, float(items_p.sum()), error=GAMMA)
    nothing = {PRINTED: False, MENDED: False}
    if not np.isfinite(eps):
        return nothing
    prior_k = prior_from_shares(share_l, found.confusion_kl)
    xi = 1 - found.confusion_kl.diagonal().max()
    mended = theorem_3_5(share_l, found.confusion_kl, VOTES, eps=eps).certified
    if not (0 < prior_k[0] < 1 and 0 < xi < 0.5):
        return {PRINTED: False, MENDED: mended}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FalseAsPrinted)
        check = theorem_3_5_printed(prior_k, found.confusion_kl, VOTES, eps=eps, eta=float(prior_k.min()), xi=float(xi))
    return {PRINTED: check.certified, MENDED: mended}


def mean_rate(found: Sequence[Rate]) -> Rate:
    """The mean over models, with the total number of data sets."""
    return Rate(float(np.mean([one.value for one in found])), sum(one.n_sets for one in found))
