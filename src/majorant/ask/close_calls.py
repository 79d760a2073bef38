"""What majority vote gives away against the best rule that looks only at counts, from expert labels of close calls.

A cell holds the items with the same leading class and closeness of the vote.  A rule of the family gives each cell its
leading class or its runner-up.  With x = 1[runner-up is true] - 1[leading class is true], mu_c the mean of x in cell c,
and w_c its share of the items, majority vote gives away L = sum_c w_c max(0, mu_c).  Ties are no part of this.

Each cell is labelled in a random order of its own; which cell comes next may depend on all answers so far.  With the
capitals K- and K+ of `betting`, with probability 1 - a at all times

    L <= max { sum_{c in V} w_c m_c : V a set of cells, m_c > 0, sum_{c in V} log K-_c(m_c) < log(1 / a) },

a knapsack; and a fixed mean, over sets V of cells, of the products of their K+ at mu = 0 reaches 1 / a with probability
at most a if L = 0.  Proofs: docs/theory/ask.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from majorant.ask.betting import Betting, bounds
from majorant.ask.question import OPEN, UNASKED, Codes, Outcome, n_answers
from majorant.defaults import LEVEL, TOLERANCE
from majorant.errors import ConfigError
from majorant.values import Estimate, FloatArray, lock
from majorant.wording import NO_CLOSE_CALL

ANY_LEADER = -1
GOOD_ENOUGH, MAJORITY_BEATEN = "good enough", "beaten"
POOLED_BELOW = 1.5  # cells of fewer items than this times the tolerance are pooled over leading classes
BANDS = 3  # the lead is up to a third, up to two thirds, more than two thirds of the votes
NEAR_B = np.array([1.0, 0.25, 0.05])  # how much a cell of each band counts in the evidence that majority is beaten
SLIGHT = 0.2  # of the tolerance: a loss that is certain but smaller is not worth the verdict "beaten"
MEAN_G: FloatArray = np.linspace(0.5, 1, 81)  # candidates for (1 + mu) / 2
BUCKET = 0.05  # nats of evidence: the knapsack is solved in such steps, and errs upwards
PSEUDO = 2.0  # labels that come out as the votes say, when planning
MOST_PLANNED = 400  # labels


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloseCallCells:
    """Items by leading class and closeness; bands run from 0, close, to 2, clear."""

    leader_c: Codes  # class, or ANY_LEADER where small cells were pooled
    band_c: Codes
    cell_i: Codes  # -1 for tied items and those without votes
    top_i: Codes
    second_i: Codes
    lead_c: FloatArray  # mean of (leading - runner-up) / votes
    n_items: int  # with votes
    n_tied: int
    tie_stake: float  # share of the items by which two ways to break ties can be apart from a fair draw at most

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size_c(self) -> Codes:
        """How many items each cell holds."""
        return np.bincount(self.cell_i[self.cell_i >= 0], minlength=len(self.band_c)).astype(np.int64)


def close_calls(counts: ArrayLike, *, tolerance: float) -> CloseCallCells:
    """Sort items into cells by their counts (items, classes).

    The clear band is pooled over leading classes where there are more than two; so are cells that are too small to
    matter alone.  A runner-up that is itself tied is the class that has more votes in the file.

    >>> cells = close_calls([[2, 1], [3, 0], [1, 2], [1, 1]] * 50, tolerance=.01)
    >>> list(zip(cells.leader_c.tolist(), cells.band_c.tolist(), cells.size_c.tolist())), cells.n_tied
    ([(0, 0, 50), (1, 0, 50), (0, 2, 50)], 50)
    """
    count_ik = np.asarray(counts)
    if count_ik.ndim != 2 or count_ik.shape[1] < 2:
        raise ConfigError("counts= must have a row for each item and a column for each of at least two classes.")
    votes_i, total_k = count_ik.sum(axis=1), count_ik.sum(axis=0)
    rank_ik = np.lexsort((np.broadcast_to(-total_k, count_ik.shape), -count_ik), axis=1)
    i = np.arange(len(count_ik))
    top_i, second_i = rank_ik[:, 0], rank_ik[:, 1]
    lead_i = count_ik[i, top_i] - count_ik[i, second_i]
    band_i = (3 * lead_i > votes_i).astype(np.int64) + (3 * lead_i > 2 * votes_i)
    voted_i, tied_i = votes_i > 0, (votes_i > 0) & (lead_i == 0)
    n_items, n_classes = int(voted_i.sum()), count_ik.shape[1]
    n_best_t = (count_ik[tied_i] == count_ik[tied_i].max(axis=1, keepdims=True, initial=0)).sum(axis=1)
    leader_i, untied_i = top_i.copy(), voted_i & ~tied_i
    for band in range(BANDS):
        size_k = np.bincount(top_i[untied_i & (band_i == band)], minlength=n_classes)
        pooled_k = (size_k < POOLED_BELOW * tolerance * n_items) | (n_classes > 2 and band == BANDS - 1)
        leader_i[untied_i & (band_i == band) & pooled_k[top_i]] = ANY_LEADER
    key_i = np.where(untied_i, band_i * (n_classes + 1) + leader_i + 1, -1)
    keys, cell_i = np.unique(key_i, return_inverse=True)
    if (keys < 0).any():
        keys, cell_i = keys[1:], cell_i - 1
    lead_c = [float((lead_i[cell_i == c] / votes_i[cell_i == c]).mean()) for c in range(len(keys))]
    return CloseCallCells(
        leader_c=keys % (n_classes + 1) - 1,
        band_c=keys // (n_classes + 1),
        cell_i=cell_i,
        top_i=top_i,
        second_i=second_i,
        lead_c=np.array(lead_c),
        n_items=n_items,
        n_tied=int(tied_i.sum()),
        tie_stake=float((1 - 1 / n_best_t).sum()) / max(n_items, 1),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloseCalls:
    """The untied items in a random order, each with its cell, leading class and runner-up.

    `monotone`: for two classes, assume that the leading class is the likelier to be true the clearer the vote, and more
    votes for a class never make it less likely; then only the close calls of one leading class can be lost.
    """

    kind: ClassVar[str] = "close-calls"
    cell_d: Codes
    top_d: Codes
    second_d: Codes
    size_c: Codes  # items of each cell; the order may hold the first of them only
    leader_c: Codes
    band_c: Codes
    lead_c: FloatArray  # in votes, for planning
    n_items: int
    n_tied: int
    tie_stake: float
    n_classes: int
    tolerance: float = TOLERANCE
    level: float = LEVEL
    monotone: bool = False

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of(cls, cells: CloseCallCells, order: ArrayLike, *, n_classes: int, **settings: Any) -> Self:
        """From cells and a random order of their items, all of them or the first ones."""
        order_d = np.asarray(order, dtype=np.int64)
        return cls(
            cell_d=cells.cell_i[order_d],
            top_d=cells.top_i[order_d],
            second_d=cells.second_i[order_d],
            size_c=cells.size_c,
            leader_c=cells.leader_c,
            band_c=cells.band_c,
            lead_c=cells.lead_c,
            n_items=cells.n_items,
            n_tied=cells.n_tied,
            tie_stake=cells.tie_stake,
            n_classes=n_classes,
            **settings,
        )

    @property
    def size(self) -> int:
        """How many items the order holds."""
        return len(self.cell_d)

    @property
    def strata(self) -> Codes:
        """Its cell: each cell is labelled in an order of its own."""
        return self.cell_d

    def start(self) -> Progress:
        """Before any answer."""
        return Progress(self, tuple(Betting.start(int(n), MEAN_G) for n in self.size_c))

    def draws(self, answer_d: Codes) -> list[FloatArray]:
        """(1 + x) / 2 for each cell up to its last label, NaN where the expert skipped or was not asked."""
        y_d = (1.0 + (answer_d == self.second_d) - (answer_d == self.top_d)) / 2
        y_d = np.where(answer_d >= 0, y_d, np.nan)
        cells = [y_d[self.cell_d == c] for c in range(len(self.size_c))]
        return [y_t[: int(np.flatnonzero(~np.isnan(y_t))[-1]) + 1 if not np.isnan(y_t).all() else 0] for y_t in cells]

    def progress(self, answer_d: Codes) -> Progress:
        """What the answers say of each cell."""
        betting = zip(self.start().betting_c, self.draws(answer_d), strict=True)
        return Progress(self, tuple(cell.add(y_t) for cell, y_t in betting))

    def expected(self) -> int | None:
        """Labels that settle it if they come out as often for the runner-up as votes do; None if that is very many."""
        return self._planned(self.start())

    def next_items(self, answer_d: Codes) -> Codes:
        """First what the bound depends on most if answers come as votes and labels so far suggest, then the rest."""
        free_c = [list(np.flatnonzero((answer_d == UNASKED) & (self.cell_d == c))) for c in range(len(self.size_c))]
        following: list[int] = []
        for cell in self._course(self.progress(answer_d)):
            if not free_c[cell] or len(following) == MOST_PLANNED:
                break
            following.append(int(free_c[cell].pop(0)))
        rest = np.setdiff1d(np.flatnonzero(answer_d == UNASKED), following)
        return np.concatenate([np.array(following, dtype=np.int64), rest])

    def _course(self, progress: Progress) -> Iterator[int]:
        """The cells to ask, one after the other, if answers come out as expected, until that would settle it."""
        while progress.verdict == OPEN and (cell := progress.next_cell()) is not None:
            yield cell
            progress = progress.add(cell, [progress.expected_draw(cell)])

    def _planned(self, progress: Progress) -> int | None:
        taken = 0
        while progress.verdict == OPEN and (cell := progress.next_cell()) is not None:
            left = progress.betting_c[cell].n - progress.betting_c[cell].seen
            n = min(1 + taken // 10, left)
            progress = progress.add(cell, [progress.expected_draw(cell)] * n)
            taken += n
            if taken > MOST_PLANNED:
                return None
        return taken

    def evaluate(self, answer_d: Codes) -> Outcome:
        """good enough: majority gives away at most the tolerance; beaten: it does give something away; or open.

        The bounds of `value` hold with probability `level` each.
        """
        answer_d = np.asarray(answer_d, dtype=np.int64)
        progress, draws = self.progress(answer_d), self.draws(answer_d)
        (labels, skipped), verdict = n_answers(answer_d), progress.verdict
        mean_c = [2 * float(np.nanmean(y_t)) - 1 if len(y_t) else None for y_t in draws]
        seen = [(c, mean) for c, mean in enumerate(mean_c) if mean is not None]
        value = sum(float(self.size_c[c]) * max(mean, 0.0) for c, mean in seen) / self.n_items if seen else None
        low = self._lower(draws)
        more = 0 if verdict != OPEN else self._planned(progress)
        cells = [
            {
                "leader": int(self.leader_c[c]),
                "band": int(self.band_c[c]),
                "items": int(self.size_c[c]),
                "labels": int((~np.isnan(draws[c])).sum()),
                "lead": mean_c[c],
            }
            for c in range(len(self.size_c))
        ]
        return Outcome(
            kind=self.kind,
            verdict=verdict,
            decided=verdict != OPEN,
            value=Estimate(value, low, max(progress.bound.value, low), "" if seen else NO_CLOSE_CALL),
            level=self.level,
            tolerance=self.tolerance,
            n_items=self.n_items,
            n_differ=int(self.size_c.sum()),
            labels=labels,
            skipped=skipped,
            more=None if more is None else min(more, int((answer_d == UNASKED).sum())),
            facts={"cells": cells, "tied": self.n_tied, "tie_stake": self.tie_stake, "monotone": self.monotone},
        )

    def _lower(self, draws: Sequence[FloatArray]) -> float:
        """A lower bound of the loss: cells add up, each at its share of the level."""
        alpha_c = (1 - self.level) * self.prior_c
        low = 0.0
        for n, y_t, alpha in zip(self.size_c, draws, alpha_c, strict=True):
            low += int(n) * max(2 * bounds(y_t, int(n), float(alpha), float(alpha))[0] - 1, 0.0) if len(y_t) else 0.0
        return low / self.n_items

    @property
    def prior_c(self) -> FloatArray:
        """How the level is divided between cells: by size and closeness."""
        weight_c = self.size_c * NEAR_B[self.band_c]
        return np.asarray(weight_c / weight_c.sum())

    def sets(self) -> Iterator[tuple[list[int], float]]:
        """Sets of cells that may be lost together, with their weights: each alone, and close bands of one leader."""
        cells = [([c], float(weight)) for c, weight in enumerate(self.prior_c)]
        for leader in np.unique(self.leader_c[self.leader_c >= 0]):
            own = [int(c) for c in np.flatnonzero(self.leader_c == leader)]  # bands rise
            cells += [(own[:end], float(self.prior_c[own[0]]) / 2) for end in range(2, len(own) + 1)]
        total = sum(weight for _, weight in cells)
        yield from ((members, weight / total) for members, weight in cells)

    def families(self) -> Iterator[list[list[int]]]:
        """The chains of cells that one set V may be made of; of a chain it holds the first cells, close ones first."""
        every = [int(c) for c in range(len(self.size_c))]
        if not self.monotone:
            yield [[c] for c in every]
            return
        pooled = [[c] for c in every if self.leader_c[c] == ANY_LEADER]
        leaders = [int(leader) for leader in np.unique(self.leader_c[self.leader_c >= 0])]
        chains = [[c for c in every if self.leader_c[c] == leader] for leader in leaders]
        if self.n_classes == 2 and chains:
            yield from ([chain, *pooled] for chain in chains)  # only one side of one half can be lost
        else:
            yield [*chains, *pooled]

    def to_dict(self) -> dict[str, Any]:
        """The content as plain data for JSON."""
        return {
            **{name: getattr(self, name).tolist() for name in ARRAYS},
            **{name: getattr(self, name) for name in SETTINGS},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The question that `to_dict` wrote."""
        kept: dict[str, Any] = {name: np.array(content[name], dtype=np.int64) for name in ARRAYS}
        kept |= {name: content[name] for name in SETTINGS}
        return cls(**{**kept, "lead_c": np.array(content["lead_c"], dtype=float)})


ARRAYS = ("cell_d", "top_d", "second_d", "size_c", "leader_c", "band_c", "lead_c")
SETTINGS = ("n_items", "n_tied", "tie_stake", "n_classes", "tolerance", "level", "monotone")


class Options(NamedTuple):
    """What a cell may give away: in each step of mu at most this share of the items, at the cost of this evidence."""

    cell: int
    cost_g: FloatArray  # nats
    loss_g: FloatArray
    size: float = 1.0  # share of the items that the cell holds: losses of a chain are compared in the mean

    @property
    def least(self) -> float:
        """The evidence that the cell may save at most, at most 0: capitals may be below 1."""
        return min(0.0, float(self.cost_g.min(initial=0.0)))


class Bound(NamedTuple):
    """The most that majority may give away, and how much of it each cell holds."""

    value: float
    held: dict[int, float]


@dataclass(frozen=True, eq=False)
class Progress:
    """The capitals of every cell after some answers; `add` gives those after more."""

    question: CloseCalls
    betting_c: tuple[Betting, ...]

    def add(self, cell: int, y: Sequence[float | None]) -> Progress:
        """After further draws of a cell; None where the expert skipped."""
        betting = list(self.betting_c)
        betting[cell] = betting[cell].add([np.nan if draw is None else draw for draw in y])
        return replace(self, betting_c=tuple(betting))

    @cached_property
    def verdict(self) -> str:
        """good enough, beaten or open."""
        if self.bound.value <= self.question.tolerance * (1 + 1e-9):
            return GOOD_ENOUGH
        return MAJORITY_BEATEN if self._beaten() else OPEN

    @cached_property
    def bound(self) -> Bound:
        """The most that majority may give away."""
        options, budget = (
            [self._options(c) for c in range(len(self.betting_c))],
            -float(np.log(1 - self.question.level)),
        )
        bounds_f = [
            knapsack([[options[c] for c in chain] for chain in chains], budget) for chains in self.question.families()
        ]
        return max(bounds_f, key=lambda bound: bound.value, default=Bound(0.0, {}))

    def _options(self, c: int) -> Options:
        """log K- at the lower end of each step of mu, and the loss at its upper end, never beyond what is possible."""
        betting, share = self.betting_c[c], float(self.question.size_c[c]) / self.question.n_items
        most = 2 * (betting.total_high + betting.n - betting.seen) / betting.n - 1
        possible_g = 2 * MEAN_G[:-1] - 1 < most
        cost_g, mean_g = betting.now_below_m[:-1][possible_g], np.minimum(2 * MEAN_G[1:] - 1, most)[possible_g]
        if self._known(c):  # the loss is certain, whatever the evidence was
            cost_g, mean_g = np.minimum(cost_g[-1:], 0.0), mean_g[-1:]
        return Options(c, cost_g, share * mean_g, share)

    def _known(self, c: int) -> bool:
        betting = self.betting_c[c]
        return betting.seen == betting.n and betting.total_low == betting.total_high

    def _beaten(self) -> bool:
        """Whether majority gives something away: for certain, or by evidence that no chance would bring."""
        question, known = self.question, np.array([self._known(c) for c in range(len(self.betting_c))], dtype=bool)
        mean_c = np.array([2 * betting.total_low / betting.n - 1 for betting in self.betting_c])
        certain = float((question.size_c * np.maximum(mean_c, 0.0))[known].sum()) / question.n_items
        if certain > SLIGHT * question.tolerance:
            return True
        evidence_c = np.array([float(betting.now_above_m[0]) for betting in self.betting_c])
        evidence_c[known] = np.minimum(evidence_c[known], 0.0)
        parts = [np.log(weight) + evidence_c[members].sum() for members, weight in question.sets()]
        return bool(np.logaddexp.reduce(parts) >= -np.log(1 - question.level)) if parts else False

    def next_cell(self) -> int | None:
        """The cell that holds most of the bound and is not labelled to its end; None where all are."""
        held = {c: loss for c, loss in self.bound.held.items() if self.betting_c[c].seen < self.betting_c[c].n}
        if held:
            return max(held, key=lambda c: held[c])
        return next((c for c, betting in enumerate(self.betting_c) if betting.seen < betting.n), None)

    def expected_draw(self, cell: int) -> float:
        """What the next label of a cell should say on average: by its labels, and a little by its votes."""
        betting, by_votes = self.betting_c[cell], (1 - float(self.question.lead_c[cell])) / 2
        seen = (betting.total_low + betting.total_high) / 2
        return float((seen + PSEUDO * by_votes) / (betting.seen + PSEUDO))


def knapsack(chains: Sequence[Sequence[Options]], budget: float) -> Bound:
    """The most that cells may give away together while the evidence against that stays below the budget.

    Of each chain the first cells are taken, any number of them, and none may lose more in the mean than those before it
    may at most.  Evidence is rounded down to buckets, so the value is never below the true maximum.

    >>> cost_g, loss_g = np.array([0., 2.]), np.array([.01, .03])
    >>> bound = knapsack([[Options(0, cost_g, loss_g)], [Options(1, cost_g + 1.5, loss_g)]], budget=3.)
    >>> round(bound.value, 3), sorted(bound.held)
    (0.03, [0])
    """
    budget -= sum(options.least for chain in chains for options in chain)
    n_buckets = int(budget / BUCKET) + 1
    best_j, steps = np.zeros(n_buckets), []
    for chain in chains:
        step = _with_chain(best_j, chain, budget)
        steps.append((chain, step))
        best_j = step.best_j
    j = int(best_j.argmax())
    value, held = float(best_j[j]), {}
    for chain, step in reversed(steps):
        taken = int(step.taken_j[j])
        j -= step.spared[taken]
        for options, (loss_d, spent_j) in list(zip(chain, step.traces, strict=False))[:taken][::-1]:
            spent = int(spent_j[j])
            held[options.cell], j = float(loss_d[spent]), j - spent
    return Bound(value, held)


class _TableStep(NamedTuple):
    """The table after a chain, and how each entry came about."""

    best_j: FloatArray
    taken_j: Codes  # cells of the chain
    spared: list[int]  # buckets that the other cells cost, by the number taken
    traces: list[tuple[FloatArray, Codes]]  # of each cell the loss by buckets spent, and the buckets spent


def _with_chain(before_j: FloatArray, chain: Sequence[Options], budget: float) -> _TableStep:
    least = [options.least for options in chain]
    spared = [int(-sum(least[taken:]) / BUCKET) for taken in range(len(chain) + 1)]  # a cell left out saves nothing
    best_j, taken_j = _shifted(before_j, spared[0]), np.zeros(len(before_j), dtype=np.int64)
    table_j, traces, most = before_j, [], np.inf
    for taken, options in enumerate(chain, start=1):
        cost_g = options.cost_g - least[taken - 1]
        allowed_g = cost_g < budget
        if not allowed_g.any():
            break
        mean_g = np.minimum(options.loss_g[allowed_g] / options.size, most)
        most = float(mean_g.max())
        loss_d = np.full(len(before_j), -np.inf)
        np.maximum.at(loss_d, (cost_g[allowed_g] / BUCKET).astype(np.int64), mean_g * options.size)
        table_j, spent_j = _best_sum(table_j, loss_d)
        traces.append((loss_d, spent_j))
        with_rest_j = _shifted(table_j, spared[taken])
        taken_j = np.where(with_rest_j > best_j, taken, taken_j)
        best_j = np.maximum(best_j, with_rest_j)
    return _TableStep(best_j, taken_j, spared, traces)


def _shifted(value_j: FloatArray, buckets: int) -> FloatArray:
    return np.concatenate([np.full(buckets, -np.inf), value_j])[: len(value_j)]


def _best_sum(value_j: FloatArray, loss_d: FloatArray) -> tuple[FloatArray, Codes]:
    """For each j the largest value_j[j - d] + loss_d[d], and its d."""
    spent, n = np.flatnonzero(np.isfinite(loss_d)), len(value_j)
    padded = np.concatenate([np.full(n, -np.inf), value_j])
    sum_sj = padded[n + np.arange(n)[None] - spent[:, None]] + loss_d[spent, None]
    best_j = sum_sj.argmax(axis=0)
    return sum_sj[best_j, np.arange(n)], spent[best_j]
