"""The largest likelihood among models in which majority vote is, or is not, optimal: a search, not a proof.

Votes are a table of the distinct ways in which items were labelled; voters alike are one voter who votes several times,
so that one code serves a crowd (vote counts) and a panel (ballots).  In a comparison majority gives votes to one class,
and a rival must not be as likely: majority is optimal iff the odds are above 0 in every comparison.  Only the close
ones are listed, in which one vote moved from the winner to the rival would be no win: where these are won, so are the
others.

Votes tell a model only up to the names of its classes, so "not optimal" means: under no naming of the classes.  The
boundary of that set is made of comparisons that are even; peaks of the likelihood may lie inside it as well.  On the
boundary EM goes uphill among the models in which winner and rival are even, for many problems at once: the M-step under
the constraint `odds = 0` moves lambda items with the comparison's ballots from the winner to the rival and takes shares
as ever; lambda is the root of a falling function.  Proofs: docs/theory/split.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.evidence.certificate.design import WorkerSets
from majorant.methods.em import squarem
from majorant.values import FloatArray

LOG_ZERO = -1e6  # the logarithm of a probability of 0: times no vote it is 0, times a vote it rules the class out
IntArray = NDArray[np.int64]
MAX_CYCLES = 200
GAIN = 1e-5  # nats: a cycle that gains less has arrived
LONGEST_OF_SEARCH = 64.0  # leaps
ROOT_STEPS = 30
ROOT_PRECISION = 1e-10  # nats
NEXT_TO_0 = 1e-250  # in place of 0 where a logarithm or a quotient is taken
ROOT_RANGE = 60.0  # log-odds between which a root is looked for
N_RANDOM = 6  # starts that know nothing of the data
KEPT = 12  # climbs of each data set that go on to the end
SHORT_CLIMB = 6  # cycles after which the others are dropped
NAUGHT = 1e-7  # nats: a margin this close to 0 is on the boundary
STARTS_SEED = 0x5EED  # the random starts are the same for all data
FARTHEST = 30.0  # logits: probabilities from 1e-13, which cost 1e6 votes less than a millionth of a nat
SAFE_SKILL = 0.4  # over chance: the symmetric model that climbs may start from
SLACK = 1e-6  # nats by which odds may miss 0
SLSQP_STEPS = 300


@dataclass(frozen=True, slots=True, eq=False)
class VoteTable:
    """What was said, `votes_pf`: how often pattern p holds label l of voter h, f = h * n_classes + l."""

    votes_pf: FloatArray
    n_classes: int

    @property
    def n_voters(self) -> int:
        """Voters told apart: 1 for a crowd."""
        return int(self.votes_pf.shape[1]) // self.n_classes


class LogModels(NamedTuple):
    """Many models: log P(class k), (B, K), and log P(label of voter | class k), (B, K, F)."""

    log_prior_bk: FloatArray
    log_table_bkf: FloatArray

    def take(self, index: NDArray[Any]) -> LogModels:
        """The models at these places."""
        return LogModels(self.log_prior_bk[index], self.log_table_bkf[index])


def joined(parts: list[LogModels]) -> LogModels:
    """Models one after the other."""
    return LogModels(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def logarithm(probability: FloatArray) -> FloatArray:
    """log, with LOG_ZERO for 0."""
    positive = probability > 0
    return np.where(positive, np.log(np.where(positive, probability, 1.0)), LOG_ZERO)


def log_sum(score: FloatArray, axis: int) -> FloatArray:
    """log of the sum of exponentials along an axis."""
    top = score.max(axis=axis, keepdims=True)
    return np.asarray((top + np.log(np.exp(score - top).sum(axis=axis, keepdims=True))).squeeze(axis))


def class_scores(table: VoteTable, models: LogModels) -> FloatArray:
    """log P(class, pattern), (B, K, P), one order of the votes."""
    return np.asarray(models.log_prior_bk[:, :, None] + models.log_table_bkf @ table.votes_pf.T)


def log_likelihood(table: VoteTable, items_bp: FloatArray, models: LogModels) -> FloatArray:
    """Of each row of items under its model, without the constant of the orders of votes."""
    log_bp = log_sum(class_scores(table, models), axis=1)
    return np.asarray(np.where(items_bp > 0, items_bp * log_bp, 0.0).sum(axis=1))


class _Row(NamedTuple):
    winner: int
    rival: int
    ballot_rf: FloatArray
    log_share_r: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """In comparison q majority names winner_q on each of the ballots r, which come from worker sets of these shares."""

    winner_q: IntArray
    rival_q: IntArray
    ballot_qrf: FloatArray
    log_share_qr: FloatArray  # LOG_ZERO where the comparison has fewer ballots

    def __len__(self) -> int:
        return len(self.winner_q)

    def take(self, index: IntArray) -> Comparisons:
        """The comparisons at these places."""
        return Comparisons(self.winner_q[index], self.rival_q[index], self.ballot_qrf[index], self.log_share_qr[index])


def count_comparisons(n_classes: int, sizes: Iterable[int]) -> Comparisons:
    """Voters alike, items with so many votes: a comparison for each close count and rival.

    >>> comparisons = count_comparisons(3, [3])
    >>> comparisons.winner_q[:2].tolist(), comparisons.rival_q[:2].tolist(), comparisons.ballot_qrf[:2, 0].tolist()
    ([2, 2], [0, 1], [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    """
    rows = []
    for n_votes in sizes:
        for n in product(range(n_votes + 1), repeat=n_classes):
            if sum(n) == n_votes:
                rows += [_Row(c, j, np.array([n], float), np.zeros(1)) for c, j in _close(n)]
    return _comparisons(rows)


def ballot_comparisons(n_classes: int, n_workers: int, sets: Sequence[WorkerSets]) -> Comparisons:
    """Named workers, rules that know who voted: a comparison for each close ballot of each set, and rival."""
    rows = []
    for group in sets:
        for worker_h in group.worker_sh:
            ballot_rf, count_rl = _ballots(n_classes, n_workers, worker_h)
            for ballot_f, n in zip(ballot_rf, count_rl, strict=True):
                rows += [_Row(c, j, ballot_f[None], np.zeros(1)) for c, j in _close(n)]
    return _comparisons(rows)


def panel_comparisons(n_classes: int, n_workers: int, sets: Sequence[WorkerSets]) -> Comparisons:
    """Named workers, rules that ignore who voted: ballots with the same counts are one comparison for each rival."""
    rows = []
    for group in sets:
        each = [_ballots(n_classes, n_workers, worker_h) for worker_h in group.worker_sh]
        ballot_rf, count_rl = (np.concatenate(column) for column in zip(*each, strict=True))
        log_share_r = np.repeat(np.log(group.items_s / group.items_s.sum()), len(each[0][0]))
        for n in np.unique(count_rl, axis=0):
            same = (count_rl == n).all(axis=1)
            rivals = [(c, j) for c in _winner(n) for j in range(n_classes) if j != c]
            rows += [_Row(c, j, ballot_rf[same], log_share_r[same]) for c, j in rivals]
    return _comparisons(rows)


def _ballots(n_classes: int, n_workers: int, worker_h: IntArray) -> tuple[FloatArray, IntArray]:
    """Every ballot of these workers, as votes by (worker, label), and its counts."""
    label_rh = np.array(list(product(range(n_classes), repeat=len(worker_h))))
    ballot_rf = np.zeros((len(label_rh), n_workers * n_classes))
    np.add.at(ballot_rf, (np.arange(len(label_rh))[:, None], worker_h * n_classes + label_rh), 1)
    return ballot_rf, ballot_rf.reshape(len(label_rh), n_workers, n_classes).sum(axis=1).astype(np.int64)


def _winner(n: Sequence[int] | IntArray) -> list[int]:
    """The class with most votes, none where there is a tie."""
    top = np.flatnonzero(np.asarray(n) == max(n))
    return [int(top[0])] if len(top) == 1 else []


def _close(n: Sequence[int] | IntArray) -> list[tuple[int, int]]:
    """(winner, rival): one vote less for the winner and one more for the rival would be no win."""
    pairs = []
    for c in _winner(n):
        for j in range(len(n)):
            moved = np.array(n)
            moved[[c, j]] += [-1, 1]
            if j != c and _winner(moved) != [c]:
                pairs.append((c, j))
    return pairs


def _comparisons(rows: list[_Row]) -> Comparisons:
    most = max(len(row.ballot_rf) for row in rows)
    ballot_qrf = np.zeros((len(rows), most, rows[0].ballot_rf.shape[1]))
    log_share_qr = np.full((len(rows), most), LOG_ZERO)
    for q, row in enumerate(rows):
        ballot_qrf[q, : len(row.ballot_rf)], log_share_qr[q, : len(row.ballot_rf)] = row.ballot_rf, row.log_share_r
    winner_q, rival_q = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1))
    return Comparisons(winner_q, rival_q, ballot_qrf, log_share_qr)


def class_logs(comparisons: Comparisons, models: LogModels) -> FloatArray:
    """log P(class k, ballots of comparison q) under every model, (B, K, Q)."""
    n_comparisons, n_ballots, _ = comparisons.ballot_qrf.shape
    flat_bkr = models.log_table_bkf @ comparisons.ballot_qrf.reshape(n_comparisons * n_ballots, -1).T
    shaped = flat_bkr.reshape(*flat_bkr.shape[:2], n_comparisons, n_ballots)
    given_bkq = shaped[..., 0] if n_ballots == 1 else log_sum(shaped + comparisons.log_share_qr, axis=3)
    return np.asarray(models.log_prior_bk[:, :, None] + given_bkq)


def odds(comparisons: Comparisons, class_bkq: FloatArray) -> FloatArray:
    """log P(winner, ballots) - log P(rival, ballots), (B, Q), from `class_logs`.

    Where the winner cannot produce the ballots they are -inf: such a model is the limit of models with odds below 0.
    """
    q = np.arange(len(comparisons))
    winner_bq = class_bkq[:, comparisons.winner_q, q]
    return np.where(winner_bq < LOG_ZERO / 2, -np.inf, winner_bq - class_bkq[:, comparisons.rival_q, q])


def margins(comparisons: Comparisons, models: LogModels) -> FloatArray:
    """The smallest odds of each model, its classes named in the way that makes it largest: optimal iff > 0.

    >>> swapped = LogModels(np.log([[.5, .5]]), np.log([[[.2, .8], [.8, .2]]]))
    >>> margins(count_comparisons(2, [3]), swapped).round(3).tolist()
    [1.386]
    """
    class_bkq = class_logs(comparisons, models)
    orders = permutations(range(class_bkq.shape[1]))
    return np.asarray(np.max([odds(comparisons, class_bkq[:, list(order)]).min(axis=1) for order in orders], axis=0))


class _ExpectedVotes(NamedTuple):
    """Items of each class, (B, K), and its votes, (B, K, F), as a model sees them."""

    items_bk: FloatArray
    votes_bkf: FloatArray


def climb(
    table: VoteTable,
    items_bp: FloatArray,
    start: LogModels,
    comparisons: Comparisons | None = None,
    max_cycles: int = MAX_CYCLES,
) -> tuple[LogModels, FloatArray]:
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


def em_step(table: VoteTable, items_bp: FloatArray, models: LogModels, comparisons: Comparisons | None) -> LogModels:
    """One EM step; with comparisons, to the best model of the expected counts in which winner and rival are even."""
    score_bkp = class_scores(table, models)
    score_bkp -= score_bkp.max(axis=1, keepdims=True)
    np.exp(score_bkp, out=score_bkp)
    score_bkp *= (items_bp / score_bkp.sum(axis=1))[:, None, :]
    expected = _ExpectedVotes(score_bkp.sum(axis=2), score_bkp @ table.votes_pf)
    if comparisons is not None:
        expected = _moved(expected, models, comparisons, table.n_classes)
    return _shares(expected, table.n_classes)


def _shares(expected: _ExpectedVotes, n_classes: int) -> LogModels:
    """The likeliest model of expected counts; where nothing is expected shares are equal."""
    votes_bkhl = expected.votes_bkf.reshape(*expected.votes_bkf.shape[:2], -1, n_classes)
    prior_bk, table_bkhl = (
        np.divide(part, total, out=np.full(part.shape, 1 / n_classes), where=total > NEXT_TO_0)
        for part in (expected.items_bk, votes_bkhl)
        for total in (part.sum(axis=-1, keepdims=True),)
    )
    return LogModels(logarithm(prior_bk), logarithm(table_bkhl).reshape(expected.votes_bkf.shape))


class _Side(NamedTuple):
    """One class of a comparison: its items and votes, and the votes that go with each item moved."""

    items_b: FloatArray
    votes_bf: FloatArray
    move_bf: FloatArray

    def most(self) -> FloatArray:
        """How many items can be moved until something is used up."""
        moved = self.move_bf > NEXT_TO_0
        ratio_bf = np.where(moved, self.votes_bf / np.where(moved, self.move_bf, 1), np.inf)
        return np.asarray(np.minimum(self.items_b, ratio_bf.min(axis=1)))

    def take(self, index: NDArray[np.intp]) -> _Side:
        """The rows at these places."""
        return _Side(*(part[index] for part in self))


def _moved(expected: _ExpectedVotes, models: LogModels, comparisons: Comparisons, n_classes: int) -> _ExpectedVotes:
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
    return _ExpectedVotes(items_bk, votes_bkf)


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
    left_b, right_b = np.full(len(width_b), -ROOT_RANGE), np.full(len(width_b), ROOT_RANGE)
    start_b = np.log(np.maximum(-low_b, NEXT_TO_0)) - np.log(np.maximum(high_b, NEXT_TO_0))  # nothing moved
    at_b = np.clip(start_b, -ROOT_RANGE / 2, ROOT_RANGE / 2)
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
    items_b = np.maximum(side.items_b + more_b, NEXT_TO_0)
    votes_bf = np.maximum(side.votes_bf + more_b[:, None] * side.move_bf, 0)
    total_bh = votes_bf.reshape(len(votes_bf), -1, n_classes).sum(axis=2)
    total_bf = np.repeat(np.maximum(total_bh, NEXT_TO_0), n_classes, axis=1)
    moved_bh = side.move_bf.reshape(len(votes_bf), -1, n_classes).sum(axis=2)
    votes_bf = np.maximum(votes_bf, NEXT_TO_0)
    slope_bf = side.move_bf / votes_bf - np.repeat(moved_bh, n_classes, axis=1) / total_bf
    share_br, log_b = _ballot_shares(np.log(votes_bf) - np.log(total_bf), comparisons)
    slope_b = np.einsum("br,brf,bf->b", share_br, comparisons.ballot_qrf, slope_bf)
    return np.log(items_b) + log_b, 1 / items_b + slope_b


def _choose(first_b: NDArray[np.bool_], one: LogModels, two: LogModels) -> LogModels:
    return LogModels(
        np.where(first_b[:, None], one.log_prior_bk, two.log_prior_bk),
        np.where(first_b[:, None, None], one.log_table_bkf, two.log_table_bkf),
    )


def _leap(old: LogModels, first: LogModels, second: LogModels) -> LogModels:
    """Along the last two steps in logarithms, as far as their change suggests; lengths in the metric of shares."""
    n, weight = len(old.log_prior_bk), [np.exp(part) for part in second]

    def norm(parts: Sequence[FloatArray]) -> list[FloatArray]:
        size_b = np.sqrt(sum((w * part**2).reshape(n, -1).sum(axis=1) for w, part in zip(weight, parts, strict=True)))
        return [size_b.reshape(-1, *[1] * (part.ndim - 1)) for part in parts]

    (prior, table), _ = squarem(old, first, second, norm, LONGEST_OF_SEARCH)
    return LogModels(np.minimum(prior, 0), np.minimum(table, 0))


def likeliest(table: VoteTable, items_bp: FloatArray) -> tuple[LogModels, FloatArray]:
    """The likeliest model found for each data set, and its log-likelihood."""
    models, value_bs = _peaks(table, items_bp)
    return _best(models, value_bs)


def not_optimal(table: VoteTable, items_bp: FloatArray, comparisons: Comparisons) -> tuple[FloatArray, LogModels]:
    """The largest log-likelihood found for each data set among models in which majority is not optimal, and where."""
    free, free_bs = _peaks(table, items_bp)
    top, top_b = _best(free, free_bs)
    open_b = np.flatnonzero(~_is_null(top, comparisons))  # elsewhere the likeliest model is the answer
    if not len(open_b):
        return top_b, top
    items, start = items_bp[open_b], top.take(open_b)
    inside_bs = np.where(_is_null(free, comparisons).reshape(free_bs.shape), free_bs, -np.inf)
    inside, inside_b = _best(free, inside_bs)
    parts = [
        (inside.take(open_b), inside_b[open_b]),
        _best(*_without_a_class(table, items, start)),
        _best(*_even(table, items, start, comparisons)),
    ]
    top_b[open_b] = -np.inf
    for models, value_b in parts:
        better = value_b > top_b[open_b]
        top_b[open_b[better]] = value_b[better]
        for whole, part in zip(top, models, strict=True):
            whole[open_b[better]] = part[better]
    return top_b, top


def _best(models: LogModels, value_bs: FloatArray) -> tuple[LogModels, FloatArray]:
    """Of the models (B * S) of each data set the one with the largest value."""
    n_sets, n_each = value_bs.shape
    pick_b = value_bs.argmax(axis=1)
    return models.take(pick_b + n_each * np.arange(n_sets)), value_bs[np.arange(n_sets), pick_b]


def _peaks(table: VoteTable, items_bp: FloatArray) -> tuple[LogModels, FloatArray]:
    """Local maxima of each likelihood among all models, (B * S), and their values, (B, S)."""
    others = _random_models(table)
    starts = [joined([start, others]) for start in _each(_by_shares(table, items_bp))]
    n_each = 1 + N_RANDOM
    models, value_c = climb(table, np.repeat(items_bp, n_each, axis=0), joined(starts))
    return models, value_c.reshape(-1, n_each)


def _without_a_class(table: VoteTable, items_bp: FloatArray, top: LogModels) -> tuple[LogModels, FloatArray]:
    """Peaks among models that lack one of the classes: limits of models in which majority is not optimal."""
    n_sets, n_classes = top.log_prior_bk.shape
    start = top.take(np.repeat(np.arange(n_sets), n_classes))
    lacking = np.tile(np.eye(n_classes, dtype=bool), (n_sets, 1))
    start = LogModels(np.where(lacking, LOG_ZERO, start.log_prior_bk), start.log_table_bkf)
    models, value_c = climb(table, np.repeat(items_bp, n_classes, axis=0), start)
    return models, value_c.reshape(n_sets, n_classes)


def _even(
    table: VoteTable, items_bp: FloatArray, top: LogModels, comparisons: Comparisons
) -> tuple[LogModels, FloatArray]:
    """Climbs where a comparison is even: all for a while, the best KEPT of each data set to the end."""
    n_sets, n_comparisons, others = len(items_bp), len(comparisons), _random_models(table)
    starts = joined([joined([start, others]) for start in _each(top)])  # for each data set 1 + N_RANDOM
    set_c, comparison_c, start_c = (axis.ravel() for axis in np.indices((n_sets, n_comparisons, 1 + N_RANDOM)))
    begin = starts.take(set_c * (1 + N_RANDOM) + start_c)
    models, value_c = climb(table, items_bp[set_c], begin, comparisons.take(comparison_c), max_cycles=SHORT_CLIMB)
    ranked_bc = np.where(_is_null(models, comparisons), value_c, value_c - 1e9).reshape(n_sets, -1)
    kept = min(KEPT, ranked_bc.shape[1])
    pick_bc = np.argpartition(-ranked_bc, kept - 1, axis=1)[:, :kept]
    at = (pick_bc + ranked_bc.shape[1] * np.arange(n_sets)[:, None]).ravel()
    models, value_c = climb(table, items_bp[set_c[at]], models.take(at), comparisons.take(comparison_c[at]))
    return models, np.where(_is_null(models, comparisons), value_c, -np.inf).reshape(n_sets, kept)


def _is_null(models: LogModels, comparisons: Comparisons) -> NDArray[np.bool_]:
    return margins(comparisons, models) <= NAUGHT


def _each(models: LogModels) -> list[LogModels]:
    return [models.take(np.array([b])) for b in range(len(models.log_prior_bk))]


def _by_shares(table: VoteTable, items_bp: FloatArray) -> LogModels:
    """The model of each data set that takes an item's shares of votes for its posterior."""
    share_pk = table.votes_pf.reshape(len(table.votes_pf), -1, table.n_classes).sum(axis=1)
    share_pk /= share_pk.sum(axis=1, keepdims=True)
    prior_bk = items_bp @ share_pk + 1e-3  # there may be no items
    votes_bkf = np.einsum("bp,pk,pf->bkf", items_bp, share_pk, table.votes_pf) + 1e-3
    votes_bkhl = votes_bkf.reshape(*prior_bk.shape, -1, table.n_classes)
    table_bkf = (votes_bkhl / votes_bkhl.sum(axis=3, keepdims=True)).reshape(votes_bkf.shape)
    return LogModels(logarithm(prior_bk / prior_bk.sum(axis=1, keepdims=True)), np.log(table_bkf))


def _random_models(table: VoteTable) -> LogModels:
    """Models drawn once and for all: classes of any share, voters from random to nearly always right."""
    rng, n_classes = np.random.default_rng(STARTS_SEED), table.n_classes
    prior_sk = rng.dirichlet(np.full(n_classes, 1.5), size=N_RANDOM)
    noise = rng.dirichlet(np.ones(n_classes), size=(N_RANDOM, n_classes, table.n_voters))
    skill_s = np.linspace(0.0, 0.9, N_RANDOM)[:, None, None, None]
    table_skhl = skill_s * np.eye(n_classes)[:, None, :] + (1 - skill_s) * noise
    return LogModels(np.log(prior_sk), np.log(table_skhl).reshape(N_RANDOM, n_classes, -1))


def optimal(table: VoteTable, items_p: FloatArray, comparisons: Comparisons, top: LogModels, share: float) -> float:
    """The largest log-likelihood found among models with odds of at least 0 in every comparison; -inf where none was.

    `top` is the likeliest of all models; the climb (sequential quadratic programming) starts `share` of the way from
    it to a symmetric model in which majority is optimal.
    """
    if margins(comparisons, top)[0] >= 0:
        return float(log_likelihood(table, items_p[None], top)[0])
    return _climb_constrained(table, items_p, comparisons, _mixed(best_named(top, table), share, table))


def _climb_constrained(table: VoteTable, items_p: FloatArray, comparisons: Comparisons, start: LogModels) -> float:
    from scipy.optimize import NonlinearConstraint, minimize

    shape = (table.n_classes, table.n_voters, table.n_classes)
    total = float(items_p.sum())

    def loss(logit: FloatArray) -> tuple[float, FloatArray]:
        point = _ModelPoint(_model(logit, shape), shape)
        score_kp = class_scores(table, point.models)[0]
        log_p = log_sum(score_kp, axis=0)
        weight_kp = items_p * np.exp(score_kp - log_p)
        slope = point.through(weight_kp.sum(axis=1), weight_kp @ table.votes_pf)
        return -float(items_p @ log_p) / total, -slope / total

    def won(logit: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(odds(comparisons, class_logs(comparisons, _model(logit, shape)))[0], LOG_ZERO))

    def won_slope(logit: FloatArray) -> FloatArray:
        point = _ModelPoint(_model(logit, shape), shape)
        return point.through(*_odds_slopes(comparisons, point.models))

    start_logit = np.clip(np.concatenate([start.log_prior_bk[0], start.log_table_bkf[0].ravel()]), -FARTHEST, 0)
    optimum = minimize(
        loss,
        start_logit,
        jac=True,
        method="SLSQP",
        bounds=[(-FARTHEST, FARTHEST)] * len(start_logit),
        constraints=NonlinearConstraint(won, 0, np.inf, jac=won_slope),
        options={"maxiter": SLSQP_STEPS, "ftol": 1e-11},
    )
    return -float(optimum.fun) * total if won(optimum.x).min() >= -SLACK else -np.inf


class _ModelPoint(NamedTuple):
    """A model and the derivatives of what is asked of it, by logarithms of probabilities."""

    models: LogModels
    shape: tuple[int, int, int]  # classes, voters, labels

    def through(self, by_prior_k: FloatArray, by_table_kf: FloatArray) -> FloatArray:
        """Derivatives by the logits, (..., K + K * F)."""
        n_classes, n_voters, n_labels = self.shape
        prior_k = np.exp(self.models.log_prior_bk[0])
        table_khl = np.exp(self.models.log_table_bkf[0]).reshape(self.shape)
        lead = by_prior_k.shape[:-1]
        by_table = by_table_kf.reshape(*lead, n_classes, n_voters, n_labels)
        by_prior_k = by_prior_k - by_prior_k.sum(axis=-1, keepdims=True) * prior_k
        by_table = by_table - by_table.sum(axis=-1, keepdims=True) * table_khl
        return np.concatenate([by_prior_k, by_table.reshape(*lead, -1)], axis=-1)


def _model(logit: FloatArray, shape: tuple[int, int, int]) -> LogModels:
    n_classes = shape[0]
    table_khl = logit[n_classes:].reshape(shape)
    table_khl = table_khl - log_sum(table_khl, axis=2)[..., None]
    return LogModels(
        (logit[:n_classes] - log_sum(logit[:n_classes], axis=0))[None], table_khl.reshape(1, n_classes, -1)
    )


def _odds_slopes(comparisons: Comparisons, models: LogModels) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the odds by log prior, (Q, K), and by log table, (Q, K, F)."""
    n_comparisons, n_classes = len(comparisons), models.log_prior_bk.shape[1]
    q = np.arange(n_comparisons)
    by_prior_qk = np.zeros((n_comparisons, n_classes))
    by_table_qkf = np.zeros((n_comparisons, n_classes, comparisons.ballot_qrf.shape[2]))
    for k, sign in ((comparisons.winner_q, 1.0), (comparisons.rival_q, -1.0)):
        score_qr = (
            np.einsum("qf,qrf->qr", models.log_table_bkf[0, k], comparisons.ballot_qrf) + comparisons.log_share_qr
        )
        share_qr = np.exp(score_qr - log_sum(score_qr, axis=1)[:, None])
        by_prior_qk[q, k] = sign
        by_table_qkf[q, k] = sign * np.einsum("qr,qrf->qf", share_qr, comparisons.ballot_qrf)
    return by_prior_qk, by_table_qkf


def _mixed(models: LogModels, share: float, table: VoteTable) -> LogModels:
    """So far on the way to the symmetric model."""
    n_classes = table.n_classes
    safe_kl = SAFE_SKILL * np.eye(n_classes) + (1 - SAFE_SKILL) / n_classes
    safe_kf = np.tile(safe_kl, table.n_voters)
    prior = (1 - share) * np.exp(models.log_prior_bk) + share / n_classes
    return LogModels(logarithm(prior), logarithm((1 - share) * np.exp(models.log_table_bkf) + share * safe_kf))


def best_named(models: LogModels, table: VoteTable) -> LogModels:
    """The models with their classes named so that voters are right most often."""
    n_classes, label = table.n_classes, np.arange(table.n_classes)
    own_bkl = np.exp(models.log_table_bkf).reshape(-1, n_classes, table.n_voters, n_classes).sum(axis=2)
    order_sk = np.array(list(permutations(range(n_classes))))
    order_bk = order_sk[own_bkl[:, order_sk, label].sum(axis=2).argmax(axis=1)]
    return LogModels(
        np.take_along_axis(models.log_prior_bk, order_bk, axis=1),
        np.take_along_axis(models.log_table_bkf, order_bk[:, :, None], axis=1),
    )
