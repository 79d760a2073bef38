"""Compare all methods by their accuracy, measured on gold labels or estimated by models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np

from majorant.defaults import LEVEL, MAJORITY, WEIGHTED_VOTE, WORKER_METHOD
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.labels import gold_accuracy
from majorant.evidence.rules import fit_cross_validated, fit_rule, full_judges, learns_from_gold, rule_named
from majorant.methods import ESTIMATORS, Caveat, fit_method, unsuited
from majorant.methods.fit import NO_LABEL, Fit, chances
from majorant.methods.weighted_vote import fit_models, weigh_votes
from majorant.read import Reading, as_votes
from majorant.setting import Setting
from majorant.tabular import Records
from majorant.values import Estimate, FloatArray, Missing, as_level
from majorant.votes import Votes

UNKNOWN = Estimate(None, reason=Missing.NO_MODEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A method and its accuracy."""

    method: str
    accuracy: Estimate = UNKNOWN  # measured on gold labels if there are any, else estimated by models
    source: Literal["gold", "model"] = "model"
    agreement: float | None = None  # share of majority vote's labels that it agrees with
    note: Caveat | None = None  # why it was not run, or a caveat

    def row(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {
            "method": self.method,
            "accuracy": self.accuracy.value,
            "accuracy_low": self.accuracy.low,
            "accuracy_high": self.accuracy.high,
            "source": self.source,
            "agreement": self.agreement,
            "note": "" if self.note is None else str(self.note),
        }


def rate_method(
    fit: Fit, votes: Votes, majority: Fit, belief: FloatArray | None, *, level: float, name: str | None = None
) -> Alternative:
    """Rate a fitted method on gold labels or, without gold, by the models' posterior `belief`."""
    by_gold = gold_accuracy(votes, fit, level=level)
    if by_gold is not None:
        accuracy = Estimate(by_gold.value, by_gold.low, by_gold.high)
    else:
        accuracy = UNKNOWN if belief is None else expected_accuracy(fit, belief)
    return Alternative(
        method=name or fit.method,
        accuracy=accuracy,
        source="model" if by_gold is None else "gold",
        agreement=agreement(fit, majority),
        note=None if fit.converged else Caveat.NOT_CONVERGED,
    )


def expected_accuracy(fit: Fit, belief_ik: FloatArray) -> Estimate:
    """Expected share of right labels if the given probabilities are right; ties are decided by a coin."""
    voted = np.flatnonzero(fit.votes_i > 0)
    if not len(voted):
        return Estimate(None, reason=Missing.NO_VOTES)
    right_i = np.einsum("ik,ik->i", chances(fit.posterior[voted]), belief_ik[voted])
    return Estimate(float(right_i.mean()), reason=Missing.MODEL_FIGURE)


def agreement(fit: Fit, majority: Fit) -> float | None:
    """Share of majority vote's labels that a fit agrees with; None if it gives no label."""
    majority_i = majority.codes()
    labelled = majority_i != NO_LABEL
    return float((fit.codes()[labelled] == majority_i[labelled]).mean()) if labelled.any() else None


def compare(
    votes: Any,
    rules: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    **reading: Unpack[Reading],
) -> Records[Alternative]:
    """Compare the accuracy of methods and judges.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments, such as `gold=`.
    rules : sequence of str, optional
        Methods, `weighted-vote`, or judges; "a+b+c" is the majority vote of these judges.  By default the weighted
        vote, every method and, for a panel, each judge.
    level : float
        Confidence level of the intervals, which are available with gold labels.

    Returns
    -------
    Records of Alternative
        One row per rule, with a note if a method does not suit these votes.  Nothing is selected, so accuracies on gold
        are unbiased; methods that learn from gold are cross-validated.

    Examples
    --------

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.6, .3, .1], [[.8, .1, .1], [.1, .8, .1], [.2, .2, .6]], 60, 3, n_workers=6, rng=0)
    >>> rows = {row.method: row for row in compare(votes)}
    >>> str(rows["kos"].note), rows["majority"].agreement
    ('for two classes only', 1.0)
    """
    votes = as_votes(votes, **reading)
    as_level(level)
    blind, setting = replace(votes, gold_i=None), Setting.of(votes)
    majority, models = fit_method(MAJORITY, blind), fit_models(blind, setting)
    fits = {MAJORITY: majority, WEIGHTED_VOTE: weigh_votes(blind, setting, majority, models)}
    fits |= {name: fit for name, fit in models.items() if name in ESTIMATORS}
    names: Sequence[str] = [WEIGHTED_VOTE, *ESTIMATORS]
    if rules is not None:
        names = [rule_named(rule, votes.workers) for rule in rules]
    elif setting.panel:
        names = [*names, *(judge for judge in full_judges(blind) if judge not in names)]
    fits |= {name: fit_rule(name, blind, setting) for name in names if name not in (*ESTIMATORS, *fits)}
    belief = believe(blind, models)
    return Records(_row(name, votes, fits.get(name), majority, belief, level=level) for name in names)


def believe(votes: Votes, models: Mapping[str, Fit]) -> FloatArray | None:
    """The mean posterior of models of the votes, by which rules are rated without gold; None if none can be fitted."""
    if len(votes.labels) < 2 or not votes.n_votes:
        return None
    names = [name for name in ("ebcc", WORKER_METHOD) if not unsuited(name, votes)]
    fits = [models.get(name) or fit_method(name, votes) for name in names]
    return np.mean([fit.posterior for fit in fits], axis=0) if fits else None


def _row(
    method: str, votes: Votes, fit: Fit | None, majority: Fit, belief: FloatArray | None, *, level: float
) -> Alternative:
    if fit is None:
        if reason := unsuited(method, votes):
            return Alternative(method=method, note=reason)
        try:
            fit = _fit_unseen(method, votes)
        except (ConfigError, NotIdentified):  # for reasons that only the fit reveals, such as too little overlap
            return Alternative(method=method, note=Caveat.NOT_IDENTIFIED)
    return rate_method(fit, votes, majority, belief, level=level, name=method)


def _fit_unseen(method: str, votes: Votes) -> Fit:
    """Fit a method; those that learn from gold are cross-validated on the gold items."""
    return fit_cross_validated(method, votes) if learns_from_gold(method) else fit_method(method, votes)
