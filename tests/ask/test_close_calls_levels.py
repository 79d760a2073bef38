"""Close calls at their level: the whole procedure on thousands of crowds at once, and what its capitals promise."""

import numpy as np
import pytest

from majorant.ask.betting import ROUNDING, SHARES_F, log_capital
from majorant.ask.close_calls import BUCKET, GOOD_ENOUGH, MAJORITY_BEATEN, MEAN_G, SLIGHT, CloseCalls, close_calls
from majorant.ask.question import OPEN

TOLERANCE, LEVEL = 0.05, 0.8  # a low level, so that many runs end early, and some of them wrongly
VERDICTS = np.array([OPEN, GOOD_ENOUGH, MAJORITY_BEATEN])


def crowd(cells, n_tied=0):
    """Counts of three votes an item: (leading class, clear, items, of which the runner-up is true, and neither)."""
    counts, gain = [], []
    for leader, clear, n, runner_up, neither in cells:
        row = [3, 0] if clear else [2, 1]
        counts += [row if leader == 0 else row[::-1]] * n
        gain += [1.0] * runner_up + [0.5] * neither + [0.0] * (n - runner_up - neither)
    return np.array(counts + [[1, 1]] * n_tied), np.array(gain + [np.nan] * n_tied)


def question_of(cells, n_tied=0, monotone=False):
    """The question, and for each cell its values of (1 + x) / 2, in no order yet."""
    counts, gain_i = crowd(cells, n_tied)
    found = close_calls(counts, tolerance=TOLERANCE)
    settings = {"n_classes": 2, "tolerance": TOLERANCE, "level": LEVEL, "monotone": monotone}
    question = CloseCalls.of(found, np.flatnonzero(found.cell_i >= 0), **settings)
    return question, [gain_i[found.cell_i == c] for c in range(len(question.size_c))]


class ManyRuns:
    """The states of many runs of one question: what `Progress` holds of one, with an axis b for the run."""

    def __init__(self, question, n_runs):
        n_cells = len(question.size_c)
        self.question, self.row = question, np.arange(n_runs)
        self.down_cbfm = np.ones((n_cells, n_runs, len(SHARES_F), len(MEAN_G)))
        self.up_cbf = np.ones((n_cells, n_runs, len(SHARES_F)))  # against "the cell is not lost"
        self.cost_cbg, self.now_up_cb = np.zeros((n_cells, n_runs, len(MEAN_G) - 1)), np.zeros((n_cells, n_runs))
        self.total_cb, self.seen_cb = np.zeros((n_cells, n_runs)), np.zeros((n_cells, n_runs), dtype=int)

    def keep(self, b):
        """Go on with these runs alone."""
        for name in ("down_cbfm", "up_cbf", "cost_cbg", "now_up_cb", "total_cb", "seen_cb"):
            setattr(self, name, getattr(self, name)[:, b])
        self.row = np.arange(len(b))

    def add(self, cell_b, y_b):
        """One more draw in each run, of a cell of its own."""
        at = (cell_b, self.row)
        n_b, total_b, seen_b = self.question.size_c[cell_b], self.total_cb[at], self.seen_cb[at]
        below_bm = n_b[:, None] * (1 - MEAN_G)
        capital_bfm = self.down_cbfm[at] * factors(1 - y_b, below_bm, seen_b - total_b, n_b - seen_b)
        capital_bf = self.up_cbf[at] * factors(y_b, n_b[:, None] * np.array([0.5]), total_b, n_b - seen_b)[..., 0]
        self.cost_cbg[at] = np.log(capital_bfm[..., :-1].mean(axis=1))
        self.now_up_cb[at] = np.log(capital_bf.mean(axis=1))
        self.down_cbfm[at], self.up_cbf[at] = capital_bfm, capital_bf
        self.total_cb[at] += y_b
        self.seen_cb[at] += 1

    def look(self):
        """Of each run the verdict, the bound, and the cell to label next."""
        question, n_c = self.question, self.question.size_c[:, None]
        known_cb = self.seen_cb == n_c
        most_cb = 2 * (self.total_cb + n_c - self.seen_cb) / n_c - 1
        possible_cbg = 2 * MEAN_G[:-1] - 1 < most_cb[..., None]
        mean_cbg = np.minimum(2 * MEAN_G[1:] - 1, most_cb[..., None])
        cost_cbg = np.where(possible_cbg, self.cost_cbg, np.inf)
        last_cb = possible_cbg.sum(axis=2) - 1  # of a cell labelled to its end the loss is certain
        certain_cbg = (np.arange(mean_cbg.shape[2]) == last_cb[..., None]) | ~known_cb[..., None]
        cost_cbg = np.where(certain_cbg, cost_cbg, np.inf)
        cost_cbg = np.where(
            known_cb[..., None], np.where(np.isfinite(cost_cbg), np.minimum(cost_cbg, 0), np.inf), cost_cbg
        )
        share_c = question.size_c / question.n_items
        found = [
            knapsacks(chains, cost_cbg, mean_cbg, share_c, -np.log(1 - question.level))
            for chains in question.families()
        ]
        value_fb, held_fcb = np.array([value for value, _ in found]), np.array([held for _, held in found])
        best_b = value_fb.argmax(axis=0)
        value_b, held_cb = value_fb[best_b, self.row], held_fcb[best_b, :, self.row].T
        lost_cb = np.where(known_cb, np.maximum(2 * self.total_cb / n_c - 1, 0), 0) * n_c / question.n_items
        evidence_cb = np.where(known_cb, np.minimum(self.now_up_cb, 0), self.now_up_cb)
        parts = [np.log(weight) + evidence_cb[members].sum(axis=0) for members, weight in question.sets()]
        beaten_b = (np.logaddexp.reduce(parts) >= -np.log(1 - question.level)) | (
            lost_cb.sum(axis=0) > SLIGHT * question.tolerance
        )
        good_b = value_b <= question.tolerance * (1 + 1e-9)
        held_cb = np.where(known_cb, -np.inf, held_cb)
        most_b = len(held_cb) - 1 - held_cb[::-1].argmax(axis=0)  # of equals the last cell comes first
        next_b = np.where(np.isfinite(held_cb).any(axis=0), most_b, (~known_cb).argmax(axis=0))
        return np.where(good_b, 1, np.where(beaten_b, 2, 0)), value_b, next_b


def factors(y_b, total_bm, before_b, left_b):
    """(run, share, candidate): what each share's capital is multiplied by, infinite if the candidate is impossible."""
    left_bm = (total_bm - before_b[:, None]) / left_b[:, None]
    won_bm = (y_b[:, None] > 0) & (left_bm > 0)
    price_bm = np.divide(y_b[:, None], left_bm, out=np.zeros(left_bm.shape), where=won_bm)
    price_bm[(before_b + y_b)[:, None] > total_bm + ROUNDING * np.maximum(total_bm, 1)] = np.inf
    return 1 + SHARES_F[:, None] * (price_bm[:, None] - 1)


def knapsacks(chains, cost_cbg, mean_cbg, share_c, budget):
    """The bound of each run, and what each cell holds of it (-inf where it holds nothing): `knapsack` for many."""
    n_runs, cells = cost_cbg.shape[1], [c for chain in chains for c in chain]
    least_cb = np.minimum(cost_cbg.min(axis=2), 0)
    budget_b = budget - least_cb[cells].sum(axis=0)
    n_b = (budget_b / BUCKET).astype(int) + 1
    size, row = int(n_b.max()), np.arange(n_runs)
    within_jb = np.arange(size)[:, None] < n_b
    best_jb, steps = np.where(within_jb, 0.0, -np.inf), []
    for chain in chains:
        rest = [-np.sum([least_cb[c] for c in chain[taken:]], axis=0) for taken in range(len(chain) + 1)]
        spared = [np.broadcast_to(left / BUCKET, n_runs).astype(int) for left in rest]
        table_jb, most_b, traces, open_b = best_jb, np.full(n_runs, np.inf), [], np.ones(n_runs, bool)
        taken_jb, best_jb = np.zeros((size, n_runs), int), shifted(best_jb, spared[0])
        for taken, c in enumerate(chain, start=1):
            cost_bg = cost_cbg[c] - least_cb[c][:, None]
            allowed_bg = cost_bg < budget_b[:, None]
            open_b = open_b & allowed_bg.any(axis=1)
            mean_bg = np.minimum(mean_cbg[c], most_b[:, None])
            most_b = np.where(allowed_bg, mean_bg, -np.inf).max(axis=1)
            loss_jb = np.full((size, n_runs), -np.inf)
            b, g = np.nonzero(allowed_bg & open_b[:, None])
            np.maximum.at(loss_jb, ((cost_bg[b, g] / BUCKET).astype(int), b), mean_bg[b, g] * share_c[c])
            traces.append((c, table_jb, loss_jb))
            table_jb = np.where(within_jb, best_sums(table_jb, loss_jb), -np.inf)
            with_rest_jb = shifted(table_jb, spared[taken])
            better_jb = with_rest_jb > best_jb
            taken_jb, best_jb = np.where(better_jb, taken, taken_jb), np.where(better_jb, with_rest_jb, best_jb)
        steps.append((spared, taken_jb, traces))
    at_b, held_cb = best_jb.argmax(axis=0), np.full((len(cost_cbg), n_runs), -np.inf)
    value_b = best_jb[at_b, row]
    for spared, taken_jb, traces in reversed(steps):
        taken_b = taken_jb[at_b, row]
        at_b = at_b - np.array(spared)[taken_b, row]
        for number, (c, before_jb, loss_jb) in reversed(list(enumerate(traces, start=1))):
            on_b, left_jb = taken_b >= number, at_b - np.arange(size)[:, None]
            sum_jb = np.where(left_jb >= 0, before_jb[np.maximum(left_jb, 0), row] + loss_jb, -np.inf)
            spent_b = np.where(on_b, sum_jb.argmax(axis=0), 0)
            held_cb[c] = np.where(on_b, loss_jb[spent_b, row], -np.inf)
            at_b = at_b - spent_b
    return value_b, held_cb


def shifted(value_jb, by_b):
    if not by_b.any():
        return value_jb
    j = np.arange(len(value_jb))[:, None] - by_b
    return np.where(j >= 0, np.take_along_axis(value_jb, np.maximum(j, 0), axis=0), -np.inf)


def best_sums(value_jb, loss_jb):
    """For each run and j the largest value_jb[j - d, b] + loss_jb[d, b]."""
    best_jb, size = np.full(value_jb.shape, -np.inf), len(value_jb)
    for d in np.flatnonzero(np.isfinite(loss_jb).any(axis=1)):
        np.maximum(best_jb[d:], value_jb[: size - d] + loss_jb[d], out=best_jb[d:])
    return best_jb


def orders(gain_c, n_runs, rng):
    return [rng.permuted(np.tile(gain_i, (n_runs, 1)), axis=1) for gain_i in gain_c]


def wrong_verdicts(edge, n_runs, limit, rng, chunk=500):
    """How often a run ends with a false verdict: it looks after every label, and labels the cell asked for next."""
    (question, gain_c), wrong = question_of(**edge), 0
    loss = sum(max(float((2 * gain_i - 1).sum()), 0.0) for gain_i in gain_c) / question.n_items
    false = [False, loss > TOLERANCE + 1e-9, loss <= 0]
    for start in range(0, n_runs, chunk):
        many, row = ManyRuns(question, min(chunk, n_runs - start)), np.arange(min(chunk, n_runs - start))
        draw_cbt = orders(gain_c, len(row), rng)
        for _ in range(limit):
            verdict_b, _, next_b = many.look()
            wrong += int(np.array(false)[verdict_b].sum())
            if (verdict_b != 0).any():
                many.keep(np.flatnonzero(verdict_b == 0))
                row, next_b = row[verdict_b == 0], next_b[verdict_b == 0]
            if not len(row):
                break
            seen_b = many.seen_cb[next_b, many.row]
            drawn = [draw_bt[row, np.minimum(seen_b, draw_bt.shape[1] - 1)] for draw_bt in draw_cbt]
            many.add(next_b, np.array(drawn)[next_b, many.row])
        else:
            wrong += int(np.array(false)[many.look()[0]].sum())
    return wrong / n_runs


EDGES = {
    "every cell even": {"cells": [(0, 0, 60, 30, 0), (1, 0, 60, 30, 0), (0, 1, 80, 2, 0)]},
    "every cell even, often neither": {"cells": [(0, 0, 60, 20, 20), (1, 0, 60, 10, 40), (0, 1, 80, 2, 0)]},
    "one cell even": {"cells": [(0, 0, 40, 20, 0), (1, 0, 60, 6, 0), (0, 1, 80, 2, 0)]},
    "one cell just beyond": {"cells": [(0, 0, 61, 36, 0), (1, 0, 60, 12, 0), (0, 1, 80, 2, 0)]},
    "one cell just beyond, with ties": {
        "cells": [(0, 0, 61, 37, 0), (1, 0, 60, 12, 0), (0, 1, 80, 2, 0)],
        "n_tied": 40,
    },
    "two cells together just beyond": {"cells": [(0, 0, 61, 33, 0), (1, 0, 60, 33, 0), (0, 1, 80, 2, 0)]},
    "one cell just beyond, monotone": {
        "cells": [(0, 0, 61, 36, 0), (1, 0, 60, 12, 0), (0, 1, 80, 2, 0)],
        "monotone": True,
    },
    "every cell even, monotone": {"cells": [(0, 0, 60, 30, 0), (0, 1, 60, 30, 0), (1, 1, 80, 2, 0)], "monotone": True},
}


@pytest.mark.parametrize("edge", EDGES)
def test_many_runs_at_once_are_what_single_runs_are(edge):
    question, gain_c = question_of(**EDGES[edge])
    many, runs = ManyRuns(question, 2), [question.start() for _ in range(2)]
    draw_cbt = orders(gain_c, 2, np.random.default_rng(0))
    for step in range(30):
        verdict_b, value_b, next_b = many.look()
        if step % 3 == 0:
            assert VERDICTS[verdict_b].tolist() == [progress.verdict for progress in runs]
            assert value_b == pytest.approx([progress.bound.value for progress in runs], abs=1e-9)
            assert next_b.tolist() == [progress.next_cell() for progress in runs]
        y_b = np.array([draw_cbt[c][b, runs[b].betting_c[c].seen] for b, c in enumerate(next_b)])
        many.add(next_b, y_b)
        runs = [progress.add(c, [y]) for progress, c, y in zip(runs, next_b, y_b, strict=True)]


LIMIT = 1 - LEVEL


@pytest.mark.parametrize("edge", EDGES)
def test_level_at_the_edge(edge):
    rate = wrong_verdicts(EDGES[edge], 500, 16, np.random.default_rng(1))
    assert rate <= LIMIT + 2 * np.sqrt(LIMIT * LEVEL / 500)


@pytest.mark.long
@pytest.mark.parametrize("edge", EDGES)
def test_level_at_the_edge_in_many_runs(edge):
    rate = wrong_verdicts(EDGES[edge], 20_000, 80, np.random.default_rng(2))
    assert rate <= LIMIT + 2 * np.sqrt(LIMIT * LEVEL / 20_000)


def ever_reached(n_runs, mean, seed, combine):
    """How often what two cells of 60 items say together ever reaches 20, the next cell chosen by the past alone.

    `combine` makes one capital of both; the chooser stays with a cell while its last label raised that cell's capital.
    """
    rng, n = np.random.default_rng(seed), 60
    value = np.concatenate([np.ones(round(n * mean)), np.zeros(n - round(n * mean))])
    path_crt = [np.zeros((n_runs, n + 1)) for _ in range(2)]
    for path_rt in path_crt:
        path_rt[:, 1:] = log_capital(rng.permuted(np.tile(value, (n_runs, 1)), axis=1), n, np.full(n_runs, mean))
    row, at_cr, turn_r, reached_r = (
        np.arange(n_runs),
        np.zeros((2, n_runs), int),
        np.zeros(n_runs, int),
        np.zeros(n_runs, bool),
    )
    for _ in range(2 * n):
        turn_r = np.where(at_cr[turn_r, row] == n, 1 - turn_r, turn_r)
        before_r = np.where(turn_r == 0, path_crt[0][row, at_cr[0]], path_crt[1][row, at_cr[1]])
        at_cr[turn_r, row] += 1
        now_cr = np.stack([path_crt[0][row, at_cr[0]], path_crt[1][row, at_cr[1]]])
        reached_r |= combine(*now_cr) >= np.log(20)
        turn_r = np.where(now_cr[turn_r, row] > before_r, turn_r, 1 - turn_r)
    return reached_r.mean()


COMBINED = {
    "a product of capitals, as in the upper bound": np.add,
    "a mean of capitals and their product, as in the evidence for beaten": lambda one, other: (
        np.logaddexp(np.logaddexp(one, other), one + other) - np.log(3)
    ),
}


@pytest.mark.parametrize("combined", COMBINED)
@pytest.mark.parametrize("mean", [0.5, 0.6])
def test_cells_together_reach_their_level_no_more_often_than_promised(combined, mean):
    share = ever_reached(2_000, mean, 3, COMBINED[combined])
    assert 0.005 < share <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 2_000)


@pytest.mark.long
@pytest.mark.parametrize("combined", COMBINED)
@pytest.mark.parametrize("mean", [0.2, 0.5, 0.6, 0.9])
def test_cells_together_reach_their_level_no_more_often_than_promised_in_many_runs(combined, mean):
    assert ever_reached(20_000, mean, 4, COMBINED[combined]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 20_000)
