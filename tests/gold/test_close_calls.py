"""What majority gives away in close calls: cells, the knapsack against brute force, levels at the edge."""

import json
from itertools import product

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.gold.betting import log_capital
from majorant.gold.close_calls import (
    ANY_LEADER,
    BEATEN,
    GOOD_ENOUGH,
    MEAN_G,
    CloseCalls,
    Options,
    close_calls,
    knapsack,
)
from majorant.gold.question import OPEN, SKIPPED, UNASKED


def crowd(sizes):
    """Three votes an item, two classes: (leader, clear, items, share of the runner-up) per cell -> counts, truth."""
    counts, truth = [], []
    for leader, clear, n, wrong in sizes:
        row = [3, 0] if clear else [2, 1]
        counts += [row if leader == 0 else row[::-1]] * n
        n_wrong = round(wrong * n)
        truth += [1 - leader] * n_wrong + [leader] * (n - n_wrong)
    return np.array(counts), np.array(truth)


def question_of(counts, truth, seed, **settings):
    """The question with a random order, and the truth in that order."""
    cells = close_calls(counts, tolerance=settings.get("tolerance", 0.01))
    order = np.random.default_rng(seed).permutation(np.flatnonzero(cells.cell_i >= 0))
    return CloseCalls.of(cells, order, n_classes=counts.shape[1], **settings), truth[order]


def loss_of(question, truth_d):
    """L, by the definition; the order must hold all items."""
    gain_d = (truth_d == question.second_d) * 1.0 - (truth_d == question.top_d)
    cells = range(len(question.size_c))
    return sum(max(gain_d[question.cell_d == c].sum(), 0) for c in cells) / question.n_items


def run(question, truth_d, limit=10**9):
    """Label what is asked next until it is decided."""
    progress, used = question.start(), 0
    gain_d = (1.0 + (truth_d == question.second_d) - (truth_d == question.top_d)) / 2
    draws = [gain_d[question.cell_d == c] for c in range(len(question.size_c))]
    while progress.verdict == OPEN and used < limit:
        cell = progress.next_cell()
        progress, used = progress.add(cell, [draws[cell][progress.betting_c[cell].seen]]), used + 1
    return progress, used


def test_cells_by_leader_and_closeness():
    counts = (
        [[2, 1]] * 40 + [[3, 0]] * 40 + [[1, 2]] * 40 + [[5, 1]] * 40 + [[3, 2]] * 40 + [[1, 1]] * 10 + [[0, 0]] * 5
    )
    cells = close_calls(counts, tolerance=0.01)
    named = list(zip(cells.leader_c.tolist(), cells.band_c.tolist(), cells.size_c.tolist(), strict=True))
    assert named == [(0, 0, 80), (1, 0, 40), (0, 1, 40), (0, 2, 40)]
    assert (cells.n_items, cells.n_tied) == (210, 10)
    assert cells.tie_stake == pytest.approx(5 / 210)
    assert (cells.cell_i[-15:] == -1).all()
    assert (cells.second_i[:40] == 1).all()


def test_small_cells_and_clear_calls_of_many_classes_are_pooled():
    rows = [[2, 1, 0]] * 60 + [[1, 2, 0]] * 60 + [[0, 1, 2]] * 2 + [[3, 0, 0]] * 40 + [[0, 0, 3]] * 40 + [[1, 1, 1]]
    cells = close_calls(rows, tolerance=0.05)
    named = list(zip(cells.leader_c.tolist(), cells.band_c.tolist(), cells.size_c.tolist(), strict=True))
    assert named == [(ANY_LEADER, 0, 2), (0, 0, 60), (1, 0, 60), (ANY_LEADER, 2, 80)]
    assert cells.tie_stake == pytest.approx((2 / 3) / 203)
    assert cells.second_i[120] == 1


def test_a_tied_runner_up_is_the_commoner_class():
    cells = close_calls([[3, 1, 1], [0, 0, 4], [0, 5, 0]], tolerance=0.01)
    assert cells.top_i[0] == 0
    assert cells.second_i[0] == 1


def test_one_class_is_refused():
    with pytest.raises(ConfigError, match="two classes"):
        close_calls([[3], [2]], tolerance=0.01)


def brute_force(progress, budget):
    """Theorem 2 by trying every set of cells and every step of every mean."""
    question = progress.question
    choices = []
    for c, betting in enumerate(progress.betting_c):
        share = question.size_c[c] / question.n_items
        steps = [(betting.now_below_m[g], share * (2 * MEAN_G[g + 1] - 1)) for g in range(len(MEAN_G) - 1)]
        choices.append([(0.0, 0.0), *[step for step in steps if np.isfinite(step[0])][::4], steps[-1]])
    return max(
        sum(loss for _, loss in chosen) for chosen in product(*choices) if sum(cost for cost, _ in chosen) < budget
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_knapsack_is_never_below_brute_force_and_hardly_above(seed):
    rng = np.random.default_rng(seed)
    sizes = [
        (leader, clear, int(rng.integers(30, 120)), rng.uniform(0.05, 0.6))
        for leader, clear in ((0, 0), (1, 0), (1, 1))
    ]
    question, truth_d = question_of(*crowd(sizes), seed)
    progress, _ = run(question, truth_d, limit=int(rng.integers(5, 40)))
    brute = brute_force(progress, np.log(20))
    assert brute - 1e-9 <= progress.bound.value <= brute + 0.05
    assert sum(progress.bound.held.values()) == pytest.approx(progress.bound.value)


def test_a_cell_left_out_cannot_lend_its_evidence():
    """The second cell of a chain has a capital below 1, but cannot be taken without the first, which costs much."""
    first, second = Options(0, np.array([2.9]), np.array([0.01])), Options(1, np.array([-0.5]), np.array([0.01]))
    other = Options(2, np.array([0.3, 2.9]), np.array([0.015, 0.06]))
    bound = knapsack([[other], [first, second]], budget=3.0)
    assert bound.value == pytest.approx(0.06)
    assert bound.held == pytest.approx({2: 0.06})
    bound = knapsack([[other], [first, second]], budget=2.5)
    assert bound.held == pytest.approx({0: 0.01, 1: 0.01})
    assert bound.value == pytest.approx(0.02)


@pytest.mark.parametrize("seed", range(4))
def test_assuming_monotonicity_never_raises_the_bound(seed):
    sizes = [(0, 0, 90, 0.4), (0, 1, 200, 0.1), (1, 0, 110, 0.45), (1, 1, 150, 0.05)]
    counts, truth = crowd(sizes)
    free, truth_d = question_of(counts, truth, seed)
    monotone, _ = question_of(counts, truth, seed, monotone=True)
    rng = np.random.default_rng(seed)
    answer_d = np.where(rng.random(len(truth_d)) < 0.1, truth_d, UNASKED)
    answer_d[:30] = truth_d[:30]
    assert monotone.progress(answer_d).bound.value <= free.progress(answer_d).bound.value + 1e-12


@pytest.mark.parametrize("wrong", [0.3, 0.55, 0.7])
def test_with_all_labels_the_bounds_are_the_loss(wrong):
    question, truth_d = question_of(*crowd([(0, 0, 40, wrong), (1, 0, 30, 0.6), (0, 1, 100, 0.1)]), seed=1)
    outcome = question.evaluate(truth_d)
    assert outcome.value.value == pytest.approx(loss_of(question, truth_d))
    assert outcome.value.high == pytest.approx(loss_of(question, truth_d))
    assert outcome.value.low == pytest.approx(loss_of(question, truth_d))
    assert outcome.verdict == BEATEN


def test_answers_in_any_batches_give_what_one_by_one_gives():
    question, truth_d = question_of(*crowd([(0, 0, 60, 0.3), (1, 0, 50, 0.5), (0, 1, 90, 0.05)]), seed=2)
    progress, _ = run(question, truth_d, limit=25)
    answer_d = np.full(len(truth_d), UNASKED)
    for c, betting in enumerate(progress.betting_c):
        at = np.flatnonzero(question.cell_d == c)[: betting.seen]
        answer_d[at] = truth_d[at]
    assert question.progress(answer_d).bound.value == pytest.approx(progress.bound.value)


def test_what_the_expert_skips_or_leaves_out_never_helps():
    question, truth_d = question_of(*crowd([(0, 0, 80, 0.2), (1, 0, 80, 0.25), (0, 1, 300, 0.05)]), seed=3)
    answer_d = np.where(np.arange(len(truth_d)) < 200, truth_d, UNASKED)
    whole = question.evaluate(answer_d)
    rng = np.random.default_rng(0)
    for gap in (SKIPPED, UNASKED):
        answer = np.where((rng.random(len(truth_d)) < 0.1) & (answer_d >= 0), gap, answer_d)
        some = question.evaluate(answer)
        assert some.value.high >= whole.value.high - 1e-12
        assert some.value.low <= whole.value.low + 1e-12


def test_the_cell_that_holds_most_of_the_bound_is_asked_first():
    question, _ = question_of(*crowd([(0, 0, 200, 0.3), (1, 0, 20, 0.3), (0, 1, 100, 0.1)]), seed=0)
    following = question.next_items(np.full(question.size, UNASKED))
    assert sorted(following.tolist()) == list(range(question.size))
    assert question.cell_d[following[0]] == 0
    assert question.expected() is not None


def test_a_question_comes_back_from_json():
    question, truth_d = question_of(*crowd([(0, 0, 30, 0.3), (1, 1, 60, 0.1)]), seed=0, monotone=True, tolerance=0.02)
    again = CloseCalls.from_dict(json.loads(json.dumps(question.to_dict())))
    answer_d = np.where(np.arange(len(truth_d)) < 40, truth_d, UNASKED)
    assert again.evaluate(answer_d).value == question.evaluate(answer_d).value
    assert again.monotone


@pytest.mark.parametrize("counts", [[[2, 1], [1, 2], [3, 0], [0, 3]], [[2, 1, 0], [0, 2, 1], [3, 2, 1], [5, 0, 0]]])
def test_the_evidence_for_beaten_is_a_mean_over_sets_of_cells(counts):
    question, _ = question_of(np.array(counts * 20), np.zeros(len(counts) * 20, int), 0)
    weights = [weight for _, weight in question.sets()]
    assert min(weights) > 0
    assert sum(weights) == pytest.approx(1)
    assert sum(question.prior_c) == pytest.approx(1)


def wrong_share(sizes, n_runs, limit, seed, **settings):
    """How often a run ends with a false verdict; ten of a hundred are allowed where the level is .9."""
    counts, truth = crowd(sizes)
    wrong = 0
    for number in range(n_runs):
        question, truth_d = question_of(counts, truth, [seed, number], level=0.9, tolerance=0.05, **settings)
        loss = loss_of(question, truth_d)
        verdict = run(question, truth_d, limit)[0].verdict
        wrong += (verdict == GOOD_ENOUGH and loss > 0.05) or (verdict == BEATEN and loss == 0)
    return wrong / n_runs


EDGES = {
    "every cell even: beaten is wrong": ([(0, 0, 60, 0.5), (1, 0, 60, 0.5), (0, 1, 80, 0.02)], {}),
    "one cell loses 5.5 points: good enough is wrong": ([(0, 0, 60, 0.6), (1, 0, 60, 0.2), (0, 1, 80, 0.02)], {}),
    "two cells lose 3 points each": ([(0, 0, 60, 0.55), (1, 0, 60, 0.55), (0, 1, 80, 0.02)], {}),
    "one cell, monotone": ([(0, 0, 60, 0.6), (1, 0, 60, 0.2), (0, 1, 80, 0.02)], {"monotone": True}),
}


@pytest.mark.parametrize("edge", EDGES)
def test_level_at_the_edge(edge):
    sizes, settings = EDGES[edge]
    assert wrong_share(sizes, 20, 20, 1, **settings) <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 20)


@pytest.mark.long
@pytest.mark.parametrize("edge", EDGES)
def test_level_at_the_edge_in_many_runs(edge):
    sizes, settings = EDGES[edge]
    assert wrong_share(sizes, 20_000, 60, 2, **settings) <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 20_000)


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
