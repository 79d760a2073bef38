"""From votes to e-values beside a claim that rests on a bootstrap: evidence that needs no large numbers of items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from majorant.certify.certificate import Claim, Verdict
from majorant.certify.named.design import WorkerSets, as_copies, worker_sets
from majorant.certify.named.verdicts import RARE_SHARE, anonymous_sentence
from majorant.certify.universal_inference.comparison import (
    Comparisons,
    ballot_comparisons,
    count_comparisons,
    panel_comparisons,
)
from majorant.certify.universal_inference.evidence import Weight, weigh_comparisons
from majorant.certify.universal_inference.table import Table
from majorant.tally import counts
from majorant.theory.checks import FloatArray
from majorant.votes import Votes

MOST_CLASSES = 4
MOST_WAYS = 5_000  # in which votes can fall, before those that do not count are left out
MOST_WORK = 4_500  # comparisons times distinct patterns (or labels of all voters): about a second
MOST_SUMMED = (
    25_000  # comparisons times ballots in each times labels of all voters, where ballots are summed: 3 seconds
)
MOST_CELLS = 75  # of the confusion matrices of all voters: beyond, climbs are long however few the comparisons
REFUTING = 50.0  # times 1/alpha, 1,000 at 95 %: an e-value against so large refutes what the bootstrap leaves open
LARGEST_LOG = 700.0  # whose exponential is a number
ASSUMPTION = "for the e-values: a search over models found the likeliest of each kind"


def with_e_values(
    claim: Claim, votes: Votes, *, level: float, rng: np.random.Generator, copies: ArrayLike | None = None
) -> Claim:
    """The claim with split e-values among its evidence; as it was where there are too many patterns or classes.

    An anonymous claim about "independent votes" is weighed by vote counts, one about "named workers" by ballots, and
    so is a named claim; `copies` as in `named_claim`.  The verdict stays, but for this: where the bootstrap leaves a
    claim undecided, an e-value against it of REFUTING times 1/alpha refutes, at the price of alpha/REFUTING.
    """
    found = _weight(claim, votes, as_copies(votes, copies), rng) if claim.margin is not None else None
    if found is None:
        return claim
    evidence = {
        "e_value": float(np.exp(min(found.log_e, LARGEST_LOG))),
        "likelihood_ratio": found.ratio,
        "e_value_against": float(np.exp(min(found.log_against, LARGEST_LOG))),
    }
    claim = replace(claim, evidence={**claim.evidence, **evidence}, assumptions=(*claim.assumptions, ASSUMPTION))
    overwhelming = found.log_against >= np.log(REFUTING) - np.log1p(-level)
    return _refuted(claim, level) if overwhelming and claim.verdict == "undecided" else claim


def _refuted(claim: Claim, level: float) -> Claim:
    """Refuted for all items together; for a number of votes only where there is no other."""
    why = anonymous_sentence("refuted", level)
    if claim.kind == "named":
        why = f"Knowing who voted beats majority vote (refuted, {100 * level:g} %)."
    by_votes: dict[int, Verdict] = dict(claim.by_votes) if len(claim.by_votes) > 1 else {}
    by_votes = by_votes or dict.fromkeys(claim.by_votes, "refuted")
    return replace(claim, verdict="refuted", why=why, by_votes=by_votes, more_items=None)


def _weight(claim: Claim, votes: Votes, copies_i: FloatArray, rng: np.random.Generator) -> Weight | None:
    if len(votes.labels) > MOST_CLASSES:
        return None
    named = claim.model == "named workers"
    comparisons = _comparisons(claim, votes, copies_i)
    if comparisons is None or (named and not _linked(votes)):
        return None
    table, items_p = vote_table(votes, copies_i, named=named)
    return weigh_comparisons(table, items_p, comparisons, rng) if _is_quick(table, comparisons) else None


def _linked(votes: Votes) -> bool:
    """Whether shared items link all workers: separate crews give the likelihood many peaks, and climbs miss some."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_items, n_workers, _ = votes.shape
    edges = np.ones(votes.n_votes, dtype=np.int8), (votes.item_n, n_items + votes.worker_n)
    _, part = connected_components(coo_array(edges, shape=(n_items + n_workers,) * 2), directed=False)
    return len(np.unique(part[n_items + votes.worker_n])) == 1


def _is_quick(table: Table, comparisons: Comparisons) -> bool:
    """Whether the search takes seconds: several crews are one panel, whose ballots and voters are those of all."""
    n_comparisons, n_ballots, n_labels = comparisons.ballot_qrf.shape
    summed = comparisons.ballot_qrf.size if n_ballots > 1 else 0
    work = n_comparisons * max(table.said_pf.shape)
    return work <= MOST_WORK and summed <= MOST_SUMMED and n_labels * table.n_classes <= MOST_CELLS


def _comparisons(claim: Claim, votes: Votes, copies_i: FloatArray) -> Comparisons | None:
    """What majority must win for the claim to hold; None where that is too much to search."""
    _, n_workers, n_classes = votes.shape
    items_h = np.bincount(votes.votes_i, weights=copies_i)[1:]
    sizes = [h + 1 for h in np.flatnonzero(items_h >= max(RARE_SHARE * items_h.sum(), 1)).tolist()]
    if claim.model != "named workers":
        ways = sum((h + 1) ** n_classes for h in sizes)
        return count_comparisons(n_classes, sizes) if ways <= MOST_WAYS else None
    sets = worker_sets(votes, copies_i)
    sets = _common(sets) if claim.kind == "named" else tuple(one for one in sets if one.n_votes in sizes)
    if sum(n_classes**one.n_votes * len(one.worker_sh) for one in sets) > MOST_WAYS:
        return None
    return (ballot_comparisons if claim.kind == "named" else panel_comparisons)(n_classes, n_workers, sets)


def _common(sets: tuple[WorkerSets, ...]) -> tuple[WorkerSets, ...]:
    """The sets without the rarest, which together hold RARE_SHARE of the items at most."""
    items_s = np.concatenate([one.items_s for one in sets])
    order_s = np.argsort(items_s, kind="stable")
    kept_s = np.empty(len(items_s), dtype=bool)
    kept_s[order_s] = np.cumsum(items_s[order_s]) > RARE_SHARE * items_s.sum()
    parts = np.split(kept_s, np.cumsum([len(one.items_s) for one in sets])[:-1])
    return tuple(
        WorkerSets(n_votes=one.n_votes, worker_sh=one.worker_sh[kept], items_s=one.items_s[kept])
        for one, kept in zip(sets, parts, strict=True)
        if kept.any()
    )


def vote_table(votes: Votes, copies: ArrayLike | None = None, *, named: bool) -> tuple[Table, FloatArray]:
    """The distinct patterns of items that have votes, ballots or only counts, and how many items have each.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], items="ab", workers="wx", labels="ny")
    >>> [(vote_table(votes, named=named)[0].said_pf.tolist()) for named in (False, True)]
    [[[1.0, 1.0]], [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]]
    """
    _, n_workers, n_classes = votes.shape
    said_if = counts(votes).astype(np.int64)
    if named:
        said_if = np.zeros((len(votes.items), n_workers * n_classes), dtype=np.int64)
        np.add.at(said_if, (votes.item_n, votes.worker_n * n_classes + votes.label_n), 1)
    voted = votes.votes_i > 0
    said_pf, pattern_i = np.unique(said_if[voted], axis=0, return_inverse=True)
    items_p = np.bincount(pattern_i.ravel(), weights=as_copies(votes, copies)[voted], minlength=len(said_pf))
    return Table(said_pf.astype(float), n_classes), items_p.astype(float)
