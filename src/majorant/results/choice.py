"""Which rule majority vote is compared with: the mean of models that fail differently, or what gold or the user names.

Whether that rule is used is another matter: `answer.py`.  `compare` shows all methods side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from majorant.ask.question import Outcome
from majorant.backend import Backend
from majorant.defaults import LEVEL, MAJORITY
from majorant.errors import ConfigError, NotIdentified
from majorant.methods import ESTIMATORS, method_named
from majorant.methods.fit import NO_LABEL, Fit, chances
from majorant.methods.known_workers import AnchorMap
from majorant.results.combine import (
    COMBINATION,
    Combination,
    combination,
    fit_everywhere,
    fit_method,
    n_gold,
    unsuited,
)
from majorant.results.difference import gold_accuracy, right_share
from majorant.results.labels import compare_labels
from majorant.tabular import Records
from majorant.values import Estimate, FloatArray, as_generator, as_level
from majorant.votes import Votes
from majorant.wording import DID_NOT_CONVERGE, MODEL_IS_TRUTH, NO_MODEL, NO_VOTED_ITEM

AUTO = "auto"  # the rule that suits the votes best
ChosenBy = Literal["default", "gold", "user", "votes"]  # votes: they can bear no other rule than majority vote
ENOUGH_GOLD = 50  # items; with fewer the best of several rules is mostly the luckiest
UNFITTED = Estimate(None, reason=NO_MODEL)
LEAD_ERRORS = 2.0  # standard errors by which gold must set a rule before the one that is compared without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A method that was used, or could have been, with the one figure there is of its accuracy."""

    method: str
    accuracy: Estimate = UNFITTED  # by gold where there is gold, else the model's own figure
    source: Literal["gold", "model"] = "model"
    agreement: float | None = None  # share of the items that majority vote labels on which it says the same
    note: str = ""  # why it was not run, or what to know about it

    def row(self) -> dict[str, Any]:
        """The method with what is known of it, plain values all of them."""
        return {
            "method": self.method,
            "accuracy": self.accuracy.value,
            "accuracy_low": self.accuracy.low,
            "accuracy_high": self.accuracy.high,
            "source": self.source,
            "agreement": self.agreement,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decision:
    """The rule that majority vote is compared with, where it comes from, its fit, and what else there was."""

    method: str
    chosen_by: ChosenBy
    fit: Fit
    members: Mapping[str, Fit]  # of the combination, from which fits to other votes of these workers go on
    belief: FloatArray  # (items, classes): the probabilities by which its gain is expected
    models: tuple[FloatArray, ...]  # those of each model by itself, which may expect another gain
    alternatives: tuple[Alternative, ...]
    labels_changed: int  # items that majority vote labels otherwise
    ties_settled: int  # items that majority vote leaves tied and the rule does not
    n_rivals: int  # rules from which gold could choose: their comparisons with majority vote share one error budget

    @property
    def expectation(self) -> tuple[Fit, FloatArray, tuple[FloatArray, ...]]:
        """The fit, and by which probabilities its gain is expected: together, and by each model."""
        return self.fit, self.belief, self.models


def decide(
    votes: Votes,
    majority: Fit,
    *,
    level: float = LEVEL,
    rng: int | np.random.Generator,
    method: str | None = None,
) -> Decision:
    """The combination of models, unless 50 or more gold labels single out one of them, or `method` names another.

    `majority` must come from the same votes.  Where no item has three votes on two classes nothing shows whose votes
    are better, and majority vote stands alone.  docs/decide.md has the reasons.
    """
    as_level(level)
    seed = seed_of_fits(as_generator(rng))
    combined = None
    # It takes two classes, and an item with three votes, to tell who is good.
    can_tell = len(votes.labels) > 1 and votes.votes_i.max(initial=0) > 2
    if method == COMBINATION or (method is None and can_tell):
        combined = combination(votes, seed)
    fits = {MAJORITY: majority}
    if combined is not None:
        fits |= {name: fit for name, fit in combined.fits.items() if name != MAJORITY} | {COMBINATION: combined.fit}
    elif method == COMBINATION:
        raise ConfigError(f"{COMBINATION} cannot be used on these votes: no model can be fitted to them.")
    elif method not in (None, MAJORITY):
        fits[method] = fit_method(method, votes, seed)
    chosen = method or (COMBINATION if combined is not None else MAJORITY)
    chosen_by: ChosenBy = "user" if method is not None else "votes" if combined is None else "default"
    free = method is None and combined is not None and n_gold(votes) >= ENOUGH_GOLD
    if free and (best := best_by_gold(votes, fits, chosen)) != chosen:
        chosen, chosen_by = best, "gold"
    moved = compare_labels(majority, fits[chosen])
    return Decision(
        method=chosen,
        chosen_by=chosen_by,
        fit=fits[chosen],
        members={} if combined is None else combined.fits,
        belief=combined.belief.posterior if combined is not None and chosen == COMBINATION else fits[chosen].posterior,
        models=()
        if combined is None
        else tuple(model.posterior for name, model in combined.fits.items() if name != MAJORITY),
        alternatives=tuple(
            alternative(name, fit, votes, majority, combined, level=level) for name, fit in fits.items()
        ),
        labels_changed=moved.changed,
        ties_settled=moved.settled,
        n_rivals=len(fits) - 1 if free else 1,
    )


def seed_of_fits(rng: np.random.Generator) -> int:
    """The seed from which every method that draws starts: the first thing that `decide` draws."""
    return int(rng.integers(2**32))


def best_by_gold(votes: Votes, fits: Mapping[str, Fit], default: str) -> str:
    """The rule beside majority vote with the best gold accuracy, if it leads the default by two standard errors.

    A tie counts as the fair draw that would break it; the fits must not have learned from gold.
    """
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    gold_g = votes.gold_i[known]
    right = {name: right_share(fit.posterior[known], gold_g) for name, fit in fits.items() if name != MAJORITY}
    lead = {name: right_g - right[default] for name, right_g in right.items()}
    best = max(lead, key=lambda name: (lead[name].mean(), name == default))
    error = lead[best].std() / np.sqrt(len(known))
    return best if lead[best].mean() > LEAD_ERRORS * error else default


def alternative(
    name: str, fit: Fit, votes: Votes, majority: Fit, combined: Combination | None, *, level: float
) -> Alternative:
    """The facts of one method: its accuracy by gold where there is gold, else by the mean of the models."""
    by_gold = gold_accuracy(votes, fit, level=level)
    expected = UNFITTED if combined is None else expected_accuracy(fit, combined.belief)
    return Alternative(
        method=name,
        accuracy=expected if by_gold is None else Estimate(by_gold.value, by_gold.low, by_gold.high),
        source="model" if by_gold is None else "gold",
        agreement=agreement(fit, majority),
        note="" if fit.converged else DID_NOT_CONVERGE,
    )


def expected_accuracy(fit: Fit, truth: Fit) -> Estimate:
    """The expected share of right labels of `fit` if the posterior of `truth` holds; a tie is a fair draw."""
    voted = np.flatnonzero(fit.votes_i > 0)
    if not len(voted):
        return Estimate(None, reason=NO_VOTED_ITEM)
    right_i = np.einsum("ik,ik->i", chances(fit.posterior[voted]), truth.posterior[voted])
    return Estimate(float(right_i.mean()), reason=MODEL_IS_TRUTH)


def agreement(fit: Fit, majority: Fit) -> float | None:
    """The share of the items that majority vote labels on which `fit` says the same."""
    majority_i = majority.codes()
    labelled = majority_i != NO_LABEL
    return float((fit.codes()[labelled] == majority_i[labelled]).mean()) if labelled.any() else None


def fit_rule(method: str, votes: Votes, seed: int, starts: Mapping[str, Fit] | None = None) -> Fit:
    """The fit of a rule by the name that a Decision gives it, for the same votes or for others.

    Models go on from their fits in `starts`, to other votes of the same workers.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_rule("combination", votes, 0).labels()
    ['yes']
    """
    if method != COMBINATION:
        return fit_method(method, votes, seed, (starts or {}).get(method))
    combined = combination(votes, seed, starts)
    return fit_method(MAJORITY, votes, seed) if combined is None else combined.fit


def rule_fit(backend: Backend, rule: str, seed: int) -> Fit:
    """The fit of a rule by its name, on all votes, as `check` fits it."""
    rule, start = method_named(rule, beside=[AUTO, COMBINATION]), seed_of_fits(as_generator(seed))
    if backend.whole is not None:
        return fit_rule(rule, backend.whole, start)
    return fit_everywhere(backend, rule, start, sample_seed=seed)


def rival_of(expert: Outcome) -> str | None:
    """The rule that labels drawn by design compare with majority vote: the leader, or the last that was compared."""
    if expert.kind != "rules" or expert.rules[0] != MAJORITY:
        return None
    return expert.leader if expert.leader != MAJORITY else expert.rules[-1]


def compare(votes: Votes, *, level: float = LEVEL, rng: int | np.random.Generator) -> Records[Alternative]:
    """A row for every method, the combination first; one that these votes cannot bear says why.

    Nothing is chosen here, so the gold accuracy of each method is its own; one that learns from gold judges each gold
    item without that item's label.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.6, .3, .1], [[.8, .1, .1], [.1, .8, .1], [.2, .2, .6]], 60, 3, n_workers=6, rng=0)
    >>> rows = {row.method: row for row in compare(votes, rng=0)}
    >>> rows["kos"].note, rows["majority"].agreement
    ('for two classes only', 1.0)
    """
    as_level(level)
    seed = seed_of_fits(as_generator(rng))
    blind = replace(votes, gold_i=None)
    combined = combination(blind, seed) if len(votes.labels) > 1 else None
    majority = fit_method(MAJORITY, blind, seed)
    fits = (
        {MAJORITY: majority} if combined is None else {**combined.fits, MAJORITY: majority, COMBINATION: combined.fit}
    )
    return Records(
        _row(method, votes, fits.get(method), majority, combined, level=level, seed=seed)
        for method in ([] if combined is None else [COMBINATION]) + list(ESTIMATORS)
    )


def _row(
    method: str, votes: Votes, fit: Fit | None, majority: Fit, combined: Combination | None, *, level: float, seed: int
) -> Alternative:
    if fit is None:
        if reason := unsuited(method, votes):
            return Alternative(method=method, note=reason)
        try:
            fit = _blind(method, votes, seed)
        except (ConfigError, NotIdentified) as error:  # it finds in the data what it cannot do: too little overlap
            return Alternative(method=method, note=str(error))
    return alternative(method, fit, votes, majority, combined, level=level)


def _blind(method: str, votes: Votes, seed: int) -> Fit:
    """The fit of a method; one that learns from gold judges each gold item without its own label."""
    if method == AnchorMap.name:
        return AnchorMap(leave_one_out=True).fit(votes)
    return fit_method(method, votes, seed)
