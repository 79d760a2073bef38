"""How well a method predicts whole items that it has not seen: the one score that needs no gold labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from majorant.answer.candidates import fit_method
from majorant.blocks import in_memory
from majorant.errors import ConfigError
from majorant.estimate.confusion import confusion_tables
from majorant.estimate.fit import Fit
from majorant.estimate.tables import Tables
from majorant.kernels import FloatArray, gather, shares, softmax_rows
from majorant.merge import take_items
from majorant.votes import Votes

FOLDS = 3


def item_scores(votes: Votes, methods: Sequence[str], *, seed: int) -> dict[str, FloatArray]:
    """For each method the log-probability of each item's votes, learned from the other two thirds of the items.

    All votes of an item are held out together: only so do votes that depend on each other show, since a model that
    sees some votes of an item has seen what they share.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3, n_workers=6, rng=0)
    >>> score = item_scores(votes, ["hierarchical", "dawid-skene"], seed=0)
    >>> bool(score["hierarchical"].mean() > score["dawid-skene"].mean())
    True
    """
    fold_i = np.random.default_rng(seed).permutation(np.arange(len(votes.items)) % FOLDS)
    score = {method: np.zeros(len(votes.items)) for method in methods}
    for fold in range(FOLDS):
        seen, unseen = np.flatnonzero(fold_i != fold), np.flatnonzero(fold_i == fold)
        kept, held = take_items(votes, seen), take_items(votes, unseen)
        for method in methods:
            score[method][unseen] = log_evidence(fit_method(method, kept, seed), held)
    return score


def log_evidence(fit: Fit, votes: Votes) -> FloatArray:
    """The log-probability of each item's votes under a fit to other items of the same workers, (I,)."""
    tables = _tables(fit, len(votes.workers))
    found = in_memory(votes).map_blocks(
        lambda block: softmax_rows(gather(block, tables.log_vote_cg) + tables.log_prior_g)[1]
    )
    return np.concatenate([np.empty(0), *found])


def _tables(fit: Fit, n_workers: int) -> Tables:
    """Log-probabilities of each vote under each latent class, and of these: subtypes where the fit has them."""
    if "votes_jkml" in fit.learned:
        votes_jkml = shares(fit.learned["votes_jkml"])
        n_labels = votes_jkml.shape[-1]
        share_km = shares(fit.learned["items_k"])[:, None] * shares(fit.learned["subtypes_km"])
        return confusion_tables(votes_jkml.reshape(n_workers, -1, n_labels), share_km.ravel())
    if fit.confusion is None:
        raise ConfigError(f"{fit.method} says nothing about how probable votes are.")
    return confusion_tables(np.broadcast_to(fit.confusion, (n_workers, *fit.confusion.shape[-2:])), fit.prior)
