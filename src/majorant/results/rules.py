"""Rules: whatever labels every item, by its name, on votes wherever they are; and who decides ties.

Majority vote means the plurality where there is one.  Ties are decided the same way under every rule, so two rules are
compared on the other items only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from majorant.backend import Backend, as_backend
from majorant.defaults import COMBINED, MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError
from majorant.evidence.certificate.claims import whole_or_sample
from majorant.kernels import Block, rows_in
from majorant.methods import ESTIMATORS, method_named
from majorant.methods.fit import Fit, leaders
from majorant.methods.judge import find_judges, judge_shares
from majorant.methods.weighted_vote import (
    combination,
    combine,
    combined_counts,
    fit_method,
    mean_row,
    members_for,
    unsuited,
)
from majorant.values import FloatArray, as_generator
from majorant.votes import Votes

AUTO = "auto"  # the rule of the answer


class Rule(NamedTuple):
    """A rule on all items, on the votes that are in memory, and how it is fitted to other votes."""

    everywhere: Fit
    here: Fit
    refit: Callable[[Votes], Fit]

    @property
    def name(self) -> str:
        """The name by which users call it."""
        return self.everywhere.method


def rule_named(rule: str, workers: Sequence[Hashable], *, beside: Sequence[str] = (WEIGHTED_VOTE,)) -> str:
    """The usual name of a rule: a method, or one or some of the workers as they are.

    A method wins over a worker of the same name, and a worker over another spelling of a method.

    >>> rule_named("DawidSkene", ["gpt", "gemini"]), rule_named("gpt+gemini", ["gpt", "gemini"])
    ('dawid-skene', 'gpt+gemini')
    """
    if rule in beside or rule in ESTIMATORS or find_judges(workers, rule):
        return rule
    try:
        return method_named(rule, beside=beside)
    except ConfigError as error:
        more = ", ..." if len(workers) > 12 else ""
        raise ConfigError(f"{error} Or name workers: {', '.join(map(str, workers[:12]))}{more}.") from None


def fit_rule(rule: str, votes: Votes, starts: Mapping[str, Fit] | None = None) -> Fit:
    """Fit a rule by its name; models start from their fits in `starts`, to other votes of the same workers.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_rule("weighted-vote", votes).labels(), fit_rule("z", votes).labels()
    (['yes'], ['no'])
    """
    if rule in ESTIMATORS:
        return fit_method(rule, votes, (starts or {}).get(rule))
    if rule != WEIGHTED_VOTE:
        return _fit_judges(as_backend(votes), rule)
    combined = combination(votes, starts)
    return fit_method(MAJORITY, votes) if combined is None else combined.fit


def _fit_judges(backend: Backend, rule: str) -> Fit:
    """The majority of the workers that a rule names, of all where these did not vote."""
    judges = list(find_judges(backend.votes.workers, rule_named(rule, backend.votes.workers)))
    votes_j = backend.votes_by_worker().sum(axis=1)
    if silent := [str(backend.votes.workers[j]) for j in judges if not votes_j[j]]:
        raise ConfigError(
            f"{silent[0]} has no votes of its own: if it repeats another worker, name that one, which counts for both."
        )
    weight_j = np.zeros(len(votes_j))
    weight_j[judges] = 1.0
    posterior = backend.rows(partial(judge_shares, weight_j))
    return replace(backend.fit(MAJORITY), method=rule, posterior=posterior)


def full_judges(backend: Backend) -> list[str]:
    """The workers who vote on nearly all items, those with most votes first."""
    votes_j, patterns = backend.votes_by_worker().sum(axis=1), backend.patterns()
    voted = int(patterns.items_p[patterns.votes_p > 0].sum())
    busy = [j for j in np.argsort(-votes_j, kind="stable").tolist() if votes_j[j] >= 0.9 * voted]
    return [str(backend.votes.workers[j]) for j in busy]


def rule_fit(backend: Backend, rule: str, seed: int) -> Fit:
    """Fit a rule by its name to all votes, as `check` does."""
    return fit_everywhere(backend, rule, seed) if backend.whole is None else fit_rule(rule, backend.whole)


def fit_everywhere(backend: Backend, rule: str, seed: int) -> Fit:
    """Fit a rule by its name to all votes, wherever they are; `seed` draws the sample that the weighted vote needs."""
    rule = rule_named(rule, backend.votes.workers)
    if rule not in ESTIMATORS and rule != WEIGHTED_VOTE:
        return _fit_judges(backend, rule)
    backend.refuse(rule)
    if rule != WEIGHTED_VOTE:
        return backend.fit(rule)
    sample = whole_or_sample(backend, rng=as_generator(seed))
    return fit_weighted_vote(backend, sample.votes)[0]


def fit_weighted_vote(backend: Backend, sample: Votes) -> tuple[Fit, Mapping[str, Fit]]:
    """Fit the weighted vote to votes that are not in memory, and its members; a sample says which models suit them."""
    members = members_for(sample)
    if not members:
        raise ConfigError(f"{WEIGHTED_VOTE} cannot be used on these votes: {unsuited(COMBINED[0], sample)}.")
    fits = {method: backend.fit(method) for method in members}
    nothing = np.empty((0, len(backend.votes.labels)))
    mean = combine({method: replace(fit, posterior=nothing) for method, fit in fits.items()})
    rows = {method: fit.posterior for method, fit in fits.items()}
    model = combined_counts(members, partial(backend.fit, "shared"), backend.patterns)
    return replace(mean, posterior=backend.rows(partial(mean_row, rows, model))), fits


def settle_ties(fit: Fit, majority: Fit, breaker: Fit | None) -> Fit:
    """The rule with majority vote's ties decided by another fit; None leaves them to a coin.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> majority = fit_rule("majority", votes)
    >>> settle_ties(majority, majority, replace(majority, posterior=np.array([[.6, .4], [.9, .1]]))).labels()
    ['n', 'y']
    """
    posterior_ik = _settled(fit.posterior, majority.posterior, (majority if breaker is None else breaker).posterior)
    return replace(fit, posterior=posterior_ik)


def settle_everywhere(backend: Backend, fit: Fit, majority: Fit, breaker: Fit | None) -> Fit:
    """The same for fits to all votes, wherever they are."""
    if backend.whole is not None:
        return settle_ties(fit, majority, breaker)
    posteriors = (fit.posterior, majority.posterior, (majority if breaker is None else breaker).posterior)
    return replace(fit, posterior=backend.rows(partial(_settled_block, posteriors)))


def _settled_block(posteriors: tuple[FloatArray, FloatArray, FloatArray], block: Block) -> FloatArray:
    return _settled(*(rows_in(posterior, block) for posterior in posteriors))


def _settled(rule_ik: FloatArray, majority_ik: FloatArray, breaker_ik: FloatArray) -> FloatArray:
    _, n_best_i = leaders(majority_ik)
    return np.where((n_best_i > 1)[:, None], breaker_ik, rule_ik)
