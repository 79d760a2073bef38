"""The claim that gold labels settle alone: no model, no independence of votes.  Proofs: docs/theory/gold.md."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from majorant.certify.certificate import Claim, Verdict
from majorant.certify.gold_cells import GoldCells, gold_cells
from majorant.certify.gold_loss import gold_loss
from majorant.certify.gold_tests import best_p_values, certified, simes, worse_p_values
from majorant.errors import ConfigError
from majorant.interval import FloatArray
from majorant.votes import Votes

LEAST_SHARE = 0.01  # a number of votes that fewer items hold does not enter the verdict on the data set
POWER = 0.8  # with which the planned gold decides
ASSUMPTIONS = (
    "gold items are chosen without regard to their truth: at random, or by their votes",
    "the claim is about the vote counts that occur in these votes; tied votes are left out",
)


def gold_claim(votes: Votes, *, level: float = 0.95) -> Claim:
    """Is majority's class the likeliest given the counts, on every count of votes that occurs: by exact tests.

    Any number of classes and of gold items; votes may depend on each other in any way.  Each verdict, and the loss
    interval, is wrong with probability at most 1 - level.  Without gold the claim is `unidentified`.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=1000, n_votes=3, rng=0, gold=.5)
    >>> claim = gold_claim(votes)
    >>> claim.verdict, claim.items_certified
    ('proved', 1.0)
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, not {level}.")
    cells = gold_cells(votes)
    if not cells.gold_c.sum() or cells.n_classes < 2:
        return _nothing_to_tell(votes)
    alpha = 1 - level
    counted = cells.select(_counted(cells))
    verdict, certified_c = _verdict(counted, alpha), certified(cells, alpha)
    return Claim(
        kind="gold",
        verdict=verdict,
        why=_why(verdict, counted, votes.labels, alpha),
        by_votes={int(n): _verdict(cells.select(cells.votes_c == n), alpha) for n in np.unique(cells.votes_c)},
        margin=_margin(counted, alpha),
        loss=gold_loss(cells, level),
        items_certified=float(cells.share_c[certified_c].sum()),
        evidence={
            "gold_items": float(cells.gold_c.sum()),
            "cells": float(len(cells.items_c)),
            "cells_certified": float(certified_c.sum()),
            "p_optimal": float(best_p_values(counted).max()),
            "p_not_optimal": simes(worse_p_values(counted)),
        },
        model="none",
        assumptions=ASSUMPTIONS,
        more_items=more_gold(counted, alpha) if verdict == "undecided" else None,
    )


def more_gold(cells: GoldCells, alpha: float) -> int | None:
    """About how many more gold items, drawn at random, would decide; None where the estimate is too close to call.

    At the estimated odds in each cell, one imaginary gold item added at majority's overall accuracy.

    >>> more_gold(GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[30, 1], [14, 10]])), .05)
    397
    """
    pair_c = cells.right_c + cells.rival_c
    overall = cells.right_c.sum() / max(pair_c.sum(), 1)
    odds_c = (cells.right_c + overall) / (pair_c + 1)
    either_c = (pair_c + 1) / (cells.gold_c + 1)
    needed = gold_needed(odds_c, either_c * cells.share_c, cells.n_classes, alpha)
    return None if needed is None else max(1, needed - int(cells.gold_c.sum()))


def gold_needed(odds_c: FloatArray, share_c: FloatArray, n_classes: int, alpha: float) -> int | None:
    """About how many gold items decide with probability POWER at given odds; None if some cell is even.

    `odds_c` is P(truth is majority's class) against the strongest rival in each cell, `share_c` the share of all items
    that are in the cell and of either class.  For a proof the cell that needs the most counts, for a refutation the one
    that needs the least.
    """
    from scipy.special import ndtri

    worse_c = odds_c < 0.5
    error = alpha / (len(odds_c) * (n_classes - 1)) if worse_c.any() else alpha
    spread_c = ndtri(1 - error) / 2 + ndtri(POWER) * np.sqrt(odds_c * (1 - odds_c))
    with np.errstate(divide="ignore"):
        tests_c = np.maximum((spread_c / (odds_c - 0.5)) ** 2, np.log2(1 / error))
        needed_c = tests_c / share_c
    needed = needed_c[worse_c].min() if worse_c.any() else needed_c.max()
    return int(np.ceil(needed)) if np.isfinite(needed) else None


def _nothing_to_tell(votes: Votes) -> Claim:
    known = votes.gold_i is not None and bool((votes.gold_i >= 0).any())
    why = "No item with a gold label has an untied vote." if known else "No item has a gold label."
    if len(votes.labels) < 2:
        why = "All votes name one class: there is nothing to decide."
    return Claim(kind="gold", verdict="unidentified", why=why, model="none", assumptions=ASSUMPTIONS)


def _counted(cells: GoldCells) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Cells of a number of votes that at least LEAST_SHARE of the untied items hold."""
    _, size_c = np.unique(cells.votes_c, return_inverse=True)
    return np.asarray(np.bincount(size_c, weights=cells.share_c)[size_c] >= LEAST_SHARE)


def _verdict(cells: GoldCells, alpha: float) -> Verdict:
    """Proved: every cell is, each at the full level; refuted: one p-value against "all cells are in order"."""
    if (best_p_values(cells) <= alpha).all():
        return "proved"
    return "refuted" if simes(worse_p_values(cells)) <= alpha else "undecided"


def _margin(cells: GoldCells, alpha: float) -> float:
    """The smallest estimated log-odds of majority's class against its rival, half an item added to each.

    Over the cells whose gold could tell anything at this level, if there are any: a few items give wild odds.
    """
    odds_c = np.log(cells.right_c + 0.5) - np.log(cells.rival_c + 0.5)
    telling_c = cells.gold_c >= min(np.log2(1 / alpha), cells.gold_c.max())
    return float(odds_c[telling_c].min())


def _why(verdict: Verdict, cells: GoldCells, labels: Sequence[Hashable], alpha: float) -> str:
    if verdict == "proved":
        return "By the gold labels, the majority label is the likeliest one on every count of votes that occurs."
    if verdict == "refuted":
        return f"By the gold labels, a rule that ignores who voted beats majority: {_worst(cells, labels)}."
    n_open = int((best_p_values(cells) > alpha).sum())
    return f"The gold labels leave {n_open} of {len(cells.items_c)} counts of votes open: {_worst(cells, labels)}."


def _worst(cells: GoldCells, labels: Sequence[Hashable]) -> str:
    """The count that speaks most against majority, in words."""
    worst = int(np.lexsort([-cells.items_c, -best_p_values(cells), worse_p_values(cells)])[0])
    count_k = cells.counts_ck[worst]
    votes = ", ".join(f"{count_k[k]} x {labels[k]}" for k in np.argsort(-count_k, kind="stable") if count_k[k])
    if not cells.gold_c[worst]:
        return f"no gold item has the votes {votes}"
    majority, rival = labels[cells.majority_c[worst]], labels[cells.others_ck[worst].argmax()]
    return (
        f"of {cells.gold_c[worst]:,} gold items with the votes {votes}, {cells.right_c[worst]:,} are {majority} and "
        f"{cells.rival_c[worst]:,} {rival}"
    )
