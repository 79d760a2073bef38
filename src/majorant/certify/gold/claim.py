"""The claim that gold labels settle alone: no model, no independence of votes.  Proofs: docs/theory/gold.md."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from majorant.certify.certificate import ITEMS_APART, Claim, Verdict
from majorant.certify.gold.loss import (
    LEAST_SHARE,
    GoldCells,
    best_p_values,
    certified,
    gold_cells,
    gold_loss,
    not_optimal_p_value,
    worse_p_values,
)
from majorant.errors import ConfigError
from majorant.theory.patterns import shared_patterns
from majorant.values import LEVEL, FloatArray, as_level
from majorant.votes import Votes
from majorant.wording import gold_count, gold_sentence, no_gold, ties_cost

ASSUMPTIONS = (
    "gold items are chosen without regard to their truth: at random, or by their votes",
    "the claim is about the vote counts that occur in these votes",
    ITEMS_APART,
)
POWER = 0.8  # with which the planned gold decides
MOST_GOLD = 1_000_000  # beyond this the answer is: no


def gold_claim(votes: Votes, *, level: float = LEVEL) -> Claim:
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
    """The gold claim from counted cells; `any_gold` says whether some item has gold, be it without votes."""
    if not cells.gold_c.sum() or cells.n_classes < 2:
        return _nothing_to_tell(labels, any_gold)
    alpha = 1 - level
    counted, certified_c = cells.select(_counted(cells)), certified(cells, alpha)
    untied, p_not_optimal = counted.untied, not_optimal_p_value(counted, alpha)
    proved = bool(len(untied.items_c)) and bool((best_p_values(untied) <= alpha).all())
    refuted = p_not_optimal <= alpha
    apart: Verdict = "proved" if proved else "undecided"
    if refuted and not proved and not_optimal_p_value(untied, alpha) <= alpha:
        apart = "refuted"
    verdict: Verdict = "refuted" if refuted else apart
    loss, tie_loss = gold_loss(cells, level)
    tied_share = float(cells.share_c[cells.tied_c].sum())
    return Claim(
        kind="gold",
        verdict=verdict,
        why=_why(verdict, apart, counted, labels, alpha) + ties_cost(tied_share, tie_loss) + ".",
        by_votes=_by_votes(cells, certified_c, counted if proved else None, alpha),
        untied=apart,
        margin=_margin(untied, alpha),
        loss=loss,
        tied_share=tied_share,
        tie_loss=tie_loss,
        items_certified=float(cells.share_c[certified_c].sum()),
        evidence={
            "gold_items": float(cells.gold_c.sum()),
            "cells": float(len(cells.items_c)),
            "cells_certified": float(certified_c.sum()),
            "p_optimal": float(best_p_values(untied).max(initial=0.0 if len(untied.items_c) else 1.0)),
            "p_not_optimal": p_not_optimal,
            "majority_accuracy": float(cells.right_c.sum() / cells.gold_c.sum()),
        },
        model="none",
        assumptions=ASSUMPTIONS,
        not_tested=ASSUMPTIONS[::2],
        level=level,
        more_items=more_gold(untied, alpha) if verdict == "undecided" else 0,
    )


def _by_votes(
    cells: GoldCells, certified_c: NDArray[np.bool_], proved: GoldCells | None, alpha: float
) -> dict[int, Verdict]:
    """The verdict for each number of votes apart from ties, all of them together at the level, and for ties with them.

    Those of a data set that is proved are proved with it; else a number of votes is if all its cells are certified, all
    cells at once.  Refutations share the error evenly.
    """
    sizes = np.unique(cells.votes_c)
    together = set() if proved is None else set(np.unique(proved.votes_c).tolist())
    verdicts: dict[int, Verdict] = {}
    for n in sizes.tolist():
        of_size_c = cells.votes_c == n
        untied_c = of_size_c & ~cells.tied_c
        good = n in together or (untied_c.any() and certified_c[untied_c].all())
        lost = not_optimal_p_value(cells.select(of_size_c), alpha / len(sizes)) <= alpha / len(sizes)
        verdicts[n] = "refuted" if lost else "proved" if good else "undecided"
    return verdicts


def _nothing_to_tell(labels: Sequence[Hashable], any_gold: bool) -> Claim:
    why = no_gold(one_class=len(labels) < 2, any_gold=any_gold)
    return Claim(kind="gold", verdict="unidentified", why=why, model="none", assumptions=ASSUMPTIONS)


def _counted(cells: GoldCells) -> NDArray[np.bool_]:
    """Cells of a number of votes that at least LEAST_SHARE of the items hold, or of the commonest ones."""
    _, size_c = np.unique(cells.votes_c, return_inverse=True)
    share_s = np.bincount(size_c, weights=cells.share_c)
    return np.asarray(share_s[size_c] >= min(LEAST_SHARE, share_s.max()))


def _margin(cells: GoldCells, alpha: float) -> float | None:
    """The smallest estimated log-odds of majority's class against its rival, half an item added to each.

    Over the cells whose gold could tell anything at this level, if there are any: a few items give wild odds.
    """
    odds_c = np.log(cells.right_c + 0.5) - np.log(cells.rival_c + 0.5)
    telling_c = cells.gold_c >= max(1, min(np.log2(1 / alpha), cells.gold_c.max(initial=0)))
    return float(odds_c[telling_c].min()) if telling_c.any() else None


def _why(verdict: Verdict, apart: Verdict, cells: GoldCells, labels: Sequence[Hashable], alpha: float) -> str:
    untied, any_tied = cells.untied, bool(cells.tied_c.any())
    shown = cells if verdict == "refuted" else untied
    worst = _worst(shown, labels) if len(shown.items_c) else ""
    n_open = int((best_p_values(untied) > alpha).sum())
    return gold_sentence(verdict, apart, worst, n_open, len(untied.items_c), any_tied=any_tied)


def _worst(cells: GoldCells, labels: Sequence[Hashable]) -> str:
    """The count that speaks most against majority, in words."""
    worst = int(np.lexsort([-cells.items_c, -best_p_values(cells), worse_p_values(cells)])[0])
    gold_k, top_k, count_k = cells.gold_ck[worst], cells.top_ck[worst], cells.counts_ck[worst]
    votes = [(int(count_k[k]), labels[k]) for k in np.argsort(-count_k, kind="stable") if count_k[k]]
    shown = [int(cells.majority_c[worst]), int(np.where(top_k, -1, gold_k).argmax())]
    if top_k.sum() > 1:
        shown = np.argsort(-gold_k, kind="stable")[:2].tolist()
    return gold_count(votes, int(cells.gold_c[worst]), [(int(gold_k[k]), labels[k]) for k in shown])


def more_gold(cells: GoldCells, alpha: float) -> int | None:
    """About how many fresh gold items, drawn at random and judged by themselves, would decide.

    None where no number in reach would.  At the estimated odds in each untied cell, one imaginary gold item added at
    majority's overall accuracy.

    >>> more_gold(GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[30, 1], [14, 10]])), .05)
    450
    """
    if not len(cells.items_c):
        return None
    pair_c = cells.right_c + cells.rival_c
    overall = (cells.right_c.sum() + 1) / (pair_c.sum() + 1)
    odds_c = (cells.right_c + overall) / (pair_c + 1)
    either_c = (pair_c + 1) / (cells.gold_c + 1)
    return gold_needed(odds_c, either_c * cells.share_c, cells.n_classes, alpha)


def gold_needed(odds_c: FloatArray, share_c: FloatArray, n_classes: int, alpha: float) -> int | None:
    """About how many gold items decide with probability POWER at given odds; None if more than MOST_GOLD.

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
    return int(np.ceil(needed)) if needed <= MOST_GOLD else None


def model_gold(prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int, alpha: float) -> int | None:
    """Gold items that would decide at this model; the rarest counts, LEAST_SHARE of the items together, left open."""
    try:
        patterns = shared_patterns(prior_k, confusion_kl, n_votes)
    except ConfigError:  # too many vote patterns
        return None
    untied_b = patterns.top_kb.sum(axis=0) == 1
    top_kb = patterns.top_kb[:, untied_b]
    joint_kb = prior_k[:, None] * np.exp(patterns.log_given_kb[:, untied_b])
    share_b = joint_kb.sum(axis=0)
    order_b = np.argsort(share_b)
    common_b = order_b[np.cumsum(share_b[order_b]) > LEAST_SHARE]
    right_b = joint_kb[top_kb.argmax(axis=0), np.arange(len(share_b))][common_b]
    either_b = right_b + np.where(top_kb, 0, joint_kb).max(axis=0)[common_b]
    return gold_needed(right_b / either_b, either_b, len(prior_k), alpha)
