"""Several models of the same votes as one: what they believe, weighted by how well they predict items not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from majorant.answer.candidates import fit_method, unsuited
from majorant.answer.held_out import FOLDS, item_scores
from majorant.blocks import rows_in
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.kernels import Block, FloatArray
from majorant.merge import draw_items, take_items
from majorant.site import Site
from majorant.votes import IntArray, Votes

COMBINATION = "combination"
DEPENDENT = "ebcc"  # the member whose votes may depend on each other beyond the class
MEMBERS = ("one-coin", "hierarchical", DEPENDENT)
SAMPLE_ENTRIES = 300_000  # votes times classes: the weights are learned on so many at most
NEGLIGIBLE = 0.02  # a member with less weight is not fitted to all votes: it would change next to nothing
LEAST_ITEMS = 10 * FOLDS  # with fewer nothing can be told from items held out
CLEAR = 2.0  # standard errors
STEPS, SETTLED = 1_000, 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The fit of each member, its weight, the mean log-probability of unseen items under it, and the combined fit."""

    fits: Mapping[str, Fit]  # of members with any weight
    weight: Mapping[str, float]
    score: Mapping[str, float]  # empty where there were too few items
    independent: bool  # unseen items say that votes depend on the class alone, so the weights are learned from them
    fit: Fit


def combination(votes: Votes, seed: int) -> Combination | None:
    """Fit and weigh the members, those that the votes can bear; None if there is none.

    Where votes depend on the class alone, members are weighted by how well they predict items not seen.  Where they
    may not, all count alike: models of independent votes are then wrong, and the one that predicts votes best need
    not be the one that has found the true classes.

    >>> from majorant.simulate import one_coin_crew, simulate
    >>> votes, _ = simulate([.5, .5], one_coin_crew([.9, .8, .8, .7, .6, .6]), n_items=300, n_votes=5, rng=0)
    >>> made = combination(votes, 0)
    >>> made.independent, max(made.weight, key=made.weight.get)
    (True, 'hierarchical')
    """
    weighed = weigh_members(votes, seed)
    if weighed is None:
        return None
    fits = {method: fit_method(method, votes, seed) for method, share in weighed.weight.items() if share}
    return Combination(fits, *weighed, combine(fits, weighed.weight))


def combination_at(site: Site, weight: Mapping[str, float], seed: int) -> Fit:
    """The combined fit of votes that lie elsewhere, the members weighted by what a sample of them taught."""
    fits = {method: site.fit(method, seed) for method, share in weight.items() if share}
    nothing = np.empty((0, len(site.votes.labels)))
    mean = combine({method: replace(fit, posterior=nothing) for method, fit in fits.items()}, weight)
    rows = tuple((weight[method], fit.posterior) for method, fit in fits.items())
    return replace(mean, posterior=site.rows(partial(_weighted, rows)))


def _weighted(rows: tuple[tuple[float, FloatArray], ...], block: Block) -> FloatArray:
    return np.asarray(sum(share * rows_in(posterior, block) for share, posterior in rows))


class Weighed(NamedTuple):
    """The weight of each member, the mean log-probability of unseen items under it, and whether votes are independent.

    A weight of 0 means that the member need not be fitted to all votes.
    """

    weight: Mapping[str, float]
    score: Mapping[str, float]
    independent: bool


def weigh_members(votes: Votes, seed: int) -> Weighed | None:
    """The weights of the members that the votes can bear, learned from some of the items; None if there is none."""
    members = [method for method in MEMBERS if not unsuited(method, votes)]
    return weigh(take_items(votes, items_to_weigh_by(votes, seed)), members, seed) if members else None


def weights_of_members(votes: Votes, seed: int) -> Mapping[str, float]:
    """The weights alone; votes that no member can bear are refused."""
    weighed = weigh_members(votes, seed)
    if weighed is None:
        raise ConfigError(f"{COMBINATION} cannot be used on these votes: {unsuited(MEMBERS[0], votes)}.")
    return weighed.weight


def weigh(sample: Votes, members: Sequence[str], seed: int) -> Weighed:
    """Weigh the members by items that they have not seen."""
    score = item_scores(sample, members, seed=seed) if len(sample.items) >= LEAST_ITEMS else {}
    independent = bool(score) and _independent(score)
    weight_m = stack(np.array(list(score.values())).T) if independent else np.full(len(members), 1 / len(members))
    weight_m = np.where(weight_m < NEGLIGIBLE, 0.0, weight_m)
    weight = dict(zip(members, (weight_m / weight_m.sum()).tolist(), strict=True))
    return Weighed(weight, {method: float(score_i.mean()) for method, score_i in score.items()}, independent)


def _independent(score: Mapping[str, FloatArray]) -> bool:
    """Whether a model of independent votes predicts unseen items better than that of dependent ones, clearly."""
    if DEPENDENT not in score:
        return True  # it was too large to be fitted, and nothing speaks against the others
    best_i = max((score_i for method, score_i in score.items() if method != DEPENDENT), key=np.mean)
    lead_i = best_i - score[DEPENDENT]
    return bool(lead_i.mean() > CLEAR * lead_i.std() / np.sqrt(len(lead_i)))


def combine(fits: Mapping[str, Fit], weight: Mapping[str, float]) -> Fit:
    """The weighted mean of the posteriors, priors and confusion matrices; its method is called `combination`.

    All fits must be of the same votes and have one confusion matrix per worker.
    """
    first = next(iter(fits.values()))
    share_m = [weight[method] for method in fits]

    def mean(values: list[FloatArray]) -> FloatArray:
        return np.asarray(sum(share * value for share, value in zip(share_m, values, strict=True)))

    return Fit(
        method=COMBINATION,
        posterior=mean([fit.posterior for fit in fits.values()]),
        prior=mean([fit.prior for fit in fits.values()]),
        votes_i=first.votes_i,
        label_values=first.label_values,
        names=first.names,
        confusion=mean([fit.confusion for fit in fits.values() if fit.confusion is not None]),
        converged=all(fit.converged for fit in fits.values()),
        n_iter=max(fit.n_iter for fit in fits.values()),
    )


def stack(score_im: FloatArray) -> FloatArray:
    """The weights, one per column, under which the mixture of the models makes the items most probable (EM).

    >>> stack(np.log(np.array([[.5, .1], [.2, .4]]))).round(3).tolist()  # maximises (.1 + .4 w) (.4 - .2 w)
    [0.875, 0.125]
    """
    relative_im = np.exp(score_im - score_im.max(axis=1, keepdims=True))
    weight_m = np.full(score_im.shape[1], 1 / score_im.shape[1])
    for _ in range(STEPS):
        part_im = weight_m * relative_im
        updated_m = (part_im / part_im.sum(axis=1, keepdims=True)).mean(axis=0)
        moved = float(np.abs(updated_m - weight_m).max())
        weight_m = updated_m
        if moved < SETTLED:
            break
    return np.asarray(weight_m)


def items_to_weigh_by(votes: Votes, seed: int) -> IntArray:
    """Items with votes, all or, at random, as many as the limit allows."""
    most_votes = SAMPLE_ENTRIES // len(votes.labels)
    return draw_items(votes, np.flatnonzero(votes.votes_i > 0), most_votes, rng=np.random.default_rng(seed))
