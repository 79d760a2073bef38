"""Accept or escalate: the items whose labels need no expert, with a promise about how many of them are right."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from majorant.ask.accept import Level, Order, cross_fit, find_levels, order_of
from majorant.defaults import LEVEL, MAJORITY, WEIGHTED_VOTE
from majorant.errors import ConfigError, DataError, use
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.evidence.learn import Features, _folds
from majorant.evidence.rules import fit_rule
from majorant.methods import fit_method
from majorant.read import as_votes
from majorant.read.options import ReadOptions
from majorant.results.rate_inputs import read_labelled
from majorant.tabular import Named, Tabular
from majorant.values import FloatArray, as_generator, as_level
from majorant.votes import IntArray, Votes

LEARNED, VOTES = "learned", "votes"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Acceptance(Tabular):
    """The result of `accept`: a row per item with a vote, the surest first.

    Attributes
    ----------
    accept, escalate : tuple
        Names of the items that need no expert, and of the others.
    at : float
        At least this share of the accepted labels is right,
    level : float
        with this probability.
    curve : tuple of Level
        The sets that were tested: share of the items, labels in it, how many of them are wrong, whether it passed.
    """

    votes: Votes
    item_n: IntArray  # items with votes, the surest first
    label_n: IntArray
    confidence_n: FloatArray
    n_accepted: int
    at: float
    level: float
    exact: bool  # whether half of the labels were kept apart to test
    order: str  # what the items were ordered by: the learned rule or the votes
    labels: int
    wrong: int  # of the labels inside the accepted set
    inside: int
    accuracy: float  # of all labels, held out
    curve: tuple[Level, ...]

    @property
    def accept(self) -> tuple[Hashable, ...]:
        """The items that need no expert, the surest first."""
        return tuple(self.votes.items[i] for i in self.item_n[: self.n_accepted])

    @property
    def escalate(self) -> tuple[Hashable, ...]:
        """The other items, the least sure first."""
        return tuple(self.votes.items[i] for i in self.item_n[self.n_accepted :][::-1])

    @property
    def share(self) -> float:
        """The share of the items that need no expert."""
        return self.n_accepted / max(len(self.item_n), 1)

    def cost_per_item(self, vote: float, label: float) -> float:
        """What an item costs if a vote and an expert's label have these prices."""
        return vote * self.votes.n_votes / max(len(self.item_n), 1) + label * (1 - self.share)

    def table(self) -> dict[str, Any]:
        """Item, label, confidence and whether it is accepted."""
        return {
            "item": Named(self.item_n, self.votes.items),
            "label": Named(self.label_n, self.votes.labels),
            "confidence": self.confidence_n,
            "accepted": np.arange(len(self.item_n)) < self.n_accepted,
        }

    def __repr__(self) -> str:
        n = len(self.item_n)
        return f"Acceptance: {self.n_accepted:,} of {n:,} items need no expert; to_pandas() gives a row per item"


def accept(
    votes: Any,
    gold: Any = None,
    *,
    at: float = 0.95,
    level: float = LEVEL,
    exact: bool = False,
    rng: int | np.random.Generator = 0,
    **reading: Any,
) -> Acceptance:
    """Choose the items whose labels need no expert, so that at least a share `at` of them is right.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments.
    gold : path, frame, Series or dict of item -> label
        Labels of items drawn uniformly at random (`majorant ask --rate` draws them), or those read with the votes.
    at : float
        The accuracy that the accepted labels must have.
    level : float
        Probability with which they have it.
    exact : bool
        Teach the rule with half of the labels and test it with the other half: an exact promise, for fewer items.
        Otherwise each label is tested by a rule learned from the others, which kept the promise on public data.
    rng : int or numpy Generator
        Random seed; used to shuffle labels whose order is unknown.

    Returns
    -------
    Acceptance
        `.accept`, `.escalate`, `.curve`; `to_pandas()` gives a row per item.

    Examples
    --------
    >>> from majorant.simulate import one_coin_workers, simulate
    >>> votes, truth = simulate([.5, .5], one_coin_workers([.9] * 5), n_items=1000, n_votes=5, rng=0)
    >>> gold = {votes.items[i]: votes.labels[truth[i]] for i in range(100)}
    >>> accepted = accept(votes, gold, at=.9)
    >>> round(accepted.share, 1)
    1.0
    """
    as_level(level)
    if not 0 < at < 1:
        raise ConfigError(f"{use('at', at)}: give the accuracy of accepted labels, between 0 and 1.")
    how, generator = ReadOptions.of(reading), as_generator(rng)
    table = as_votes(votes, **reading)
    labelled = read_labelled(gold, table, how, generator)
    voted_i = table.votes_i > 0
    code = {label: k for k, label in enumerate(table.labels)}
    known = [(i, code.get(value, -1)) for i, value in zip(labelled.item_t.tolist(), labelled.values, strict=True)
             if value is not None and voted_i[i]]  # fmt: skip
    least = _least_labels(at, level) * (2 if exact else 1)
    if len(known) < max(least, LEAST_LABELS):
        raise DataError(
            f"Accepting at {100 * at:g}% takes labels of at least {max(least, LEAST_LABELS)} items drawn at random, "
            f"not {len(known)}. Draw them with majorant ask --rate."
        )
    item_n, truth_n = (np.array(column, dtype=np.int64) for column in zip(*known, strict=True))
    return _accepted(table, item_n, truth_n, at=at, level=level, exact=exact)


def _least_labels(at: float, level: float) -> int:
    """With fewer labels in a set, not even all of them being right would pass the test."""
    return int(np.ceil(np.log(1 - level) / np.log(at)))


def _accepted(votes: Votes, item_n: IntArray, truth_n: IntArray, *, at: float, level: float, exact: bool) -> Acceptance:
    share_ik = fit_method(MAJORITY, votes).posterior
    few = len(votes.labels) < 2 or len(votes.workers) < 2
    weighted_ik = share_ik if few else np.asarray(fit_rule(WEIGHTED_VOTE, votes).posterior)
    features = Features.of(votes, weighted_ik)
    voted = np.flatnonzero(votes.votes_i > 0)
    place_i = np.full(len(votes.items), -1)
    place_i[voted] = np.arange(len(voted))
    shares = order_of(share_ik[voted], own_levels=True)
    at_n = place_i[item_n]

    def learn(some: IntArray) -> FloatArray:
        taught = np.asarray(
            some[truth_n[some] >= 0], dtype=np.int64
        )  # a label that nobody voted for teaches nothing, but counts as wrong
        if not len(taught):
            return share_ik[voted]
        regression = features.regression(item_n[taught].astype(np.int64), truth_n[taught].astype(np.int64))
        return features.predict(regression.fit())[voted]

    if exact:
        half = np.arange(len(item_n)) < len(item_n) // 2
        teaching, testing = np.flatnonzero(half), np.flatnonzero(~half)
    else:
        teaching = testing = np.arange(len(item_n))
    fold_n = _folds([votes.items[i] for i in item_n[teaching]], 0)

    def learn_from(some: IntArray) -> FloatArray:
        return learn(teaching[some])

    learned = order_of(learn_from(np.arange(len(teaching))))
    rank_n, right_n = cross_fit(learn_from, at_n[teaching], truth_n[teaching], fold_n)
    by_shares = shares.label_i[at_n[teaching]] == truth_n[teaching]
    uses_votes = by_shares.sum() > right_n.sum()
    order: Order = shares if uses_votes else learned
    posterior_ik = share_ik[voted] if uses_votes else learn_from(np.arange(len(teaching)))
    if uses_votes or exact:
        rank_n, right_n = order.rank_i[at_n[testing]], order.label_i[at_n[testing]] == truth_n[testing]
    curve = tuple(find_levels(rank_n, right_n, order.levels, at, 1 - level))
    best = max((one for one in curve if one.passed), key=lambda one: one.share, default=Level(0.0, 0, 0, False))
    rising = np.argsort(order.rank_i, kind="stable")
    return Acceptance(
        votes=votes,
        item_n=voted[rising],
        label_n=order.label_i[rising],
        confidence_n=posterior_ik.max(axis=1)[rising],
        n_accepted=int((order.rank_i <= best.share + 1e-9).sum()) if best.passed else 0,
        at=at,
        level=level,
        exact=exact,
        order=VOTES if uses_votes else LEARNED,
        labels=len(item_n),
        wrong=best.wrong,
        inside=best.labels,
        accuracy=float(right_n.mean()),
        curve=curve,
    )
