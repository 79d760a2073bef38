"""Plug-in verdicts as in the paper: exact margins at an estimate, without a confidence level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from majorant.errors import ConfigError
from majorant.evidence.certificate.certificate import RARE_SHARE
from majorant.items import take_items
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.theory import Description, describe
from majorant.values import FloatArray, as_generator
from majorant.votes import Votes

Refit = Callable[[Votes], Fit]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlugIn:
    """Majority vote at an estimated prior and confusion matrix, for each number of votes that occurs."""

    method: str
    share: float  # of the items that the estimate is from
    n_items: int
    prior: FloatArray
    confusion: FloatArray  # (K, K), pooled by votes where the method gives each worker its own
    by_votes: Mapping[int, Description]
    items: Mapping[int, float]  # share of the items that hold so many votes

    def __post_init__(self) -> None:
        for name in ("by_votes", "items"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def optimal(self) -> bool:
        """Whether majority vote is optimal at the estimate, for every number of votes."""
        return all(description.verdict == "optimal" for description in self.by_votes.values())

    @property
    def margin(self) -> float:
        """The smallest margin over the numbers of votes, in nats."""
        return min(description.margin for description in self.by_votes.values())

    @property
    def loss(self) -> float | None:
        """Loss of majority vote at the estimate; None if some number of votes is too large to enumerate."""
        gaps = {n_votes: description.gap for n_votes, description in self.by_votes.items()}
        total = sum(self.items[n_votes] for n_votes in gaps)
        known = [self.items[n_votes] * gap for n_votes, gap in gaps.items() if gap is not None]
        return sum(known) / total if len(known) == len(gaps) else None


def plug_in(votes: Votes, refit: Refit, *, share: float = 1.0, rng: int | np.random.Generator | None = None) -> PlugIn:
    """The exact margins at what `refit` estimates from all items or from a random share of them.

    Any number of classes.  The verdict is the paper's everyday practice; it assumes independent votes from one
    confusion matrix, and has no level: the estimate is taken for the truth.

    >>> from majorant.methods import ESTIMATORS
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.6, .4], [[.8, .2], [.3, .7]], n_items=2000, n_votes=5, n_workers=5, rng=0)
    >>> verdict = plug_in(votes, ESTIMATORS["dawid-skene"]().fit, share=.5, rng=0)
    >>> verdict.n_items, verdict.optimal, verdict.confusion.round(1).tolist()
    (1000, True, [[0.8, 0.2], [0.3, 0.7]])
    """
    if not 0 < share <= 1:
        raise ConfigError(f"share must lie above 0 and not above 1, not {share}.")
    if not votes.n_votes:
        raise ConfigError("There are no votes to judge.")
    sample = votes if share == 1 else _sample(votes, share, rng)
    fit = refit(sample)
    prior_k, confusion_kl = shared_model(sample, fit)
    size_s, items_s = np.unique(votes.votes_i[votes.votes_i > 0], return_counts=True)
    share_s = items_s / items_s.sum()
    used = np.flatnonzero(share_s >= min(RARE_SHARE, share_s.max()))
    return PlugIn(
        method=fit.method,
        share=share,
        n_items=len(sample.items),
        prior=prior_k,
        confusion=confusion_kl,
        by_votes={int(size_s[s]): describe(prior_k, confusion_kl, int(size_s[s])) for s in used},
        items={int(size_s[s]): float(share_s[s]) for s in used},
    )


def shared_model(votes: Votes, fit: Fit) -> tuple[FloatArray, FloatArray]:
    """The prior and one confusion matrix (K, K) for all workers, from any fit.

    Matrices per worker are averaged, each with its worker's number of votes as weight.  A method without confusion
    matrices is taken at its posterior: the share of label l among votes on items of class k.
    """
    if fit.confusion is None:
        confusion_kl = fit.posterior.T @ counts(votes)
    elif fit.confusion.ndim == 3:
        votes_j = np.bincount(votes.worker_n, minlength=len(votes.workers))
        confusion_kl = np.tensordot(votes_j, fit.confusion, axes=1)
    else:
        confusion_kl = fit.confusion
    if len(fit.prior) < 2:
        raise ConfigError("All votes name one class: there is no second one to confuse it with.")
    total_k = confusion_kl.sum(axis=1, keepdims=True)
    never_k = total_k == 0  # a class that no vote speaks for: nothing is known of its votes
    confusion_kl = np.where(never_k, 1 / len(fit.prior), confusion_kl / np.where(never_k, 1, total_k))
    return np.asarray(fit.prior / fit.prior.sum()), confusion_kl


def _sample(votes: Votes, share: float, rng: int | np.random.Generator | None) -> Votes:
    if rng is None:
        raise ConfigError("A share of the items is drawn: give rng, an int or a numpy Generator.")
    n_items = max(1, round(share * len(votes.items)))
    chosen_i = as_generator(rng).choice(len(votes.items), n_items, replace=False)
    return take_items(votes, np.sort(chosen_i))
