"""Several models of the same votes as one: the plain mean of what they believe, and of majority vote's own shares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from majorant.answer.alike import told_apart
from majorant.answer.candidates import fit_method, unsuited
from majorant.answer.outvoted import CountModel, count_model, keep_majorities
from majorant.backend import COMBINATION as COMBINATION
from majorant.backend import Backend
from majorant.blocks import rows_in
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.kernels import Block, FloatArray
from majorant.tally import Patterns, counts, distinct_counts
from majorant.votes import Votes

SHARES = "majority"  # a vote is a vote: the member that no model can lead astray
MEMBERS = ("one-coin", "hierarchical", "ebcc", SHARES)
SHRINKING = ("hierarchical", SHARES)  # members that set no workers apart who are alike
ALIKE = "shared"  # the model of workers who are alike


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The fit of each member, and the combined fit; `belief` is that of the models alone.

    Shares of votes steady the labels, but they are no probabilities: what is expected is what the models believe.
    """

    fits: Mapping[str, Fit]
    fit: Fit
    belief: Fit


def combination(votes: Votes, seed: int, starts: Mapping[str, Fit] | None = None) -> Combination | None:
    """Fit the members that the votes can bear, and take their mean; None if no model can be fitted.

    Members go on from their fits in `starts`, to other votes of the same workers.

    Weights learned from held-out votes were tried: they are no better, since the model that predicts votes best need
    not be the one that has found the true classes (docs/decide.md).

    >>> from majorant.simulate import one_coin_crew, simulate
    >>> votes, _ = simulate([.5, .5], one_coin_crew([.9, .8, .8, .7, .6, .6]), n_items=300, n_votes=5, rng=0)
    >>> list(combination(votes, 0).fits)
    ['one-coin', 'hierarchical', 'ebcc', 'majority']
    """
    members = members_for(votes)
    if not members:
        return None
    fits = {method: fit_method(method, votes, seed, (starts or {}).get(method)) for method in members}
    models = {method: fit for method, fit in fits.items() if method != SHARES}
    fit = combine(fits)
    if model := _of_counts(fits, partial(fit_method, ALIKE, votes, seed), lambda: distinct_counts(counts(votes))):
        fit = replace(fit, posterior=keep_majorities(model, fit.posterior.copy(), fits[SHARES].posterior, fit.votes_i))
    return Combination(fits, fit, combine(models))


def _of_counts(
    members: Collection[str], alike: Callable[[], Fit], patterns: Callable[[], Patterns]
) -> CountModel | None:
    """What counts tell, where workers are not told apart; None where they are."""
    return count_model(patterns(), alike()) if set(members) == set(SHRINKING) else None


def members_for(votes: Votes) -> tuple[str, ...]:
    """The members that the votes can bear; empty where majority vote would be alone.

    Where workers are not told apart by more than noise, those that would follow the noise are left out; a majority is
    then turned over only where counts alone show it wrong.
    """
    members = tuple(method for method in MEMBERS if not unsuited(method, votes))
    if len(members) > 1 and not told_apart(votes):
        members = tuple(method for method in members if method in SHRINKING)
    return () if members == (SHARES,) else members


def combined_fit(backend: Backend, sample: Votes, seed: int) -> tuple[Fit, Mapping[str, Fit]]:
    """The combined fit of votes that lie elsewhere, and its members; a sample says which the votes can bear."""
    members = members_for(sample)
    if not members:
        raise ConfigError(f"{COMBINATION} cannot be used on these votes: {unsuited(MEMBERS[0], sample)}.")
    fits = {method: backend.fit(method, seed) for method in members}
    nothing = np.empty((0, len(backend.votes.labels)))
    mean = combine({method: replace(fit, posterior=nothing) for method, fit in fits.items()})
    rows = {method: fit.posterior for method, fit in fits.items()}
    model = _of_counts(members, partial(backend.fit, ALIKE, seed), backend.patterns)
    return replace(mean, posterior=backend.rows(partial(_mean_row, rows, model))), fits


def _mean_row(rows: Mapping[str, FloatArray], model: CountModel | None, block: Block) -> FloatArray:
    of_block = {method: rows_in(posterior, block) for method, posterior in rows.items()}
    mean = _mean([*of_block.values()])
    if model is None:
        return mean
    return keep_majorities(model, mean, of_block[SHARES], block.matrix.sum(axis=1).astype(np.int64))


def combine(fits: Mapping[str, Fit]) -> Fit:
    """The mean of the posteriors, priors and confusion matrices; its method is called `combination`.

    All fits must be of the same votes; majority vote alone may lack a confusion matrix per worker.  `learned` holds
    "shares", the weight of the shares of votes, which are no belief, in the mean.
    """
    first = next(iter(fits.values()))
    return Fit(
        method=COMBINATION,
        posterior=_mean([fit.posterior for fit in fits.values()]),
        prior=_mean([fit.prior for fit in fits.values()]),
        votes_i=first.votes_i,
        label_values=first.label_values,
        names=first.names,
        confusion=_mean([fit.confusion for fit in fits.values() if fit.confusion is not None]),
        converged=all(fit.converged for fit in fits.values()),
        n_iter=max(fit.n_iter for fit in fits.values()),
        learned={"shares": np.array((SHARES in fits) / len(fits))},
    )


def _mean(arrays: list[FloatArray]) -> FloatArray:
    return np.asarray(sum(arrays[1:], start=arrays[0]) / len(arrays))
