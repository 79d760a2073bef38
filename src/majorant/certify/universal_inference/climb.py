"""EM on a comparison's boundary, for many problems at once: uphill among the models in which winner and rival are even.

The M-step under the constraint `odds = 0` moves lambda items with the comparison's ballots from the winner to the rival
and takes shares as ever; lambda is the root of a falling function.  Proof: docs/theory/split.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.certify.universal_inference.comparison import Comparisons
from majorant.certify.universal_inference.table import Models, Table, class_scores, log_likelihood, log_sum, logarithm
from majorant.theory.checks import FloatArray

MAX_CYCLES = 200
GAIN = 1e-5  # nats: a cycle that gains less has arrived
LONGEST_LEAP = 64.0
ROOT_STEPS = 30
ROOT_PRECISION = 1e-10  # nats
TINY = 1e-250  # in place of 0 where a logarithm or a quotient is taken
WIDEST = 60.0  # log-odds between which a root is looked for


class _Expected(NamedTuple):
    """Items of each class, (B, K), and its votes, (B, K, F), as a model sees them."""

    items_bk: FloatArray
    votes_bkf: FloatArray


def climb(
    table: Table,
    items_bp: FloatArray,
    start: Models,
    comparisons: Comparisons | None = None,
    max_cycles: int = MAX_CYCLES,
) -> tuple[Models, FloatArray]:
    """A local maximum of each likelihood, uphill from each start: among all models, or where its comparison is even.

    Cycles of two EM steps and a leap along them (SQUAREM), kept if it pays, until a cycle gains nothing.
    """
    best = em_step(table, items_bp, start, comparisons)
    value_b = log_likelihood(table, items_bp, best)
    going = np.arange(len(value_b))
    for _ in range(max_cycles):
        items, some, old = items_bp[going], None if comparisons is None else comparisons.take(going), best.take(going)
        first = em_step(table, items, old, some)
        second = em_step(table, items, first, some)
        third = em_step(table, items, _leap(old, first, second), some)
        value_2, value_3 = log_likelihood(table, items, second), log_likelihood(table, items, third)
        new = _choose(value_3 > value_2, third, second)
        found = np.maximum(value_2, value_3)
        gain = found - value_b[going]
        for whole, part in zip(best, new, strict=True):
            whole[going[gain > 0]] = part[gain > 0]
        value_b[going] = np.maximum(found, value_b[going])
        going = going[gain > GAIN]
        if not len(going):
            break
    return best, value_b


def em_step(table: Table, items_bp: FloatArray, models: Models, comparisons: Comparisons | None) -> Models:
    """One EM step; with comparisons, to the best model of the expected counts in which winner and rival are even."""
    score_bkp = class_scores(table, models)
    score_bkp -= score_bkp.max(axis=1, keepdims=True)
    np.exp(score_bkp, out=score_bkp)
    score_bkp *= (items_bp / score_bkp.sum(axis=1))[:, None, :]
    expected = _Expected(score_bkp.sum(axis=2), score_bkp @ table.said_pf)
    if comparisons is not None:
        expected = _moved(expected, models, comparisons, table.n_classes)
    return _shares(expected, table.n_classes)


def _shares(expected: _Expected, n_classes: int) -> Models:
    """The likeliest model of expected counts; where nothing is expected shares are equal."""
    votes_bkhl = expected.votes_bkf.reshape(*expected.votes_bkf.shape[:2], -1, n_classes)
    prior_bk, table_bkhl = (
        np.divide(part, total, out=np.full(part.shape, 1 / n_classes), where=total > TINY)
        for part in (expected.items_bk, votes_bkhl)
        for total in (part.sum(axis=-1, keepdims=True),)
    )
    return Models(logarithm(prior_bk), logarithm(table_bkhl).reshape(expected.votes_bkf.shape))


class _Side(NamedTuple):
    """One class of a comparison: its items and votes, and the votes that go with each item moved."""

    items_b: FloatArray
    votes_bf: FloatArray
    move_bf: FloatArray

    def most(self) -> FloatArray:
        """How many items can be moved until something is used up."""
        moved = self.move_bf > TINY
        ratio_bf = np.where(moved, self.votes_bf / np.where(moved, self.move_bf, 1), np.inf)
        return np.asarray(np.minimum(self.items_b, ratio_bf.min(axis=1)))

    def take(self, index: NDArray[np.intp]) -> _Side:
        """The rows at these places."""
        return _Side(*(part[index] for part in self))


def _moved(expected: _Expected, models: Models, comparisons: Comparisons, n_classes: int) -> _Expected:
    row = np.arange(len(comparisons))
    winner, rival = (
        _Side(
            expected.items_bk[row, k],
            expected.votes_bkf[row, k],
            _move(models.log_table_bkf[row, k], comparisons),
        )
        for k in (comparisons.winner_q, comparisons.rival_q)
    )
    lambda_b = _root(winner, rival, comparisons, n_classes)
    items_bk, votes_bkf = expected.items_bk.copy(), expected.votes_bkf.copy()
    for side, k, sign in ((winner, comparisons.winner_q, -1), (rival, comparisons.rival_q, 1)):
        items_bk[row, k] = np.maximum(side.items_b + sign * lambda_b, 0)
        votes_bkf[row, k] = np.maximum(side.votes_bf + sign * lambda_b[:, None] * side.move_bf, 0)
    return _Expected(items_bk, votes_bkf)


def _move(log_table_bf: FloatArray, comparisons: Comparisons) -> FloatArray:
    """The votes of an item that fell in the comparison, as the class expects them."""
    if comparisons.ballot_qrf.shape[1] == 1:
        return comparisons.ballot_qrf[:, 0]
    share_br, _ = _ballot_shares(log_table_bf, comparisons)
    return np.asarray(np.einsum("br,brf->bf", share_br, comparisons.ballot_qrf))


def _ballot_shares(log_table_bf: FloatArray, comparisons: Comparisons) -> tuple[FloatArray, FloatArray]:
    """P(ballot | class, comparison), (B, R), and log P(comparison | class), (B,)."""
    score_br = np.einsum("bf,brf->br", log_table_bf, comparisons.ballot_qrf) + comparisons.log_share_qr
    log_b = log_sum(score_br, axis=1)
    return np.exp(score_br - log_b[:, None]), log_b


def _root(winner: _Side, rival: _Side, comparisons: Comparisons, n_classes: int) -> FloatArray:
    """How many items to move so that the comparison is even; 0 where there is nothing to move.

    Newton's method within a bracket that closes, in the logit of the way from one end to the other: at the ends the
    odds are infinite like that logit.  Few rows need many steps, so the others are left out once they are half.
    """
    low_b, high_b = -rival.most(), winner.most()
    width_b = high_b - low_b
    left_b, right_b = np.full(len(width_b), -WIDEST), np.full(len(width_b), WIDEST)
    start_b = np.log(np.maximum(-low_b, TINY)) - np.log(np.maximum(high_b, TINY))  # nothing moved
    at_b = np.clip(start_b, -WIDEST / 2, WIDEST / 2)
    going = np.arange(len(width_b))
    for _ in range(ROOT_STEPS):
        at, width = at_b[going], width_b[going]
        up, down = 1 / (1 + np.exp(-at)), 1 / (1 + np.exp(at))
        odds, slope = _odds_after(winner, rival, comparisons, low_b[going] * down + high_b[going] * up, n_classes)
        done = (np.abs(odds) < ROOT_PRECISION) | (width <= 0)
        if done.all():
            break
        left, right = np.where(odds > 0, at, left_b[going]), np.where(odds > 0, right_b[going], at)
        slope = slope * width * up * down
        tried = at - odds / np.where(slope < 0, slope, -1)
        inside = (tried > left) & (tried < right) & (slope < 0)
        at_b[going] = np.where(done, at, np.where(inside, tried, (left + right) / 2))
        left_b[going], right_b[going] = left, right
        if 2 * np.count_nonzero(done) >= len(done):
            rest = np.flatnonzero(~done)
            going, winner, rival, comparisons = going[rest], winner.take(rest), rival.take(rest), comparisons.take(rest)
    return np.where(width_b > 0, low_b / (1 + np.exp(at_b)) + high_b / (1 + np.exp(-at_b)), 0.0)


def _odds_after(
    winner: _Side, rival: _Side, comparisons: Comparisons, lambda_b: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """The comparison's odds after so many items were moved, and their slope in that number."""
    log_w, slope_w = _log_comparison(winner, comparisons, -lambda_b, n_classes)
    log_r, slope_r = _log_comparison(rival, comparisons, lambda_b, n_classes)
    return log_w - log_r, -slope_w - slope_r


def _log_comparison(
    side: _Side, comparisons: Comparisons, more_b: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """log of P(class and comparison) after the class was given `more_b` items, and its slope, without the total."""
    items_b = np.maximum(side.items_b + more_b, TINY)
    votes_bf = np.maximum(side.votes_bf + more_b[:, None] * side.move_bf, 0)
    total_bh = votes_bf.reshape(len(votes_bf), -1, n_classes).sum(axis=2)
    total_bf = np.repeat(np.maximum(total_bh, TINY), n_classes, axis=1)
    moved_bh = side.move_bf.reshape(len(votes_bf), -1, n_classes).sum(axis=2)
    votes_bf = np.maximum(votes_bf, TINY)
    slope_bf = side.move_bf / votes_bf - np.repeat(moved_bh, n_classes, axis=1) / total_bf
    share_br, log_b = _ballot_shares(np.log(votes_bf) - np.log(total_bf), comparisons)
    slope_b = np.einsum("br,brf,bf->b", share_br, comparisons.ballot_qrf, slope_bf)
    return np.log(items_b) + log_b, 1 / items_b + slope_b


def _choose(first_b: NDArray[np.bool_], one: Models, two: Models) -> Models:
    return Models(
        np.where(first_b[:, None], one.log_prior_bk, two.log_prior_bk),
        np.where(first_b[:, None, None], one.log_table_bkf, two.log_table_bkf),
    )


def _leap(old: Models, first: Models, second: Models) -> Models:
    """Along the last two steps in logarithms, as far as their change suggests; lengths in the metric of shares."""
    rise = [b - a for a, b in zip(old, first, strict=True)]
    bend = [c - b - r for b, c, r in zip(first, second, rise, strict=True)]
    n = len(old.log_prior_bk)
    weight = [np.exp(part) for part in second]
    rise_b, bend_b = (
        np.sqrt(sum((w * part**2).reshape(n, -1).sum(axis=1) for w, part in zip(weight, one, strict=True)))
        for one in (rise, bend)
    )
    length_b = np.clip(rise_b / np.maximum(bend_b, TINY), 1.0, LONGEST_LEAP)
    prior, table = (
        a + 2 * length_b.reshape(-1, *[1] * (a.ndim - 1)) * r + length_b.reshape(-1, *[1] * (a.ndim - 1)) ** 2 * v
        for a, r, v in zip(old, rise, bend, strict=True)
    )
    return Models(np.minimum(prior, 0), np.minimum(table, 0))
