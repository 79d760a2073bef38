"""The named claim: no rule at all beats majority vote, each worker having a confusion matrix of their own.

Statements, levels and limits: docs/theory/named.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.certify.bootstrap import (
    RARE_SHARE,
    Case,
    Replicates,
    clearly_negative,
    deviation,
    fitted_accuracy,
    fitted_loss,
    fresh_to_tell_margin,
    identified,
    least_deserving,
    loss_estimate,
    lower_limit,
    replicates_of,
    unidentified,
    vote_odds,
)
from majorant.certify.certificate import ITEMS_APART, Claim, Verdict
from majorant.certify.design import WorkerSets, as_copies, leaders, worker_sets
from majorant.estimate.fit import Fit
from majorant.theory.panel import ballot_work, crew_margins
from majorant.values import Estimate, FloatArray
from majorant.votes import IntArray, Votes
from majorant.wording import named_sentence, ties_cost, workers_too_thin

INDEPENDENT = "votes are independent given the true label"
VOTES_PER_CLASS = 20  # that the worker behind the typical vote must have given, or workers cannot be told apart
AFFORDABLE = 2e8  # steps that margins of more than two classes may take
MODEL = "named workers"
ASSUMPTIONS = (
    "each worker labels by one confusion matrix, the same on all items",
    ITEMS_APART,
    INDEPENDENT,
    "who and how many vote on an item does not depend on the votes",
    "enough items for the bootstrap, which holds its level only in the limit",
)
NOT_TESTED = tuple(text for text in ASSUMPTIONS if text != INDEPENDENT)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetMargins:
    """The margin of each worker set at the fit, and whether majority vote is supported as optimal for it."""

    votes_s: IntArray
    items_s: FloatArray
    margin_s: FloatArray  # -inf where not tried
    certified_s: NDArray[np.bool_]
    worker: tuple[IntArray, ...]  # the workers of each set


def named_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule, given a confusion matrix per worker?  At most `supported`.

    The fit must hold one matrix per worker.  Supported: worker sets whose margin, apart from ties, is above 0 at the
    level hold all but 1 % of the items.  Refuted: on some votes seen another label than majority's, or one of tied
    ones, is more probable at the level.
    """
    if not identified(case, level, per_worker=True):
        return unidentified("named", MODEL, ASSUMPTIONS)
    if (typical := typical_votes(case.votes, case.copies)) < VOTES_PER_CLASS * len(case.votes.labels):
        return _too_thin(typical)
    return _claim(case, replicates_of(case, rng), level)


def typical_votes(votes: Votes, copies: ArrayLike | None = None) -> float:
    """How many votes the worker behind the median vote gave.

    >>> votes = Votes.from_codes([0, 1, 2, 2], [0, 0, 0, 1], [0] * 4, items="abc", workers="wx", labels="ny")
    >>> typical_votes(votes)
    3.0
    """
    weight_n = None if copies is None else as_copies(votes, copies)[votes.item_n]
    votes_j = np.bincount(votes.worker_n, weights=weight_n, minlength=len(votes.workers)).astype(float)
    return typical(votes_j)


def typical(votes_j: FloatArray) -> float:
    """The number of votes of the worker behind the median vote; 0 without votes."""
    rising_j = np.sort(votes_j)
    middle = np.searchsorted(np.cumsum(rising_j), votes_j.sum() / 2)
    return float(rising_j[middle]) if votes_j.any() else 0.0


def _too_thin(typical: float) -> Claim:
    """No verdict: confusion matrices of workers with few votes fit noise, and overstate what knowing them gains."""
    loss = Estimate(None, reason="too few votes per worker")
    return Claim(
        kind="named",
        verdict="undecided",
        why=workers_too_thin(typical),
        loss=loss,
        model=MODEL,
        assumptions=ASSUMPTIONS,
        not_tested=NOT_TESTED,
    )


def _claim(case: Case, replicates: Replicates, level: float) -> Claim:
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    margins = set_margins(worker_sets(votes, copies_i), fit, replicates, level)
    refuted, refuted_ties = _refuted_votes(votes, fit, replicates, level)

    def verdict_of(chosen_s: NDArray[np.bool_], against: bool) -> Verdict:
        return _verdict(margins.certified_s, margins.items_s, chosen_s, refuted=against)

    by_votes: dict[int, Verdict] = {
        int(n): verdict_of(margins.votes_s == n, int(n) in refuted or int(n) in refuted_ties)
        for n in np.unique(margins.votes_s)
    }
    everything = np.ones(len(margins.votes_s), dtype=bool)
    untied, verdict = verdict_of(everything, bool(refuted)), verdict_of(everything, bool(refuted or refuted_ties))
    share = _certified_share(votes, copies_i, margins)
    binding = _binding_set(margins)
    margin, margin_b = float(margins.margin_s[binding]), _margin_again(margins.worker[binding], replicates)
    lost = fitted_loss(votes, fit, copies_i)
    more = fresh_to_tell_margin(margin, float(deviation(margin_b)), float(copies_i.sum()), level)
    tie_loss = loss_estimate(lost.tied, replicates.tie_loss_b, level, refuted=bool(refuted_ties))
    ties = ties_cost(lost.tied_share, tie_loss)
    return Claim(
        kind="named",
        verdict=verdict,
        why=named_sentence(verdict, untied, share, sum({**refuted, **refuted_ties}.values()), level, ties),
        by_votes=by_votes,
        untied=untied,
        margin=margin,
        loss=loss_estimate(lost.all, replicates.loss_b, level, refuted=verdict == "refuted"),
        tied_share=lost.tied_share,
        tie_loss=tie_loss,
        items_certified=share,
        evidence={
            "margin low": float(lower_limit(margin_b, level)),
            "worker sets": float(len(margins.votes_s)),
            **fitted_accuracy(votes, fit, copies_i, lost.all),
        },
        model=MODEL,
        assumptions=ASSUMPTIONS,
        not_tested=NOT_TESTED,
        more_items=more if verdict == "undecided" else 0,
    )


def _certified_share(votes: Votes, copies_i: FloatArray, margins: SetMargins) -> float:
    """The share of items, a tied one not, whose workers are a certified set."""
    if not margins.certified_s.any():
        return 0.0
    untied = worker_sets(votes, copies_i * (leaders(votes).sum(axis=1) == 1))
    items = {tuple(worker_h): n for one in untied for worker_h, n in zip(one.worker_sh, one.items_s, strict=True)}
    certified = (margins.worker[s] for s in np.flatnonzero(margins.certified_s))
    return float(sum(items[tuple(worker_h)] for worker_h in certified) / margins.items_s.sum())


def set_margins(sets: tuple[WorkerSets, ...], fit: Fit, replicates: Replicates, level: float) -> SetMargins:
    """The exact margin of every worker set at the fit, and whether its lower limit by the replicates is above 0.

    With more than two classes only as many sets are tried, the commonest first, as AFFORDABLE allows.
    """
    assert fit.confusion is not None
    margin, certified = [], []
    for one in sets:
        tried_sh = one.worker_sh[: _affordable(one, replicates)]
        missing = len(one.worker_sh) - len(tried_sh)
        margin_s = crew_margins(fit.prior, fit.confusion, tried_sh)
        margin.append(np.append(margin_s, np.full(missing, -np.inf)))
        certified.append(np.append(_certified(tried_sh, replicates, level), np.zeros(missing, dtype=bool)))
    return SetMargins(
        votes_s=np.concatenate([np.full(len(one.items_s), one.n_votes) for one in sets]),
        items_s=np.concatenate([one.items_s for one in sets]),
        margin_s=np.concatenate(margin),
        certified_s=np.concatenate(certified),
        worker=tuple(worker_h for one in sets for worker_h in one.worker_sh),
    )


def _affordable(sets: WorkerSets, replicates: Replicates) -> int:
    n_replicates, n_classes = replicates.prior_bk.shape
    if n_classes == 2:
        return len(sets.worker_sh)
    return int(AFFORDABLE // (n_replicates * ballot_work(n_classes, sets.n_votes)))


def _certified(worker_sh: IntArray, replicates: Replicates, level: float) -> NDArray[np.bool_]:
    """Whether the lower limit of each set's margin is above 0.

    It is if few enough replicates are not: `lower_limit` takes one of them, so those at 0 or below are counted, and a
    set with too many is not followed further.  Sets near the boundary need all replicates, most need few.
    """
    n_replicates = len(replicates.prior_bk)
    allowed = int(lower_limit(np.arange(float(n_replicates)), level))
    against_s, open_s = np.zeros(len(worker_sh), dtype=np.int64), np.arange(len(worker_sh))
    edges = [0, *range(allowed + 1, n_replicates, 2 * allowed + 10), n_replicates]
    for start, stop in pairwise(edges):
        models = replicates.prior_bk[start:stop], replicates.confusion[start:stop]
        against_s[open_s] += (crew_margins(*models, worker_sh[open_s]) <= 0).sum(axis=0)
        open_s = open_s[against_s[open_s] <= allowed]
        if not len(open_s):
            break
    return against_s <= allowed


def _margin_again(worker_h: IntArray, replicates: Replicates) -> FloatArray:
    """The margin of one set in each replicate."""
    return crew_margins(replicates.prior_bk, replicates.confusion, worker_h[None])[:, 0]


def _verdict(
    certified_s: NDArray[np.bool_], items_s: FloatArray, chosen_s: NDArray[np.bool_], *, refuted: bool
) -> Verdict:
    if refuted:
        return "refuted"
    open_items = items_s[chosen_s & ~certified_s].sum()
    return "supported" if open_items <= RARE_SHARE * items_s[chosen_s].sum() else "undecided"


def _binding_set(margins: SetMargins) -> int:
    """The set with the smallest margin once those that together hold 1 % of the items are set aside."""
    order_s = np.argsort(margins.margin_s, kind="stable")
    passed_s = np.cumsum(margins.items_s[order_s]) > RARE_SHARE * margins.items_s.sum()
    return int(order_s[np.argmax(passed_s)])


def _refuted_votes(
    votes: Votes, fit: Fit, replicates: Replicates, level: float
) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """For each number of votes, how many of the vote patterns seen are clearly decided otherwise by the best rule.

    First those without a tie, then tied ones whose labels are not alike; all of them tried together.
    """
    assert fit.confusion is not None
    top_ik, models = leaders(votes), (fit.prior[None], fit.confusion[None])
    item = np.flatnonzero(votes.votes_i > 0)
    label_i = least_deserving(votes, top_ik, *models)
    odds_i = vote_odds(votes, item, label_i[item], *models)[0]
    chosen = item[odds_i < 0]
    odds_bi = vote_odds(votes, chosen, label_i[chosen], replicates.prior_bk, replicates.confusion)
    clear_i = clearly_negative(odds_i[odds_i < 0], odds_bi, int(top_ik[item].sum()), level)
    tied_i = top_ik.sum(axis=1)[chosen] > 1
    return _by_size(votes, chosen[clear_i & ~tied_i]), _by_size(votes, chosen[clear_i & tied_i])


def _by_size(votes: Votes, item: IntArray) -> Mapping[int, int]:
    n_votes, n_patterns = np.unique(votes.votes_i[item], return_counts=True)
    return dict(zip(n_votes.tolist(), n_patterns.tolist(), strict=True))
