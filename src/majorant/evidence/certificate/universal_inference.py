"""Split e-values for and against majority vote being optimal, any number of classes, voters alike or named.

They stand beside a claim that rests on a bootstrap: evidence that needs no large numbers of items, valid at every
number if the searches find the largest likelihoods (docs/theory/split.md).  A numerator of an e-value may be any
density that training can name, so also the mean of several, the likeliest model and simpler ones on the way to voters
or labels all alike: it costs at most the logarithm of their number, and where voters are much alike, or errors spread
evenly, it saves what many parameters learnt from few items lose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.evidence.certificate.certificate import RARE_SHARE, Claim, Verdict
from majorant.evidence.certificate.constrained_likelihood import (
    Comparisons,
    LogModels,
    VoteTable,
    ballot_comparisons,
    best_named,
    count_comparisons,
    likeliest,
    log_likelihood,
    margins,
    not_optimal,
    optimal,
    panel_comparisons,
)
from majorant.evidence.certificate.design import WorkerSets, as_copies, worker_sets
from majorant.evidence.certificate.independent import SPLITS, TRAIN_SHARE, log_mean
from majorant.tally import counts
from majorant.values import FloatArray
from majorant.votes import Votes
from majorant.wording import SEARCH_FOUND, anonymous_by_bootstrap, named_refuted

ADDED = 0.5  # votes of each label and items of each class that training adds: no test item is ruled out
SIMPLER = (0.0, 0.5, 1.0)  # shares of the way to the simpler model
TOWARDS_SAFE = (0.0, 0.5, 1.0)
SEARCHED_CLASSES = 4
MOST_WAYS = 5_000  # in which votes can fall, before those that do not count are left out
MOST_COMPARED = 4_500  # comparisons times distinct patterns (or labels of all voters): about a second
MOST_SUMMED = (
    25_000  # comparisons times ballots in each times labels of all voters, where ballots are summed: 3 seconds
)
MOST_MATRIX_CELLS = 75  # of the confusion matrices of all voters: beyond, climbs are long however few the comparisons
REFUTING = 50.0  # times 1/alpha, 1,000 at 95 %: an e-value against so large refutes what the bootstrap leaves open
LARGEST_LOG = 700.0  # whose exponential is a number


def learnt(table: VoteTable, items_bp: FloatArray) -> list[LogModels]:
    """For each share of SIMPLER one model of each data set, no probability 0."""
    full = best_named(_smoothed(likeliest(table, items_bp)[0], table, items_bp), table)
    full_bkf, simple_bkf = np.exp(full.log_table_bkf), _simple(full, table)
    return [LogModels(full.log_prior_bk, np.log((1 - share) * full_bkf + share * simple_bkf)) for share in SIMPLER]


def _simple(models: LogModels, table: VoteTable) -> FloatArray:
    """Of a panel the mean voter; of a crowd one chance of being right, and errors spread evenly."""
    n_classes = table.n_classes
    table_bkhl = np.exp(models.log_table_bkf).reshape(-1, n_classes, table.n_voters, n_classes)
    if table.n_voters > 1:
        return np.tile(table_bkhl.mean(axis=2), table.n_voters)
    right_bk = np.diagonal(table_bkhl[:, :, 0], axis1=1, axis2=2)
    right_b = (np.exp(models.log_prior_bk) * right_bk).sum(axis=1)[:, None, None]
    same = np.eye(n_classes)
    return np.asarray(right_b * same + (1 - right_b) / (n_classes - 1) * (1 - same))


def _smoothed(models: LogModels, table: VoteTable, items_bp: FloatArray) -> LogModels:
    """The models with ADDED more votes in every cell of every voter's matrix, and as many items in each class."""
    n_classes = table.n_classes
    votes_ph = table.votes_pf.reshape(len(table.votes_pf), -1, n_classes).sum(axis=2)
    prior_bk = np.exp(models.log_prior_bk)
    weight_bkh = prior_bk[:, :, None] * (items_bp @ votes_ph)[:, None, :]
    table_bkhl = np.exp(models.log_table_bkf).reshape(*weight_bkh.shape, n_classes)
    table_bkhl = (table_bkhl * weight_bkh[..., None] + ADDED) / (weight_bkh[..., None] + ADDED * n_classes)
    items_bk = prior_bk * items_bp.sum(axis=1, keepdims=True) + ADDED
    log_prior_bk = np.log(items_bk / items_bk.sum(axis=1, keepdims=True))
    return LogModels(log_prior_bk, np.log(table_bkhl).reshape(models.log_table_bkf.shape))


class Weight(NamedTuple):
    """What the votes say for and against majority being optimal in every comparison; logarithms of e-values."""

    log_e: float  # against "not optimal"
    log_against: float  # against "optimal"
    ratio: float  # nats by which the likeliest model beats every one in which majority is not optimal
    margin: float  # at the likeliest model, in nats


def weigh_comparisons(
    table: VoteTable, items_p: FloatArray, comparisons: Comparisons, rng: np.random.Generator
) -> Weight:
    """The split e-values of one table of votes.

    Each item goes to training with probability TRAIN_SHARE in each of SPLITS splits; the e-value is the mean over the
    splits of the likelihood ratio of the test items, the mean of training's models against the likeliest of the null.
    Against "optimal" it is only worked out where the likeliest model speaks against it, and 0 elsewhere, as is safe.
    """
    train_sp = rng.binomial(items_p.astype(np.int64), TRAIN_SHARE, size=(SPLITS, len(items_p))).astype(float)
    test_sp = items_p - train_sp
    value_ms = np.array([log_likelihood(table, test_sp, models) for models in learnt(table, train_sp)])
    value_s = np.logaddexp.reduce(value_ms) - np.log(len(value_ms))
    null_b, _ = not_optimal(table, np.concatenate([test_sp, items_p[None]]), comparisons)
    top, top_b = likeliest(table, items_p[None])
    margin = float(margins(comparisons, top)[0])
    log_e = float(log_mean(value_s - null_b[:-1]))
    log_against = _log_against(table, test_sp, comparisons, value_s) if margin < 0 else -np.inf
    return Weight(log_e, log_against, max(0.0, float(top_b[0] - null_b[-1])), margin)


def _log_against(table: VoteTable, test_sp: FloatArray, comparisons: Comparisons, value_s: FloatArray) -> float:
    """log of the e-value against "optimal"; once it is below 1, further climbs could only make it smaller."""
    top, _ = likeliest(table, test_sp)
    best_s = np.full(len(test_sp), -np.inf)
    for share in TOWARDS_SAFE:
        each = [optimal(table, test_sp[s], comparisons, top.take(np.array([s])), share) for s in range(len(test_sp))]
        best_s = np.maximum(best_s, each)
        climbed_s = np.isfinite(best_s)  # a climb that failed has no voice
        log_against = float(log_mean(np.where(climbed_s, value_s - np.where(climbed_s, best_s, 0.0), -np.inf)))
        if log_against < 0:
            break
    return log_against


def with_e_values(
    claim: Claim, votes: Votes, *, level: float, rng: np.random.Generator, copies: ArrayLike | None = None
) -> Claim:
    """The claim with split e-values among its evidence; as it was where there are too many patterns or classes.

    An anonymous claim about "independent votes" is weighed by vote counts, one about "named workers" by ballots, and
    so is a named claim; `copies` as in `named_claim`.  The verdict stays, but for this: where the bootstrap leaves a
    claim undecided, an e-value against it of REFUTING times 1/alpha refutes, at the price of alpha/REFUTING.
    """
    weight = _weight(claim, votes, as_copies(votes, copies), rng) if claim.margin is not None else None
    if weight is None:
        return claim
    evidence = {
        "e_value": float(np.exp(min(weight.log_e, LARGEST_LOG))),
        "likelihood_ratio": weight.ratio,
        "e_value_against": float(np.exp(min(weight.log_against, LARGEST_LOG))),
    }
    claim = replace(claim, evidence={**claim.evidence, **evidence}, assumptions=(*claim.assumptions, SEARCH_FOUND))
    overwhelming = weight.log_against >= np.log(REFUTING) - np.log1p(-level)
    return _refuted(claim, level) if overwhelming and claim.verdict == "undecided" else claim


def _refuted(claim: Claim, level: float) -> Claim:
    """Refuted for all items together; for a number of votes only where there is no other."""
    why = named_refuted(level) if claim.kind == "named" else anonymous_by_bootstrap("refuted", level)
    by_votes: dict[int, Verdict] = dict(claim.by_votes) if len(claim.by_votes) > 1 else {}
    by_votes = by_votes or dict.fromkeys(claim.by_votes, "refuted")
    return replace(claim, verdict="refuted", why=why, by_votes=by_votes, more_items=None)


def _weight(claim: Claim, votes: Votes, copies_i: FloatArray, rng: np.random.Generator) -> Weight | None:
    if len(votes.labels) > SEARCHED_CLASSES:
        return None
    comparisons = _comparisons(claim, votes, copies_i)
    if comparisons is None or (claim.by_worker and not _linked(votes)):
        return None
    table, items_p = vote_table(votes, copies_i, named=claim.by_worker)
    return weigh_comparisons(table, items_p, comparisons, rng) if _is_quick(table, comparisons) else None


def _linked(votes: Votes) -> bool:
    """Whether shared items link all workers: separate crews give the likelihood many peaks, and climbs miss some."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_items, n_workers, _ = votes.shape
    edges = np.ones(votes.n_votes, dtype=np.int8), (votes.item_n, n_items + votes.worker_n)
    _, part = connected_components(coo_array(edges, shape=(n_items + n_workers,) * 2), directed=False)
    return len(np.unique(part[n_items + votes.worker_n])) == 1


def _is_quick(table: VoteTable, comparisons: Comparisons) -> bool:
    """Whether the search takes seconds: several crews are one panel, whose ballots and voters are those of all."""
    n_comparisons, n_ballots, n_labels = comparisons.ballot_qrf.shape
    summed = comparisons.ballot_qrf.size if n_ballots > 1 else 0
    work = n_comparisons * max(table.votes_pf.shape)
    return work <= MOST_COMPARED and summed <= MOST_SUMMED and n_labels * table.n_classes <= MOST_MATRIX_CELLS


def _comparisons(claim: Claim, votes: Votes, copies_i: FloatArray) -> Comparisons | None:
    """What majority must win for the claim to hold; None where that is too much to search."""
    _, n_workers, n_classes = votes.shape
    items_h = np.bincount(votes.votes_i, weights=copies_i)[1:]
    sizes = [h + 1 for h in np.flatnonzero(items_h >= max(RARE_SHARE * items_h.sum(), 1)).tolist()]
    if not claim.by_worker:
        ways = sum((h + 1) ** n_classes for h in sizes)
        return count_comparisons(n_classes, sizes) if ways <= MOST_WAYS else None
    sets = worker_sets(votes, copies_i)
    sets = _common(sets) if claim.kind == "named" else tuple(group for group in sets if group.n_votes in sizes)
    if sum(n_classes**group.n_votes * len(group.worker_sh) for group in sets) > MOST_WAYS:
        return None
    return (ballot_comparisons if claim.kind == "named" else panel_comparisons)(n_classes, n_workers, sets)


def _common(sets: tuple[WorkerSets, ...]) -> tuple[WorkerSets, ...]:
    """The sets without the rarest, which together hold RARE_SHARE of the items at most."""
    items_s = np.concatenate([group.items_s for group in sets])
    order_s = np.argsort(items_s, kind="stable")
    kept_s = np.empty(len(items_s), dtype=bool)
    kept_s[order_s] = np.cumsum(items_s[order_s]) > RARE_SHARE * items_s.sum()
    parts = np.split(kept_s, np.cumsum([len(group.items_s) for group in sets])[:-1])
    return tuple(
        WorkerSets(n_votes=group.n_votes, worker_sh=group.worker_sh[kept], items_s=group.items_s[kept])
        for group, kept in zip(sets, parts, strict=True)
        if kept.any()
    )


def vote_table(votes: Votes, copies: ArrayLike | None = None, *, named: bool) -> tuple[VoteTable, FloatArray]:
    """The distinct patterns of items that have votes, ballots or only counts, and how many items have each.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], items="ab", workers="wx", labels="ny")
    >>> [(vote_table(votes, named=named)[0].votes_pf.tolist()) for named in (False, True)]
    [[[1.0, 1.0]], [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]]
    """
    _, n_workers, n_classes = votes.shape
    said_if = counts(votes).astype(np.int64)
    if named:
        said_if = np.zeros((len(votes.items), n_workers * n_classes), dtype=np.int64)
        np.add.at(said_if, (votes.item_n, votes.worker_n * n_classes + votes.label_n), 1)
    voted = votes.votes_i > 0
    votes_pf, pattern_i = np.unique(said_if[voted], axis=0, return_inverse=True)
    items_p = np.bincount(pattern_i.ravel(), weights=as_copies(votes, copies)[voted], minlength=len(votes_pf))
    return VoteTable(votes_pf.astype(float), n_classes), items_p.astype(float)
