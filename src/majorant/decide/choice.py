"""Which rule to use and why: majority vote where that is enough, else the mean of models that fail differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from majorant.certify.certificate import Certificate
from majorant.decide.candidates import CANDIDATES, fit_method, has_gold, n_gold, unsuited
from majorant.decide.combine import COMBINATION, combine
from majorant.decide.gold_choice import ENOUGH_GOLD, LEARNERS, GoldChoice, choose_by_gold
from majorant.decide.gold_test import GoldTest
from majorant.errors import ConfigError
from majorant.estimate.fit import NO_LABEL, TIE_TOLERANCE, Fit
from majorant.interval import Estimate, as_level
from majorant.randomness import as_generator
from majorant.votes import Votes

TOLERANCE = 0.005  # accuracy that nobody would pay a model for
SUPPORTED_SHARE = 0.99  # of the items
MEMBERS = ("one-coin", "hierarchical", "ebcc")
NO_GOLD = Estimate(None, reason="no item with votes has a gold label")
NO_MODEL = Estimate(None, reason="no model was fitted")
NOT_NEEDED = "not run: the choice does not need it"
MODEL_IS_TRUTH = "no interval: the combination of models is taken for the truth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A method that was used, or could have been."""

    method: str
    accuracy: Estimate = NO_MODEL  # expected accuracy of its labels
    score: float | None = None  # what the choice was made by; the higher the better
    agreement: float | None = None  # share of the items that majority vote labels on which it says the same
    gold: Estimate = NO_GOLD  # accuracy on gold items that it has not learned from
    note: str = ""  # why it was not run, or what to know about it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decision:
    """The rule to use, why, its fit, and what else there was."""

    method: str
    reason: str  # one sentence
    fit: Fit
    majority_enough: bool
    alternatives: tuple[Alternative, ...]
    labels_changed: int  # items that majority vote labels otherwise
    ties_settled: int  # items that majority vote leaves tied and the rule does not
    gold_test: GoldTest | None


def decide(
    votes: Votes,
    certificate: Certificate,
    majority: Fit,
    *,
    tolerance: float = TOLERANCE,
    level: float = 0.95,
    rng: int | np.random.Generator,
    method: str | None = None,
) -> Decision:
    """Majority vote where it is enough, else the combination of models; gold labels decide where there are enough.

    `certificate` and `majority` must come from the same votes; `method` overrules the choice.  The rule in three
    sentences, and the reasons for it: docs/decide.md.
    """
    as_level(level)
    if not 0 <= tolerance <= 1:
        raise ConfigError(f"tolerance is a share of items, 0 to 1, not {tolerance!r}.")
    generator = as_generator(rng)
    seed = int(generator.integers(2**32))
    enough = why_enough(certificate, tolerance)
    fits = {"majority": majority}
    if method is not None:
        fits |= {} if method == "majority" else _fit(method, votes, seed)
    elif not enough:
        fits |= _fit_candidates(votes, seed)
    chosen, reason = _without_gold(fits, method, enough, certificate)
    by_gold = None
    if len(fits) > 1 and has_gold(votes):
        by_gold = choose_by_gold(votes, fits, chosen, level=level, rng=generator, free=method is None)
        if by_gold.method != chosen:
            chosen, reason = by_gold.method, by_gold.reason(chosen)
            fits |= by_gold.learned
    return _decision(votes, fits, chosen, reason, bool(enough), by_gold)


def why_enough(certificate: Certificate, tolerance: float) -> str:
    """Why majority vote is enough, in a sentence; empty where it may not be.

    A void claim counts for nothing: its loss supposes independent votes, and votes that depend on each other are just
    where other rules gain more than a model of independent votes can see.
    """
    named = certificate.named
    if named is None or named.verdict == "void":
        return ""
    if named.items_certified is not None and named.items_certified >= SUPPORTED_SHARE:
        return f"No rule is expected to beat majority vote on {named.items_certified:.1%} of the items."
    if named.loss.high is not None and named.loss.high < tolerance:
        return f"Majority vote gives away at most {100 * named.loss.high:.2f} points, below the tolerance."
    return ""


def _without_gold(
    fits: Mapping[str, Fit], method: str | None, enough: str, certificate: Certificate
) -> tuple[str, str]:
    """What to use as far as the votes alone tell, and why."""
    if method is not None:
        return method, f"{method} was asked for."
    if enough:
        return "majority", enough
    if COMBINATION not in fits:
        return "majority", "No model can be fitted to these votes, so there is nothing to set against majority vote."
    named = certificate.named
    if named is not None and named.verdict == "void":
        return COMBINATION, "Votes depend on each other, so models that err in different ways are averaged."
    if named is not None and named.loss.value is not None and named.loss.high is not None:
        return COMBINATION, (
            f"Majority vote may give away {100 * named.loss.value:.1f} points (at most {100 * named.loss.high:.1f}), "
            "so models that err in different ways are averaged."
        )
    return COMBINATION, "What majority vote gives away is not known, so models that err in different ways are averaged."


def _fit(method: str, votes: Votes, seed: int) -> dict[str, Fit]:
    """The fit of a method that was asked for, and of what it is made of."""
    if method != COMBINATION:
        return {method: fit_method(method, votes, seed)}
    fits = {name: fit_method(name, votes, seed) for name in MEMBERS if not unsuited(name, votes)}
    return {**fits, COMBINATION: combine(list(fits.values()))} if fits else {}


def _fit_candidates(votes: Votes, seed: int) -> dict[str, Fit]:
    """The combination and its members; all candidates where gold labels can tell them apart."""
    if votes.votes_i.max(initial=0) < 2 or len(votes.labels) < 2:
        return {}
    fits = _fit(COMBINATION, votes, seed)
    if n_gold(votes) >= ENOUGH_GOLD:
        others = [name for name in CANDIDATES if name not in fits and not unsuited(name, votes)]
        fits |= {name: fit_method(name, votes, seed) for name in others}
    return fits


def _decision(
    votes: Votes, fits: Mapping[str, Fit], chosen: str, reason: str, enough: bool, by_gold: GoldChoice | None
) -> Decision:
    code_i, majority_i = fits[chosen].codes(), fits["majority"].codes()
    return Decision(
        method=chosen,
        reason=reason,
        fit=fits[chosen],
        majority_enough=enough,
        alternatives=_alternatives(votes, fits, by_gold),
        labels_changed=int(((code_i != majority_i) & (majority_i != NO_LABEL) & (code_i != NO_LABEL)).sum()),
        ties_settled=int(((majority_i == NO_LABEL) & (code_i != NO_LABEL)).sum()),
        gold_test=None if by_gold is None else by_gold.test,
    )


def _alternatives(votes: Votes, fits: Mapping[str, Fit], by_gold: GoldChoice | None) -> tuple[Alternative, ...]:
    """A row for each method that was run, the reason for each candidate that was not."""
    truth = fits.get(COMBINATION)
    rows = [
        Alternative(
            method=name,
            accuracy=NO_MODEL if truth is None else expected_accuracy(fit, truth),
            agreement=_agreement(fit, fits["majority"]),
            gold=NO_GOLD if by_gold is None else by_gold.accuracy[name],
            note="" if fit.converged else "did not converge",
        )
        for name, fit in fits.items()
    ]
    left = [name for name in CANDIDATES if name not in fits]
    return (*rows, *(Alternative(method=name, note=unsuited(name, votes) or NOT_NEEDED) for name in left))


def expected_accuracy(fit: Fit, truth: Fit) -> Estimate:
    """The expected share of right labels of `fit` if the posterior of `truth` holds; a tie is a fair draw."""
    voted = np.flatnonzero(fit.votes_i > 0)
    if not len(voted):
        return Estimate(None, reason="no item has a vote")
    posterior_ik = fit.posterior[voted]
    best_ik = posterior_ik >= posterior_ik.max(axis=1, keepdims=True) - TIE_TOLERANCE
    right_i = (best_ik * truth.posterior[voted]).sum(axis=1) / best_ik.sum(axis=1)
    return Estimate(float(right_i.mean()), reason=MODEL_IS_TRUTH)


def _agreement(fit: Fit, majority: Fit) -> float | None:
    """The share of the items that majority vote labels on which `fit` says the same."""
    majority_i = majority.codes()
    labelled = majority_i != NO_LABEL
    return float((fit.codes()[labelled] == majority_i[labelled]).mean()) if labelled.any() else None


def fit_rule(method: str, votes: Votes, seed: int) -> Fit:
    """The fit of a rule by the name that a Decision gives it, for the same votes or for others.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_rule("combination", votes, 0).labels()
    ['yes']
    """
    if method in LEARNERS:
        return LEARNERS[method](votes)
    return _fit(method, votes, seed)[method]
