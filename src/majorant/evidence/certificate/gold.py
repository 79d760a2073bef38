"""The claim about majority vote from gold labels alone, without a model of the votes.

It uses exact tests for every vote count, and an exact interval for the loss of majority vote relative to the best rule
that ignores who voted. Proofs: docs/theory/gold.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, kl_div, ndtri

from majorant.evidence.certificate.certificate import RARE_SHARE, Claim, Family, Reason, Verdict
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.tally import Patterns, counts, distinct_counts
from majorant.values import Estimate, FloatArray, as_level, binomial_bounds
from majorant.votes import IntArray, Votes


def claim_from_cells(cells: GoldCells, *, level: float) -> Claim:
    """Compare majority vote with all rules that ignore who voted, using gold labels alone.

    The number of classes and gold items is arbitrary, and votes may depend on each other in any way. Majority vote is
    optimal if its class is proved the most likely on every untied count that occurs often enough, and not optimal if
    another class is proved more likely on some of them. The verdict and the interval of the loss are each wrong with
    probability at most 1 - level.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=1000, n_votes=3, rng=0, gold=.5)
    >>> claim = claim_from_cells(gold_cells(votes), level=.95)
    >>> str(claim.verdict), str(claim.certainty)
    ('optimal', 'proved')
    """
    alpha = 1 - as_level(level)
    random = Tested(Assumption.RANDOM_LABELS, Status.UNTESTED)
    assumptions = (random, Tested(Assumption.INDEPENDENT_ITEMS, Status.UNTESTED))
    claim = Claim(family=Family.GOLD, reason=Reason.NOT_IDENTIFIED, assumptions=assumptions, level=level)
    if not cells.gold_c.sum() or cells.n_classes < 2:
        return claim
    untied = cells.select(_counted(cells)).untied
    verdict = Verdict.OPEN
    if len(untied.items_c) and (best_p_values(untied) <= alpha).all():
        verdict = Verdict.OPTIMAL
    elif not_optimal_p_value(untied, alpha) <= alpha:
        verdict = Verdict.NOT_OPTIMAL
    is_open = verdict == Verdict.OPEN
    return replace(
        claim,
        verdict=verdict,
        certainty=None if is_open else Certainty.PROVED,
        reason=Reason.TOO_FEW_ITEMS if is_open else None,
        margin=_margin(untied, alpha),
        loss=gold_loss(cells, level),
        accuracy=float(cells.right_c.sum() / cells.gold_c.sum()),
        tied_share=float(cells.share_c[cells.tied_c].sum()),
        n_items=int(cells.items_c.sum()),
        n_labels=int(cells.gold_c.sum()),
        more_items=more_gold(untied, alpha) if is_open else 0,
    )


def _counted(cells: GoldCells) -> NDArray[np.bool_]:
    """Cells whose number of votes is the most common or occurs on at least RARE_SHARE of the items."""
    _, size_c = np.unique(cells.counts_ck.sum(axis=1), return_inverse=True)
    share_s = np.bincount(size_c, weights=cells.share_c)
    return np.asarray(share_s[size_c] >= min(RARE_SHARE, share_s.max()))


def _margin(cells: GoldCells, alpha: float) -> float | None:
    """Smallest estimated log-odds of majority's class against its rival, with half an item added to each.

    Only cells with enough gold for a significant result count, if there are any, because a few items give extreme odds.
    """
    odds_c = np.log(cells.right_c + 0.5) - np.log(cells.rival_c + 0.5)
    telling_c = cells.gold_c >= max(1, min(np.log2(1 / alpha), cells.gold_c.max(initial=0)))
    return float(odds_c[telling_c].min()) if telling_c.any() else None


def more_gold(cells: GoldCells, alpha: float) -> int | None:
    """Approximate number of new random gold items that would decide on their own.

    None if no feasible number would.  The odds in each untied cell are estimated with one gold pseudo-item added at
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
    """Approximate number of gold items that decide with probability .8; None if more than a million.

    `odds_c` is the probability that the truth is majority's class rather than its strongest rival, and `share_c` the
    share of all items that are in the cell and of one of these classes.  A proof takes as many items as the cell that
    needs the most, a refutation as many as the one that needs the fewest.
    """
    worse_c = odds_c < 0.5
    error = alpha / (len(odds_c) * (n_classes - 1)) if worse_c.any() else alpha
    spread_c = ndtri(1 - error) / 2 + ndtri(0.8) * np.sqrt(odds_c * (1 - odds_c))
    with np.errstate(divide="ignore"):
        tests_c = np.maximum((spread_c / (odds_c - 0.5)) ** 2, np.log2(1 / error))
        needed_c = tests_c / share_c
    needed = needed_c[worse_c].min() if worse_c.any() else needed_c.max()
    return int(np.ceil(needed)) if needed <= 1_000_000 else None


@dataclass(frozen=True, slots=True, eq=False)
class GoldCells:
    """Gold labels by vote count, one row per count; only `gold_ck` depends on gold.

    Majority vote is a random choice among the classes with the most votes.
    """

    counts_ck: IntArray
    items_c: IntArray  # number of items with these counts, gold or not
    gold_ck: IntArray  # number of gold items among them, by true class

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.counts_ck.shape[1])

    @property
    def gold_c(self) -> NDArray[np.int64]:
        """Number of gold items in each cell."""
        return np.asarray(self.gold_ck.sum(axis=1), dtype=np.int64)

    @property
    def top_ck(self) -> NDArray[np.bool_]:
        """The classes with the most votes, among which majority draws."""
        return np.asarray(self.counts_ck == self.counts_ck.max(axis=1, keepdims=True, initial=0))

    @property
    def tied_c(self) -> NDArray[np.bool_]:
        """The cells whose votes are tied."""
        return np.asarray(self.top_ck.sum(axis=1) > 1)

    @property
    def untied(self) -> GoldCells:
        """The cells in which one class has the most votes."""
        return self.select(~self.tied_c)

    @property
    def right_c(self) -> FloatArray:
        """Number of gold items on which majority is right; an expected number if votes are tied."""
        return np.asarray((self.gold_ck * self.top_ck).sum(axis=1) / self.top_ck.sum(axis=1))

    @property
    def rival_c(self) -> NDArray[np.int64]:
        """Number of gold items of the most common class other than those with the most votes."""
        return np.asarray(np.where(self.top_ck, 0, self.gold_ck).max(axis=1, initial=0), dtype=np.int64)

    @property
    def share_c(self) -> FloatArray:
        """Share of the items in each cell."""
        return np.asarray(self.items_c / max(self.items_c.sum(), 1))

    def select(self, chosen_c: NDArray[np.bool_]) -> GoldCells:
        """A subset of the cells."""
        return GoldCells(self.counts_ck[chosen_c], self.items_c[chosen_c], self.gold_ck[chosen_c])


def gold_cells(votes: Votes) -> GoldCells:
    """Count gold labels by cell; items without votes are left out.

    >>> votes = Votes.from_codes([0, 1, 1, 2], [0, 0, 1, 0], [1, 0, 1, 1], items="abc", workers="wx", labels="ny",
    ...                          gold=[1, 0, -1])
    >>> cells = gold_cells(votes)
    >>> cells.counts_ck.tolist(), cells.items_c.tolist(), cells.gold_ck.tolist()
    ([[0, 1], [1, 1]], [2, 1], [[0, 1], [1, 0]])
    """
    return cells_of(distinct_counts(gold_rows(votes)))


def gold_rows(votes: Votes) -> IntArray:
    """Votes of each item by class, and the code of its gold label plus 1 (0 if unknown), (I, K + 1)."""
    gold_i = np.full(len(votes.items), -1, dtype=np.int32) if votes.gold_i is None else votes.gold_i
    return np.column_stack([counts(votes), gold_i + 1])


def cells_of(rows: Patterns) -> GoldCells:
    """Build cells from the distinct rows of `gold_rows`, sorted, and their numbers of items."""
    n_classes = rows.counts_pk.shape[1] - 1
    counts_rk, truth_r = rows.counts_pk[:, :-1], rows.counts_pk[:, -1]
    used_r = counts_rk.sum(axis=1) > 0
    counts_rk, truth_r, items_r = counts_rk[used_r], truth_r[used_r], rows.items_p[used_r]
    new_r = np.ones(len(counts_rk), dtype=bool)
    new_r[1:] = (counts_rk[1:] != counts_rk[:-1]).any(axis=1)  # rows are sorted, so those of a cell are adjacent
    cell_r, n_cells = np.cumsum(new_r) - 1, int(new_r.sum())
    by_truth_c = np.zeros((n_cells, n_classes + 1), dtype=np.int64)
    by_truth_c[cell_r, truth_r] = items_r
    return GoldCells(counts_rk[new_r], by_truth_c.sum(axis=1), by_truth_c[:, 1:])


def best_p_values(cells: GoldCells) -> FloatArray:
    """For each cell, the p-value against "some other class is at least as likely as majority's".

    Given how many of its gold items belong to one of two classes, the number that belongs to the first is binomial, so
    each other class is tested exactly.  All of them must be beaten, so the largest p-value counts, that of the most
    common rival.  It is 1 for tied classes, because no data can prove that a random choice between them is best.

    >>> best_p_values(GoldCells(np.array([[3, 0], [1, 1]]), np.array([9, 9]), np.array([[5, 0], [5, 0]]))).tolist()
    [0.03125, 1.0]
    """
    return np.where(cells.tied_c, 1.0, _at_least(cells.right_c, cells.right_c + cells.rival_c, 0.5))


def worse_p_values(cells: GoldCells) -> FloatArray:
    """For each untied cell, the p-value against "no class is more likely than majority's".

    Given how many of its gold items belong to a class or to majority's, the number that belongs to the class is
    binomial.  The smallest p-value is corrected for the number of other classes (Bonferroni).

    >>> worse_p_values(GoldCells(np.array([[2, 1, 0]]), np.array([9]), np.array([[0, 5, 0]]))).tolist()
    [0.0625]
    """
    rival_ck = np.where(cells.top_ck, 0, cells.gold_ck)
    right_c1 = (cells.gold_ck * cells.top_ck).sum(axis=1)[:, None]
    p_value_ck = np.where(rival_ck > 0, _at_least(rival_ck, rival_ck + right_c1, 0.5), 1.0)
    return np.asarray(np.minimum(1.0, (cells.n_classes - 1) * p_value_ck.min(axis=1, initial=1.0)))


def not_optimal_p_value(cells: GoldCells, alpha: float) -> float:
    """A combined p-value against "majority loses nothing in any cell", from cells that can be significant at alpha."""
    telling_c = cells.gold_c >= np.log2((cells.n_classes - 1) / alpha)
    return simes(worse_p_values(cells)[telling_c])


def simes(p_value_c: FloatArray) -> float:
    """Combine independent p-values into one against "all hypotheses hold" (Simes 1986).

    >>> simes(np.array([.04, .03, .9]))
    0.06
    """
    ordered_c = np.sort(p_value_c)
    return float((ordered_c * len(ordered_c) / np.arange(1, len(ordered_c) + 1)).min(initial=1.0))


def _at_least(wins: NDArray[Any], trials: NDArray[Any], chance: FloatArray | float) -> FloatArray:
    """Binomial probability of at least this many wins."""
    return np.where(wins > 0, betainc(np.maximum(wins, 1), np.maximum(trials - wins, 0) + 1.0, chance), 1.0)


def gold_loss(cells: GoldCells, level: float) -> Estimate:
    """Loss of majority vote on untied items, as a share of all items, with a simultaneous interval over cells.

    The interval holds with probability at least `level` for any sample size and however votes depend on each other.
    Cells with too few gold items are estimated to have no loss, but the upper end allows for all of majority's errors
    in them, and for any loss in cells without gold.

    >>> cells = GoldCells(np.array([[3, 0], [2, 1]]), np.array([60, 40]), np.array([[60, 0], [10, 30]]))
    >>> loss = gold_loss(cells, .95)
    >>> loss.value, round(loss.low, 3), round(loss.high, 3)
    (0.2, 0.043, 0.314)
    """
    share_c, cells = cells.share_c[~cells.tied_c], cells.untied
    tail, enough_c = _error_shares(cells, 1 - level)
    scant_c, unknown = ~enough_c & (cells.gold_c > 0), float(share_c[cells.gold_c == 0].sum())
    enough = cells.select(enough_c)
    low_c, high_c = _cell_bounds(enough, tail)
    high = float(share_c[enough_c] @ high_c) + _errors_bound(cells.select(scant_c), share_c[scant_c], tail) + unknown
    excess_c = np.maximum(enough.gold_ck.max(axis=1, initial=0) - enough.right_c, 0) / np.maximum(enough.gold_c, 1)
    return Estimate(float(share_c[enough_c] @ excess_c), float(share_c[enough_c] @ low_c), min(1.0, high))


def _product(positive: FloatArray, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds on a product from bounds on its factors, (2, ...) each; the first factor is never negative."""
    low = np.where(factor[0] > 0, positive[0], positive[1]) * factor[0]
    high = np.where(factor[1] > 0, positive[1], positive[0]) * factor[1]
    return low, high


def _error_shares(cells: GoldCells, alpha: float) -> tuple[float, NDArray[np.bool_]]:
    """Error probability of each bound, and which untied cells have enough gold for their own bounds.

    A cell has enough if majority would be proved right if it were right on all gold items.  Both depend only on the
    votes and on which items are gold, not on the gold labels.  The other cells share one bound.
    """
    ordered_c = -np.sort(-cells.gold_c)
    # For m cells that have their own bounds.
    tail_m = alpha / 2 / ((cells.n_classes - 1) * np.arange(len(ordered_c) + 2) + 1)
    least_m = np.log2(1 / tail_m) + (cells.n_classes > 2)
    m = int((ordered_c > least_m[1:-1]).sum())
    return float(tail_m[m]), cells.gold_c > least_m[m + 1]


def _cell_bounds(cells: GoldCells, tail: float) -> tuple[FloatArray, FloatArray]:
    """Bounds on the loss in each untied cell: the largest lead of a class over majority's, if any.

    Class k leads by pi (2 theta - 1), where pi is the probability that the truth is k or majority's class, and theta
    the probability of k given this. With two classes, pi is 1, and theta's bound uses the whole tail.
    """
    gold_c, right_c1 = cells.gold_c, (cells.gold_ck * cells.top_ck).sum(axis=1)[:, None]
    either_ck = np.where(cells.top_ck, 0, cells.gold_ck) + right_c1
    if cells.n_classes == 2:
        either, tail = np.ones((2, *either_ck.shape)), 2 * tail
    else:
        every_ck = np.broadcast_to(gold_c[:, None], either_ck.shape)
        either = np.stack(binomial_bounds(either_ck, every_ck, tail / 2))
    lead = 2 * np.stack(binomial_bounds(cells.gold_ck, either_ck, tail / 2)) - 1
    low_ck, high_ck = _product(either, lead)
    low_c, high_c = (np.where(cells.top_ck, 0.0, one_ck).max(axis=1, initial=0.0) for one_ck in (low_ck, high_ck))
    return low_c, high_c


def _errors_bound(cells: GoldCells, share_c: FloatArray, tail: float) -> float:
    """Upper bound on majority's errors in these cells together, and therefore on its loss there.

    A gold item has the weight share / gold of its cell. Divided by the largest weight, errors are independent numbers
    between 0 and 1, so the relative-entropy form of Hoeffding's inequality applies to their mean.
    """
    if not len(share_c):
        return 0.0
    weight_c = share_c / cells.gold_c
    n_gold, heaviest = int(cells.gold_c.sum()), float(weight_c.max())
    errors = float(weight_c @ (cells.gold_c - cells.right_c)) / heaviest
    bound = heaviest * n_gold * _entropy_bound(errors / n_gold, np.log(1 / tail) / n_gold)
    return min(bound, float(share_c.sum()))


def _entropy_bound(mean: float, budget: float) -> float:
    """The largest q >= mean whose relative entropy kl(mean, q) is at most `budget`."""
    from scipy.optimize import brentq

    def excess(q: float) -> float:
        return float(kl_div(mean, q) + kl_div(1 - mean, 1 - q)) - budget

    largest = 1 - 1e-15
    return 1.0 if mean >= largest or excess(largest) <= 0 else float(brentq(excess, mean, largest, xtol=1e-12))
