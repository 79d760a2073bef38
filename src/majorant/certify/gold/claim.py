"""The claim that gold labels settle alone: no model, no independence of votes.  Proofs: docs/theory/gold.md."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from majorant.certify.certificate import Claim, Verdict
from majorant.certify.gold.cells import LEAST_SHARE, GoldCells, gold_cells
from majorant.certify.gold.loss import gold_loss
from majorant.certify.gold.plan import more_gold
from majorant.certify.gold.tests import best_p_values, certified, not_optimal_p_value, worse_p_values
from majorant.interval import as_level
from majorant.votes import Votes

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
    as_level(level)
    known = votes.gold_i is not None and bool((votes.gold_i >= 0).any())
    return claim_from_cells(gold_cells(votes), votes.labels, level=level, any_gold=known)


def claim_from_cells(cells: GoldCells, labels: Sequence[Hashable], *, level: float, any_gold: bool = True) -> Claim:
    """The gold claim from counted cells; `any_gold` says whether some item has gold, be it tied or without votes."""
    if not cells.gold_c.sum() or cells.n_classes < 2:
        return _nothing_to_tell(labels, any_gold)
    alpha = 1 - level
    counted = cells.select(_counted(cells))
    verdict, certified_c = _verdict(counted, alpha), certified(cells, alpha)
    return Claim(
        kind="gold",
        verdict=verdict,
        why=_why(verdict, counted, labels, alpha),
        by_votes={int(n): _verdict(cells.select(cells.votes_c == n), alpha) for n in np.unique(cells.votes_c)},
        margin=_margin(counted, alpha),
        loss=gold_loss(cells, level),
        items_certified=float(cells.share_c[certified_c].sum()),
        evidence={
            "gold_items": float(cells.gold_c.sum()),
            "cells": float(len(cells.items_c)),
            "cells_certified": float(certified_c.sum()),
            "p_optimal": float(best_p_values(counted).max()),
            "p_not_optimal": not_optimal_p_value(counted, alpha),
            "majority_accuracy": float(cells.right_c.sum() / cells.gold_c.sum()),
        },
        model="none",
        assumptions=ASSUMPTIONS,
        level=level,
        more_items=more_gold(counted, alpha) if verdict == "undecided" else None,
    )


def _nothing_to_tell(labels: Sequence[Hashable], any_gold: bool) -> Claim:
    why = "No item with a gold label has an untied vote." if any_gold else "No item has a gold label."
    if len(labels) < 2:
        why = "All votes name one class: there is nothing to decide."
    return Claim(kind="gold", verdict="unidentified", why=why, model="none", assumptions=ASSUMPTIONS)


def _counted(cells: GoldCells) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Cells of a number of votes that at least LEAST_SHARE of the untied items hold, or of the commonest ones."""
    _, size_c = np.unique(cells.votes_c, return_inverse=True)
    share_s = np.bincount(size_c, weights=cells.share_c)
    return np.asarray(share_s[size_c] >= min(LEAST_SHARE, share_s.max()))


def _verdict(cells: GoldCells, alpha: float) -> Verdict:
    """Proved: every cell is, each at the full level; refuted: one p-value against "all cells are in order"."""
    if (best_p_values(cells) <= alpha).all():
        return "proved"
    return "refuted" if not_optimal_p_value(cells, alpha) <= alpha else "undecided"


def _margin(cells: GoldCells, alpha: float) -> float | None:
    """The smallest estimated log-odds of majority's class against its rival, half an item added to each.

    Over the cells whose gold could tell anything at this level, if there are any: a few items give wild odds.
    """
    odds_c = np.log(cells.right_c + 0.5) - np.log(cells.rival_c + 0.5)
    telling_c = cells.gold_c >= max(1, min(np.log2(1 / alpha), cells.gold_c.max()))
    return float(odds_c[telling_c].min()) if telling_c.any() else None


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
    gold = "1 gold item" if cells.gold_c[worst] == 1 else f"{cells.gold_c[worst]:,} gold items"
    right, wrong = (f"{n:,} {'is' if n == 1 else 'are'}" for n in (cells.right_c[worst], cells.rival_c[worst]))
    return f"of {gold} with the votes {votes}, {right} {majority} and {wrong} {rival}"
