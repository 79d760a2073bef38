"""Which rule to use and why: majority vote where that is enough, else the mean of models that fail differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from majorant.answer.candidates import CANDIDATES, fit_method, has_gold, n_gold, unsuited
from majorant.answer.combine import COMBINATION, Combination, combination
from majorant.answer.gold_choice import ENOUGH_GOLD, LEARNERS, GoldChoice, choose_by_gold
from majorant.answer.gold_test import GoldTest
from majorant.certify.certificate import Certificate, Claim
from majorant.errors import ConfigError
from majorant.estimate.fit import NO_LABEL, TIE_TOLERANCE, Fit
from majorant.interval import Estimate, as_level
from majorant.randomness import as_generator
from majorant.votes import Votes

TOLERANCE = 0.005  # accuracy that nobody would pay a model for
SUPPORTED_SHARE = 0.99  # of the items
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

    def row(self) -> dict[str, Any]:
        """The method with what is known of it, plain values all of them."""
        return {
            "method": self.method,
            "accuracy": self.accuracy.value,
            "accuracy_low": self.accuracy.low,
            "accuracy_high": self.accuracy.high,
            "gold": self.gold.value,
            "gold_low": self.gold.low,
            "gold_high": self.gold.high,
            "agreement": self.agreement,
            "score": self.score,
            "note": self.note,
        }


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
    weight: Mapping[str, float]  # of each model where they are combined, else empty


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
    seed = seed_of_fits(generator)
    enough = why_enough(certificate, tolerance)
    fits, made = {"majority": majority}, None
    if method == COMBINATION or (method is None and not enough and _can_tell(votes)):
        made = combination(votes, seed)
    if made is not None:
        fits |= {**made.fits, COMBINATION: made.fit}
    elif method not in (None, "majority"):
        fits[method] = fit_method(method, votes, seed)
    chosen, reason = _without_gold(certificate.named, enough, made, method)
    by_gold = None
    if len(fits) > 1 and has_gold(votes):
        fits |= _others(votes, fits, seed) if method is None and n_gold(votes) >= ENOUGH_GOLD else {}
        by_gold = choose_by_gold(votes, fits, chosen, level=level, rng=generator, free=method is None)
        if by_gold.method != chosen:
            chosen, reason = by_gold.method, by_gold.reason(chosen)
            fits |= by_gold.learned
        elif method is None and by_gold.n_items < ENOUGH_GOLD:
            reason = f"{reason[:-1]}; {by_gold.n_items} gold items are too few to choose by."
    return _decision(votes, fits, made, by_gold, method=chosen, reason=reason, majority_enough=bool(enough))


def seed_of_fits(rng: np.random.Generator) -> int:
    """The seed from which every method that draws starts: the first thing that `decide` draws."""
    return int(rng.integers(2**32))


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


def _can_tell(votes: Votes) -> bool:
    """Whether there are two classes, and an item with the three votes that it takes to tell who is good."""
    return len(votes.labels) > 1 and bool(votes.votes_i.max(initial=0) > 2)


def _without_gold(named: Claim | None, enough: str, made: Combination | None, method: str | None) -> tuple[str, str]:
    """What to use as far as the votes alone tell, and why."""
    if method is not None:
        return method, f"{method} was asked for."
    if enough:
        return "majority", enough
    if made is None:
        return "majority", "No item has three votes on two classes, so nothing shows whose votes are better."
    loss = None if named is None or named.verdict == "void" else named.loss.value
    first = (
        "What majority vote gives away is not known"
        if loss is None
        else f"Majority vote gives away {100 * loss:.1f} points"
    )
    models = ", ".join(f"{name} {share:.0%}" for name, share in made.weight.items() if share)
    if made.independent:
        return COMBINATION, f"{first}: models count by how well they predict items not seen ({models})."
    return COMBINATION, f"{first} and votes may depend on each other: models count alike ({models})."


def _others(votes: Votes, fits: Mapping[str, Fit], seed: int) -> dict[str, Fit]:
    """All candidates that were not fitted yet: gold labels can tell them apart."""
    names = [name for name in CANDIDATES if name not in fits and not unsuited(name, votes)]
    return {name: fit_method(name, votes, seed) for name in names}


def _decision(
    votes: Votes, fits: Mapping[str, Fit], made: Combination | None, by_gold: GoldChoice | None, **said: Any
) -> Decision:
    """The decision about `said` method, with what follows from its labels."""
    fit, majority = fits[said["method"]], fits["majority"]
    code_i, majority_i = fit.codes(), majority.codes()
    return Decision(
        **said,
        fit=fit,
        alternatives=_alternatives(votes, fits, made, by_gold, said["method"]),
        labels_changed=int(((code_i != majority_i) & (majority_i != NO_LABEL) & (code_i != NO_LABEL)).sum()),
        ties_settled=int(((majority_i == NO_LABEL) & (code_i != NO_LABEL)).sum()),
        gold_test=None if by_gold is None else by_gold.test,
        weight={} if made is None else made.weight,
    )


def _alternatives(
    votes: Votes, fits: Mapping[str, Fit], made: Combination | None, by_gold: GoldChoice | None, chosen: str
) -> tuple[Alternative, ...]:
    """A row for each method that was run, and for each candidate that was not, with the reason."""
    rows = [
        Alternative(
            method=name,
            accuracy=NO_MODEL if made is None else expected_accuracy(fit, made.fit),
            score=None if made is None else made.score.get(name),
            agreement=agreement(fit, fits["majority"]),
            gold=NO_GOLD if by_gold is None else by_gold.chosen if name == chosen else by_gold.accuracy[name],
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


def agreement(fit: Fit, majority: Fit) -> float | None:
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
    if method != COMBINATION:
        return fit_method(method, votes, seed)
    made = combination(votes, seed)
    return fit_method("majority", votes, seed) if made is None else made.fit
