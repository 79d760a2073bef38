"""Comparisons: votes that majority gives to one class, and a rival that must not be as likely.

Majority is optimal iff the odds are above 0 in every comparison.  Only the close ones are listed, in which one vote
moved from the winner to the rival would be no win: where these are won, so are the others (docs/theory/split.md).

Tables of votes: the distinct ways in which items were labelled, and models with one row of logarithms per class.

Voters alike are one voter who votes several times, so that one code serves a crowd (vote counts) and a panel (ballots).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.certify.named.design import WorkerSets
from majorant.theory.checks import FloatArray

LOG_ZERO = -1e6  # the logarithm of a probability of 0: times no vote it is 0, times a vote it rules the class out


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


IntArray = NDArray[np.int64]


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
    for one in sets:
        for worker_h in one.worker_sh:
            ballot_rf, count_rl = _ballots(n_classes, n_workers, worker_h)
            for ballot_f, n in zip(ballot_rf, count_rl, strict=True):
                rows += [_Row(c, j, ballot_f[None], np.zeros(1)) for c, j in _close(n)]
    return _comparisons(rows)


def panel_comparisons(n_classes: int, n_workers: int, sets: Sequence[WorkerSets]) -> Comparisons:
    """Named workers, rules that ignore who voted: ballots with the same counts are one comparison for each rival."""
    rows = []
    for one in sets:
        each = [_ballots(n_classes, n_workers, worker_h) for worker_h in one.worker_sh]
        ballot_rf, count_rl = (np.concatenate(column) for column in zip(*each, strict=True))
        log_share_r = np.repeat(np.log(one.items_s / one.items_s.sum()), len(each[0][0]))
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
    found = []
    for c in _winner(n):
        for j in range(len(n)):
            moved = np.array(n)
            moved[[c, j]] += [-1, 1]
            if j != c and _winner(moved) != [c]:
                found.append((c, j))
    return found


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
